"""Types of the package. Written by python/tools/make_stubs.py."""

import builtins
from collections.abc import Sequence
from typing import Any

from .. import Tensor

from .. import log_softmax as log_softmax
from .. import relu as relu
from .. import sigmoid as sigmoid
from .. import silu as silu
from .. import softmax as softmax
from .. import tanh as tanh
from ._layers import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from ._layers import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from ._layers import AvgPool1d as AvgPool1d
from ._layers import AvgPool2d as AvgPool2d
from ._layers import AvgPool3d as AvgPool3d
from ._layers import ELU as ELU
from ._layers import GELU as GELU
from ._layers import Hardsigmoid as Hardsigmoid
from ._layers import Hardswish as Hardswish
from ._layers import LeakyReLU as LeakyReLU
from ._layers import LogSoftmax as LogSoftmax
from ._layers import MaxPool1d as MaxPool1d
from ._layers import MaxPool2d as MaxPool2d
from ._layers import MaxPool3d as MaxPool3d
from ._layers import Mish as Mish
from ._layers import ReLU as ReLU
from ._layers import ReLU6 as ReLU6
from ._layers import SELU as SELU
from ._layers import SiLU as SiLU
from ._layers import Sigmoid as Sigmoid
from ._layers import Softmax as Softmax
from ._layers import Softplus as Softplus
from ._layers import Tanh as Tanh
from ._modules import BatchNorm1d as BatchNorm1d
from ._modules import BatchNorm2d as BatchNorm2d
from ._modules import BatchNorm3d as BatchNorm3d
from ._modules import Conv1d as Conv1d
from ._modules import Conv2d as Conv2d
from ._modules import Conv3d as Conv3d
from ._modules import ConvTranspose1d as ConvTranspose1d
from ._modules import ConvTranspose2d as ConvTranspose2d
from ._modules import Dropout as Dropout
from ._modules import Embedding as Embedding
from ._modules import Flatten as Flatten
from ._modules import GroupNorm as GroupNorm
from ._modules import Identity as Identity
from ._modules import LayerNorm as LayerNorm
from ._modules import Linear as Linear
from ._modules import Module as Module
from ._modules import ModuleList as ModuleList
from ._modules import MultiheadAttention as MultiheadAttention
from ._modules import PReLU as PReLU
from ._modules import RMSNorm as RMSNorm
from ._modules import Sequential as Sequential
from ._precision import LossScale as LossScale
from ._precision import MixedPrecision as MixedPrecision
from ._training import value_and_grad as value_and_grad

def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Windows such that the result has these spatial lengths."""

def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Windows such that the result has these spatial lengths."""

def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Windows such that the result has these spatial lengths."""

def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Windows such that the result has these spatial lengths."""

def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Windows such that the result has these spatial lengths."""

def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Windows such that the result has these spatial lengths."""

def apply_rope(x: Tensor, cos: Tensor, sin: Tensor, pairs: str = ...) -> Tensor:
    """The same by cosines and sines of the angles, [..., length, dims / 2] or [..., length, dims]."""

def attention_weights(query: Tensor, key: Tensor, attn_mask: Tensor | None = ..., is_causal: builtins.bool = ..., *, scale: float | None = ..., enable_gqa: builtins.bool = ..., softcap: float = ..., window: tuple[int | None, int | None] | None = ..., query_offset: int = ..., sinks: Tensor | None = ..., query_position: Tensor | None = ...) -> Tensor:
    """The weights of scaled_dot_product_attention: [..., heads, queries, keys]."""

def avg_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: int | None = ...) -> Tensor:
    """The mean of each window of [batch, channels, spatial axes...]."""

def avg_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: int | None = ...) -> Tensor:
    """The mean of each window of [batch, channels, spatial axes...]."""

def avg_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: int | None = ...) -> Tensor:
    """The mean of each window of [batch, channels, spatial axes...]."""

def batch_norm(x: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = ..., bias: Tensor | None = ..., training: builtins.bool = ..., momentum: float = ..., eps: float = ...) -> Any:
    """(output, running_mean, running_var) of [batch, channels, ...]: the running statistics are the
    new ones in training, else those given.
    """

def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """The sum over i, j of x1[..., i] * weight[o, i, j] * x2[..., j], and bias[o]."""

