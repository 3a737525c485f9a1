"""Convolutions, pooling, normalisation, softmax and losses."""

import math

import hologram as hg
from hologram import _core, nn

from ._dtypes import as_dtype
from ._images import FIRST, LAST
from ._reductions import _as_vector
from ._table import row


def _pullback(function, inputs, cotangent, wanted):
    """Cotangents of these inputs; None for those that nobody asked for."""
    asked = [x for x, wants in zip(inputs, wanted) if wants]

    def of_asked(*some):
        some = iter(some)
        return function(*(next(some) if wants else x for x, wants in zip(inputs, wanted)))

    made = iter(hg.vjp(of_asked, asked, [cotangent])[1] if asked else ())
    return tuple(next(made) if wants else None for wants in wanted)


# --- convolutions

_CONVOLUTIONS = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}
_TRANSPOSED = {1: nn.conv_transpose1d, 2: nn.conv_transpose2d}


def _is_product(x, weight, padding, groups):
    """Whether each pixel is multiplied by itself: on the processor products are the faster way, as weights are read
    where they lie."""
    is_alone = groups == 1 and list(weight.shape[2:]) == [1, 1] and not any(padding)
    of_floats = x.dtype == weight.dtype and x.dtype in (hg.float32, hg.float64)
    return is_alone and of_floats and x.executor.backend == "cpu"


def _pixels_by_weights(x, weight, bias, stride):
    pixels = hg.permute_dims(x[:, :, :: stride[0], :: stride[1]], (0, 2, 3, 1))
    outputs, channels = weight.shape[:2]
    matrix = hg.permute_dims(hg.reshape(weight, (outputs, channels)), (1, 0))
    made = hg.matmul(hg.reshape(pixels, (-1, channels)), matrix)
    made = made if bias is None else made + bias
    return hg.permute_dims(hg.reshape(made, (*pixels.shape[:3], outputs)), (0, 3, 1, 2))


@row("convolution.default")
def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    axes = weight.ndim - 2
    options = {"stride": list(stride), "padding": list(padding), "dilation": list(dilation), "groups": groups}
    if axes == 2 and not transposed and _is_product(x, weight, padding, groups):
        return _pixels_by_weights(x, weight, bias, stride)
    if not transposed:
        return _CONVOLUTIONS[axes](x, weight, bias, **options)
    if axes not in _TRANSPOSED:
        raise NotImplementedError("a transposed convolution of three axes")
    return _TRANSPOSED[axes](x, weight, bias, output_padding=list(output_padding), **options)


@row("convolution_backward.default")
def convolution_backward(grad, x, weight, bias_sizes, stride, padding, dilation, transposed,
                         output_padding, groups, output_mask):  # fmt: skip
    def forward(x, weight):
        return convolution(x, weight, None, stride, padding, dilation, transposed, output_padding, groups)

    of_x, of_weight = _pullback(forward, (x, weight), grad, output_mask[:2])
    spatial = (0, *range(2, grad.ndim))
    return of_x, of_weight, hg.sum(grad, axis=spatial) if output_mask[2] else None


# --- pooling


def _pool_options(kernel, stride, padding):
    kernel = list(kernel)
    return kernel, list(stride) if stride else kernel, list(padding)


