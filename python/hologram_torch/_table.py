"""The table: names of PyTorch's operations and the functions that compute them.

A function gets tensors of hologram, numbers and lists as the operation does. Results are brought to the
dtype that PyTorch says they have.
"""

import dataclasses

TABLE = {}


@dataclasses.dataclass(frozen=True)
class Row:
    function: object
    # Which dtype tensors are brought to before: that of the "result", the common one of the
    # "operands", or None for theirs.
    promote: str | None = None
    random: bool = False  # draws other numbers each time, so that it cannot be recorded
    # Is told, as `lies`, strides and offset that PyTorch gives the first operand.
    lies: bool = False


def row(*names, promote=None, random=False, lies=False):
    """Enters a function under these names, without "aten."."""

    def enter(function):
        for name in names:
            TABLE[name] = Row(function, promote, random, lies)
        return function

    return enter


def rows(functions, suffixes, promote=None):
    """The same for a dict of many, each under its name with these suffixes."""
    for name, function in functions.items():
        row(*(f"{name}.{suffix}" for suffix in suffixes), promote=promote)(function)


from . import _attention  # noqa: E402, F401

_others = set(TABLE)
from . import _elementwise  # noqa: E402, F401

# Each element of the result is made of those of the operands at the same place.
BY_ELEMENT = frozenset(TABLE.keys() - _others)
from . import _movement, _neural, _reductions, _strided  # noqa: E402, F401
