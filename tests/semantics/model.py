"""What operations on tensors give: NumPy's answer, changed where docs/semantics.md says so.

`apply(name, arguments, options)` takes Values and Numbers (scalars of C++) and returns a Value, or
raises Refused with the kind of the error. `tolerance` says how far a result may be from it.
"""

import math

import numpy as np

import images_model
import numbers_model as nm
from numbers_model import FLOATS, INTEGERS, UNSIGNED, Value

np.seterr(all="ignore")


class Refused(Exception):
    """An error that hologram has to report; its text is the kind."""


class Number:
    """A scalar of C++: kind is "bool", "int" or "float"."""

    def __init__(self, value):
        self.value = value
        self.kind = type(value).__name__


used = {}  # how often a difference changed what NumPy says


def difference(name, changes=True):
    used[name] = used.get(name, 0) + (1 if changes else 0)


def by_first_axis(function):
    """Of one element after the other, where NumPy has no such function."""
    return lambda x: np.array([function(float(v)) for v in x.ravel()], np.float64).reshape(x.shape)


def sign_of_zero(pick, a, b, out):
    """IEEE 754-2019: -0 is below +0."""
    zero = (a == 0) & (b == 0)
    sign = pick(np.signbit(a), np.signbit(b))
    right = np.where(zero, np.where(sign, np.negative(np.zeros_like(out)), 0), out)
    difference("zeros_in_order", bool(np.any(np.signbit(right) != np.signbit(out))))
    return right.astype(out.dtype)


def minimum(a, b):
    out = np.minimum(a, b)
    return sign_of_zero(np.logical_or, a, b, out) if out.dtype.kind == "f" else out


def maximum(a, b):
    out = np.maximum(a, b)
    return sign_of_zero(np.logical_and, a, b, out) if out.dtype.kind == "f" else out


def sign(x):
    if x.dtype.kind != "f":
        return np.sign(x)
    difference("sign_of_zero", bool(np.any((x == 0) & np.signbit(x))))
    return np.where(x == 0, x, np.sign(x)).astype(x.dtype)


def integer_power(a, b):
    """By multiplication, modulo the width; a negative exponent gives the reciprocal, cut."""
    result, base, left, one = np.ones_like(a), a.copy(), b.copy(), a.dtype.type(1)
    for _ in range(8 * a.itemsize):
        result = np.where(left & one, result * base, result)
        base, left = base * base, left >> one
    if a.dtype.kind == "u":
        return result
    difference("integer_negative_power", bool(np.any(b < 0)))
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b & one, -1, 1), 0)).astype(a.dtype)
    return np.where(b < 0, inverse, result)


def shift(function):
    def shifted(a, b):
        bits = 8 * a.itemsize
        count = b.astype(np.uint64) & np.uint64(bits - 1)
        difference("shift_modulo", bool(np.any(count != b)))
        return function(a, count.astype(a.dtype))

    return shifted


def sigmoid(x):
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def erfinv(x):
    """What erf, or near the ends erfc, makes x of, by halves."""
    if not abs(x) < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high = 0.0, 7.0
    for _ in range(80):
        y = (low + high) / 2
        below = math.erf(y) < abs(x) if abs(x) < 0.5 else math.erfc(y) > 1 - abs(x)
        low, high = (y, high) if below else (low, y)
    return math.copysign(low if abs(x) > 1e-9 else abs(x) * math.sqrt(math.pi) / 2, x)


def lgamma(x):
    if not math.isfinite(x):
        return abs(x)
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def sinc(x):
    """sin(pi x) / (pi x) by what is left beside whole numbers, where NumPy's own is not 0."""
    whole = np.rint(x)
    sine = np.sin(np.longdouble("3.14159265358979323846") * (x - whole))
    sine = np.where(np.fmod(whole, 2) == 0, sine, -sine)
    return np.where(x == 0, 1, sine / np.where(x == 0, 1, np.longdouble("3.14159265358979323846") * x))


