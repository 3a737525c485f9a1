"""Element types: their limits, kinds, and what operands of several are brought to."""

import builtins as _builtins
import math as _math
from dataclasses import dataclass as _dataclass

from . import _core
from ._errors import DTypeMismatch

bool = _core.bool
int8, int16, int32, int64 = _core.int8, _core.int16, _core.int32, _core.int64
uint8, uint16, uint32, uint64 = _core.uint8, _core.uint16, _core.uint32, _core.uint64
float16, bfloat16 = _core.float16, _core.bfloat16
float32, float64 = _core.float32, _core.float64
dtype = _core.dtype

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
FLOATS = (float16, bfloat16, float32, float64)

__all__ = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "dtype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]


def foreign_name(other):
    """The name of a dtype of NumPy, ml_dtypes, PyTorch and the like, of which str() ends in it."""
    if not isinstance(other, type) and isinstance(getattr(other, "name", None), str):
        return other.name
    if isinstance(other, type):
        return other.__name__.rstrip("_")
    return str(other).rpartition(".")[2]


@_dataclass(frozen=True)
class finfo_object:
    """The limits of a float type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _core.dtype


@_dataclass(frozen=True)
class iinfo_object:
    """The limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: _core.dtype


# Digits of the mantissa after the first, and the largest exponent.
_FORMATS = {float16: (10, 15), bfloat16: (7, 127), float32: (23, 127), float64: (52, 1023)}


def _as_dtype(type):
    return type.dtype if isinstance(type, _core.Tensor) else _core.dtype_of(type)


def finfo(type, /):
    """The limits of a float dtype, or of a tensor's: bits, eps, max, min, smallest_normal."""
    type = _as_dtype(type)
    if type not in FLOATS:
        raise DTypeMismatch(f"{type} is not a float type", "Use iinfo for integers.")
    digits, exponent = _FORMATS[type]
    most = _math.ldexp(2 - 2.0**-digits, exponent)
    return finfo_object(
        8 * type.itemsize, 2.0**-digits, most, -most, _math.ldexp(1, 1 - exponent), type
    )


def iinfo(type, /):
    """The limits of an integer dtype, or of a tensor's: bits, max, min."""
    type = _as_dtype(type)
    bits = 8 * type.itemsize
    if type in SIGNED:
        return iinfo_object(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), type)
    if type in UNSIGNED:
        return iinfo_object(bits, 2**bits - 1, 0, type)
    raise DTypeMismatch(f"{type} is not an integer type", "Use finfo for floats.")


_KINDS = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": FLOATS,
    "complex floating": (),
    "numeric": SIGNED + UNSIGNED + FLOATS,
}


def isdtype(dtype, kind):
    """Whether a dtype is of a kind: a dtype, 'bool', 'signed integer', 'unsigned integer',
    'integral', 'real floating', 'complex floating', 'numeric', or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return dtype in _KINDS[kind]
    return dtype == _core.dtype_of(kind)


def can_cast(from_, to, /):
    """Whether operands of the first dtype (or tensor) may become the second by promotion."""
    try:
        return _core.promote(_as_dtype(from_), _as_dtype(to)) == _as_dtype(to)
    except DTypeMismatch:
        return False


def _weight(dtype):
    return 0 if dtype == bool else 2 if dtype in FLOATS else 1


def result_type(*arrays_and_dtypes):
    """The dtype that tensors, dtypes and numbers of Python together are brought to.

    A number takes the dtype of what stands beside it, unless that is of a lesser kind (bool,
    integer, float): then it is int64 or float32. DTypeMismatch for uint64 with a signed integer.
    """
    if not arrays_and_dtypes:
        raise TypeError("result_type takes at least one tensor, dtype or number")
    strong, weak = None, []
    for item in arrays_and_dtypes:
        if isinstance(item, (_builtins.bool, int, float)) and type(item) in (
            _builtins.bool,
            int,
            float,
        ):
            weak.append({_builtins.bool: bool, int: int64, float: float32}[type(item)])
            continue
        this = item.dtype if hasattr(item, "dtype") else item
        this = _core.dtype_of(this)
        strong = this if strong is None else _core.promote(strong, this)
    if strong is None:
        strong = weak[0]
    for this in weak:
        if _weight(this) > _weight(strong):
            strong = this
    return strong
