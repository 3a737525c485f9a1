"""Libraries that nobody here wrote, with tensors in place of arrays: the same results as with NumPy.

Skipped where a library is not installed: scripts/python-env scipy scikit-learn einops
array-api-compat.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

import hologram as hg

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))
SHARES = rng.random((20,))
CLASSES = (rng.standard_normal(60) > 0).astype("int64")
TRUE, GUESS = rng.integers(0, 2, 40), rng.integers(0, 2, 40)
A, B = rng.random(40), rng.random(40)


def as_arrays(result):
    """A result with every tensor in it as an array of NumPy, in a list."""
    if isinstance(result, hg.Tensor):
        return [np.asarray(result)]
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in as_arrays(part)]
    return [np.asarray(result)]


def same(function, *arrays, rtol=1e-6, atol=1e-7, **kwargs):
    ours = as_arrays(function(*(hg.asarray(a) for a in arrays), **kwargs))
    theirs = as_arrays(function(*arrays, **kwargs))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


SPECIAL = "expit logit entr erf erfc gammaln log_ndtr ndtr ndtri i0 i1 digamma logsumexp softmax log_softmax"


@pytest.mark.parametrize("name", SPECIAL.split())
def test_scipy_special(name):
    special = pytest.importorskip("scipy.special")
    same(getattr(special, name), SHARES)


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")
    x = hg.asarray(X)
    assert compat.array_namespace(x) is hg and compat.is_array_api_obj(x)
    assert compat.device(x) == x.device and compat.size(x) == x.size


def test_einops():
    einops = pytest.importorskip("einops.array_api")
    same(lambda x: einops.rearrange(x, "(a b) c -> a c b", a=6), X)
    same(lambda x: einops.reduce(x, "(a b) c -> a c", "max", a=6), X)


STATS = "zscore skew kurtosis gmean hmean entropy variation sem"


@pytest.mark.parametrize("name", STATS.split())
def test_scipy_stats(name):
    stats = pytest.importorskip("scipy.stats")
    same(getattr(stats, name), SHARES)


def test_scipy_elsewhere():
    integrate = pytest.importorskip("scipy.integrate")
    signal = pytest.importorskip("scipy.signal")
    same(integrate.trapezoid, SHARES)
    same(integrate.simpson, SHARES)
    same(integrate.cumulative_trapezoid, SHARES)
    same(signal.detrend, SHARES)


CLASSIFICATION = (
    "accuracy_score zero_one_loss confusion_matrix f1_score precision_score recall_score "
    "jaccard_score balanced_accuracy_score cohen_kappa_score hamming_loss"
)
REGRESSION = (
    "r2_score mean_squared_error mean_absolute_error mean_squared_log_error root_mean_squared_error "
    "max_error explained_variance_score mean_absolute_percentage_error mean_pinball_loss "
    "median_absolute_error mean_gamma_deviance mean_poisson_deviance root_mean_squared_log_error"
)
SCORES = "brier_score_loss log_loss average_precision_score"
PAIRWISE = (
    "cosine_similarity euclidean_distances linear_kernel polynomial_kernel rbf_kernel sigmoid_kernel "
    "additive_chi2_kernel cosine_distances paired_euclidean_distances paired_cosine_distances"
)
METRICS = (
    [(name, TRUE, GUESS) for name in CLASSIFICATION.split()]
    + [(name, A, B) for name in REGRESSION.split()]
    + [(name, TRUE, B) for name in SCORES.split()]
)


@pytest.mark.parametrize("name, a, b", METRICS, ids=[row[0] for row in METRICS])
def test_sklearn_metrics(name, a, b):
    sklearn, metrics = pytest.importorskip("sklearn"), pytest.importorskip("sklearn.metrics")
    with sklearn.config_context(array_api_dispatch=True):
        same(getattr(metrics, name), a, b)


@pytest.mark.parametrize("name", PAIRWISE.split())
def test_sklearn_pairwise(name):
    sklearn = pytest.importorskip("sklearn")
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    with sklearn.config_context(array_api_dispatch=True):
        same(getattr(pairwise, name), np.abs(X), np.abs(X[:60]))


TRANSFORMERS = "StandardScaler MinMaxScaler MaxAbsScaler Normalizer Binarizer PolynomialFeatures"


@pytest.mark.parametrize("name", TRANSFORMERS.split())
def test_sklearn_transformers(name):
    sklearn = pytest.importorskip("sklearn")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    with sklearn.config_context(array_api_dispatch=True):
        same(lambda x: getattr(preprocessing, name)().fit_transform(x), X)


def test_sklearn_estimators():
    sklearn = pytest.importorskip("sklearn")
    bayes = pytest.importorskip("sklearn.naive_bayes")
    with sklearn.config_context(array_api_dispatch=True):
        same(lambda x, y: bayes.GaussianNB().fit(x, y).predict_proba(x), X, CLASSES)


ESTIMATORS = {
    "PCA": lambda x, y: decomposition().PCA(2, svd_solver="full").fit(x).explained_variance_,
    "PCA, covariances": lambda x, y: decomposition()
    .PCA(2, svd_solver="covariance_eigh")
    .fit(x)
    .explained_variance_,
    "Ridge": lambda x, y: linear().Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
    "RidgeCV": lambda x, y: linear().RidgeCV().fit(x, x[:, 0]).predict(x),
    "RidgeClassifier": lambda x, y: linear().RidgeClassifier(solver="svd").fit(x, y).predict(x),
    "LinearDiscriminantAnalysis": lambda x, y: discriminant()
    .LinearDiscriminantAnalysis()
    .fit(x, y)
    .predict(x),
}


def decomposition():
    return pytest.importorskip("sklearn.decomposition")


def linear():
    return pytest.importorskip("sklearn.linear_model")


def discriminant():
    return pytest.importorskip("sklearn.discriminant_analysis")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_sklearn_estimators_with_decompositions(name):
    sklearn = pytest.importorskip("sklearn")
    with sklearn.config_context(array_api_dispatch=True):
        same(ESTIMATORS[name], X, CLASSES)
