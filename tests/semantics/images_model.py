"""Convolutions and pooling of images, one element of the kernel after the other.

Values come in the order of their axes and are turned to batch, height, width, channels first; the
numbers of the cases are such that every sum is exact.
"""

import numpy as np

import numbers_model as nm
from numbers_model import FLOATS, Value


def along(length, kernel, stride, dilation, before, behind, same, refuse):
    """The length of the result, and how much padding comes before."""
    reach = (kernel - 1) * dilation + 1
    if same:
        out = -(-length // stride)
        return out, max(0, (out - 1) * stride + reach - length) // 2
    if reach > length + before + behind:
        raise refuse("ShapeMismatch")
    return (length + before + behind - reach) // stride + 1, before


def numbers_of(options, refuse):
    """Stride, dilation and the four sides of the padding."""
    stride, dilation = options.get("stride", [1, 1]), options.get("dilation", [1, 1])
    sides = options.get("padding", [0, 0, 0, 0])
    if min(stride) < 1 or min(dilation) < 1 or min(sides) < 0 or options.get("groups", 1) < 1:
        raise refuse("InvalidArgument")
    return stride, dilation, sides, options.get("same", False)


def conv2d(arguments, options, refuse):
    planes, groups = options.get("planes", False), options.get("groups", 1)
    x, w = arguments[0], arguments[1]
    if x.data.ndim not in (3, 4) or w.data.ndim != 4:
        raise refuse("ShapeMismatch")
    if x.data.ndim == 3:
        out = conv2d([Value(x.dtype, x.data[None]), *arguments[1:]], options, refuse)
        return Value(out.dtype, out.data[0])
    dtype = x.dtype
    for other in arguments[1:]:
        dtype = nm.promote(dtype, other.dtype)
        if dtype is None:
            raise refuse("DTypeMismatch")
    held = np.float64 if dtype in FLOATS else nm.HELD[dtype]
    image, weight = (nm.convert(v, dtype, lambda *_: None).data.astype(held) for v in (x, w))
    if planes:
        image, weight = image.transpose(0, 2, 3, 1), weight.transpose(2, 3, 1, 0)
    stride, dilation, sides, same = numbers_of(options, refuse)
    batch, height, width, channels = image.shape
    rows, columns, taken, outputs = weight.shape
    if channels % groups or outputs % groups or channels // groups != taken:
        raise refuse("ShapeMismatch")
    if min(rows, columns) < 1:
        raise refuse("InvalidArgument")
    down, top = along(height, rows, stride[0], dilation[0], sides[0], sides[1], same, refuse)
    across, left = along(width, columns, stride[1], dilation[1], sides[2], sides[3], same, refuse)
    if len(arguments) > 2 and arguments[2].data.shape != (outputs,):
        raise refuse("ShapeMismatch")
    result = np.zeros((batch, down, across, outputs), held)
    for y in range(down):
        for z in range(across):
            for i in range(rows):
                for j in range(columns):
                    at = y * stride[0] + i * dilation[0] - top
                    beside = z * stride[1] + j * dilation[1] - left
                    if not (0 <= at < height and 0 <= beside < width):
                        continue
                    for o in range(outputs):
                        first = o // (outputs // groups) * taken
                        term = image[:, at, beside, first : first + taken] * weight[i, j, :, o]
                        if dtype == "bool":
                            result[:, y, z, o] |= np.any(term, axis=-1)
                        else:
                            result[:, y, z, o] += np.sum(term, axis=-1, dtype=held)
    if len(arguments) > 2:
        bias = nm.convert(arguments[2], dtype, lambda *_: None).data.astype(held)
        result = result | bias if dtype == "bool" else result + bias
    if planes:
        result = result.transpose(0, 3, 1, 2)
    return Value(dtype, nm.rounded(dtype, result) if dtype in FLOATS else result.astype(nm.HELD[dtype]))


def pool2d(name, value, options, refuse):
    """max_pool2d and avg_pool2d: windows of the elements that are inside the image."""
    planes = options.get("planes", False)
    if value.data.ndim not in (3, 4):
        raise refuse("ShapeMismatch")
    if value.data.ndim == 3:
        out = pool2d(name, Value(value.dtype, value.data[None]), options, refuse)
        return Value(out.dtype, out.data[0])
    image = value.data.transpose(0, 2, 3, 1) if planes else value.data
    rows, columns = options["kernel"]
    stride, _, sides, same = numbers_of({"stride": options["kernel"], **options}, refuse)
    batch, height, width, channels = image.shape
    down, top = along(height, rows, stride[0], 1, sides[0], sides[1], same, refuse)
    across, left = along(width, columns, stride[1], 1, sides[2], sides[3], same, refuse)
    last = ((down - 1) * stride[0] - top + rows - height, (across - 1) * stride[1] - left + columns - width)
    if max(top, last[0]) >= rows or max(left, last[1]) >= columns:
        raise refuse("InvalidArgument")
    largest = name == "max_pool2d"
    dtype = value.dtype if largest or value.dtype in FLOATS else "f32"
    result = np.zeros((batch, down, across, channels), nm.HELD[dtype])
    for y in range(down):
        for x in range(across):
            first, beside = y * stride[0] - top, x * stride[1] - left
            window = image[:, max(first, 0) : first + rows, max(beside, 0) : beside + columns]
            if largest:
                result[:, y, x] = np.max(window, axis=(1, 2))
                continue
            count = rows * columns if options.get("counts") else window.shape[1] * window.shape[2]
            wide = np.float64 if dtype == "f64" else np.float32
            total = np.sum(window.astype(np.float64), axis=(1, 2)).astype(wide)
            result[:, y, x] = nm.rounded(dtype, total / wide(count))
    return Value(dtype, result.transpose(0, 3, 1, 2) if planes else result)
