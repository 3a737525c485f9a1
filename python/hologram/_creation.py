"""Tensors from nothing, from numbers, lists and arrays."""

from . import _core, _dtypes
from ._errors import DTypeMismatch, InvalidArgument

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tri",
    "zeros",
    "zeros_like",
]

_HOST = (1, 3, 13)  # kinds of device in DLPack: memory of the host, that CUDA reads, that it moves
_DEVICES = {2: ("cuda", 1), 10: ("rocm", 0)}  # their names, and their default streams


def _of_numpy(array, copy, device):
    """An array of NumPy whatever it holds: bfloat16 of ml_dtypes, the other byte order."""
    dtype = array.dtype
    if dtype.kind in "biuf" and dtype.isnative:
        return _core._from_buffer(array, copy, device)
    if dtype.name == "bfloat16":
        bits = _core._from_buffer(array.view("uint16"), copy, device)
        return _core._reinterpret(bits, "bfloat16")
    if dtype.kind not in "biuf":
        raise DTypeMismatch(
            f"an array of {dtype} has no dtype here", "Convert it before, or make it of numbers."
        )
    return _core._from_buffer(array.astype(dtype.newbyteorder("=")), copy, device)


def _is_numpy(obj):
    return type(obj).__module__ == "numpy" and hasattr(obj, "dtype")


def _of_tensors(items):
    """Nested lists in which tensors or arrays stand: stacked."""
    parts = []
    for item in items:
        if isinstance(item, (list, tuple)):
            parts.append(_of_tensors(item))
        else:
            parts.append(asarray(item))
    return _core.stack(parts, 0)


def _holds_arrays(items):
    return any(
        _holds_arrays(item)
        if isinstance(item, (list, tuple))
        else isinstance(item, _core.Tensor) or getattr(item, "shape", ()) != ()
        for item in items
    )


def _of_any(obj, copy, device):
    if isinstance(obj, (list, tuple)):
        return _of_tensors(obj)
    if _is_numpy(obj):
        if getattr(obj, "ndim", 1) == 0 and not hasattr(obj, "flags"):
            return _core.from_list(obj.item(), obj.dtype.name, device)
        return _of_numpy(obj, copy, device)
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj, device=device, copy=copy)
    try:
        return _core._from_buffer(obj, copy, device)
    except (TypeError, BufferError):
        pass
    if hasattr(obj, "__array__"):
        return _of_numpy(obj.__array__(), copy, device)
    raise TypeError(
        f"a {type(obj).__name__} is no array: use numbers, nested lists of them, tensors, or "
        "objects with __dlpack__, the buffer protocol or __array__"
    )


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of numbers, nested lists, another tensor or an array of another library.

    Without a dtype: bool, int64 (uint64 beyond it) or float32 for numbers of Python, that of the
    array otherwise: float64 stays float64. Memory is shared only where nobody may write to it, or
    with copy=False, when whoever owns it must leave it unchanged; copy=True always copies.
    ShapeMismatch for lists of different lengths, DTypeMismatch for elements that have no dtype,
    ValueError if copy=False and a copy is needed.
    """
    if isinstance(obj, _core.Tensor):
        made = obj if device is None else obj._to_device(device)
        if dtype is not None and _core.dtype_of(dtype) != obj.dtype:
            if copy is False:
                raise ValueError("another dtype takes a copy; leave copy=False out")
            return _core.astype(made, dtype)
        return _core.copy(made) if copy else made
    if dtype is None and hasattr(obj, "flags") and _is_numpy(obj):
        return _of_numpy(obj, copy, device)
    if isinstance(obj, (bool, int, float)) or (
        isinstance(obj, (list, tuple)) and not _holds_arrays(obj)
    ):
        if copy is False:
            raise ValueError("numbers of Python take a copy; leave copy=False out")
        if not _is_numpy(obj):
            return _core.from_list(obj, dtype, device)
    if isinstance(obj, complex):
        raise DTypeMismatch("there are no complex numbers", "Use real and imaginary parts apart.")
    made = _of_any(obj, copy, device)
    if dtype is not None and _core.dtype_of(dtype) != made.dtype:
        if copy is False:
            raise ValueError("another dtype takes a copy; leave copy=False out")
        return _core.astype(made, dtype)
    return made


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor of any object with __dlpack__, from memory of the host, or of a device of CUDA or ROCm,
    on which it stays unless `device` says otherwise.

    Memory is shared only where the producer says that nobody may write to it, or with copy=False,
    when the producer must leave it unchanged. BufferError for memory of other devices, and for such
    of a device that is not dense; InvalidArgument if it is not aligned to 16 bytes.
    """
    kind, index = map(int, x.__dlpack_device__())
    if kind not in _HOST and kind not in _DEVICES:
        raise BufferError("the array is not in memory of the host, CUDA or ROCm; move it there first")
    # What the default stream sees is there for us, too.
    options = {"stream": _DEVICES[kind][1]} if kind in _DEVICES else {}
    try:
        capsule = x.__dlpack__(max_version=(1, 1), **options)
    except TypeError:  # a producer of before 1.0
        capsule = x.__dlpack__(**options)
    if kind in _HOST:
        return _core._from_capsule(capsule, copy, device)
    own = f"{_DEVICES[kind][0]}:{index}"
    made = _core._from_capsule(capsule, copy, device if _is_on(device, own) else own)
    return made if device is None or _is_on(device, own) else made._to_device(device)


