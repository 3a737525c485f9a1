"""Models of PyTorch by torch.compile(backend="hologram"), against PyTorch in float64."""

import copy
import gc
import pathlib
import re
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import hologram_torch  # noqa: E402

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


pytestmark = pytest.mark.usefixtures("fresh_torch")


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.one = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.two = nn.Conv2d(channels, channels, 3, padding=1, groups=2)

    def forward(self, x):
        return F.relu(x + self.two(F.relu(self.norm(self.one(x)))))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 5, stride=2, padding=2)
        self.blocks = nn.Sequential(Residual(8), nn.MaxPool2d(3, 2, 1), Residual(8), nn.Hardswish())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Attending(nn.Module):
    """A decoder's block: rotary positions, heads that share keys, a gated unit."""

    def __init__(self, width=16, heads=4, shared=2):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.embedding = nn.Embedding(50, width)
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * shared * self.size, bias=False)
        self.out, self.gate = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.down, self.norm = nn.Linear(width, width), nn.RMSNorm(width)

    def turned(self, x):
        length, half = x.shape[-2], x.shape[-1] // 2
        angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(half) / half)).to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)

    def forward(self, ids):
        x = self.embedding(ids)
        batch, length, _ = x.shape
        y = self.norm(x)
        q = self.q(y).view(batch, length, self.heads, -1).transpose(1, 2)
        k, v = self.kv(y).view(batch, length, 2, self.shared, -1).permute(2, 0, 3, 1, 4)
        made = F.scaled_dot_product_attention(
            self.turned(q), self.turned(k), v, is_causal=True, enable_gqa=True)  # fmt: skip
        x = x + self.out(made.transpose(1, 2).reshape(batch, length, -1))
        gate, value = self.gate(self.norm(x)).chunk(2, -1)
        return self.down(F.silu(gate) * value) @ self.embedding.weight.T


def network():
    return nn.Sequential(nn.Linear(6, 12), nn.LayerNorm(12), nn.GELU(), nn.BatchNorm1d(12), nn.Linear(12, 3))


MODELS = {
    "network": (network, lambda: torch.randn(7, 6)),
    "images": (Images, lambda: torch.randn(2, 3, 17, 16)),
    "attention": (Attending, lambda: torch.randint(0, 50, (2, 9))),
}


def wide(x):
    return x.double() if x.is_floating_point() else x


def error(x, right):
    return (x.double() - right).abs().max().item() / (right.abs().max().item() + 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_as_exact_as_pytorchs(name):
    make, draw = MODELS[name]
    model, x = make(), draw()
    ours, right = copy.deepcopy(model), copy.deepcopy(model).double()
    fast = torch.compile(ours, backend="hologram", fullgraph=True, options={"strict": True})
    results = [f(i) for f, i in ((model, x), (fast, x), (right, wide(x)))]
    for y in results:
        (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)).sum().backward()
    by_torch, by_us, exact = (y.detach() for y in results)
    assert error(by_us, exact) <= 2 * error(by_torch, exact) + 1e-6
    for (parameter, p), q, r in zip(model.named_parameters(), ours.parameters(), right.parameters()):
        assert error(q.grad, r.grad) <= 2 * error(p.grad, r.grad) + 1e-5, parameter
    for a, b in zip(model.buffers(), ours.buffers()):
        torch.testing.assert_close(a, b)
    with torch.no_grad():
        assert error(fast.eval()(x), right.eval()(wide(x))) < 1e-5
    found = hologram_torch.report()
    assert found.graphs_by_torch == 0 and found.graphs == 3 and found.copies == 0