def binary_cross_entropy(p: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
    """-(t * log(p) + (1 - t) * log(1 - p)), each logarithm at least -100."""

def binary_cross_entropy_with_logits(logits: Tensor, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ..., pos_weight: Tensor | None = ...) -> Tensor:
    """binary_cross_entropy of sigmoid(logits), without overflow."""

def celu(x: Tensor, alpha: float = ...) -> Tensor:
    """x, or alpha * (exp(x / alpha) - 1) below 0."""

def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """[batch, groups * n, ...]: channel g * n + i goes to i * groups + g."""

def clip_by_norm(gradients: Any, max_norm: float) -> Any:
    """(gradients, norm): scaled down together if their norm is above max_norm."""

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: int | Sequence[int] = ..., padding: int | Sequence[int] | str = ..., dilation: int | Sequence[int] = ..., groups: int = ...) -> Tensor:
    """Convolution of input [batch, channels, spatial axes...] by weight [outputs, channels / groups,
    kernel...]; padding: numbers, 'same' or 'valid'. The batch may be missing.
    """

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: int | Sequence[int] = ..., padding: int | Sequence[int] | str = ..., dilation: int | Sequence[int] = ..., groups: int = ...) -> Tensor:
    """Convolution of input [batch, channels, spatial axes...] by weight [outputs, channels / groups,
    kernel...]; padding: numbers, 'same' or 'valid'. The batch may be missing.
    """

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: int | Sequence[int] = ..., padding: int | Sequence[int] | str = ..., dilation: int | Sequence[int] = ..., groups: int = ...) -> Tensor:
    """Convolution of input [batch, channels, spatial axes...] by weight [outputs, channels / groups,
    kernel...]; padding: numbers, 'same' or 'valid'. The batch may be missing.
    """

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: int | Sequence[int] = ..., padding: int | Sequence[int] = ..., output_padding: int | Sequence[int] = ..., groups: int = ..., dilation: int | Sequence[int] = ...) -> Tensor:
    """The adjoint of a convolution with weight [channels, outputs / groups, kernel...]."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: int | Sequence[int] = ..., padding: int | Sequence[int] = ..., output_padding: int | Sequence[int] = ..., groups: int = ..., dilation: int | Sequence[int] = ...) -> Tensor:
    """The adjoint of a convolution with weight [channels, outputs / groups, kernel...]."""

def cosine_embedding_loss(x1: Tensor, x2: Tensor, target: Tensor, *, margin: float = ..., reduction: str = ...) -> Tensor:
    """1 - cosine of rows where target is 1, else max(0, cosine - margin)."""

def cosine_schedule(lr: float, step: int, warmup: int, total: int, least: float = ...) -> float:
    """A learning rate that rises in a line over `warmup` steps, and falls by half a cosine to
    `least` of it at step `total`.
    """

def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = ..., eps: float = ...) -> Tensor:
    """sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps)) along an axis."""

def cross_entropy(logits: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: int = ..., reduction: str = ..., label_smoothing: float = ...) -> Tensor:
    """-weight[t] * log_softmax(logits)[t] of logits [batch, classes, ...] and integers
    [batch, ...], or probabilities of the logits' shape. The mean is weighted.
    """

def dropout(x: Tensor, p: float = ..., training: builtins.bool = ..., *, by_channel: builtins.bool = ...) -> Tensor:
    """Each element 0 with probability p, else divided by 1 - p; x itself unless training.
    by_channel drops whole channels, axis 1.
    """

def elu(x: Tensor, alpha: float = ...) -> Tensor:
    """x, or alpha * (exp(x) - 1) below 0."""

def embedding(indices: Tensor, weight: Tensor, padding_idx: int | None = ...) -> Tensor:
    """Rows of weight [rows, features] by integers of any shape: [..., features]. The row of
    padding_idx gets no gradient.
    """

def fold(input: Tensor, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = ..., padding: int | Sequence[int] = ..., stride: int | Sequence[int] = ...) -> Tensor:
    """The sum of such columns, each where it came from."""

def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor, *, full: builtins.bool = ..., eps: float = ..., reduction: str = ...) -> Tensor:
    """(log(v) + (x - target)^2 / v) / 2 with v = max(var, eps)."""

def gelu(x: Tensor, *, approximate: str = ...) -> Tensor:
    """x / 2 * (1 + erf(x / sqrt(2))), or its approximation by 'tanh'."""

def global_avg_pool(input: Tensor) -> Tensor:
    """The mean over all spatial axes, which stay with a length of 1."""

def global_max_pool(input: Tensor) -> Tensor:
    """The largest over all spatial axes, which stay with a length of 1."""

def glu(x: Tensor, axis: int = ...) -> Tensor:
    """a * sigmoid(b) of the first and second half along an axis."""

def group_norm(x: Tensor, num_groups: int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: float = ...) -> Tensor:
    """Over so many groups of channels of [batch, channels, ...], of each image by itself."""

def hardshrink(x: Tensor, lambd: float = ...) -> Tensor:
    """x, or 0 where |x| <= lambd."""

def hardsigmoid(x: Tensor) -> Tensor:
    """relu6(x + 3) / 6."""

def hardswish(x: Tensor) -> Tensor:
    """x * relu6(x + 3) / 6."""

def hardtanh(x: Tensor, min_val: float = ..., max_val: float = ...) -> Tensor:
    """clip(x, min_val, max_val)."""

def hinge_embedding_loss(x: Tensor, target: Tensor, *, margin: float = ..., reduction: str = ...) -> Tensor:
    """x where target is 1, else max(0, margin - x)."""

def huber_loss(x: Tensor, target: Tensor, *, reduction: str = ..., delta: float = ...) -> Tensor:
    """delta * smooth_l1_loss with beta = delta."""

def instance_norm(x: Tensor, running_mean: Tensor | None = ..., running_var: Tensor | None = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: builtins.bool = ..., eps: float = ...) -> Tensor:
    """Over each channel of each image."""

def interpolate(x: Tensor, size: Any | None = ..., scale_factor: Any | None = ..., mode: str = ..., align_corners: builtins.bool = ..., recompute_scale_factor: builtins.bool = ...) -> Tensor:
    """x [batch, channels, spatial axes...] in another size, by 'nearest', 'nearest-exact',
    'linear' (also called 'bilinear', 'trilinear'), 'bicubic' or 'area'.
    """

def kl_div(x: Tensor, target: Tensor, *, reduction: str = ..., log_target: builtins.bool = ...) -> Tensor:
    """target * (log(target) - x) of logarithms x; of log_target: exp(target) * (target - x)."""

def l1_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """|x - target|."""

def layer_norm(x: Tensor, normalized_shape: Any, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: float = ...) -> Tensor:
    """Mean 0 and variance 1 over the last axes, whose lengths are normalized_shape."""

def leaky_relu(x: Tensor, negative_slope: float = ...) -> Tensor:
    """x, or negative_slope * x below 0."""

def linear(x: Tensor, weight: Tensor, bias: Tensor | None = ..., activation: str = ..., *, out_dtype: Any | None = ...) -> Tensor:
    """activation(x @ weight.T + bias) of x [..., in], weight [out, in] and bias [out].
    out_dtype: float32 keeps the sums of float16 and bfloat16.
    """

def local_response_norm(x: Tensor, size: int, alpha: float = ..., beta: float = ..., k: float = ...) -> Tensor:
    """x / (k + alpha * mean(x * x of `size` neighbouring channels))^beta."""

def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x))."""

