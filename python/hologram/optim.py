"""Optimizers: rules by which the parameters of a module move, by PyTorch's names and formulas.

    optimizer = hg.optim.AdamW(model, lr=1e-3)
    loss = optimizer.step(lambda: nn.cross_entropy(model(x), labels))

After a step the parameters of one dtype are views of one tensor, and so are their moments: one
launch moves all of them. `optimizer.lr` may be changed between steps, as a schedule does.
"""

from . import _core
from ._creation import asarray
from ._errors import InvalidArgument
from ._gradients import stop_gradient
from ._programs import capture as _capture
from ._runtime import eval as _eval
from .nn import value_and_grad

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "cosine_schedule"]

cosine_schedule = _core.nn.cosine_schedule
_SCALING = ("loss_scale.scale", "loss_scale.good", "loss_scale.skipped")


class Optimizer:
    """The base of optimizers. max_norm: gradients whose norm, of all together, is beyond it are scaled
    down; None: none are. precision: a hologram.nn.MixedPrecision, or None."""

    def __init__(self, module, max_norm=None, precision=None):
        self.module, self.max_norm, self.precision = module, max_norm, precision
        self._state = {}
        self._scaling = None  # (scale, steps since an overflow, steps that were skipped)

    @property
    def scale(self):
        """What the loss is multiplied by, a tensor; None without a loss scale."""
        return None if self._scaling is None else self._scaling[0]

    @property
    def skipped(self):
        """How many steps changed nothing, as a gradient was infinite or NaN: a tensor; None without a
        loss scale."""
        return None if self._scaling is None else self._scaling[2]

    def step(self, loss, /, *args, **kwargs):
        """One step: takes the gradient of what loss(*args, **kwargs) gives, moves the parameters, and
        computes all of it. Gives the loss."""
        value = self._lazy_step(loss, args, kwargs)
        _eval(value, *self.module.state_dict().values(), *self.state_dict().values())
        return value

    def _lazy_step(self, loss, args, kwargs):
        # Also before the first step, and after others were loaded: bits may follow from where they lie.
        named = self.module.named_parameters()
        flat = _core.nn._Flat(list(named.values()))
        self.module._assign(dict(zip(named, flat.split(flat.join(list(named.values()))))))
        if self.precision is not None:
            return self._mixed_step(flat, loss, args, kwargs)
        value, gradients = value_and_grad(self.module, loss)(*args, **kwargs)
        self._move(flat, flat.join(list(gradients.values())))
        return value

    def _mixed_step(self, flat, loss, args, kwargs):
        named, scale = self.module.named_parameters(), self.precision.scale
        if scale is not None and self._scaling is None and named:
            self._scaling = _core.nn._loss_scale_state(scale.initial, next(iter(named.values())))
        values = []

        def scaled():
            with self.precision:
                value = loss(*args, **kwargs)
            value = value.astype("float32") if value.dtype.itemsize < 4 else value
            values.append(stop_gradient(value))
            return value if scale is None else value * self._scaling[0].astype(value.dtype)

        _, gradients = value_and_grad(self.module, scaled)()
        if scale is None or not named:
            self._move(flat, flat.join(list(gradients.values())))
            return values[0]
        taken, finite = _core.nn._unscale(flat.join(list(gradients.values())), self._scaling[0])
        self._move(flat, taken, finite)
        self._scaling = _core.nn._advance(
            *self._scaling, finite, scale.growth, scale.backoff, scale.interval)  # fmt: skip
        return values[0]

    def captured(self, loss, /):
        """A function of tensors that does a step with loss(*tensors), as step() does, as one captured
        graph: nothing is built or scheduled anew. The first call is an ordinary step; shapes and dtypes
        must stay as they are at the second. Numbers of the optimizer, as lr, are constants of a graph:
        one that has changed is captured once more. Random numbers would be the same at each step,
        so that a loss may not draw any."""
        return _CapturedStep(self, loss)

    def _constants(self):
        """The numbers that a graph would hold."""
        return tuple((k, v) for k, v in vars(self).items() if isinstance(v, (int, float, tuple)))

    def update(self, gradients, /):
        """Moves the parameters by gradients, a dict by their names. Lazy: nothing is computed yet."""
        named = self.module.named_parameters()
        if gradients.keys() != named.keys():
            raise InvalidArgument(
                f"gradients of {sorted(gradients)} for parameters {sorted(named)}",
                "Give the dict that hologram.nn.value_and_grad makes.",
            )
        flat = _core.nn._Flat(list(named.values()))
        self._move(flat, flat.join([gradients[name] for name in named]))

    def _move(self, flat, gradients, finite=None):
        """The same by joined gradients; nothing moves if `finite`, a bool, says so."""
        if self.max_norm is not None:
            gradients = flat.clip_by_norm(gradients, self.max_norm)
        named, state = self.module.named_parameters(), self._state
        before, kept = flat.join(list(named.values())), _by_list(flat.join, state)
        try:
            self._state = kept
            moved = self._moved(before, gradients)
            if finite is not None:
                moved = _core.nn._keep_unless(finite, moved, before)
                self._state = _kept(finite, self._state, kept)
            after = _by_list(flat.split, self._state)
            places = self.module._places(dict(zip(named, flat.split(moved))))
        finally:
            self._state = state
        self._state = after  # an interrupt comes before this or after the call
        _core.nn._put_all(places)

    def _values(self, flat):
        """Everything that a step changes: parameters and moments, joined; and the others."""
        joined = flat.join(self.module.parameters())
        others = list(self._scaling or ())
        for kept in self._state.values():
            if isinstance(kept, list):
                joined += flat.join(kept)
            else:
                others.append(kept)
        return joined, others + list(self.module.named_buffers().values())

    def _take(self, flat, names, values):
        """Takes what _values() gave, for parameters of these names."""
        values = iter(values)
        joined = lambda: flat.split([next(values) for _ in range(flat.size)])
        tensors = dict(zip(names, joined()))
        state = {k: joined() if isinstance(x, list) else None for k, x in self._state.items()}
        scaling = None if self._scaling is None else tuple(next(values) for _ in _SCALING)
        state = {k: next(values) if x is None else x for k, x in state.items()}
        tensors.update({name: next(values) for name in self.module.named_buffers()})
        places = self.module._places(tensors)
        self._scaling, self._state = scaling, state
        _core.nn._put_all(places)

    def state_dict(self, *, scaling=True):
        """The state by names such as "exp_avg.layer.weight"; empty before the first step. With the
        loss scale's ("loss_scale.scale"), unless told otherwise."""
        names = list(self.module.named_parameters())
        state = {
            f"{kind}.{name}" if isinstance(kept, list) else kind: tensor
            for kind, kept in self._state.items()
            for name, tensor in (zip(names, kept) if isinstance(kept, list) else [("", kept)])
        }
        if scaling and self._scaling is not None:
            state.update(zip(_SCALING, self._scaling))
        return state

    def load_state_dict(self, state, /):
        """Takes the state from there. InvalidArgument for what does not belong to these parameters."""
        names = list(self.module.named_parameters())
        scaling = [asarray(state[key]) for key in _SCALING if key in state]
        if scaling and len(scaling) != len(_SCALING):
            raise InvalidArgument(f"the state lacks some of {_SCALING}", "Load the state of the same model.")
        taken = {}
        for key in state:
            if key in _SCALING:
                continue
            kind = key.partition(".")[0]
            if kind not in self._kinds:
                raise InvalidArgument(
                    f"'{key}' is no state of {type(self).__name__}", "Load the state of the same optimizer."
                )
            taken.setdefault(kind, [])
        for kind in taken:
            if kind in state:
                taken[kind] = asarray(state[kind])
                continue
            keys = [f"{kind}.{name}" for name in names]
            missing = [key for key in keys if key not in state]
            if missing:
                raise InvalidArgument(f"the state lacks {missing}", "Load the state of the same model.")
            taken[kind] = [asarray(state[key]) for key in keys]
        self._state = taken
        if scaling:
            self._scaling = tuple(scaling)