# Exact on any numbers: the same operation of NumPy on the promoted dtype.
SAME = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.abs,
    "minimum": minimum, "maximum": maximum, "square": np.square, "sign": sign,
    "clamp": lambda x, low, high: minimum(maximum(x, low), high),
    "mad": lambda a, b, c: a * b + c, "fma": lambda a, b, c: a * b + c,
    "floor_div": np.floor_divide, "rem": np.remainder,
    "relu": lambda x: maximum(x, np.zeros_like(x)), "pow": integer_power,
}  # fmt: skip
ROUNDING = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}
DIVISIONS = {"div": np.divide, "reciprocal": np.reciprocal, "sqrt": np.sqrt, "copysign": np.copysign}
# Computed in a wider type and compared with the bound of the table.
FUNCTIONS = {
    "rsqrt": lambda x: 1 / np.sqrt(x), "hypot": np.hypot, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "logaddexp": np.logaddexp, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "softplus": softplus,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt, "sinc": sinc,
    "lerp": lambda a, b, weight: np.where(weight < 0.5, a + weight * (b - a), b - (1 - weight) * (b - a)),
    "erfinv": by_first_axis(erfinv), "lgamma": by_first_axis(lgamma),
    "erf": by_first_axis(math.erf), "pow": np.power,
    "gelu": lambda x: x / 2 * (1 + by_first_axis(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))),
    "leaky_relu": lambda x, slope=0.01: np.where(x < 0, x * slope, x),
    "elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)),
}  # fmt: skip
TESTS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "logical_not": np.logical_not, "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
}  # fmt: skip
BITWISE = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
}  # fmt: skip
SHIFTS = {"shift_left": shift(np.left_shift), "shift_right": shift(np.right_shift)}
ELEMENTWISE = {*SAME, *ROUNDING, *DIVISIONS, *FUNCTIONS, *TESTS, *BITWISE, *SHIFTS, "where"}
# Functions for which double and long double are no help: the C library's own is not there.
NO_F64 = ("erf", "gelu")


def common_dtype(arguments):
    """Promotion; a scalar takes the dtype of the arrays unless that is of a lesser kind."""
    dtypes = [a.dtype for a in arguments if isinstance(a, Value)]
    kinds = [a.kind for a in arguments if isinstance(a, Number)]
    dtype = None
    for d in dtypes:
        dtype = d if dtype is None else nm.promote(dtype, d)
        if dtype is None:
            difference("u64_with_signed")
            raise Refused("DTypeMismatch")
    if len({d in FLOATS for d in dtypes}) == 2:
        difference("integer_with_float")
    if "bf16" in dtypes and len(set(dtypes)) > 1:
        difference("bf16")
    large = any(isinstance(a, Number) and a.kind == "int" and a.value >= 2**63 for a in arguments)
    whole = "u64" if large else "i64"
    if dtype is None:
        return "f32" if "float" in kinds else whole if "int" in kinds else "bool"
    if kinds:
        difference("weak_scalars")
    if "float" in kinds and dtype not in FLOATS:
        return "f32"
    return whole if "int" in kinds and dtype == "bool" else dtype


def as_value(argument, dtype):
    if isinstance(argument, Value):
        return nm.convert(argument, dtype, difference)
    number = argument.value
    if dtype in INTEGERS:
        low, high = nm.limits(dtype)
        if number != int(number) or not low <= number <= high:
            difference("scalar_must_fit")
            raise Refused("InvalidArgument")
        number = int(number)
    if dtype in ("f16", "bf16"):
        data = np.asarray(number).astype(np.float32)
        difference("narrow_scalars", bool(nm.rounded(dtype, data) != data))
        return Value(dtype, data)
    return Value(dtype, np.asarray(number).astype(nm.HELD[dtype]))


def broadcast(values):
    try:
        return [Value(v.dtype, a) for v, a in zip(values, np.broadcast_arrays(*[v.data for v in values]))]
    except ValueError:
        raise Refused("ShapeMismatch") from None


def computed(dtype, function, values):
    """f16 and bf16 are computed in f32 and rounded."""
    if dtype in ("f16", "bf16"):
        return Value(dtype, nm.rounded(dtype, function(*[v.data.astype(np.float32) for v in values])))
    return Value(dtype, np.asarray(function(*[v.data for v in values])))


