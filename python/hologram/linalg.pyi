"""Types of the package. Written by python/tools/make_stubs.py."""

import builtins
from typing import Any

from . import DeviceLike, DTypeLike, Number, Operand, Shape, Axis, Tensor

def cross(x1: Tensor, x2: Operand, /, *, axis: Axis = ...) -> Tensor:
    """The vectors at right angles to pairs of vectors of length 3 along an axis."""

def diagonal(x: Tensor, /, *, offset: int = ...) -> Tensor:
    """The diagonals of matrices that lie `offset` above the main one, along the last axis."""

def matmul(x1: Tensor, x2: Operand, /) -> Tensor:
    """Products of the matrices of the last two axes; those before are a batch. A vector on the
    left is a row, on the right a column.
    """

def matrix_norm(x: Tensor, /, *, keepdims: builtins.bool = ..., ord: Any = ...) -> Tensor:
    """The norm of matrices: 'fro', 1, -1, inf, -inf."""

def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices multiplied with themselves, n times."""

def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""

def outer(x1: Tensor, x2: Operand, /) -> Tensor:
    """x1[i] * x2[j] of two vectors."""

def tensordot(x1: Tensor, x2: Operand, /, *, axes: Any = ...) -> Tensor:
    """Sums over the last `axes` axes of x1 and the first ones of x2, or over pairs of lists."""

def trace(x: Tensor, /, *, offset: int = ..., dtype: DTypeLike = ...) -> Tensor:
    """The sums of these diagonals; dtypes as of sum."""

def vecdot(x1: Tensor, x2: Operand, /, *, axis: Axis = ...) -> Tensor:
    """sum(x1 * x2) along an axis, counted from the last: the others are repeated."""

def vector_norm(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ..., ord: Any = ...) -> Tensor:
    """sum(|x| ** ord) ** (1 / ord) along axes (all without any); inf, -inf: the largest and the
    least magnitude; 0: how many are not 0.
    """
