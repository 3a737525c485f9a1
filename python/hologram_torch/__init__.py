"""PyTorch's models on every device that hologram has.

    import torch

    fast = torch.compile(model, backend="hologram")
    fast = torch.compile(model, backend="hologram", options={"backend": "webgpu"})

The graphs that torch.compile finds, forward and backward, run as hologram's: fused, and recorded once for
each set of shapes. Autograd, optimizers, data and checkpoints stay PyTorch's. A graph with an operation
that is not in the table (docs/python/pytorch.md) is computed by PyTorch: a warning names the operation,
report() counts it, and options={"strict": True} refuses it.

hologram_torch.nn has layers that run so by themselves.
"""

from ._backend import hologram, register
from ._report import Report, report, reset
from ._table import TABLE as _TABLE

register()


def operations():
    """The names of the operations of PyTorch that hologram computes, as "aten.add.Tensor"."""
    return sorted(f"aten.{name}" for name in _TABLE if not name.startswith("hologram."))


from . import nn  # noqa: E402

__all__ = ["Report", "hologram", "nn", "operations", "report", "reset"]
