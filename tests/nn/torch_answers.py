#!/usr/bin/env python3
"""torch_answers.py OUT.json: what PyTorch answers to the cases of nn_torch_test, in float64.

    python3 -m venv build/torch-env && build/torch-env/bin/pip install torch
    build/torch-env/bin/python tests/nn/torch_answers.py tests/nn/torch_answers.json

Each case names a function of hologram::nn, which nn_torch_test calls with the same inputs. Inputs
are not in the file: both sides draw them from the same generator. All of them are exact in bf16.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F

from torch_losses import add_losses


def words(seed):
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def drawn(spec):
    """spec: [kind, shape, seed, …], or ["values", shape, [numbers]]."""
    kind, shape, seed = spec[:3]
    count = math.prod(shape)
    if kind == "values":
        return torch.tensor([float(v) for v in seed], dtype=torch.float64).reshape(shape)
    if kind == "integers":  # below spec[3]
        return torch.tensor([w % spec[3] for w, _ in zip(words(seed), range(count))]).reshape(shape)
    number = {
        "real": lambda w: (w % 81 - 40) / 16,  # -2.5 … 2.5
        "unit": lambda w: (w % 15 + 1) / 16,  # above 0, below 1
        "sign": lambda w: 1 - 2 * (w % 2),
        "bool": lambda w: w % 4 != 0,
    }[kind]
    numbers = [number(w) for w, _ in zip(words(seed), range(count))]
    dtype = torch.bool if kind == "bool" else torch.float64
    return torch.tensor(numbers, dtype=dtype).reshape(shape)


cases, modules = [], []


def outputs_of(result):
    results = result if isinstance(result, (tuple, list)) else [result]
    outputs = []
    for r in results:
        numbers = [str(v) if not math.isfinite(v) else float(f"{v:.10g}") for v in r.detach().double().flatten().tolist()]
        outputs.append({"shape": list(r.shape), "values": [int(v) if isinstance(v, float) and v == int(v) else v for v in numbers]})
    return outputs


def gradients_of(name, inputs, results, count):
    """By each float, of the first results that have one, with cotangents that are drawn."""
    if "special" in name or count == 0:
        return None
    results = [r for r in results[:count] if r.requires_grad]
    cotangents = [drawn(real(*r.shape, seed=70 + i)) for i, r in enumerate(results)]
    asked = [x for x in inputs if x.requires_grad]
    if not results or not asked:
        return None
    found = iter(torch.autograd.grad(results, asked, cotangents, allow_unused=True))
    all_of = [next(found) if x.requires_grad else None for x in inputs]
    return [None if g is None else outputs_of(g)[0]["values"] for g in all_of]


def case(name, specs, function, count=9):
    """`count` of the results have gradients."""
    floats = len(specs) if count > 0 else 0
    while True:  # some functions refuse to be differentiated by what comes last
        inputs = [drawn(s) for s in specs]
        for i, x in enumerate(inputs):
            x.requires_grad_(x.dtype.is_floating_point and i < floats)
        try:
            result = function(*inputs)
            break
        except RuntimeError:
            if floats == 0:
                raise
            floats -= 1
    results = result if isinstance(result, (tuple, list)) else [result]
    one = {"name": name, "inputs": specs, "outputs": outputs_of(result)}
    gradients = gradients_of(name, inputs, results, count)
    if gradients:
        one["gradients"] = gradients
    cases.append(one)


def module(name, made, specs, function):
    """A module whose state is drawn, too; the state afterwards belongs to the answer."""
    state = {}
    for seed, (key, value) in enumerate(made.state_dict().items(), 100):
        kind = ["integers", list(value.shape), seed, 3] if value.dtype == torch.int64 else ["unit", list(value.shape), seed]
        state[key] = kind
    made = made.double()
    made.load_state_dict({k: drawn(s) for k, s in state.items()})
    with torch.no_grad():
        outputs = outputs_of(function(made, *[drawn(s) for s in specs]))
    after = outputs_of([made.state_dict()[k] for k in sorted(state)])
    modules.append({"name": name, "state": state, "inputs": specs, "outputs": outputs, "after": after})


def real(*shape, seed=1):
    return ["real", list(shape), seed]


def unit(*shape, seed=1):
    return ["unit", list(shape), seed]


SPECIAL = ["values", [13], ["nan", "inf", "-inf", 0.0, -0.0, 1e30, -1e30, 20.5, -20.5, 0.5, -0.5, 3.0, -3.0]]


def activations():
    def both(name, function):
        case(name, [real(3, 4)], function)
        case(name + " of special values", [SPECIAL], function)

    both("relu", F.relu)
    both("gelu", F.gelu)
    both("gelu tanh", lambda x: F.gelu(x, approximate="tanh"))
    both("silu", F.silu)
    both("mish", F.mish)
    both("hardtanh", lambda x: F.hardtanh(x, -0.5, 1.5))
    both("relu6", F.relu6)
    both("hardsigmoid", F.hardsigmoid)
    both("hardswish", F.hardswish)
    both("leaky_relu", lambda x: F.leaky_relu(x, 0.25))
    both("elu", lambda x: F.elu(x, 1.5))
    both("celu", lambda x: F.celu(x, 1.5))
    both("selu", F.selu)
    both("softplus", F.softplus)
    both("softplus with beta and threshold", lambda x: F.softplus(x, 2, 1.5))
    both("softsign", F.softsign)
    both("logsigmoid", F.logsigmoid)
    both("tanhshrink", F.tanhshrink)
    both("hardshrink", lambda x: F.hardshrink(x, 1))
    both("softshrink", lambda x: F.softshrink(x, 1))
    both("threshold", lambda x: F.threshold(x, 0.25, -7))
    case("prelu", [real(2, 3, 2), real(3, seed=2)], F.prelu)
    case("prelu of one slope", [real(5), real(1, seed=2)], F.prelu)
    case("softmin", [real(3, 4)], lambda x: F.softmin(x, 0))
    case("softmax", [real(3, 4)], lambda x: F.softmax(x, -1))
    case("log_softmax", [real(3, 4)], lambda x: F.log_softmax(x, 0))
    case("glu", [real(3, 6)], lambda x: F.glu(x, -1))
    case("glu of axis 0", [real(4, 3)], lambda x: F.glu(x, 0))
    case("swiglu", [real(3, 6)], lambda x: F.silu(x[:, :3]) * x[:, 3:])


def linear():
    case("linear", [real(2, 3, 4), real(5, 4, seed=2), real(5, seed=3)], F.linear)
    case("linear without a bias", [real(3, 4), real(5, 4, seed=2)], F.linear)
    case("linear of a vector", [real(4), real(5, 4, seed=2), real(5, seed=3)], F.linear)
    case("linear to a number", [real(3, 4), real(4, seed=2)], F.linear)
    case("linear with gelu", [real(3, 4), real(5, 4, seed=2), real(5, seed=3)], lambda x, w, b: F.gelu(F.linear(x, w, b)))
    case("bilinear", [real(3, 4), real(3, 2, seed=2), real(5, 4, 2, seed=3), real(5, seed=4)], F.bilinear)


def convolutions():
    w1, w2 = real(4, 3, 3, seed=2), real(4, 3, 3, 2, seed=2)
    case("conv1d", [real(2, 3, 7), w1, real(4, seed=3)], lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1))
    case("conv1d same", [real(3, 6), real(4, 3, 4, seed=2)], lambda x, w: F.conv1d(x, w, padding="same", dilation=1))
    case("conv1d groups", [real(1, 4, 6), real(4, 2, 2, seed=2)], lambda x, w: F.conv1d(x, w, groups=2, dilation=2))
    case("conv2d", [real(1, 3, 5, 4), w2, real(4, seed=3)], lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 0)))
    case("conv2d dilated groups", [real(1, 4, 5, 5), real(4, 2, 2, 2, seed=2)], lambda x, w: F.conv2d(x, w, dilation=(1, 2), groups=2, padding=1))
    case("conv3d", [real(1, 2, 4, 3, 3), real(2, 2, 2, 2, 2, seed=2), real(2, seed=3)], lambda x, w, b: F.conv3d(x, w, b, stride=(2, 1, 1), padding=(1, 0, 1)))
    case("conv3d groups", [real(2, 4, 3, 2, 2), real(2, 2, 2, 1, 2, seed=2)], lambda x, w: F.conv3d(x, w, groups=2, dilation=(2, 1, 1)))
    case("conv_transpose1d", [real(2, 3, 4), real(3, 2, 3, seed=2), real(2, seed=3)], lambda x, w, b: F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1))
    case("conv_transpose2d", [real(1, 2, 3, 2), real(2, 3, 3, 2, seed=2)], lambda x, w: F.conv_transpose2d(x, w, stride=(2, 1), padding=(1, 0)))
    case("conv_transpose2d groups", [real(1, 4, 2, 2), real(4, 1, 2, 3, seed=2)], lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2, dilation=(1, 2), output_padding=1))
    case("conv_transpose2d padding beyond the kernel", [real(1, 1, 4, 5), real(1, 1, 2, 1, seed=2)], lambda x, w: F.conv_transpose2d(x, w, padding=(1, 2)))
    case("unfold", [real(1, 2, 4, 3)], lambda x: F.unfold(x, (2, 2), dilation=(2, 1), padding=(1, 0), stride=1))
    case("fold", [real(1, 8, 6)], lambda x: F.fold(x, (4, 3), (2, 2), dilation=1, padding=(0, 0), stride=1))
    case("fold with strides", [real(1, 4, 9)], lambda x: F.fold(x, (4, 4), (2, 2), padding=1, stride=2))


def pooling():
    case("max_pool1d", [real(2, 2, 7)], lambda x: F.max_pool1d(x, 3, 2, 1, ceil_mode=True))
    case("max_pool2d", [real(1, 2, 5, 6)], lambda x: F.max_pool2d(x, 2))
    case("max_pool2d ceil", [real(1, 2, 5, 6)], lambda x: F.max_pool2d(x, (3, 2), (2, 3), (1, 0), ceil_mode=True))
    case("max_pool2d dilated", [real(2, 6, 6)], lambda x: F.max_pool2d(x, 2, 1, 1, dilation=(2, 3)))
    case("max_pool3d", [real(1, 1, 4, 4, 4)], lambda x: F.max_pool3d(x, (2, 3, 2), (1, 1, 2), (1, 1, 0)))
    case("max_pool1d_with_indices", [real(2, 7)], lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True))
    case("max_pool2d_with_indices", [real(1, 2, 5, 6)], lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True))
    case("max_pool2d_with_indices dilated", [real(1, 1, 6, 6)], lambda x: F.max_pool2d(x, 2, 1, 1, dilation=2, return_indices=True))
    case("max_pool3d_with_indices", [real(1, 1, 4, 3, 4)], lambda x: F.max_pool3d(x, 2, return_indices=True, stride=1))
    odd = ["values", [1, 1, 4, 4], ["-inf", "-inf", 2, 2, "-inf", "-inf", 2, 2, 1, "nan", 0, -0.0, "nan", 3, -0.0, 0]]
    case("max_pool2d_with_indices of ties and NaN", [odd], lambda x: F.max_pool2d(x, 2, return_indices=True))
    case("max_unpool2d", [real(1, 2, 4, 4)], lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2))
    case("avg_pool1d", [real(2, 2, 7)], lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True))
    case("avg_pool2d", [real(1, 2, 5, 6)], lambda x: F.avg_pool2d(x, 2, padding=1))
    case("avg_pool2d ceil", [real(1, 1, 6, 7)], lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True))
    case("avg_pool2d ceil inside", [real(1, 1, 6, 7)], lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False))
    case("avg_pool2d divisor", [real(2, 5, 4)], lambda x: F.avg_pool2d(x, (2, 3), 1, divisor_override=5))
    case("avg_pool3d", [real(1, 1, 4, 4, 5)], lambda x: F.avg_pool3d(x, (2, 3, 2), (1, 1, 2), (1, 1, 0), count_include_pad=False))
    case("adaptive_avg_pool1d", [real(2, 7)], lambda x: F.adaptive_avg_pool1d(x, 3))
    case("adaptive_avg_pool2d", [real(1, 2, 7, 6)], lambda x: F.adaptive_avg_pool2d(x, (3, 2)))
    case("adaptive_avg_pool2d larger", [real(1, 1, 3, 2)], lambda x: F.adaptive_avg_pool2d(x, (5, None)))
    case("adaptive_avg_pool3d", [real(1, 1, 3, 4, 5)], lambda x: F.adaptive_avg_pool3d(x, 2))
    case("adaptive_max_pool1d", [real(2, 2, 7)], lambda x: F.adaptive_max_pool1d(x, 3))
    case("adaptive_max_pool2d", [real(1, 2, 7, 6)], lambda x: F.adaptive_max_pool2d(x, (3, 4)))
    case("adaptive_max_pool3d", [real(1, 1, 3, 4, 5)], lambda x: F.adaptive_max_pool3d(x, 2))


def normalization():
    c = [unit(3, seed=s) for s in (2, 3, 4, 5)]

    def trained(x, m, v, w, b):
        m, v = m.detach().clone(), v.detach().clone()
        y = F.batch_norm(x, m, v, w, b, training=True, momentum=0.2)
        return y, m, v

    case("batch_norm training", [real(4, 3, 2), *c], trained, 1)
    case("batch_norm training rows", [real(5, 3), *c], trained, 1)
    case("batch_norm", [real(2, 3, 2, 2), *c], lambda x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b, eps=1e-3))
    case("layer_norm", [real(2, 3, 4), real(3, 4, seed=2), real(3, 4, seed=3)], lambda x, w, b: F.layer_norm(x, (3, 4), w, b))
    case("layer_norm plain", [real(3, 5)], lambda x: F.layer_norm(x, (5,), eps=1e-3))
    case("rms_norm", [real(2, 3, 4), real(4, seed=2)], lambda x, w: F.rms_norm(x, (4,), w, eps=1e-5))
    case("rms_norm of two axes", [real(2, 3, 4)], lambda x: F.rms_norm(x, (3, 4), eps=1e-5))
    case("group_norm", [real(2, 4, 3), real(4, seed=2), real(4, seed=3)], lambda x, w, b: F.group_norm(x, 2, w, b))
    case("instance_norm", [real(2, 3, 4), real(3, seed=2), real(3, seed=3)], lambda x, w, b: F.instance_norm(x, weight=w, bias=b))
    case("instance_norm by running statistics", [real(2, 3, 2), *c[:2]], lambda x, m, v: F.instance_norm(x, m.detach(), v.detach(), use_input_stats=False))
    case("local_response_norm", [real(2, 5, 3)], lambda x: F.local_response_norm(x, 3, alpha=0.5, beta=0.6, k=2))
    case("local_response_norm even", [real(1, 5, 2)], lambda x: F.local_response_norm(x, 4))
    case("normalize", [real(3, 4)], F.normalize)
    case("normalize p 1", [real(3, 4)], lambda x: F.normalize(x, p=1, dim=0))
    case("normalize inf", [real(3, 4)], lambda x: F.normalize(x, p=math.inf))
    case("cosine_similarity", [real(3, 4), real(4, seed=2)], lambda a, b: F.cosine_similarity(a, b, dim=-1))
    case("pairwise_distance", [real(3, 4), real(3, 4, seed=2)], lambda a, b: F.pairwise_distance(a, b, p=3))


def rotated(x, cos, sin, interleaved=False):
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def angles(positions, dims, base=10000.0):
    return positions[..., None].double() / base ** (torch.arange(0, dims, 2).double() / dims)


def lookups():
    index = ["integers", [2, 3], 5, 4]
    case("embedding", [index, real(4, 3, seed=2)], F.embedding)
    case("embedding with padding", [index, real(4, 3, seed=2)], lambda i, w: F.embedding(i, w, padding_idx=-2))
    case("one_hot", [index], lambda i: F.one_hot(i, 5))
    case("one_hot without a number", [index], F.one_hot)
    a = lambda n, d, base=10000.0, offset=0, scale=1.0: angles((torch.arange(n) + offset) * scale, d, base)
    case("rope", [real(2, 3, 4)], lambda x: rotated(x, a(3, 4).cos(), a(3, 4).sin()))
    case("rope interleaved", [real(2, 3, 4)], lambda x: rotated(x, a(3, 4).cos(), a(3, 4).sin(), True))
    case("rope partial", [real(3, 6)], lambda x: torch.cat([rotated(x[:, :4], *[f(a(3, 4, 100.0, 7, 0.5)) for f in (torch.cos, torch.sin)]), x[:, 4:]], -1))
    case("rope positions", [real(2, 3, 4), index], lambda x, i: rotated(x, angles(i, 4).cos(), angles(i, 4).sin()))
    case("apply_rope", [real(2, 3, 4), real(3, 2, seed=2), real(3, 2, seed=3)], rotated)
    case("apply_rope of all features", [real(2, 3, 4), real(3, 4, seed=2), real(3, 4, seed=3)], lambda x, c, s: rotated(x, c[..., ::2], s[..., ::2], True))


def attention():
    q, k, v = real(2, 2, 3, 4), real(2, 2, 5, 4, seed=2), real(2, 2, 5, 3, seed=3)
    sdpa = F.scaled_dot_product_attention
    case("attention", [q, k, v], sdpa)
    case("attention without heads", [real(3, 4), real(5, 4, seed=2), real(5, 2, seed=3)], sdpa)
    case("attention causal", [q, real(2, 2, 3, 4, seed=2), real(2, 2, 3, 4, seed=3)], lambda q, k, v: sdpa(q, k, v, is_causal=True, scale=0.25))
    case("attention bool mask", [q, k, v, ["bool", [3, 5], 7]], lambda q, k, v, m: sdpa(q, k, v, attn_mask=m))
    case("attention added mask", [q, k, v, real(2, 1, 3, 5, seed=7)], lambda q, k, v, m: sdpa(q, k, v, attn_mask=m))
    none = ["values", [2, 3], [0, 0, 0, 1, 1, 0]]
    case("attention to nothing", [real(1, 2, 4), real(1, 3, 4, seed=2), real(1, 3, 4, seed=3), none], lambda q, k, v, m: sdpa(q, k, v, attn_mask=m != 0))
    case("attention grouped", [real(1, 4, 3, 4), real(1, 2, 5, 4, seed=2), real(1, 2, 5, 3, seed=3)], lambda q, k, v: sdpa(q, k, v, enable_gqa=True))
    case("attention grouped causal", [real(2, 4, 5, 4), real(2, 2, 5, 4, seed=2), real(2, 2, 5, 3, seed=3)], lambda q, k, v: sdpa(q, k, v, enable_gqa=True, is_causal=True))

    def full(q, k, v, seen=None, cap=None, sinks=None):
        s = q @ k.mT / math.sqrt(q.shape[-1])
        s = cap * torch.tanh(s / cap) if cap else s
        s = s if seen is None else s.masked_fill(~seen, -math.inf)
        if sinks is not None:
            s = torch.cat([s, sinks[:, None, None].expand(*s.shape[:-1], 1)], -1)
        return s.softmax(-1)[..., : k.shape[-2]] @ v

    i, j = torch.arange(3)[:, None] + 2, torch.arange(5)
    case("attention softcap", [q, k, v], lambda q, k, v: full(q, k, v, cap=1.5))
    case("attention window", [q, k, v], lambda q, k, v: full(q, k, v, seen=(j <= i) & (j >= i - 1)))
    case("attention both sides", [q, k, v], lambda q, k, v: full(q, k, v, seen=(j <= i - 2 + 1) & (j >= i - 2 - 1)))
    case("attention sinks", [q, k, v, real(2, seed=9)], lambda q, k, v, s: full(q, k, v, sinks=s))


def images():
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        case("interpolate " + mode, [real(1, 2, 3, 4)], lambda x, m=mode: F.interpolate(x, size=(5, 3), mode=m))
        case("interpolate by a factor " + mode, [real(1, 1, 3, 4)], lambda x, m=mode: F.interpolate(x, scale_factor=(1.7, 2.0), mode=m))
    for mode in ("bilinear", "bicubic"):
        case("interpolate corners " + mode, [real(1, 1, 3, 4)], lambda x, m=mode: F.interpolate(x, size=(5, 1), mode=m, align_corners=True))
        case("interpolate recompute " + mode, [real(1, 1, 3, 4)], lambda x, m=mode: F.interpolate(x, scale_factor=1.6, mode=m, recompute_scale_factor=True))
    case("interpolate linear", [real(2, 2, 4)], lambda x: F.interpolate(x, size=7, mode="linear"))
    case("interpolate trilinear", [real(1, 1, 2, 3, 2)], lambda x: F.interpolate(x, size=(3, 2, 4), mode="trilinear"))
    case("interpolate area", [real(1, 1, 5, 4)], lambda x: F.interpolate(x, size=(2, 3), mode="area"))
    case("pixel_shuffle", [real(1, 8, 2, 3)], lambda x: F.pixel_shuffle(x, 2))
    case("pixel_unshuffle", [real(2, 4, 6)], lambda x: F.pixel_unshuffle(x, 2))
    case("channel_shuffle", [real(1, 6, 2)], lambda x: torch.nn.ChannelShuffle(3)(x))
    case("pad", [real(2, 3, 4)], lambda x: F.pad(x, (1, -1, -1, 2), value=7))
    for mode in ("reflect", "replicate", "circular"):
        case("pad " + mode, [real(1, 2, 3, 4)], lambda x, m=mode: F.pad(x, (2, 3, 1, 0), mode=m))


def optimizers():
    def steps(make, p, *gradients):
        p = p.clone().requires_grad_()
        optimizer = make([p])
        for g in gradients:
            p.grad = g
            optimizer.step()
        return p.detach()

    given = [real(2, 3), *[real(2, 3, seed=s) for s in (2, 3, 4)]]
    o = torch.optim
    case("adam", given, lambda *x: steps(lambda p: o.Adam(p, lr=0.1, weight_decay=0.1), *x), 0)
    case("adam amsgrad", given, lambda *x: steps(lambda p: o.Adam(p, lr=0.1, amsgrad=True, betas=(0.5, 0.6), maximize=True), *x), 0)
    case("adamw", given, lambda *x: steps(lambda p: o.AdamW(p, lr=0.1, weight_decay=0.1, eps=0.01), *x), 0)
    case("sgd", given, lambda *x: steps(lambda p: o.SGD(p, lr=0.1, weight_decay=0.1), *x), 0)
    case("sgd momentum", given, lambda *x: steps(lambda p: o.SGD(p, lr=0.1, momentum=0.9, dampening=0.5), *x), 0)
    case("sgd nesterov", given, lambda *x: steps(lambda p: o.SGD(p, lr=0.1, momentum=0.9, nesterov=True), *x), 0)


def layers():
    n = torch.nn
    run = lambda m, x: m(x)
    module("Linear", n.Linear(3, 2), [real(2, 3)], run)
    module("Linear without a bias", n.Linear(3, 2, bias=False), [real(2, 3)], run)
    module("Conv2d", n.Conv2d(2, 4, (3, 2), stride=2, padding=1, groups=2), [real(1, 2, 4, 4)], run)
    module("BatchNorm2d training", n.BatchNorm2d(3), [real(2, 3, 2, 2)], run)
    module("BatchNorm2d cumulative", n.BatchNorm2d(3, momentum=None), [real(2, 3, 2, 2)], run)
    module("BatchNorm2d", n.BatchNorm2d(3), [real(2, 3, 2, 2)], lambda m, x: m.eval()(x))
    module("LayerNorm", n.LayerNorm((2, 3)), [real(2, 2, 3)], run)
    module("RMSNorm", n.RMSNorm(4), [real(2, 4)], run)
    module("Embedding", n.Embedding(5, 2), [["integers", [2, 3], 9, 5]], run)
    convolutional = n.Sequential(n.Conv2d(1, 2, 3, padding=1), n.BatchNorm2d(2), n.ReLU(), n.Flatten(), n.Linear(18, 3))
    module("Sequential", convolutional, [real(2, 1, 3, 3)], lambda m, x: m.eval()(x))
    q, k, v = real(2, 3, 4), real(2, 5, 4, seed=2), real(2, 5, 4, seed=3)
    attend = lambda m, q, k, v: m(q, k, v, need_weights=False)[0]
    module("MultiheadAttention", n.MultiheadAttention(4, 2), [real(3, 2, 4), real(5, 2, 4, seed=2), real(5, 2, 4, seed=3)], attend)
    module("MultiheadAttention batch first", n.MultiheadAttention(4, 2, batch_first=True, bias=False), [q, k, v], attend)
    hidden = ["bool", [3, 5], 4]
    def trained(m, x, t):
        optimizer, losses = torch.optim.AdamW(m.parameters(), lr=0.01, weight_decay=0.1), []
        with torch.enable_grad():
            for _ in range(4):
                optimizer.zero_grad()
                loss = F.mse_loss(m(x), t)
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
        return torch.stack(losses)

    perceptron = n.Sequential(n.Linear(3, 5, bias=False), n.BatchNorm1d(5), n.GELU(), n.Linear(5, 2))
    module("four steps of AdamW", perceptron, [real(6, 3), real(6, 2, seed=2)], trained)
    masked = lambda m, q, k, v, h: m(q, k, v, attn_mask=~h, need_weights=False)[0]
    module("MultiheadAttention masked", n.MultiheadAttention(4, 2, batch_first=True), [q, k, v, hidden], masked)


def main():
    for part in (activations, linear, convolutions, pooling, normalization, lookups, attention, images, optimizers, layers):
        part()
    add_losses(case, real, unit)
    lines, more = (",\n".join(json.dumps(c) for c in part) for part in (cases, modules))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(f'{{"torch": "{torch.__version__.split("+")[0]}", "cases": [\n{lines}\n],\n"modules": [\n{more}\n]}}\n')
    print(len(cases), "cases")


main()
