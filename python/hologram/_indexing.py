"""Keys that are more than a view: masks and arrays of integers, as NumPy has them."""

from . import _core, _dtypes
from ._errors import IndexOutOfRange, ShapeMismatch


def _as_key_tensor(item, where):
    """A part of a key as a tensor of integers or bool on the device of the indexed tensor."""
    if isinstance(item, _core.Tensor):
        return item, False
    if isinstance(item, bool):
        return _core.full((), item, None, where), True
    if isinstance(item, (list, tuple)) or hasattr(item, "__dlpack__") or hasattr(item, "__array__"):
        from ._creation import asarray

        made = asarray(item, device=where)
        return (made.astype(_dtypes.int64) if made.size == 0 and isinstance(item, list) else made), True
    raise IndexOutOfRange(
        f"a {type(item).__name__} is no index",
        "Use ints, slices, None, ..., bools, or tensors, arrays or lists of ints or bools.",
    )



class _Key:
    """A key taken apart: what of it is a view, and the index tensors of the axes that are left.

    view_key: for the tensor; whole slices stand for axes with an index tensor. axes: which axes of
    that view have an index tensor. indices: these, of integers. first: where the axes of the
    indices go in the result.
    """

    def __init__(self, tensor, key):
        where = tensor.executor
        parts = key if isinstance(key, tuple) else (key,)
        items, used = [], 0
        for part in parts:
            if part is None or part is Ellipsis or isinstance(part, slice):
                items.append(part)
                used += isinstance(part, slice)
            elif isinstance(part, int) and not isinstance(part, bool):
                items.append(part)
                used += 1
            else:
                index, given = _as_key_tensor(part, where)
                items.append((index, given))
                used += index.ndim if index.dtype == _dtypes.bool else 1
        if used > tensor.ndim:
            raise IndexOutOfRange(
                f"a key of {used} axes for a tensor of shape {tensor.shape}",
                "Use at most one index for each axis.",
            )
        if sum(item is Ellipsis for item in items) > 1:
            raise IndexOutOfRange("a key has more than one Ellipsis", "Leave one of them.")
        self._walk(tensor, items, tensor.ndim - used)

    def _walk(self, tensor, items, rest):
        self.view_key, self.axes, self.indices, places = [], [], [], []
        axis = of_tensor = 0
        if not any(item is Ellipsis for item in items):
            items = [*items, Ellipsis]
        for place, item in enumerate(items):
            if item is None:
                self.view_key.append(None)
                axis += 1
            elif item is Ellipsis:
                self.view_key += [slice(None)] * rest
                axis += rest
                of_tensor += rest
            elif isinstance(item, slice):
                self.view_key.append(item)
                axis += 1
                of_tensor += 1
            else:
                for index in self._expanded(tensor, item, of_tensor):
                    self.view_key.append(slice(None))
                    self.axes.append(axis)
                    self.indices.append(index)
                    axis += 1
                    of_tensor += 1
                if isinstance(item, tuple) and item[0].dtype == _dtypes.bool and item[0].ndim == 0:
                    # A bool alone: a new axis of one element or none.
                    self.view_key.append(None)
                    self.axes.append(axis)
                    count = int(item[0].item())
                    self.indices.append(_core.full((count,), 0, _dtypes.int64, tensor.executor))
                    axis += 1
                places.append(place)
        together = all(b == a + 1 for a, b in zip(places, places[1:]))
        self.first = self.axes[0] if together and self.axes else 0

    def _expanded(self, tensor, item, axis):
        """One tensor of integers for each axis that the item stands for."""
        if isinstance(item, int):
            length = tensor.shape[axis]
            if not -length <= item < length:
                raise IndexOutOfRange(
                    f"index {item} lies outside of axis {axis} of length {length}",
                    f"Use an index from {-length} to {length - 1}.",
                )
            return [_core.full((), item, _dtypes.int64, tensor.executor)]
        index, given = item
        if index.dtype == _dtypes.bool:
            shape = tensor.shape[axis : axis + index.ndim]
            # A mask without elements selects nothing, of however long an axis.
            if len(shape) != index.ndim or any(
                m not in (length, 0) for m, length in zip(index.shape, shape)
            ):
                raise IndexOutOfRange(
                    f"a mask of shape {index.shape} for axes of shape {shape}",
                    "Use a mask of the shape of the axes that it stands for.",
                )
            if index.ndim == 0:
                return []
            places = _core.nonzero(index)
            return [places[:, k] for k in range(index.ndim)]
        if index.dtype not in _dtypes.SIGNED + _dtypes.UNSIGNED:
            raise IndexOutOfRange(
                f"a tensor of {index.dtype} is no index", "Convert it to an integer type, or bool."
            )
        length = tensor.shape[axis]
        if given and index.size:
            least = _core.min(index, None, False).item()
            most = _core.max(index, None, False).item()
            if least < -length or most >= length:
                wrong = least if least < -length else most
                raise IndexOutOfRange(
                    f"index {wrong} lies outside of axis {axis} of length {length}",
                    f"Use indices from {-length} to {length - 1}.",
                )
        return [index.astype(_dtypes.int64)]


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes are repeated to together. ShapeMismatch."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, length in enumerate(shape, rank - len(shape)):
            if length != 1:
                if result[axis] not in (1, length):
                    raise ShapeMismatch(
                        "shapes " + ", ".join(str(tuple(s)) for s in shapes) + " do not go together",
                        "Lengths of one axis are equal, or 1.",
                    )
                result[axis] = length
    return tuple(result)


