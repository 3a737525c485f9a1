"""Executors on streams of PyTorch's, so that nobody waits: each sees the other's work in order."""

import functools

import torch

from hologram import _core


class Stream:
    """A stream of PyTorch's, which an executor's work goes to."""

    def __init__(self, stream):
        self.stream, self.index, self.handle = stream, stream.device_index, stream.cuda_stream

    def ordered(self, work):
        """What work() gives, behind what the thread's current stream has been given, and before what it will."""
        if torch._C._cuda_getCurrentRawStream(self.index) == self.handle:
            return work()
        current = torch.cuda.current_stream(self.index)
        self.stream.wait_stream(current)
        try:
            return work()
        finally:
            current.wait_stream(self.stream)


@functools.cache
def _executor_on(backend, index, handle):
    return _core._executor_on(backend, index, handle)


def executor_on_stream(index):
    """One on the current stream of a device of CUDA's, and that stream."""
    stream = Stream(torch.cuda.current_stream(index))
    return _executor_on("cuda", stream.index, stream.handle), stream
