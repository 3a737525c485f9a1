"""Linear algebra, by the names of the array API's extension."""

from . import _core, _dtypes, _functions
from ._errors import InvalidArgument, ShapeMismatch
from ._functions import matmul, matrix_transpose, outer as _outer, tensordot, vecdot

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def _matrices(x, name, square=False):
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        wanted = "square matrices" if square else "matrices"
        raise ShapeMismatch(
            f"{name} takes {wanted}, not shape {x.shape}", "The last two axes are the matrix."
        )


def outer(x1, x2, /):
    """x1[i] * x2[j] of two vectors."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeMismatch(f"outer takes vectors, not {x1.shape} and {x2.shape}", "Flatten them.")
    return _outer(x1, x2)


def cross(x1, x2, /, *, axis=-1):
    """The vectors at right angles to pairs of vectors of length 3 along an axis."""
    shape = _functions.broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = _core.broadcast_to(x1, shape), _core.broadcast_to(x2, shape)
    axis = _functions._axes(axis, len(shape), "cross")[0]
    if shape[axis] != 3:
        raise ShapeMismatch(f"cross takes vectors of length 3, not {shape[axis]}", "Name the axis.")
    a, b = _functions.unstack(x1, axis=axis), _functions.unstack(x2, axis=axis)
    pairs = ((1, 2), (2, 0), (0, 1))
    return _core.stack([a[i] * b[j] - a[j] * b[i] for i, j in pairs], axis)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices that lie `offset` above the main one, along the last axis."""
    _matrices(x, "diagonal")
    rows, columns = x.shape[-2:]
    first = -offset * columns if offset < 0 else offset
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    flat = _core.reshape(x, (*x.shape[:-2], rows * columns))
    return flat[..., first : first + count * (columns + 1) : columns + 1] if count else flat[..., :0]


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
    """The norm of matrices: 'fro', 1, -1, inf, -inf."""
    _matrices(x, "matrix_norm")
    if ord == "fro":
        return _core.norm(x, 2, (-2, -1), keepdims)
    if ord in (1, -1, float("inf"), float("-inf")):
        along = -2 if abs(ord) == 1 else -1
        sums = _core.sum(_core.abs(x), along, True)
        result = (_core.max if ord > 0 else _core.min)(sums, (-2, -1), True)
        return result if keepdims else _functions.squeeze(result, (-2, -1))
    raise InvalidArgument(f"there is no matrix norm {ord!r}", "Use 'fro', 1, -1, inf or -inf.")


def matrix_power(x, n, /):
    """Square matrices multiplied with themselves, n times."""
    _matrices(x, "matrix_power", square=True)
    if n < 0:
        raise InvalidArgument(f"matrix_power of {n} needs an inverse", "Use a power of 0 or more.")
    if n == 0:
        one = _core.eye(x.shape[-1], x.shape[-1], 0, x.dtype, x.executor)
        return _core.broadcast_to(one, x.shape)
    result = None
    while n:
        if n & 1:
            result = x if result is None else _core.matmul(result, x)
        n >>= 1
        x = _core.matmul(x, x) if n else x
    return result
