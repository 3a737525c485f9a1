"""The backend of torch.compile."""

import functools
import warnings

import torch
from functorch.compile import make_boxed_func
from torch._decomp import core_aten_decompositions
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.common import aot_autograd

import hologram as hg

from ._attention import Whole, without_what_nobody_keeps
from ._graph import Compiled, missing
from ._partition import partition
from ._report import count_missing
from ._streams import executor_on_stream

_OPTIONS = ("backend", "device_id", "strict")


@functools.cache
def executor_of(backend, device_id):
    """The executor of a backend: one a process."""
    return hg.Executor(backend, device_id=device_id) if device_id is not None else hg.Executor(backend)


def _executor_for(examples, backend, device_id):
    """The executor of a graph, and the stream of PyTorch's that it is on, if it is on one."""
    devices = [x.device for x in examples if isinstance(x, torch.Tensor) and x.device.type == "cuda"]
    backend = backend or ("cuda" if devices else "cpu")
    if backend == "cuda" and devices and torch.version.cuda:
        return executor_on_stream(devices[0].index if device_id is None else device_id)
    return executor_of(backend, device_id), None


@functools.cache
def _decompositions():
    return core_aten_decompositions()


def _by_torch(module, names, strict):
    """PyTorch's own way, said and counted."""
    names = list(names)
    if strict:
        raise NotImplementedError(
            f"hologram has no {', '.join(names)}; leave the option 'strict' out to have PyTorch compute "
            "graphs with it"
        )
    count_missing(names)

    def as_described(args):
        """What a graph of hologram's kept for this one may lie otherwise."""
        for i, (node, x) in enumerate(zip(inputs, args)):
            val = node.meta.get("val")
            if not isinstance(x, torch.Tensor) or not isinstance(val, torch.Tensor) or x.ndim != 4:
                continue
            if val.is_contiguous() and not x.is_contiguous():
                args[i] = x.contiguous()
        return args

    inputs = [n for n in module.graph.nodes if n.op == "placeholder"]
    warnings.warn(
        f"hologram_torch: PyTorch computes a graph, for want of {', '.join(names)}; "
        "hologram_torch.report() counts this, options={'strict': True} refuses it",
        stacklevel=2,
    )
    return lambda *args: module.forward(*as_described(list(args)))


def _guarded(compiled, strict):
    """A compiled graph as a function of a list of inputs, which becomes PyTorch's own if an operation
    turns out not to be there for its operands."""
    instead, has_run = None, False

    def call(args):
        nonlocal instead, has_run
        if instead is None:
            kept = None if has_run else list(args)
            try:
                made = compiled(args)
                has_run = True
                return made
            except NotImplementedError as error:
                if kept is None:
                    raise
                instead = _by_torch(compiled.module, [str(error)], strict)
                args = kept
        return list(instead(*args))

    call._boxed_call = True
    return call


def _results_of_forward():
    """How many outputs of the graph that is being compiled are not just kept for the one backward; None if PyTorch
    does not tell."""
    context = torch._guards.TracingContext.try_get()
    return getattr(getattr(context, "fw_metadata", None), "num_forward", None)


def hologram(module, examples, *, options=None, mode=None):
    """The backend for torch.compile. options: "backend", the name of one of hologram's (without it the
    processor for tensors of the host, CUDA for CUDA's); "device_id"; "strict", which refuses graphs
    that PyTorch would have to compute."""
    options = dict(options or {})
    unknown = options.keys() - set(_OPTIONS)
    if unknown:
        raise ValueError(f"unknown options {sorted(unknown)}; there are {', '.join(_OPTIONS)}")
    executor, stream = _executor_for(examples, options.get("backend"), options.get("device_id"))
    strict = options.get("strict", False)

    def compiler(graph, _, results=None):
        without_what_nobody_keeps(graph.graph)
        lacking = missing(graph)
        if lacking:
            return make_boxed_func(_by_torch(graph, lacking, strict))
        return _guarded(Compiled(graph, executor, stream, results), strict)

    def forward(graph, inputs):
        return compiler(graph, inputs, _results_of_forward())

    math = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with math, Whole(keeps=executor.backend != "cpu"):
        return aot_autograd(
            fw_compiler=forward, bw_compiler=compiler, inference_compiler=compiler,
            decompositions=_decompositions(),
            partition_fn=partition)(module, examples)  # fmt: skip


def register():
    """Makes the backend known by its name, once."""
    if "hologram" not in list_backends(exclude_tags=()):
        register_backend(hologram, name="hologram")