def _by_list(change, state):
    """State whose lists are changed, and the other tensors are not."""
    return {kind: change(x) if isinstance(x, list) else x for kind, x in state.items()}


def _kept(finite, state, before):
    """State, or that before if a gradient is not finite."""
    flat = lambda s: [t for x in s.values() for t in (x if isinstance(x, list) else [x])]
    known = flat(before) if before.keys() == state.keys() else []
    kept = iter(_core.nn._keep_unless(finite, flat(state), known))
    return {k: [next(kept) for _ in x] if isinstance(x, list) else next(kept) for k, x in state.items()}


class _CapturedStep:
    """Steps as launches of a graph from (state, batch) to (loss, state)."""

    def __init__(self, optimizer, loss):
        self._optimizer, self._loss = optimizer, loss
        self._graph, self._constants, self._began = None, None, False

    def __call__(self, *batch):
        optimizer = self._optimizer
        if not self._began:  # state comes into being
            self._began = True
            return optimizer.step(self._loss, *batch)
        named = optimizer.module.named_parameters()
        flat = _core.nn._Flat(list(named.values()))
        joined, others = optimizer._values(flat)
        like = [(x.shape, x.dtype) for x in [*joined, *others]]
        constants = (optimizer._constants(), like, list(named))
        if self._graph is None or constants != self._constants:
            self._graph = _capture(self._recorded(flat, list(named)), *joined, *others, *batch)
            self._constants = constants
        value, *state = self._graph(*joined, *others, *batch)
        optimizer._take(flat, named, state)
        return value

    def _recorded(self, flat, names):
        optimizer = self._optimizer

        def step(*tensors):
            model, before = optimizer.module.state_dict(), (optimizer._state, optimizer._scaling)
            joined, others = optimizer._values(flat)
            count = len(joined) + len(others)
            model_before = optimizer.module._places(model)
            try:
                optimizer._take(flat, names, tensors[:count])
                value = optimizer._lazy_step(self._loss, tensors[count:], {})
                joined, others = optimizer._values(flat)
            finally:
                _core.nn._put_all(model_before)
                optimizer._state, optimizer._scaling = before
            return [value, *joined, *others]

        return step


