"""Distributions: moments, and the largest distance of the distribution function from the right one."""

import math

import numpy as np
import pytest

import hologram as hg

N = 20000


def distance(drawn, cdf):
    """Kolmogorov's: of N draws at most 1.95 / sqrt(N) but once in a thousand times."""
    values = np.sort(drawn)
    right = np.array([cdf(v) for v in values])
    steps = np.arange(1, len(values) + 1) / len(values)
    return max(np.abs(steps - right).max(), np.abs(steps - 1 / len(values) - right).max())


def gamma_cdf(k, x):
    """The regularised incomplete gamma function, by its series."""
    if x <= 0:
        return 0.0
    term = total = 1 / k
    for n in range(1, 2000):
        term *= x / (k + n)
        total += term
        if term < total * 1e-12:
            break
    return total * math.exp(-x + k * math.log(x) - math.lgamma(k))


@pytest.mark.parametrize("k", [0.3, 1.0, 2.5, 40.0])
def test_gamma(k):
    hg.random.seed(11)
    drawn = np.asarray(hg.random.gamma(k, N, dtype=hg.float64))
    assert drawn.min() > 0 and distance(drawn, lambda x: gamma_cdf(k, x)) < 1.95 / math.sqrt(N)
    hg.random.seed(11)
    scaled = hg.random.gamma(k, N, scale=3.0, dtype=hg.float64)
    np.testing.assert_allclose(np.asarray(scaled), 3 * drawn)


@pytest.mark.parametrize("lam", [0.0, 0.5, 4.0, 9.9, 10.0, 37.0, 1000.0])
def test_poisson(lam):
    hg.random.seed(12)
    drawn = np.asarray(hg.random.poisson(lam, N))
    assert drawn.dtype == np.int64 and drawn.min() >= 0
    if lam == 0:
        assert not drawn.any()
        return
    spread = math.sqrt(lam)
    assert abs(drawn.mean() - lam) < 4 * spread / math.sqrt(N)
    assert abs(drawn.var() / lam - 1) < 0.06
    counts = np.arange(drawn.max() + 1)
    right = np.cumsum(np.exp(counts * math.log(lam) - lam - np.array([math.lgamma(c + 1) for c in counts])))
    seen = np.cumsum(np.bincount(drawn)) / N
    assert np.abs(seen - right).max() < 1.95 / math.sqrt(N)


def test_parameters_may_be_tensors():
    hg.random.seed(13)
    lam = hg.asarray([[1.0], [200.0]])
    drawn = np.asarray(hg.random.poisson(lam, (2, 4000)))
    assert abs(drawn[0].mean() - 1) < 0.1 and abs(drawn[1].mean() - 200) < 2
    assert hg.random.gamma(hg.asarray([0.5, 5.0])).shape == (2,)
    assert hg.random.poisson(3.0).shape == ()
