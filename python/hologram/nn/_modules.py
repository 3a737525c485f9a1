"""Layers and models: tensors with names, and a function of them."""

import math as _math

from .. import _core, _dtypes
from .._creation import asarray, ones, zeros
from .._errors import InvalidArgument, ShapeMismatch
from .._files import load as _load, save as _save
from ..random import normal, uniform

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "Dropout", "Embedding", "Flatten", "GroupNorm", "Identity", "LayerNorm",
    "Linear", "Module", "ModuleList", "MultiheadAttention", "PReLU", "RMSNorm", "Sequential",
]  # fmt: skip

_nn, _Tensor = _core.nn, _core.Tensor


class Module:
    """A function of tensors with parameters. Derive from it, set tensors and modules as attributes in
    __init__ (after super().__init__()), and write forward.

    A tensor that is set as an attribute is a parameter, which learns, unless register_buffer named it
    before. Attributes can be set at any time: values never change under anybody else.
    """

    def __init__(self):
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, training=True)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor):
        """A tensor that does not learn, such as running statistics."""
        self._buffers[name] = tensor

    def __setattr__(self, name, value):
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"call super().__init__() before {name} is set")
        if name in self._buffers and (value is None or isinstance(value, _Tensor)):
            self._buffers[name] = value
            return
        for kept in (self._parameters, self._buffers, self._modules):
            kept.pop(name, None)
        if isinstance(value, _Tensor):
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._modules[name] = value
        else:
            self.__dict__[name] = value
            return
        self.__dict__.pop(name, None)

    def __getattr__(self, name):
        for kept in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kept, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __delattr__(self, name):
        for kept in (self._parameters, self._buffers, self._modules):
            if kept.pop(name, self) is not self:
                return
        super().__delattr__(name)

    # --- what is inside

    def named_modules(self, prefix=""):
        """This module and all inside it, by the path to them."""
        found = {prefix: self}
        for name, module in self._modules.items():
            found.update(module.named_modules(f"{prefix}.{name}" if prefix else name))
        return found

    def _named(self, kept):
        return {
            f"{path}.{name}" if path else name: tensor
            for path, module in self.named_modules().items()
            for name, tensor in getattr(module, kept).items()
            if tensor is not None
        }

    def named_parameters(self):
        """Parameters by name, as {"layer.weight": tensor, ...}."""
        return self._named("_parameters")

    def named_buffers(self):
        """Buffers by name."""
        return self._named("_buffers")

    def parameters(self):
        """The parameters, in the order of named_parameters()."""
        return list(self.named_parameters().values())

    def state_dict(self):
        """Parameters and buffers by name."""
        return {**self.named_parameters(), **self.named_buffers()}

    def load_state_dict(self, state, strict=True):
        """Takes the values from there, in the dtypes and on the devices that they have here. Nothing
        is changed unless all is right: InvalidArgument for names that are missing, or if `strict`
        not known; ShapeMismatch."""
        own = self.state_dict()
        missing = sorted(own.keys() - state.keys())
        unknown = sorted(state.keys() - own.keys()) if strict else []
        if strict and missing or unknown:
            raise InvalidArgument(
                f"names do not match: missing {missing}, not known {unknown}",
                "Load the state of a model with the same layers, or use strict=False.",
            )
        taken = {}
        for name, tensor in own.items():
            if name in state:
                value = asarray(state[name], dtype=tensor.dtype, device=tensor.executor)
                if value.shape != tensor.shape:
                    raise ShapeMismatch(
                        f"'{name}' has the shape {value.shape} there and {tensor.shape} here",
                        "Load the state of a model with the same shapes.",
                    )
                taken[name] = value
        self._assign(taken)

    def _places(self, tensors):
        """Where these tensors belong, for _core.nn._put_all, which puts them all or, interrupted, none."""
        modules = self.named_modules()
        places = []
        for name, tensor in tensors.items():
            path, _, own = name.rpartition(".")
            module = modules[path]
            kept = module._parameters if own in module._parameters else module._buffers
            places.append((kept, own, tensor))
        return places

    def _assign(self, tensors):
        _core.nn._put_all(self._places(tensors))

    def save(self, path):
        """The state as a .safetensors or .npz file, which appears whole or not at all."""
        _save(path, self.state_dict())

    def load(self, path, strict=True):
        """The state of such a file; errors as of load_state_dict."""
        self.load_state_dict(_load(path), strict)

    def to(self, target):
        """Itself, with floats of another dtype, or with all tensors on another device."""
        try:
            dtype = _core.dtype_of(target)
        except Exception:  # no dtype: a device
            self._assign({name: x.to(target) for name, x in self.state_dict().items()})
            return self
        floats = {n: x for n, x in self.state_dict().items() if x.dtype in _dtypes.FLOATS}
        self._assign({name: _core.astype(x, dtype) for name, x in floats.items()})
        return self

    def train(self, mode=True):
        """Whether dropout drops and batches are normalised by themselves; of all modules inside."""
        for module in self.named_modules().values():
            module.__dict__["training"] = mode
        return self

    def eval(self):
        """train(False)."""
        return self.train(False)

    def _options(self):
        return ""

    def __repr__(self):
        inside = [
            f"  ({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        head = f"{type(self).__name__}({self._options()}"
        return head + ("\n" + "\n".join(inside) + "\n" if inside else "") + ")"


class Sequential(Module):
    """Modules one after the other; their names are "0", "1", ..."""

    def __init__(self, *modules):
        super().__init__()
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def forward(self, x):
        for module in self._modules.values():
            x = module(x)
        return x

    def append(self, module):
        setattr(self, str(len(self)), module)
        return self

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, k):
        return list(self)[k]


class ModuleList(Sequential):
    """A list of modules that are called one by one."""

    def __init__(self, modules=()):
        super().__init__(*modules)

    def forward(self, *args):
        raise NotImplementedError("a ModuleList is no function: call the modules in it")


def _within(bound, shape, dtype, device):
    return uniform(shape, low=-bound, high=bound, dtype=dtype, device=device)


class Linear(Module):
    """x @ weight.T + bias; weight [out, in] and bias [out], uniform within 1 / sqrt(in)."""

    def __init__(self, in_features, out_features, bias=True, *, dtype=None, device=None):
        super().__init__()
        bound = 1 / _math.sqrt(in_features) if in_features else 0.0
        self.weight = _within(bound, (out_features, in_features), dtype, device)
        self.bias = _within(bound, (out_features,), dtype, device) if bias else None

    def forward(self, x):
        return _nn.linear(x, self.weight, self.bias)

    def _options(self):
        outputs, inputs = self.weight.shape
        return f"{inputs}, {outputs}, bias={self.bias is not None}"


class Embedding(Module):
    """Rows of weight [rows, features], normal of variance 1, by integers."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, *, dtype=None, device=None):
        super().__init__()
        weight = normal((num_embeddings, embedding_dim), dtype=dtype, device=device)
        if padding_idx is not None:
            weight[padding_idx] = 0
        self.weight, self.padding_idx = weight, padding_idx

    def forward(self, indices):
        return _nn.embedding(indices, self.weight, self.padding_idx)


class _Convolution(Module):
    axes, function, transposed = 2, None, False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, *, output_padding=0, dtype=None, device=None):  # fmt: skip
        super().__init__()
        kernel = (kernel_size,) * self.axes if isinstance(kernel_size, int) else tuple(kernel_size)
        shape = (in_channels, out_channels // groups) if self.transposed else (
            out_channels, in_channels // groups)  # fmt: skip
        inputs = shape[1] * _math.prod(kernel)
        bound = 1 / _math.sqrt(inputs) if inputs else 0.0
        self.weight = _within(bound, (*shape, *kernel), dtype, device)
        self.bias = _within(bound, (out_channels,), dtype, device) if bias else None
        self.options = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
        if self.transposed:
            self.options["output_padding"] = output_padding

    def forward(self, x):
        return type(self).function(x, self.weight, self.bias, **self.options)

    def _options(self):
        return f"weight={self.weight.shape}, " + ", ".join(f"{k}={v}" for k, v in self.options.items())


class Conv1d(_Convolution):
    """A convolution along one axis; weight [out, in / groups, kernel] and bias [out]."""

    axes, function = 1, staticmethod(_nn.conv1d)


class Conv2d(_Convolution):
    """A convolution along two axes; weight [out, in / groups, height, width] and bias [out]."""

    axes, function = 2, staticmethod(_nn.conv2d)


class Conv3d(_Convolution):
    """A convolution along three axes."""

    axes, function = 3, staticmethod(_nn.conv3d)


class ConvTranspose1d(_Convolution):
    """The adjoint of a Conv1d; weight [in, out / groups, kernel]."""

    axes, function, transposed = 1, staticmethod(_nn.conv_transpose1d), True


class ConvTranspose2d(_Convolution):
    """The adjoint of a Conv2d; weight [in, out / groups, height, width]."""

    axes, function, transposed = 2, staticmethod(_nn.conv_transpose2d), True


class BatchNorm2d(Module):
    """Mean 0 and variance 1 of each channel of [batch, channels, ...]. In training the running
    statistics follow those of the batches; without a momentum they are their mean so far."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True, *, dtype=None, device=None):  # fmt: skip
        super().__init__()
        self.eps, self.momentum = eps, momentum
        made = dict(dtype=dtype, device=device)
        self.weight = ones(num_features, **made) if affine else None
        self.bias = zeros(num_features, **made) if affine else None
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **made) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **made) if tracked else None)
        count = zeros((), dtype=_dtypes.int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def forward(self, x):
        tracked = self.running_mean is not None
        momentum = self.momentum
        if self.training and tracked:
            self.num_batches_tracked = self.num_batches_tracked + 1
            if momentum is None:
                momentum = 1 / int(self.num_batches_tracked)
        made, mean, var = _nn.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not tracked, momentum or 0.0, self.eps)  # fmt: skip
        if self.training and tracked:
            self.running_mean, self.running_var = mean, var
        return made


