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


class Kept:
    """What tensors of PyTorch were made into, until they go or have changed."""

    def __init__(self):
        self._kept = {}

    def find(self, t, state, make):
        """That of t in this state, or what make() gives: a tensor, and whether it is kept."""
        key = id(t)
        found = self._kept.get(key)
        if found is not None and found[0]() is t and found[1] == state:
            return found[2]
        made, keeps = make()
        if keeps:
            self._kept[key] = (weakref.ref(t, lambda _: self._kept.pop(key, None)), state, made)
        return made


# Devices whose memory hologram's backends of these names share.
_SHARED = {"cpu": ("cpu",), "cuda": ("cuda", "rocm")}
_ALIGNMENT = 16


class Inputs:
    """How tensors get to an executor."""

    def __init__(self, executor):
        self.executor = executor
        self._copies, self._shares = Kept(), Kept()

    @staticmethod
    def wait(tensors):
        """Until PyTorch has computed them: once for all that take() gets then."""
        for device in {t.device for t in tensors if t.device.type == "cuda"}:
            torch.cuda.current_stream(device).synchronize()

    def take(self, t, order, keeps=True):
        """The tensor with its axes in that order, as one of hologram. keeps: what shares the memory of t may be
        given again as long as it lies there; nothing may be derived from its values and kept."""
        if self.executor.backend in _SHARED.get(t.device.type, ()):
            at = t.data_ptr()

            def shared():
                dense = self._dense(t, order)
                tensor = _core._from_capsule(dense.__dlpack__(), False, self.executor, wait=False)
                return tensor, dense.data_ptr() == at

            if not keeps or t.is_inference():
                return shared()[0]
            return self._shares.find(t, (t._version, at, t.shape, t.stride()), shared)

        def copied():
            count(copies=1)
            return hg.from_dlpack(self._dense(t, order).cpu(), device=self.executor, copy=True), True

        return copied()[0] if t.is_inference() else self._copies.find(t, t._version, copied)

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
