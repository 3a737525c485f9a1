"""What the tests of the Python package share."""

import os

import pytest


@pytest.fixture
def seconds():
    """How long a search for mistakes goes on: HOLOGRAM_PYTHON_FUZZ_SECONDS, or 3 for each."""
    return float(os.environ.get("HOLOGRAM_PYTHON_FUZZ_SECONDS", 3))


@pytest.fixture
def fresh_torch():
    """PyTorch and its bridge as at their start: nothing compiled, nothing counted, the same random numbers."""
    import hologram_torch
    import torch

    torch._dynamo.reset()
    hologram_torch.reset()
    torch.manual_seed(0)
