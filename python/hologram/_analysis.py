"""Functions that people look for beyond the array API, by NumPy's names."""

from collections import namedtuple as _namedtuple

from . import _core, _dtypes

__all__ = [
    "allclose", "array_equal", "bincount", "cdist", "corrcoef", "cov", "cummax", "cummin", "diag",
    "digitize", "einsum", "histogram", "hstack", "interp", "isclose", "kron", "logspace", "median",
    "nan_to_num", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum", "nanvar",
    "percentile", "quantile", "rot90", "swapaxes", "vstack",
]  # fmt: skip

Histogram = _namedtuple("Histogram", "counts edges")
RunningExtreme = _namedtuple("RunningExtreme", "values indices")


def einsum(equation, /, *operands):
    """Sums of products over named axes: einsum("ij,jk->ik", a, b)."""
    return _core.einsum(equation, operands)


def isclose(a, b, /, *, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether |a - b| <= atol + rtol * |b|, element by element: bool."""
    return _core.isclose(a, b, rtol, atol, equal_nan)


def allclose(a, b, /, *, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether that holds for all elements: bool without axes."""
    return _core.allclose(a, b, rtol, atol, equal_nan)


def array_equal(a, b, /, *, equal_nan=False):
    """Whether shapes and all elements are equal: bool without axes."""
    return _core.array_equal(a, b, equal_nan)


def nan_to_num(x, /, *, nan=0.0, posinf=None, neginf=None):
    """Numbers in place of NaN and infinities: 0 and the ends of the dtype unless told."""
    return _core.nan_to_num(x, nan, posinf, neginf)


def diag(x, /, *, k=0):
    """A matrix with a vector on the diagonal k above the main one; of a matrix that diagonal."""
    return _core.diag(x, k)


def kron(a, b, /):
    """The Kronecker product: each element of a times all of b."""
    return _core.kron(a, b)


def cdist(a, b, /, *, p=2.0):
    """The distances between the rows of a [..., n, k] and b [..., m, k]: [..., n, m]."""
    return _core.cdist(a, b, p)


def cov(x, /, *, correction=1):
    """The covariance of variables, which are rows."""
    return _core.cov(x, correction)


def corrcoef(x, /):
    """cov divided by the deviations of both, within [-1, 1]."""
    return _core.corrcoef(x)


def nansum(x, /, *, axis=None, keepdims=False):
    """The sum of the elements that are no NaN; 0 of none."""
    return _core.nansum(x, axis, keepdims)


def nanprod(x, /, *, axis=None, keepdims=False):
    """The product of the elements that are no NaN; 1 of none."""
    return _core.nanprod(x, axis, keepdims)


def nanmean(x, /, *, axis=None, keepdims=False):
    """The mean of the elements that are no NaN; NaN of none."""
    return _core.nanmean(x, axis, keepdims)


def nanmin(x, /, *, axis=None, keepdims=False):
    """The least of the elements that are no NaN; NaN of none."""
    return _core.nanmin(x, axis, keepdims)


def nanmax(x, /, *, axis=None, keepdims=False):
    """The largest of the elements that are no NaN; NaN of none."""
    return _core.nanmax(x, axis, keepdims)


def nanvar(x, /, *, axis=None, correction=0.0, keepdims=False):
    """var of the elements that are no NaN."""
    return _core.nanvar(x, axis, correction, keepdims)


def nanstd(x, /, *, axis=None, correction=0.0, keepdims=False):
    """std of the elements that are no NaN."""
    return _core.nanstd(x, axis, correction, keepdims)


def median(x, /, *, axis=None, keepdims=False):
    """The middle element along an axis (of all without), or the mean of the two in the middle."""
    return _core.median(x, axis, keepdims)


def nanmedian(x, /, *, axis=None, keepdims=False):
    """median of the elements that are no NaN."""
    return _core.nanmedian(x, axis, keepdims)


def quantile(x, q, /, *, axis=None, keepdims=False, method="linear"):
    """The value below which a share q of the sorted elements lies, along an axis (of all without).
    A list of shares gives an axis in front. method: linear, lower, higher, midpoint, nearest."""
    if isinstance(q, _core.Tensor):
        q = q.tolist()
    is_list = not isinstance(q, (int, float))
    return _core.quantile(x, list(q) if is_list else [q], is_list, axis, keepdims, method)


def percentile(x, p, /, *, axis=None, keepdims=False, method="linear"):
    """quantile of shares in hundredths."""
    if isinstance(p, _core.Tensor):
        p = p.tolist()
    q = p / 100 if isinstance(p, (int, float)) else [share / 100 for share in p]
    return quantile(x, q, axis=axis, keepdims=keepdims, method=method)


def bincount(x, /, *, weights=None, minlength=0):
    """How often each whole number from 0 on is there, or the sums of their weights. Computes x."""
    return _core.bincount(x, weights, minlength)


def histogram(x, /, bins=10, *, range=None):
    """(counts, edges) of so many bins of equal width, or between ascending edges. Computes x where
    it has to find the range."""
    return Histogram(*_core.histogram(x, bins, range))


def digitize(x, edges, /, *, right=False):
    """The bin that each element lies in: i where edges[i - 1] <= x < edges[i]."""
    return _core.digitize(x, edges, right)


def cummax(x, /, *, axis=-1):
    """(values, indices) of the largest element up to and including each."""
    return RunningExtreme(*_core.cummax(x, axis))


def cummin(x, /, *, axis=-1):
    """(values, indices) of the least element up to and including each."""
    return RunningExtreme(*_core.cummin(x, axis))


def interp(x, xp, fp, /, *, left=None, right=None):
    """The line through the points (xp[i], fp[i]), at x; xp ascends."""
    return _core.interp(x, xp, fp, left, right)


def logspace(start, stop, /, num, *, base=10.0, dtype=None, device=None):
    """base to the powers of linspace(start, stop, num)."""
    return _core.logspace(start, stop, num, base, dtype or _dtypes.float32, device)


def rot90(x, /, *, k=1, axes=(0, 1)):
    """Turned by k quarters, from the first axis towards the second."""
    return _core.rot90(x, k, *axes)


def swapaxes(x, a, b, /):
    """Two axes exchanged."""
    axes = list(range(x.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return _core.permute(x, axes)


def hstack(arrays, /):
    """Side by side: vectors one after the other, all else along axis 1."""
    arrays = [x if x.ndim else x[None] for x in arrays]
    return _core.concat(arrays, 0 if arrays[0].ndim == 1 else 1)


def vstack(arrays, /):
    """One below the other: vectors as rows."""
    return _core.concat([x if x.ndim > 1 else _core.reshape(x, (1, -1)) for x in arrays], 0)
