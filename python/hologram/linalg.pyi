"""Types of the package. Written by python/tools/make_stubs.py."""

import builtins
from typing import Any

from . import DeviceLike, DTypeLike, Number, Operand, Shape, Axis, Tensor

def cholesky(x: Tensor, /, *, upper: builtins.bool = ...) -> Tensor:
    """Lower triangular L with x = L @ L.mT, or upper triangular U with x = U.mT @ U."""

def cross(x1: Tensor, x2: Operand, /, *, axis: Axis = ...) -> Tensor:
    """The vectors at right angles to pairs of vectors of length 3 along an axis."""

def det(x: Tensor, /) -> Tensor:
    """The determinants of square matrices."""

def diagonal(x: Tensor, /, *, offset: int = ...) -> Tensor:
    """The diagonals of matrices that lie `offset` above the main one, along the last axis."""

def eigh(x: Tensor, /) -> Any:
    """(eigenvalues, eigenvectors) of symmetric matrices, in ascending order; vectors are columns."""

def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of symmetric matrices, in ascending order."""

def inv(x: Tensor, /) -> Tensor:
    """The inverses of square matrices."""

def lstsq(x1: Tensor, x2: Operand, /, *, rtol: float | None = ...) -> Any:
    """(solution, residuals, rank, singular_values): the x for which |x2 - x1 @ x| is least, of
    several the shortest.
    """

def matmul(x1: Tensor, x2: Operand, /, *, out_dtype: Operand = ...) -> Tensor:
    """Products of the matrices of the last two axes; those before are a batch. A vector on the
    left is a row, on the right a column. out_dtype: float32 keeps the sums of float16 and bfloat16
    as they were added up.
    """

def matrix_norm(x: Tensor, /, *, keepdims: builtins.bool = ..., ord: Any = ...) -> Tensor:
    """The norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf."""

def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices multiplied with themselves, n times; a negative n takes the inverse."""

def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = ...) -> Tensor:
    """How many singular values are more than rtol, a number or one for each matrix, times the
    largest: int64.
    """

def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""

def norm(x: Tensor, /, ord: Any = ..., *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The norm of all elements, or along axes: vector_norm."""

def outer(x1: Tensor, x2: Operand, /) -> Tensor:
    """x1[i] * x2[j] of two vectors."""

def pinv(x: Tensor, /, *, rtol: float | Tensor | None = ...) -> Tensor:
    """The pseudo-inverses of matrices; singular values up to rtol, a number or one for each matrix,
    times the largest count as 0.
    """

def qr(x: Tensor, /, *, mode: str = ...) -> Any:
    """(Q, R) with x = Q @ R: Q with orthonormal columns, R upper triangular. Of [m, n] matrices Q is
    [m, k] with k = min(m, n), or with mode='complete' k = m.
    """

def slogdet(x: Tensor, /) -> Any:
    """(sign, logabsdet) of determinants, sign * exp(logabsdet); of singular ones 0 and -inf."""

def solve(x1: Tensor, x2: Operand, /) -> Tensor:
    """x with x1 @ x = x2: of a vector if x2 has one axis, else of matrices."""

def svd(x: Tensor, /, *, full_matrices: builtins.bool = ...) -> Any:
    """(U, S, Vh) with x = U @ diag(S) @ Vh, S in descending order. Of [m, n] matrices U is [m, m]
    and Vh [n, n], or [m, k] and [k, n] with k = min(m, n) unless full_matrices.
    """

def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of matrices, in descending order."""

def tensordot(x1: Tensor, x2: Operand, /, *, axes: Any = ...) -> Tensor:
    """Sums over the last `axes` axes of x1 and the first ones of x2, or over pairs of lists."""

def trace(x: Tensor, /, *, offset: int = ..., dtype: DTypeLike = ...) -> Tensor:
    """The sums of these diagonals; dtypes as of sum."""

def vecdot(x1: Tensor, x2: Operand, /, *, axis: Axis = ...) -> Tensor:
    """sum(x1 * x2) along an axis, in the dtype of both: the other axes are repeated."""

def vector_norm(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ..., ord: Any = ...) -> Tensor:
    """sum(|x| ** ord) ** (1 / ord) along axes (all without any); inf, -inf: the largest and the
    least magnitude; 0: how many are not 0.
    """