def _is_on(device, own):
    """Whether that, or without any the executor in use, is on the device of that name."""
    return str(_core.Device(_core.current_executor(device))) == own


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, … before stop; of one number those from 0 before it.

    Without a dtype int64 if all are ints, else float32. InvalidArgument for a step of 0, or if an
    integer dtype cannot hold the numbers.
    """
    if stop is None:
        start, stop = 0, start
    return _core.arange(start, stop, step, dtype, device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers from start to stop; the last is stop exactly, or with endpoint=False one step
    before it. float32 without a dtype."""
    dtype = _core.dtype_of(dtype or _dtypes.float32)
    if num < 0:
        raise InvalidArgument(f"{num} numbers cannot be made", "Use 0 or more.")
    wide = dtype if dtype in _dtypes.FLOATS else _dtypes.float64
    if endpoint or num == 0:
        made = _core.linspace(start, stop, num, wide, device)
    else:
        made = _core.linspace(start, stop, num + 1, wide, device)[:num]
    if wide == dtype:
        return made
    return _core.astype(_core.floor(made), dtype)


def full(shape, fill_value, *, dtype=None, device=None):
    """`fill_value`, a number or a tensor without axes, everywhere. Without a dtype that of the
    tensor, or bool, int64 or float32, as the number is. InvalidArgument if the dtype cannot hold it."""
    if dtype is None and hasattr(fill_value, "__array_interface__"):  # a number of NumPy's has a dtype
        fill_value = asarray(fill_value)
    if isinstance(fill_value, _core.Tensor) and fill_value.ndim == 0:
        value = fill_value if device is None else fill_value._to_device(device)
        return _core.broadcast_to(value if dtype is None else _core.astype(value, dtype), shape)
    return _core.full(shape, fill_value, dtype, device)


def zeros(shape, *, dtype=None, device=None):
    """0 everywhere; float32 without a dtype."""
    return _core.full(shape, 0, dtype or _dtypes.float32, device)


def ones(shape, *, dtype=None, device=None):
    """1 everywhere; float32 without a dtype."""
    return _core.full(shape, 1, dtype or _dtypes.float32, device)


def empty(shape, *, dtype=None, device=None):
    """Values that nobody should read; they are zeros. float32 without a dtype."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """`fill_value` in the shape, dtype and device of x, unless told."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.executor)


def zeros_like(x, /, *, dtype=None, device=None):
    """0 in the shape, dtype and device of x, unless told."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """1 in the shape, dtype and device of x, unless told."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Values that nobody should read, in the shape, dtype and device of x, unless told."""
    return zeros_like(x, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """1 on a diagonal that lies k above the main one, 0 elsewhere; [n_rows, n_cols]."""
    n_cols = n_rows if n_cols is None else n_cols
    k = max(-n_rows, min(k, n_cols))  # beyond there is nothing
    return _core.eye(n_rows, n_cols, k, dtype or _dtypes.float32, device)


def tri(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """1 on and below that diagonal, 0 above it; [n_rows, n_cols]."""
    n_cols = n_rows if n_cols is None else n_cols
    k = max(-n_rows - 1, min(k, n_cols))
    return _core.tri(n_rows, n_cols, k, dtype or _dtypes.float32, device)


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of a grid: each vector repeated to the shape of all of them. With 'xy' the first
    two axes of the results change places."""
    if indexing not in ("xy", "ij"):
        raise InvalidArgument(f"there is no indexing '{indexing}'", "Use 'xy' or 'ij'.")
    for array in arrays:
        if array.ndim != 1:
            raise InvalidArgument(
                f"meshgrid takes vectors, not shape {array.shape}", "Reshape it before."
            )
    swap = indexing == "xy" and len(arrays) > 1
    order = [1, 0, *range(2, len(arrays))] if swap else range(len(arrays))
    shape = tuple(arrays[k].shape[0] for k in order)
    results = []
    for k, array in enumerate(arrays):
        own = [1] * len(arrays)
        own[list(order).index(k)] = array.shape[0]
        results.append(_core.broadcast_to(_core.reshape(array, own), shape))
    return tuple(results)
