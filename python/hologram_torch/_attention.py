"""Attention that stays one operation from a model to a graph, forward and backward.

While aot_autograd traces, Whole puts hologram.attention in the place of scaled_dot_product_attention, which
PyTorch would take apart. Its gradient is hologram.attention_changes. A graph that PyTorch has to compute finds
both here in its own operations.
"""

import math
import numbers
from types import FunctionType

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

import hologram as hg
from hologram import _core

from ._table import row

_OPTIONS = "bool is_causal, float? scale, bool enable_gqa"
_library = torch.library.Library("hologram", "DEF")
_library.define(
    f"attention(Tensor query, Tensor key, Tensor value, Tensor? mask, {_OPTIONS}, bool keeps) -> (Tensor, Tensor)"
)
_library.define(
    "attention_changes(Tensor change, Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor result, "
    f"Tensor kept, {_OPTIONS}) -> (Tensor, Tensor, Tensor)"
)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
# In elements of the result's dtype, as hologram lays out what it keeps: the result, then the logs.
_SECTION_BYTES = 256


# --- what is traced


def _wide(dtype):
    return torch.float64 if dtype == torch.float64 else torch.float32


def _sections(result):
    """Where the logs begin in what is kept, and how many elements all of it has."""
    unit = _SECTION_BYTES // result.element_size()
    logs = math.prod(result.shape[:-1]) * (_wide(result.dtype).itemsize // result.element_size())
    begin = (result.numel() + unit - 1) // unit * unit
    return begin, begin + (logs + unit - 1) // unit * unit


def _result_like(query, value):
    """In the order of the query's axes: heads behind the length, if they are there."""
    *lead, length, _ = query.shape
    shape = (*lead, length, value.shape[-1])
    if len(shape) == 4 and not query.is_contiguous() and query.transpose(1, 2).is_contiguous():
        return query.new_empty((shape[0], shape[2], shape[1], shape[3])).transpose(1, 2)
    return query.new_empty(shape)


@torch.library.register_fake("hologram::attention", lib=_library)
def _(query, key, value, mask, is_causal, scale, enable_gqa, keeps):
    result = _result_like(query, value)
    return result, query.new_empty((_sections(result)[1] if keeps else 0,))


@torch.library.register_fake("hologram::attention_changes", lib=_library)
def _(change, query, key, value, mask, result, kept, *options):
    return tuple(x.new_empty(x.shape) for x in (query, key, value))


def _keep_for_gradient(ctx, inputs, output):
    query, key, value, mask, *ctx.options, _ = inputs
    ctx.save_for_backward(query, key, value, mask, *output)
    ctx.mark_non_differentiable(output[1])


def _gradient(ctx, change, _):
    changes = torch.ops.hologram.attention_changes(change, *ctx.saved_tensors, *ctx.options)
    return (*changes, *[None] * 5)


torch.library.register_autograd(
    "hologram::attention", _gradient, setup_context=_keep_for_gradient, lib=_library
)


# --- in the place of PyTorch's


def _can_be_whole(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa):
    """Other calls are PyTorch's to take apart, or to refuse."""
    tensors = (query, key, value)
    if not all(isinstance(x, torch.Tensor) and x.layout == torch.strided for x in tensors):
        return False
    if not (isinstance(dropout_p, numbers.Real) and dropout_p == 0 and isinstance(scale, numbers.Real | None)):
        return False
    if {x.dtype for x in tensors} != {query.dtype} or query.dtype not in _FLOATS:
        return False
    if min(x.ndim for x in tensors) < 3 or len({x.ndim for x in tensors}) > 1:
        return False
    if enable_gqa and (key.shape[-3] != value.shape[-3] or query.shape[-3] % max(key.shape[-3], 1)):
        return False
    if mask is None:
        return True
    # A mask's gradient has as many elements as there are scores.
    changes = mask.requires_grad and torch.is_grad_enabled()
    return not is_causal and not changes and mask.ndim >= 2 and mask.dtype in (torch.bool, query.dtype)


def _autocast(x):
    device = x.device.type
    if not torch.is_autocast_enabled(device) or x.dtype not in _FLOATS[:3]:
        return x
    return x.to(torch.get_autocast_dtype(device))


class Whole(TorchFunctionMode):
    """keeps: whether an executor's gradients need more than the result."""

    def __init__(self, keeps):
        super().__init__()
        self.keeps = keeps
        # Functions of PyTorch in Python are called as one, and the mode is off inside.
        inside = {**F.__dict__, "has_torch_function": lambda _: False, "scaled_dot_product_attention": self.attention}
        whole, options = F.multi_head_attention_forward, {}
        options["argdefs"], options["closure"] = whole.__defaults__, whole.__closure__
        heads = FunctionType(whole.__code__, inside, whole.__name__, **options)
        heads.__kwdefaults__ = whole.__kwdefaults__
        self._instead = {F.scaled_dot_product_attention: self.attention, whole: heads}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return self._instead.get(function, function)(*args, **(kwargs or {}))

    def attention(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                  enable_gqa=False):  # fmt: skip
        given = query, key, value, attn_mask
        if all(isinstance(x, torch.Tensor | None) for x in given):
            query, key, value, attn_mask = (None if x is None else _autocast(x) for x in given)
        if not _can_be_whole(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
            return F.scaled_dot_product_attention(
                *given, dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)  # fmt: skip
        # Each operand gets all axes before the length, so that its gradient has its shape.
        axes = -3 if enable_gqa else -2
        lead = torch.broadcast_shapes(*(x.shape[:axes] for x in (query, key, value)))
        operands = [x.expand(*lead, *x.shape[axes:]) for x in (query, key, value)]
        scale = None if scale is None else float(scale)
        options = bool(is_causal), scale, bool(enable_gqa)
        return torch.ops.hologram.attention(*operands, attn_mask, *options, self.keeps)[0]


def without_what_nobody_keeps(graph):
    """Attention without a gradient keeps nothing."""
    for node in graph.nodes:
        if node.target is torch.ops.hologram.attention.default and not any(u.args[1] == 1 for u in node.users):
            node.args = (*node.args[:-1], False)


# --- by hologram


def _attention(query, key, value, mask, is_causal, scale, enable_gqa):
    return hg.nn.scaled_dot_product_attention(
        query, key, value, mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa)  # fmt: skip


@row("scaled_dot_product_attention.default")
def attention(query, key, value, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if dropout_p:
        raise NotImplementedError("attention with dropout that was not taken apart")
    return _attention(query, key, value, mask, is_causal, scale, enable_gqa)


@row("hologram.attention.default")
def attention_with_kept(query, key, value, mask, is_causal, scale, enable_gqa, keeps):
    if keeps:
        return _core.nn._attention_with_kept(query, key, value, mask, is_causal, scale, enable_gqa)
    result = _attention(query, key, value, mask, is_causal, scale, enable_gqa)
    return result, hg.zeros((0,), dtype=result.dtype, device=result.executor)


@row("hologram.attention_changes.default")
def attention_changes(change, query, key, value, mask, result, kept, *options):
    return _core.nn._attention_changes(query, key, value, result, kept, change, mask, *options)


# --- by PyTorch, in graphs that hologram does not compute


def _weights(query, key, mask, is_causal, scale, enable_gqa):
    """The weights and the logs of the sums of exponentials; the key as wide as these, for each head."""
    query, key = (x.to(_wide(x.dtype)) for x in (query, key))
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        mask = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    logs = scores.logsumexp(-1)
    sees_nothing = logs.unsqueeze(-1) == -torch.inf
    return (scores - logs.unsqueeze(-1)).exp().masked_fill(sees_nothing, 0), logs, key


@torch.library.impl("hologram::attention", "CompositeExplicitAutograd", lib=_library)
def _(query, key, value, mask, is_causal, scale, enable_gqa, keeps):
    weights, logs, _ = _weights(query, key, mask, is_causal, scale, enable_gqa)
    if enable_gqa:
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    result = _result_like(query, value)
    result.copy_(weights @ value.to(weights.dtype))
    if not keeps:
        return result, query.new_empty((0,))
    begin, size = _sections(result)
    kept = query.new_zeros((size,))
    kept[: result.numel()] = result.flatten()
    bits = logs.contiguous().view(query.dtype).flatten()
    kept[begin : begin + bits.numel()] = bits
    return result, kept


@torch.library.impl("hologram::attention_changes", "CompositeExplicitAutograd", lib=_library)
def _(change, query, key, value, mask, result, kept, is_causal, scale, enable_gqa):
    weights, _, wide_key = _weights(query, key, mask, is_causal, scale, enable_gqa)
    change, wide = change.to(weights.dtype), value.to(weights.dtype)
    groups = query.shape[-3] // key.shape[-3] if enable_gqa else 1
    of_weights = change @ (wide.repeat_interleave(groups, -3) if groups > 1 else wide).mT
    of_scores = weights * (of_weights - (change * result).sum(-1, keepdim=True))
    of_scores = of_scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    changes = [of_scores @ wide_key, of_scores.mT @ query.to(weights.dtype), weights.mT @ change]
    if groups > 1:
        changes[1:] = [x.unflatten(-3, (-1, groups)).sum(-3) for x in changes[1:]]
    return tuple(x.to(like.dtype).contiguous() for x, like in zip(changes, (query, key, value)))
