"""Elements picked by their indices, put in order, and found, by the names of the array API."""

from collections import namedtuple as _namedtuple

from . import _core, _dtypes
from ._creation import asarray
from ._dtypes import result_type
from ._errors import AxisOutOfRange, InvalidArgument, ShapeMismatch
from ._indexing import broadcast_shapes

__all__ = [
    "argsort", "gather", "isin", "nonzero", "put_at", "scatter", "scatter_add", "searchsorted",
    "slice_at", "sort", "take", "take_along_axis", "topk", "unique_all", "unique_counts", "unique_inverse",
    "unique_values",
]  # fmt: skip


def _axes(axis, rank, name):
    """Axes as a list counted from the first: an int, or a tuple of ints."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if not -rank <= a < rank:
            raise AxisOutOfRange(
                f"{name}: there is no axis {a} of {rank}", f"Use axes from {-rank} to {rank - 1}."
            )
    axes = [a % rank for a in axes]
    if len(set(axes)) != len(axes):
        raise ShapeMismatch(f"{name}: an axis is given twice", "Name each axis once.")
    return axes


def _as(x, dtype):
    return x if x.dtype == dtype else _core.astype(x, dtype)


def take(x, indices, /, *, axis=None):
    """x at indices along an axis, which is replaced by theirs; negative ones count from the end.
    InvalidArgument, when the value is computed, for one outside."""
    if axis is None and x.ndim != 1:
        raise ShapeMismatch(f"a tensor of shape {x.shape} needs an axis", "Name the axis.")
    return _core.take(x, asarray(indices, device=x.executor), axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """Index by index: result[i, j] = x[indices[i, j], j] for axis 0. Other lengths are repeated."""
    axis = _axes(axis, x.ndim, "take_along_axis")[0]
    if indices.ndim == x.ndim:
        without = [list(t.shape) for t in (x, indices)]
        for lengths in without:
            lengths[axis] = 1
        shape = list(broadcast_shapes(*without))
        own = [*shape[:axis], x.shape[axis], *shape[axis + 1 :]]
        x = _core.broadcast_to(x, own)
        own = [*shape[:axis], indices.shape[axis], *shape[axis + 1 :]]
        indices = _core.broadcast_to(indices, own)
    return _core.gather(x, indices, axis)


gather = take_along_axis


def slice_at(x, start, length, /, *, axis=0):
    """`length` elements along an axis from `start` on: an int, or a tensor of one integer without
    axes, whose value may differ from call to call of a captured graph. A negative start counts
    from the end. InvalidArgument, when a value is read, where the part does not lie inside."""
    return _core.slice_at(x, axis, start, length)


def put_at(x, start, values, /, *, axis=0):
    """x with `values`, as many along the axis as they have, from `start` on, which is as for
    slice_at. Along the other axes they are repeated to x."""
    return _core.put_at(x, axis, start, asarray(values, device=x.device))


def scatter(x, indices, values, /, *, axis):
    """x with values put at indices along an axis, in order: of several for one place the last
    stays. `values` is a number or of the shape of `indices`."""
    return _core.scatter(x, indices, values, axis)


def scatter_add(x, indices, values, /, *, axis):
    """x with values added at indices along an axis."""
    return _core.scatter_add(x, indices, values, axis)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """In order along an axis; equal elements stay in theirs, NaN counts as the largest."""
    return _core.sort(x, axis, descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort along an axis: int64."""
    return _core.argsort(x, axis, descending)


def topk(x, k, /, *, axis=-1, largest=True):
    """(values, indices) of the k largest, or least, elements along an axis, in order."""
    return _core.topk(x, k, axis, largest)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where x2 would be inserted into the sorted vector x1: before equal elements, or after them
    with side='right'. sorter: the indices that sort x1, if it is not sorted."""
    if side not in ("left", "right"):
        raise InvalidArgument(f"there is no side '{side}'", "Use 'left' or 'right'.")
    if sorter is not None:
        x1 = _core.take(x1, sorter, 0)
    if not isinstance(x2, _core.Tensor):
        x2 = _core.full((), x2, result_type(x1, x2), x1.executor)
    return _core.searchsorted(x1, x2, side == "right")


def nonzero(x, /):
    """The indices of elements that differ from 0: a vector for each axis. Computes x."""
    if x.ndim == 0:
        raise ShapeMismatch("a number without axes has no indices", "Reshape it to (1,).")
    places = _core.nonzero(x)
    return tuple(places[:, k] for k in range(x.ndim))


def isin(x1, x2, /, *, invert=False):
    """Whether each element of x1 is among those of x2; NaN is never."""
    like = x1 if isinstance(x1, _core.Tensor) else x2
    both = result_type(x1, x2)
    x1, x2 = (
        _as(x, both) if isinstance(x, _core.Tensor) else _core.full((), x, both, like.executor)
        for x in (x1, x2)
    )
    return _core.isin(x1, x2, invert)


_UniqueAll = _namedtuple("unique_all", "values indices inverse_indices counts")
_UniqueCounts = _namedtuple("unique_counts", "values counts")
_UniqueInverse = _namedtuple("unique_inverse", "values inverse_indices")


def unique_all(x, /):
    """The different values in ascending order; the index of the first of each in x flattened; for
    each element of x the index of its value; and how often each is there. Each NaN is a value of
    its own. Computes x."""
    flat = _core.reshape(x, -1)
    if flat.size == 0:
        none = _core.full((0,), 0, _dtypes.int64, x.executor)
        return _UniqueAll(flat, none, _core.reshape(none, x.shape), none)
    order = _core.argsort(flat, 0, False)
    in_order = _core.take(flat, order, 0)
    first = _core.not_equal(in_order[1:], in_order[:-1])
    first = _core.concat([_core.full((1,), True, _dtypes.bool, x.executor), first], 0)
    number = _core.cumsum(_as(first, _dtypes.int64), 0) - 1
    inverse = _core.scatter(_core.full((flat.size,), 0, _dtypes.int64, x.executor), order, number, 0)
    begins = _core.nonzero(first)[:, 0]
    ends = _core.concat([begins[1:], _core.full((1,), flat.size, _dtypes.int64, x.executor)], 0)
    return _UniqueAll(
        _core.take(in_order, begins, 0),
        _core.take(order, begins, 0),
        _core.reshape(inverse, x.shape),
        ends - begins,
    )


def unique_counts(x, /):
    """The different values in ascending order, and how often each is there. Computes x."""
    found = unique_all(x)
    return _UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    """The different values in ascending order, and for each element the index of its value."""
    found = unique_all(x)
    return _UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    """The different values in ascending order; each NaN is one of its own. Computes x."""
    return unique_all(x).values
