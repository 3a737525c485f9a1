"""dtypes of PyTorch as those of hologram."""

import torch

import hologram as hg
from hologram import _core

OURS = {
    torch.float32: hg.float32, torch.float64: hg.float64, torch.float16: hg.float16,
    torch.bfloat16: hg.bfloat16, torch.int64: hg.int64, torch.int32: hg.int32, torch.int16: hg.int16,
    torch.int8: hg.int8, torch.uint8: hg.uint8, torch.bool: hg.bool, torch.uint16: hg.uint16,
    torch.uint32: hg.uint32, torch.uint64: hg.uint64,
}  # fmt: skip


def as_dtype(x, dtype):
    """x in that dtype of hologram."""
    return x if x.dtype == dtype else _core.astype(x, dtype)


def ours(dtype, otherwise=torch.float32):
    """Of a dtype of PyTorch, or of none."""
    return OURS[otherwise if dtype is None else dtype]
