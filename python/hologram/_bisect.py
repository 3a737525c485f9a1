"""Which operation a device computes otherwise than the interpreter."""

from dataclasses import dataclass as _dataclass

from . import _core

__all__ = ["Finding", "bisect"]


@_dataclass(frozen=True)
class Finding:
    """The first operation that differs, or that makes a NaN; docs/python/training.md says more."""

    is_nan: bool
    step: str
    operation: str
    where: str
    dtype: str
    expected: int
    got: int
    operands: list
    line: int
    source: str
    file: str
    inputs: str
    command: str
    text: str

    def __str__(self):
        return self.text


def bisect(function, /, device=None, *, prefix="bisect", nan=True, tolerance=None):
    """Calls function(executor), which makes its tensors there and reads what it wants to have computed,
    on a device, and step by step beside it on the interpreter. Gives a Finding: the first operation
    that differs, or that makes a NaN of none; or None. `prefix`: how the files begin that show it
    again; "" writes none. `tolerance`: numbers by which floats may differ."""
    found = _core._bisect(_core.current_executor(device), function, prefix, nan, tolerance)
    return None if found is None else Finding(**found)
