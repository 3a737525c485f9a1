"""Captured steps, mixed precision, checkpoints that a run goes on from, the examples, bisect."""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import hologram as hg
from hologram import nn

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def data():
    hg.random.seed(3)
    x = hg.random.normal((16, 8))
    return x, hg.argmax(x[:, :3], axis=1)


def net():
    hg.random.seed(4)
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 3))


OPTIMIZERS = {
    "adamw": lambda model, **more: hg.optim.AdamW(model, lr=0.01, **more),
    "sgd": lambda model, **more: hg.optim.SGD(model, lr=0.1, momentum=0.9, **more),
    "plain": lambda model, **more: hg.optim.SGD(model, lr=0.1, max_norm=1.0, **more),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("half", [None, "bfloat16"])
def test_captured_steps_have_the_bits_of_steps(name, half):
    x, y = data()
    runs = []
    for captured in (False, True):
        model = net()
        optimizer = OPTIMIZERS[name](model, precision=half and nn.MixedPrecision(half))
        loss_of = lambda x, y: nn.cross_entropy(model(x), y)
        step = optimizer.captured(loss_of) if captured else lambda *b: optimizer.step(loss_of, *b)
        losses = [step(x, y).item() for _ in range(6)]
        optimizer.lr = optimizer.lr / 2  # captured once more
        losses += [step(x, y).item() for _ in range(3)]
        state = {**model.state_dict(), **optimizer.state_dict()}
        runs.append((losses, {key: tensor.tolist() for key, tensor in state.items()}))
    assert runs[0] == runs[1]
    assert runs[0][0][-1] < runs[0][0][0]


def test_a_step_that_overflows_changes_nothing_but_the_scale():
    x, y = data()
    model = net()
    precision = nn.MixedPrecision("float16", scale=nn.LossScale(initial=2.0**40))
    optimizer = hg.optim.AdamW(model, lr=0.01, precision=precision)
    before = {name: tensor.tolist() for name, tensor in model.state_dict().items()}
    optimizer.step(lambda: nn.cross_entropy(model(x), y))
    assert optimizer.skipped.item() == 1 and optimizer.scale.item() == 2.0**39
    assert {name: tensor.tolist() for name, tensor in model.state_dict().items()} == before
    assert optimizer.state_dict()["step"].item() == 0
    for _ in range(40):
        optimizer.step(lambda: nn.cross_entropy(model(x), y))
    assert 1 < optimizer.skipped.item() < 41
    assert model.state_dict()["0.weight"].tolist() != before["0.weight"]
    # The scale goes through a state, as all else.
    other = hg.optim.AdamW(model, precision=precision)
    other.load_state_dict(optimizer.state_dict())
    assert other.scale.item() == optimizer.scale.item()


def test_products_keep_their_sums_where_asked():
    a = hg.full((2, 64), 100.0, dtype=hg.float16)
    assert hg.matmul(a, a.mT, out_dtype=hg.float32).tolist() == [[640000.0] * 2] * 2
    assert nn.linear(a, a, out_dtype=hg.float32).dtype == hg.float32
    with pytest.raises(hg.DTypeMismatch, match="f16 to f64"):
        hg.matmul(a, a.mT, out_dtype=hg.float64)
    with nn.MixedPrecision("bfloat16", "bfloat16"):
        assert (hg.ones((2, 2)) @ hg.ones((2, 2))).dtype == hg.bfloat16
    assert (hg.ones((2, 2)) @ hg.ones((2, 2))).dtype == hg.float32
    with pytest.raises(hg.DTypeMismatch):
        nn.MixedPrecision("float64")


def test_bisect_finds_where_a_nan_is_made(tmp_path):
    def work(on):
        (hg.sqrt(hg.asarray([0.0, 4.0], device=on) - 1) * 2).tolist()

    found = hg.bisect(work, "cpu", prefix=str(tmp_path / "found"))
    assert found.operation == "sqrt" and found.is_nan and "makes a NaN" in str(found)
    assert pathlib.Path(found.file).exists() and pathlib.Path(found.inputs).exists()
    assert hg.bisect(work, "cpu", prefix="", nan=False) is None


def run(example, *options, check=True):
    command = [sys.executable, str(EXAMPLES / example), "--device", "cpu", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert not check or done.returncode == 0, done.stderr
    return done


GPT = ("--batch", 2, "--context", 8, "--width", 16, "--layers", 1, "--heads", 2, "--write", 4, "--every", 1)


def test_a_run_that_was_stopped_goes_on_with_the_same_bits(tmp_path):
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    curve = tmp_path / "curve.svg"
    done = run("char_gpt.py", *GPT, "--steps", 4, "--checkpoint", whole, "--curve", curve)
    assert "step     4" in done.stdout
    assert ElementTree.parse(curve).getroot().tag.endswith("svg")
    run("char_gpt.py", *GPT, "--steps", 2, "--checkpoint", parts)
    assert "goes on after step 2" in run("char_gpt.py", *GPT, "--steps", 4, "--checkpoint", parts).stdout
    assert whole.read_bytes() == parts.read_bytes()
    # One that is cut short is no checkpoint.
    parts.write_bytes(whole.read_bytes()[:-100])
    damaged = run("char_gpt.py", *GPT, "--steps", 5, "--checkpoint", parts, check=False)
    assert damaged.returncode != 0 and "is not a valid safetensors file" in damaged.stderr


def test_resnet_learns_pictures_that_it_draws():
    done = run("resnet18.py", "--steps", 2, "--batch", 4, "--size", 32, "--width", 4, "--every", 1)
    assert "right on 200 others" in done.stdout


def test_mnist_needs_its_digits(tmp_path):
    done = run("mnist.py", "--digits", tmp_path, "--steps", 1, check=False)
    assert done.returncode != 0 and "fetch_mnist" in done.stderr
    # Made-up ones, a dark stripe each.
    for digit in range(10):
        picture = [1.0 if column // 2 == digit else 0.0 for _ in range(28) for column in range(28)]
        (tmp_path / f"{digit}.json").write_text(f'{{"data": {picture * 10}}}')
    done = run("mnist.py", "--digits", tmp_path, "--steps", 2, "--batch", 8, "--every", 1)
    assert "right on 10 other digits" in done.stdout
