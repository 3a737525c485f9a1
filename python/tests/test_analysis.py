"""Linear algebra and the functions that people look for, with NumPy as the oracle."""

import numpy as np
import pytest

import hologram as hg

rng = np.random.default_rng(3)
FLOATS = ("float32", "float64")


def close(ours, theirs, dtype="float64", scale=1.0):
    tolerance = scale * (2e-4 if dtype == "float32" else 1e-9)
    ours = np.asarray(ours)
    assert ours.shape == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def lapack(call):
    """Skips where the machine has no LAPACK."""
    try:
        return call()
    except hg.UnsupportedOperation as error:
        pytest.skip(error.what)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 0)], ids=str)
def test_decompositions(dtype, batch):
    a = rng.standard_normal((*batch, 5, 5)).astype(dtype)
    a += 3 * np.eye(5, dtype=dtype)
    b = rng.standard_normal((*batch, 5, 2)).astype(dtype)
    s = (a + np.swapaxes(a, -1, -2)) / 2
    p = a @ np.swapaxes(a, -1, -2)
    A, B, S, P = map(hg.asarray, (a, b, s, p))
    close(lapack(lambda: hg.linalg.solve(A, B)), np.linalg.solve(a, b), dtype, 10)
    close(hg.linalg.inv(A), np.linalg.inv(a), dtype, 10)
    close(hg.linalg.det(A) / 100, np.linalg.det(a) / 100, dtype, 10)
    close(hg.linalg.slogdet(A).logabsdet, np.linalg.slogdet(a)[1], dtype, 10)
    close(hg.linalg.eigvalsh(S), np.linalg.eigvalsh(s), dtype, 10)
    close(hg.linalg.svdvals(A), np.linalg.svd(a, compute_uv=False), dtype, 10)
    close(hg.linalg.cholesky(P), np.linalg.cholesky(p), dtype, 10)
    q, r = hg.linalg.qr(A)
    close(q @ r, a, dtype, 10)
    w, v = hg.linalg.eigh(S)
    close(v * w[..., None, :] @ v.mT, s, dtype, 10)
    u, d, vh = hg.linalg.svd(hg.asarray(b), full_matrices=False)
    close(u * d[..., None, :] @ vh, b, dtype, 10)
    close(hg.linalg.pinv(B), np.linalg.pinv(b), dtype, 10)
    close(hg.linalg.matrix_rank(A), np.linalg.matrix_rank(a))
    cut = hg.full(batch, 1e-3, dtype=A.dtype)
    close(hg.linalg.pinv(B, rtol=cut), np.linalg.pinv(b), dtype, 10)
    close(hg.linalg.matrix_rank(A, rtol=cut), np.linalg.matrix_rank(a))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(hg.linalg.matrix_norm(A, ord=order), np.linalg.norm(a, order, (-2, -1)), dtype, 10)
    close(hg.linalg.matrix_power(A, 3) / 100, np.linalg.matrix_power(a, 3) / 100, dtype, 10)


def test_least_squares():
    a, b = rng.standard_normal((7, 3)), rng.standard_normal(7)
    made = lapack(lambda: hg.linalg.lstsq(hg.asarray(a), hg.asarray(b)))
    solution, _, rank, values = np.linalg.lstsq(a, b, rcond=None)
    close(made.solution, solution)
    close(made.singular_values, values)
    assert made.rank.item() == rank


def test_wrong_matrices():
    with pytest.raises(hg.ShapeMismatch):
        lapack(lambda: hg.linalg.inv(hg.ones((2, 3))))
    with pytest.raises(hg.InvalidArgument):
        lapack(lambda: hg.linalg.inv(hg.zeros((2, 2))))
    with pytest.raises(hg.InvalidArgument):
        hg.linalg.qr(hg.eye(2), mode="other")


