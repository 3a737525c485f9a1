"""scaled_dot_product_attention of torch.compile(backend="hologram"): one operation, forward and backward."""

import copy
import functools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import hologram as hg  # noqa: E402
import hologram_torch  # noqa: E402
from hologram_torch import _backend  # noqa: E402
from hologram_torch._attention import Whole  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

BACKENDS = ["cpu"] + [b.name for b in hg.backends() if b.name in ("opencl", "cuda") and b.devices]


@pytest.fixture(autouse=True)
def operations(monkeypatch):
    """The names of all operations in graphs that were handed over."""
    names = []

    def missing(module):
        names.extend(str(n.target) for n in module.graph.nodes if n.op == "call_function")
        return seen(module)

    seen = _backend.missing
    monkeypatch.setattr(_backend, "missing", missing)
    torch._dynamo.reset()
    hologram_torch.reset()
    torch.manual_seed(0)
    yield names


def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def see_some(*shape):
    """A mask, one row of which sees nothing."""
    mask = torch.rand(*shape) < 0.6
    mask[..., 0] = True
    mask[..., 2, :] = False
    return mask


CASES = {  # queries, keys, values; options
    "plain": ((1, 4, 9, 8), (1, 4, 9, 8), (1, 4, 9, 8), dict),
    "causal": ((8, 2, 33, 16), (8, 2, 33, 16), (8, 2, 33, 16), lambda: {"is_causal": True}),
    "other lengths": ((2, 3, 5, 8), (2, 3, 11, 8), (2, 3, 11, 6), lambda: {"is_causal": True, "scale": 0.4}),
    "heads that share": ((2, 6, 7, 8), (2, 2, 7, 8), (2, 2, 7, 8), lambda: {"enable_gqa": True, "is_causal": True}),
    "one head for all": ((2, 4, 7, 8), (1, 1, 9, 8), (2, 1, 9, 8), dict),
    "bools": ((8, 2, 6, 8), (8, 2, 10, 8), (8, 2, 10, 8), lambda: {"attn_mask": see_some(8, 1, 6, 10)}),
    "numbers": ((1, 2, 6, 8), (1, 2, 10, 8), (1, 2, 10, 8), lambda: {"attn_mask": torch.randn(6, 10)}),
    "without a batch": ((3, 6, 8), (3, 7, 8), (3, 7, 8), lambda: {"scale": 1.0}),
    "two batches": ((2, 3, 2, 5, 8), (2, 3, 2, 5, 8), (2, 3, 2, 5, 8), lambda: {"is_causal": True}),
}  # fmt: skip


def computed(function, tensors, up):
    tensors = [x.detach().clone().requires_grad_() for x in tensors]
    made = function(*tensors)
    (made * up.to(made.dtype)).sum().backward()
    return [made.detach(), *(x.grad for x in tensors)]


def error(x, right):
    return ((x.double() - right).abs().max() / right.abs().max().clamp(min=1e-6)).item()


# Other devices, whose programs take longer to compile, get some of all.
SOME = ("causal", "other lengths", "heads that share", "bools")
ALL = [(case, dtype, "cpu") for case in CASES for dtype in (torch.float32, torch.bfloat16, torch.float16)] + [
    (case, dtype, backend) for backend in BACKENDS[1:] for case in SOME for dtype in (torch.float32, torch.bfloat16)
]


