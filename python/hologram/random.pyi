"""Types of the package. Written by python/tools/make_stubs.py."""

import builtins
from typing import Any

from . import DeviceLike, DTypeLike, Number, Operand, Shape, Axis, Tensor

class Generator:
    """A sequence of random numbers of its own, of a key (the seed) and a counter.
    
    Each method draws one or some operations' numbers, and the counter goes on by as many. The numbers
    depend on nothing else: they are the same bits on every device, on any number of threads, and
    whatever is drawn elsewhere meanwhile. `device` says where they are made, and is the one in use
    unless given. Of one thread at a time: split() gives each thread one of its own.
    """

    def __eq__(self, other: Any, /) -> Any:  # type: ignore[override]
        """Return self==value."""

    __hash__: None  # type: ignore[assignment]

    def __init__(self, seed: int = ...) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __reduce__(self) -> Any:
        """Helper for pickle."""

    def __repr__(self) -> str:
        """Return repr(self)."""

    def bernoulli(self, p: Any, shape: Shape = ..., *, device: DeviceLike | None = ...) -> Tensor:
        """True with probability p, a number or a tensor of them: bool."""

    def choice(self, x: Tensor | int, shape: Shape = ..., *, replace: builtins.bool = ..., p: Any = ...) -> Tensor:
        """Elements of a vector, or of 0 … x - 1 for an int, drawn with the probabilities p (equal ones
        without) and put back unless replace=False.
        """

    def exponential(self, shape: Shape = ..., *, scale: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
        """Exponential, of mean `scale`."""

    def gamma(self, k: int, shape: Shape = ..., *, scale: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
        """Gamma, of the shape parameter k > 0, a number or a tensor of them, and of mean k * scale.
        
        By the method of Marsaglia and Tsang (2000), with 16 candidates for each element.
        """

    def load_state_dict(self, state: Any, /) -> None:
        """Takes the state from there. InvalidArgument if it is not there."""

    def normal(self, shape: Shape = ..., *, mean: float = ..., std: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
        """Normal, of this mean and standard deviation."""

    def permutation(self, x: Tensor, /, *, axis: Axis = ...) -> Tensor:
        """x with its parts along an axis in a random order."""

    def poisson(self, lam: Operand, shape: Shape = ..., *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
        """Poisson, of mean lam >= 0, a number or a tensor of them, up to 2^24: int64 unless dtype says
        otherwise.
        
        Below 10 by the distribution's sum, above by Hoermann's transformed rejection (1993), with 16
        candidates for each element.
        """

    def randint(self, low: Number, high: Number, shape: Shape = ..., *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
        """Integers, uniform in [low, high)."""

    def randperm(self, n: int, *, device: DeviceLike | None = ...) -> Tensor:
        """0 … n - 1 in a random order: int64."""

    def split(self, n: int) -> list[Generator]:
        """A list of n generators with keys of their own, drawn from this one: for threads, devices or
        layers that must not draw the same numbers.
        """

    @property
    def state(self) -> dict[str, int]:
        """All of it, {"key": …, "counter": …}, two ints; may be set."""

    def state_dict(self) -> dict[str, Tensor]:
        """The state as tensors, to be saved beside those of a model and an optimizer."""

    def uniform(self, shape: Shape = ..., *, low: Number = ..., high: Number = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
        """Uniform in [low, high)."""

def bernoulli(p: Any, shape: Shape = ..., *, device: DeviceLike | None = ...) -> Tensor:
    """True with probability p, a number or a tensor of them: bool."""

def choice(x: Tensor | int, shape: Shape = ..., *, replace: builtins.bool = ..., p: Any = ...) -> Tensor:
    """Elements of a vector, or of 0 … x - 1 for an int, drawn with the probabilities p (equal ones
    without) and put back unless replace=False.
    """

def default_rng(seed: int = ...) -> Generator:
    """A Generator of this seed, from 0 to 2^64 - 1; the seed is 0 unless given, never the clock."""

def exponential(shape: Shape = ..., *, scale: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Exponential, of mean `scale`."""

def gamma(k: int, shape: Shape = ..., *, scale: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Gamma, of the shape parameter k > 0, a number or a tensor of them, and of mean k * scale.
    
    By the method of Marsaglia and Tsang (2000), with 16 candidates for each element.
    """

def get_state(*, device: DeviceLike | None = ...) -> dict[str, int]:
    """Where the sequence of an executor is: {"key": …, "counter": …}, for set_state."""

def normal(shape: Shape = ..., *, mean: float = ..., std: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Normal, of this mean and standard deviation."""

def permutation(x: Tensor, /, *, axis: Axis = ...) -> Tensor:
    """x with its parts along an axis in a random order."""

def poisson(lam: Operand, shape: Shape = ..., *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Poisson, of mean lam >= 0, a number or a tensor of them, up to 2^24: int64 unless dtype says
    otherwise.
    
    Below 10 by the distribution's sum, above by Hoermann's transformed rejection (1993), with 16
    candidates for each element.
    """

def randint(low: Number, high: Number, shape: Shape = ..., *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Integers, uniform in [low, high)."""

def randperm(n: int, *, device: DeviceLike | None = ...) -> Tensor:
    """0 … n - 1 in a random order: int64."""

def seed(key: int, *, device: DeviceLike | None = ...) -> None:
    """Begins the sequence of an executor (or the one in use) anew."""

def set_state(state: Any, *, device: DeviceLike | None = ...) -> None:
    """Puts the sequence of an executor where get_state, or a Generator's state, was."""

def uniform(shape: Shape = ..., *, low: Number = ..., high: Number = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Uniform in [low, high)."""
