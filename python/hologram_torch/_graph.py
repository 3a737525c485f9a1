"""A graph of PyTorch as one of hologram."""

from collections import OrderedDict

import torch
from torch.fx.node import map_arg

import hologram as hg

from ._dtypes import OURS, as_dtype
from ._interchange import Inputs, give, order_of
from ._report import count
from ._table import TABLE

_aten = torch.ops.aten
# What only looks at its operand otherwise: PyTorch does that itself, and nothing is copied.
_VIEWS = {
    _aten.permute.default, _aten.t.default, _aten.transpose.int, _aten.view.default,
    _aten._unsafe_view.default, _aten.alias.default, _aten.detach.default, _aten.unsqueeze.default,
    _aten.squeeze.dims, _aten.squeeze.dim, _aten.expand.default, _aten.select.int, _aten.slice.Tensor,
}  # fmt: skip
_SIZES = {
    _aten.sym_size.int: lambda x, d: x.shape[d], _aten.sym_numel.default: lambda x: x.size,
}  # fmt: skip
# So many recordings of a graph are kept, the last ones used.
_KEPT = 64


def name_of(target):
    """"add.Tensor" of an operation of PyTorch."""
    return str(target).removeprefix("aten.")


def _is_of_numbers(target):
    return getattr(target, "__module__", None) in ("_operator", "math") or target in (
        torch.sym_max, torch.sym_min, torch.sym_float, torch.sym_int, torch.sym_not)  # fmt: skip


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
            return self.function(*args, **kwargs)
        if self.before is not None:
            args = torch.fx.node.map_aggregate(args, self._promoted)
        return self._brought(self.function(*args, **kwargs), self.after)

    def _promoted(self, x):
        return as_dtype(x, self.before) if isinstance(x, hg.Tensor) else x

    def _brought(self, made, dtypes):
        if isinstance(made, (list, tuple)):
            return [self._brought(m, d) for m, d in zip(made, dtypes)]
        return as_dtype(made, dtypes) if isinstance(made, hg.Tensor) and dtypes is not None else made


class Compiled:
    """A graph whose operations are all in the table; called with PyTorch's tensors and numbers."""

    def __init__(self, module, executor):
        self.module, self.executor = module, executor
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
        self.recorded = OrderedDict()
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

    def __call__(self, args):
        """Of a list of inputs, which is emptied, so that their memory can go."""
        count(calls=1)
        values = list(args)
        args.clear()
        with torch.no_grad():
            return self._outputs(values, *self._results(values))

    # --- inputs

    def _results(self, values):
        """The computed outputs, as tensors of hologram, and those that are numbers."""
        if not self.computed and not self.numbers:
            return [], []
        self.inputs.wait(v for v in values if isinstance(v, torch.Tensor))
        orders = [order_of(v) if isinstance(v, torch.Tensor) else v for v in values]
        tensors = [
            self.inputs.take(v, order, keeps=not self.is_random)
            for v, order in zip(values, orders) if isinstance(v, torch.Tensor)
        ]
        if self.is_random:
            hg.random.seed(int(torch.randint(0, 2**62, ())), device=self.executor)
        if self.is_random or not tensors:
            with hg.use(self.executor):
                results, numbers = self._calculated(tensors, orders)
            hg.eval(*results)
            return results, numbers
        key = tuple(
            (v.shape, v.dtype, order) if isinstance(v, torch.Tensor) else v for v, order in zip(values, orders)
        )
        if key not in self.recorded:
            self.recorded[key] = self._record(tensors, orders)
            if len(self.recorded) > _KEPT:
                self.recorded.popitem(last=False)
        self.recorded.move_to_end(key)
        graph, numbers = self.recorded[key]
        return graph(*tensors) if self.computed else [], numbers

    def _record(self, tensors, orders):
        numbers = []

        def function(*stand_ins):
            results, numbers[:] = self._calculated(stand_ins, orders)
            return results

        count(captured=1)
        with hg.use(self.executor):
            if not self.computed:
                return function(*tensors), numbers
            return hg.capture(function, *tensors), numbers

    def _calculated(self, tensors, orders):
        tensors, values = iter(tensors), {}
        for node, order in zip(self.placeholders, orders):
            if not isinstance(_described(node), torch.Tensor):
                values[node] = order  # a number
                continue
            x = next(tensors)
            if order is not None and order != tuple(range(x.ndim)):
                back = sorted(range(x.ndim), key=order.__getitem__)
                x = hg.permute_dims(x, tuple(back))
            values[node] = x
        for node, tensor in self.constants.items():
            copied = hg.from_dlpack(tensor.detach().cpu().contiguous(), copy=True, device=self.executor)
            values[node] = copied
        for step in self.steps:
            values[step.node] = step.run(values.__getitem__)
        return [values[n] for n in self.computed], [values[n] for n in self.numbers]

    # --- outputs

    def _outputs(self, values, results, numbers):
        given = give(results, [_described(n) for n in self.computed])
        made = {**dict(zip(self.computed, given)), **dict(zip(self.numbers, numbers))}
        made.update(zip(self.placeholders, values))

        def value(node):
            if node not in made:
                made[node] = node.target(*map_arg(node.args, value), **map_arg(node.kwargs, value))
            return made[node]

        return [value(n) if isinstance(n, torch.fx.Node) else n for n in self.outputs]