@pytest.mark.parametrize(("case", "dtype", "backend"), ALL)
def test_results_and_gradients(case, dtype, backend, operations):
    *shapes, options = CASES[case]
    tensors, options = [draw(*s, dtype=dtype) for s in shapes], options()
    mask = options.get("attn_mask")

    def attend(*tensors, mask=mask):
        given = dict(options)
        if mask is not None:
            given["attn_mask"] = mask if mask.dtype == torch.bool else mask.to(tensors[0].dtype)
        return F.scaled_dot_product_attention(*tensors, **given)

    fast = torch.compile(attend, backend="hologram", fullgraph=True, options={"strict": True, "backend": backend})
    up = torch.randn(attend(*tensors).shape)
    theirs = computed(attend, tensors, up)
    ours = computed(fast, tensors, up)
    exact = computed(attend, [x.double() for x in tensors], up.to(dtype).double())
    least = {torch.float32: 1e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}[dtype]
    for a, b, right in zip(ours, theirs, exact):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert error(a, right) <= 2 * error(b, right) + least
    assert "hologram.attention.default" in operations and "hologram.attention_changes.default" in operations
    assert not any("softmax" in name or "bmm" in name for name in operations)
    with torch.no_grad():
        assert error(fast(*tensors), exact[0]) <= 2 * error(theirs[0], exact[0]) + least


@pytest.mark.parametrize("backend", BACKENDS)
def test_lengths_that_change(backend, operations):
    def attend(x):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    fast = torch.compile(attend, backend="hologram", dynamic=True, options={"strict": True, "backend": backend})
    for batch, length in [(2, 5), (3, 9), (4, 70)]:
        x = [draw(batch, 2, length, 8)]
        up = torch.randn(x[0].shape)
        for a, b in zip(computed(fast, x, up), computed(attend, x, up)):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert operations.count("hologram.attention.default") <= 2


def test_what_pytorch_takes_apart(operations):
    x, mask = draw(2, 2, 6, 8), torch.randn(6, 6)
    options = {"backend": "hologram", "options": {"strict": True}}
    fast = torch.compile(lambda x, m: F.scaled_dot_product_attention(x, x, x, m), **options)
    up = torch.randn(x.shape)
    ours = computed(fast, [x, mask], up)  # with the gradient of the mask
    theirs = computed(lambda x, m: F.scaled_dot_product_attention(x, x, x, m), [x, mask], up)
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert "hologram.attention.default" not in operations

    dropped = torch.compile(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5), **options)
    torch.manual_seed(3)
    one, other = dropped(x), dropped(x)
    torch.manual_seed(3)
    assert torch.equal(one, dropped(x)) and not torch.equal(one, other)
    with pytest.raises(Exception, match="is_causal"):
        torch.compile(lambda x, m: F.scaled_dot_product_attention(x, x, x, m, is_causal=True), **options)(x, mask)


@pytest.mark.parametrize("backend", BACKENDS)
def test_graphs_that_pytorch_computes(backend, operations):
    """One of the two graphs is PyTorch's, for want of an operation."""

    def before(x):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True) + torch.fft.fft(x).real * 0

    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.5

        @staticmethod
        def backward(ctx, g):
            return g * 1.5 + torch.fft.fft(g.float()).real.to(g.dtype) * 0

    def behind(x):
        return Odd.apply(F.scaled_dot_product_attention(x, x, x))

    x = [draw(2, 2, 9, 8)]
    up = torch.randn(x[0].shape)
    for dtype in (torch.float32, torch.bfloat16):
        for function in (before, behind):
            torch._dynamo.reset()
            fast = torch.compile(function, backend="hologram", options={"backend": backend})
            given = [x[0].to(dtype)] if function is behind else x
            loose = 1e-4 if dtype == torch.float32 else 2e-2
            with pytest.warns(UserWarning, match="fft"):
                ours = computed(fast, given, up)
            for a, b in zip(ours, computed(function, given, up)):
                torch.testing.assert_close(a, b, rtol=loose, atol=loose)
    assert "hologram.attention.default" in operations


