"""Reductions, running sums, order and products of matrices."""

import hologram as hg

from ._dtypes import as_dtype, ours
from ._elementwise import times
from ._table import row


def _axes(x, dims):
    """Axes as the array API has them: None for all."""
    if dims is None or isinstance(dims, (list, tuple)) and not dims:
        return None
    if not x.ndim:
        return None
    return tuple(d % x.ndim for d in dims) if isinstance(dims, (list, tuple)) else (dims % x.ndim,)


def _cast(x, dtype):
    return x if dtype is None else as_dtype(x, ours(dtype))


@row("sum.default")
def sum_all(x, dtype=None):
    return hg.sum(_cast(x, dtype))


@row("sum.dim_IntList")
def sum_(x, dims=None, keepdim=False, dtype=None):
    return hg.sum(_cast(x, dtype), axis=_axes(x, dims), keepdims=keepdim)


@row("mean.default")
def mean_all(x, dtype=None):
    return hg.mean(_cast(x, dtype))


@row("mean.dim")
def mean(x, dims=None, keepdim=False, dtype=None):
    return hg.mean(_cast(x, dtype), axis=_axes(x, dims), keepdims=keepdim)


@row("prod.default")
def prod_all(x, dtype=None):
    return hg.prod(_cast(x, dtype))


@row("prod.dim_int")
def prod(x, dim, keepdim=False, dtype=None):
    return hg.prod(_cast(x, dtype), axis=_axes(x, dim), keepdims=keepdim)


def _reduction(function, *names):
    @row(*names)
    def reduced(x, dims=None, keepdim=False):
        return function(x, axis=_axes(x, dims), keepdims=keepdim)


_reduction(hg.max, "amax.default", "max.default")
_reduction(hg.min, "amin.default", "min.default")
_reduction(hg.any, "any.default", "any.dim", "any.dims")
_reduction(hg.all, "all.default", "all.dim", "all.dims")
_reduction(hg.logsumexp, "logsumexp.default")


def _arg(function, name):
    @row(f"{name}.default")
    def found(x, dim=None, keepdim=False):
        if x.ndim == 0:
            return hg.zeros((), dtype=hg.int64, device=x.executor)
        return function(x, axis=None if dim is None else dim % x.ndim, keepdims=keepdim)

    return found


argmax, argmin = _arg(hg.argmax, "argmax"), _arg(hg.argmin, "argmin")


@row("max.dim")
def max_dim(x, dim, keepdim=False):
    return hg.max(x, axis=_axes(x, dim), keepdims=keepdim), argmax(x, dim, keepdim)


@row("min.dim")
def min_dim(x, dim, keepdim=False):
    return hg.min(x, axis=_axes(x, dim), keepdims=keepdim), argmin(x, dim, keepdim)


@row("var.correction")
def var(x, dims=None, correction=None, keepdim=False):
    correction = 1 if correction is None else correction
    return hg.var(x, axis=_axes(x, dims), correction=correction, keepdims=keepdim)


@row("std.correction")
def std(x, dims=None, correction=None, keepdim=False):
    return hg.sqrt(var(x, dims, correction, keepdim))


@row("var_mean.correction")
def var_mean(x, dims=None, correction=None, keepdim=False):
    return var(x, dims, correction, keepdim), hg.mean(x, axis=_axes(x, dims), keepdims=keepdim)


@row("linalg_vector_norm.default")
def vector_norm(x, order=2, dims=None, keepdim=False, dtype=None):
    return hg.linalg.vector_norm(_cast(x, dtype), axis=_axes(x, dims), keepdims=keepdim, ord=order)


@row("cumsum.default")
def cumsum(x, dim, dtype=None):
    return hg.cumulative_sum(_cast(x, dtype), axis=dim % x.ndim) if x.ndim else x


@row("cumprod.default")
def cumprod(x, dim, dtype=None):
    return hg.cumulative_prod(_cast(x, dtype), axis=dim % x.ndim) if x.ndim else x


def _as_vector(function):
    """A function of an axis, of tensors without axes, too."""

    def of_any(x, *args, **named):
        if x.ndim:
            return function(x, *args, **named)
        made = function(hg.reshape(x, (1,)), *args, **named)
        return [hg.reshape(m, ()) for m in made] if isinstance(made, (list, tuple)) else hg.reshape(made, ())

    return of_any


def _sorted(x, dim, descending):
    places = hg.argsort(x, axis=dim, descending=descending, stable=True)
    return hg.take_along_axis(x, places, axis=dim), places


@row("sort.default")
@_as_vector
def sort(x, dim=-1, descending=False):
    return _sorted(x, dim, descending)


@row("sort.stable")
@_as_vector
def sort_stable(x, stable=None, dim=-1, descending=False):
    return _sorted(x, dim, descending)


@row("topk.default")
@_as_vector
def topk(x, k, dim=-1, largest=True, sorted=True):
    return hg.topk(x, k, axis=dim, largest=largest)


# --- products


@row("mm.default", "bmm.default", "mv.default", "matmul.default")
def mm(a, b):
    return hg.matmul(a, b)


@row("dot.default", "vdot.default")
def dot(a, b):
    return hg.matmul(a, b)


@row("addmm.default", "baddbmm.default", "addmv.default")
def addmm(c, a, b, beta=1, alpha=1):
    product = hg.matmul(a, b)
    return times(product, alpha) if beta == 0 else times(product, alpha) + times(c, beta)
