"""Operations of one element from one element of each operand.

Operands are tensors, arrays and numbers; they are brought to one dtype and repeated to one shape.
Written by scripts/generate from src/graph/elementwise.cpp.
"""

from . import _core

__all__ = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "negative",
    "abs",
    "sign",
    "copysign",
    "minimum",
    "maximum",
    "clamp",
    "mad",
    "fma",
    "lerp",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sqrt",
    "rsqrt",
    "square",
    "reciprocal",
    "pow",
    "cbrt",
    "hypot",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "logaddexp",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sinc",
    "erf",
    "erfinv",
    "lgamma",
    "sigmoid",
    "relu",
    "leaky_relu",
    "gelu",
    "gelu_tanh",
    "silu",
    "softplus",
    "elu",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "where",
]


def add(a, b, /):
    """a + b; integers wrap.

    Integers and floats.
    """
    return _core.add(a, b)


def subtract(a, b, /):
    """a - b; integers wrap.

    Integers and floats.
    """
    return _core.subtract(a, b)


def multiply(a, b, /):
    """a * b; integers wrap.

    Integers and floats.
    """
    return _core.multiply(a, b)


def divide(a, b, /):
    """a / b, of integers too: 1 / 2 is 0.5.

    Floats; integers and bool give float32.
    """
    return _core.divide(a, b)


def floor_divide(a, b, /):
    """The largest whole number not above a / b; of integers, x / 0 is 0.

    Integers and floats.
    """
    return _core.floor_divide(a, b)


def remainder(a, b, /):
    """a - floor_div(a, b) * b, with the sign of b; of integers, x rem 0 is 0. Of floats exact, but for the rounding of what is left where a and b differ in sign.

    Integers and floats.
    """
    return _core.remainder(a, b)


def negative(x, /):
    """-x; unsigned integers wrap.

    Integers and floats.
    """
    return _core.negative(x)


def abs(x, /):
    """The magnitude; the smallest integer stays what it is.

    Integers and floats.
    """
    return _core.abs(x)


def sign(x, /):
    """-1, 0 or 1.

    Integers and floats.
    """
    return _core.sign(x)


def copysign(a, b, /):
    """The magnitude of a with the sign of b, of a NaN too.

    Floats; integers and bool give float32.
    """
    return _core.copysign(a, b)


def minimum(a, b, /):
    """The smaller one; NaN if either is.

    Any dtypes.
    """
    return _core.minimum(a, b)


def maximum(a, b, /):
    """The larger one; NaN if either is.

    Any dtypes.
    """
    return _core.maximum(a, b)


def clamp(x, low, high, /):
    """min(max(x, low), high).

    Integers and floats.
    """
    return _core.clamp(x, low, high)


def mad(a, b, c, /):
    """a * b + c, rounded once or twice, whichever is faster on the device.

    Integers and floats.
    """
    return _core.mad(a, b, c)


def fma(a, b, c, /):
    """a * b + c, rounded once.

    Integers and floats.
    """
    return _core.fma(a, b, c)


def lerp(a, b, weight, /):
    """a + weight * (b - a); b itself at a weight of 1.

    Floats; integers and bool give float32.
    """
    return _core.lerp(a, b, weight)


def floor(x, /):
    """The largest whole number not above x.

    Integers and floats.
    """
    return _core.floor(x)


def ceil(x, /):
    """The smallest whole number not below x.

    Integers and floats.
    """
    return _core.ceil(x)


def round(x, /):
    """The nearest whole number, ties to even.

    Integers and floats.
    """
    return _core.round(x)


def trunc(x, /):
    """x without its fraction.

    Integers and floats.
    """
    return _core.trunc(x)


def sqrt(x, /):
    """The square root; NaN below 0.

    Floats; integers and bool give float32.
    """
    return _core.sqrt(x)


def rsqrt(x, /):
    """1 / sqrt(x).

    Floats; integers and bool give float32.
    """
    return _core.rsqrt(x)


def square(x, /):
    """x * x.

    Integers and floats.
    """
    return _core.square(x)


def reciprocal(x, /):
    """1 / x.

    Floats; integers and bool give float32.
    """
    return _core.reciprocal(x)


