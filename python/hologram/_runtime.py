"""Where tensors are computed, and what can be seen of it."""

import contextlib as _contextlib
from dataclasses import dataclass as _dataclass

from . import _core

Executor = _core.Executor
Device = _core.Device
Profile = _core.Profile

__all__ = [
    "Device",
    "Executor",
    "Profile",
    "backends",
    "counters",
    "devices",
    "eval",
    "executor",
    "explain",
    "new_executor",
    "new_executor_auto",
    "new_executor_with_backend",
    "print_devices",
    "profile",
    "set_default_executor",
    "settings",
    "synchronize",
    "use",
]

eval = _core.eval
explain = _core.explain
set_default_executor = _core.set_default_executor


@_dataclass(frozen=True)
class Backend:
    """A kind of device: its devices, or the reason why there are none."""

    name: str
    devices: tuple
    reason: str


@_dataclass(frozen=True)
class DeviceInfo:
    """What is known of a device; memory is in bytes."""

    backend: str
    index: int
    name: str
    driver: str
    total_memory: int
    free_memory: int
    compute_units: int
    compute_capability: object
    unified_memory: bool
    software: bool
    exact: bool
    dtypes: tuple


@_dataclass(frozen=True)
class Setting:
    """One setting of an Executor."""

    name: str
    variable: str
    good: str
    default: str
    meaning: str


def new_executor():
    """An executor on the CPU, which is always there."""
    return Executor(backend="cpu")


def new_executor_auto():
    """An executor on the best device there is."""
    return Executor(backend="auto")


def new_executor_with_backend(backend):
    """An executor on a device of the backend named: 'cpu', 'cuda', 'opencl', 'webgpu'."""
    return Executor(backend=backend)


def executor():
    """The executor of tensors that are made now in this thread."""
    return _core.current_executor(None)


@_contextlib.contextmanager
def use(device):
    """`with hologram.use(device):` tensors made in it, by this thread, are on that device: an
    Executor, a Device or a name."""
    chosen = _core.current_executor(device)
    _core._push_executor(chosen)
    try:
        yield chosen
    finally:
        _core._pop_executor()


def backends():
    """Every backend, in the order of automatic choice, with its devices or the reason for none."""
    return tuple(
        Backend(name, tuple(DeviceInfo(**info) for info in devices), reason)
        for name, devices, reason in _core.discover_backends()
    )


def devices():
    """Every device there is to compute on, the one that is chosen automatically first."""
    real = (backend for backend in backends() if backend.name != "null")
    return tuple(device for backend in real for device in backend.devices)


def print_devices():
    """Prints a line for each device, and for each backend without one the reason."""
    print(_core.backend_summary(), end="")


def settings():
    """Every setting of an Executor, with its variable and what it may hold."""
    return tuple(Setting(*row) for row in _core.settings())


def profile(device=None):
    """What launches took on an executor (or the one in use), if it was made with
    enable_backend_profiling=True or HOLOGRAM_ENABLE_PROFILING=1."""
    return _core.current_executor(device).profile()


def counters(device=None):
    """What an executor (or the one in use) has done: launches, library_calls, fallbacks, …"""
    return _core.current_executor(device).counters()


def synchronize(device=None):
    """Returns when the device has done all that was asked of it; raises what went wrong."""
    _core.current_executor(device).synchronize()