def elementwise(name, arguments, options):
    choice = arguments[1:] if name == "where" else arguments[:1] if name in SHIFTS else arguments
    dtype = common_dtype(choice)
    if name in BITWISE and dtype in FLOATS or name in SHIFTS and dtype not in INTEGERS:
        raise Refused("DTypeMismatch")
    to_float = name in DIVISIONS or name in FUNCTIONS and not (name == "pow" and dtype in INTEGERS)
    if dtype == "bool" and (name in SAME or name in ROUNDING) and name not in ("minimum", "maximum"):
        difference("arithmetic_of_bool")
        raise Refused("DTypeMismatch")
    if to_float and dtype not in FLOATS:
        difference("functions_of_integers")
        dtype = "f32"
    if name == "where":
        condition = arguments[0]
        if isinstance(condition, Value) and condition.dtype != "bool":
            difference("condition_is_bool")
            raise Refused("DTypeMismatch")
        values = broadcast([as_value(condition, "bool"), *[as_value(a, dtype) for a in choice]])
        out = np.where(*[v.data for v in values])
        return Value(dtype, nm.rounded(dtype, out) if dtype in FLOATS else out)
    if name in SHIFTS:
        count = arguments[1]
        count_dtype = count.dtype if isinstance(count, Value) else "i64"
        if count_dtype not in INTEGERS:
            raise Refused("DTypeMismatch")
        values = broadcast([as_value(arguments[0], dtype), as_value(count, count_dtype)])
        return Value(dtype, SHIFTS[name](values[0].data, values[1].data))
    values = broadcast([as_value(a, dtype) for a in arguments])
    if name in TESTS:
        return Value("bool", TESTS[name](*[v.data for v in values]))
    if name in BITWISE:
        return Value(dtype, BITWISE[name](*[v.data for v in values]))
    if name in ROUNDING and dtype in INTEGERS:
        difference("rounding_of_integers")
        return values[0]
    if name in FUNCTIONS and to_float or name == "pow" and dtype in FLOATS:
        out = FUNCTIONS[name](*[nm.wide(v) for v in values], *options.get("attributes", []))
        return Value(dtype, nm.rounded(dtype, out))
    return computed(dtype, (SAME | ROUNDING | DIVISIONS)[name], values)


def axes_of(value, axes):
    """Each axis from the front; all of them for none."""
    rank = value.data.ndim
    if any(not -rank <= a < rank for a in axes):
        raise Refused("ShapeMismatch")
    out = tuple(a % rank for a in axes) if axes else tuple(range(rank))
    if len(set(out)) < len(out):
        raise Refused("ShapeMismatch")
    return out


def extreme(function, data, axes, keep):
    out = function(data, axis=axes, keepdims=keep)
    if data.dtype.kind != "f":
        return out
    negative = np.signbit(data) if function is np.min else ~np.signbit(data)
    found = np.any((data == 0) & negative, axis=axes, keepdims=keep)
    sign = found if function is np.min else ~found
    right = np.where(out == 0, np.where(sign, -0.0, 0.0), out).astype(data.dtype)
    difference("zeros_in_order", bool(np.any(np.signbit(right) != np.signbit(out))))
    return right


def summed(value, dtype, function, axes, keep):
    if dtype in INTEGERS:
        return function(value.data, axis=axes, keepdims=keep, dtype=nm.HELD[dtype])
    data = nm.wide(nm.convert(value, dtype, difference))
    return nm.rounded(dtype, function(data, axis=axes, keepdims=keep))


def reduction(name, arguments, options):
    value, keep = arguments[0], options.get("keep", False)
    axes = axes_of(value, options.get("axes", []))
    if not options.get("axes"):
        difference("no_axes_are_all")
    count = math.prod(value.data.shape[a] for a in axes)
    extremes = name in ("min", "max", "argmin", "argmax") or math.isinf(options.get("order", 0))
    if extremes and count == 0:
        difference("extreme_of_nothing", value.data.size == 0 and 0 not in np.delete(value.data.shape, axes))
        raise Refused("ShapeMismatch")
    whole = value.dtype not in FLOATS
    to = "f32" if whole else value.dtype
    if name in ("sum", "prod"):
        total = value.dtype if not whole else "u64" if value.dtype == "u64" else "i64"
        difference("integer_sums", value.dtype in UNSIGNED and total == "i64")
        return Value(total, summed(value, total, np.sum if name == "sum" else np.prod, axes, keep))
    if name in ("min", "max"):
        return Value(value.dtype, extreme(np.min if name == "min" else np.max, value.data, axes, keep))
    if name in ("argmin", "argmax"):
        axis = options["axes"][0] if options.get("axes") else None
        function = np.argmin if name == "argmin" else np.argmax
        return Value("i64", np.asarray(function(value.data, axis=axis, keepdims=keep), np.int64))
    if name in ("any", "all"):
        return Value("bool", (np.any if name == "any" else np.all)(value.data, axis=axes, keepdims=keep))
    if whole:
        difference("functions_of_integers")
    x = nm.wide(nm.convert(value, to, difference))
    along = {"axis": axes, "keepdims": True}
    with np.errstate(all="ignore"):
        if name == "mean":
            out = np.sum(x, **along, initial=x.dtype.type(-0.0)) / x.dtype.type(count)  # -0 stays
        elif name in ("var", "std"):
            middle = np.sum(x, **along) / x.dtype.type(count)
            freedom = max(0.0, count - options.get("correction", 0))
            out = np.sum(np.square(x - middle), **along) / x.dtype.type(freedom)
            out = np.sqrt(out) if name == "std" else out
        elif name == "norm":
            out = norm(np.abs(x), options.get("order", 2), along)
        else:
            top = np.max(x, **along, initial=-np.inf)
            top = np.where(np.isfinite(top), top, 0)
            total = np.sum(np.exp(x - top), **along)
            if name == "softmax":
                return Value(to, nm.rounded(to, np.exp(x - top) / total))
            if name == "log_softmax":
                return Value(to, nm.rounded(to, x - top - np.log(total)))
            out = np.log(total) + top
    return Value(to, nm.rounded(to, out if keep else np.squeeze(out, axes)))


