"""Fine-tuning by LoRA: what a Lora computes is what the model computes, it learns, and what it has learned is what
load() adds. test_llm_folders.py has it beside transformers."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import hologram as hg
import tiny_llama
from model_files import FOLDER

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/python/lora.py"
STORIES = FOLDER / "stories260K-F32.gguf"
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TEXT = "the cat sat on the mat, and the dog sat on the cat. " * 8


@pytest.fixture(scope="module", params=["folder", "f32", "q8_0"])
def path(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "tiny"
    tiny_llama.save(folder)
    if request.param == "folder":
        return folder
    hg.llm.quantize(folder, folder / "tiny.gguf", request.param)
    return folder / "tiny.gguf"


def apart(ours, theirs):
    return abs(np.asarray(ours) - np.asarray(theirs)).max() / abs(np.asarray(theirs)).max()


def logits(lora, tokens):
    return lora(hg.asarray([tokens], device="cpu"))[0]


def test_it_learns_and_the_model_takes_the_adapter(path, tmp_path):
    plain = hg.llm.load(path, cache=hg.float32, activations="exact", device="cpu")
    lora = hg.llm.load_lora(path, rank=4, targets=ALL, device="cpu")
    tokens = plain.tokenize(TEXT)
    assert apart(logits(lora, tokens[:30])[-1], plain.logits(tokens[:30])) < 1e-5
    fixed = {name: np.asarray(weight) for name, weight in lora._fixed.items()}
    optimizer = hg.optim.AdamW(lora, lr=2e-2, weight_decay=0.0)
    batch = [tokens[begin : begin + 25] for begin in (0, 40, 90)]
    losses = [optimizer.step(lambda: lora.loss(batch)).item() for _ in range(25)]
    assert losses[-1] < 0.6 * losses[0], losses
    assert all((np.asarray(lora._fixed[name]) == weight).all() for name, weight in fixed.items())
    lora.save_adapter(tmp_path / "adapter")
    tuned = hg.llm.load(path, cache=hg.float32, activations="exact", device="cpu", adapters=[tmp_path / "adapter"])
    for count in (1, 7, 30):
        got = tuned.logits(tokens[:count])
        assert apart(got, logits(lora, tokens[:count])[-1]) < 1e-4 and apart(got, plain.logits(tokens[:count])) > 0.05


def test_gradients_are_those_of_differences(tmp_path):
    tiny_llama.save(tmp_path)
    hg.random.seed(4)
    lora = hg.llm.load_lora(tmp_path, rank=2, alpha=2, targets=ALL, device="cpu")
    for pair in lora.layers:
        for target in ALL:
            up = getattr(pair, target).up
            getattr(pair, target).up = hg.random.normal(up.shape, device="cpu") * 0.3
    batch = [list(b"what the cat saw"), list(b"sixteen letters.")]
    _, gradients = hg.nn.value_and_grad(lora, lambda: lora.loss(batch))()
    state = lora.state_dict()
    rng = np.random.default_rng(2)
    for name in gradients:
        direction = rng.standard_normal(state[name].shape).astype("f")
        wanted = (np.asarray(gradients[name]) * direction).sum()
        values = []
        for step in (1e-3, -1e-3):
            lora.load_state_dict({**state, name: state[name] + hg.asarray(direction * step, device="cpu")})
            values.append(lora.loss(batch).item())
        lora.load_state_dict(state)
        assert abs((values[0] - values[1]) / 2e-3 - wanted) < 2e-3 + 0.01 * abs(wanted), name


def test_wrong_options_are_told(tmp_path):
    tiny_llama.save(tmp_path)
    for options in ({"targets": ["qkv"]}, {"targets": []}, {"rank": 0}):
        with pytest.raises(hg.InvalidArgument, match="LoRA"):
            hg.llm.load_lora(tmp_path, **options)
    with pytest.raises(hg.IoError):
        hg.llm.load_lora(tmp_path / "missing.gguf")


def run(model, text, folder, *options):
    command = [sys.executable, str(EXAMPLE), "--device", "cpu", "--model", str(model), "--text", str(text)]
    command += ["--adapter", str(folder / "adapter"), "--every", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout, [float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("step ")]


def test_the_example_runs(tmp_path):
    tiny_llama.save(tmp_path / "tiny")
    (tmp_path / "text.txt").write_text(TEXT)
    options = ["--length", "24", "--lr", "0.02", "--write", "12", "--prompt", "the "]
    told, losses = run(tmp_path / "tiny", tmp_path / "text.txt", tmp_path, "--steps", "12", *options)
    assert len(losses) == 12 and min(losses[-3:]) < 0.8 * losses[0]
    without, with_it = told.split("--- without it:\n")[1].split("--- with it:\n")
    assert without.startswith("the ") and with_it.startswith("the ") and without.strip() != with_it.strip()


def test_a_real_model_learns_a_text_by_heart(tmp_path):
    if not STORIES.exists():
        pytest.skip(f"there is no {STORIES}")
    text = "Once upon a time, there was a robot. It liked to count: one, three, five, seven. It was very happy. "
    (tmp_path / "text.txt").write_text(text * 20)
    options = ["--length", "48", "--lr", "0.02", "--write", "40", "--prompt", "there was a robot. It liked"]
    told, losses = run(STORIES, tmp_path / "text.txt", tmp_path, "--steps", "30", "--targets", ",".join(ALL), *options)
    assert losses[-1] < 0.3 * losses[0]
    assert " to count" in told.split("--- with it:\n")[1]
