"""What the class Tensor has besides operators: functions as methods, and Python's protocols."""

from . import _core, _dtypes, _format, _functions, _indexing, _picking

Tensor = _core.Tensor


def _iter(self):
    if self.ndim == 0:
        raise TypeError("a tensor without axes cannot be walked over")
    return (self[k] for k in range(self.shape[0]))


def _contains(self, value):
    return bool(_core.any(_core.equal(self, value), None, False))


def _format_spec(self, spec):
    return format(self.item(), spec) if spec and self.ndim == 0 else format(str(self), spec)


def _array(self, dtype=None, copy=None):
    """An array of NumPy; it shares memory and is read-only, unless copy=True."""
    import numpy

    if self.dtype == _dtypes.bfloat16:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(
                "NumPy has no bfloat16: pip install ml_dtypes, or use astype(hologram.float32)"
            ) from None
        made = numpy.frombuffer(_core._reinterpret(self, _dtypes.uint16), dtype=numpy.uint16)
        made = made.reshape(self.shape).view(ml_dtypes.bfloat16)
    else:
        made = numpy.frombuffer(self, dtype=self.dtype.name) if self.size else numpy.empty(
            self.shape, self.dtype.name
        )
        made = made.reshape(self.shape)
    if dtype is not None and numpy.dtype(dtype) != made.dtype:
        if copy is False:
            raise ValueError("another dtype takes a copy; leave copy=False out")
        return made.astype(dtype)
    return made.copy() if copy else made


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A capsule of DLPack with the values where they are: in memory of CUDA's or ROCm's device, or of
    the host, as for other devices and for dl_device=(1, 0). They are there for every stream.

    Consumers of DLPack 1.0 and later share memory that is marked read-only; earlier ones, which
    cannot be told so, get a copy.
    """
    if dl_device is not None:
        dl_device = tuple(map(int, dl_device))
    return _core._to_dlpack(self, stream, max_version, dl_device, copy)


def _namespace(self, /, *, api_version=None):
    """The package hologram: the array API standard 2025.12."""
    import hologram

    known = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
    if api_version is not None and api_version not in known:
        raise ValueError(f"there is no version {api_version} here: use one of {', '.join(known)}")
    return hologram


def _rebuild(data, dtype, shape):
    return _core._from_bytes(data, dtype, shape, None)


def _reduce(self):
    return _rebuild, (self._eval_dtype_bytes(), self.dtype, self.shape)


def _to(self, target):
    """In another dtype, or on another device: a dtype, a Device, an Executor or a name."""
    if isinstance(target, str):
        try:
            target = _core.dtype_of(target)
        except ValueError:
            return self._to_device(target)
    if isinstance(target, (_core.Device, _core.Executor)):
        return self._to_device(target)
    return self.astype(target)


def _to_device(self, device, /, *, stream=None):
    """On another device: a Device, an Executor or a name as 'cuda:0'."""
    if stream is not None:
        raise ValueError("streams are hologram's own; leave stream out")
    return self._to_device(device)


def _astype(self, dtype, *, copy=False):
    """In another dtype; see hologram.astype."""
    return _functions.astype(self, dtype, copy=copy)


def _reshape(self, *shape):
    """The elements in another shape: x.reshape(2, -1) or x.reshape((2, -1))."""
    return _core.reshape(self, shape[0] if len(shape) == 1 else shape)


def _permute(self, *axes):
    """The axes in another order."""
    return _core.permute(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _flatten(self):
    """All elements along one axis, row by row."""
    return _core.reshape(self, -1)


def _squeeze(self, axis=None):
    """Without these axes of length 1, or without all such axes."""
    if axis is None:
        axis = tuple(k for k, length in enumerate(self.shape) if length == 1)
    return _functions.squeeze(self, axis)


def _method(function):
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def _axis_method(function):
    """A function whose axis may be given by position, too: x.sum(0)."""

    def method(self, axis=None, **kwargs):
        return function(self, axis=axis, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


_AXIS_METHODS = (
    "all", "any", "argmax", "argmin", "count_nonzero", "cumulative_prod", "cumulative_sum", "max",
    "mean", "min", "prod", "std", "sum", "var",
)  # fmt: skip
_METHODS = ("clip", "expand_dims", "flip", "repeat", "roll", "tile", "softmax")
_PICKING = ("sort", "take")
_ELEMENTWISE = (
    "abs", "ceil", "cos", "exp", "floor", "isfinite", "isinf", "isnan", "log", "maximum", "minimum",
    "pow", "relu", "round", "rsqrt", "sigmoid", "sin", "sqrt", "square", "tanh", "trunc",
)  # fmt: skip


def install():
    """Gives the class its methods; called once, by the package."""
    for name in _AXIS_METHODS:
        setattr(Tensor, name, _axis_method(getattr(_functions, name)))
    for name in _METHODS:
        setattr(Tensor, name, _method(getattr(_functions, name)))
    for name in _PICKING:
        setattr(Tensor, name, _method(getattr(_picking, name)))
    from . import _elementwise

    for name in _ELEMENTWISE:
        setattr(Tensor, name, _method(getattr(_elementwise, name)))
    Tensor.__repr__ = _format.to_repr
    Tensor.__str__ = _format.to_str
    Tensor.__format__ = _format_spec
    Tensor.__iter__ = _iter
    Tensor.__contains__ = _contains
    Tensor.__array__ = _array
    Tensor.numpy = lambda self: self.__array__()
    Tensor.numpy.__doc__ = "An array of NumPy that shares memory and is read-only."
    Tensor.__array_namespace__ = _namespace
    Tensor.__array_ufunc__ = None  # so that an array of NumPy leaves operators to the tensor
    Tensor.__dlpack__ = _dlpack
    Tensor.__dlpack_device__ = lambda self: _core._dlpack_device(self)
    Tensor.__complex__ = lambda self: complex(float(self))
    Tensor.__reduce__ = _reduce
    Tensor.__copy__ = lambda self: self[...]
    Tensor.__deepcopy__ = lambda self, memo: self[...]
    Tensor.to = _to
    Tensor.to_device = _to_device
    Tensor.astype = _astype
    Tensor.reshape = _reshape
    Tensor.permute = _permute
    Tensor.flatten = _flatten
    Tensor.squeeze = _squeeze
    Tensor.explain = lambda self, *, candidates=False: _core.explain(self, candidates=candidates)
    Tensor.explain.__doc__ = "The kernels that computing it would run."
    Tensor.__module__ = "hologram"


def hooks(asarray):
    """What the module calls, by name."""
    return {
        "asarray": asarray,
        "dtype": _dtypes.foreign_name,
        "getitem": _indexing.getitem,
        "setitem": _indexing.setitem,
    }
