"""Types of the package. Written by python/tools/make_stubs.py."""

import builtins
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import EllipsisType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias


class SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class SupportsArray(Protocol):
    def __array__(self) -> Any: ...

Number: TypeAlias = builtins.bool | int | float
Operand: TypeAlias = Tensor | Number | SupportsDLPack | SupportsArray
DTypeLike: TypeAlias = dtype | str | type | Any
DeviceLike: TypeAlias = Device | Executor | str
Axis: TypeAlias = int | tuple[int, ...] | list[int] | None
Shape: TypeAlias = int | Sequence[int]
Key: TypeAlias = Any

class dtype:
    """The type of a tensor's elements: hologram.float32 and so on. There is one object for
    each, so that `is` tells them apart, too.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __reduce__(self) -> Any:
        """__reduce__(self) -> str"""

    def __repr__(self) -> str:
        """__repr__(self) -> str"""

    def __str__(self) -> str:
        """__str__(self) -> str"""

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""

    @property
    def kind(self) -> str:
        """The kind in the words of the array API: "bool", "signed integer", "unsigned integer" or "real floating"."""

    @property
    def name(self) -> str:
        """"float32": as NumPy spells it."""

class Device:
    """Where a tensor is: str(device) is 'cpu' or 'cuda:0'."""

    def __eq__(self, other: Any, /) -> Any:  # type: ignore[override]
        """__eq__(self, arg: object, /) -> bool"""

    def __hash__(self) -> int:
        """__hash__(self) -> int"""

    def __init__(self, name: DeviceLike) -> None:
        """__init__(self, name: object) -> None"""

    def __repr__(self) -> str:
        """__repr__(self) -> str"""

    def __str__(self) -> str:
        """__str__(self) -> str"""

    @property
    def executor(self) -> Executor:
        """The executor on it."""

    @property
    def info(self) -> dict[str, Any]:
        """What is known of it, by name."""

class Executor:
    """A device and all that is needed to compute on it. Any thread may use it."""

    def __eq__(self, other: Any, /) -> Any:  # type: ignore[override]
        """__eq__(self, arg: object, /) -> bool"""

    def __hash__(self) -> int:
        """__hash__(self) -> int"""

    def __init__(self, backend: str = 'auto', **settings: Any) -> None:
        """__init__(self, backend: str = 'auto', **settings: int | bool | str) -> None
        
        The best device there is, or one of the backend named: 'cpu', 'cuda', 'opencl',
        'webgpu'. Settings are those of docs/configuration.md, as device_id=1 or strict=True.
        BackendUnavailable says why there is none.
        """

    def __repr__(self) -> str:
        """__repr__(self) -> str"""

    @property
    def backend(self) -> str:
        """"cpu", "cuda", …"""

    def counters(self) -> dict[str, int]:
        """counters(self) -> dict
        
        What has been done since it was made: launches, library_calls, fallbacks, …
        """

    @property
    def device(self) -> Device:
        """Its device."""

    @property
    def info(self) -> dict[str, Any]:
        """What is known of the device, by name."""

    def memory(self) -> dict[str, int]:
        """memory(self) -> dict
        
        What its memory holds, by name, in bytes.
        """

    def profile(self) -> Profile:
        """profile(self) -> hologram._core.Profile
        
        What launches took, if it was made with enable_backend_profiling=True.
        """

    def synchronize(self) -> None:
        """synchronize(self) -> None
        
        Returns when the device has done all that was asked of it; raises what went wrong.
        """

    def trim(self) -> int:
        """trim(self) -> int
        
        Gives memory that is not in use back to the device; returns how many bytes.
        """

    def why(self) -> str:
        """why(self) -> str
        
        How the device was chosen.
        """

class Profile:
    """What an executor has recorded of launches."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __repr__(self) -> str:
        """__repr__(self) -> str"""

    @property
    def device(self) -> Device:
        """(self) -> str"""

    @property
    def kernels(self) -> Any:
        """The one that took longest first."""

    def save_trace(self, path: str) -> None:
        """save_trace(self, path: str) -> None
        
        Writes that to a file. IoError.
        """

    def table(self) -> str:
        """table(self) -> str
        
        A line for each kernel.
        """

    def trace(self) -> str:
        ...

