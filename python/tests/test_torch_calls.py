"""Calls of torch.compile(backend="hologram"): what is taken over from the last call, memory, streams."""

import ctypes
import math
import os
import threading

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import hologram_torch  # noqa: E402
from hologram import _core  # noqa: E402
from hologram_torch import _backend, _graph, _interchange, _streams  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


pytestmark = pytest.mark.usefixtures("fresh_torch")


@pytest.fixture
def takes(monkeypatch):
    """How many inputs were taken anew."""
    taken = []
    take = _graph.Inputs.take

    def counted(self, t, *args, **named):
        taken.append(t)
        return take(self, t, *args, **named)

    monkeypatch.setattr(_graph.Inputs, "take", counted)
    return taken


def compiled(model, **options):
    return torch.compile(model, backend="hologram", options={"strict": True, **options})


def network():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 4)).eval()


def test_parameters_are_taken_once(takes):
    model = network()
    fast = compiled(model)
    with torch.no_grad():
        for _ in range(2):
            fast(torch.randn(3, 6))
        takes.clear()
        for rows in (3, 3, 3):
            x = torch.randn(rows, 6)
            torch.testing.assert_close(fast(x), model(x))
    assert len(takes) == 3  # the x


def test_training_takes_parameters_once(takes):
    model, right = network().train(), network().train()
    right.load_state_dict(model.state_dict())
    fast = compiled(model)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, right)]
    for step in range(5):
        x = torch.randn(5, 6)
        takes.clear()
        for run, optimizer in zip((fast, right), optimizers):
            optimizer.zero_grad()
            run(x).square().sum().backward()
            optimizer.step()
    for p, q in zip(model.parameters(), right.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)
    # The graph forward takes x, that backward what is saved, with one parameter.
    parameters = {id(p) for p in model.parameters()}
    assert sum(id(t) in parameters for t in takes) <= 1


def test_what_changes_is_seen():
    model = network()
    fast, x = compiled(model), torch.randn(3, 6)
    weight = model[0].weight
    with torch.no_grad():
        for change in (
            lambda: None,
            lambda: None,
            lambda: weight.mul_(2),
            lambda: weight.data.copy_(torch.randn(8, 6)),
            lambda: setattr(weight, "data", torch.randn(8, 6)),
            lambda: setattr(weight, "data", torch.randn(6, 8).T),
            lambda: setattr(model[0], "weight", nn.Parameter(torch.randn(8, 6))),
            lambda: model[1].running_mean.add_(1),
            lambda: model.load_state_dict(network().state_dict()),
        ):
            change()
            torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", ["cpu", "opencl"])
def test_inputs_in_turn(backend):
    if backend not in [b.name for b in hologram_torch._backend.hg.backends() if b.devices]:
        pytest.skip(f"there is no device of {backend}")
    fast = compiled(lambda a, b: a @ b + 1, backend=backend)
    some = [torch.randn(4, 4) for _ in range(3)]
    for i in range(12):
        a, b = some[i % 3], some[(i * i) % 3]
        torch.testing.assert_close(fast(a, b), a @ b + 1)
        a.mul_(0.9)


def test_orders_of_axes():
    def function(x):
        return x * 2, (x + 1).transpose(1, 2), x.permute(3, 1, 0, 2).contiguous() - x.mean()

    fast = compiled(function)
    base = torch.randn(2, 3, 4, 5)
    for x in (base, base.transpose(1, 3), base.to(memory_format=torch.channels_last), base[:, :, ::2], base.T,
              base[:1].expand(6, 3, 4, 5), torch.randn(())[None, None, None, None], base[:0]):  # fmt: skip
        for ours, right in zip(fast(x), function(x)):
            torch.testing.assert_close(ours, right, rtol=1e-5, atol=1e-5)
            assert ours.stride() == right.stride() or not ours.numel()


def test_results_are_memory_of_their_own():
    def function(x):
        return x + 1, torch.zeros(3), torch.arange(4.0), x.detach(), x * 1, x.clone()

    fast, x = compiled(function), torch.randn(3)
    before = x.clone()
    for _ in range(3):
        made = fast(x)
        for ours, right in zip(made, function(x)):
            torch.testing.assert_close(ours, right)
        for i in (0, 1, 2, 4, 5):
            made[i].add_(5)
        assert torch.equal(x, before)


