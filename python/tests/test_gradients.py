"""Gradients against differences of function values, in float64."""

import numpy as np
import pytest

import hologram as hg

rng = np.random.default_rng(5)
A, B = rng.standard_normal((3, 4)), rng.standard_normal((4, 2))


def difference(function, array, step=1e-6):
    """The gradient by central differences."""
    made = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        ends = []
        for sign in (1, -1):
            moved = array.copy()
            moved[index] += sign * step
            ends.append(function(hg.asarray(moved)).item())
        made[index] = (ends[0] - ends[1]) / (2 * step)
    return made


FUNCTIONS = {
    "a formula": lambda x: hg.sum(hg.sin(x) * hg.exp(-x * x)),
    "a product": lambda x: hg.mean(hg.square(x @ hg.asarray(B))),
    "views": lambda x: hg.sum(x[1:, ::2] * 3) + hg.sum(x.T[0] ** 2) + hg.max(x),
    "arrays of indices": lambda x: hg.sum(x[[0, 2, 0], [1, 1, 1]] ** 2),
    "a mask": lambda x: hg.sum(x[hg.stop_gradient(x) > 0] ** 3),
    "softmax": lambda x: hg.sum(hg.log_softmax(x) * hg.asarray(A)),
    "statistics": lambda x: hg.sum(hg.std(x, axis=0)) + hg.logsumexp(x),
    "running": lambda x: hg.sum(hg.cumulative_sum(x, axis=1) ** 2),
    "sorted": lambda x: hg.sum(hg.sort(x, axis=1) * hg.arange(4, dtype=hg.float64)),
    "in pieces": lambda x: hg.sum(hg.concat([x, x * 2]) ** 2) + hg.sum(hg.stack([x, x])[1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_differences(name):
    function = FUNCTIONS[name]
    value, gradient = hg.value_and_grad(function)(hg.asarray(A))
    assert value.item() == function(hg.asarray(A)).item()
    assert gradient.dtype == hg.float64 and gradient.shape == A.shape
    np.testing.assert_allclose(np.asarray(gradient), difference(function, A), rtol=1e-6, atol=1e-7)


def test_several_arguments_and_trees():
    def loss(parameters, x, scale=1.0):
        hidden = hg.tanh(x @ parameters["w"] + parameters["layers"][0])
        return hg.mean(hidden * hidden) * scale

    parameters = {"w": hg.asarray(B), "layers": [hg.zeros(2, dtype=hg.float64)]}
    both = hg.grad(loss, argnums=(0, 1))(parameters, hg.asarray(A), scale=2.0)
    assert set(both[0]) == {"w", "layers"} and both[0]["layers"][0].shape == (2,)
    assert both[1].shape == A.shape
    by_w = difference(lambda w: loss({**parameters, "w": w}, hg.asarray(A), 2.0), B)
    np.testing.assert_allclose(np.asarray(both[0]["w"]), by_w, rtol=1e-6, atol=1e-8)


def test_second_derivatives():
    third = hg.grad(hg.grad(lambda x: x * x * x))
    assert third(hg.asarray(2.0)).item() == 12


def test_training_goes_down():
    x = hg.asarray(rng.standard_normal((50, 3)))
    y = x @ hg.asarray(np.array([1.0, -2.0, 0.5]))
    step = hg.value_and_grad(lambda w: hg.mean((x @ w - y) ** 2))
    w = hg.zeros(3, dtype=hg.float64)
    for _ in range(200):
        value, gradient = step(w)
        w = w - 0.1 * gradient
    np.testing.assert_allclose(np.asarray(w), [1, -2, 0.5], atol=1e-6)


def test_products_with_the_jacobian():
    x, v = hg.asarray(A), hg.asarray(rng.standard_normal((3, 4)))
    u = hg.asarray(rng.standard_normal((3, 2)))
    function = lambda x: hg.sin(x) @ hg.asarray(B)  # noqa: E731
    (_,), (forward,) = hg.jvp(function, [x], [v])
    (_,), (backward,) = hg.vjp(function, [x], [u])
    np.testing.assert_allclose(hg.sum(u * forward).item(), hg.sum(backward * v).item(), rtol=1e-10)


def test_what_has_no_gradient():
    with pytest.raises(hg.DTypeMismatch):
        hg.grad(lambda x: hg.sum(x))(hg.arange(3))
    with pytest.raises(hg.ShapeMismatch):
        hg.grad(lambda x: x)(hg.ones(3))
    with pytest.raises(hg.InvalidArgument):
        hg.grad(lambda x: x, argnums=1)(hg.ones(()))
    with pytest.raises(TypeError):
        hg.grad(lambda x: hg.ones(()))("text")
    with pytest.raises(ZeroDivisionError):
        hg.grad(lambda x: 1 / 0)(hg.ones(()))
