"""What goes wrong is an exception that says what to do."""

import pytest

import hologram as hg


def raised(call, *kinds):
    with pytest.raises(kinds) as caught:
        call()
    error = caught.value
    assert isinstance(error, hg.Error)
    assert error.kind in {kind.kind for kind in kinds if issubclass(kind, hg.Error)}
    assert error.what and error.remedy
    assert str(error) == f"{error.what}\n{error.remedy}"
    return error


def test_each_kind_is_an_exception_of_python_too():
    a = hg.ones((2, 3))
    raised(lambda: a + hg.ones(2), hg.ShapeMismatch, ValueError)
    raised(lambda: hg.asarray(1, dtype="uint64") + hg.asarray(1), hg.DTypeMismatch, TypeError)
    raised(lambda: hg.full((), 300, dtype=hg.uint8), hg.InvalidArgument, ValueError)
    raised(lambda: hg.Executor("cuda", device_id=99), hg.BackendUnavailable, RuntimeError)
    raised(lambda: hg.Program("nothing"), hg.InvalidProgram, ValueError)
    raised(lambda: hg.load("there/is/none.npy"), hg.IoError, OSError)
    raised(lambda: a[7], hg.IndexOutOfRange, IndexError)
    raised(lambda: hg.expand_dims(a, 5), hg.AxisOutOfRange, ValueError)
    raised(lambda: hg.expand_dims(a, 5), hg.AxisOutOfRange, IndexError)
    raised(lambda: hg.Executor(nothing=1), hg.InvalidArgument, ValueError)
    raised(lambda: hg.zeros((2**40, 2**10)).eval(), hg.OutOfMemory, MemoryError)
    assert {kind.kind for kind in hg._errors.KINDS} == {
        "BackendUnavailable", "OutOfMemory", "Timeout", "ShapeMismatch", "DTypeMismatch",
        "UnsupportedOperation", "InvalidProgram", "InvalidArgument", "InvalidConfig", "Cancelled",
        "DeviceLost", "IoError", "Internal",
    }  # fmt: skip


def test_a_wrong_program_shows_the_place():
    error = raised(lambda: hg.Program("\nprogram f(in x: f32[n) {}\n", file="f.atlas"), hg.InvalidProgram)
    assert "f.atlas:2:" in error.what and "^" in error.what
    error = raised(lambda: hg.Expression("a +"), hg.InvalidProgram)
    assert "^" in error.what


def test_operands_that_are_none():
    a = hg.ones(3)
    for wrong in ("x", object(), [1, 2, 3], None):
        with pytest.raises(TypeError):
            a + wrong
        with pytest.raises(TypeError):
            wrong - a
        with pytest.raises(TypeError):
            hg.add(a, wrong)
    assert (a == None) is False and (a != "x") is True  # noqa: E711
    with pytest.raises(hg.InvalidArgument):
        a + 2**70


def test_truth_and_numbers():
    with pytest.raises(hg.ShapeMismatch):
        bool(hg.ones(2))
    with pytest.raises(hg.ShapeMismatch):
        hg.ones(2).item()
    with pytest.raises(TypeError):
        int(hg.ones(1))
    with pytest.raises(TypeError):
        [1, 2][hg.asarray(1.0)]
    assert [1, 2][hg.asarray(1)] == 2
    assert bool(hg.ones((1, 1))) and int(hg.asarray(2.9)) == 2 and float(hg.asarray(3)) == 3.0
    assert complex(hg.asarray(2)) == 2
    with pytest.raises(TypeError):
        len(hg.asarray(1))
    with pytest.raises(TypeError):
        iter(hg.asarray(1))


def test_in_place_keeps_dtype_and_shape():
    a = hg.asarray([1, 2], dtype="int32")
    same, view = a, a[:1]
    a += 1
    assert same is a and a.tolist() == [2, 3] and view.tolist() == [1] and a.dtype == hg.int32
    with pytest.raises(hg.DTypeMismatch):
        a += 0.5
    with pytest.raises(hg.ShapeMismatch):
        a += hg.ones((3, 2), dtype="int32")
    a += hg.asarray([1, 1])  # of int64
    assert a.dtype == hg.int32 and a.tolist() == [3, 4]


def test_an_error_in_the_work_comes_when_the_value_is_read():
    lazy = hg.take(hg.arange(3), hg.asarray([5]))
    for read in (lazy.eval, lazy.tolist, lambda: str(lazy), lambda: memoryview(lazy)):
        with pytest.raises((hg.InvalidArgument, BufferError)):
            read()


def test_dtypes_by_any_name():
    import numpy as np

    for name in (hg.float32, "float32", "f32", np.float32, np.dtype("float32"), float):
        assert hg.zeros(1, dtype=name).dtype == hg.float32
    assert hg.zeros(1, dtype=int).dtype == hg.int64 and hg.zeros(1, dtype=bool).dtype == hg.bool
    for wrong in ("float31", np.complex64, "c64", object):
        with pytest.raises(hg.InvalidArgument):
            hg.zeros(1, dtype=wrong)
    assert hg.float32 != "float32" and hg.float32 is not None and len({hg.float32, hg.int8}) == 2
