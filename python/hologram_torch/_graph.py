"""A graph of PyTorch as one of hologram."""

import functools
import operator
import weakref
from collections import OrderedDict

import torch
from torch.fx.node import map_arg

import hologram as hg
from hologram import _core

from ._dtypes import OURS, as_dtype
from ._images import LAST, Images, as_images, channels_last, whole
from ._interchange import Held, Inputs, Place, shares, without_sharing
from ._report import count
from ._table import BY_ELEMENT, TABLE

_aten = torch.ops.aten
# What only looks at its operand otherwise: PyTorch does that itself, and nothing is copied.
_VIEWS = {
    _aten.permute.default, _aten.t.default, _aten.transpose.int, _aten.view.default,
    _aten._unsafe_view.default, _aten.alias.default, _aten.detach.default, _aten.unsqueeze.default,
    _aten.squeeze.dims, _aten.squeeze.dim, _aten.expand.default, _aten.select.int, _aten.slice.Tensor,
}  # fmt: skip
# Likewise, of several parts.
_PARTS = {_aten.split.Tensor, _aten.split_with_sizes.default, _aten.unbind.int}
_SIZES = {
    _aten.sym_size.int: lambda x, d: x.shape[d], _aten.sym_numel.default: lambda x: x.size,
}  # fmt: skip
# Their images have channels last.
_MAKES_IMAGES = {
    "convolution.default", "convolution_backward.default", "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_no_training.default", "_native_batch_norm_legit_functional.default",
}  # fmt: skip
# So many recordings of a graph are kept, the last ones used.
_KEPT = 64


def name_of(target):
    """"add.Tensor" of an operation of PyTorch."""
    return str(target).removeprefix("aten.")


def _is_of_numbers(target):
    return getattr(target, "__module__", None) in ("_operator", "math") or target in (
        torch.sym_max, torch.sym_min, torch.sym_float, torch.sym_int, torch.sym_not)  # fmt: skip


