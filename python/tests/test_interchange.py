"""Tensors and the arrays of others: values, who owns the memory, who may write to it."""

import array
import copy
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import hologram as hg

NAMES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
         "float32", "float64"]  # fmt: skip
SHAPES = [(), (0,), (1,), (5,), (2, 3), (2, 0, 3), (1, 2, 3, 4)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_there_and_back(name, shape):
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 * 3).astype(name)
    ways_in = [hg.asarray(array), hg.asarray(array, copy=False), hg.asarray(array, copy=True),
               hg.from_dlpack(array), hg.from_dlpack(array, copy=False)]  # fmt: skip
    for tensor in ways_in:
        assert tensor.shape == shape and str(tensor.dtype) == name
        for back in (np.asarray(tensor), np.array(tensor), np.from_dlpack(tensor), tensor.numpy()):
            assert back.dtype == array.dtype
            np.testing.assert_array_equal(back, array)
        assert hg.asarray(tensor.tolist(), dtype=name).tolist() == array.tolist()


def test_arrays_in_other_layouts():
    base = np.arange(24, dtype="int32").reshape(2, 3, 4)
    for array in (base.T, base[::-1], base[:, ::2, 1:3], np.broadcast_to(base[0], (5, 3, 4)),
                  base.astype(">i4"), base[..., None], base[:, 0], base[:0]):  # fmt: skip
        for tensor in (hg.asarray(array), hg.asarray(array, dtype=hg.float64)):
            np.testing.assert_array_equal(np.asarray(tensor), array)
        if array.dtype.isnative:
            np.testing.assert_array_equal(np.asarray(hg.from_dlpack(array)), array)
    bytes_ = np.zeros(17, dtype="uint8")
    crooked = bytes_[1:].view("float32")  # not aligned to its elements
    np.testing.assert_array_equal(np.asarray(hg.asarray(crooked)), crooked)
    for way in (hg.asarray, hg.from_dlpack):
        for array in (base.T, crooked):
            with pytest.raises(ValueError):
                way(array, copy=False)


def test_what_its_owner_may_write_to_is_copied():
    array = np.ones(4, dtype="float32")
    tensor, taken = hg.asarray(array), hg.from_dlpack(array)
    doubled = tensor * 2  # not computed yet
    array[:] = 7
    assert tensor.tolist() == taken.tolist() == [1, 1, 1, 1]
    assert doubled.tolist() == [2, 2, 2, 2]


def test_memory_that_nobody_may_write_to_is_shared():
    array = np.arange(1000, dtype="float32")
    array.flags.writeable = False
    tensor = hg.asarray(array)
    assert np.shares_memory(np.asarray(tensor), array)
    assert np.shares_memory(np.asarray(hg.asarray(np.arange(9.0), copy=False)), array) is False
    mine = np.arange(9.0)
    assert np.shares_memory(np.asarray(hg.asarray(mine, copy=False)), mine)
    assert not np.shares_memory(np.asarray(hg.asarray(array, copy=True)), array)


def test_what_is_given_out_cannot_be_written_to():
    tensor = hg.asarray([1.0, 2.0])
    for array in (np.asarray(tensor), np.from_dlpack(tensor)):
        with pytest.raises(ValueError):
            array[0] = 5
    assert np.shares_memory(np.asarray(tensor), np.from_dlpack(tensor))
    own = np.array(tensor)
    own[0] = 5
    fresh = np.from_dlpack(tensor, copy=True)
    fresh[0] = 6
    assert tensor.tolist() == [1, 2]
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        memoryview(tensor)[0] = 1


def test_consumers_of_before_dlpack_1_get_a_copy():
    class Old:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, stream=None):
            return self.tensor.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    tensor = hg.asarray([1.0, 2.0])
    array = np.from_dlpack(Old(tensor))
    assert array.tolist() == [1, 2] and not np.shares_memory(array, np.asarray(tensor))
    assert hg.from_dlpack(Old(tensor)).tolist() == [1, 2]


def test_a_capsule_is_used_once():
    capsule = hg.ones(2).__dlpack__(max_version=(1, 0))
    assert "versioned" in repr(capsule)
    hg._core._from_capsule(capsule, None, None)
    with pytest.raises(TypeError):
        hg._core._from_capsule(capsule, None, None)