class Adam(Optimizer):
    """Adam. weight_decay is added to the gradient."""

    _kinds, _decoupled = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"), False

    def __init__(self, module, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *,
                 amsgrad=False, maximize=False, max_norm=None, precision=None):  # fmt: skip
        super().__init__(module, max_norm, precision)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.weight_decay, self.amsgrad, self.maximize = weight_decay, amsgrad, maximize

    def _moved(self, parameters, gradients):  # and the state, all of them joined
        kept = [self._state.get(kind, []) for kind in self._kinds[:3]]
        moved, *state = _core.nn.adam_step(
            parameters, gradients, *kept, self._state.get("step"), lr=self.lr, beta1=self.betas[0],
            beta2=self.betas[1], eps=self.eps, weight_decay=self.weight_decay,
            decoupled=self._decoupled, amsgrad=self.amsgrad, maximize=self.maximize)  # fmt: skip
        self._state = {k: x for k, x in zip(self._kinds, state) if not isinstance(x, list) or x}
        return moved


class AdamW(Adam):
    """Adam with weight decay beside the gradient."""

    _decoupled = True

    def __init__(self, module, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, **options):
        super().__init__(module, lr, betas, eps, weight_decay, **options)


class SGD(Optimizer):
    """Gradient descent, with momentum if it is not 0."""

    _kinds = ("momentum_buffer",)

    def __init__(self, module, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, *,
                 nesterov=False, maximize=False, max_norm=None, precision=None):  # fmt: skip
        super().__init__(module, max_norm, precision)
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov, self.maximize = weight_decay, nesterov, maximize

    def _moved(self, parameters, gradients):
        moved, buffers = _core.nn.sgd_step(
            parameters, gradients, self._state.get("momentum_buffer", []), lr=self.lr,
            momentum=self.momentum, dampening=self.dampening, weight_decay=self.weight_decay,
            nesterov=self.nesterov, maximize=self.maximize)  # fmt: skip
        self._state = {"momentum_buffer": buffers} if buffers else {}
        return moved
