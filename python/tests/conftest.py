"""What the tests of the Python package share."""

import os

import pytest


@pytest.fixture
def seconds():
    """How long a search for mistakes goes on: HOLOGRAM_PYTHON_FUZZ_SECONDS, or 3 for each."""
    return float(os.environ.get("HOLOGRAM_PYTHON_FUZZ_SECONDS", 3))
