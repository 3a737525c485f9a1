"""Values print as NumPy prints them."""

import numpy as np
import pytest

import hologram as hg

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
SHAPES = [(), (1,), (3,), (12,), (40,), (3, 4), (2, 3, 4), (1, 1, 1), (2, 1, 3, 2), (1001,), (40, 30),
          (2, 600), (7, 7, 30)]  # fmt: skip


def examples(rng, dtype, shape):
    """Arrays whose values print in different ways."""
    if dtype == "bool":
        yield rng.integers(0, 2, shape).astype(bool)
        return
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        yield rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        yield rng.integers(0, 10, shape).astype(dtype)
        return
    yield rng.standard_normal(shape).astype(dtype)
    yield rng.integers(-5, 5, shape).astype(dtype)
    yield (rng.integers(-9, 9, shape) / 4).astype(dtype)
    yield (10.0 ** rng.uniform(-4, 4, shape)).astype(dtype)
    if dtype != "float16":
        yield (10.0 ** rng.uniform(-12, 12, shape)).astype(dtype)
        yield (1e8 * rng.standard_normal(shape)).astype(dtype)
    special = rng.choice(np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, 1e-5, 100.25]), shape)
    yield np.asarray(special).astype(dtype)


@pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) < (2, 4),
    reason="NumPy lays floats out so from 2.4 on",
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_text_is_that_of_numpy(dtype):
    rng = np.random.default_rng(7)
    for shape in SHAPES:
        for array in examples(rng, dtype, shape):
            tensor = hg.asarray(array)
            assert str(tensor) == str(array)
            if not shape:
                continue
            whole = np.array2string(
                array, separator=", ", prefix="Tensor(", suffix=",", max_line_width=75
            )
            assert repr(tensor).startswith(f"Tensor({whole},"), repr(array)


def test_words_about_the_type():
    assert repr(hg.asarray([1.0, 2.5])) == "Tensor([1. , 2.5], dtype=float32)"
    assert repr(hg.asarray(3)) == "Tensor(3, dtype=int64)"
    assert repr(hg.zeros((0,))) == "Tensor([], dtype=float32)"
    assert repr(hg.zeros((2, 0))) == "Tensor([], shape=(2, 0), dtype=float32)"
    assert repr(hg.asarray([True, False])) == "Tensor([ True, False], dtype=bool)"
    assert repr(hg.asarray([1.0], dtype=hg.bfloat16)) == "Tensor([1.], dtype=bfloat16)"
    assert repr(hg.zeros(2000)).endswith("shape=(2000,), dtype=float32)")


def test_bfloat16_shows_as_few_digits_as_it_has():
    assert str(hg.asarray([0.1, 3.14159], dtype=hg.bfloat16)) == "[0.1  3.14]"


def test_another_device_is_named():
    other = hg.Executor("cpu")
    assert "device" not in repr(hg.ones(1, device=other))  # the same device, if not the executor
    assert format(hg.asarray(1.5), ".3f") == "1.500"
    assert f"{hg.asarray([1, 2])}" == "[1 2]"
