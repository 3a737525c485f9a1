"""Element types, their rounding and conversion, as NumPy or the text of docs/semantics.md has them.

An array of hologram's is a Value: the name of its dtype, and a NumPy array that holds its numbers.
bf16, which NumPy lacks, is held in float32.
"""

import collections

import numpy as np

Value = collections.namedtuple("Value", "dtype data")

HELD = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
    "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
    "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
FLOATS = ("f16", "bf16", "f32", "f64")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
BITS = {d: 8 * np.dtype(t).itemsize for d, t in HELD.items()} | {"bf16": 16}
# Bits of the significand and the exponent of the smallest normal number.
FORMAT = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}


def raw(value):
    """The bytes of a value, row by row, in hexadecimal."""
    data = np.ascontiguousarray(value.data)
    if value.dtype == "bf16":
        bits = data.view(np.uint32)
        quiet = np.where(np.isnan(data), np.uint32(0x400000), np.uint32(0))
        data = ((bits | quiet) >> 16).astype(np.uint16)
    return data.tobytes().hex()


def rounded(dtype, data):
    """Numbers, rounded once to a float dtype: to nearest, ties to even."""
    if dtype != "bf16":
        return np.asarray(data).astype(HELD[dtype])
    wide = np.asarray(data).astype(np.longdouble)
    digits, lowest = FORMAT[dtype]
    finite = np.where(np.isfinite(wide), wide, 0)
    _, exponent = np.frexp(finite)
    unit = np.ldexp(np.longdouble(1), np.maximum(exponent - 1, lowest) - digits + 1)
    out = np.rint(finite / unit) * unit
    limit = np.ldexp(np.longdouble(2) - np.ldexp(np.longdouble(1), 1 - digits), 127)
    out = np.where(np.abs(out) > limit, np.copysign(np.longdouble(np.inf), out), out)
    out = np.where(np.isfinite(wide), np.copysign(out, wide), wide)
    return out.astype(np.float32)


def wide(value):
    """The numbers in a type in which functions are computed."""
    return value.data.astype(np.longdouble if value.dtype == "f64" else np.float64)


def limits(dtype):
    info = np.iinfo(HELD[dtype])
    return info.min, info.max


def integer_of_float(dtype, data):
    """Saturating, as every device does it; C and NumPy leave it open."""
    low, high = (np.longdouble(limit) for limit in limits(dtype))
    whole = np.trunc(np.where(np.isnan(data), 0, data).astype(np.longdouble))
    out = np.zeros(whole.shape, HELD[dtype])
    inside = (whole > low) & (whole < high)
    out[inside] = whole[inside].astype(HELD[dtype])
    out[whole >= high], out[whole <= low] = np.iinfo(HELD[dtype]).max, np.iinfo(HELD[dtype]).min
    return out


def convert(value, dtype, difference):
    """Tensor::to."""
    data = value.data
    if value.dtype == dtype:
        return value
    if dtype == "bool":
        return Value(dtype, data != 0)
    if value.dtype in FLOATS and dtype in INTEGERS:
        with np.errstate(all="ignore"):
            plain = data.astype(HELD[dtype])
        out = integer_of_float(dtype, data)
        difference("float_to_integer", not np.array_equal(plain, out))
        return Value(dtype, out)
    if dtype in ("f16", "bf16") and BITS[value.dtype] > 16:
        through = rounded(dtype, data.astype(np.float32))
        direct = rounded(dtype, data)
        difference("narrow_by_f32", not np.array_equal(through, direct, equal_nan=True))
        return Value(dtype, through)
    if dtype in FLOATS:
        return Value(dtype, rounded(dtype, data))
    return Value(dtype, data.astype(HELD[dtype]))


def promote(a, b):
    """The array API's rule, and of an integer and a float the float's dtype. None: there is none."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if (a in FLOATS) != (b in FLOATS):
        return a if a in FLOATS else b
    if a in FLOATS:
        return "f64" if "f64" in (a, b) else "f32"
    if (a in SIGNED) == (b in SIGNED):
        return a if BITS[a] > BITS[b] else b
    plain, signed = (a, b) if a in UNSIGNED else (b, a)
    bits = max(BITS[signed], 2 * BITS[plain])
    return f"i{bits}" if bits <= 64 else None
