"""Layers without tensors: activations and pooling as modules."""

from .. import _core
from .._elementwise import relu, sigmoid, silu, tanh
from .._functions import log_softmax, softmax
from ._modules import Module

__all__ = [
    "AdaptiveAvgPool2d", "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "ELU", "GELU",
    "Hardsigmoid", "Hardswish", "LeakyReLU", "LogSoftmax", "MaxPool1d", "MaxPool2d", "MaxPool3d",
    "Mish", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh",
]  # fmt: skip

_nn = _core.nn


def _layer(name, function, *parameters):
    """A module without tensors: a function, and values of parameters of these names."""

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        if len(args) > len(parameters) or kwargs.keys() - set(parameters[len(args) :]):
            raise TypeError(f"{name}() takes {', '.join(parameters) or 'no arguments'}")
        self.options = {**dict(zip(parameters, args)), **kwargs}

    def forward(self, x):
        return function(x, **self.options)

    def _options(self):
        return ", ".join(f"{key}={value!r}" for key, value in self.options.items())

    doc = f"hologram.nn.{getattr(function, '__name__', name)} as a module."
    body = dict(__init__=__init__, forward=forward, _options=_options, __doc__=doc, __module__=__name__)
    return type(name, (Module,), body)


_WINDOW = ("kernel_size", "stride", "padding")
_MAX, _AVG = (*_WINDOW, "dilation", "ceil_mode"), (*_WINDOW, "ceil_mode", "count_include_pad")
ReLU = _layer("ReLU", relu)
ReLU6 = _layer("ReLU6", _nn.relu6)
GELU = _layer("GELU", _nn.gelu, "approximate")
SiLU = _layer("SiLU", silu)
Sigmoid = _layer("Sigmoid", sigmoid)
Tanh = _layer("Tanh", tanh)
Mish = _layer("Mish", _nn.mish)
ELU = _layer("ELU", _nn.elu, "alpha")
SELU = _layer("SELU", _nn.selu)
LeakyReLU = _layer("LeakyReLU", _nn.leaky_relu, "negative_slope")
Softplus = _layer("Softplus", _nn.softplus, "beta", "threshold")
Hardsigmoid = _layer("Hardsigmoid", _nn.hardsigmoid)
Hardswish = _layer("Hardswish", _nn.hardswish)
Softmax = _layer("Softmax", softmax, "axis")
LogSoftmax = _layer("LogSoftmax", log_softmax, "axis")
MaxPool1d = _layer("MaxPool1d", _nn.max_pool1d, *_MAX)
MaxPool2d = _layer("MaxPool2d", _nn.max_pool2d, *_MAX)
MaxPool3d = _layer("MaxPool3d", _nn.max_pool3d, *_MAX)
AvgPool1d = _layer("AvgPool1d", _nn.avg_pool1d, *_AVG)
AvgPool2d = _layer("AvgPool2d", _nn.avg_pool2d, *_AVG)
AvgPool3d = _layer("AvgPool3d", _nn.avg_pool3d, *_AVG)
AdaptiveAvgPool2d = _layer("AdaptiveAvgPool2d", _nn.adaptive_avg_pool2d, "output_size")
AdaptiveMaxPool2d = _layer("AdaptiveMaxPool2d", _nn.adaptive_max_pool2d, "output_size")
