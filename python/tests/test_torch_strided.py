"""Views by strides in graphs of PyTorch's, against PyTorch: drawn operands, drawn views."""

import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from hologram_torch._backend import executor_of  # noqa: E402
from hologram_torch._graph import Compiled, missing  # noqa: E402


def drawn(chance):
    """An operand that lies dense in some order, and a view of its memory."""
    shape = [chance.choice((1, 2, 3, 4)) for _ in range(chance.randint(1, 4))]
    order = chance.sample(range(len(shape)), len(shape))
    back = sorted(range(len(shape)), key=order.__getitem__)
    x = torch.randn([shape[d] for d in order]).permute(back)
    assert list(x.shape) == shape
    while True:
        size = [chance.choice((0, 1, 2, 3)) if chance.random() < 0.9 else 4 for _ in range(chance.randint(0, 3))]
        strides = [chance.choice((0, 1, 1, 2, 3, 4, 6)) for _ in size]
        last = sum(max(n - 1, 0) * s for n, s in zip(size, strides))
        if last < x.numel():
            return x, size, strides, chance.randint(0, x.numel() - 1 - last)


def overlaps(size, strides):
    places = torch.zeros(())
    for n, s in zip(size, strides):
        places = places.unsqueeze(-1) + torch.arange(n) * s
    return len(places.flatten().unique()) < places.numel()


@pytest.mark.parametrize("seed", range(40))
def test_has_the_values_of_torch(seed):
    chance = random.Random(seed)
    x, size, strides, offset = drawn(chance)
    values, alone = torch.randn(size), not overlaps(size, strides)

    def function(x, values):
        seen = torch.as_strided(x, size, strides, offset)
        if not alone:  # of several values for one place it is not said which stays
            return [seen + 1]
        return [seen + 1, torch.as_strided_scatter(x, values, size, strides, offset)]

    graph = make_fx(function, tracing_mode="fake")(x, values)
    assert not missing(graph)
    for ours, theirs in zip(Compiled(graph, executor_of("cpu", None))([x, values]), function(x, values)):
        assert torch.equal(ours, theirs)


def test_gaps_are_refused():
    x = torch.randn(4, 6)[:, ::2]
    graph = make_fx(lambda x: [torch.as_strided(x, (2, 2), (6, 2)) + 1], tracing_mode="fake")(x)
    with pytest.raises(NotImplementedError, match="gaps"):
        Compiled(graph, executor_of("cpu", None))([x])
