#!/usr/bin/env python3
"""python_peers.py [--threads N] [--without NAME]…: NumPy, numexpr and PyTorch as competitors of
`hologram bench --beside`. Those that are not installed do not take part.

A line of JSON on the standard input is a request, one on the standard output its answer. The first
line out says who is here: {"versions": {"NumPy": "2.4.6", …}}. Then

  {"prepare": WORK, "inputs": [FILE.npy, …]}   {"ways": ["NumPy", "PyTorch", …]}
  {"result": WAY, "file": FILE.npy}            {}; what way number WAY makes of it is in the file
  {"run": WAY, "times": K, "processor": B}     {"seconds": of K runs, or of all threads together}

and whatever goes wrong is {"error": "why"}. The end of the input is the end of the program.
"""

import argparse
import functools
import gc
import itertools
import json
import operator
import os
import sys
import time

from compare_bars import FUNCTIONS, ORDERS

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--without", action="append", default=[], help="a library, or torch.compile")
arguments = parser.parse_args()
for runtime in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "NUMEXPR_MAX"):
    os.environ[f"{runtime}_NUM_THREADS"] = str(arguments.threads)
os.environ["NUMEXPR_MAX_THREADS"] = str(arguments.threads)
# Threads that have no work leave the processor to others within a millisecond.
for setting, value in {"GOMP_SPINCOUNT": 20000, "KMP_BLOCKTIME": 1, "OPENBLAS_THREAD_TIMEOUT": 20}.items():
    os.environ.setdefault(setting, str(value))


def module(name):
    if name in arguments.without:
        return None
    try:
        return __import__(name)
    except ImportError:
        return None


import numpy  # noqa: E402  the arrays are handed over as its files

numexpr = module("numexpr")
torch = module("torch")
if numexpr is not None:
    numexpr.set_num_threads(arguments.threads)
if torch is not None:
    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    compiled = "torch.compile" not in arguments.without

EPSILON = 1e-5  # of layer-norm

NUMPY = {
    "add": operator.add,
    "fma": lambda a, b, c: a * b + c,
    "sigmoid": lambda a, b, c, d, e: 1 / (1 + numpy.exp(-(a * b + c))) * d - e,
    "exp": numpy.exp,
    "sum": numpy.sum,
    "dot": numpy.dot,
    "row-sums": lambda a: numpy.sum(a, axis=-1),
    "column-sums": lambda a: numpy.sum(a, axis=0),
    "sort": numpy.sort,
    "cumsum": numpy.cumsum,
    "take": numpy.take,
    "flip": lambda a: a[::-1].copy(),
    "transpose": lambda a: a.T.copy(),
    "slice": lambda a: a[:, :-1] + 1,
    "narrow-sums": lambda a: numpy.sum(a, axis=0),
    "matmul": operator.matmul,
    "matmul-f64": operator.matmul,
    "vector-matrix": lambda a, x: x @ a,
    "matrix-vector": operator.matmul,
}


def numpy_twelve(a, b, c, d, e):
    t = (a * b + c) * d - e
    t = numpy.maximum(t, 0) * numpy.float32(0.5) + a
    t = numpy.sqrt(numpy.abs(t)) - b
    return numpy.minimum(t * t, 4)


