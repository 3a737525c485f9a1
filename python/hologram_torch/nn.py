"""Layers of PyTorch that run on hologram by themselves.

    layer = hologram_torch.nn.Linear(512, 256, backend="webgpu")

They are PyTorch's own modules, with their parameters, states and autograd; `backend` picks where the
calculation runs (without it: the processor, or CUDA for tensors of CUDA).
"""

import torch as _torch

_LAYERS = (
    "Linear", "Conv1d", "Conv2d", "BatchNorm1d", "BatchNorm2d", "LayerNorm", "RMSNorm", "GroupNorm",
    "Embedding", "MultiheadAttention", "Sequential",
)  # fmt: skip


def _layer(name):
    base = getattr(_torch.nn, name)

    def __init__(self, *args, backend=None, **kwargs):
        base.__init__(self, *args, **kwargs)
        options = None if backend is None else {"backend": backend}
        own = base.forward.__get__(self)
        self.__dict__["_run"] = _torch.compile(own, backend="hologram", options=options)

    def forward(self, *args, **kwargs):
        return self._run(*args, **kwargs)

    doc = f"torch.nn.{name}, computed by hologram."
    body = {"__init__": __init__, "forward": forward, "__doc__": doc, "__module__": __name__}
    return type(name, (base,), body)


globals().update({name: _layer(name) for name in _LAYERS})
__all__ = list(_LAYERS)
