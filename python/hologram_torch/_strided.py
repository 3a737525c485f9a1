"""Views by strides: what is meant follows from how PyTorch thinks that the operand lies in memory."""

import math

import hologram as hg

from ._dtypes import as_dtype
from ._interchange import dense_order
from ._table import row


def _flat(x, lies):
    """Its elements in the order of memory, and where those of the memory begin."""
    strides, offset = lies
    if not all(isinstance(n, int) for n in (*strides, offset)):
        raise NotImplementedError("as_strided of a tensor whose shape is not known")
    order = dense_order(x.shape, strides)
    if order is None:
        raise NotImplementedError("as_strided of a tensor with gaps in its memory")
    return hg.reshape(hg.permute_dims(x, tuple(order)), (x.size,)), order, offset


def _back(flat, shape, order):
    """What lies in that order in memory, as a tensor of the shape."""
    inverse = sorted(range(len(shape)), key=order.__getitem__)
    return hg.permute_dims(hg.reshape(flat, tuple(shape[d] for d in order)), tuple(inverse))


def _first(shape, strides, offset, begin, length):
    """The first place of a view; it has to lie within the memory of the operand."""
    first = (begin if offset is None else offset) - begin
    last = first + sum((n - 1) * s for n, s in zip(shape, strides))
    if math.prod(shape) and (first < 0 or last >= length):
        raise NotImplementedError("as_strided beyond the memory of its operand")
    return first


def _places(shape, strides, first, executor):
    places = hg.full(tuple(shape), first, dtype=hg.int64, device=executor)
    for d, (n, s) in enumerate(zip(shape, strides)):
        along = hg.arange(n, device=executor) * s
        places = places + hg.reshape(along, (n, *([1] * (len(shape) - d - 1))))
    return hg.reshape(places, (math.prod(shape),))


@row("as_strided.default", lies=True)
def as_strided(x, shape, strides, offset=None, *, lies):
    shape, (flat, _, begin) = tuple(shape), _flat(x, lies)
    first, order = _first(shape, strides, offset, begin, x.size), dense_order(shape, strides)
    if order is not None:
        return _back(flat[first : first + math.prod(shape)], shape, order)
    return hg.reshape(hg.take(flat, _places(shape, strides, first, x.executor), axis=0), shape)


@row("as_strided_scatter.default", lies=True)
def as_strided_scatter(x, values, shape, strides, offset=None, *, lies):
    shape, (flat, lies_so, begin) = tuple(shape), _flat(x, lies)
    first, order = _first(shape, strides, offset, begin, x.size), dense_order(shape, strides)
    values, made = as_dtype(values, x.dtype), hg.copy(flat)
    if order is not None:
        made[first : first + math.prod(shape)] = hg.reshape(hg.permute_dims(values, tuple(order)), (values.size,))
    else:
        made[_places(shape, strides, first, x.executor)] = hg.reshape(values, (values.size,))
    return _back(made, x.shape, lies_so)