A, V = rng.standard_normal((4, 6)), rng.standard_normal(9)
N = np.where(rng.random((4, 6)) < 0.2, np.nan, A)
I = rng.integers(0, 7, 30)
CASES = {
    "einsum": (lambda x, a: x.einsum("ij,kj->ik", a, a), A),
    "diag of a vector": (lambda x, v: x.diag(v, k=1), V),
    "kron": (lambda x, a: x.kron(a, a), A),
    "nansum": (lambda x, n: x.nansum(n, axis=0), N),
    "nanmean": (lambda x, n: x.nanmean(n, axis=1), N),
    "nanmax": (lambda x, n: x.nanmax(n, axis=1), N),
    "nanmin": (lambda x, n: x.nanmin(n), N),
    "nanstd": (lambda x, n: x.nanstd(n, axis=1), N),
    "nanmedian": (lambda x, n: x.nanmedian(n, axis=1), N),
    "median": (lambda x, a: x.median(a, axis=0), A),
    "quantile": (lambda x, a: x.quantile(a, [0.1, 0.5], axis=1), A),
    "percentile": (lambda x, a: x.percentile(a, 30), A),
    "bincount": (lambda x, i: x.bincount(i, minlength=9), I),
    "histogram": (lambda x, v: x.histogram(v, 5)[0], V),
    "digitize": (lambda x, v: x.digitize(v, x.asarray(np.array([-1.0, 0.0, 1.0]))), V),
    "interp": (lambda x, v: x.interp(v, x.asarray(np.arange(3.0)), x.asarray(np.array([1.0, 5, 2]))), V),
    "isclose": (lambda x, a: x.isclose(a, a + 1e-9), A),
    "nan_to_num": (lambda x, n: x.nan_to_num(n), N),
    "rot90": (lambda x, a: x.rot90(a, k=3), A),
    "swapaxes": (lambda x, a: x.swapaxes(a, 0, -1), A),
    "hstack": (lambda x, a: x.hstack([a, a]), A),
    "vstack": (lambda x, v: x.vstack([v, v]), V),
    "corrcoef": (lambda x, a: x.corrcoef(a), A),
    "tril": (lambda x, a: x.tril(a, k=-1), A),
    "triu": (lambda x, a: x.triu(a, k=2), A),
    "diff": (lambda x, a: x.diff(a, 2), A),
    "asinh": (lambda x, a: x.asinh(a), A),
    "atanh": (lambda x, a: x.atanh(a / 10), A),
    "signbit": (lambda x, a: x.signbit(a), A),
    "nextafter": (lambda x, a: x.nextafter(a, -a), A),
    "repeat": (lambda x, v: x.repeat(v, x.asarray(np.arange(9))), V),
    "count_nonzero": (lambda x, i: x.count_nonzero(i), I),
    "isin": (lambda x, i: x.isin(i, x.asarray(np.array([2, 5]))), I),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_are_those_of_numpy(name):
    call, array = CASES[name]
    close(call(hg, hg.asarray(array)), call(np, array))


def test_where_names_differ_from_numpy():
    x = hg.asarray(A)
    close(hg.cov(x), np.cov(A))
    close(hg.pad(x, 2, mode="reflect"), np.pad(A, 2, mode="reflect"))
    close(hg.pad(x, ((1, 0), (0, 2)), mode="edge"), np.pad(A, ((1, 0), (0, 2)), mode="edge"))
    close(hg.pad(x, 1, value=7.0), np.pad(A, 1, constant_values=7))
    close(hg.cummax(x, axis=1).values, np.maximum.accumulate(A, axis=1))
    distance = np.sqrt(((A[:, None] - A[None]) ** 2).sum(-1))
    close(hg.cdist(x, x), distance)
    close(hg.logspace(0, 3, 4, dtype=hg.float64), np.logspace(0, 3, 4))
    assert bool(hg.allclose(x, x + 1e-12)) and bool(hg.array_equal(x, x))
    with pytest.raises(hg.InvalidArgument):
        hg.quantile(x, 0.5, method="nothing")
    with pytest.raises(hg.InvalidArgument):
        hg.pad(x, 1, mode="nothing")