def pow(a, b, /):
    """a to the power of b. pow(x, 0) and pow(1, x) are 1. Integers wrap; a negative exponent gives 0 but for bases of 1 and -1. By the numbers 2, 3 and 4 it multiplies.

    Integers and floats.
    """
    return _core.pow(a, b)


def cbrt(x, /):
    """The cube root, of negative numbers too.

    Floats; integers and bool give float32.
    """
    return _core.cbrt(x)


def hypot(a, b, /):
    """sqrt(a * a + b * b) without overflow; infinity if either is infinite.

    Floats; integers and bool give float32.
    """
    return _core.hypot(a, b)


def exp(x, /):
    """e to the power of x.

    Floats; integers and bool give float32.
    """
    return _core.exp(x)


def exp2(x, /):
    """2 to the power of x.

    Floats; integers and bool give float32.
    """
    return _core.exp2(x)


def expm1(x, /):
    """exp(x) - 1, accurate near 0.

    Floats; integers and bool give float32.
    """
    return _core.expm1(x)


def log(x, /):
    """The natural logarithm; NaN below 0.

    Floats; integers and bool give float32.
    """
    return _core.log(x)


def log2(x, /):
    """The logarithm to base 2.

    Floats; integers and bool give float32.
    """
    return _core.log2(x)


def log10(x, /):
    """The logarithm to base 10.

    Floats; integers and bool give float32.
    """
    return _core.log10(x)


def log1p(x, /):
    """log(1 + x), accurate near 0.

    Floats; integers and bool give float32.
    """
    return _core.log1p(x)


def logaddexp(a, b, /):
    """log(exp(a) + exp(b)) without overflow.

    Floats; integers and bool give float32.
    """
    return _core.logaddexp(a, b)


def sin(x, /):
    """The sine of x radians.

    Floats; integers and bool give float32.
    """
    return _core.sin(x)


def cos(x, /):
    """The cosine of x radians.

    Floats; integers and bool give float32.
    """
    return _core.cos(x)


def tan(x, /):
    """The tangent of x radians.

    Floats; integers and bool give float32.
    """
    return _core.tan(x)


def asin(x, /):
    """The arc sine, in radians; NaN beyond 1.

    Floats; integers and bool give float32.
    """
    return _core.asin(x)


def acos(x, /):
    """The arc cosine, in radians; NaN beyond 1.

    Floats; integers and bool give float32.
    """
    return _core.acos(x)


def atan(x, /):
    """The arc tangent, in radians.

    Floats; integers and bool give float32.
    """
    return _core.atan(x)


def atan2(y, x, /):
    """The angle of the point (x, y), in radians.

    Floats; integers and bool give float32.
    """
    return _core.atan2(y, x)


def sinh(x, /):
    """The hyperbolic sine.

    Floats; integers and bool give float32.
    """
    return _core.sinh(x)


def cosh(x, /):
    """The hyperbolic cosine.

    Floats; integers and bool give float32.
    """
    return _core.cosh(x)


def tanh(x, /):
    """The hyperbolic tangent.

    Floats; integers and bool give float32.
    """
    return _core.tanh(x)


def asinh(x, /):
    """The inverse hyperbolic sine.

    Floats; integers and bool give float32.
    """
    return _core.asinh(x)


def acosh(x, /):
    """The inverse hyperbolic cosine; NaN below 1.

    Floats; integers and bool give float32.
    """
    return _core.acosh(x)


def atanh(x, /):
    """The inverse hyperbolic tangent; NaN beyond 1.

    Floats; integers and bool give float32.
    """
    return _core.atanh(x)


def sinc(x, /):
    """sin(pi * x) / (pi * x), and 1 at 0; 0 at all other whole numbers.

    Floats; integers and bool give float32.
    """
    return _core.sinc(x)


def erf(x, /):
    """The error function.

    Floats; integers and bool give float32.
    """
    return _core.erf(x)


def erfinv(x, /):
    """The inverse of erf; NaN beyond 1.

    Floats; integers and bool give float32.
    """
    return _core.erfinv(x)


def lgamma(x, /):
    """The logarithm of the magnitude of the gamma function.

    Floats; integers and bool give float32.
    """
    return _core.lgamma(x)


