"""Functions on whole tensors, by the names and parameters of the array API, and some more."""

import builtins as _builtins
import math as _math

from . import _core, _dtypes
from ._creation import asarray
from ._dtypes import result_type
from ._errors import DTypeMismatch, ShapeMismatch
from ._indexing import broadcast_shapes
from ._picking import _as, _axes

__all__ = [
    "all", "any", "argmax", "argmin", "astype", "avg_pool2d", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "chunk", "clip", "concat", "conj", "contiguous", "conv2d",
    "copy", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "expand_dims", "flip",
    "imag", "log_softmax", "logsumexp", "matmul", "matrix_transpose", "max", "max_pool2d", "mean",
    "min", "moveaxis", "nextafter", "outer", "pad", "permute_dims", "positive", "prod", "real",
    "repeat", "reshape", "roll", "softmax", "split", "squeeze", "stack", "std", "sum", "tensordot",
    "tile", "tril", "triu", "unstack", "var", "vecdot",
]  # fmt: skip


# --- dtypes


def astype(x, dtype, /, *, copy=True, device=None):
    """x in another dtype; a float outside of an integer's range becomes its nearest end, NaN 0."""
    made = x if device is None else x._to_device(device)
    dtype = _core.dtype_of(dtype)
    if dtype != x.dtype:
        return _core.astype(made, dtype)
    return _core.copy(made) if copy else made


# --- reductions


def _reduced(function, x, axis, keepdims, nothing):
    """A reduction; `nothing` is what it gives of each element alone, for axis=()."""
    if axis == ():
        return nothing(x)
    return function(x, axis, keepdims)


def _sum_dtype(dtype):
    if dtype in _dtypes.FLOATS:
        return dtype
    return _dtypes.uint64 if dtype in _dtypes.UNSIGNED else _dtypes.int64


