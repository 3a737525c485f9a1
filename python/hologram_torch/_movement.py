"""Views, copies, indices and new tensors."""

import math

import torch

import hologram as hg
from hologram import _core

from ._dtypes import as_dtype, ours
from ._elementwise import _is_float
from ._table import row

_ALL = 2**62


def _sizes(x, shape):
    shape = list(shape)
    if -1 in shape:
        at = shape.index(-1)
        shape[at] = 1
        shape[at] = x.size // max(math.prod(shape), 1)
    return tuple(shape)


@row("view.default", "_unsafe_view.default", "reshape.default", "_reshape_alias.default")
def view(x, shape, strides=None):
    return hg.reshape(x, _sizes(x, shape))


@row("clone.default", "alias.default", "detach.default", "lift_fresh_copy.default", "contiguous.default")
def same(x, memory_format=None):
    return x


@row("copy.default")
def copy(x, values, non_blocking=False):
    return hg.broadcast_to(as_dtype(values, x.dtype), x.shape)


@row("_to_copy.default")
def to_copy(x, dtype=None, **where):
    return x if dtype is None else as_dtype(x, ours(dtype))


@row("permute.default")
def permute(x, dims):
    return hg.permute_dims(x, tuple(d % x.ndim for d in dims))


@row("t.default")
def t(x):
    return x if x.ndim < 2 else hg.permute_dims(x, (1, 0))


@row("transpose.int")
def transpose(x, a, b):
    return hg.swapaxes(x, a, b) if x.ndim else x


@row("expand.default")
def expand(x, shape, implicit=False):
    more = len(shape) - x.ndim
    return hg.broadcast_to(x, tuple(x.shape[i - more] if n == -1 else n for i, n in enumerate(shape)))


@row("unsqueeze.default")
def unsqueeze(x, dim):
    return hg.expand_dims(x, axis=dim)


@row("squeeze.dims", "squeeze.dim", "squeeze.default")
def squeeze(x, dims=None):
    dims = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    ones = tuple(d % x.ndim for d in dims if x.ndim and x.shape[d] == 1)
    return hg.squeeze(x, axis=ones) if ones else x


def _key(x, dim, part):
    return (slice(None),) * (dim % x.ndim) + (part,)


def _part(x, dim, start, end, step):
    return _key(x, dim, slice(start or 0, None if end is None or end >= _ALL else end, step))


@row("slice.Tensor")
def slice_(x, dim=0, start=None, end=None, step=1):
    return x[_part(x, dim, start, end, step)]


@row("select.int")
def select(x, dim, index):
    return x[_key(x, dim, index)]


def _put(x, key, value):
    made = hg.copy(x)
    made[key] = value
    return made


@row("slice_scatter.default")
def slice_scatter(x, value, dim=0, start=None, end=None, step=1):
    return _put(x, _part(x, dim, start, end, step), value)


@row("select_scatter.default")
def select_scatter(x, value, dim, index):
    return _put(x, _key(x, dim, index), value)


@row("cat.default", promote="result")
def cat(tensors, dim=0):
    # PyTorch's old rule: tensors [0] of any rank are left out.
    kept = [x for x in tensors if x.shape != (0,)] or tensors[:1]
    return hg.concat(kept, axis=dim)


@row("stack.default", promote="result")
def stack(tensors, dim=0):
    return hg.stack(tensors, axis=dim)


@row("split_with_sizes.default")
def split_with_sizes(x, sizes, dim=0):
    return hg.split(x, list(sizes), axis=dim)


@row("split.Tensor")
def split(x, size, dim=0):
    length = x.shape[dim]
    return hg.split(x, [min(size, length - at) for at in range(0, length, size)] or [0], axis=dim)


@row("unbind.int")
def unbind(x, dim=0):
    return hg.unstack(x, axis=dim)


@row("flip.default")
def flip(x, dims):
    return hg.flip(x, axis=tuple(dims)) if dims else x


@row("roll.default")
def roll(x, shifts, dims=()):
    if not dims:
        return hg.reshape(hg.roll(hg.reshape(x, (x.size,)), shifts[0], axis=0), x.shape)
    return hg.roll(x, tuple(shifts), axis=tuple(dims))


@row("repeat.default")
def repeat(x, repeats):
    return hg.tile(x, tuple(repeats))


@row("constant_pad_nd.default")
def constant_pad_nd(x, pad, value=0):
    return hg.nn.pad(x, list(pad), "constant", value)


@row("tril.default")
def tril(x, diagonal=0):
    return hg.tril(x, k=diagonal)


@row("triu.default")
def triu(x, diagonal=0):
    return hg.triu(x, k=diagonal)


