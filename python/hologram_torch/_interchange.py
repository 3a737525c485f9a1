"""Tensors of PyTorch as those of hologram, and back: memory of the host is shared."""

import weakref

import torch

import hologram as hg
from hologram import _core

from ._report import count


def order_of(t):
    """The axes from the longest stride to the shortest, if the memory is dense in that order; None if
    it is not."""
    if t.is_contiguous():
        return tuple(range(t.ndim))
    order = tuple(sorted(range(t.ndim), key=lambda axis: (-t.stride(axis), axis)))
    return order if t.permute(order).is_contiguous() else None


class Resident:
    """Copies on a device of what lies in memory of the host, kept while it has not changed."""

    def __init__(self):
        self._kept = {}

    def find(self, t, make):
        key = id(t)
        found = self._kept.get(key)
        if found is not None and found[0]() is t and found[1] == t._version:
            return found[2]
        made = make()
        self._kept[key] = (weakref.ref(t, lambda _: self._kept.pop(key, None)), t._version, made)
        return made


# Devices whose memory hologram's backends of these names share.
_SHARED = {"cpu": ("cpu",), "cuda": ("cuda", "rocm")}
_ALIGNMENT = 16


class Inputs:
    """How tensors get to an executor."""

    def __init__(self, executor):
        self.executor = executor
        self._resident = Resident()

    @staticmethod
    def wait(tensors):
        """Until PyTorch has computed them: once for all that take() gets then."""
        for device in {t.device for t in tensors if t.device.type == "cuda"}:
            torch.cuda.current_stream(device).synchronize()

    def take(self, t, order):
        """The tensor with its axes in that order, as one of hologram."""
        if self.executor.backend in _SHARED.get(t.device.type, ()):
            capsule = self._dense(t, order).__dlpack__()
            return _core._from_capsule(capsule, False, self.executor, wait=False)

        def copied():
            count(copies=1)
            return hg.from_dlpack(self._dense(t, order).cpu(), device=self.executor, copy=True)

        return self._resident.find(t, copied)

    def _dense(self, t, order):
        with torch.no_grad():
            dense = t.detach()
            dense = dense.contiguous() if order is None else dense.permute(order)
            if t.device.type != "cpu" and dense.data_ptr() % _ALIGNMENT:
                dense = dense.clone(memory_format=torch.contiguous_format)
        return dense


def give(tensors, wanted):
    """Results for PyTorch, with the strides and the device of `wanted`, its descriptions of them. No
    two share memory, and nobody else has it."""
    given, seen = [], set()
    for x, like in zip(tensors, wanted):
        t = torch.from_dlpack(x)
        if t.numel() and t.data_ptr() in seen:
            t = t.clone()
        seen.add(t.data_ptr())
        strides = like.stride()
        known = all(isinstance(s, int) for s in strides)
        if t.numel() and known and t.stride() != strides and order_of(like) is not None:
            t = torch.empty_strided(t.shape, strides, dtype=t.dtype, device=t.device).copy_(t)
        if like.device.type != t.device.type:
            count(copies=1)
            t = t.to(like.device)
        given.append(t)
    return given