def test_memory_lives_as_long_as_somebody_reads_it():
    tensor = hg.arange(100000) + 1
    view, array = memoryview(tensor), np.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert view[99999] == 100000 and array[-1] == 100000

    class Mine(np.ndarray):
        pass

    source = np.arange(1000.0).view(Mine)
    gone = weakref.ref(source)
    borrowed = hg.asarray(source, copy=False)
    later = borrowed + 1
    del source, borrowed
    gc.collect()
    assert gone() is not None  # `later` is not computed yet
    assert later[999].item() == 1000
    later.eval()
    del later
    gc.collect()
    hg._core._release_waiting()
    assert gone() is None


def test_what_fails_lets_go_too():
    class Mine(np.ndarray):
        pass

    source = np.zeros((3, 4)).T.view(Mine)
    gone = weakref.ref(source)
    with pytest.raises(ValueError):
        hg.asarray(source, copy=False)
    del source
    gc.collect()
    hg._core._release_waiting()
    assert gone() is None


def test_bfloat16_is_that_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, -2, 3e38, np.inf], dtype=ml_dtypes.bfloat16)
    tensor = hg.asarray(array)
    assert tensor.dtype == hg.bfloat16 == hg._core.dtype_of(ml_dtypes.bfloat16)
    back = np.asarray(tensor)
    assert back.dtype == array.dtype and back.tobytes() == array.tobytes()
    assert pickle.loads(pickle.dumps(tensor)).tolist() == tensor.tolist()
    assert hg.from_dlpack(tensor).dtype == hg.bfloat16
    with pytest.raises(BufferError):
        memoryview(tensor)


def test_the_buffer_protocol_of_python():
    assert hg.asarray(array.array("d", [1, 2])).dtype == hg.float64
    assert hg.asarray(b"abc").tolist() == [97, 98, 99]
    assert hg.asarray(bytearray(3)).dtype == hg.uint8
    view = memoryview(hg.asarray([[1, 2, 3]]))
    assert view.format == "l" and view.shape == (1, 3) and view.readonly
    assert bytes(hg.asarray([1], dtype="int16")) == b"\x01\x00"