def _accumulated(function, x, axis, dtype, keepdims):
    dtype = _sum_dtype(x.dtype) if dtype is None else _core.dtype_of(dtype)
    if dtype in _dtypes.FLOATS:
        x = _as(x, dtype)
    return _as(_reduced(function, x, axis, keepdims, lambda x: x), dtype)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum along axes (all without any). Integers and bool in int64, unsigned ones in uint64;
    float16 and bfloat16 are added in float32."""
    return _accumulated(_core.sum, x, axis, dtype, keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product along axes (all without any); dtypes as of sum."""
    return _accumulated(_core.prod, x, axis, dtype, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean along axes (all without any); of integers float32. NaN of no elements."""
    return _reduced(_core.mean, x, axis, keepdims, lambda x: _core.mean(x[None], 0, False))


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The mean square distance from the mean, divided by n - correction."""

    def along(x, axis, keepdims):
        return _core.var(x, axis, correction, keepdims)

    return _reduced(along, x, axis, keepdims, lambda x: along(x[None], 0, False))


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of var."""

    def along(x, axis, keepdims):
        return _core.std(x, axis, correction, keepdims)

    return _reduced(along, x, axis, keepdims, lambda x: along(x[None], 0, False))


def min(x, /, *, axis=None, keepdims=False):
    """The least element along axes (all without any); NaN if any is. ShapeMismatch of none."""
    return _reduced(_core.min, x, axis, keepdims, lambda x: x)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element along axes (all without any); NaN if any is. ShapeMismatch of none."""
    return _reduced(_core.max, x, axis, keepdims, lambda x: x)


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements along axes (all without any) differ from 0."""
    return _reduced(_core.all, x, axis, keepdims, lambda x: _as(x, _dtypes.bool))


def any(x, /, *, axis=None, keepdims=False):
    """Whether some element along axes (all without any) differs from 0."""
    return _reduced(_core.any, x, axis, keepdims, lambda x: _as(x, _dtypes.bool))


def logsumexp(x, /, *, axis=None, keepdims=False):
    """log(sum(exp(x))) without overflow, along axes (all without any)."""
    return _core.logsumexp(x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements along axes (all without any) differ from 0: int64."""
    return _reduced(
        _core.count_nonzero, x, axis, keepdims, lambda x: _as(_as(x, _dtypes.bool), _dtypes.int64)
    )


def argmax(x, /, *, axis=None, keepdims=False):
    """The index of the first largest element (of the first NaN), along an axis or of x flattened:
    int64."""
    return _core.argmax(x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The index of the first least element (of the first NaN), along an axis or of x flattened:
    int64."""
    return _core.argmin(x, axis, keepdims)


def softmax(x, /, axis=-1):
    """exp(x) / sum(exp(x)) along an axis, without overflow."""
    return _core.softmax(x, axis)


def log_softmax(x, /, axis=-1):
    """The logarithm of softmax."""
    return _core.log_softmax(x, axis)


def _running(function, start, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim != 1:
            raise ShapeMismatch(
                f"a tensor of shape {x.shape} needs an axis", "Name the axis to go along."
            )
        axis = 0
    dtype = _sum_dtype(x.dtype) if dtype is None else _core.dtype_of(dtype)
    made = _as(function(_as(x, dtype) if dtype in _dtypes.FLOATS else x, axis), dtype)
    if not include_initial:
        return made
    shape = list(x.shape)
    shape[axis] = 1
    return _core.concat([_core.full(shape, start, dtype, x.executor), made], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sum up to and including each element along an axis; with include_initial after a 0."""
    return _running(_core.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The product up to and including each element along an axis; with include_initial after a 1."""
    return _running(_core.cumprod, 1, x, axis, dtype, include_initial)


# --- shape


def reshape(x, /, shape, *, copy=None):
    """The elements, row by row, in another shape, of which one length may be -1."""
    if copy:
        x = _core.copy(x)
    return _core.reshape(x, shape)


def permute_dims(x, /, axes):
    """The axes in another order: axis i of the result is axis axes[i] of x."""
    return _core.permute(x, axes)


def matrix_transpose(x, /):
    """The last two axes exchanged."""
    return x.mT


def moveaxis(x, source, destination, /):
    """Axes moved to other places; the others stay in their order."""
    return _core.moveaxis(x, source, destination)


def expand_dims(x, /, axis):
    """New axes of length 1 at these places of the result."""
    for a in sorted(_axes(axis, x.ndim + (1 if isinstance(axis, int) else len(axis)), "expand_dims")):
        x = _core.unsqueeze(x, a)
    return x


def squeeze(x, /, axis):
    """Without these axes, which are of length 1. ShapeMismatch if one is not."""
    for a in sorted(_axes(axis, x.ndim, "squeeze"), reverse=True):
        x = _core.squeeze(x, a)
    return x


def broadcast_to(x, /, shape):
    """x repeated to a shape; nothing is copied."""
    return _core.broadcast_to(x, shape)


def broadcast_arrays(*arrays):
    """Tensors repeated to the shape of all of them together."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(_core.broadcast_to(x, shape) for x in arrays)


def flip(x, /, *, axis=None):
    """The elements in the other order along axes, or along all."""
    return _core.flip(x, range(x.ndim) if axis is None else axis)


def roll(x, /, shift, *, axis=None):
    """The elements moved along axes, and in at the other end; of x flattened without an axis."""
    if axis is None or isinstance(axis, int):
        shifts = [shift] if isinstance(shift, int) else list(shift)
        for s in shifts:
            x = _core.roll(x, s, axis)
        return x
    shifts = [shift] * len(axis) if isinstance(shift, int) else list(shift)
    if len(shifts) != len(axis):
        raise ShapeMismatch("roll: as many shifts as axes are needed", "Give a shift for each axis.")
    for s, a in zip(shifts, axis):
        x = _core.roll(x, s, a)
    return x


def concat(arrays, /, *, axis=0):
    """One after the other along an axis; flattened with axis=None. dtypes are promoted."""
    arrays = list(arrays)
    if axis is None:
        arrays, axis = [_core.reshape(x, -1) for x in arrays], 0
    return _core.concat(arrays, axis)


def stack(arrays, /, *, axis=0):
    """One after the other along a new axis. dtypes are promoted."""
    return _core.stack(list(arrays), axis)


def unstack(x, /, *, axis=0):
    """The parts along an axis, without it."""
    axis = _axes(axis, x.ndim, "unstack")[0]
    key = (slice(None),) * axis
    return tuple(x[(*key, k)] for k in range(x.shape[axis]))


def split(x, lengths, /, *, axis=0):
    """Views of parts of these lengths, which must add up."""
    return tuple(_core.split(x, list(lengths), axis))


def chunk(x, parts, /, *, axis=0):
    """Views of so many parts, as equal as can be, the longer ones first."""
    return tuple(_core.chunk(x, parts, axis))


def tile(x, repetitions, /):
    """All of x so often along each of the last axes."""
    return _core.tile(x, list(repetitions))


def repeat(x, repeats, /, *, axis=None):
    """Each element so often along an axis, or of x flattened: a number, or one for each element."""
    if isinstance(repeats, int):
        return _core.repeat(x, repeats, axis)
    return _core.repeat_counts(x, asarray(repeats, device=x.executor), axis)


def pad(x, widths, /, *, mode="constant", value=0):
    """Elements around x: (before, after) for each axis, or one pair or number for all.

    mode: "constant" puts `value` there, "reflect" and "symmetric" mirror x without and with its last
    elements, "edge" repeats those, "wrap" goes on at the other end.
    """
    if isinstance(widths, int):
        widths = (widths, widths)
    if x.ndim and isinstance(widths[0], int):
        widths = [widths] * x.ndim
    widths = [list(pair) for pair in widths]
    return _core.pad(x, widths, value) if mode == "constant" else _core.pad_mode(x, widths, mode)


def copy(x, /):
    """The same values in memory of their own."""
    return _core.copy(x)


def contiguous(x, /):
    """The same values, dense in memory once they are computed."""
    return _core.contiguous(x)


# --- elements


def positive(x, /):
    """x itself. DTypeMismatch for bool."""
    return +x


def clip(x, /, min=None, max=None):
    """min(max(x, min), max); a bound that is None is none. Of x's dtype if the bounds are numbers."""
    if not isinstance(x, _core.Tensor):
        x = asarray(x)
    dtype = x.dtype
    if dtype not in _dtypes.FLOATS:
        bounds = [min, max]
        for k, bound in enumerate(bounds):
            # What an integer is held against may lie beyond its type.
            if isinstance(bound, (int, float)):
                info = _dtypes.iinfo(dtype)
                bound = _math.ceil(bound) if k == 0 and _math.isfinite(bound) else bound
                bound = _math.floor(bound) if k == 1 and _math.isfinite(bound) else bound
                bounds[k] = int(_builtins.min(_builtins.max(bound, info.min), info.max))
        min, max = bounds
    if min is not None:
        x = _core.maximum(x, min)
    if max is not None:
        x = _core.minimum(x, max)
    return x if min is not None or max is not None else x[...]


def diff(x, /, n=1, *, axis=-1, prepend=None, append=None):
    """Each element less the one before it along an axis, n times."""
    axis = _axes(axis, x.ndim, "diff")[0]
    around = [part for part in (prepend, x, append) if part is not None]
    x = _core.concat(around, axis) if len(around) > 1 else x
    return _core.diff(x, n, axis)


def tril(x, /, *, k=0):
    """Matrices with 0 above a diagonal, which lies k above the main one."""
    return _core.tril(x, k)


def triu(x, /, *, k=0):
    """Matrices with 0 below a diagonal, which lies k above the main one."""
    return _core.triu(x, k)


def conj(x, /):
    """x itself: there are no complex numbers."""
    return x[...]


def real(x, /):
    """x itself: there are no complex numbers."""
    return x[...]


def imag(x, /):
    """Zeros in the shape of x: there are no complex numbers."""
    return _core.full(x.shape, 0, x.dtype, x.executor)


def nextafter(x1, x2, /):
    """The next number of the dtype from x1 towards x2, x2 itself if they are equal. Floats."""
    both = result_type(x1, x2)
    like = x1 if isinstance(x1, _core.Tensor) else x2
    x1, x2 = (
        _as(x, both) if isinstance(x, _core.Tensor) else _core.full((), x, both, like.executor)
        for x in (x1, x2)
    )
    return _core.nextafter(x1, x2)


# --- products, convolutions


def matmul(x1, x2, /, *, out_dtype=None):
    """Products of the matrices of the last two axes; those before are a batch. A vector on the
    left is a row, on the right a column. out_dtype: float32 keeps the sums of float16 and bfloat16
    as they were added up."""
    if out_dtype is not None:
        return _core.matmul_to(x1, x2, out_dtype)
    return _core.matmul(x1, x2)


def outer(x1, x2, /):
    """x1[i] * x2[j] of two tensors, flattened."""
    return _core.outer(x1, x2)


def tensordot(x1, x2, /, *, axes=2):
    """Sums over the last `axes` axes of x1 and the first ones of x2, or over pairs of lists."""
    if isinstance(axes, int):
        if axes > _builtins.min(x1.ndim, x2.ndim):
            raise ShapeMismatch(
                f"tensordot over {axes} axes of shapes {x1.shape} and {x2.shape}", "Use fewer axes."
            )
        axes = range(x1.ndim - axes, x1.ndim), range(axes)
    first, second = (list(part) if not isinstance(part, int) else [part] for part in axes)
    return _core.tensordot(x1, x2, first, second)


def vecdot(x1, x2, /, *, axis=-1):
    """sum(x1 * x2) along an axis, in the dtype of both: the other axes are repeated."""
    lengths = x1.shape[_axes(axis, x1.ndim, "vecdot")[0]], x2.shape[_axes(axis, x2.ndim, "vecdot")[0]]
    if lengths[0] != lengths[1]:
        raise ShapeMismatch(f"vecdot: lengths {lengths[0]} and {lengths[1]} differ", "Use equal ones.")
    return _core.vecdot(x1, x2, axis)


def conv2d(x, weight, /, *, bias=None, stride=1, padding=0, dilation=1, groups=1, layout="NHWC"):
    """Convolutions of images [n, height, width, channels] with weights [kernel height, kernel
    width, channels / groups, outputs]; with layout='NCHW' [n, channels, height, width] and
    [outputs, channels / groups, kernel height, kernel width]. padding: a number, (height, width),
    (top, bottom, left, right) or 'same'."""
    return _core.conv2d(x, weight, bias, stride, padding, dilation, groups, layout)


def max_pool2d(x, kernel, /, *, stride=None, padding=0, layout="NHWC"):
    """The largest element of each window; windows begin `stride` apart, or as far as they reach."""
    return _core.pool2d(x, True, kernel, stride, padding, False, layout)


def avg_pool2d(x, kernel, /, *, stride=None, padding=0, count_padding=False, layout="NHWC"):
    """The mean of each window; padding counts only with count_padding=True."""
    return _core.pool2d(x, False, kernel, stride, padding, count_padding, layout)