class BatchNorm1d(BatchNorm2d):
    """Of [batch, channels] or [batch, channels, length]."""


class BatchNorm3d(BatchNorm2d):
    """Of [batch, channels, depth, height, width]."""


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, *,
                 dtype=None, device=None):  # fmt: skip
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        made = dict(dtype=dtype, device=device)
        self.weight = ones(shape, **made) if elementwise_affine else None
        self.bias = zeros(shape, **made) if elementwise_affine and bias else None

    def forward(self, x):
        return _nn.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def _options(self):
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """x / sqrt(mean(x * x) + eps) * weight over the last axes."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, *, dtype=None, device=None):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = ones(shape, dtype=dtype, device=device) if elementwise_affine else None

    def forward(self, x):
        return _nn.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """Mean 0 and variance 1 over groups of channels of [batch, channels, ...]."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, *, dtype=None, device=None):
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        made = dict(dtype=dtype, device=device)
        self.weight = ones(num_channels, **made) if affine else None
        self.bias = zeros(num_channels, **made) if affine else None

    def forward(self, x):
        return _nn.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


class Dropout(Module):
    """Each element 0 with probability p, else divided by 1 - p, in training."""

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return _nn.dropout(x, self.p, self.training)


class MultiheadAttention(Module):
    """Attention of several heads: in_proj_weight [3 * features, features], in_proj_bias, out_proj.
    Returns the values alone. attn_mask as scaled_dot_product_attention has it: true where a key may
    be seen."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, batch_first=False, *,
                 dtype=None, device=None):  # fmt: skip
        super().__init__()
        if embed_dim % num_heads:
            raise InvalidArgument(f"{embed_dim} features do not divide into {num_heads} heads",
                                  "Choose a number of heads that divides the features.")  # fmt: skip
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        bound = _math.sqrt(6 / (4 * embed_dim))
        self.in_proj_weight = _within(bound, (3 * embed_dim, embed_dim), dtype, device)
        self.in_proj_bias = zeros(3 * embed_dim, dtype=dtype, device=device) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype, device=device)
        if bias:
            self.out_proj.bias = zeros(embed_dim, dtype=dtype, device=device)

    def forward(self, query, key=None, value=None, attn_mask=None, is_causal=False):
        key = query if key is None else key
        value = key if value is None else value
        n = self.embed_dim

        def heads(x, part):
            x = x if self.batch_first else x.permute((1, 0, 2))
            part = slice(part * n, (part + 1) * n)
            bias = None if self.in_proj_bias is None else self.in_proj_bias[part]
            x = _nn.linear(x, self.in_proj_weight[part], bias)
            batch, length, _ = x.shape
            return x.reshape((batch, length, self.num_heads, -1)).permute((0, 2, 1, 3))

        made = _nn.scaled_dot_product_attention(
            heads(query, 0), heads(key, 1), heads(value, 2), attn_mask,
            self.dropout if self.training else 0.0, is_causal)  # fmt: skip
        batch, _, length, _ = made.shape
        made = self.out_proj(made.permute((0, 2, 1, 3)).reshape((batch, length, n)))
        return made if self.batch_first else made.permute((1, 0, 2))


class Identity(Module):
    """x."""

    def forward(self, x):
        return x


class Flatten(Module):
    """Axes from start_dim to end_dim as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        first, last = self.start_dim % x.ndim, self.end_dim % x.ndim
        joined = _math.prod(x.shape[first : last + 1])
        return x.reshape((*x.shape[:first], joined, *x.shape[last + 1 :]))


class PReLU(Module):
    """x, or weight * x below 0, with slopes that are learned."""

    def __init__(self, num_parameters=1, init=0.25, *, dtype=None, device=None):
        super().__init__()
        self.weight = ones(num_parameters, dtype=dtype, device=device) * init

    def forward(self, x):
        return _nn.prelu(x, self.weight)