def is_view(node):
    """Whether it only looks at a tensor otherwise, or at a part of it; a copy is the tensor itself here."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return node.args[0].target in _PARTS
    return node.target in _VIEWS or node.target in _PARTS or node.target == _aten.clone.default


def missing(module):
    """The operations in a graph that are not in the table."""
    return sorted({
        str(node.target)
        for node in module.graph.nodes
        if node.op == "call_function" and name_of(node.target) not in TABLE
        and node.target not in _SIZES and not _is_of_numbers(node.target)
    })  # fmt: skip


def _described(node):
    return node.meta.get("val", node.meta.get("example_value"))


def _dtypes_of(value):
    """Of what a node gives: a dtype of hologram, or a list of them, None where it is no tensor."""
    if isinstance(value, (list, tuple)):
        return [_dtypes_of(v) for v in value]
    return OURS[value.dtype] if isinstance(value, torch.Tensor) else None


class _Step:
    """A node: its function, and the dtypes before and after it."""

    def __init__(self, node):
        self.node = node
        self.row = TABLE.get(name_of(node.target))
        if self.row is None:
            self.function = _SIZES.get(node.target, node.target)
            return
        self.function = self.row.function
        if self.row.lies:
            x = _described(node.args[0])
            self.function = functools.partial(self.function, lies=(x.stride(), x.storage_offset()))
        name = name_of(node.target)
        self.by_element, self.makes_images = name in BY_ELEMENT, name in _MAKES_IMAGES
        self.after = _dtypes_of(_described(node))
        self.before = None
        if self.row.promote == "result":
            self.before = self.after[0] if isinstance(self.after, list) else self.after
        elif self.row.promote == "operands":
            operands = [_described(a) if isinstance(a, torch.fx.Node) else a for a in node.args[:2]]
            self.before = OURS[torch.result_type(*operands)]

    def run(self, value_of):
        args, kwargs = map_arg(self.node.args, value_of), map_arg(self.node.kwargs, value_of)
        if self.row is None:
            return self.function(*map(whole, args), **kwargs)
        turned = channels_last(args) if self.by_element else None
        if turned is None:
            args, kwargs = (torch.fx.node.map_aggregate(x, whole) for x in (args, kwargs))
        else:
            args = tuple(turned)
        if self.before is not None:
            args = torch.fx.node.map_aggregate(args, self._promoted)
        made = self._brought(self.function(*args, **kwargs), self.after)
        if turned is not None:
            return Images(made)
        if not self.makes_images:
            return made
        return [as_images(m) for m in made] if isinstance(made, list) else as_images(made)

    def _promoted(self, x):
        return as_dtype(x, self.before) if isinstance(x, hg.Tensor) else x

    def _brought(self, made, dtypes):
        if isinstance(made, (list, tuple)):
            return [self._brought(m, d) for m, d in zip(made, dtypes)]
        return as_dtype(made, dtypes) if isinstance(made, hg.Tensor) and dtypes is not None else made


class Recorded:
    """A recording of a graph, for inputs of some shapes and orders."""

    def __init__(self):
        self.graph, self.numbers, self.shapes = None, [], []


class Compiled:
    """A graph whose operations are all in the table; called with PyTorch's tensors and numbers. stream: that of
    PyTorch's which the executor's work goes to; without one, results are waited for. results: so many outputs are
    somebody's, all others are for a graph of hologram's alone, and may lie otherwise than PyTorch thinks."""

    def __init__(self, module, executor, stream=None, results=None):
        self.module, self.executor, self.stream = module, executor, stream
        self.inputs = Inputs(executor)
        nodes = list(module.graph.nodes)
        self.placeholders = [n for n in nodes if n.op == "placeholder"]
        self.constants = {n: getattr(module, n.target) for n in nodes if n.op == "get_attr"}
        calls = [n for n in nodes if n.op == "call_function"]
        self.outputs = nodes[-1].args[0]
        self.viewed = self._views_of_inputs(calls)
        others = dict.fromkeys(n for n in self._output_nodes() if n not in self.viewed)
        self.computed = [n for n in others if isinstance(_described(n), torch.Tensor)]
        self.numbers = [n for n in others if n not in self.computed]
        self.steps = [_Step(n) for n in calls]
        self.is_random = any(s.row is not None and s.row.random for s in self.steps)
        varying = self._varying(calls)
        self.places = [Place(_described(n), n not in varying) for n in self.computed]
        theirs = set(self.outputs if results is None else self.outputs[:results])
        for place, node in zip(self.places, self.computed):
            place.is_free = node not in theirs
        self.into = stream is not None and all(shares(executor, p) for p in self.places)
        self.tensors = [i for i, n in enumerate(self.placeholders) if isinstance(_described(n), torch.Tensor)]
        self.recorded = OrderedDict()
        self.held = None
        self.last = {}  # of the inputs that the last call took anew
        self._arrange_outputs()
        count(graphs=1)

    def _output_nodes(self):
        return [n for n in self.outputs if isinstance(n, torch.fx.Node)]

    def _views_of_inputs(self, calls):
        """What is an input, or a view of one, and numbers that follow from inputs."""
        known = set(self.placeholders)
        for node in calls:
            target = node.target
            takes_part = target in _VIEWS or target in _SIZES or _is_of_numbers(target)
            if takes_part and known.issuperset(node.all_input_nodes):
                known.add(node)
        return known

    def _varying(self, calls):
        """What follows from values of inputs."""
        known = set(self.placeholders)
        for node in calls:
            if not known.isdisjoint(node.all_input_nodes):
                known.add(node)
        return known

    def _arrange_outputs(self):
        """Where each output is among the inputs, what is computed, views and constants."""
        self.views = [n for n in dict.fromkeys(self._output_nodes()) if n in self.viewed and n.op != "placeholder"]
        every = [*self.placeholders, *self.computed, *self.numbers, *self.views]
        place = {n: i for i, n in enumerate(every)}
        self.plain = [n for n in self.outputs if not isinstance(n, torch.fx.Node)]
        plain = iter(range(len(every), len(every) + len(self.plain)))
        self.picked = [place[n] if isinstance(n, torch.fx.Node) else next(plain) for n in self.outputs]

    def __call__(self, args):
        """Of a list of inputs, which is emptied, so that their memory can go."""
        count(calls=1)
        values = list(args)
        args.clear()
        with torch.no_grad():
            given, numbers = self._results(values)
            every = [*values, *given, *numbers]
            if self.views:
                every += self._viewed(values, numbers)
            every += self.plain
            return [every[i] for i in self.picked]

    def _viewed(self, values, numbers):
        made = {**dict(zip(self.placeholders, values)), **dict(zip(self.numbers, numbers))}

        def value(node):
            if node not in made:
                made[node] = node.target(*map_arg(node.args, value), **map_arg(node.kwargs, value))
            return made[node]

        return [value(n) for n in self.views]

    # --- a call

    def _results(self, values):
        """The computed outputs for PyTorch, and those that are numbers."""
        if not self.computed and not self.numbers:
            return [], []
        if self.stream is not None:
            return self.stream.ordered(lambda: self._launched(values))
        if self.executor.backend != "cpu":
            for device in {values[i].device for i in self.tensors if shares(self.executor, values[i])}:
                torch.cuda.current_stream(device).synchronize()
        return self._launched(values)

    def _launched(self, values):
        if self.is_random or not self.tensors:
            return self._once(values)
        held = self.held
        if held is not None and held.are_in(values):
            recorded, tensors, kept = self._with_held(held, values)
        else:
            recorded, tensors, kept = self._anew(values)
        if not self.computed:
            return [], recorded.numbers
        given = self._run(recorded, tensors)
        del kept
        return given, recorded.numbers

    def _run(self, recorded, tensors):
        if not self.into:
            made = recorded.graph.launch(tensors, ())
            return [p.give(x, self.executor) for p, x in zip(self.places, made)]
        # PyTorch's memory, which PyTorch uses again behind what uses it now.
        memory = [p.empty(shape) for p, shape in zip(self.places, recorded.shapes)]
        borrowed = [
            _core._borrow(t.data_ptr(), t.shape, OURS[t.dtype], self.executor) for t, _ in memory
        ]
        recorded.graph.launch_into(tensors, borrowed)
        return [t for _, t in memory]

    def _key(self, value, order):
        return (value.shape, value.dtype, order) if isinstance(value, torch.Tensor) else value

    def _with_held(self, held, values):
        """Takes the inputs that are not held."""
        tensors, keys, kept = list(held.tensors), [], []
        for place, slot in held.others:
            value, order = values[place], None
            if slot is not None:
                tensors[slot], order, dense = self.inputs.take(value)
                kept.append(dense)
            keys.append(self._key(value, order))
        recorded = held.recorded.get(key := tuple(keys))
        if recorded is None:
            every = list(held.keys)
            for (place, _), of_other in zip(held.others, keys):
                every[place] = of_other
            recorded = self._recording(tuple(every), values, tensors)
            if len(held.recorded) >= _KEPT:
                held.recorded.clear()
            held.recorded[key] = recorded
        return recorded, tensors, kept

    def _anew(self, values):
        """Takes all inputs, and holds those that the last call had, too."""
        tensors, keys, kept = [], list(values), []
        for i in self.tensors:
            ours, order, dense = self.inputs.take(values[i])
            tensors.append(ours)
            keys[i] = self._key(values[i], order)
            kept.append(dense)
        same = [
            i for i in self.tensors
            if (last := self.last.get(i)) is not None and last() is values[i] and not values[i].is_inference()
            and values[i].data_ptr()
        ]  # fmt: skip
        self.held = Held(same, values, tensors, keys, self.executor) if len(same) > 1 else None
        self.last = {i: weakref.ref(values[i]) for i in self.tensors}
        return self._recording(tuple(keys), values, tensors), tensors, kept

    # --- recordings

    def _recording(self, key, values, tensors):
        found = self.recorded.get(key)
        if found is None:
            orders = [k[2] if isinstance(v, torch.Tensor) else v for k, v in zip(key, values)]
            found = self.recorded[key] = self._record(tensors, orders)
            if len(self.recorded) > _KEPT:
                self.recorded.popitem(last=False)
        self.recorded.move_to_end(key)
        return found

    def _record(self, tensors, orders):
        made = Recorded()

        def function(*stand_ins):
            results, made.numbers = self._calculated(stand_ins, orders)
            made.shapes = [r.shape for r in results]
            return results

        count(captured=1)
        with hg.use(self.executor):
            if self.computed:
                made.graph = hg.capture(function, *tensors)._graph
            else:
                function(*tensors)
        return made

    def _once(self, values):
        """Not recorded: what draws random numbers, or has no tensor to begin with."""
        if self.is_random:
            hg.random.seed(int(torch.randint(0, 2**62, ())), device=self.executor)
        taken = {i: self.inputs.take(values[i], owned=True) for i in self.tensors}
        orders = [taken[i][1] if i in taken else v for i, v in enumerate(values)]
        with hg.use(self.executor):
            results, numbers = self._calculated([taken[i][0] for i in self.tensors], orders)
        hg.eval(*results)
        given = [p.give(x, self.executor) for p, x in zip(self.places, results)]
        return without_sharing(given), numbers

    def _calculated(self, tensors, orders):
        tensors, values = iter(tensors), {}
        for node, order in zip(self.placeholders, orders):
            if not isinstance(_described(node), torch.Tensor):
                values[node] = order  # a number
                continue
            x = next(tensors)
            if order == LAST:
                values[node] = Images(x)
                continue
            if order is not None:
                back = sorted(range(x.ndim), key=order.__getitem__)
                x = hg.permute_dims(x, tuple(back))
            values[node] = x
        for node, tensor in self.constants.items():
            copied = hg.from_dlpack(tensor.detach().cpu().contiguous(), copy=True, device=self.executor)
            values[node] = copied
        for step in self.steps:
            values[step.node] = step.run(values.__getitem__)
        results = []
        for place, node in zip(self.places, self.computed):
            if isinstance(values[node], Images):
                place.may_lie(LAST)
            results.append(place.ordered(whole(values[node])))
        return results, [values[n] for n in self.numbers]