def numpy_softmax(a):
    e = numpy.exp(a - a.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def numpy_layer_norm(a, weight, bias):
    from_mean = a - a.mean(axis=-1, keepdims=True)
    variance = numpy.square(from_mean).mean(axis=-1, keepdims=True)
    return from_mean / numpy.sqrt(variance + numpy.float32(EPSILON)) * weight + bias


# Of the same names in NumPy, and the others.
NUMPY |= {name: getattr(numpy, name) for name in FUNCTIONS if hasattr(numpy, name)}
NUMPY |= {"atan": numpy.arctan, "div": operator.truediv, "pow": numpy.power}
NUMPY |= {"twelve": numpy_twelve, "softmax": numpy_softmax, "layer-norm": numpy_layer_norm}

# Constants of another type would make all of it f64; its `float` is f32.
NUMEXPR = {
    "add": "a + b",
    "fma": "a * b + c",
    "sigmoid": "one / (one + exp(-(a * b + c))) * d - e",
    "twelve": "where(t < four, t, four)",
    "exp": "exp(a)",
}
CONSTANTS = {"zero": 0, "half": 0.5, "one": 1, "four": 4}
TWELVE = "(a * b + c) * d - e"
TWELVE = f"sqrt(abs(where({TWELVE} > zero, {TWELVE}, zero) * half + a)) - b"
NUMEXPR["twelve"] = NUMEXPR["twelve"].replace("t <", f"({TWELVE})**2 <").replace(" t,", f" ({TWELVE})**2,")


def torch_twelve(a, b, c, d, e):
    t = (a * b + c) * d - e
    t = torch.clamp_min(t, 0) * 0.5 + a
    t = torch.sqrt(torch.abs(t)) - b
    return torch.clamp_max(t * t, 4)


def convolution(**options):
    return lambda x, w: torch.nn.functional.conv2d(x, w, **options)


if torch is not None:
    TORCH = {
        "add": operator.add,
        "fma": lambda a, b, c: torch.addcmul(c, a, b),
        "sigmoid": lambda a, b, c, d, e: torch.sigmoid(a * b + c) * d - e,
        "twelve": torch_twelve,
        "gelu": torch.nn.functional.gelu,
        "exp": torch.exp,
        "sum": torch.sum,
        "dot": torch.dot,
        "row-sums": lambda a: torch.sum(a, -1),
        "column-sums": lambda a: torch.sum(a, 0),
        "sort": lambda a: torch.sort(a).values,
        "topk": lambda a: torch.topk(a, min(10, len(a))).values,
        "cumsum": lambda a: torch.cumsum(a, 0),
        "take": lambda a, at: torch.index_select(a, 0, at),
        "scatter-add": lambda a, at, b: torch.scatter_add(a, 0, at, b),
        "flip": lambda a: torch.flip(a, (0,)),
        "transpose": lambda a: a.t().contiguous(),
        "slice": lambda a: a[:, :-1] + 1,
        "narrow-sums": lambda a: torch.sum(a, 0),
        "softmax": lambda a: torch.softmax(a, -1),
        "layer-norm": lambda a, w, b: torch.nn.functional.layer_norm(a, w.shape, w, b, EPSILON),
        "matmul": operator.matmul,
        "matmul-f64": operator.matmul,
        "vector-matrix": lambda a, x: x @ a,
        "matrix-vector": operator.matmul,
        "conv2d": convolution(padding=1),
        "conv2d-1x1": convolution(),
        "conv2d-depthwise": convolution(padding=1, groups=64),
        "conv2d-stride2": convolution(padding=1, stride=2),
        "conv2d-nchw": convolution(padding=1),
    }
    TORCH |= {name: getattr(torch, name) for name in FUNCTIONS if hasattr(torch, name)}
    TORCH |= {name: getattr(torch.nn.functional, name) for name in ("relu", "silu", "softplus", "elu")}
    # Into memory that is there already.
    TORCH_INTO = {
        "add": torch.add,
        "fma": lambda a, b, c, out: torch.addcmul(c, a, b, out=out),
        "exp": torch.exp,
        "matmul": torch.matmul,
        "matmul-f64": torch.matmul,
    }
    # What is one call of a library in either way is not compiled.
    CALLS = {name for name in TORCH if name.startswith(("matmul", "matrix", "vector", "conv2d"))}
    CALLS |= {*ORDERS, *FUNCTIONS}


def of_numexpr(work, inputs):
    names = "abcde"[: len(inputs)]
    expression = NUMEXPR[work]
    used = [name for name in CONSTANTS if name in expression]
    evaluate = numexpr.NumExpr(expression, [(name, float) for name in [*names, *used]])
    return functools.partial(evaluate, *inputs, *(numpy.float32(CONSTANTS[name]) for name in used))


def of_torch(work, inputs):
    """In PyTorch's own memory, and images as it calls channels last."""
    tensors = []
    for array in inputs:
        tensor = torch.from_numpy(array)
        if work.startswith("conv2d") and work != "conv2d-nchw":
            # NHWC, and weights HWIO, in the order of their names: NCHW and OIHW.
            tensor = tensor.permute(0, 3, 1, 2) if array is inputs[0] else tensor.permute(3, 2, 0, 1)
            tensors.append(tensor.contiguous(memory_format=torch.channels_last).clone())
        else:
            tensors.append(tensor.clone())
    return tensors


def ways_of(work, inputs):
    """Pairs of a name and what computes the result."""
    ways = []
    if work in NUMPY and "numpy" not in arguments.without:
        ways.append(("NumPy", functools.partial(NUMPY[work], *inputs)))
    if numexpr is not None and work in NUMEXPR:
        ways.append(("numexpr", of_numexpr(work, inputs)))
    if torch is None or work not in TORCH:
        return ways
    tensors = of_torch(work, inputs)
    eager = functools.partial(TORCH[work], *tensors)
    ways.append(("PyTorch", eager))
    if work in TORCH_INTO:
        ways.append(("PyTorch out=", functools.partial(TORCH_INTO[work], *tensors, out=eager())))
    if compiled and work not in CALLS:
        torch.compiler.reset()
        function = torch.compile(TORCH[work], dynamic=False)
        ways.append(("torch.compile", functools.partial(function, *tensors)))
    return ways


def array_of(work, result):
    if torch is not None and isinstance(result, torch.Tensor):
        if work.startswith("conv2d") and work != "conv2d-nchw":
            result = result.permute(0, 2, 3, 1)
        result = result.numpy()
    return numpy.ascontiguousarray(result).reshape(numpy.shape(result))


class Peers:
    def __init__(self):
        self.work, self.ways = "", []

    def prepare(self, request):
        self.ways = []  # their memory is needed
        gc.collect()
        self.work = request["prepare"]
        self.ways = ways_of(self.work, [numpy.load(path) for path in request["inputs"]])
        return {"ways": [name for name, _ in self.ways]}

    def result(self, request):
        numpy.save(request["file"], array_of(self.work, self.ways[request["result"]][1]()))
        return {}

    def run(self, request):
        way = self.ways[request["run"]][1]
        clock = time.process_time if request["processor"] else time.perf_counter
        times = itertools.repeat(None, request["times"])
        start = clock()
        for _ in times:
            way()
        return {"seconds": clock() - start}


def versions():
    found = {"Python": sys.version.split()[0], "NumPy": numpy.__version__}
    if numexpr is not None:
        found["numexpr"] = numexpr.__version__
    if torch is not None:
        found["PyTorch"] = torch.__version__
        for line in torch.__config__.show().splitlines():
            for library in ("Math Kernel Library Version", "MKL-DNN v"):
                if library in line:
                    found["of PyTorch: " + ("oneDNN" if "DNN" in library else "MKL")] = (
                        line.split(library)[1].split()[0]
                    )
    return found


def main():
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    peers = Peers()
    print(json.dumps({"versions": versions()}), file=answers)
    gc.disable()
    for line in sys.stdin:
        try:
            request = json.loads(line)
            verb = next(iter(request))
            if verb not in ("prepare", "result", "run"):
                raise ValueError(f"there is no request '{verb}'")
            answer = getattr(peers, verb)(request)
        except Exception as error:  # whatever it is, the other side wants to know
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


main()