@row("max_pool2d_with_indices.default")
def max_pool2d(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    padding, dilation = (list(n) if isinstance(n, (list, tuple)) else n for n in (padding, dilation))
    return nn.max_pool2d(x, list(kernel), list(stride or kernel), padding, dilation, ceil_mode, True)


@row("max_pool2d_with_indices_backward.default")
def max_pool2d_backward(grad, x, kernel, stride, padding, dilation, ceil_mode, indices):
    pixels = x.shape[-2] * x.shape[-1]
    planes = x.size // max(pixels, 1)
    zeros = hg.zeros((planes, pixels), dtype=grad.dtype, device=grad.executor)
    places, values = hg.reshape(indices, (planes, -1)), hg.reshape(grad, (planes, -1))
    return hg.reshape(_core.scatter_add(zeros, places, values, 1), x.shape)


@row("avg_pool2d.default")
def avg_pool2d(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None):  # fmt: skip
    padding = list(padding) if isinstance(padding, (list, tuple)) else padding
    return nn.avg_pool2d(x, list(kernel), list(stride or kernel), padding, ceil_mode,
                         count_include_pad, divisor_override)  # fmt: skip


@row("avg_pool2d_backward.default")
def avg_pool2d_backward(grad, x, *options):
    return _pullback(lambda x: avg_pool2d(x, *options), (x,), grad, (True,))[0]


@row("_adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(x, size):
    return nn.adaptive_avg_pool2d(x, list(size))


@row("_adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool2d_backward(grad, x):
    return _pullback(lambda x: adaptive_avg_pool2d(x, grad.shape[-2:]), (x,), grad, (True,))[0]


# --- normalisation


def _at_least_f32(x):
    return as_dtype(x, hg.float32) if x.dtype in (hg.float16, hg.bfloat16) else x


def _by_channel(x, ndim, axis=1):
    shape = [1] * ndim
    shape[axis] = -1
    return hg.reshape(x, shape)


def _with_channels_last(function):
    """Images as convolutions make them: the function gets them so, and their channels are the last axis."""

    def of_images(x, *args):
        if x.ndim != 4:
            return function(x, 1, *args)
        made, *rest = function(hg.permute_dims(x, LAST), 3, *args)
        return hg.permute_dims(made, FIRST), *rest

    return of_images


def _normalized(x, mean, rstd, weight, bias):
    made = (x - mean) * rstd
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


@row("_native_batch_norm_legit_no_training.default")
@_with_channels_last
def batch_norm(x, axis, weight, bias, mean, var, momentum, eps):
    # A scale and a shift a channel, in f32 also of narrow tensors, which are what each pixel reads.
    weight, bias, mean, var = (p if p is None else _at_least_f32(p) for p in (weight, bias, mean, var))
    scale = hg.rsqrt(var + eps)
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    none = hg.zeros((0,), dtype=mean.dtype, device=x.executor)
    return _at_least_f32(x) * _by_channel(scale, x.ndim, axis) + _by_channel(shift, x.ndim, axis), none, none


@row("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(x, weight, bias, training, momentum, eps):
    return batch_norm_training(x, weight, bias, None, None, True, momentum, eps)[:3]


@row("_native_batch_norm_legit_functional.default")
def batch_norm_training(x, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        made = batch_norm(x, weight, bias, running_mean, running_var, momentum, eps)
        return *made, running_mean, running_var
    return _batch_norm_of_batch(x, weight, bias, running_mean, running_var, momentum, eps)


@_with_channels_last
def _batch_norm_of_batch(x, axis, weight, bias, running_mean, running_var, momentum, eps):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    wide = _at_least_f32(x)
    mean, var = hg.mean(wide, axis=axes), hg.var(wide, axis=axes)
    rstd = hg.rsqrt(var + eps)
    weight, bias = (None if p is None else _by_channel(p, x.ndim, axis) for p in (weight, bias))
    made = _normalized(wide, _by_channel(mean, x.ndim, axis), _by_channel(rstd, x.ndim, axis), weight, bias)
    if running_mean is None:
        return as_dtype(made, x.dtype), mean, rstd, None, None
    count = x.size // max(x.shape[axis], 1)
    unbiased = var * (count / (count - 1) if count > 1 else math.nan)
    return (
        as_dtype(made, x.dtype), mean, rstd,
        running_mean * (1 - momentum) + mean * momentum,
        running_var * (1 - momentum) + unbiased * momentum,
    )  # fmt: skip


@row("native_layer_norm.default")
def layer_norm(x, shape, weight, bias, eps):
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    wide = _at_least_f32(x)
    mean = hg.mean(wide, axis=axes, keepdims=True)
    rstd = hg.rsqrt(hg.var(wide, axis=axes, keepdims=True) + eps)
    return as_dtype(_normalized(wide, mean, rstd, weight, bias), x.dtype), mean, rstd


@row("native_group_norm.default")
def group_norm(x, weight, bias, batch, channels, pixels, groups, eps):
    grouped = hg.reshape(x, (batch, groups, channels // groups * pixels))
    wide = _at_least_f32(grouped)
    mean = hg.mean(wide, axis=2, keepdims=True)
    rstd = hg.rsqrt(hg.var(wide, axis=2, keepdims=True) + eps)
    made = hg.reshape((wide - mean) * rstd, x.shape)
    made = made if weight is None else made * _by_channel(weight, x.ndim)
    made = made if bias is None else made + _by_channel(bias, x.ndim)
    return as_dtype(made, x.dtype), hg.squeeze(mean, axis=2), hg.squeeze(rstd, axis=2)


# --- softmax and losses


@row("_softmax.default")
@_as_vector
def softmax(x, dim, half_to_float):
    return hg.softmax(as_dtype(x, hg.float32) if half_to_float else x, axis=dim)


@row("_log_softmax.default")
@_as_vector
def log_softmax(x, dim, half_to_float):
    return hg.log_softmax(as_dtype(x, hg.float32) if half_to_float else x, axis=dim)


@row("_softmax_backward_data.default")
def softmax_backward(grad, out, dim, dtype):
    scaled = grad * out
    return scaled - out * hg.sum(scaled, axis=dim, keepdims=True)


@row("_log_softmax_backward_data.default")
def log_softmax_backward(grad, out, dim, dtype):
    return grad - hg.exp(out) * hg.sum(grad, axis=dim, keepdims=True)


# --- resizing


def _resized(x, size, scales, **options):
    scales = [s for s in scales if s is not None]
    if len(scales) == 1 and isinstance(scales[0], (list, tuple)):
        scales = list(scales[0])
    if len(scales) == x.ndim - 2 and all(int(n * s) == m for n, s, m in zip(x.shape[2:], scales, size or ())):
        return nn.interpolate(x, scale_factor=scales, **options)
    return nn.interpolate(x, list(size), **options)


@row("upsample_nearest2d.default")
def upsample_nearest2d(x, size, *scales):
    return _resized(x, size, scales)


@row("upsample_bilinear2d.default")
def upsample_bilinear2d(x, size, align_corners, *scales):
    return _resized(x, size, scales, mode="bilinear", align_corners=align_corners)