class Tensor:
    """Values of one dtype along axes, computed when they are read.
    
    hologram.asarray makes one of numbers, lists and arrays.
    """

    @property
    def T(self) -> Tensor:
        """The matrix, transposed. ShapeMismatch unless there are two axes."""

    def __abs__(self) -> Tensor:
        """__abs__(self) -> hologram.Tensor"""

    def __add__(self, other: Operand, /) -> Tensor:
        """__add__(self, arg: object, /) -> object"""

    def __and__(self, other: Operand, /) -> Tensor:
        """__and__(self, arg: object, /) -> object"""

    def __array__(self, dtype: DTypeLike = ..., copy: builtins.bool | None = ...) -> Any:
        """An array of NumPy; it shares memory and is read-only, unless copy=True."""

    def __array_namespace__(self, *, api_version: str | None = ...) -> Any:
        """The package hologram: the array API standard 2025.12."""

    __array_ufunc__: None

    def __bool__(self) -> builtins.bool:
        """__bool__(self) -> bool"""

    def __complex__(self) -> complex:
        ...

    def __contains__(self, value: Number) -> builtins.bool:
        ...

    def __dlpack__(self, *, stream: Any = ..., max_version: tuple[int, int] | None = ..., dl_device: tuple[int, int] | None = ..., copy: builtins.bool | None = ...) -> Any:
        """A capsule of DLPack with the values where they are: in memory of CUDA's or ROCm's device, or of
        the host, as for other devices and for dl_device=(1, 0). They are there for every stream.
        
        Consumers of DLPack 1.0 and later share memory that is marked read-only; earlier ones, which
        cannot be told so, get a copy.
        """

    def __dlpack_device__(self) -> tuple[int, int]:
        ...

    def __eq__(self, other: Any, /) -> Any:  # type: ignore[override]
        """__eq__(self, arg: object, /) -> object"""

    def __float__(self) -> float:
        """__float__(self) -> float"""

    def __floordiv__(self, other: Operand, /) -> Tensor:
        """__floordiv__(self, arg: object, /) -> object"""

    def __format__(self, spec: str) -> str:
        ...

    def __ge__(self, other: Any, /) -> Tensor:
        """__ge__(self, arg: object, /) -> object"""

    def __getitem__(self, key: Key, /) -> Tensor:
        """__getitem__(self, arg: object | None, /) -> object"""

    def __gt__(self, other: Any, /) -> Tensor:
        """__gt__(self, arg: object, /) -> object"""

    def __hash__(self) -> int:
        """__hash__(self) -> int"""

    def __iadd__(self, other: Operand, /) -> Tensor:
        """__iadd__(self, arg: object, /) -> object"""

    def __iand__(self, other: Operand, /) -> Tensor:
        """__iand__(self, arg: object, /) -> object"""

    def __ifloordiv__(self, other: Operand, /) -> Tensor:
        """__ifloordiv__(self, arg: object, /) -> object"""

    def __ilshift__(self, other: Operand, /) -> Tensor:
        """__ilshift__(self, arg: object, /) -> object"""

    def __imatmul__(self, other: Operand, /) -> Tensor:
        """__imatmul__(self, arg: object, /) -> object"""

    def __imod__(self, other: Operand, /) -> Tensor:
        """__imod__(self, arg: object, /) -> object"""

    def __imul__(self, other: Operand, /) -> Tensor:
        """__imul__(self, arg: object, /) -> object"""

    def __index__(self) -> int:
        """__index__(self) -> object"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __int__(self) -> int:
        """__int__(self) -> int"""

    def __invert__(self) -> Tensor:
        """__invert__(self) -> hologram.Tensor"""

    def __ior__(self, other: Operand, /) -> Tensor:
        """__ior__(self, arg: object, /) -> object"""

    def __ipow__(self, other: Operand, /) -> Tensor:
        """__ipow__(self, arg: object, /) -> object"""

    def __irshift__(self, other: Operand, /) -> Tensor:
        """__irshift__(self, arg: object, /) -> object"""

    def __isub__(self, other: Operand, /) -> Tensor:
        """__isub__(self, arg: object, /) -> object"""

    def __iter__(self) -> Iterator[Tensor]:
        ...

    def __itruediv__(self, other: Operand, /) -> Tensor:
        """__itruediv__(self, arg: object, /) -> object"""

    def __ixor__(self, other: Operand, /) -> Tensor:
        """__ixor__(self, arg: object, /) -> object"""

    def __le__(self, other: Any, /) -> Tensor:
        """__le__(self, arg: object, /) -> object"""

    def __len__(self) -> int:
        """__len__(self) -> int"""

    def __lshift__(self, other: Operand, /) -> Tensor:
        """__lshift__(self, arg: object, /) -> object"""

    def __lt__(self, other: Any, /) -> Tensor:
        """__lt__(self, arg: object, /) -> object"""

    def __matmul__(self, other: Operand, /) -> Tensor:
        """__matmul__(self, arg: object, /) -> object"""

    def __mod__(self, other: Operand, /) -> Tensor:
        """__mod__(self, arg: object, /) -> object"""

    def __mul__(self, other: Operand, /) -> Tensor:
        """__mul__(self, arg: object, /) -> object"""

    def __ne__(self, other: Any, /) -> Any:  # type: ignore[override]
        """__ne__(self, arg: object, /) -> object"""

    def __neg__(self) -> Tensor:
        """__neg__(self) -> hologram.Tensor"""

    def __or__(self, other: Operand, /) -> Tensor:
        """__or__(self, arg: object, /) -> object"""

    def __pos__(self) -> Tensor:
        """__pos__(self) -> hologram.Tensor"""

    def __pow__(self, other: Operand, /) -> Tensor:
        """__pow__(self, arg: object, /) -> object"""

    def __radd__(self, other: Operand, /) -> Tensor:
        """__radd__(self, arg: object, /) -> object"""

    def __rand__(self, other: Operand, /) -> Tensor:
        """__rand__(self, arg: object, /) -> object"""

    def __reduce__(self) -> Any:
        ...

    def __repr__(self) -> str:
        """The values, their dtype, and the device if it is not the one in use."""

    def __rfloordiv__(self, other: Operand, /) -> Tensor:
        """__rfloordiv__(self, arg: object, /) -> object"""

    def __rlshift__(self, other: Operand, /) -> Tensor:
        """__rlshift__(self, arg: object, /) -> object"""

    def __rmatmul__(self, other: Operand, /) -> Tensor:
        """__rmatmul__(self, arg: object, /) -> object"""

    def __rmod__(self, other: Operand, /) -> Tensor:
        """__rmod__(self, arg: object, /) -> object"""

    def __rmul__(self, other: Operand, /) -> Tensor:
        """__rmul__(self, arg: object, /) -> object"""

    def __ror__(self, other: Operand, /) -> Tensor:
        """__ror__(self, arg: object, /) -> object"""

    def __rpow__(self, other: Operand, /) -> Tensor:
        """__rpow__(self, arg: object, /) -> object"""

    def __rrshift__(self, other: Operand, /) -> Tensor:
        """__rrshift__(self, arg: object, /) -> object"""

    def __rshift__(self, other: Operand, /) -> Tensor:
        """__rshift__(self, arg: object, /) -> object"""

    def __rsub__(self, other: Operand, /) -> Tensor:
        """__rsub__(self, arg: object, /) -> object"""

    def __rtruediv__(self, other: Operand, /) -> Tensor:
        """__rtruediv__(self, arg: object, /) -> object"""

    def __rxor__(self, other: Operand, /) -> Tensor:
        """__rxor__(self, arg: object, /) -> object"""

    def __setitem__(self, key: Key, value: Operand, /) -> None:
        """__setitem__(self, arg0: object | None, arg1: object, /) -> None"""

    def __str__(self) -> str:
        """The values without a word about their type."""

    def __sub__(self, other: Operand, /) -> Tensor:
        """__sub__(self, arg: object, /) -> object"""

    def __truediv__(self, other: Operand, /) -> Tensor:
        """__truediv__(self, arg: object, /) -> object"""

    def __xor__(self, other: Operand, /) -> Tensor:
        """__xor__(self, arg: object, /) -> object"""

    def abs(self, *args: Any, **kwargs: Any) -> Tensor:
        """The magnitude; the smallest integer stays what it is.
        
        Integers and floats.
        """

    def all(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """Whether all elements along axes (all without any) differ from 0."""

    def any(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """Whether some element along axes (all without any) differs from 0."""

    def argmax(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The index of the first largest element (of the first NaN), along an axis or of x flattened:
        int64.
        """

    def argmin(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The index of the first least element (of the first NaN), along an axis or of x flattened:
        int64.
        """

    def astype(self, dtype: DTypeLike, *, copy: builtins.bool | None = ...) -> Tensor:
        """In another dtype; see hologram.astype."""

    def ceil(self, *args: Any, **kwargs: Any) -> Tensor:
        """The smallest whole number not below x.
        
        Integers and floats.
        """

    def clip(self, *args: Any, **kwargs: Any) -> Tensor:
        """min(max(x, min), max); a bound that is None is none. Of x's dtype if the bounds are numbers."""

    def cos(self, *args: Any, **kwargs: Any) -> Tensor:
        """The cosine of x radians.
        
        Floats; integers and bool give float32.
        """

    def count_nonzero(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """How many elements along axes (all without any) differ from 0: int64."""

    def cumulative_prod(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The product up to and including each element along an axis; with include_initial after a 1."""

    def cumulative_sum(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The sum up to and including each element along an axis; with include_initial after a 0."""

    @property
    def device(self) -> Device:
        """Where it is: str(x.device) is 'cpu' or 'cuda:0'."""

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""

    def eval(self) -> Tensor:
        """eval(self) -> Tensor
        
        Computes the value now, if that was not done yet; returns the tensor itself.
        """

    @property
    def executor(self) -> Executor:
        """What computes it."""

    def exp(self, *args: Any, **kwargs: Any) -> Tensor:
        """e to the power of x.
        
        Floats; integers and bool give float32.
        """

    def expand_dims(self, *args: Any, **kwargs: Any) -> Tensor:
        """New axes of length 1 at these places of the result."""

    def explain(self, *, candidates: builtins.bool = ...) -> str:
        """The kernels that computing it would run."""

    def flatten(self) -> Tensor:
        """All elements along one axis, row by row."""

    def flip(self, *args: Any, **kwargs: Any) -> Tensor:
        """The elements in the other order along axes, or along all."""

    def floor(self, *args: Any, **kwargs: Any) -> Tensor:
        """The largest whole number not above x.
        
        Integers and floats.
        """

    def isfinite(self, *args: Any, **kwargs: Any) -> Tensor:
        """Whether x is neither NaN nor infinite.
        
        Any dtypes; gives bool.
        """

    def isinf(self, *args: Any, **kwargs: Any) -> Tensor:
        """Whether x is infinite.
        
        Any dtypes; gives bool.
        """

    def isnan(self, *args: Any, **kwargs: Any) -> Tensor:
        """Whether x is NaN.
        
        Any dtypes; gives bool.
        """

    def item(self) -> Any:
        """item(self) -> object
        
        The only element as a number of Python. ShapeMismatch if there are more.
        """

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""

    def log(self, *args: Any, **kwargs: Any) -> Tensor:
        """The natural logarithm; NaN below 0.
        
        Floats; integers and bool give float32.
        """

    @property
    def mT(self) -> Tensor:
        """The matrices of the last two axes, transposed."""

    def max(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The largest element along axes (all without any); NaN if any is. ShapeMismatch of none."""

    def maximum(self, *args: Any, **kwargs: Any) -> Tensor:
        """The larger one; NaN if either is.
        
        Any dtypes.
        """

    def mean(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The mean along axes (all without any); of integers float32. NaN of no elements."""

    def min(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The least element along axes (all without any); NaN if any is. ShapeMismatch of none."""

    def minimum(self, *args: Any, **kwargs: Any) -> Tensor:
        """The smaller one; NaN if either is.
        
        Any dtypes.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""

    @property
    def ndim(self) -> int:
        """How many axes there are."""

    def numpy(self) -> Any:
        """An array of NumPy that shares memory and is read-only."""

    def permute(self, *axes: Any) -> Tensor:
        """The axes in another order."""

    def pow(self, *args: Any, **kwargs: Any) -> Tensor:
        """a to the power of b. pow(x, 0) and pow(1, x) are 1. Integers wrap; a negative exponent gives 0 but for bases of 1 and -1. By the numbers 2, 3 and 4 it multiplies.
        
        Integers and floats.
        """

    def prod(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The product along axes (all without any); dtypes as of sum."""

    @property
    def ready(self) -> builtins.bool:
        """Whether the value has been computed."""

    def relu(self, *args: Any, **kwargs: Any) -> Tensor:
        """max(x, 0).
        
        Integers and floats.
        """

    def repeat(self, *args: Any, **kwargs: Any) -> Tensor:
        """Each element so often along an axis, or of x flattened: a number, or one for each element."""

    def reshape(self, *shape: Any) -> Tensor:
        """The elements in another shape: x.reshape(2, -1) or x.reshape((2, -1))."""

    def roll(self, *args: Any, **kwargs: Any) -> Tensor:
        """The elements moved along axes, and in at the other end; of x flattened without an axis."""

    def round(self, *args: Any, **kwargs: Any) -> Tensor:
        """The nearest whole number, ties to even.
        
        Integers and floats.
        """

    def rsqrt(self, *args: Any, **kwargs: Any) -> Tensor:
        """1 / sqrt(x).
        
        Floats; integers and bool give float32.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""

    def sigmoid(self, *args: Any, **kwargs: Any) -> Tensor:
        """1 / (1 + exp(-x)).
        
        Floats; integers and bool give float32.
        """

    def sin(self, *args: Any, **kwargs: Any) -> Tensor:
        """The sine of x radians.
        
        Floats; integers and bool give float32.
        """

    @property
    def size(self) -> int:
        """How many elements there are."""

    def softmax(self, *args: Any, **kwargs: Any) -> Tensor:
        """exp(x) / sum(exp(x)) along an axis, without overflow."""

    def sort(self, *args: Any, **kwargs: Any) -> Tensor:
        """In order along an axis; equal elements stay in theirs, NaN counts as the largest."""

    def sqrt(self, *args: Any, **kwargs: Any) -> Tensor:
        """The square root; NaN below 0.
        
        Floats; integers and bool give float32.
        """

    def square(self, *args: Any, **kwargs: Any) -> Tensor:
        """x * x.
        
        Integers and floats.
        """

    def squeeze(self, axis: Axis = ...) -> Tensor:
        """Without these axes of length 1, or without all such axes."""

    def std(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The square root of var."""

    def sum(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The sum along axes (all without any). Integers and bool in int64, unsigned ones in uint64;
        float16 and bfloat16 are added in float32.
        """

    def take(self, *args: Any, **kwargs: Any) -> Tensor:
        """x at indices along an axis, which is replaced by theirs; negative ones count from the end.
        InvalidArgument, when the value is computed, for one outside.
        """

    def tanh(self, *args: Any, **kwargs: Any) -> Tensor:
        """The hyperbolic tangent.
        
        Floats; integers and bool give float32.
        """

    def tile(self, *args: Any, **kwargs: Any) -> Tensor:
        """All of x so often along each of the last axes."""

    def to(self, target: DTypeLike | DeviceLike) -> Tensor:
        """In another dtype, or on another device: a dtype, a Device, an Executor or a name."""

    def to_device(self, device: DeviceLike | None, /, *, stream: Any = ...) -> Tensor:
        """On another device: a Device, an Executor or a name as 'cuda:0'."""

    def tolist(self) -> Any:
        """tolist(self) -> object
        
        All values as numbers in nested lists.
        """

    def trunc(self, *args: Any, **kwargs: Any) -> Tensor:
        """x without its fraction.
        
        Integers and floats.
        """

    def var(self, axis: Axis = ..., **kwargs: Any) -> Tensor:
        """The mean square distance from the mean, divided by n - correction."""

class AxisOutOfRange(ShapeMismatch, IndexError):
    """An axis that a tensor does not have."""

class BackendUnavailable(Error, RuntimeError):
    """The backend or device asked for is not there."""

class Cancelled(Error, RuntimeError):
    """The caller cancelled it."""

class DTypeMismatch(Error, TypeError):
    """Element types do not go together."""

class DeviceLost(Error, RuntimeError):
    """The device stopped answering."""

class Error(Exception):
    """What hologram raises.
    
    what: what happened, and where. remedy: what to do about it. kind: the name of the class.
    """
    what: str
    remedy: str
    kind: str

class Expression:
    """A calculation written as text (docs/expressions.md), called with tensors by name."""

    def __call__(self, *, device: DeviceLike | None = ..., **inputs: Any) -> Any:
        """The value of the last statement, lazily."""

    def __init__(self, text: str, /) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __repr__(self) -> str:
        """Return repr(self)."""

    def all(self, *, device: DeviceLike | None = ..., **inputs: Any) -> dict[str, Tensor]:
        """Every output by name; that of a last statement without a name as ''."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names it needs."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names it assigns."""

    @property
    def text(self) -> str:
        """As written."""

class Finding:
    """The first operation that differs, or that makes a NaN; docs/python/training.md says more."""

    def __delattr__(self, name: str | None) -> Tensor:
        """Implement delattr(self, name)."""

    def __eq__(self, other: Any, /) -> Any:  # type: ignore[override]
        """Return self==value."""

    def __hash__(self) -> int:
        """Return hash(self)."""

    def __init__(self, is_nan: Operand, step: Number, operation: Operand, where: Operand, dtype: DTypeLike, expected: Operand, got: Operand, operands: Operand, line: Operand, source: int | Sequence[int], file: str, inputs: Operand, command: Operand, text: str) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __repr__(self) -> str:
        """Return repr(self)."""

    def __setattr__(self, name: str | None, value: Number) -> Tensor:
        """Implement setattr(self, name, value)."""

    def __str__(self) -> str:
        """Return str(self)."""

class Graph:
    """A calculation that was recorded: call it with tensors like the examples."""

    def __call__(self, *inputs: Any) -> Any:
        """Its results, computed; one tensor or a tuple, as the function gave them. Inputs that are
        donated are taken over: they hold nothing afterwards.
        """

    def __init__(self, function: Callable[..., Any], examples: Operand, donate: Operand = ...) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __repr__(self) -> str:
        """Return repr(self)."""

    @property
    def note(self) -> str:
        """How it is launched."""

    @property
    def steps(self) -> int:
        """Kernels and calls of a launch."""

class IndexOutOfRange(InvalidArgument, IndexError):
    """An index outside of its axis, or a key with too many axes."""

class Internal(Error, RuntimeError):
    """A defect of hologram itself."""

class InvalidArgument(Error, ValueError):
    """An argument is missing, unknown, or out of its range."""

class InvalidConfig(Error, ValueError):
    """A bad setting."""

class InvalidProgram(Error, ValueError):
    """A kernel or expression that does not parse or verify."""

class IoError(Error, OSError):
    """A file could not be read or written."""

class OutOfMemory(Error, MemoryError):
    """An allocation did not fit."""

class Program:
    """A kernel in Atlas (docs/atlas.md), called with tensors and numbers by name.
    
        double = hg.Program('''
        program double(in x: f32[n], out y: f32[n]) lanes(n) {
          i = global_id.x
          if i < n { y[i] = 2.0 * x[i] }
        }
        ''')
        y = double(x=x)
    
    InvalidProgram, with line, column and a caret under the culprit, if the text is not right.
    """

    def __call__(self, *, grid: Any = ..., shapes: Any = ..., device: DeviceLike | None = ..., **arguments: Any) -> Any:
        """Runs it; returns what it writes: a tensor, or a dict of them if there are several.
        
        Arguments are tensors, arrays and numbers by the program's names. What is only written may
        be left out where its shape follows from the others, or from `shapes`, a dict. What is read
        and written is given, and comes back as a new tensor. grid: workgroups along x, y and z,
        where the program does not say how many.
        """

    def __init__(self, text: str, /, *, file: str = ...) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def __repr__(self) -> str:
        """Return repr(self)."""

    @property
    def buffers(self) -> tuple[Any, ...]:
        """(name, dtype, access, shape or None) of each tensor; access: in, out, inout, atomic."""

    def in_dialect(self, name: str | None, /) -> str:
        """The program in the language of a GPU: 'cuda', 'opencl', 'hip', 'metal'."""

    @property
    def name(self) -> str:
        """Its name in the text."""

    @property
    def optimized_text(self) -> str:
        """The program as it will run."""

    @property
    def scalars(self) -> tuple[Any, ...]:
        """(name, dtype, whether there is a default) of each number."""

    @property
    def text(self) -> str:
        """The program as written."""

class ShapeMismatch(Error, ValueError):
    """Shapes, lengths or ranks do not go together."""

class Timeout(Error, TimeoutError):
    """A deadline passed."""

class UnsupportedOperation(Error, NotImplementedError):
    """Valid, but not on this device."""

def abs(x: Tensor, /) -> Tensor:
    """The magnitude; the smallest integer stays what it is.
    
    Integers and floats.
    """

def acos(x: Tensor, /) -> Tensor:
    """The arc cosine, in radians; NaN beyond 1.
    
    Floats; integers and bool give float32.
    """

def acosh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic cosine; NaN below 1.
    
    Floats; integers and bool give float32.
    """

def add(a: Operand, b: Operand, /) -> Tensor:
    """a + b; integers wrap.
    
    Integers and floats.
    """

def all(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """Whether all elements along axes (all without any) differ from 0."""

def allclose(a: Operand, b: Operand, /, *, rtol: float = ..., atol: float = ..., equal_nan: builtins.bool = ...) -> Tensor:
    """Whether that holds for all elements: bool without axes."""

def any(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """Whether some element along axes (all without any) differs from 0."""

def arange(start: Number, /, stop: Number | None = ..., step: Number = ..., *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """start, start + step, … before stop; of one number those from 0 before it.
    
    Without a dtype int64 if all are ints, else float32. InvalidArgument for a step of 0, or if an
    integer dtype cannot hold the numbers.
    """

def argmax(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The index of the first largest element (of the first NaN), along an axis or of x flattened:
    int64.
    """

def argmin(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The index of the first least element (of the first NaN), along an axis or of x flattened:
    int64.
    """

def argsort(x: Tensor, /, *, axis: Axis = ..., descending: builtins.bool = ..., stable: builtins.bool = ...) -> Tensor:
    """The indices that sort along an axis: int64."""

def array_equal(a: Operand, b: Operand, /, *, equal_nan: builtins.bool = ...) -> Tensor:
    """Whether shapes and all elements are equal: bool without axes."""

def asarray(obj: Any, /, *, dtype: DTypeLike = ..., device: DeviceLike | None = ..., copy: builtins.bool | None = ...) -> Tensor:
    """A tensor of numbers, nested lists, another tensor or an array of another library.
    
    Without a dtype: bool, int64 (uint64 beyond it) or float32 for numbers of Python, that of the
    array otherwise: float64 stays float64. Memory is shared only where nobody may write to it, or
    with copy=False, when whoever owns it must leave it unchanged; copy=True always copies.
    ShapeMismatch for lists of different lengths, DTypeMismatch for elements that have no dtype,
    ValueError if copy=False and a copy is needed.
    """

def asin(x: Tensor, /) -> Tensor:
    """The arc sine, in radians; NaN beyond 1.
    
    Floats; integers and bool give float32.
    """

def asinh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic sine.
    
    Floats; integers and bool give float32.
    """

def astype(x: Tensor, dtype: DTypeLike, /, *, copy: builtins.bool | None = ..., device: DeviceLike | None = ...) -> Tensor:
    """x in another dtype; a float outside of an integer's range becomes its nearest end, NaN 0."""

def atan(x: Tensor, /) -> Tensor:
    """The arc tangent, in radians.
    
    Floats; integers and bool give float32.
    """

def atan2(y: Operand, x: Tensor, /) -> Tensor:
    """The angle of the point (x, y), in radians.
    
    Floats; integers and bool give float32.
    """

def atanh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic tangent; NaN beyond 1.
    
    Floats; integers and bool give float32.
    """

def avg_pool2d(x: Tensor, kernel: int | tuple[int, int], /, *, stride: Any = ..., padding: Any = ..., count_padding: builtins.bool = ..., layout: Literal['NHWC', 'NCHW'] = ...) -> Tensor:
    """The mean of each window; padding counts only with count_padding=True."""

def backends() -> tuple[Any, ...]:
    """Every backend, in the order of automatic choice, with its devices or the reason for none."""

bfloat16: dtype

def bincount(x: Tensor, /, *, weights: Tensor | None = ..., minlength: int = ...) -> Tensor:
    """How often each whole number from 0 on is there, or the sums of their weights. Computes x."""

def bisect(function: Callable[..., Any], /, device: DeviceLike | None = ..., *, prefix: Operand = ..., nan: float = ..., tolerance: Operand = ...) -> Tensor:
    """Calls function(executor), which makes its tensors there and reads what it wants to have computed,
    on a device, and step by step beside it on the interpreter. Gives a Finding: the first operation
    that differs, or that makes a NaN of none; or None. `prefix`: how the files begin that show it
    again; "" writes none. `tolerance`: numbers by which floats may differ.
    """

def bitwise_and(a: Operand, b: Operand, /) -> Tensor:
    """a & b.
    
    Integers and bool.
    """

def bitwise_invert(x: Tensor, /) -> Tensor:
    """~x.
    
    Integers and bool.
    """

def bitwise_left_shift(a: Operand, b: Operand, /) -> Tensor:
    """a * 2^b, wrapping; b counts modulo the width of a.
    
    Integers.
    """

def bitwise_or(a: Operand, b: Operand, /) -> Tensor:
    """a | b.
    
    Integers and bool.
    """

def bitwise_right_shift(a: Operand, b: Operand, /) -> Tensor:
    """a / 2^b rounded down; b counts modulo the width of a.
    
    Integers.
    """

def bitwise_xor(a: Operand, b: Operand, /) -> Tensor:
    """a ^ b.
    
    Integers and bool.
    """

bool: dtype

def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Tensors repeated to the shape of all of them together."""

def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that tensors of these shapes are repeated to together. ShapeMismatch."""

def broadcast_to(x: Tensor, /, shape: Shape) -> Tensor:
    """x repeated to a shape; nothing is copied."""

def can_cast(from_: dtype | Tensor, to: dtype, /) -> builtins.bool:
    """Whether operands of the first dtype (or tensor) may become the second by promotion."""

def capture(function: Callable[..., Any], *examples: Operand, donate: Operand = ...) -> Graph:
    """Records a function of tensors, to run it again on others of the same shapes and dtypes
    without building or scheduling anything.
    
    The function runs once, on stand-ins, which it may not read; tensors in it are constants, and
    random numbers are drawn anew by each call, as calling the function would. It returns a tensor
    or several.
    
    donate: {input: result}, counted from 0, for state that goes from call to call: that result lies
    in the memory of that input, which the call takes over. What cannot be taken over, because
    another tensor shares its memory or something reads it later, is copied; a strict executor
    refuses.
    """

def cbrt(x: Tensor, /) -> Tensor:
    """The cube root, of negative numbers too.
    
    Floats; integers and bool give float32.
    """

def cdist(a: Operand, b: Operand, /, *, p: Any = ...) -> Tensor:
    """The distances between the rows of a [..., n, k] and b [..., m, k]: [..., n, m]."""

def ceil(x: Tensor, /) -> Tensor:
    """The smallest whole number not below x.
    
    Integers and floats.
    """

def chunk(x: Tensor, parts: int, /, *, axis: Axis = ...) -> tuple[Tensor, ...]:
    """Views of so many parts, as equal as can be, the longer ones first."""

def clamp(x: Tensor, low: Number, high: Number, /) -> Tensor:
    """min(max(x, low), high).
    
    Integers and floats.
    """

def clip(x: Tensor, /, min: Operand | None = ..., max: Operand | None = ...) -> Tensor:
    """min(max(x, min), max); a bound that is None is none. Of x's dtype if the bounds are numbers."""

def concat(arrays: Sequence[Tensor], /, *, axis: Axis = ...) -> Tensor:
    """One after the other along an axis; flattened with axis=None. dtypes are promoted."""

def conj(x: Tensor, /) -> Tensor:
    """x itself: there are no complex numbers."""

def contiguous(x: Tensor, /) -> Tensor:
    """The same values, dense in memory once they are computed."""

def conv2d(x: Tensor, weight: Tensor, /, *, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: int = ..., layout: Literal['NHWC', 'NCHW'] = ...) -> Tensor:
    """Convolutions of images [n, height, width, channels] with weights [kernel height, kernel
    width, channels / groups, outputs]; with layout='NCHW' [n, channels, height, width] and
    [outputs, channels / groups, kernel height, kernel width]. padding: a number, (height, width),
    (top, bottom, left, right) or 'same'.
    """

def copy(x: Tensor, /) -> Tensor:
    """The same values in memory of their own."""

def copysign(a: Operand, b: Operand, /) -> Tensor:
    """The magnitude of a with the sign of b, of a NaN too.
    
    Floats; integers and bool give float32.
    """

def corrcoef(x: Tensor, /) -> Tensor:
    """cov divided by the deviations of both, within [-1, 1]."""

def cos(x: Tensor, /) -> Tensor:
    """The cosine of x radians.
    
    Floats; integers and bool give float32.
    """

def cosh(x: Tensor, /) -> Tensor:
    """The hyperbolic cosine.
    
    Floats; integers and bool give float32.
    """

def count_nonzero(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """How many elements along axes (all without any) differ from 0: int64."""

def counters(device: DeviceLike | None = ...) -> dict[str, int]:
    """What an executor (or the one in use) has done: launches, library_calls, fallbacks, …"""

def cov(x: Tensor, /, *, correction: int | float = ...) -> Tensor:
    """The covariance of variables, which are rows."""

def cummax(x: Tensor, /, *, axis: Axis = ...) -> Any:
    """(values, indices) of the largest element up to and including each."""

def cummin(x: Tensor, /, *, axis: Axis = ...) -> Any:
    """(values, indices) of the least element up to and including each."""

def cumulative_prod(x: Tensor, /, *, axis: Axis = ..., dtype: DTypeLike = ..., include_initial: builtins.bool = ...) -> Tensor:
    """The product up to and including each element along an axis; with include_initial after a 1."""

def cumulative_sum(x: Tensor, /, *, axis: Axis = ..., dtype: DTypeLike = ..., include_initial: builtins.bool = ...) -> Tensor:
    """The sum up to and including each element along an axis; with include_initial after a 0."""

def devices() -> tuple[Any, ...]:
    """Every device there is to compute on, the one that is chosen automatically first."""

def diag(x: Tensor, /, *, k: int = ...) -> Tensor:
    """A matrix with a vector on the diagonal k above the main one; of a matrix that diagonal."""

def diff(x: Tensor, /, n: int = ..., *, axis: Axis = ..., prepend: Tensor | None = ..., append: Tensor | None = ...) -> Tensor:
    """Each element less the one before it along an axis, n times."""

def digitize(x: Tensor, edges: Operand, /, *, right: builtins.bool = ...) -> Tensor:
    """The bin that each element lies in: i where edges[i - 1] <= x < edges[i]."""

def divide(a: Operand, b: Operand, /) -> Tensor:
    """a / b, of integers too: 1 / 2 is 0.5.
    
    Floats; integers and bool give float32.
    """

e: float

def einsum(equation: str, /, *operands: Operand) -> Tensor:
    """Sums of products over named axes: einsum("ij,jk->ik", a, b)."""

def elu(x: Tensor, /, alpha: float = ...) -> Tensor:
    """x, or alpha * (exp(x) - 1) below 0.
    
    Floats; integers and bool give float32.
    """

def empty(shape: Shape, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Values that nobody should read; they are zeros. float32 without a dtype."""

def empty_like(x: Tensor, /, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """Values that nobody should read, in the shape, dtype and device of x, unless told."""

def equal(a: Operand, b: Operand, /) -> Tensor:
    """a == b; false with NaN.
    
    Any dtypes; gives bool.
    """

def erf(x: Tensor, /) -> Tensor:
    """The error function.
    
    Floats; integers and bool give float32.
    """

def erfinv(x: Tensor, /) -> Tensor:
    """The inverse of erf; NaN beyond 1.
    
    Floats; integers and bool give float32.
    """

def eval(*tensors: Operand) -> None:
    """eval(*args) -> None
    
    Computes several tensors at once, sharing what they have in common.
    """

def executor() -> Executor:
    """The executor of tensors that are made now in this thread."""

def exp(x: Tensor, /) -> Tensor:
    """e to the power of x.
    
    Floats; integers and bool give float32.
    """

def exp2(x: Tensor, /) -> Tensor:
    """2 to the power of x.
    
    Floats; integers and bool give float32.
    """

def expand_dims(x: Tensor, /, axis: Axis) -> Tensor:
    """New axes of length 1 at these places of the result."""

def explain(*tensors: Operand, candidates: builtins.bool = ...) -> str:
    """explain(*args, candidates: bool = False) -> str
    
    The kernels that computing the tensors would run, and what each reads and writes.
    
    candidates: also everybody who might compute a product, a convolution and the like, in the order in which they are asked, and why they do not.
    """

def expm1(x: Tensor, /) -> Tensor:
    """exp(x) - 1, accurate near 0.
    
    Floats; integers and bool give float32.
    """

def eye(n_rows: int, n_cols: int | None = ..., /, *, k: int = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """1 on a diagonal that lies k above the main one, 0 elsewhere; [n_rows, n_cols]."""

def finfo(type: Any, /) -> Any:
    """The limits of a float dtype, or of a tensor's: bits, eps, max, min, smallest_normal."""

def flip(x: Tensor, /, *, axis: Axis = ...) -> Tensor:
    """The elements in the other order along axes, or along all."""

float16: dtype

float32: dtype

float64: dtype

def floor(x: Tensor, /) -> Tensor:
    """The largest whole number not above x.
    
    Integers and floats.
    """

def floor_divide(a: Operand, b: Operand, /) -> Tensor:
    """The largest whole number not above a / b; of integers, x / 0 is 0.
    
    Integers and floats.
    """

def fma(a: Operand, b: Operand, c: Operand, /) -> Tensor:
    """a * b + c, rounded once.
    
    Integers and floats.
    """

def from_dlpack(x: SupportsDLPack, /, *, device: DeviceLike | None = ..., copy: builtins.bool | None = ...) -> Tensor:
    """A tensor of any object with __dlpack__, from memory of the host, or of a device of CUDA or ROCm,
    on which it stays unless `device` says otherwise.
    
    Memory is shared only where the producer says that nobody may write to it, or with copy=False,
    when the producer must leave it unchanged. BufferError for memory of other devices, and for such
    of a device that is not dense; InvalidArgument if it is not aligned to 16 bytes.
    """

def full(shape: Shape, fill_value: Number, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """`fill_value`, a number or a tensor without axes, everywhere. Without a dtype that of the
    tensor, or bool, int64 or float32, as the number is. InvalidArgument if the dtype cannot hold it.
    """

def full_like(x: Tensor, /, fill_value: Number, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """`fill_value` in the shape, dtype and device of x, unless told."""

def gather(x: Tensor, indices: Tensor, /, *, axis: Axis = ...) -> Tensor:
    """Index by index: result[i, j] = x[indices[i, j], j] for axis 0. Other lengths are repeated."""

def gelu(x: Tensor, /) -> Tensor:
    """x / 2 * (1 + erf(x / sqrt(2))).
    
    Floats; integers and bool give float32.
    """

def gelu_tanh(x: Tensor, /) -> Tensor:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
    
    Floats; integers and bool give float32.
    """

def grad(function: Callable[..., Any], /, argnums: int | tuple[int, ...] = ...) -> Callable[..., Any]:
    """A function that gives the gradient of `function`; see value_and_grad."""

def greater(a: Operand, b: Operand, /) -> Tensor:
    """a > b; false with NaN.
    
    Any dtypes; gives bool.
    """

def greater_equal(a: Operand, b: Operand, /) -> Tensor:
    """a >= b; false with NaN.
    
    Any dtypes; gives bool.
    """

def histogram(x: Tensor, /, bins: Any = ..., *, range: Any = ...) -> Any:
    """(counts, edges) of so many bins of equal width, or between ascending edges. Computes x where
    it has to find the range.
    """

def hstack(arrays: Sequence[Tensor], /) -> Tensor:
    """Side by side: vectors one after the other, all else along axis 1."""

def hypot(a: Operand, b: Operand, /) -> Tensor:
    """sqrt(a * a + b * b) without overflow; infinity if either is infinite.
    
    Floats; integers and bool give float32.
    """

def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of a tensor's: bits, max, min."""

def imag(x: Tensor, /) -> Tensor:
    """Zeros in the shape of x: there are no complex numbers."""

inf: float

int16: dtype

int32: dtype

int64: dtype

int8: dtype

def interp(x: Tensor, xp: Tensor, fp: Tensor, /, *, left: float | None = ..., right: builtins.bool = ...) -> Tensor:
    """The line through the points (xp[i], fp[i]), at x; xp ascends."""

def isclose(a: Operand, b: Operand, /, *, rtol: float = ..., atol: float = ..., equal_nan: builtins.bool = ...) -> Tensor:
    """Whether |a - b| <= atol + rtol * |b|, element by element: bool."""

def isdtype(dtype: DTypeLike, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: a dtype, 'bool', 'signed integer', 'unsigned integer',
    'integral', 'real floating', 'complex floating', 'numeric', or a tuple of these.
    """

def isfinite(x: Tensor, /) -> Tensor:
    """Whether x is neither NaN nor infinite.
    
    Any dtypes; gives bool.
    """

def isin(x1: Operand, x2: Operand, /, *, invert: builtins.bool = ...) -> Tensor:
    """Whether each element of x1 is among those of x2; NaN is never."""

def isinf(x: Tensor, /) -> Tensor:
    """Whether x is infinite.
    
    Any dtypes; gives bool.
    """

def isnan(x: Tensor, /) -> Tensor:
    """Whether x is NaN.
    
    Any dtypes; gives bool.
    """

def jvp(function: Callable[..., Any], primals: Sequence[Tensor], tangents: Sequence[Tensor], /) -> Any:
    """(values, tangents): the values of a function of these tensors, and how they change as the
    inputs do by these tangents.
    """

def kron(a: Operand, b: Operand, /) -> Tensor:
    """The Kronecker product: each element of a times all of b."""

def leaky_relu(x: Tensor, /, negative_slope: float = ...) -> Tensor:
    """x, or negative_slope * x below 0.
    
    Floats; integers and bool give float32.
    """

def lerp(a: Operand, b: Operand, weight: Tensor, /) -> Tensor:
    """a + weight * (b - a); b itself at a weight of 1.
    
    Floats; integers and bool give float32.
    """

def less(a: Operand, b: Operand, /) -> Tensor:
    """a < b; false with NaN.
    
    Any dtypes; gives bool.
    """

def less_equal(a: Operand, b: Operand, /) -> Tensor:
    """a <= b; false with NaN.
    
    Any dtypes; gives bool.
    """

def lgamma(x: Tensor, /) -> Tensor:
    """The logarithm of the magnitude of the gamma function.
    
    Floats; integers and bool give float32.
    """

def library(name: str | None, /) -> Program:
    """A program that is there already, as 'atlas_add_f32'. InvalidArgument if there is none."""

def library_names() -> tuple[str, ...]:
    """The names of all programs that are there already."""

from . import linalg as linalg

def linspace(start: Number, stop: Number | None, /, num: int, *, dtype: DTypeLike = ..., device: DeviceLike | None = ..., endpoint: builtins.bool = ...) -> Tensor:
    """`num` numbers from start to stop; the last is stop exactly, or with endpoint=False one step
    before it. float32 without a dtype.
    """

from . import llm as llm

def load(path: str | os.PathLike[str], /, *, name: str | None = ..., linear: builtins.bool = ..., device: DeviceLike | None = ...) -> Any:
    """The tensor in a file, or a dict of those in an .npz or .safetensors file; with name=… one of
    them. Pictures are float32 [height, width, channels] from 0 to 1. IoError.
    """

def log(x: Tensor, /) -> Tensor:
    """The natural logarithm; NaN below 0.
    
    Floats; integers and bool give float32.
    """

def log10(x: Tensor, /) -> Tensor:
    """The logarithm to base 10.
    
    Floats; integers and bool give float32.
    """

def log1p(x: Tensor, /) -> Tensor:
    """log(1 + x), accurate near 0.
    
    Floats; integers and bool give float32.
    """

def log2(x: Tensor, /) -> Tensor:
    """The logarithm to base 2.
    
    Floats; integers and bool give float32.
    """

def log_softmax(x: Tensor, /, axis: Axis = ...) -> Tensor:
    """The logarithm of softmax."""

def logaddexp(a: Operand, b: Operand, /) -> Tensor:
    """log(exp(a) + exp(b)) without overflow.
    
    Floats; integers and bool give float32.
    """

def logical_and(a: Operand, b: Operand, /) -> Tensor:
    """Whether both differ from 0.
    
    Any dtypes; gives bool.
    """

def logical_not(x: Tensor, /) -> Tensor:
    """Whether x is 0.
    
    Any dtypes; gives bool.
    """

def logical_or(a: Operand, b: Operand, /) -> Tensor:
    """Whether one or both differ from 0.
    
    Any dtypes; gives bool.
    """

def logical_xor(a: Operand, b: Operand, /) -> Tensor:
    """Whether exactly one differs from 0.
    
    Any dtypes; gives bool.
    """

def logspace(start: Number, stop: Number | None, /, num: int, *, base: float = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """base to the powers of linspace(start, stop, num)."""

def logsumexp(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """log(sum(exp(x))) without overflow, along axes (all without any)."""

def mad(a: Operand, b: Operand, c: Operand, /) -> Tensor:
    """a * b + c, rounded once or twice, whichever is faster on the device.
    
    Integers and floats.
    """

def matmul(x1: Tensor, x2: Operand, /, *, out_dtype: Operand = ...) -> Tensor:
    """Products of the matrices of the last two axes; those before are a batch. A vector on the
    left is a row, on the right a column. out_dtype: float32 keeps the sums of float16 and bfloat16
    as they were added up.
    """

def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""

def max(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The largest element along axes (all without any); NaN if any is. ShapeMismatch of none."""

def max_pool2d(x: Tensor, kernel: int | tuple[int, int], /, *, stride: Any = ..., padding: Any = ..., layout: Literal['NHWC', 'NCHW'] = ...) -> Tensor:
    """The largest element of each window; windows begin `stride` apart, or as far as they reach."""

def maximum(a: Operand, b: Operand, /) -> Tensor:
    """The larger one; NaN if either is.
    
    Any dtypes.
    """

def mean(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The mean along axes (all without any); of integers float32. NaN of no elements."""

def median(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The middle element along an axis (of all without), or the mean of the two in the middle."""

def meshgrid(*arrays: Tensor, indexing: Literal['xy', 'ij'] = ...) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each vector repeated to the shape of all of them. With 'xy' the first
    two axes of the results change places.
    """

def min(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The least element along axes (all without any); NaN if any is. ShapeMismatch of none."""

def minimum(a: Operand, b: Operand, /) -> Tensor:
    """The smaller one; NaN if either is.
    
    Any dtypes.
    """

def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """Axes moved to other places; the others stay in their order."""

def multiply(a: Operand, b: Operand, /) -> Tensor:
    """a * b; integers wrap.
    
    Integers and floats.
    """

nan: float

def nan_to_num(x: Tensor, /, *, nan: float = ..., posinf: float | None = ..., neginf: float | None = ...) -> Tensor:
    """Numbers in place of NaN and infinities: 0 and the ends of the dtype unless told."""

def nanmax(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The largest of the elements that are no NaN; NaN of none."""

def nanmean(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The mean of the elements that are no NaN; NaN of none."""

def nanmedian(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """median of the elements that are no NaN."""

def nanmin(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The least of the elements that are no NaN; NaN of none."""

def nanprod(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The product of the elements that are no NaN; 1 of none."""

def nanstd(x: Tensor, /, *, axis: Axis = ..., correction: int | float = ..., keepdims: builtins.bool = ...) -> Tensor:
    """std of the elements that are no NaN."""

def nansum(x: Tensor, /, *, axis: Axis = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The sum of the elements that are no NaN; 0 of none."""

def nanvar(x: Tensor, /, *, axis: Axis = ..., correction: int | float = ..., keepdims: builtins.bool = ...) -> Tensor:
    """var of the elements that are no NaN."""

def negative(x: Tensor, /) -> Tensor:
    """-x; unsigned integers wrap.
    
    Integers and floats.
    """

def new_executor() -> Executor:
    """An executor on the CPU, which is always there."""

def new_executor_auto() -> Executor:
    """An executor on the best device there is."""

def new_executor_with_backend(backend: str) -> Executor:
    """An executor on a device of the backend named: 'cpu', 'cuda', 'opencl', 'webgpu'."""

newaxis: None

def nextafter(x1: Tensor, x2: Operand, /) -> Tensor:
    """The next number of the dtype from x1 towards x2, x2 itself if they are equal. Floats."""

from . import nn as nn

def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of elements that differ from 0: a vector for each axis. Computes x."""

def not_equal(a: Operand, b: Operand, /) -> Tensor:
    """a != b; true with NaN.
    
    Any dtypes; gives bool.
    """

def ones(shape: Shape, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """1 everywhere; float32 without a dtype."""

def ones_like(x: Tensor, /, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """1 in the shape, dtype and device of x, unless told."""

from . import optim as optim

def outer(x1: Tensor, x2: Operand, /) -> Tensor:
    """x1[i] * x2[j] of two tensors, flattened."""

def pad(x: Tensor, widths: Any, /, *, mode: str = ..., value: Number = ...) -> Tensor:
    """Elements around x: (before, after) for each axis, or one pair or number for all.
    
    mode: "constant" puts `value` there, "reflect" and "symmetric" mirror x without and with its last
    elements, "edge" repeats those, "wrap" goes on at the other end.
    """

def percentile(x: Tensor, p: Any, /, *, axis: Axis = ..., keepdims: builtins.bool = ..., method: str = ...) -> Tensor:
    """quantile of shares in hundredths."""

def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """The axes in another order: axis i of the result is axis axes[i] of x."""

pi: float

def positive(x: Tensor, /) -> Tensor:
    """x itself. DTypeMismatch for bool."""

def pow(a: Operand, b: Operand, /) -> Tensor:
    """a to the power of b. pow(x, 0) and pow(1, x) are 1. Integers wrap; a negative exponent gives 0 but for bases of 1 and -1. By the numbers 2, 3 and 4 it multiplies.
    
    Integers and floats.
    """

def print_devices() -> None:
    """Prints a line for each device, and for each backend without one the reason."""

def prod(x: Tensor, /, *, axis: Axis = ..., dtype: DTypeLike = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The product along axes (all without any); dtypes as of sum."""

def profile(device: DeviceLike | None = ...) -> Profile:
    """What launches took on an executor (or the one in use), if it was made with
    enable_backend_profiling=True or HOLOGRAM_ENABLE_PROFILING=1.
    """

def put_at(x: Tensor, start: Number, values: Operand, /, *, axis: Axis = ...) -> Tensor:
    """x with `values`, as many along the axis as they have, from `start` on, which is as for
    slice_at. Along the other axes they are repeated to x.
    """

def quantile(x: Tensor, q: Any, /, *, axis: Axis = ..., keepdims: builtins.bool = ..., method: str = ...) -> Tensor:
    """The value below which a share q of the sorted elements lies, along an axis (of all without).
    A list of shares gives an axis in front. method: linear, lower, higher, midpoint, nearest.
    """

from . import random as random

def real(x: Tensor, /) -> Tensor:
    """x itself: there are no complex numbers."""

def reciprocal(x: Tensor, /) -> Tensor:
    """1 / x.
    
    Floats; integers and bool give float32.
    """

def relu(x: Tensor, /) -> Tensor:
    """max(x, 0).
    
    Integers and floats.
    """

def remainder(a: Operand, b: Operand, /) -> Tensor:
    """a - floor_div(a, b) * b, with the sign of b; of integers, x rem 0 is 0. Of floats exact, but for the rounding of what is left where a and b differ in sign.
    
    Integers and floats.
    """

def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: Axis = ...) -> Tensor:
    """Each element so often along an axis, or of x flattened: a number, or one for each element."""

def reshape(x: Tensor, /, shape: Any, *, copy: builtins.bool | None = ...) -> Tensor:
    """The elements, row by row, in another shape, of which one length may be -1."""

def result_type(*arrays_and_dtypes: Any) -> dtype:
    """The dtype that tensors, dtypes and numbers of Python together are brought to.
    
    A number takes the dtype of what stands beside it, unless that is of a lesser kind (bool,
    integer, float): then it is int64 or float32. DTypeMismatch for uint64 with a signed integer.
    """

def roll(x: Tensor, /, shift: int | Sequence[int], *, axis: Axis = ...) -> Tensor:
    """The elements moved along axes, and in at the other end; of x flattened without an axis."""

def rot90(x: Tensor, /, *, k: int = ..., axes: Any = ...) -> Tensor:
    """Turned by k quarters, from the first axis towards the second."""

def round(x: Tensor, /) -> Tensor:
    """The nearest whole number, ties to even.
    
    Integers and floats.
    """

def rsqrt(x: Tensor, /) -> Tensor:
    """1 / sqrt(x).
    
    Floats; integers and bool give float32.
    """

def save(path: str | os.PathLike[str], tensors: Any, /, *, bits: int = ..., quality: int = ..., linear: builtins.bool = ...) -> None:
    """Writes a tensor, or a dict of them into one .npz or .safetensors file.
    
    The extension says the format: .npy, .npz, .safetensors, .png, .jpg. Pictures are [height,
    width] or [height, width, channels], of floats from 0 to 1 or of bytes; bits: 8 or 16 a channel
    of PNG, quality: of JPEG, linear: the values are linear light. The file appears whole or not at
    all. IoError.
    """

def scatter(x: Tensor, indices: Tensor, values: Operand, /, *, axis: int) -> Tensor:
    """x with values put at indices along an axis, in order: of several for one place the last
    stays. `values` is a number or of the shape of `indices`.
    """

def scatter_add(x: Tensor, indices: Tensor, values: Operand, /, *, axis: int) -> Tensor:
    """x with values added at indices along an axis."""

def searchsorted(x1: Tensor, x2: Operand, /, *, side: Literal['left', 'right'] = ..., sorter: Tensor | None = ...) -> Tensor:
    """Where x2 would be inserted into the sorted vector x1: before equal elements, or after them
    with side='right'. sorter: the indices that sort x1, if it is not sorted.
    """

def set_default_executor(executor: Executor) -> None:
    """set_default_executor(executor: hologram._core.Executor) -> None
    
    Another executor for tensors made from now on, in all threads.
    """

def settings() -> tuple[Any, ...]:
    """Every setting of an Executor, with its variable and what it may hold."""

def sigmoid(x: Tensor, /) -> Tensor:
    """1 / (1 + exp(-x)).
    
    Floats; integers and bool give float32.
    """

def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1.
    
    Integers and floats.
    """

def signbit(x: Tensor, /) -> Tensor:
    """Whether the sign is minus, of -0 too.
    
    Any dtypes; gives bool.
    """

def silu(x: Tensor, /) -> Tensor:
    """x * sigmoid(x).
    
    Floats; integers and bool give float32.
    """

def sin(x: Tensor, /) -> Tensor:
    """The sine of x radians.
    
    Floats; integers and bool give float32.
    """

def sinc(x: Tensor, /) -> Tensor:
    """sin(pi * x) / (pi * x), and 1 at 0; 0 at all other whole numbers.
    
    Floats; integers and bool give float32.
    """

def sinh(x: Tensor, /) -> Tensor:
    """The hyperbolic sine.
    
    Floats; integers and bool give float32.
    """

def slice_at(x: Tensor, start: Number, length: Operand, /, *, axis: Axis = ...) -> Tensor:
    """`length` elements along an axis from `start` on: an int, or a tensor of one integer without
    axes, whose value may differ from call to call of a captured graph. A negative start counts
    from the end. InvalidArgument, when a value is read, where the part does not lie inside.
    """

def softmax(x: Tensor, /, axis: Axis = ...) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis, without overflow."""

def softplus(x: Tensor, /) -> Tensor:
    """log(1 + exp(x)) without overflow.
    
    Floats; integers and bool give float32.
    """

def sort(x: Tensor, /, *, axis: Axis = ..., descending: builtins.bool = ..., stable: builtins.bool = ...) -> Tensor:
    """In order along an axis; equal elements stay in theirs, NaN counts as the largest."""

def split(x: Tensor, lengths: Sequence[int], /, *, axis: Axis = ...) -> tuple[Tensor, ...]:
    """Views of parts of these lengths, which must add up."""

def sqrt(x: Tensor, /) -> Tensor:
    """The square root; NaN below 0.
    
    Floats; integers and bool give float32.
    """

def square(x: Tensor, /) -> Tensor:
    """x * x.
    
    Integers and floats.
    """

def squeeze(x: Tensor, /, axis: Axis) -> Tensor:
    """Without these axes, which are of length 1. ShapeMismatch if one is not."""

def stack(arrays: Sequence[Tensor], /, *, axis: Axis = ...) -> Tensor:
    """One after the other along a new axis. dtypes are promoted."""

def std(x: Tensor, /, *, axis: Axis = ..., correction: int | float = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The square root of var."""

def stop_gradient(x: Tensor, /) -> Tensor:
    """The same value, as a constant."""

def subtract(a: Operand, b: Operand, /) -> Tensor:
    """a - b; integers wrap.
    
    Integers and floats.
    """

def sum(x: Tensor, /, *, axis: Axis = ..., dtype: DTypeLike = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The sum along axes (all without any). Integers and bool in int64, unsigned ones in uint64;
    float16 and bfloat16 are added in float32.
    """

def swapaxes(x: Tensor, a: Operand, b: Operand, /) -> Tensor:
    """Two axes exchanged."""

def synchronize(device: DeviceLike | None = ...) -> None:
    """Returns when the device has done all that was asked of it; raises what went wrong."""

def take(x: Tensor, indices: Tensor, /, *, axis: Axis = ...) -> Tensor:
    """x at indices along an axis, which is replaced by theirs; negative ones count from the end.
    InvalidArgument, when the value is computed, for one outside.
    """

def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: Axis = ...) -> Tensor:
    """Index by index: result[i, j] = x[indices[i, j], j] for axis 0. Other lengths are repeated."""

def tan(x: Tensor, /) -> Tensor:
    """The tangent of x radians.
    
    Floats; integers and bool give float32.
    """

def tanh(x: Tensor, /) -> Tensor:
    """The hyperbolic tangent.
    
    Floats; integers and bool give float32.
    """

def tensordot(x1: Tensor, x2: Operand, /, *, axes: Any = ...) -> Tensor:
    """Sums over the last `axes` axes of x1 and the first ones of x2, or over pairs of lists."""

def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """All of x so often along each of the last axes."""

def topk(x: Tensor, k: int, /, *, axis: Axis = ..., largest: builtins.bool = ...) -> tuple[Tensor, Tensor]:
    """(values, indices) of the k largest, or least, elements along an axis, in order."""

def tri(n_rows: int, n_cols: int | None = ..., /, *, k: int = ..., dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """1 on and below that diagonal, 0 above it; [n_rows, n_cols]."""

def tril(x: Tensor, /, *, k: int = ...) -> Tensor:
    """Matrices with 0 above a diagonal, which lies k above the main one."""

def triu(x: Tensor, /, *, k: int = ...) -> Tensor:
    """Matrices with 0 below a diagonal, which lies k above the main one."""

def trunc(x: Tensor, /) -> Tensor:
    """x without its fraction.
    
    Integers and floats.
    """

uint16: dtype

uint32: dtype

uint64: dtype

uint8: dtype

def unique_all(x: Tensor, /) -> Any:
    """The different values in ascending order; the index of the first of each in x flattened; for
    each element of x the index of its value; and how often each is there. Each NaN is a value of
    its own. Computes x.
    """

def unique_counts(x: Tensor, /) -> Any:
    """The different values in ascending order, and how often each is there. Computes x."""

def unique_inverse(x: Tensor, /) -> Any:
    """The different values in ascending order, and for each element the index of its value."""

def unique_values(x: Tensor, /) -> Tensor:
    """The different values in ascending order; each NaN is one of its own. Computes x."""

def unstack(x: Tensor, /, *, axis: Axis = ...) -> tuple[Tensor, ...]:
    """The parts along an axis, without it."""

def use(device: DeviceLike | None) -> AbstractContextManager[Executor]:
    """`with hologram.use(device):` tensors made in it, by this thread, are on that device: an
    Executor, a Device or a name.
    """

def value_and_grad(function: Callable[..., Any], /, argnums: int | tuple[int, ...] = ...) -> Callable[..., Any]:
    """A function that gives (value, gradient) of `function`, whose value is one float.
    
    argnums: the number of the argument to differentiate by, or a tuple of them; the gradient has its
    shape and dtype. An argument may be a list or dict of tensors; so is its gradient then. The
    function is called once, and may read values, which are constants then. Gradients are lazy and
    have gradients themselves. DTypeMismatch for what is no float, ShapeMismatch for several values.
    """

def var(x: Tensor, /, *, axis: Axis = ..., correction: int | float = ..., keepdims: builtins.bool = ...) -> Tensor:
    """The mean square distance from the mean, divided by n - correction."""

def vecdot(x1: Tensor, x2: Operand, /, *, axis: Axis = ...) -> Tensor:
    """sum(x1 * x2) along an axis, in the dtype of both: the other axes are repeated."""

def vjp(function: Callable[..., Any], primals: Sequence[Tensor], cotangents: Sequence[Tensor], /) -> Any:
    """(values, gradients): the values of a function of these tensors, and the product of cotangents,
    one for each value, with its Jacobian.
    """

def vstack(arrays: Sequence[Tensor], /) -> Tensor:
    """One below the other: vectors as rows."""

def where(condition: Operand, a: Operand, b: Operand, /) -> Tensor:
    """a where the condition holds, else b.
    
    A bool, then any dtypes.
    """

def zeros(shape: Shape, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """0 everywhere; float32 without a dtype."""

def zeros_like(x: Tensor, /, *, dtype: DTypeLike = ..., device: DeviceLike | None = ...) -> Tensor:
    """0 in the shape, dtype and device of x, unless told."""

def __array_namespace_info__() -> Any:
    """What hologram offers, as the array API standard asks for it."""

__array_api_version__: str

__version__: str
