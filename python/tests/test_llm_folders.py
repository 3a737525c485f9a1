"""Folders as transformers saves them, beside transformers: models with random weights of each architecture,
whose logits are compared at every position (teacher forcing), and tokenizers of several kinds. scripts/check-llm
runs this where there is transformers."""

import json
import random

import numpy as np
import pytest

import hologram as hg

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

SIZES = dict(
    vocab_size=300, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
    intermediate_size=96, max_position_embeddings=256,
)  # fmt: skip
LLAMA3 = dict(
    rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
    original_max_position_embeddings=32,
)  # fmt: skip
YARN = dict(rope_type="yarn", rope_theta=500.0, factor=4.0, original_max_position_embeddings=32)
LINEAR = dict(rope_type="linear", rope_theta=500.0, factor=2.0)
LONG = dict(
    rope_type="longrope", rope_theta=500.0, short_factor=[1.0 + i / 8 for i in range(8)],
    long_factor=[2.0 + i for i in range(8)], original_max_position_embeddings=32,
)  # fmt: skip
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, decoder_sparse_step=1)

MODELS = {
    "llama": ("Llama", dict(tie_word_embeddings=True)),
    "llama, biases": ("Llama", dict(attention_bias=True, head_dim=24)),
    "llama, llama3": ("Llama", dict(rope_parameters=LLAMA3)),
    "llama, yarn": ("Llama", dict(rope_parameters=YARN)),
    "llama, linear": ("Llama", dict(rope_parameters=LINEAR)),
    "mistral": ("Mistral", dict(sliding_window=None)),
    "mistral, window": ("Mistral", dict(sliding_window=16)),
    "mixtral": ("Mixtral", dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", dict(head_dim=24, tie_word_embeddings=True)),
    "qwen3moe": ("Qwen3Moe", dict(head_dim=16, norm_topk_prob=True, **EXPERTS)),
    "qwen3moe, shares as they are": ("Qwen3Moe", dict(head_dim=16, norm_topk_prob=False, **EXPERTS)),
    "phi3": ("Phi3", dict(sliding_window=None, pad_token_id=0)),
    "phi3, window": ("Phi3", dict(sliding_window=16, pad_token_id=0)),
    "phi3, longrope": ("Phi3", dict(sliding_window=None, pad_token_id=0, rope_parameters=LONG,
                                    original_max_position_embeddings=32)),
    "gemma": ("Gemma", dict(head_dim=24)),
    "gemma2": ("Gemma2", dict(head_dim=24, sliding_window=16, query_pre_attn_scalar=20)),
    "gemma3": ("Gemma3", dict(head_dim=24, sliding_window=16, query_pre_attn_scalar=20, num_hidden_layers=7)),
}  # fmt: skip


def as_blocks_have_it(weight):
    """Numbers that Q8_0 keeps, and halves, too: 32 whole ones times a power of 2, of which one is 127."""
    blocks = weight.reshape(-1, 32)
    scale = (blocks.abs().amax(1, keepdim=True) / 127).log2().round().exp2()
    wholes = (blocks / scale).round().clamp(-127, 127)
    most = blocks.abs().argmax(1, keepdim=True)
    wholes.scatter_(1, most, 127 * blocks.gather(1, most).sign())
    return (wholes * scale).reshape(weight.shape)


def save_model(folder, name, dtype=None, shards=None, blocks=False):
    kind, more = MODELS[name]
    config_type = getattr(transformers, "Gemma3TextConfig" if kind == "Gemma3" else kind + "Config")
    torch.manual_seed(1)
    model = getattr(transformers, kind + "ForCausalLM")(config_type(**{**SIZES, **more})).eval()
    gemma = kind.startswith("Gemma")
    with torch.no_grad():
        for weight in model.parameters():
            # Norms of Gemma are stored less 1.
            mean = 1.0 if weight.ndim == 1 and not gemma else 0.0
            weight.copy_(mean + torch.randn_like(weight) * (0.15 if weight.ndim > 1 else 0.1))
            if blocks and weight.ndim > 1:
                weight.copy_(as_blocks_have_it(weight))
    if dtype:
        model = model.to(dtype)
    model.save_pretrained(folder, **({"max_shard_size": shards} if shards else {}))
    byte_level().save(str(folder / "tokenizer.json"))
    # Read anew: a model that is converted has its frequencies of positions rounded, too.
    return type(model).from_pretrained(folder, dtype=torch.float32).eval() if dtype else model


def byte_level(**how):
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator(["the cat sat on the mat and it is the end of that"], trainer)
    return made


def drawn(seed, length):
    rng = random.Random(seed)
    return [rng.randrange(300) for _ in range(length)]


def differences(folder, model, length=40, **options):
    """Largest difference over largest logit at several positions, by the cache and by a prompt."""
    ids = drawn(2, length)
    with torch.no_grad():
        wanted = model(torch.tensor([ids])).logits[0].numpy()
    ours = hg.llm.load(folder, context=64, cache=hg.float32, device="cpu", **options)
    worst = 0.0
    for count in [*range(1, 8), *range(14, 20), *range(30, length + 1)]:
        got = np.asarray(ours.logits(ids[:count]))
        worst = max(worst, abs(got - wanted[count - 1]).max() / abs(wanted[count - 1]).max())
    fresh = hg.llm.load(folder, context=64, cache=hg.float32, device="cpu", **options)
    return max(worst, abs(np.asarray(fresh.logits(ids)) - wanted[-1]).max() / abs(wanted[-1]).max())


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_transformers(name, tmp_path):
    model = save_model(tmp_path, name)
    # By longrope other angles hold for all of a text beyond 32 tokens: see below.
    if "longrope" not in name:
        assert differences(tmp_path, model) <= 2e-4


@pytest.mark.parametrize("file", [False, True], ids=["folder", "gguf"])
def test_long_texts_are_turned_otherwise_from_their_beginning_on(file, tmp_path):
    model = save_model(tmp_path, "phi3, longrope")
    path = tmp_path
    if file:
        path = tmp_path / "model.gguf"
        hg.llm.quantize(tmp_path, path, "f32")
    ours = hg.llm.load(path, context=64, cache=hg.float32, device="cpu")
    ids = drawn(5, 40)
    # Back and forth, with what is in the cache of each kind; then token by token.
    for count in [20, 40, 25, 32, 33, 31, 36, 8, *range(28, 41)]:
        with torch.no_grad():
            wanted = model(torch.tensor([ids[:count]])).logits[0, -1].numpy()
        got = np.asarray(ours.logits(ids[:count]))
        assert abs(got - wanted).max() <= 2e-4 * abs(wanted).max(), count
    made = ours.generate(ids[:24], max_tokens=20, greedy=True).tokens
    text = list(ids[:24])
    for token in made:
        with torch.no_grad():
            logits = model(torch.tensor([text])).logits[0, -1]
        assert logits[token] >= logits.max() - 1e-3 * logits.abs().max(), len(text)
        text.append(token)
    tuned = np.asarray(hg.llm.load_embedder(path, device="cpu").embed([ids[:20], ids], pooling="last", normalize=False))
    for row, count in zip(tuned, (20, 40), strict=True):
        with torch.no_grad():
            wanted = model.model(torch.tensor([ids[:count]])).last_hidden_state[0, -1].numpy()
        assert abs(row - wanted).max() <= 2e-4 * abs(wanted).max(), count


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith(("phi3", "mixtral", "qwen3moe"))])
def test_what_is_fine_tuned_is_the_model(name, tmp_path):
    model = save_model(tmp_path, name)
    ids = drawn(3, 40)
    with torch.no_grad():
        wanted = model(torch.tensor([ids])).logits[0].numpy()
    got = np.asarray(hg.llm.load_lora(tmp_path, device="cpu")(hg.asarray([ids], device="cpu")))[0]
    assert abs(got - wanted).max() <= 1e-5 * abs(wanted).max()


