"""Tensors of PyTorch as those of hologram, and back: memory of one device is shared."""

import operator
import weakref

import torch

import hologram as hg
from hologram import _core

from ._dtypes import OURS
from ._report import count

# Devices whose memory hologram's backends of these names share.
_SHARED = {"cpu": ("cpu",), "cuda": ("cuda", "rocm")}
_ALIGNMENT = 16
_of_capsule = getattr(torch._C, "_from_dlpack", None) or torch.utils.dlpack.from_dlpack
_address, _strides = torch.Tensor.data_ptr, torch.Tensor.stride


def order_of(t):
    """The axes from the longest stride to the shortest, if the memory is dense in that order; None if
    it is not."""
    if t.is_contiguous():
        return tuple(range(t.ndim))
    order = tuple(sorted(range(t.ndim), key=lambda axis: (-t.stride(axis), axis)))
    return order if t.permute(order).is_contiguous() else None


def shares(executor, t):
    """Whether the tensor lies where the executor computes."""
    return executor.backend in _SHARED.get(t.device.type, ())


class Kept:
    """What tensors of PyTorch were made into, until they go or have changed."""

    def __init__(self):
        self._kept = {}

    def find(self, t, make):
        """That of t as it is, or what make() gives."""
        key, version = id(t), t._version
        found = self._kept.get(key)
        if found is not None and found[0]() is t and found[1] == version:
            return found[2]
        made = make()
        self._kept[key] = (weakref.ref(t, lambda _: self._kept.pop(key, None)), version, made)
        return made


class Inputs:
    """How tensors get to an executor."""

    def __init__(self, executor):
        self.executor = executor
        self._copies = Kept()

    def take(self, t, owned=False):
        """The tensor as one of hologram, the order of axes that it has there, None if that is its own, and
        what has to stay until it has been read. owned: the tensor of hologram keeps the memory itself."""
        order, dense = None, t
        if not t.is_contiguous():
            order = order_of(t)
            dense = t.contiguous() if order is None else t.permute(order)
        if not shares(self.executor, t):

            def copied():
                count(copies=1)
                return hg.from_dlpack(dense.detach().cpu(), device=self.executor, copy=True)

            return copied() if t.is_inference() else self._copies.find(t, copied), order, None
        if t.device.type != "cpu" and dense.data_ptr() % _ALIGNMENT:
            dense = dense.clone(memory_format=torch.contiguous_format)
        if owned:
            return _core._from_capsule(dense.detach().__dlpack__(), False, self.executor, wait=False), order, None
        return _core._borrow(dense.data_ptr(), dense.shape, OURS[t.dtype], self.executor), order, dense


class Held:
    """Inputs that were the same objects in two calls, as parameters are: what was made of them is given again as
    long as they are these and lie where they lay, which is looked at for all at once."""

    def __init__(self, places, values, tensors, keys, executor):
        self.tensors, self.keys = tensors, keys
        self.recorded = {}  # by the keys of the others
        # Where the others are among the inputs, and their tensors among the tensors; None for a number.
        slots = iter(range(len(tensors)))
        at = [next(slots) if isinstance(v, torch.Tensor) else None for v in values]
        self.others = [(i, at[i]) for i in range(len(values)) if i not in frozenset(places)]
        self._pick = operator.itemgetter(*places)
        held = self._pick(values)
        self._refs, self._state = [weakref.ref(v) for v in held], self._look(held)
        # A copy is one of values, what is shared is one of memory.
        self._copied = [weakref.ref(v) for v in held if not shares(executor, v)]
        self._versions = self._changes()

    def _changes(self):
        return [r()._version for r in self._copied]

    @staticmethod
    def _look(held):
        return list(map(_address, held)), list(map(_strides, held))

    def are_in(self, values):
        held = self._pick(values)
        return (
            all(map(operator.is_, held, [r() for r in self._refs]))
            and self._look(held) == self._state
            and self._changes() == self._versions
        )


def _known(lengths):
    """Lengths as numbers, those that vary as they are in the example that was traced; None if there is none."""
    known = [n if isinstance(n, int) else n.node.hint for n in lengths]
    return None if None in known else known


def dense_order(shape, strides):
    """The axes from the longest stride to the shortest; None if there are gaps between elements, or some are in
    several places."""
    order = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != expected:
            return None
        expected *= shape[axis]
    return order


def _order_in(shape, strides):
    """The same, None if it is that of the axes."""
    if shape is None or strides is None or 0 in shape:
        return None
    order = dense_order(shape, strides)
    return None if order == tuple(range(len(shape))) else order


class Place:
    """Where a result goes, by PyTorch's description of it."""

    def __init__(self, like, is_constant):
        self.device, self.dtype = like.device, like.dtype
        # A graph gives the same memory each time for what follows from no input.
        self.is_constant = is_constant
        self.is_free = False  # to lie in another order than PyTorch says
        self._lie(_order_in(_known(like.shape), _known(like.stride())))

    def _lie(self, order):
        self.order = order
        self.back = order and tuple(sorted(range(len(order)), key=order.__getitem__))

    def may_lie(self, order):
        """Takes the order that the result has, if nobody cares."""
        if self.is_free:
            self._lie(order)

    def ordered(self, x):
        """The tensor of hologram as it is to lie in memory."""
        return x if self.order is None else hg.permute_dims(x, self.order)

    def give(self, x, executor):
        """The result for PyTorch, of what ordered() made."""
        if self.device.type == "cpu" or not shares(executor, self):
            t = _of_capsule(_core._to_dlpack(x, None, None, (1, 0), False))
            if executor.backend != "cpu":
                count(copies=1)
            if self.device.type != "cpu":
                t = t.to(self.device)
        else:
            t = _of_capsule(_core._to_dlpack(x, None, None, None, False))
        if self.is_constant:
            t = t.clone()
        return t if self.back is None else t.permute(self.back)

    def empty(self, shape):
        """Memory of PyTorch's for a result of that shape, as it lies in memory."""
        t = torch.empty(shape, dtype=self.dtype, device=self.device)
        return t, (t if self.back is None else t.permute(self.back))


def without_sharing(given):
    """The same, but no two of them in the same memory."""
    seen = set()
    for i, t in enumerate(given):
        if t.numel() and t.data_ptr() in seen:
            given[i] = t.clone()
        seen.add(given[i].data_ptr())
    return given
