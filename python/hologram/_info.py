"""What the array API standard asks a library about itself."""

from . import _core, _dtypes
from ._errors import InvalidArgument
from ._runtime import devices

__all__ = ["__array_namespace_info__"]


class Info:
    """What hologram offers, as the array API standard asks for it."""

    def capabilities(self):
        """Masks and functions whose shapes depend on values are there; tensors have up to 8 axes.
        There are no complex numbers, and so no fft, eig and eigvals."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self):
        """The device of tensors that name none."""
        return _core.current_executor(None).device

    def default_dtypes(self, *, device=None):
        """The dtypes of tensors that name none; 'complex floating' is None."""
        return {
            "real floating": _dtypes.float32,
            "complex floating": None,
            "integral": _dtypes.int64,
            "indexing": _dtypes.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """The dtypes by name, all of them or of a kind: a word, or a tuple of words."""
        own = {name: getattr(_dtypes, name) for name in _dtypes.__all__[:13]}
        del own["float16"], own["bfloat16"]  # not of the standard
        if kind is None:
            return own
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for k in kinds:
            if k not in _dtypes._KINDS:
                raise InvalidArgument(f"there is no kind '{k}'", f"Use {', '.join(_dtypes._KINDS)}.")
        return {n: d for n, d in own.items() if any(d in _dtypes._KINDS[k] for k in kinds)}

    def devices(self):
        """Every device there is."""
        names = [d.backend if d.backend == "cpu" else f"{d.backend}:{d.index}" for d in devices()]
        return tuple(_core.Device(name) for name in names)


def __array_namespace_info__():
    """What hologram offers, as the array API standard asks for it."""
    return Info()