@row("diagonal.default")
def diagonal(x, offset=0, dim1=0, dim2=1):
    return hg.linalg.diagonal(hg.moveaxis(x, (dim1, dim2), (-2, -1)), offset=offset)


# --- indices


def _from_end(indices, length):
    """Negative ones count from the end."""
    return hg.where(indices < 0, indices + length, indices)


@row("embedding.default")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return hg.take(weight, indices, axis=0)


@row("embedding_dense_backward.default")
def embedding_dense_backward(grad, indices, rows, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise NotImplementedError("embedding with scale_grad_by_freq")
    flat = hg.reshape(indices, (indices.size,))
    values = hg.reshape(as_dtype(grad, hg.float32), (indices.size, -1))
    if padding_idx >= 0:
        values = hg.where(hg.expand_dims(flat == padding_idx, axis=1), 0.0, values)
    zeros = hg.zeros((rows, values.shape[1]), dtype=values.dtype, device=grad.executor)
    places = hg.broadcast_to(hg.expand_dims(flat, axis=1), values.shape)
    return _core.scatter_add(zeros, places, values, 0)


@row("index_select.default")
def index_select(x, dim, index):
    return hg.take(x, hg.reshape(index, (index.size,)), axis=dim) if x.ndim else x


@row("gather.default")
def gather(x, dim, index, sparse_grad=False):
    if not x.ndim or not index.ndim:
        return hg.reshape(hg.take(hg.reshape(x, (x.size,)), hg.reshape(index, (index.size,)), axis=0), index.shape)
    return _core.gather(_region(x, dim, index)[0], index, dim % x.ndim)


def _region(x, dim, index):
    """What of x indices of that shape can reach along an axis, and its key."""
    dim = dim % x.ndim
    key = tuple(slice(None) if d == dim else slice(0, n) for d, n in enumerate(index.shape))
    return x[key], key


def _scattered(function, x, dim, index, values):
    if isinstance(values, hg.Tensor):
        values = as_dtype(values[tuple(slice(0, n) for n in index.shape)], x.dtype)
    if not x.ndim or not index.ndim:
        one = _scattered(function, hg.reshape(x, (-1,)), 0, hg.reshape(index, (-1,)),
                         hg.reshape(values, (-1,)) if isinstance(values, hg.Tensor) else values)  # fmt: skip
        return hg.reshape(one, x.shape)
    part, key = _region(x, dim, index)
    made = function(part, index, values, dim % x.ndim)
    return made if part.shape == x.shape else _put(x, key, made)


@row("scatter.src", "scatter.value")
def scatter(x, dim, index, values):
    if isinstance(values, float) and not _is_float(x):
        values = int(values)
    return _scattered(_core.scatter, x, dim, index, values)


@row("scatter_add.default")
def scatter_add(x, dim, index, values):
    return _scattered(_added, x, dim, index, values)


def _added(x, places, values, axis):
    if x.dtype != hg.bool:
        return _core.scatter_add(x, places, values, axis)
    # Of bools the sum is "or".
    made = _core.scatter_add(as_dtype(x, hg.int32), places, as_dtype(values, hg.int32), axis)
    return made != 0


@row("index.Tensor")
def index(x, indices):
    key = tuple(slice(None) if i is None else i for i in indices)
    if any(isinstance(i, hg.Tensor) and i.dtype == hg.bool for i in key):
        raise NotImplementedError("a mask as an index: the shape of the result depends on values")
    return x[key]


@row("index_put.default", "_unsafe_index_put.default")
def index_put(x, indices, values, accumulate=False):
    indices = list(indices)
    masks = [i for i in indices if i is not None and i.dtype == hg.bool]
    if masks:
        if accumulate or len(indices) != 1 or values.size != 1:
            raise NotImplementedError("values put at a mask, but for one number")
        mask = hg.reshape(masks[0], (*masks[0].shape, *([1] * (x.ndim - masks[0].ndim))))
        return hg.where(mask, hg.reshape(as_dtype(values, x.dtype), ()), x)
    if not accumulate:
        return _put(x, tuple(slice(None) if i is None else i for i in indices), values)
    # The indexed axes first, as one; then their places in it.
    indexed = [d for d, i in enumerate(indices) if i is not None]
    if indexed != list(range(indexed[0], indexed[-1] + 1)):
        raise NotImplementedError("indices of axes that are apart, added up")
    front = hg.moveaxis(x, tuple(indexed), tuple(range(len(indexed))))
    lengths, rest = front.shape[: len(indexed)], front.shape[len(indexed) :]
    place = 0
    for d, length in zip(indexed, lengths):
        place = place * length + _from_end(as_dtype(indices[d], hg.int64), length)
    shape = place.shape
    if indexed[0] > 0:  # the axes before come first in the values, too
        full = (*x.shape[: indexed[0]], *shape, *x.shape[indexed[-1] + 1 :])
        values = hg.broadcast_to(values, full)
        at = tuple(range(indexed[0], indexed[0] + len(shape)))
        values = hg.moveaxis(values, at, tuple(range(len(shape))))
    values = hg.reshape(hg.broadcast_to(values, (*shape, *rest)), (place.size, -1))
    flat = hg.reshape(front, (math.prod(lengths), -1))
    places = hg.broadcast_to(hg.reshape(place, (place.size, 1)), values.shape)
    summed = hg.reshape(_added(flat, places, as_dtype(values, x.dtype), 0), front.shape)
    return hg.moveaxis(summed, tuple(range(len(indexed))), tuple(indexed))


# --- new tensors; `executor` is where the graph runs


@row("full.default", "new_full.default")
def full(shape, value, dtype=None, **where):
    otherwise = {bool: torch.bool, int: torch.int64}.get(type(value), torch.float32)
    return hg.full(tuple(shape), value, dtype=ours(dtype, otherwise))


@row("full_like.default")
def full_like(x, value, dtype=None, **where):
    return hg.full(x.shape, value, dtype=x.dtype if dtype is None else ours(dtype), device=x.executor)


@row("zeros.default", "empty.memory_format", "empty_permuted.default")
def zeros(shape, *order, dtype=None, **where):
    return hg.zeros(tuple(shape), dtype=ours(dtype))


@row("ones.default")
def ones(shape, dtype=None, **where):
    return hg.ones(tuple(shape), dtype=ours(dtype))


@row("zeros_like.default", "empty_like.default")
def zeros_like(x, dtype=None, **where):
    return full_like(x, 0, dtype)


@row("ones_like.default")
def ones_like(x, dtype=None, **where):
    return full_like(x, 1, dtype)


@row("scalar_tensor.default")
def scalar_tensor(value, dtype=None, **where):
    return hg.full((), value, dtype=ours(dtype))


# Later releases of PyTorch cut the limits of a range of integers before they count.
_CUTS_FIRST = len(torch.arange(0, 3.1, dtype=torch.int64)) == 3


@row("arange.start_step")
def arange(start, end, step=1, dtype=None, **where):
    is_float = any(isinstance(x, float) for x in (start, end, step))
    if is_float and dtype is not None and not dtype.is_floating_point:
        if _CUTS_FIRST:
            return hg.arange(int(start), int(end), int(step), dtype=ours(dtype))
        # As many as there are of floats; only then are the numbers cut to integers.
        count = max(0, math.ceil((end - start) / step))
        return (hg.arange(count) * int(step) + int(start)).astype(ours(dtype))
    return hg.arange(start, end, step, dtype=ours(dtype, torch.float32 if is_float else torch.int64))


@row("arange.default")
def arange_to(end, **options):
    return arange(0, end, **options)


@row("arange.start")
def arange_from(start, end, **options):
    return arange(start, end, **options)


@row("eye.default")
def eye(n, dtype=None, **where):
    return hg.eye(n, dtype=ours(dtype))


# --- random numbers


@row("rand.default", random=True)
def rand(shape, dtype=None, **where):
    return _core.rand(tuple(shape), ours(dtype), None)


@row("randn.default", random=True)
def randn(shape, dtype=None, **where):
    return _core.randn(tuple(shape), ours(dtype), None)


@row("rand_like.default", random=True)
def rand_like(x, dtype=None, **where):
    return _core.rand(x.shape, x.dtype if dtype is None else ours(dtype), x.executor)


@row("randn_like.default", random=True)
def randn_like(x, dtype=None, **where):
    return _core.randn(x.shape, x.dtype if dtype is None else ours(dtype), x.executor)


@row("bernoulli.p", random=True)
def bernoulli(x, p=0.5, generator=None):
    return as_dtype(_core.less(_core.rand(x.shape, hg.float32, x.executor), p), x.dtype)


@row("bernoulli.default", random=True)
def bernoulli_of(x, generator=None):
    return as_dtype(_core.less(_core.rand(x.shape, hg.float32, x.executor), x), x.dtype)


@row("native_dropout.default", random=True)
def native_dropout(x, p, train):
    if not train:
        return x, hg.full(x.shape, True, dtype=hg.bool, device=x.executor)
    kept = hg.greater_equal(_core.rand(x.shape, hg.float32, x.executor), p)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return as_dtype(x * as_dtype(kept, x.dtype) * scale, x.dtype), kept
