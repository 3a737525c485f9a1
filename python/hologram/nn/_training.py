"""Gradients by the parameters of a module."""

import functools as _functools

from .. import _core


def value_and_grad(module, function, /):
    """A function that gives (value, gradients) of `function`, whose value is one float: a dict of
    the gradient by each parameter of the module, by name. The function is called once, and may
    change buffers, as batch normalisation does. Errors as of hologram.value_and_grad."""

    @_functools.wraps(function)
    def both(*args, **kwargs):
        named = module.named_parameters()
        before = module._places(named)

        def of_leaves(*leaves):
            module._assign(dict(zip(named, leaves)))
            return function(*args, **kwargs)

        try:
            value, gradients = _core.value_and_gradient(of_leaves, list(named.values()))
        finally:
            _core.nn._put_all(before)  # the first call: an interrupt comes before it or after it
        return value, dict(zip(named, gradients))

    return both
