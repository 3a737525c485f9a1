"""Tensors as files: .npy, .npz, .safetensors, PNG and JPEG."""

import os as _os

from . import _core
from ._errors import InvalidArgument

__all__ = ["load", "save"]


def save(path, tensors, /, *, bits=8, quality=92, linear=False):
    """Writes a tensor, or a dict of them into one .npz or .safetensors file.

    The extension says the format: .npy, .npz, .safetensors, .png, .jpg. Pictures are [height,
    width] or [height, width, channels], of floats from 0 to 1 or of bytes; bits: 8 or 16 a channel
    of PNG, quality: of JPEG, linear: the values are linear light. The file appears whole or not at
    all. IoError.
    """
    path = _os.fspath(path)
    named = {path: tensors}
    if isinstance(tensors, dict):
        if not tensors:
            raise InvalidArgument("there is no tensor to save", "Give at least one.")
        named = {f"{path}:{name}": tensor for name, tensor in tensors.items()}
    _core.save_files(named, bits, quality, linear)


def load(path, /, *, name=None, linear=False, device=None):
    """The tensor in a file, or a dict of those in an .npz or .safetensors file; with name=… one of
    them. Pictures are float32 [height, width, channels] from 0 to 1. IoError."""
    path = _os.fspath(path)
    if name is not None:
        return _core.load_file(path, name, linear, device)
    if path.endswith((".npz", ".safetensors")):
        _, members = _core.inspect_file(path)
        return {member[0]: _core.load_file(path, member[0], linear, device) for member in members}
    return _core.load_file(path, "", linear, device)
