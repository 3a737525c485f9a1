"""Gradients of functions of tensors."""

import functools as _functools

from . import _core
from ._errors import InvalidArgument

__all__ = ["grad", "jvp", "stop_gradient", "value_and_grad", "vjp"]


def _flatten(tree, into):
    """The tensors in lists, tuples and dicts, in order."""
    if isinstance(tree, _core.Tensor):
        into.append(tree)
    elif isinstance(tree, dict):
        for key in tree:
            _flatten(tree[key], into)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            _flatten(item, into)
    else:
        raise TypeError(
            f"a {type(tree).__name__} has no gradient: name the arguments that are tensors, or lists "
            "and dicts of them, by argnums"
        )
    return into


def _rebuilt(tree, leaves):
    """The same tree with the next of these tensors in place of each."""
    if isinstance(tree, _core.Tensor):
        return next(leaves)
    if isinstance(tree, dict):
        return {key: _rebuilt(item, leaves) for key, item in tree.items()}
    items = [_rebuilt(item, leaves) for item in tree]
    if hasattr(tree, "_fields"):
        return type(tree)(*items)
    return type(tree)(items)


def value_and_grad(function, /, argnums=0):
    """A function that gives (value, gradient) of `function`, whose value is one float.

    argnums: the number of the argument to differentiate by, or a tuple of them; the gradient has its
    shape and dtype. An argument may be a list or dict of tensors; so is its gradient then. The
    function is called once, and may read values, which are constants then. Gradients are lazy and
    have gradients themselves. DTypeMismatch for what is no float, ShapeMismatch for several values.
    """
    single = isinstance(argnums, int)
    chosen = (argnums,) if single else tuple(argnums)

    @_functools.wraps(function)
    def both(*args, **kwargs):
        if not all(-len(args) <= k < len(args) for k in chosen):
            raise InvalidArgument(
                f"there is no argument {argnums} among {len(args)}", "Count arguments from 0."
            )
        places = [k % len(args) for k in chosen]
        trees = [args[k] for k in places]

        def of_leaves(*leaves):
            leaves, given = iter(leaves), list(args)
            for place, tree in zip(places, trees):
                given[place] = _rebuilt(tree, leaves)
            return function(*given, **kwargs)

        value, gradients = _core.value_and_gradient(of_leaves, _flatten(trees, []))
        leaves = iter(gradients)
        made = tuple(_rebuilt(tree, leaves) for tree in trees)
        return value, made[0] if single else made

    return both


def grad(function, /, argnums=0):
    """A function that gives the gradient of `function`; see value_and_grad."""
    both = value_and_grad(function, argnums)

    @_functools.wraps(function)
    def gradient(*args, **kwargs):
        return both(*args, **kwargs)[1]

    return gradient


def _as_list(results):
    return [results] if isinstance(results, _core.Tensor) else list(results)


def vjp(function, primals, cotangents, /):
    """(values, gradients): the values of a function of these tensors, and the product of cotangents,
    one for each value, with its Jacobian."""
    values, gradients = _core.vjp(lambda *x: _as_list(function(*x)), primals, cotangents)
    return tuple(values), tuple(gradients)


def jvp(function, primals, tangents, /):
    """(values, tangents): the values of a function of these tensors, and how they change as the
    inputs do by these tangents."""
    values, changes = _core.jvp(lambda *x: _as_list(function(*x)), primals, tangents)
    return tuple(values), tuple(changes)


def stop_gradient(x, /):
    """The same value, as a constant."""
    return _core.stop_gradient(x)