def test_half_precision_by_autocast(operations):
    model = nn.MultiheadAttention(16, 4, batch_first=True)
    fast = torch.compile(lambda x: model(x, x, x, need_weights=False)[0], backend="hologram",
                         options={"strict": True})  # fmt: skip
    for batch in (1, 8):
        x = draw(batch, 7, 16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            made, right = fast(x), model(x, x, x, need_weights=False)[0]
        assert made.dtype == right.dtype == torch.bfloat16
        torch.testing.assert_close(made, right, rtol=3e-2, atol=3e-2)
    assert "hologram.attention.default" in operations


@pytest.mark.parametrize("training", [True, False])
def test_layers_of_transformers(training, operations):
    model = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True).train(training)
    ours, right = copy.deepcopy(model), copy.deepcopy(model).double()
    fast = torch.compile(ours, backend="hologram", options={"strict": True})
    hidden = torch.zeros(2, 7, dtype=torch.bool)
    hidden[0, 5:] = True
    x = draw(2, 7, 16)
    made = [f(i, src_key_padding_mask=hidden) for f, i in ((model, x), (fast, x), (right, x.double()))]
    for y in made:
        (y * torch.linspace(-1, 1, y.numel()).view(y.shape).to(y.dtype)).sum().backward()
    assert error(made[1], made[2]) <= 2 * error(made[0], made[2]) + 1e-6
    for p, q, r in zip(model.parameters(), ours.parameters(), right.parameters()):
        assert error(q.grad, r.grad) <= 2 * error(p.grad, r.grad) + 1e-5
    assert "hologram.attention.default" in operations


def test_strides_are_pytorchs():
    for x in (draw(2, 3, 5, 4), draw(2, 5, 3, 4).transpose(1, 2), draw(2, 3, 5, 8)[..., :4]):
        made = torch.compile(lambda x: F.scaled_dot_product_attention(x, x, x), backend="hologram")(x)
        assert made.stride() == F.scaled_dot_product_attention(x, x, x).stride()


def test_checkpoints(operations):
    def attend(x):
        again = torch.utils.checkpoint.checkpoint(
            lambda x: F.scaled_dot_product_attention(x, x, x), x, use_reentrant=False)  # fmt: skip
        return again * 2

    x, up = [draw(2, 2, 9, 8)], torch.randn(2, 2, 9, 8)
    fast = torch.compile(attend, backend="hologram", options={"strict": True})
    for a, b in zip(computed(fast, x, up), computed(attend, x, up)):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert "hologram.attention.default" in operations


def test_samples_of_pytorchs_own():
    pytest.importorskip("expecttest", reason="PyTorch's samples need the package expecttest")
    from torch.testing._internal.common_methods_invocations import op_db

    (op,) = [o for o in op_db if o.name == "nn.functional.scaled_dot_product_attention"]
    compared = 0
    for dtype in (torch.float32, torch.bfloat16):
        for sample in list(op.sample_inputs("cpu", dtype, requires_grad=True)):
            if sample.kwargs.get("dropout_p"):
                continue
            tensors = [sample.input, *[a for a in sample.args if isinstance(a, torch.Tensor)]]
            if len(tensors) != 1 + len(sample.args):
                continue

            def attend(*tensors):
                return F.scaled_dot_product_attention(*tensors, **sample.kwargs)

            torch._dynamo.reset()
            fast = torch.compile(attend, backend="hologram", options={"strict": True})
            up = torch.randn(attend(*tensors).shape)
            least = 1e-5 if dtype == torch.float32 else 1e-2
            wide = {k: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
                    for k, v in sample.kwargs.items()}  # fmt: skip
            double = functools.partial(F.scaled_dot_product_attention, **wide)
            exact = computed(double, [x.double() for x in tensors], up.to(dtype).double())
            for a, b, right in zip(computed(fast, tensors, up), computed(attend, tensors, up), exact):
                assert error(a, right) <= 2 * error(b, right) + least
            compared += 1
    assert compared >= 10


def test_a_mode_for_each_executor_alone():
    """Outside of tracing, PyTorch's function is its own."""
    x = draw(1, 2, 5, 8)
    with Whole(keeps=True):
        assert torch.allclose(F.scaled_dot_product_attention(x, x, x), torch.softmax(x @ x.mT / 8**0.5, -1) @ x, atol=1e-6)
    assert torch.nn.functional.scaled_dot_product_attention is torch._C._nn.scaled_dot_product_attention
