"""x[key] and x[key] = value: what NumPy does, and which keys are errors."""

import time

import numpy as np
import pytest

import hologram as hg


def both(shape, dtype="int64"):
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    return array, hg.asarray(array)


def equal(tensor, array):
    assert tensor.shape == array.shape
    assert str(tensor.dtype) == array.dtype.name
    np.testing.assert_array_equal(np.asarray(tensor), array)


KEYS = [
    0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(-2, None), slice(5, 1, -2),
    ..., None, (0, 1), (..., 0), (0, ...), (slice(None), None, 1), (None, ..., None), (1, slice(0, 2)),
    (slice(2, 2),), (np.int64(1),), (np.array(1),), (),
    [0, 2], np.array([[0, 1], [2, 0]]), ([0, 1], [1, 2]), ([0, 1], slice(None), [0, 1]),
    (slice(None), [0, 2]), (slice(None), [0, 2], [1, 3]), (0, slice(None), [0, 1]),
    ([[0], [1]], [1, 2]), (..., [3, 0]), (None, [0, 1]), ([0, 1], None, [0, 1]), (1, [0, 1]),
    (np.array([], dtype=np.int64),), (slice(None), slice(None), np.array([-1, -4])),
    np.array([True, False, True]), (np.array([True, True, False]), 0),
    (slice(None), np.array([True, False, True])), (np.array([True, False, True]), [0, 1]),
    np.zeros(3, bool), np.zeros(0, bool), np.zeros((3, 0), bool), True, False, (True, 0),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading_is_that_of_numpy(key):
    array, tensor = both((3, 3, 4))
    equal(tensor[key], array[key])


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_writing_is_that_of_numpy(key):
    array, tensor = both((3, 3, 4))
    before = tensor[...]
    array[key] = 77
    tensor[key] = 77
    equal(tensor, array)
    shape = array[key].shape
    values = np.arange(int(np.prod(shape))).reshape(shape) - 5
    array[key] = values
    tensor[key] = hg.asarray(values)
    equal(tensor, array)
    equal(before, both((3, 3, 4))[0])  # nobody else sees it


def test_masks_of_the_whole_shape():
    array, tensor = both((3, 4), "float32")
    mask = array % 3 == 0
    equal(tensor[hg.asarray(mask)], array[mask])
    equal(tensor[tensor > 4], array[array > 4])
    tensor[tensor > 4] = 0.5
    array[array > 4] = 0.5
    equal(tensor, array)
    tensor[hg.asarray(mask)] = hg.asarray(np.arange(mask.sum(), dtype="float32"))
    array[mask] = np.arange(mask.sum())
    equal(tensor, array)


def test_of_several_values_for_one_place_the_last_stays():
    tensor = hg.zeros(4)
    tensor[hg.asarray([1, 1, 1])] = hg.asarray([5.0, 6.0, 7.0])
    assert tensor.tolist() == [0, 7, 0, 0]


WRONG = [5, -4, (0, 3), (slice(None), 4), (0, 0, 0, 0), (..., ...), [0, 3], ([0], [0], [9]), 1.5, "a",
         np.array([True]), np.zeros((3, 2), bool), np.array([1.0]), (0, [True, False])]  # fmt: skip


@pytest.mark.parametrize("key", WRONG, ids=repr)
def test_a_wrong_key_is_an_index_error(key):
    _, tensor = both((3, 3, 3))
    with pytest.raises((IndexError, hg.Error)) as raised:
        tensor[key]
    assert isinstance(raised.value, IndexError)
    assert raised.value.remedy
    with pytest.raises(IndexError):
        tensor[key] = 0


def test_a_computed_index_outside_is_an_error_when_it_is_read():
    _, tensor = both((3,))
    with pytest.raises(hg.InvalidArgument):
        tensor[hg.asarray([0, 1]) + 2].eval()
    pairs = both((3, 3))[1][hg.asarray([0, 1]) + 2, hg.asarray([0, 0]) + 1]
    with pytest.raises(hg.InvalidArgument):
        pairs.eval()


def test_values_that_do_not_fit():
    _, tensor = both((3, 4))
    with pytest.raises(ValueError):
        tensor[0] = hg.zeros(3)
    with pytest.raises(ValueError):
        tensor[[0, 1]] = hg.zeros((3, 4))
    assert tensor.tolist() == both((3, 4))[0].tolist()


def random_key(rng, shape):
    parts = []
    arrays = tuple(rng.integers(1, 4, rng.integers(0, 3)))
    axis = 0
    while axis < len(shape) and rng.random() < 0.8:
        length = shape[axis]
        kind = rng.choice(["int", "slice", "array", "mask", "none", "masks"])
        if kind == "int" and length:
            parts.append(int(rng.integers(-length, length)))
        elif kind == "slice":
            begin, end = (
                None if rng.random() < 0.3 else int(rng.integers(-length - 2, length + 3)) for _ in "ab"
            )
            parts.append(slice(begin, end, int(rng.choice([-3, -2, -1, 1, 1, 1, 2, 3]))))
        elif kind == "array" and length:
            lengths = tuple(n if rng.random() < 0.7 else 1 for n in arrays)
            parts.append(rng.integers(-length, length, lengths))
        elif kind == "mask" and rng.random() < 0.3 and not any(
            isinstance(p, np.ndarray) for p in parts
        ):
            parts.append(rng.random(length) < 0.5)
            arrays = (int(parts[-1].sum()),)
        elif kind == "none":
            parts.append(None)
            continue
        else:
            parts.append(slice(None))
        axis += 1
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(0, len(parts) + 1)), ...)
    return tuple(parts)


DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
          "float32", "float64"]  # fmt: skip


def test_random_keys_are_those_of_numpy(seconds):
    rng = np.random.default_rng(20261129)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end or count <= 20:
        count += 1
        shape = tuple(rng.integers(0 if rng.random() < 0.1 else 1, 5, rng.integers(1, 5)))
        array = rng.integers(0, 100, shape).astype(rng.choice(DTYPES))
        tensor = hg.asarray(array)
        if rng.random() < 0.3 and array.ndim > 1:  # of a view
            array, tensor = array.T, hg.permute_dims(tensor, tuple(range(array.ndim))[::-1])
            array = array.copy()
        key = random_key(rng, array.shape)
        taken = max((np.ndim(part) for part in key if isinstance(part, np.ndarray)), default=0)
        if array.ndim + taken + sum(part is None for part in key) > 8:
            continue
        try:
            expected = array[key]
        except (IndexError, ValueError):
            with pytest.raises((IndexError, ValueError)):
                tensor[key].eval()
            continue
        ours = tuple(hg.asarray(p) if isinstance(p, np.ndarray) and rng.random() < 0.5 else p for p in key)
        assert tensor[ours].shape == expected.shape, (array.shape, key)
        np.testing.assert_array_equal(np.asarray(tensor[ours]), expected, err_msg=repr(key))
        values = rng.integers(0, 50, expected.shape).astype(array.dtype)
        if rng.random() < 0.3:
            values = values.astype("int64").sum().astype(array.dtype)
        changed = array.copy()
        changed[key] = values
        tensor[ours] = hg.asarray(values)
        np.testing.assert_array_equal(np.asarray(tensor), changed, err_msg=repr(key))
