"""Random numbers, the same bits on every device: Philox4x32-10, keyed by a seed.

Every executor has a sequence of its own; seed() begins it anew.
"""

from . import _core, _dtypes
from ._errors import InvalidArgument, ShapeMismatch

__all__ = [
    "bernoulli",
    "choice",
    "exponential",
    "normal",
    "permutation",
    "randint",
    "randperm",
    "seed",
    "uniform",
]


def seed(key, *, device=None):
    """Begins the sequence of an executor (or the one in use) anew."""
    _core.seed(key, device)


def uniform(shape=(), *, low=0.0, high=1.0, dtype=None, device=None):
    """Uniform in [low, high)."""
    made = _core.rand(shape, dtype or _dtypes.float32, device)
    return made if (low, high) == (0.0, 1.0) else made * (high - low) + low


def normal(shape=(), *, mean=0.0, std=1.0, dtype=None, device=None):
    """Normal, of this mean and standard deviation."""
    made = _core.randn(shape, dtype or _dtypes.float32, device)
    return made if (mean, std) == (0.0, 1.0) else made * std + mean


def randint(low, high, shape=(), *, dtype=None, device=None):
    """Integers, uniform in [low, high)."""
    return _core.randint(low, high, shape, dtype or _dtypes.int64, device)


def bernoulli(p, shape=None, *, device=None):
    """True with probability p, a number or a tensor of them: bool."""
    if isinstance(p, _core.Tensor):
        shape = p.shape if shape is None else shape
        device = p.executor if device is None else device
    return _core.less(_core.rand(() if shape is None else shape, _dtypes.float32, device), p)


def exponential(shape=(), *, scale=1.0, dtype=None, device=None):
    """Exponential, of mean `scale`."""
    return _core.log1p(-_core.rand(shape, dtype or _dtypes.float32, device)) * -scale


def randperm(n, *, device=None):
    """0 … n - 1 in a random order: int64."""
    # 64 random bits each: two that are equal, which would stay in order, are not to be expected.
    return _core.argsort(_core.randint(-(2**63), 2**63 - 1, (n,), _dtypes.int64, device), 0, False)


def permutation(x, /, *, axis=0):
    """x with its parts along an axis in a random order."""
    return _core.take(x, randperm(x.shape[axis], device=x.executor), axis)


def choice(x, shape=(), *, replace=True, p=None):
    """Elements of a vector, or of 0 … x - 1 for an int, drawn with the probabilities p (equal ones
    without) and put back unless replace=False."""
    device = None
    if isinstance(x, _core.Tensor):
        if x.ndim != 1:
            raise ShapeMismatch(f"shape {x.shape} is no vector", "Reshape it, or draw indices.")
        device = x.executor
    count = x.shape[0] if isinstance(x, _core.Tensor) else x
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if count == 0:
        raise InvalidArgument("there is nothing to choose from", "Give at least one element.")
    if not replace:
        size = 1
        for length in shape:
            size *= length
        if p is not None or size > count:
            raise InvalidArgument(
                "without replacement at most all elements are drawn, with equal probabilities",
                "Draw fewer, leave p out, or use replace=True.",
            )
        drawn = _core.reshape(randperm(count, device=device)[:size], shape)
    elif p is None:
        drawn = _core.randint(0, count, shape, _dtypes.int64, device)
    else:
        ends = _core.cumsum(p, 0)
        if p.shape != (count,):
            raise ShapeMismatch(f"{p.shape} probabilities for {count} elements", "Give one for each.")
        u = _core.rand(shape, p.dtype, p.executor) * ends[-1]
        drawn = _core.minimum(_core.searchsorted(ends, u, True), count - 1)
    return _core.take(x, drawn, 0) if isinstance(x, _core.Tensor) else drawn
