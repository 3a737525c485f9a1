"""Neural operations and layers, by PyTorch's names.

    import hologram as hg
    from hologram import nn

    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = hg.optim.AdamW(model, lr=1e-3)
    loss = optimizer.step(lambda: nn.cross_entropy(model(x), labels))

Functions are those of torch.nn.functional: images are [batch, channels, ...], weights of linear
layers [out, in]. Layers have the names, shapes, defaults and initial values of torch.nn, so that a
state saved there as safetensors loads. docs/nn.md lists every difference.
"""

from .. import _core
from .._elementwise import relu, sigmoid, silu, tanh
from .._functions import log_softmax, softmax
from ._layers import *  # noqa: F403
from ._layers import __all__ as _layers
from ._modules import *  # noqa: F403
from ._modules import __all__ as _modules
from ._precision import LossScale, MixedPrecision
from ._training import value_and_grad

_functions = [name for name in dir(_core.nn) if not name.startswith("_") and "_step" not in name]
globals().update({name: getattr(_core.nn, name) for name in _functions})

__all__ = sorted(
    [*_functions, *_layers, *_modules, "LossScale", "MixedPrecision", "log_softmax", "relu", "sigmoid", "silu", "softmax", "tanh", "value_and_grad"]
)