def getitem(tensor, key):
    """tensor[key] of any key."""
    key = _Key(tensor, key)
    view = tensor[tuple(key.view_key)]
    parts = [None] * view.ndim
    for axis, index in zip(key.axes, key.indices):
        parts[axis] = index
    made = _core.index(view, parts)
    # The axes of the indices stand where the library puts them: together where they are neighbours.
    added = len(broadcast_shapes(*(index.shape for index in key.indices)))
    neighbours = key.axes == list(range(key.axes[0], key.axes[-1] + 1))
    place = key.axes[0] if neighbours else 0
    if place == key.first:
        return made
    order = [*range(made.ndim)]
    moved = order[place : place + added]
    rest = [axis for axis in order if axis not in moved]
    return _core.permute(made, [*rest[: key.first], *moved, *rest[key.first :]])


def setitem(tensor, key, value):
    """tensor[key] = value of any key: the object becomes the new value."""
    if not isinstance(value, (bool, int, float)):
        from ._creation import asarray

        value = asarray(value, device=tensor.executor)
    if isinstance(key, _core.Tensor) and key.dtype == _dtypes.bool:
        number = value if not isinstance(value, _core.Tensor) else value if value.size == 1 else None
        if number is not None and key.shape == tensor.shape[: key.ndim]:
            if isinstance(number, _core.Tensor):
                number = _core.reshape(number, ()).astype(tensor.dtype)
            mask = _core.reshape(key, key.shape + (1,) * (tensor.ndim - key.ndim))
            fits = _core.full((), number, tensor.dtype, tensor.executor) if not isinstance(
                number, _core.Tensor
            ) else number
            tensor._becomes(_core.where(mask, fits, tensor))
            return
    places = _core.reshape(
        _core.arange(0, tensor.size, 1, _dtypes.int64, tensor.executor), tensor.shape
    )[key]
    if isinstance(value, _core.Tensor):
        while value.ndim > places.ndim and value.shape[0] == 1:
            value = value[0]
        value = value.astype(tensor.dtype)
    else:
        value = _core.full((), value, tensor.dtype, tensor.executor)
    values = _core.reshape(_core.broadcast_to(value, places.shape), (places.size,))
    flat = _core.reshape(tensor, (tensor.size,))
    if places.size:
        flat = _core.scatter(flat, _core.reshape(places, (places.size,)), values, 0)
    tensor._becomes(_core.reshape(flat, tensor.shape))