def test_training_goes_the_same_way():
    losses = []
    for backend in ("eager", "hologram"):
        torch.manual_seed(1)
        model = Attending()
        run = torch.compile(model, backend=backend)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        ids = torch.randint(0, 50, (4, 13))
        kept = []
        for _ in range(30):
            optimizer.zero_grad()
            loss = F.cross_entropy(run(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            kept.append(loss.item())
        losses.append(kept)
    assert losses[0][-1] < 0.7 * losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)


def test_lengths_that_change_compile_twice_at_most():
    model = Attending()
    fast = torch.compile(model, backend="hologram", options={"strict": True})
    for batch, length in [(1, 5), (2, 7), (3, 12), (2, 30)]:
        ids = torch.randint(0, 50, (batch, length))
        with torch.no_grad():
            torch.testing.assert_close(fast(ids), model(ids), rtol=1e-4, atol=1e-5)
    found = hologram_torch.report()
    assert found.graphs <= 2 and found.captured <= 4


def test_views_of_inputs_of_any_size():
    def function(x, n):
        return x.view(n * 2, -1), x.t().reshape(-1) * 2, x.expand(3, *x.shape)[1:]

    fast = torch.compile(function, backend="hologram", dynamic=True, options={"strict": True})
    for n, columns in [(2, 6), (3, 8), (5, 4)]:
        x = torch.randn(2 * n, columns)
        for ours, right in zip(fast(x, n), function(x, n)):
            assert torch.equal(ours, right)


def test_half_precision_by_autocast():
    model, x = network(), torch.randn(7, 6)
    fast = torch.compile(model, backend="hologram", options={"strict": True})
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made, right = fast(x), model(x)
    assert made.dtype == right.dtype
    torch.testing.assert_close(made.float(), right.float(), rtol=3e-2, atol=3e-2)


def test_dropout_draws_anew_and_follows_the_seed():
    fast = torch.compile(nn.Dropout(0.5), backend="hologram", options={"strict": True})
    x = torch.ones(1000)
    torch.manual_seed(5)
    one, other = fast(x), fast(x)
    torch.manual_seed(5)
    assert torch.equal(one, fast(x)) and not torch.equal(one, other)
    assert set(one.tolist()) == {0.0, 2.0} and 400 < int((one > 0).sum()) < 600


def test_nothing_is_shared_with_results_or_stale():
    layer = hologram_torch.nn.Linear(6, 4)
    x = torch.randn(3, 6)
    first = layer(x).detach()
    kept = first.clone()
    first.add_(1)
    assert torch.equal(layer(x).detach(), kept)
    with torch.no_grad():
        layer.weight.mul_(2)
        x.add_(1)
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias))
    layer.weight.data.copy_(torch.randn(4, 6))  # which PyTorch does not count
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias))
    layer.weight.data = torch.randn(6, 4).T
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias))
    two = torch.compile(lambda x: (x * 2, (x * 2).T, x * 2), backend="hologram")(x)
    two[0].zero_()
    assert two[2].abs().sum() > 0 and two[1].abs().sum() > 0
    assert isinstance(layer, nn.Linear) and set(layer.state_dict()) == {"weight", "bias"}


def test_weights_of_convolutions_are_not_stale():
    layer = nn.Conv2d(16, 16, 3)
    fast = torch.compile(layer, backend="hologram", options={"strict": True})
    x = torch.randn(2, 16, 20, 20)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(fast(x), layer(x), rtol=1e-4, atol=1e-4)
            layer.weight.data.copy_(torch.randn(16, 16, 3, 3))


def test_memory_of_inputs_goes_with_them():
    fast = torch.compile(lambda x: x * 2, backend="hologram")
    gone = []
    for _ in range(3):
        x = torch.randn(1000)
        fast(x)
        weakref.finalize(x.untyped_storage(), gone.append, 1)
        del x
        gc.collect()
    assert len(gone) == 3


def test_strides_are_pytorchs():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for function in (lambda x: x * 2, lambda x: x.transpose(1, 3) + 1, lambda x: x.sum(1)):
        made = torch.compile(function, backend="hologram")(x)
        assert made.stride() == function(x).stride()
        torch.testing.assert_close(made, function(x))


def test_what_is_not_there_is_pytorchs_and_said():
    def function(x):
        return torch.fft.fft(x).real + 1

    x = torch.randn(8)
    with pytest.warns(UserWarning, match="_fft_r2c"):
        made = torch.compile(function, backend="hologram")(x)
    torch.testing.assert_close(made, function(x))
    found = hologram_torch.report()
    assert found.graphs_by_torch == 1 and "aten._fft_r2c.default" in found.by_torch
    assert "by PyTorch, for want of" in str(found)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="hologram has no aten._fft_r2c"):
        torch.compile(function, backend="hologram", options={"strict": True})(x)
    with pytest.raises(Exception, match="unknown options"):
        torch.compile(lambda x: x + 1, backend="hologram", options={"device": "cpu"})(x)


def test_memory_does_not_grow():
    model = network()
    fast = torch.compile(model, backend="hologram")

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    x = torch.randn(256, 6)
    for step in range(300):
        fast(x).sum().backward()
        if step == 100:
            gc.collect()
            before = resident()
    gc.collect()
    assert resident() - before < 8 << 20


def test_the_page_lists_the_operations():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "python" / "pytorch.md").read_text()
    listed = re.findall(r"`([^`]+)`", page[page.index("## Operations") :])
    names = [o.removeprefix("aten.").removesuffix(".default") for o in hologram_torch.operations()]
    assert listed[2:] == names, "write the list anew from hologram_torch.operations()"