def test_integers_and_empty_tensors():
    fast = compiled(lambda ids, x: (F.embedding(ids, x), ids + 1, x[:0]))
    x = torch.randn(5, 3)
    for ids in (torch.tensor([[1, 4]]), torch.zeros(0, 2, dtype=torch.int64)):
        made = fast(ids, x)
        torch.testing.assert_close(made[0], x[ids])
        assert torch.equal(made[1], ids + 1) and made[2].shape == (0, 3)
    with pytest.raises(Exception, match="outside|range|bound|index"):
        fast(torch.tensor([[1, 7]]), x)


def test_inference_mode():
    model = network()
    fast, x = compiled(model), torch.randn(3, 6)
    with torch.inference_mode():
        for _ in range(4):
            y = torch.randn(3, 6)
            torch.testing.assert_close(fast(y), model(y))
    torch.testing.assert_close(fast(x), model(x))


def test_threads():
    model = network()
    fast = compiled(model)
    fast(torch.randn(3, 6))
    wrong = []

    def work(seed):
        draw = torch.Generator().manual_seed(seed)
        for _ in range(30):
            x = torch.randn(3, 6, generator=draw)
            with torch.no_grad():
                if not torch.allclose(fast(x), model(x), atol=1e-5):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class Line:
    """In the place of a stream of PyTorch's."""

    device_index = 0

    def __init__(self, handle, said):
        self.cuda_stream, self.said = handle, said

    def wait_stream(self, other):
        self.said.append((self.cuda_stream, "waits for", other.cuda_stream))


def test_streams_wait_for_each_other_and_nobody_else(monkeypatch):
    said = []
    home, other = Line(7, said), Line(8, said)
    now = [home]
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: now[0].cuda_stream, raising=False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: now[0])
    stream = _streams.Stream(home)
    assert stream.ordered(lambda: said.append("works") or 3) == 3 and said == ["works"]
    said.clear()
    now[0] = other
    with pytest.raises(ZeroDivisionError):
        stream.ordered(lambda: said.append("works") or 1 // 0)
    assert said == [(7, "waits for", 8), "works", (8, "waits for", 7)]


@pytest.mark.skipif(
    "fake_cuda" not in os.environ.get("HOLOGRAM_CUDA_LIBRARY", ""), reason="needs the emulated CUDA driver"
)
def test_memory_of_a_device(monkeypatch):
    """Tensors of the host stand in for those of CUDA: the emulated driver's memory is that of the host."""
    driver = ctypes.CDLL(os.environ["HOLOGRAM_CUDA_LIBRARY"])
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 7) == 0
    driver.cuCtxPushCurrent_v2(context)

    def memory(shape, dtype):
        address, size = ctypes.c_ulonglong(), max(math.prod(shape) * dtype.itemsize, 1)
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
        bytes_ = (ctypes.c_char * size).from_address(address.value)
        return torch.frombuffer(bytes_, dtype=dtype, count=math.prod(shape)).reshape(shape)

    def moved(t):
        return memory(t.shape, t.dtype).copy_(t.detach())

    class Empty(_interchange.Place):
        def empty(self, shape):
            t = memory(shape, self.dtype)
            return t, (t if self.back is None else t.permute(self.back))

    class Ordered:
        calls = 0

        def ordered(self, work):
            Ordered.calls += 1
            made = work()
            executor.synchronize()  # PyTorch's own work is not on the emulated stream
            return made

    executor = _core._executor_on("cuda", 0, 0)
    for module in (_interchange, _graph):
        monkeypatch.setattr(module, "shares", lambda executor, t: True)
    monkeypatch.setattr(_graph, "Place", Empty)
    monkeypatch.setattr(_backend, "_executor_for", lambda *_: (executor, Ordered()))
    model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    ours = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    ours.load_state_dict(model.state_dict())
    for p in ours.parameters():
        p.data = moved(p)
    fast = torch.compile(ours, backend="hologram", options={"strict": True})
    for _ in range(4):
        x = torch.randn(2, 5, 16)
        made, right = fast(moved(x)), model(x)
        torch.testing.assert_close(made, right, rtol=1e-4, atol=1e-5)
        up = torch.randn(right.shape)
        made.backward(moved(up))
        right.backward(up)
    for p, q in zip(ours.parameters(), model.parameters()):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-4)
    assert Ordered.calls == 8 and hologram_torch.report().copies == 0
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))