def sigmoid(x, /):
    """1 / (1 + exp(-x)).

    Floats; integers and bool give float32.
    """
    return _core.sigmoid(x)


def relu(x, /):
    """max(x, 0).

    Integers and floats.
    """
    return _core.relu(x)


def leaky_relu(x, /, negative_slope=0.01):
    """x, or negative_slope * x below 0.

    Floats; integers and bool give float32.
    """
    return _core.leaky_relu(x, negative_slope)


def gelu(x, /):
    """x / 2 * (1 + erf(x / sqrt(2))).

    Floats; integers and bool give float32.
    """
    return _core.gelu(x)


def gelu_tanh(x, /):
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).

    Floats; integers and bool give float32.
    """
    return _core.gelu_tanh(x)


def silu(x, /):
    """x * sigmoid(x).

    Floats; integers and bool give float32.
    """
    return _core.silu(x)


def softplus(x, /):
    """log(1 + exp(x)) without overflow.

    Floats; integers and bool give float32.
    """
    return _core.softplus(x)


def elu(x, /, alpha=1):
    """x, or alpha * (exp(x) - 1) below 0.

    Floats; integers and bool give float32.
    """
    return _core.elu(x, alpha)


def equal(a, b, /):
    """a == b; false with NaN.

    Any dtypes; gives bool.
    """
    return _core.equal(a, b)


def not_equal(a, b, /):
    """a != b; true with NaN.

    Any dtypes; gives bool.
    """
    return _core.not_equal(a, b)


def less(a, b, /):
    """a < b; false with NaN.

    Any dtypes; gives bool.
    """
    return _core.less(a, b)


def less_equal(a, b, /):
    """a <= b; false with NaN.

    Any dtypes; gives bool.
    """
    return _core.less_equal(a, b)


def greater(a, b, /):
    """a > b; false with NaN.

    Any dtypes; gives bool.
    """
    return _core.greater(a, b)


def greater_equal(a, b, /):
    """a >= b; false with NaN.

    Any dtypes; gives bool.
    """
    return _core.greater_equal(a, b)


def isnan(x, /):
    """Whether x is NaN.

    Any dtypes; gives bool.
    """
    return _core.isnan(x)


def isinf(x, /):
    """Whether x is infinite.

    Any dtypes; gives bool.
    """
    return _core.isinf(x)


def isfinite(x, /):
    """Whether x is neither NaN nor infinite.

    Any dtypes; gives bool.
    """
    return _core.isfinite(x)


def signbit(x, /):
    """Whether the sign is minus, of -0 too.

    Any dtypes; gives bool.
    """
    return _core.signbit(x)


def logical_and(a, b, /):
    """Whether both differ from 0.

    Any dtypes; gives bool.
    """
    return _core.logical_and(a, b)


def logical_or(a, b, /):
    """Whether one or both differ from 0.

    Any dtypes; gives bool.
    """
    return _core.logical_or(a, b)


def logical_xor(a, b, /):
    """Whether exactly one differs from 0.

    Any dtypes; gives bool.
    """
    return _core.logical_xor(a, b)


def logical_not(x, /):
    """Whether x is 0.

    Any dtypes; gives bool.
    """
    return _core.logical_not(x)


def bitwise_and(a, b, /):
    """a & b.

    Integers and bool.
    """
    return _core.bitwise_and(a, b)


def bitwise_or(a, b, /):
    """a | b.

    Integers and bool.
    """
    return _core.bitwise_or(a, b)


def bitwise_xor(a, b, /):
    """a ^ b.

    Integers and bool.
    """
    return _core.bitwise_xor(a, b)


def bitwise_invert(x, /):
    """~x.

    Integers and bool.
    """
    return _core.bitwise_invert(x)


def bitwise_left_shift(a, b, /):
    """a * 2^b, wrapping; b counts modulo the width of a.

    Integers.
    """
    return _core.bitwise_left_shift(a, b)


def bitwise_right_shift(a, b, /):
    """a / 2^b rounded down; b counts modulo the width of a.

    Integers.
    """
    return _core.bitwise_right_shift(a, b)


def where(condition, a, b, /):
    """a where the condition holds, else b.

    A bool, then any dtypes.
    """
    return _core.where(condition, a, b)