def norm(size, order, along):
    if math.isinf(order):
        return np.max(size, **along) if order > 0 else np.min(size, **along)
    if order == 0:
        return np.sum(size != 0, **along)
    return np.power(np.sum(np.power(size, order), **along), 1 / order)


def parts(options):
    return tuple(slice(*part) for part in options["parts"])


def view(name, value, options):
    data, rank = value.data, value.data.ndim
    if name == "slice":
        if any(part[2] == 0 for part in options["parts"]):
            raise Refused("InvalidArgument")
        if len(options["parts"]) > rank:
            raise Refused("ShapeMismatch")
        return data[parts(options)]
    if name == "select":
        (axis,) = axes_of(value, [options["axis"]])
        length = data.shape[axis]
        if not -length <= options["index"] < length:
            raise Refused("InvalidArgument")
        return np.take(data, options["index"], axis)
    if name == "transpose" and data.ndim < 2 and options["axes"] == [-2, -1]:
        return data  # what C++ means by transpose(), which leaves vectors and numbers alone
    if name == "transpose":
        (a,), (b,) = axes_of(value, [options["axes"][0]]), axes_of(value, [options["axes"][1]])
        return np.swapaxes(data, a, b)
    try:
        if name == "permute":
            return np.transpose(data, options["axes"])
        if name == "flip":
            return np.flip(data, axes_of(value, options["axes"]))
        if name == "squeeze":
            if rank == 0 and "axis" in options:
                difference("squeeze_of_a_number", options["axis"] in (0, -1))
                raise Refused("ShapeMismatch")
            return np.squeeze(data, options.get("axis"))
        if name == "unsqueeze":
            return np.expand_dims(data, options["axis"])
        if name == "flatten":
            return flattened(data, options["axes"])
        if name == "reshape":
            return np.reshape(data, options["shape"])
        return np.broadcast_to(data, options["shape"])
    except (ValueError, IndexError, np.AxisError):
        raise Refused("ShapeMismatch") from None


def flattened(data, axes):
    if data.ndim == 0:
        return data.reshape(1)
    first, last = (a % data.ndim if -data.ndim <= a < data.ndim else None for a in axes)
    if first is None or last is None or first > last:
        raise ValueError
    joined = math.prod(data.shape[first : last + 1])
    return data.reshape(data.shape[:first] + (joined,) + data.shape[last + 1 :])


VIEWS = ("slice", "select", "transpose", "permute", "flip", "squeeze", "unsqueeze", "flatten", "reshape", "broadcast_to")
REDUCTIONS = (
    "sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all",
    "logsumexp", "norm", "softmax", "log_softmax",
)  # fmt: skip


def apply(name, arguments, options):
    if name == "to":
        return nm.convert(arguments[0], options["dtype"], difference)
    if name == "conv2d":
        return images_model.conv2d(arguments, options, Refused)
    if name in ("max_pool2d", "avg_pool2d"):
        return images_model.pool2d(name, arguments[0], options, Refused)
    if name in VIEWS:
        return Value(arguments[0].dtype, view(name, arguments[0], options))
    if name in REDUCTIONS:
        return reduction(name, arguments, options)
    return elementwise(name, arguments, options)
