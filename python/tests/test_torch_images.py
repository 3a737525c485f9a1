"""Models of images by torch.compile(backend="hologram"): channels last in memory, gradients of convolutions."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import hologram_torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


def everything(function, inputs):
    """The result, and the gradients of all inputs."""
    inputs = [x.detach().clone(memory_format=torch.preserve_format).requires_grad_() for x in inputs]
    out = function(*inputs)
    torch.manual_seed(1)
    up = torch.randn(out.shape, dtype=torch.float64)
    return [out.detach(), *torch.autograd.grad(out, inputs, up.to(out.dtype))]


def check(function, *inputs):
    """Within twice what PyTorch's own f32 is from f64, and the last bits of the largest element."""
    right = everything(function, [x.double() for x in inputs])
    eager = everything(function, inputs)
    fast = torch.compile(function, backend="hologram", options={"strict": True})
    for expected, theirs, ours in zip(right, eager, everything(fast, inputs)):
        assert ours.shape == theirs.shape
        most = expected.abs().max()
        assert (ours - expected).abs().max() <= 2 * (theirs - expected).abs().max() + 1e-6 * most


CASES = [  # batch, channels, outputs, rows, columns, kernel, stride, padding, dilation, groups
    (2, 4, 6, 9, 8, 3, 1, 1, 1, 1), (2, 4, 6, 9, 8, 3, 2, 1, 1, 1), (2, 4, 6, 9, 8, 3, 2, 0, 1, 1),
    (1, 4, 6, 10, 11, (5, 3), (2, 3), (2, 1), 1, 2), (2, 4, 6, 9, 8, 1, 2, 0, 1, 1), (2, 4, 6, 9, 8, 1, 1, 0, 1, 1),
    (2, 8, 8, 9, 8, 3, 2, 1, 1, 8), (2, 8, 8, 9, 8, 5, 1, 2, 1, 8), (1, 3, 5, 23, 23, 7, 2, 3, 1, 1),
    (2, 4, 6, 13, 12, 3, 2, 1, 2, 1), (2, 4, 6, 12, 12, 2, 3, 0, 1, 1), (3, 6, 4, 7, 7, 3, 4, 1, 1, 2),
    (1, 4, 40, 5, 5, 3, 1, 1, 1, 1), (2, 6, 12, 7, 7, 3, 1, 2, 1, 6), (1, 4, 6, 6, 6, 1, (3, 2), 1, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolutions(case):
    n, c, o, rows, columns, kernel, *options, groups = case
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    torch.manual_seed(0)
    x, w, b = torch.randn(n, c, rows, columns), torch.randn(o, c // groups, *kernel), torch.randn(o)
    check(lambda x, w, b: F.conv2d(x, w, b, *options, groups), x, w, b)
    check(lambda x, w: F.conv2d(x, w, None, *options, groups), x.to(memory_format=torch.channels_last), w)


def test_many_images_are_summed_by_parts():
    """More windows than are made at once."""
    torch.manual_seed(0)
    check(lambda x, w: F.conv2d(x, w, padding=1), torch.randn(5, 16, 160, 160), torch.randn(4, 16, 3, 3))


def residual(x, w, v, scale, shift, mean):
    y = F.batch_norm(F.conv2d(x, w, padding=1), None, None, scale, shift, training=True)
    z = F.conv2d(F.relu(y), v, padding=1) + F.hardswish(y) * scale[:, None, None] - mean
    z = F.max_pool2d(torch.where(z > 0.1, z, z * 0.2), 2)
    return torch.cat([z, z.mean((2, 3), keepdim=True) * z], 1).flatten(1)


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
def test_what_lies_between_convolutions(order):
    torch.manual_seed(0)
    x = torch.randn(2, 5, 8, 6).to(memory_format=order)
    check(residual, x, torch.randn(7, 5, 3, 3), torch.randn(7, 7, 3, 3), torch.rand(7) + 0.5, torch.randn(7),
          torch.randn(2, 1, 8, 1))  # fmt: skip


def test_layers_in_evaluation_and_training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8))
    other = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8))
    other.load_state_dict(model.state_dict())
    fast = torch.compile(model, backend="hologram", options={"strict": True})
    for step in range(4):
        x = torch.randn(2, 3, 9, 7)
        for m in (model, other):
            m.train(step != 2)
        with torch.set_grad_enabled(step != 3):
            ours, theirs = fast(x), other(x)
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
        assert ours.stride() == theirs.stride()
    torch.testing.assert_close(model.state_dict(), other.state_dict(), rtol=1e-5, atol=1e-6)


def test_parameters_that_change_are_seen():
    """Packed weights stay only as long as the values do, whoever writes them."""
    torch.manual_seed(0)
    model = nn.Conv2d(16, 16, 3, padding=1)
    fast = torch.compile(model, backend="hologram", options={"strict": True})
    x = torch.randn(1, 16, 8, 8)
    writes = [
        lambda w: None, lambda w: w.data.mul_(-1), lambda w: w.data[3, 2, 1, 0].add_(1e-6 * w.data[3, 2, 1, 0] + 1),
        lambda w: w.data.copy_(w.data.flip(0)), lambda w: w.data.numpy().__setitem__((0, 0, 0, 0), 7),
    ]  # fmt: skip
    with torch.no_grad():
        for _ in range(3):
            for write in writes:
                for _ in range(3):
                    torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)
                write(model.weight)


def test_a_backward_graph_by_pytorch_gets_what_was_kept(monkeypatch):
    """Its operations count on the order of axes that they were traced with."""
    from hologram_torch import _backend

    monkeypatch.setattr(_backend, "missing", lambda graph: [
        "convolution_backward" for n in graph.graph.nodes if "convolution_backward" in str(n.target)])  # fmt: skip
    torch.manual_seed(0)
    w, v = torch.randn(7, 5, 3, 3), torch.randn(7, 7, 3, 3)
    inputs = (torch.randn(2, 5, 8, 6), w, v, torch.rand(7) + 0.5, torch.randn(7), torch.randn(2, 1, 8, 1))
    expected = everything(residual, inputs)
    hologram_torch.reset()
    got = everything(torch.compile(residual, backend="hologram"), inputs)
    assert hologram_torch.report().graphs_by_torch == 1
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


class Residual(nn.Module):
    """As ResNets are: in place, a kernel of one, pooling to one row."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8)
        self.second, self.other = nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8)
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x)), inplace=True), 3, 2, 1)
        x = self.other(self.second(x)).add_(x)
        return self.last(F.adaptive_avg_pool2d(F.relu(x, inplace=True), 1).flatten(1))


@pytest.mark.parametrize("training", [False, True])
def test_models_whose_parameters_have_channels_last(training):
    """Of averages of channels last PyTorch asks for views by strides."""
    torch.manual_seed(0)
    model = Residual().train(training)
    other = Residual().train(training)
    other.load_state_dict(model.state_dict())
    other = other.to(memory_format=torch.channels_last)
    fast = torch.compile(other, backend="hologram", options={"strict": True})
    x = torch.randn(2, 3, 32, 32)
    out, theirs = fast(x.to(memory_format=torch.channels_last)), model(x)
    torch.testing.assert_close(out, theirs, rtol=1e-4, atol=1e-5)
    if training:
        out.square().sum().backward()
        theirs.square().sum().backward()
        for a, b in zip(other.parameters(), model.parameters()):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4)