@pytest.mark.parametrize("name", ["llama, llama3", "qwen3", "gemma3", "phi3", "mixtral", "gemma2", "qwen3moe"])
def test_folders_become_gguf_files(name, tmp_path):
    # Numbers that blocks can hold: another expert, chosen by what rounding leaves, would be no mistake.
    model = save_model(tmp_path / "model", name, blocks=True)
    for to in ("f32", "q8_0"):
        hg.llm.quantize(tmp_path / "model", tmp_path / "model.gguf", to)
        assert differences(tmp_path / "model.gguf", model, 20) <= 2e-4


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_files_in_parts_and_halves(dtype, tmp_path):
    model = save_model(tmp_path, "llama", getattr(torch, dtype), "100KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    assert differences(tmp_path, model) <= 2e-4


def test_what_is_not_there_is_told(tmp_path):
    save_model(tmp_path, "llama")
    config = json.loads((tmp_path / "config.json").read_text())
    for change, word in (
        ({"architectures": ["NoSuchForCausalLM"]}, "NoSuch"),
        ({"hidden_act": "relu"}, "relu"),
        ({"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "dynamic"),
        ({"quantization_config": {"quant_method": "gptq"}}, "gptq"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(hg.UnsupportedOperation, match=word):
            hg.llm.load(tmp_path)
