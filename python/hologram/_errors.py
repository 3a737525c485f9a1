"""Exceptions: one class for each kind of error, all of them hologram.Error.

str(error) says what happened and what to do about it; the two sentences and the kind can be had
apart. Each is also the exception of Python that programs expect: a ShapeMismatch is a ValueError.
"""

from . import _core


class Error(Exception):
    """What hologram raises.

    what: what happened, and where. remedy: what to do about it. kind: the name of the class.
    """

    kind = "Error"

    def __init__(self, what, remedy=""):
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self):
        return f"{self.what}\n{self.remedy}" if self.remedy else self.what


def _kind(name, base, meaning):
    bases = (Error,) if base is None else (Error, base)
    return type(name, bases, {"kind": name, "__doc__": meaning, "__module__": "hologram"})


BackendUnavailable = _kind(
    "BackendUnavailable", RuntimeError, "The backend or device asked for is not there."
)
OutOfMemory = _kind("OutOfMemory", MemoryError, "An allocation did not fit.")
Timeout = _kind("Timeout", TimeoutError, "A deadline passed.")
ShapeMismatch = _kind(
    "ShapeMismatch", ValueError, "Shapes, lengths or ranks do not go together."
)
DTypeMismatch = _kind("DTypeMismatch", TypeError, "Element types do not go together.")
UnsupportedOperation = _kind(
    "UnsupportedOperation", NotImplementedError, "Valid, but not on this device."
)
InvalidProgram = _kind(
    "InvalidProgram", ValueError, "A kernel or expression that does not parse or verify."
)
InvalidArgument = _kind(
    "InvalidArgument", ValueError, "An argument is missing, unknown, or out of its range."
)
InvalidConfig = _kind("InvalidConfig", ValueError, "A bad setting.")
Cancelled = _kind("Cancelled", RuntimeError, "The caller cancelled it.")
DeviceLost = _kind("DeviceLost", RuntimeError, "The device stopped answering.")
IoError = _kind("IoError", OSError, "A file could not be read or written.")
Internal = _kind("Internal", RuntimeError, "A defect of hologram itself.")


class IndexOutOfRange(InvalidArgument, IndexError):
    """An index outside of its axis, or a key with too many axes."""

    kind = "InvalidArgument"
    __module__ = "hologram"


class AxisOutOfRange(ShapeMismatch, IndexError):
    """An axis that a tensor does not have."""

    kind = "ShapeMismatch"
    __module__ = "hologram"


Error.__module__ = "hologram"

KINDS = [
    BackendUnavailable,
    OutOfMemory,
    Timeout,
    ShapeMismatch,
    DTypeMismatch,
    UnsupportedOperation,
    InvalidProgram,
    InvalidArgument,
    InvalidConfig,
    Cancelled,
    DeviceLost,
    IoError,
    Internal,
    IndexOutOfRange,
    AxisOutOfRange,
]
_core._set_error_classes({kind.__name__: kind for kind in KINDS})

__all__ = ["Error", *(kind.__name__ for kind in KINDS)]
