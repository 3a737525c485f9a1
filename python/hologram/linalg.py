"""Linear algebra, by the names of the array API's extension.

The last two axes are matrices, those before them a batch. Decompositions take float32 and float64
(integers and bool become float32). LAPACK computes them, on the host and at the call: tensors of
other devices are copied there and back, which executor.counters()["fallbacks"] counts.
UnsupportedOperation where there is no LAPACK, InvalidArgument for singular matrices.
"""

import importlib.util as _importlib
import os as _os
import pathlib as _pathlib
from collections import namedtuple as _namedtuple

from . import _core, _functions
from ._errors import InvalidArgument, ShapeMismatch
from ._functions import matmul, matrix_transpose, outer as _outer, tensordot, vecdot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

_VARIABLE = "HOLOGRAM_LAPACK_LIBRARY"


def _name_lapack():
    """Names the LAPACK of the package scipy-openblas32, unless another one is named."""
    package = _importlib.find_spec("scipy_openblas32")
    if package is None or package.origin is None:
        return
    library = _pathlib.Path(package.origin).parent / "lib" / "libscipy_openblas.so"
    if library.exists():
        _os.environ.setdefault(_VARIABLE, str(library))


_name_lapack()

SlogDet = _namedtuple("SlogDet", "sign logabsdet")
QR = _namedtuple("QR", "Q R")
Eigh = _namedtuple("Eigh", "eigenvalues eigenvectors")
SVD = _namedtuple("SVD", "U S Vh")
LeastSquares = _namedtuple("LeastSquares", "solution residuals rank singular_values")


def solve(x1, x2, /):
    """x with x1 @ x = x2: of a vector if x2 has one axis, else of matrices."""
    return _core.solve(x1, x2)


def inv(x, /):
    """The inverses of square matrices."""
    return _core.inv(x)


def det(x, /):
    """The determinants of square matrices."""
    return _core.det(x)


def slogdet(x, /):
    """(sign, logabsdet) of determinants, sign * exp(logabsdet); of singular ones 0 and -inf."""
    return SlogDet(*_core.slogdet(x))


def cholesky(x, /, *, upper=False):
    """Lower triangular L with x = L @ L.mT, or upper triangular U with x = U.mT @ U."""
    return _core.cholesky(x, upper)


def qr(x, /, *, mode="reduced"):
    """(Q, R) with x = Q @ R: Q with orthonormal columns, R upper triangular. Of [m, n] matrices Q is
    [m, k] with k = min(m, n), or with mode='complete' k = m."""
    if mode not in ("reduced", "complete"):
        raise InvalidArgument(f"there is no mode '{mode}'", "Use 'reduced' or 'complete'.")
    return QR(*_core.qr(x, mode == "complete"))


def eigh(x, /):
    """(eigenvalues, eigenvectors) of symmetric matrices, in ascending order; vectors are columns."""
    return Eigh(*_core.eigh(x))


def eigvalsh(x, /):
    """The eigenvalues of symmetric matrices, in ascending order."""
    return _core.eigvalsh(x)


def svd(x, /, *, full_matrices=True):
    """(U, S, Vh) with x = U @ diag(S) @ Vh, S in descending order. Of [m, n] matrices U is [m, m]
    and Vh [n, n], or [m, k] and [k, n] with k = min(m, n) unless full_matrices."""
    return SVD(*_core.svd(x, full_matrices))


def svdvals(x, /):
    """The singular values of matrices, in descending order."""
    return _core.svdvals(x)


def _kept(values, rtol):
    """Which singular values are more than rtol, one for each matrix, times the largest."""
    if values.shape[-1] == 0:
        return values > 0
    return values > rtol[..., None] * _core.max(values, -1, True)


def pinv(x, /, *, rtol=None):
    """The pseudo-inverses of matrices; singular values up to rtol, a number or one for each matrix,
    times the largest count as 0."""
    if not isinstance(rtol, _core.Tensor):
        return _core.pinv(x, rtol)
    u, s, vh = svd(x, full_matrices=False)
    inverse = _core.where(_kept(s, rtol), 1 / s, 0)
    return _core.matmul(vh.mT * inverse[..., None, :], u.mT)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are more than rtol, a number or one for each matrix, times the
    largest: int64."""
    if not isinstance(rtol, _core.Tensor):
        return _core.matrix_rank(x, rtol)
    return _functions.count_nonzero(_kept(svdvals(x), rtol), axis=-1)


def lstsq(x1, x2, /, *, rtol=None):
    """(solution, residuals, rank, singular_values): the x for which |x2 - x1 @ x| is least, of
    several the shortest."""
    return LeastSquares(*_core.lstsq(x1, x2, rtol))


def outer(x1, x2, /):
    """x1[i] * x2[j] of two vectors."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeMismatch(f"outer takes vectors, not {x1.shape} and {x2.shape}", "Flatten them.")
    return _outer(x1, x2)


def cross(x1, x2, /, *, axis=-1):
    """The vectors at right angles to pairs of vectors of length 3 along an axis."""
    return _core.cross(x1, x2, axis)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices that lie `offset` above the main one, along the last axis."""
    return _core.diagonal(x, offset, -2, -1)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of these diagonals; dtypes as of sum."""
    return _functions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """sum(|x| ** ord) ** (1 / ord) along axes (all without any); inf, -inf: the largest and the
    least magnitude; 0: how many are not 0."""
    if axis == ():
        x, axis, keepdims = x[None], 0, False
    if ord == 0:
        return _functions._as(_functions.count_nonzero(x, axis=axis, keepdims=keepdims), x.dtype)
    if ord == float("-inf"):
        return _core.min(_core.abs(x), axis, keepdims)
    return _core.norm(x, ord, axis, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf."""
    if ord in ("fro", "nuc"):
        return _core.matrix_norm_of(x, ord == "nuc", keepdims)
    return _core.matrix_norm(x, ord, keepdims)


def norm(x, /, ord=2, *, axis=None, keepdims=False):
    """The norm of all elements, or along axes: vector_norm."""
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def matrix_power(x, n, /):
    """Square matrices multiplied with themselves, n times; a negative n takes the inverse."""
    return _core.matrix_power(x, n)
