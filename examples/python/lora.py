"""Fine-tunes a language model on a text by LoRA, and writes on with the adapter.

    python examples/python/lora.py --model SmolLM2-135M-Instruct.Q4_1.gguf --text README.md --steps 30 --adapter tuned
    hologram generate SmolLM2-135M-Instruct.Q4_1.gguf "hologram is" --raw --lora tuned

The model is a GGUF file or a folder, quantised or not; its weights stay as they are.
"""

import os
import pathlib

import training

import hologram as hg

# Where scripts/models puts it.
MODEL = os.path.join(os.environ.get("HOLOGRAM_MODELS", "."), "SmolLM2-135M-Instruct.Q4_1.gguf")


def main():
    here = pathlib.Path(__file__).resolve()
    options = training.arguments(
        __doc__, model=MODEL, text=str(here.parents[2] / "README.md"), adapter="adapter", steps=30, batch=4,
        length=64, rank=8, alpha=16.0, targets="q_proj,v_proj", lr=3e-4, prompt="", write=60,
    )  # fmt: skip
    model = hg.llm.load(options.model, device=options.device)
    numbers = model.tokenize(pathlib.Path(options.text).read_text(encoding="utf-8"), ends=False)
    n = options.length
    if len(numbers) <= n:
        raise SystemExit(f"'{options.text}' has {len(numbers)} tokens: take a --length below that")
    with hg.use(options.device):
        hg.random.seed(options.seed)
        lora = hg.llm.load_lora(
            options.model, rank=options.rank, alpha=options.alpha, targets=options.targets.split(","),
            device=options.device,
        )  # fmt: skip
        optimizer = hg.optim.AdamW(lora, lr=options.lr, max_norm=1.0, weight_decay=0.0)

        def loss_of(drawn, _):
            begins = [drawn.randrange(len(numbers) - n) for _ in range(options.batch)]
            return lora.loss([numbers[b : b + n + 1] for b in begins])

        training.train(options, lora, optimizer, loss_of, "LoRA: loss")
        lora.save_adapter(options.adapter)
    print(f"the adapter is in '{options.adapter}'")
    if options.write:
        prompt = options.prompt or model.text_of(numbers[:8])
        for title, adapters in (("without", []), ("with", [options.adapter])):
            tuned = hg.llm.load(options.model, adapters=adapters, device=options.device)
            text = tuned.generate(prompt, max_tokens=options.write, greedy=True).text
            print(f"--- {title} it:\n{prompt}{text}")


if __name__ == "__main__":
    main()
