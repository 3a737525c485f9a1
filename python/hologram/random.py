"""Random numbers, the same bits on every device: Philox4x32-10, keyed by a seed.

Every executor has a sequence of its own, which the functions of this module draw from and seed()
begins anew; a Generator is a sequence in the program's hands.
"""

from . import _core, _dtypes
from ._creation import asarray as _asarray
from ._errors import InvalidArgument, ShapeMismatch

__all__ = [
    "Generator",
    "bernoulli",
    "choice",
    "default_rng",
    "exponential",
    "gamma",
    "get_state",
    "normal",
    "permutation",
    "poisson",
    "randint",
    "randperm",
    "seed",
    "set_state",
    "uniform",
]


def seed(key, *, device=None):
    """Begins the sequence of an executor (or the one in use) anew."""
    _core.seed(key, device)


def get_state(*, device=None):
    """Where the sequence of an executor is: {"key": …, "counter": …}, for set_state."""
    key, counter = _core.random_state(device)
    return {"key": key, "counter": counter}


def set_state(state, *, device=None):
    """Puts the sequence of an executor where get_state, or a Generator's state, was."""
    _core.set_random_state(*_checked(state), device)


def default_rng(seed=0):
    """A Generator of this seed, from 0 to 2^64 - 1; the seed is 0 unless given, never the clock."""
    return Generator(seed)


# Of so many candidates one is taken but once in 10^15.
_CANDIDATES = 16


def _first(candidates):
    """The first value that is accepted, of pairs of both."""
    made = None
    for value, accepted in reversed(candidates):
        made = value if made is None else _core.where(accepted, value, made)
    return made


def _parameter(value, shape, dtype, device):
    """The shape of what is drawn, its parameter as a tensor, its dtype and where."""
    if isinstance(value, _core.Tensor):
        device = value.executor if device is None else device
        shape = value.shape if shape is None else shape
        dtype = dtype or (value.dtype if value.dtype in _dtypes.FLOATS else _dtypes.float32)
        return _shape(shape), _core.astype(value, dtype), dtype, device
    dtype = dtype or _dtypes.float32
    return _shape(() if shape is None else shape), _core.full((), value, dtype, device), dtype, device


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


class _Draws:
    """What is drawn from a sequence, whoever holds it: _rand, _randn and _randint are its own."""

    def uniform(self, shape=(), *, low=0.0, high=1.0, dtype=None, device=None):
        """Uniform in [low, high)."""
        made = self._rand(shape, dtype or _dtypes.float32, device)
        return made if (low, high) == (0.0, 1.0) else made * (high - low) + low

    def normal(self, shape=(), *, mean=0.0, std=1.0, dtype=None, device=None):
        """Normal, of this mean and standard deviation."""
        made = self._randn(shape, dtype or _dtypes.float32, device)
        return made if (mean, std) == (0.0, 1.0) else made * std + mean

    def randint(self, low, high, shape=(), *, dtype=None, device=None):
        """Integers, uniform in [low, high)."""
        return self._randint(low, high, shape, dtype or _dtypes.int64, device)

    def bernoulli(self, p, shape=None, *, device=None):
        """True with probability p, a number or a tensor of them: bool."""
        if isinstance(p, _core.Tensor):
            shape = p.shape if shape is None else shape
            device = p.executor if device is None else device
        return _core.less(self._rand(() if shape is None else shape, _dtypes.float32, device), p)

    def exponential(self, shape=(), *, scale=1.0, dtype=None, device=None):
        """Exponential, of mean `scale`."""
        return _core.log1p(-self._rand(shape, dtype or _dtypes.float32, device)) * -scale

    def gamma(self, k, shape=None, *, scale=1.0, dtype=None, device=None):
        """Gamma, of the shape parameter k > 0, a number or a tensor of them, and of mean k * scale.

        By the method of Marsaglia and Tsang (2000), with 16 candidates for each element.
        """
        shape, k, dtype, device = _parameter(k, shape, dtype, device)
        boosted = k + _core.astype(_core.less(k, 1.0), dtype)
        d = boosted - 1 / 3
        c = _core.rsqrt(9.0 * d)
        candidates = []
        for _ in range(_CANDIDATES):
            x = self._randn(shape, dtype, device)
            v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x)
            u = self._rand(shape, dtype, device)
            likely = _core.log(u) < 0.5 * x * x + d - d * v + d * _core.log(_core.maximum(v, 1e-30))
            candidates.append((d * v, _core.logical_and(v > 0.0, likely)))
        made = _first(candidates)
        # Of k < 1, that of k + 1 times a power of a uniform number.
        shrunk = made * _core.pow(1.0 - self._rand(shape, dtype, device), 1.0 / k)
        return _core.where(_core.less(k, 1.0), shrunk, made) * scale

    def poisson(self, lam, shape=None, *, dtype=None, device=None):
        """Poisson, of mean lam >= 0, a number or a tensor of them, up to 2^24: int64 unless dtype says
        otherwise.

        Below 10 by the distribution's sum, above by Hoermann's transformed rejection (1993), with 16
        candidates for each element.
        """
        shape, lam, _, device = _parameter(lam, shape, None, device)
        few = self._few(_core.minimum(lam, 10.0), shape, device)
        many = self._many(_core.maximum(lam, 10.0), shape, device)
        made = _core.where(_core.less(lam, 10.0), few, many)
        return _core.astype(made, dtype or _dtypes.int64)

    def randperm(self, n, *, device=None):
        """0 … n - 1 in a random order: int64."""
        # 64 random bits each: two that are equal, which would stay in order, are not to be expected.
        return _core.argsort(self._randint(-(2**63), 2**63 - 1, (n,), _dtypes.int64, device), 0, False)

    def permutation(self, x, /, *, axis=0):
        """x with its parts along an axis in a random order."""
        return _core.take(x, self.randperm(x.shape[axis], device=x.executor), axis)

    def choice(self, x, shape=(), *, replace=True, p=None):
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
            drawn = _core.reshape(self.randperm(count, device=device)[:size], shape)
        elif p is None:
            drawn = self._randint(0, count, shape, _dtypes.int64, device)
        else:
            ends = _core.cumsum(p, 0)
            if p.shape != (count,):
                raise ShapeMismatch(f"{p.shape} probabilities for {count} elements", "Give one for each.")
            u = self._rand(shape, p.dtype, p.executor) * ends[-1]
            drawn = _core.minimum(_core.searchsorted(ends, u, True), count - 1)
        return _core.take(x, drawn, 0) if isinstance(x, _core.Tensor) else drawn

    def _few(self, lam, shape, device):
        u = self._rand(shape, _dtypes.float32, device)
        term = _core.exp(-lam)
        total, made = term, _core.full(shape, 0, _dtypes.float32, device)
        for k in range(1, 40):
            made = made + _core.astype(_core.greater_equal(u, total), _dtypes.float32)
            term = term * lam * (1.0 / k)
            total = total + term
        return made

    def _many(self, lam, shape, device):
        root = _core.sqrt(lam)
        b = 0.931 + 2.53 * root
        a = -0.059 + 0.02483 * b
        inverse, far = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)
        candidates = []
        for _ in range(_CANDIDATES):
            u = self._rand(shape, _dtypes.float32, device) - 0.5
            v = self._rand(shape, _dtypes.float32, device)
            us = 0.5 - _core.abs(u)
            k = _core.floor((2.0 * a / us + b) * u + lam + 0.43)
            at_once = _core.logical_and(us >= 0.07, v <= far)
            never = _core.logical_or(k < 0.0, _core.logical_and(us < 0.013, v > us))
            safe = _core.maximum(k, 0.0)
            likely = _core.log(v * inverse / (a / (us * us) + b)) <= (
                safe * _core.log(lam) - lam - _core.lgamma(safe + 1.0)
            )
            rest = _core.logical_and(_core.logical_not(never), likely)
            candidates.append((safe, _core.logical_or(at_once, rest)))
        return _first(candidates)


