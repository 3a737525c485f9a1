"""Values as text, laid out as NumPy lays them out with its default print options."""

import math
import struct
from decimal import Decimal

from . import _core, _dtypes

PRECISION = 8  # digits after the point
THRESHOLD = 1000  # more elements are summarised
EDGE = 3  # elements shown at each end then
WIDTH = 75
# Numbers are written without an exponent below these (in tensors never from 1e8 on).
_POSITIONAL_BELOW = {
    _dtypes.float16: 1e3,
    _dtypes.bfloat16: 1e3,
    _dtypes.float32: 1e6,
    _dtypes.float64: 1e16,
}


def _rounded(value, dtype):
    """The float of Python that the dtype makes of one."""
    if dtype == _dtypes.float64:
        return value
    if dtype == _dtypes.bfloat16:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        bits += 0x7FFF + (bits >> 16 & 1)
        return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]
    code = "<e" if dtype == _dtypes.float16 else "<f"
    try:
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.inf


def _shortest(value, dtype):
    """The fewest decimal digits that are this value and no other one of the dtype."""
    if dtype == _dtypes.float64:
        return Decimal(repr(value))
    for digits in range(17):
        text = f"{value:.{digits}e}"
        if _rounded(float(text), dtype) == value:
            return Decimal(text)
    return Decimal(repr(value))


def _positional(value, dtype):
    exact = _shortest(value, dtype)
    if -exact.as_tuple().exponent > PRECISION:
        text = f"{value:.{PRECISION}f}"
    else:
        text = f"{exact:f}"
    if math.copysign(1, value) < 0 and not text.startswith("-"):
        text = "-" + text
    return text.rstrip("0") if "." in text else text + "."


def _scientific(value, dtype):
    digits = len(_shortest(value, dtype).as_tuple().digits) - 1
    mantissa, _, exponent = f"{value:.{min(digits, PRECISION)}e}".partition("e")
    mantissa = mantissa.rstrip("0") if "." in mantissa else mantissa + "."
    return mantissa, exponent


def _float_formatter(values, dtype):
    finite = [v for v in values if math.isfinite(v)]
    magnitudes = [abs(v) for v in finite if v != 0]
    largest, least = max(magnitudes, default=0), min(magnitudes, default=0)
    cut = min(1e8, _POSITIONAL_BELOW[dtype])
    scientific = bool(magnitudes) and (largest >= cut or least < 1e-4 or largest / least > 1000)
    left = right = 0
    if scientific:
        parts = [_scientific(v, dtype) for v in finite]
        fraction = max(len(m.partition(".")[2]) for m, _ in parts)
        left = max(len(m.partition(".")[0]) for m, _ in parts)
        size = max(len(e) for _, e in parts) - 1
        right = size + 2 + fraction
    elif finite:
        texts = [_positional(v, dtype).partition(".") for v in finite]
        left, right = max(len(t[0]) for t in texts), max(len(t[2]) for t in texts)
    for v in values:
        if not math.isfinite(v):
            left = max(left, len(f"{v}") - right - 1)

    def write(value):
        if not math.isfinite(value):
            return f"{'nan' if value != value else value}".rjust(left + right + 1)
        if not scientific:
            whole, _, part = _positional(value, dtype).partition(".")
            return f"{whole.rjust(left)}.{part.ljust(right)}"
        mantissa, _, exponent = f"{value:.{fraction}e}".partition("e")
        whole, _, part = mantissa.partition(".")
        return f"{whole.rjust(left)}.{part}e{exponent[0]}{exponent[1:].rjust(size, '0')}"

    return write


def _formatter(values, dtype, axes):
    if dtype == _dtypes.bool:
        return lambda v: "False" if not v else " True" if axes else "True"
    if dtype in _dtypes.FLOATS:
        return _float_formatter(values, dtype)
    width = max((len(str(v)) for v in values), default=0)
    return lambda v: str(v).rjust(width)


def _flat(values, axes):
    for _ in range(axes - 1):
        values = [item for part in values for item in part]
    return values if axes else [values]


def _edges(tensor):
    """The tensor without the middle of long axes."""
    for axis, length in enumerate(tensor.shape):
        if length > 2 * EDGE:
            key = (slice(None),) * axis
            ends = [tensor[(*key, slice(None, EDGE))], tensor[(*key, slice(-EDGE, None))]]
            tensor = _core.concat(ends, axis)
    return tensor


def _layout(values, shape, write, separator, indent, width, summary):
    """As numpy's _formatArray: `values` are nested lists of what is shown."""

    def extended(text, line, word, room, indent):
        if len(line) + len(word) > room and len(line) > len(indent):
            text += line.rstrip() + "\n"
            line = indent
        return text, line + word

    def level(part, axis, indent, width):
        if axis == len(shape):
            return write(part)
        words = [level(item, axis + 1, indent + " ", width - 1) for item in part]
        if summary and shape[axis] > 2 * EDGE:
            words.insert(EDGE, "...")
        if axis + 1 == len(shape):
            room = width - max(len(separator.rstrip()), 1)
            text, line = "", indent
            for number, word in enumerate(words):
                text, line = extended(text, line, word, room, indent)
                if number + 1 < len(words):
                    line += separator
            text += line
        else:
            between = separator.rstrip() + "\n" * (len(shape) - axis - 1)
            text = between.join(indent + word for word in words)
        return "[" + text[len(indent) :] + "]"

    return level(values, 0, indent, width)


def text_of(tensor, separator, prefix, suffix):
    """The values as numpy.array2string writes them."""
    if tensor.size == 0:
        return "[]"
    summary = tensor.size > THRESHOLD
    shown = (_edges(tensor) if summary else tensor).tolist()
    axes = tensor.ndim
    write = _formatter(_flat(shown, axes), tensor.dtype, axes)
    indent = " " * (len(prefix) + 1)
    return _layout(shown, tensor.shape, write, separator, indent, WIDTH - len(suffix), summary)


def _alone(value, dtype):
    """A float by itself, as str() of a number of NumPy."""
    if not math.isfinite(value):
        return "nan" if value != value else str(value)
    exact = _shortest(value, dtype)
    if value == 0 or 1e-4 <= abs(value) < _POSITIONAL_BELOW[dtype]:
        text = f"{exact:f}" if value else f"{value:.1f}"
        return text if "." in text else text + ".0"
    digits = exact.as_tuple().digits
    mantissa, _, exponent = f"{value:.{len(digits) - 1}e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{exponent}"


def to_str(tensor):
    """The values without a word about their type."""
    if tensor.ndim == 0 and tensor.dtype in _dtypes.FLOATS:
        return _alone(tensor.item(), tensor.dtype)
    return text_of(tensor, " ", "", "")


def to_repr(tensor):
    """The values, their dtype, and the device if it is not the one in use."""
    prefix = "Tensor("
    text = prefix + text_of(tensor, ", ", prefix, ",") + ","
    words = [f"dtype={tensor.dtype}"]
    if (tensor.size == 0 and tensor.shape != (0,)) or tensor.size > THRESHOLD:
        words.insert(0, f"shape={tensor.shape}")
    if tensor.device != _core.current_executor(None).device:
        words.append(f"device='{tensor.device}'")
    ending = ", ".join(words) + ")"
    last = len(text) - (text.rfind("\n") + 1)
    space = "\n" + " " * len(prefix) if last + len(ending) + 1 > WIDTH else " "
    return text + space + ending
