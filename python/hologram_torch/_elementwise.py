"""Operations on each element."""

import hologram as hg

from ._table import row, rows

_FLOATS = (hg.float16, hg.bfloat16, hg.float32, hg.float64)

_UNARY = {
    name: getattr(hg, name)
    for name in "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfinv exp exp2 expm1 floor lgamma "
    "log log10 log1p log2 reciprocal relu round rsqrt sigmoid silu sin sinc sinh sqrt tan tanh trunc".split()
}
_UNARY |= {"neg": hg.negative, "bitwise_not": hg.bitwise_invert}
rows(_UNARY, ["default"], promote="result")
rows({name: getattr(hg, name) for name in ("isnan", "isinf", "isfinite", "logical_not", "signbit")}, ["default"])

_BINARY = {
    "maximum": hg.maximum, "minimum": hg.minimum, "atan2": hg.atan2, "hypot": hg.hypot,
    "logaddexp": hg.logaddexp, "nextafter": hg.nextafter,
}  # fmt: skip
rows(_BINARY, ["default"], promote="result")
_BY_NUMBERS = {
    "bitwise_and": hg.bitwise_and, "bitwise_or": hg.bitwise_or, "bitwise_xor": hg.bitwise_xor,
    "bitwise_left_shift": hg.bitwise_left_shift, "bitwise_right_shift": hg.bitwise_right_shift,
    "__lshift__": hg.bitwise_left_shift, "__rshift__": hg.bitwise_right_shift,
    "remainder": hg.remainder, "copysign": hg.copysign,
}  # fmt: skip
rows(_BY_NUMBERS, ["Tensor", "Scalar"], promote="result")
_COMPARISONS = {
    "eq": hg.equal, "ne": hg.not_equal, "lt": hg.less, "le": hg.less_equal, "gt": hg.greater,
    "ge": hg.greater_equal,
}  # fmt: skip
rows(_COMPARISONS, ["Tensor", "Scalar"], promote="operands")
_LOGIC = {name: getattr(hg, name) for name in ("logical_and", "logical_or", "logical_xor")}
rows(_LOGIC, ["default"])


def _are_bools(*operands):
    return all(isinstance(x, bool) or getattr(x, "dtype", None) == hg.bool for x in operands)


def times(x, number):
    """x times alpha or beta, which is an integer for integers."""
    if isinstance(x, hg.Tensor) and x.dtype not in _FLOATS:
        number = int(number)
    return x if number == 1 else x * number


# Of bools, PyTorch's sum is "or", its product "and".
@row("add.Tensor", "add.Scalar", promote="result")
def add(a, b, alpha=1):
    if _are_bools(a, b):
        return hg.logical_or(a, b) if alpha else hg.logical_or(a, hg.logical_and(b, False))
    return hg.add(a, times(b, alpha))


@row("mul.Tensor", "mul.Scalar", promote="result")
def mul(a, b):
    return hg.logical_and(a, b) if _are_bools(a, b) else hg.multiply(a, b)


@row("sign.default", "sgn.default")
def sign(x):
    return x if _are_bools(x) else hg.sign(x)


@row("sub.Tensor", "sub.Scalar", promote="result")
def sub(a, b, alpha=1):
    return hg.subtract(a, times(b, alpha))


@row("rsub.Tensor", "rsub.Scalar", promote="result")
def rsub(a, b, alpha=1):
    return hg.subtract(b, times(a, alpha))


@row("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode", promote="result")
def div(a, b, rounding_mode=None):
    if rounding_mode == "floor":
        return hg.floor_divide(a, b)
    if rounding_mode == "trunc":
        return hg.trunc(hg.divide(a, b)) if _is_float(a, b) else (a - fmod(a, b)) // b
    return hg.divide(a, b)


def _is_float(*operands):
    return any(isinstance(x, float) or getattr(x, "dtype", None) in _FLOATS for x in operands)




@row("fmod.Tensor", "fmod.Scalar", promote="result")
def fmod(a, b):
    # remainder has the sign of b, or is 0.
    rest = hg.remainder(a, b)
    return hg.where(hg.logical_and(rest != 0, hg.not_equal(hg.less(a, 0), hg.less(b, 0))), rest - b, rest)


_POWERS = {2: hg.square, 0.5: hg.sqrt, -0.5: hg.rsqrt, -1: hg.reciprocal, 1: hg.positive}


@row("pow.Tensor_Scalar", promote="result")
def power(x, exponent):
    if exponent == 3:
        return x * x * x
    known = _POWERS.get(exponent)
    return hg.pow(x, exponent) if known is None or not _is_float(x) and exponent < 1 else known(x)


@row("pow.Tensor_Tensor", "pow.Scalar", promote="result")
def power_of_tensor(x, exponent):
    return hg.pow(x, exponent)


@row("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar", promote=None)
def where(condition, a, b):
    return hg.where(condition, a, b)


@row("clamp.default", "clamp.Tensor", promote="result")
def clamp(x, low=None, high=None):
    if low is not None:
        x = hg.maximum(x, low)
    return x if high is None else hg.minimum(x, high)


@row("hardtanh.default", promote="result")
def hardtanh(x, low=-1, high=1):
    return hg.minimum(hg.maximum(x, low), high)


@row("gelu.default")
def gelu(x, approximate="none"):
    return hg.gelu_tanh(x) if approximate == "tanh" else hg.gelu(x)


@row("leaky_relu.default")
def leaky_relu(x, negative_slope=0.01):
    return hg.leaky_relu(x, negative_slope=negative_slope)


@row("elu.default")
def elu(x, alpha=1, scale=1, input_scale=1):
    return times(hg.where(x > 0, x, hg.expm1(times(x, input_scale)) * alpha), scale)


@row("hardswish.default")
def hardswish(x):
    return hg.nn.hardswish(x)


@row("hardsigmoid.default")
def hardsigmoid(x):
    return hg.nn.hardsigmoid(x)


@row("mish.default")
def mish(x):
    return hg.nn.mish(x)


@row("softplus.default")
def softplus(x, beta=1, threshold=20):
    return hg.nn.softplus(x, beta, threshold)


@row("addcmul.default", promote="result")
def addcmul(x, a, b, value=1):
    return x + times(a * b, value)


@row("addcdiv.default", promote="result")
def addcdiv(x, a, b, value=1):
    return x + times(a / b, value)


@row("lerp.Scalar", "lerp.Tensor", promote="result")
def lerp(a, b, weight):
    return a + (b - a) * weight


@row("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x, mask, value):
    return hg.where(mask, value, x)


@row("nan_to_num.default")
def nan_to_num(x, nan=None, posinf=None, neginf=None):
    return hg.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