class Generator(_Draws):
    """A sequence of random numbers of its own, of a key (the seed) and a counter.

    Each method draws one or some operations' numbers, and the counter goes on by as many. The numbers
    depend on nothing else: they are the same bits on every device, on any number of threads, and
    whatever is drawn elsewhere meanwhile. `device` says where they are made, and is the one in use
    unless given. Of one thread at a time: split() gives each thread one of its own.
    """

    def __init__(self, seed=0):
        if not isinstance(seed, int) or not 0 <= seed < 2**64:
            raise InvalidArgument(f"the seed is {seed!r}", "Give an int from 0 to 2**64 - 1.")
        self._core = _core.Generator(seed, 0)

    @property
    def state(self):
        """All of it, {"key": …, "counter": …}, two ints; may be set."""
        key, counter = self._core.state
        return {"key": key, "counter": counter}

    @state.setter
    def state(self, state):
        self._core.state = _checked(state)

    def state_dict(self):
        """The state as tensors, to be saved beside those of a model and an optimizer."""
        return {"random": _asarray(list(self._core.state), dtype=_dtypes.uint64, device="cpu")}

    def load_state_dict(self, state, /):
        """Takes the state from there. InvalidArgument if it is not there."""
        found = state.get("random")
        if found is None or found.shape != (2,):
            raise InvalidArgument("there is no state of a Generator", "Load what state_dict() gave.")
        key, counter = found.tolist()
        self.state = {"key": key, "counter": counter}

    def split(self, n):
        """A list of n generators with keys of their own, drawn from this one: for threads, devices or
        layers that must not draw the same numbers."""
        if not isinstance(n, int) or n < 0:
            raise InvalidArgument(f"{n!r} generators are no number of them", "Give an int of at least 0.")
        made = [Generator() for _ in range(n)]
        for generator, core in zip(made, self._core.split(n)):
            generator._core = core
        return made

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, Generator) and self._core.state == other._core.state

    def __reduce__(self):
        return _restored, self._core.state

    def __repr__(self):
        key, counter = self._core.state
        return f"Generator(key={key}, counter={counter})"

    def _rand(self, shape, dtype, device):
        return self._core.rand(shape, dtype, device)

    def _randn(self, shape, dtype, device):
        return self._core.randn(shape, dtype, device)

    def _randint(self, low, high, shape, dtype, device):
        return self._core.randint(low, high, shape, dtype, device)


class _Executors(_Draws):
    """The sequence of whichever executor the numbers are made on."""

    _rand = staticmethod(_core.rand)
    _randn = staticmethod(_core.randn)
    _randint = staticmethod(_core.randint)


_executors = _Executors()
uniform = _executors.uniform
normal = _executors.normal
randint = _executors.randint
bernoulli = _executors.bernoulli
exponential = _executors.exponential
gamma = _executors.gamma
poisson = _executors.poisson
randperm = _executors.randperm
permutation = _executors.permutation
choice = _executors.choice


def _restored(key, counter):
    made = Generator()
    made._core.state = key, counter
    return made


def _checked(state):
    """Key and counter out of a state."""
    try:
        numbers = state["key"], state["counter"]
    except (TypeError, KeyError):
        numbers = ()
    if len(numbers) != 2 or not all(isinstance(n, int) and 0 <= n < 2**64 for n in numbers):
        raise InvalidArgument(
            f"{state!r} is no state", 'A state is {"key": …, "counter": …}, ints from 0 to 2**64 - 1.'
        )
    return numbers
