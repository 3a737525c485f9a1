"""Types of the package. Written by python/tools/make_stubs.py."""

import builtins
from typing import Any

from . import DeviceLike, DTypeLike, Number, Operand, Shape, Axis, Tensor

def bernoulli(p: Any, shape: Shape = ..., *, device: DeviceLike | None = ...) -> Tensor:
    """True with probability p, a number or a tensor of them: bool."""

def choice(x: Tensor | int, shape: Shape = ..., *, replace: builtins.bool = ..., p: Any = ...) -> Tensor:
    """Elements of a vector, or of 0 … x - 1 for an int, drawn with the probabilities p (equal ones
    without) and put back unless replace=False.
    """

def exponential(shape: Shape = ..., *, scale: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Exponential, of mean `scale`."""

def normal(shape: Shape = ..., *, mean: float = ..., std: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Normal, of this mean and standard deviation."""

def permutation(x: Tensor, /, *, axis: Axis = ...) -> Tensor:
    """x with its parts along an axis in a random order."""

def randint(low: Number, high: Number, shape: Shape = ..., *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Integers, uniform in [low, high)."""

def randperm(n: int, *, device: DeviceLike | None = ...) -> Tensor:
    """0 … n - 1 in a random order: int64."""

def seed(key: int, *, device: DeviceLike | None = ...) -> None:
    """Begins the sequence of an executor (or the one in use) anew."""

def uniform(shape: Shape = ..., *, low: Number = ..., high: Number = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Uniform in [low, high)."""