def margin_ranking_loss(x1: Tensor, x2: Tensor, target: Tensor, *, margin: float = ..., reduction: str = ...) -> Tensor:
    """max(0, -target * (x1 - x2) + margin)."""

def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] = ..., dilation: int | Sequence[int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ...) -> Any:
    """The largest element of each window of [batch, channels, spatial axes...]; return_indices:
    (values, int64 places in the input's spatial axes).
    """

def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] = ..., dilation: int | Sequence[int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ...) -> Any:
    """The largest element of each window of [batch, channels, spatial axes...]; return_indices:
    (values, int64 places in the input's spatial axes).
    """

def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = ..., padding: int | Sequence[int] = ..., dilation: int | Sequence[int] = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ...) -> Any:
    """The largest element of each window of [batch, channels, spatial axes...]; return_indices:
    (values, int64 places in the input's spatial axes).
    """

def max_unpool2d(pooled: Tensor, indices: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Zeros of these lengths with `pooled` put back at the indices that pooling gave."""

def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x))."""

def mse_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """(x - target)^2."""

def nll_loss(log_probabilities: Tensor, target: Tensor, weight: Tensor | None = ..., *, ignore_index: int = ..., reduction: str = ...) -> Tensor:
    """cross_entropy of logarithms of probabilities."""

def normalize(x: Tensor, p: float = ..., axis: int = ..., eps: float = ...) -> Tensor:
    """x / max(norm(x), eps) along an axis."""

def one_hot(indices: Tensor, num_classes: int = ...) -> Tensor:
    """int64 [..., classes]: 1 at each integer's place."""

def pad(x: Tensor, pad: Sequence[int], mode: str = ..., value: Any = ...) -> Tensor:
    """Elements before and after the last axis, the one before it, ...: (left, right, top, ...);
    negative ones cut off. Modes: 'constant', 'reflect', 'replicate', 'circular'.
    """

def pairwise_distance(x1: Tensor, x2: Tensor, p: float = ..., eps: float = ..., keepdims: builtins.bool = ...) -> Tensor:
    """norm(x1 - x2 + eps) along the last axis."""

def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    """[..., channels * r * r, height, width] to [..., channels, height * r, width * r]."""

def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of pixel_shuffle."""

def poisson_nll_loss(x: Tensor, target: Tensor, *, log_input: builtins.bool = ..., full: builtins.bool = ..., eps: float = ..., reduction: str = ...) -> Tensor:
    """exp(x) - target * x, or x - target * log(x + eps)."""

def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """The same with slopes that are learned: one, or one a channel, axis 1."""

def relu6(x: Tensor) -> Tensor:
    """clip(x, 0, 6)."""

def rms_norm(x: Tensor, normalized_shape: Any, weight: Tensor | None = ..., eps: float | None = ...) -> Tensor:
    """x / sqrt(mean(x * x) + eps) * weight over the last axes."""

def rope(x: Tensor, *, dims: int = ..., base: float = ..., scale: float = ..., offset: int = ..., positions: Tensor | None = ..., frequencies: Tensor | None = ..., pairs: str = ...) -> Tensor:
    """Rotary position embedding of x [..., length, features]: pairs 'halves' (i, i + dims / 2) or
    'interleaved' (2 i, 2 i + 1) turn by position * scale * base^(-2 i / dims).
    """

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: float = ..., is_causal: builtins.bool = ..., *, scale: float | None = ..., enable_gqa: builtins.bool = ..., softcap: float = ..., window: tuple[int | None, int | None] | None = ..., query_offset: int = ..., sinks: Tensor | None = ..., query_position: Tensor | None = ...) -> Tensor:
    """softmax(scale * query @ key.mT + mask) @ value of [..., heads, length, features]. A bool
    mask is true where a key may be seen. window: (before, after) of a sliding window, each
    may be None; query_offset: the position of the first query among the keys; sinks [heads]:
    one more score a head. query_position: an integer tensor of one element, which is added to
    query_offset, and read when the result is computed: by each launch of a captured graph.
    """

def selu(x: Tensor) -> Tensor:
    """scale * elu(x, alpha) with the constants of self-normalising networks."""

def smooth_l1_loss(x: Tensor, target: Tensor, *, reduction: str = ..., beta: float = ...) -> Tensor:
    """d^2 / (2 beta) for d = |x - target| < beta, else d - beta / 2."""

def soft_margin_loss(x: Tensor, target: Tensor, *, reduction: str = ...) -> Tensor:
    """log(1 + exp(-target * x)) of targets 1 and -1."""

def softmin(x: Tensor, axis: int = ...) -> Tensor:
    """softmax(-x)."""

def softplus(x: Tensor, beta: float = ..., threshold: float = ...) -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x where beta * x > threshold."""

def softshrink(x: Tensor, lambd: float = ...) -> Tensor:
    """What of x lies beyond lambd, or 0 where |x| <= lambd."""

def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)."""

def swiglu(gate: Tensor, value: Tensor) -> Tensor:
    """silu(gate) * value."""

def tanhshrink(x: Tensor) -> Tensor:
    """x - tanh(x)."""

def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """x where it is above the threshold, else the value."""

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, margin: float = ..., p: float = ..., eps: float = ..., swap: builtins.bool = ..., reduction: str = ...) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin)."""

def unfold(input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = ..., padding: int | Sequence[int] = ..., stride: int | Sequence[int] = ...) -> Tensor:
    """Windows as columns: [batch, channels * kernel's elements, windows]."""