def test_numbers_and_lists():
    assert hg.asarray(True).dtype == hg.bool
    assert hg.asarray([1, 2]).dtype == hg.int64
    assert hg.asarray([1, 2.5]).dtype == hg.float32
    assert hg.asarray(2**63).dtype == hg.uint64
    assert hg.asarray([]).dtype == hg.float32
    assert hg.asarray([[], []]).shape == (2, 0)
    assert hg.asarray(np.float64(0.1)).dtype == hg.float64
    assert hg.asarray([np.int8(1), np.int8(2)]).tolist() == [1, 2]
    assert hg.asarray([hg.ones(2), hg.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert hg.asarray([np.ones(2), [3, 4]]).tolist() == [[1, 1], [3, 4]]
    assert hg.asarray([255], dtype=hg.uint8).tolist() == [255]
    for wrong in ([[1], [1, 2]], [1, [2]], [[1, 2], 3]):
        with pytest.raises(hg.ShapeMismatch):
            hg.asarray(wrong)
    for value, dtype in ((256, "uint8"), (-1, "uint64"), (2**31, "int32"), (2**64, None)):
        with pytest.raises(hg.InvalidArgument):
            hg.asarray([value], dtype=dtype)
    for wrong in ("abc", object(), None, 1j, [1j], np.array([1j]), np.array(["a"]), {1: 2}):
        with pytest.raises(TypeError):
            hg.asarray(wrong)


@pytest.mark.parametrize("name", [*NAMES, "bfloat16"])
def test_pickle_and_copy(name):
    tensor = hg.reshape(hg.asarray([0, 1, 1, 0, 1, 1], dtype=name), (2, 3))
    for other in (pickle.loads(pickle.dumps(tensor)), copy.copy(tensor), copy.deepcopy(tensor)):
        assert other is not tensor
        assert other.dtype == tensor.dtype and other.tolist() == tensor.tolist()
        other[0] = 0
    assert tensor.tolist() == [[0, 1, 1], [0, 1, 1]]
    assert pickle.loads(pickle.dumps(tensor.dtype)) is tensor.dtype


def test_numpy_leaves_operators_to_tensors():
    array, tensor = np.ones(3, dtype="float32"), hg.asarray([1.0, 2.0, 3.0])
    for made in (array + tensor, tensor + array, array * tensor, tensor - array, array == tensor,
                 np.float32(2) * tensor, np.float64(2) + tensor):  # fmt: skip
        assert isinstance(made, hg.Tensor)
    assert (array - tensor).tolist() == [0, -1, -2]
    assert (np.float64(2) + tensor).dtype == hg.float64  # NumPy's numbers have a dtype
    assert (2.0 + tensor).dtype == hg.float32  # Python's take that of the tensor


DEVICE = """
import numpy as np
import hologram as hg

x = hg.arange(12, dtype=hg.float32, device="cuda") * 2
assert x.__dlpack_device__() == (2, 0)
y = hg.from_dlpack(x, copy=False)
assert str(y.device) == "cuda:0" and (y + 1).tolist() == [2 * i + 1 for i in range(12)]
del x
assert y.reshape((3, 4))[1].tolist() == [8, 10, 12, 14]
assert hg.from_dlpack(y, device="cpu").tolist() == y.tolist()
assert hg.from_dlpack(y.reshape((3, 4)).T).tolist() == y.reshape((3, 4)).T.tolist()
assert np.asarray(y).tolist() == y.tolist()
assert np.from_dlpack(hg.asarray([1.0], device="cpu")).tolist() == [1]
capsule = y.__dlpack__(max_version=(1, 0), dl_device=(1, 0))
assert hg._core._from_capsule(capsule, None, "cpu").tolist() == y.tolist()
assert hg.from_dlpack(hg.zeros((0, 3), device="cuda")).shape == (0, 3)
try:
    y.__dlpack__(dl_device=(2, 1))
except BufferError as error:
    print("right", "dl_device=(1, 0)" in str(error))
"""


def test_memory_of_cuda_stays_there():
    """On the emulated driver of the C++ tests, which executes kernels."""
    root = pathlib.Path(__file__).resolve().parents[2]
    fake = root / "build" / "tests" / "libfake_cuda.so"
    if not fake.exists():
        pytest.skip("the emulated CUDA driver is not built")
    emulated = {
        "HOLOGRAM_CUDA_LIBRARY": fake, "HOLOGRAM_NVRTC_LIBRARY": fake, "FAKE_CUDA_EXECUTE": 1,
        "HOLOGRAM_CUBLASLT_LIBRARY": "none", "HOLOGRAM_CUDNN_LIBRARY": "none",
        "FAKE_CUDA_KERNELS": root / "build" / "emulated" / "kernels",
    }  # fmt: skip
    environment = {**os.environ, **{key: str(value) for key, value in emulated.items()}}
    made = subprocess.run([sys.executable, "-c", DEVICE], env=environment, capture_output=True, text=True)
    assert made.stdout == "right True\n", made.stderr


@pytest.mark.parametrize("value", [np.float64(1.5), np.float32(2), np.int64(3), np.uint8(4), np.bool_(True), np.array(2.5)])
def test_numbers_of_numpy_are_numbers(value):
    plain, x = value.item(), hg.zeros(3)
    made = hg.full((2,), value)
    assert made.tolist() == [plain] * 2 and made.dtype == hg.asarray(value).dtype
    assert hg.full_like(x, value).tolist() == [plain] * 3 and hg.full((2,), value, dtype=hg.float16).dtype == hg.float16
    assert hg.arange(value).tolist() == hg.arange(plain).tolist()
    assert hg.clip(x, value, 9).tolist() == [plain] * 3
    for key in (0, x < 1, [1, 2], slice(None)):
        y, right = hg.zeros(3), np.zeros(3, "float32")
        y[key] = value
        right[np.asarray(key) if isinstance(key, hg.Tensor) else key] = plain
        assert y.tolist() == right.tolist() and y.dtype == hg.float32
    with pytest.raises(hg.InvalidArgument):
        hg.full((2,), np.int64(300), dtype=hg.int8)
