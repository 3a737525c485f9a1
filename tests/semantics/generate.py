#!/usr/bin/env python3
"""generate.py DOCUMENT OUTPUT: what NumPy says about thousands of small calculations.

Writes one JSON object a line: inputs, one to four operations, and the value or the error that must
come out. What differs from NumPy on purpose is the table of DOCUMENT (docs/semantics.md); model.py
applies it by name, and this program fails where the two do not name the same differences or where
one never shows. The cases depend on nothing but this program.
"""

import json
import math
import pathlib
import random
import re
import sys

import numpy as np

import model
import numbers_model as nm
from model import Number
from numbers_model import FLOATS, INTEGERS, Value

ALL = list(nm.HELD)
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
# Where the bounds of the functions hold; what is given beyond is brought inside.
DOMAIN = {
    "sigmoid": (-80, 80), "silu": (-80, 1e30), "softplus": (-80, 1e30), "logaddexp": (-80, 80),
    "pow": (0, 30), "rsqrt": (1.2e-38, 3.4e38), "gelu": (-1e30, 1e30), "gelu_tanh": (-1e10, 1e10),
    "lerp": (-1e18, 1e18), "leaky_relu": (-1e30, 1e30), "elu": (-1e30, 1e30),
}  # fmt: skip
FAR = (-3.4e38, 3.4e38)
ON_GRID = ("floor_div", "rem", "mad", "fma")  # exact there, or not promised elsewhere
OF_LARGER = ("mad", "lerp", "lgamma", "logaddexp", "gelu", "gelu_tanh")  # the bound is of result or operand
ARITY = {2: [
    "add", "sub", "mul", "div", "floor_div", "rem", "copysign", "minimum", "maximum", "pow", "hypot",
    "logaddexp", "atan2", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right",
], 3: ["clamp", "mad", "fma", "lerp", "where"]}  # fmt: skip
ARITY[1] = sorted(model.ELEMENTWISE - set(ARITY[2]) - set(ARITY[3]))
rng = random.Random(20240229)
cases = []


def numbers(dtype, shape, style="edge"):
    """Numbers of a dtype: `edge` has the limits among them, `grid` few bits, so that sums are exact."""
    count = math.prod(shape)
    if dtype == "bool":
        data = [rng.random() < 0.5 for _ in range(count)]
    elif dtype in INTEGERS:
        low, high = nm.limits(dtype)
        pool = {"edge": [low, low + 1, high, high - 1, 0, 1, 2, max(low, -1), max(low, -2)]}.get(style, [])
        near = range(max(low, -9), 10)
        data = [rng.choice(pool) if pool and rng.random() < 0.4 else rng.choice(near) for _ in range(count)]
        if style == "edge":
            data = [rng.randint(low, high) if rng.random() < 0.2 else v for v in data]
    elif style == "grid":
        data = [rng.randint(-40, 40) / 8 for _ in range(count)]
    else:
        _, lowest = nm.FORMAT[dtype]
        top = 65504.0 if dtype == "f16" else 3.3e38
        pool = SPECIAL + [top, -top, 2.0**lowest, 2.0**lowest * 0.75, math.pi, 0.5, 1.5, 2.5, -2.5]
        # Nearly half-way between two numbers of f16, of bf16.
        pool += [1 + 2.0**-11 + 2.0**-40, -1 - 2.0**-8 - 2.0**-40]
        data = [rng.choice(pool) if rng.random() < 0.4 else rng.gauss(0, 1) * 10 ** rng.randint(-3, 3)
                for _ in range(count)]  # fmt: skip
    if dtype in FLOATS:
        return Value(dtype, nm.rounded(dtype, np.array(data, np.float64).reshape(shape)))
    return Value(dtype, np.array(data, nm.HELD[dtype]).reshape(shape))


def limits_of(dtype):
    """The numbers that go wrong most often."""
    if dtype in FLOATS:
        return Value(dtype, nm.rounded(dtype, np.array([*SPECIAL, 2.5, -0.75], np.float64)))
    low, high = (0, 1) if dtype == "bool" else nm.limits(dtype)
    return Value(dtype, np.array([low, high, 0, 1, low + 1 if low else 1], nm.HELD[dtype]))


def inside(name, value):
    """Operands where the bound of a function holds."""
    if name not in model.FUNCTIONS:
        return value
    low, high = DOMAIN.get(name, FAR)
    if value.dtype not in FLOATS:
        low = max(low, -127)
        deep = low < 0 and value.dtype in nm.SIGNED
        return Value(value.dtype, np.maximum(value.data, value.data.dtype.type(low))) if deep else value
    data = value.data
    special = ~np.isfinite(data) | (data == 0)
    moved = np.clip(np.abs(data) if low >= 0 else data, low, high)
    return Value(value.dtype, nm.rounded(value.dtype, np.where(special, data, moved)))


def encoded(argument):
    if isinstance(argument, int):
        return argument
    value = argument.value
    return {argument.kind: value.hex() if argument.kind == "float" else value}


def spelled(options):
    """JSON has no infinity."""
    return {k: v.hex() if isinstance(v, float) else v for k, v in options.items()}


def add(family, inputs, steps):
    """A case: steps are (name, arguments, options); an argument is a position among inputs and
    earlier results, or a Number."""
    values = list(inputs)
    tolerance = None
    case = {
        "name": f"{family}/{len(cases)}",
        "in": [{"dtype": v.dtype, "shape": list(v.data.shape), "bytes": nm.raw(v)} for v in inputs],
        "do": [[name, [encoded(a) for a in arguments], spelled(options)] for name, arguments, options in steps],
    }
    try:
        for name, arguments, options in steps:
            given = [values[a] if isinstance(a, int) else a for a in arguments]
            out = model.apply(name, given, options)
            if name in model.NO_F64 and out.dtype == "f64":
                return
            tolerance = allowed(name, given, options, out) or tolerance
            values.append(out)
    except model.Refused as refused:
        case["error"] = str(refused)
    else:
        case["dtype"], case["shape"] = out.dtype, list(out.data.shape)
        case["bytes"] = nm.raw(out)
        if tolerance:
            case["tolerance"] = tolerance
    cases.append(case)


def allowed(name, given, options, out):
    """How a result may differ: by the bound of a row of the table, or by that of sums."""
    if out.dtype not in FLOATS:
        return None
    if name in model.FUNCTIONS:
        tolerance = {"of": name}
        if name in OF_LARGER:
            sizes = [np.abs(nm.wide(v)) for v in [out, *[g for g in given if isinstance(g, Value)]]]
            tolerance["scale"] = scale(np.max(np.broadcast_arrays(*sizes), axis=0))
        return tolerance
    if name == "prod":
        if np.all(np.isin(np.frexp(given[0].data)[0], (-0.5, 0, 0.5))):
            return None  # powers of two
    elif name not in ("var", "std", "logsumexp", "norm", "softmax", "log_softmax"):
        return None
    if not given[0].data.size:
        return None
    largest, size = float(np.max(np.abs(nm.wide(given[0])))), np.abs(nm.wide(out))
    size = {
        "prod": size,
        "var": size + largest**2,
        "std": largest**2 / np.where(size > 0, size, 1) + size,
        "softmax": size * (1 + 2 * largest),
    }.get(name, 1 + size + largest)
    return {"terms": given[0].data.size, "scale": scale(size)}


def scale(sizes):
    return np.ascontiguousarray(sizes, np.float64).tobytes().hex()


def some_shape(most=4, zero=0.08):
    return tuple(0 if rng.random() < zero else rng.randint(1, 5) for _ in range(rng.randint(0, most)))


def elementwise_cases():
    """Every operation on every dtype: limits and ordinary numbers, as an array and as one number."""
    for arity, names in sorted(ARITY.items()):
        for name in names:
            for dtype in ALL:
                for style, shape in (("edge", (41,)), ("edge", (3, 13)), ("edge", ())):
                    style = "grid" if name in ON_GRID else style
                    inputs = [inside(name, numbers(dtype, shape, style)) for _ in range(arity)]
                    if name == "where" and rng.random() < 0.9:
                        inputs[0] = numbers("bool", shape)
                    add(f"elementwise/{name}/{dtype}", inputs, [(name, list(range(arity)), {})])
                if arity == 2 and name not in ON_GRID:
                    every = inside(name, limits_of(dtype))
                    crossed = [Value(dtype, every.data[:, None]), every]
                    add(f"elementwise/{name}/{dtype}", crossed, [(name, [0, 1], {})])
    for name, value in (("leaky_relu", 0.25), ("elu", 0.5), ("leaky_relu", -2.0)):
        for dtype in ("i8", "f16", "f32", "f64"):
            inputs = [inside(name, numbers(dtype, (23,)))]
            add(f"attributes/{name}", inputs, [(name, [0], {"attributes": [value]})])


def promotion_cases():
    for a in ALL:
        for b in ALL:
            for name in ("add", "mul", "lt", "minimum", "div", "bitwise_xor", "shift_left"):
                inputs = [numbers(a, (7,), "grid"), numbers(b, (7,), "grid")]
                add(f"promotion/{name}", inputs, [(name, [0, 1], {})])
            chosen = [numbers("bool", (7,)), numbers(a, (7,)), numbers(b, (7,))]
            add("promotion/where", chosen, [("where", [0, 1, 2], {})])


def scalar_cases():
    scalars = [True, 1, -3, 0, 200, 70000, 2**40, 0.5, -2.0, 3.0, 1e5, 0.1, math.inf, math.nan]
    scalars += [2**53 + 1, 2**53 + 2**29 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, -(2.0**63), 2.0**63, 2.0**64]
    for dtype in ALL:
        for value in scalars:
            for name in ("add", "mul", "sub", "eq", "maximum", "where"):
                x = numbers(dtype, (5,), "grid")
                arguments = [0, Number(value)] if rng.random() < 0.5 else [Number(value), 0]
                if name == "where":
                    add("scalar/where", [x, numbers("bool", (5,))], [(name, [1, *arguments], {})])
                else:
                    add(f"scalar/{name}", [x], [(name, arguments, {})])
    for a in (True, 2, 2.5, 2**64 - 2):
        for b in (False, 7, 0.25, 2**63):
            add("scalar/both", [], [("add", [Number(a), Number(b)], {})])
            add("scalar/both", [], [("minimum", [Number(a), Number(b)], {})])


def cast_cases():
    for a in ALL:
        for b in ALL:
            for shape in ((61,), ()):
                add(f"cast/{a}/{b}", [numbers(a, shape)], [("to", [0], {"dtype": b})])


def broadcast_pair():
    """Two shapes that go together, mostly."""
    shape = list(some_shape())
    shapes = []
    for _ in range(2):
        own = [1 if rng.random() < 0.3 else n for n in shape][rng.randint(0, len(shape)) :]
        if own and rng.random() < 0.06:
            own[rng.randrange(len(own))] += 1
        shapes.append(tuple(own))
    return shapes


def broadcast_cases():
    for _ in range(700):
        dtype = rng.choice(["i32", "f32", "u8", "f64"])
        inputs = [numbers(dtype, shape, "grid") for shape in broadcast_pair()]
        add("broadcast", inputs, [(rng.choice(["add", "sub", "lt"]), [0, 1], {})])


def some_axis(rank):
    """Sometimes one that is not there."""
    wrong = rank == 0 or rng.random() < 0.03
    return rng.choice([rank, -rank - 1]) if wrong else rng.randint(-rank, rank - 1)


def some_view(shape):
    """A view of a tensor of this shape: a step without its argument."""
    rank = len(shape)
    name = rng.choice(model.VIEWS)
    axes = list(range(rank))
    if name == "slice":
        ends = [None, None, *range(-7, 8), 2**63 - 1, -(2**63)]
        steps = [1, 1, 1, 2, -1, -1, -2, 3, 2**63 - 1, -(2**63)] + [0] * (rng.random() < 0.02)
        many = rng.randint(0, rank + (rng.random() < 0.03))
        return name, {"parts": [[rng.choice(ends), rng.choice(ends), rng.choice(steps)] for _ in range(many)]}
    if name == "select":
        return name, {"axis": some_axis(rank), "index": rng.randint(-3, 2)}
    if name in ("transpose", "flatten"):
        return name, {"axes": sorted([some_axis(rank), some_axis(rank)], key=lambda a: a % max(rank, 1))}
    if name == "permute":
        rng.shuffle(axes)
        return name, {"axes": [a - rank if rng.random() < 0.3 else a for a in axes]}
    if name == "flip":
        return name, {"axes": rng.sample(axes, rng.randint(min(1, rank), rank)) if rank else []}
    if name == "squeeze":
        return name, {} if rng.random() < 0.5 else {"axis": some_axis(rank)}
    if name == "unsqueeze":
        return name, {"axis": some_axis(rank + 1)}
    if name == "reshape":
        return name, {"shape": some_reshape(math.prod(shape), list(shape))}
    grown = [rng.randint(2, 3) if n == 1 and rng.random() < 0.7 else n for n in shape]
    if rng.random() < 0.05 and grown:
        grown[0] += 1
    return name, {"shape": [rng.randint(1, 3) for _ in range(rng.randint(0, 5 - min(rank, 5)))] + grown}


def some_reshape(count, shape):
    lengths = []
    while count > 1 and len(lengths) < 5:
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        lengths.append(rng.choice(divisors))
        count //= lengths[-1]
    lengths += [count] if count != 1 else []
    if rng.random() < 0.2:
        lengths.insert(rng.randint(0, len(lengths)), 1)
    if lengths and rng.random() < 0.3:
        lengths[rng.randrange(len(lengths))] = -1
    if rng.random() < 0.03:
        lengths.append(2)
    return lengths


def chained(x, count):
    """Views of views; ends where one is an error."""
    steps, value = [], x
    for k in range(count):
        name, options = some_view(value.data.shape)
        steps.append((name, [k], options))
        try:
            value = model.apply(name, [value], options)
        except model.Refused:
            break
        if value.data.size > 3000 or value.data.ndim > 7:
            steps.pop()
            break
    return steps, value


def view_cases():
    for _ in range(1500):
        x = numbers(rng.choice(["i32", "f32", "u8", "f16", "i64", "bool"]), some_shape(5), "grid")
        steps, _ = chained(x, rng.randint(1, 4))
        if steps:
            add("view/" + steps[-1][0], [x], steps)


def reduction_options(name, rank):
    options = {"keep": rng.random() < 0.4}
    if name in ("softmax", "log_softmax"):
        return {"axes": [some_axis(rank)], "keep": True}
    if name in ("argmin", "argmax"):
        return options | ({"axes": [some_axis(rank)]} if rng.random() < 0.7 else {})
    if rng.random() < 0.75 and rank:
        axes = rng.sample(range(rank), rng.randint(1, rank))
        options["axes"] = [a - rank if rng.random() < 0.3 else a for a in axes]
        if rng.random() < 0.03:
            options["axes"].append(rng.choice([rank, axes[0]]))
    if name in ("var", "std"):
        options["correction"] = rng.choice([0, 0, 1])
    if name == "norm":
        options["order"] = rng.choice([0, 1, 2, 2, 3, math.inf])
    return options


def some_reduction(shape):
    name = rng.choice(model.REDUCTIONS)
    if not shape and name in ("softmax", "log_softmax"):
        name = "sum"
    return name, reduction_options(name, len(shape))


def reduction_cases():
    styles = {"min": "edge", "max": "edge", "argmin": "edge", "argmax": "edge", "any": "edge", "all": "edge"}
    for name in model.REDUCTIONS:
        for dtype in ALL:
            for _ in range(8):
                shape = some_shape() or ((3,) if "softmax" in name else ())
                x = numbers(dtype, shape, styles.get(name, "grid"))
                if name == "prod" and dtype in FLOATS:
                    x = Value(dtype, nm.rounded(dtype, np.sign(x.data) * 2.0 ** rng.randint(-1, 1)))
                if name in ("sum", "prod") and dtype in INTEGERS and rng.random() < 0.5:
                    x = numbers(dtype, shape, "edge")
                add(f"reduction/{name}/{dtype}", [x], [(name, [0], reduction_options(name, len(shape)))])


def mixed_cases():
    """A view, arithmetic with it, and a reduction of that: what fusion makes one kernel of."""
    for _ in range(1300):
        x = numbers(rng.choice(["i32", "f32", "f64", "u8"]), some_shape(), "grid")
        steps, value = chained(x, rng.randint(0, 2))
        try:
            for _ in range(rng.randint(1, 2)):
                name = rng.choice(["add", "sub", "mul", "neg", "abs", "maximum", "eq"])
                last = len(steps)
                other = rng.choice([last, Number(3), last])
                arguments = [last] if name in ("neg", "abs") else [last, other]
                steps.append((name, arguments, {}))
                value = model.apply(name, [value] if len(arguments) == 1 else
                                    [value, value if other == last else other], {})  # fmt: skip
                if value.dtype == "bool":
                    break
            steps.append((lambda name, options: (name, [len(steps)], options))(*some_reduction(value.data.shape)))
        except model.Refused:
            pass
        add("mixed", [x], steps)


def sides_of(most):
    return [rng.randint(0, most) for _ in range(4)] if rng.random() < 0.7 else [0] * 4


def convolution_options(planes, groups):
    options = {"planes": planes, "groups": groups}
    if rng.random() < 0.5:
        options["stride"] = [rng.randint(1, 3), rng.randint(1, 3)]
    if rng.random() < 0.3:
        options["dilation"] = [rng.randint(1, 3), rng.randint(1, 3)]
    if rng.random() < 0.15:
        options["same"] = True
    else:
        options["padding"] = sides_of(3)
    if rng.random() < 0.03:
        options[rng.choice(["stride", "dilation"])] = [1, rng.choice([0, -1])]
    return options


def convolution_cases():
    """Both orders of the axes, groups, sides, strides; sometimes what does not go together."""
    for k in range(700):
        dtype = rng.choice(["f32", "f32", "f32", "f64", "f16", "bf16", "i32", "u8", "i64", "bool"])
        planes, groups = rng.random() < 0.5, rng.choice([1, 1, 1, 2, 3, 5])
        taken, given = rng.randint(1, 4), rng.randint(1, 4)
        if rng.random() < 0.2:
            groups, taken, given = rng.choice([4, 17, 20]), 1, rng.choice([1, 1, 2])
        elif rng.random() < 0.1:
            groups, taken, given = 1, rng.choice([16, 70]), rng.choice([16, 33])
        channels, outputs = groups * taken, groups * given
        if rng.random() < 0.03:
            channels += 1
        batch, height, width = rng.randint(1, 3), rng.randint(1, 9), rng.randint(1, 11)
        if rng.random() < 0.03:
            batch, channels = rng.choice([(0, channels), (1, 0)])
        rows, columns = rng.choice([(1, 1), (3, 3), (2, 3), (1, 4), (3, 1)])
        image, weight = (batch, height, width, channels), (rows, columns, taken, outputs)
        if planes:
            image, weight = (batch, channels, height, width), (outputs, taken, rows, columns)
        if rng.random() < 0.1:
            image = image[1:]
        other = rng.choice(ALL) if rng.random() < 0.1 else dtype
        inputs = [numbers(dtype, image, "grid"), numbers(other, weight, "grid")]
        if rng.random() < 0.3:
            inputs.append(numbers(dtype, (outputs + (rng.random() < 0.05),), "grid"))
        steps, last = [], 0
        if len(image) == 4 and rng.random() < 0.2:  # read backwards, or through a gap
            steps.append(("slice", [0], {"parts": [[None, None, 1], [None, None, rng.choice([-1, 2])]]}))
            last = len(inputs)
        steps.append(("conv2d", [last, *range(1, len(inputs))], convolution_options(planes, groups)))
        if rng.random() < 0.3:
            steps.append(("relu" if dtype != "bool" else "logical_not", [len(inputs) + len(steps) - 1], {}))
        add(f"conv2d/{dtype}", inputs, steps)


def pooling_cases():
    for name in ("max_pool2d", "avg_pool2d"):
        for _ in range(200):
            dtype = rng.choice(ALL if name == "max_pool2d" else ["f32", "f64", "f16", "bf16", "i32", "u8"])
            image = tuple(rng.randint(1, 9) for _ in range(rng.choice([3, 4, 4, 4])))
            kernel = [rng.randint(1, 4), rng.randint(1, 4)]
            options = {"kernel": kernel, "planes": rng.random() < 0.5, "counts": rng.random() < 0.3}
            if rng.random() < 0.5:
                options["stride"] = [rng.randint(1, 3), rng.randint(1, 3)]
            if rng.random() < 0.2:
                options["same"] = True
            elif rng.random() < 0.6:
                low, high = kernel[0] - 1 + (rng.random() < 0.05), kernel[1] - 1
                options["padding"] = [rng.randint(0, low), rng.randint(0, low), rng.randint(0, high), rng.randint(0, high)]
            add(f"{name}/{dtype}", [numbers(dtype, image, "grid")], [(name, [0], options)])


def main():
    document, output = sys.argv[1:]
    for family in (
        elementwise_cases, promotion_cases, scalar_cases, cast_cases, broadcast_cases, view_cases,
        reduction_cases, mixed_cases, convolution_cases, pooling_cases,
    ):  # fmt: skip
        family()
    listed = re.findall(r"^\| `(\w+)` \|", pathlib.Path(document).read_text(encoding="utf-8"), re.M)
    applied = [name for name, count in model.used.items() if count]
    if sorted(listed) != sorted(applied):
        sys.exit(f"{document} lists {sorted(set(listed) - set(applied))}, which never show, and lacks "
                 f"{sorted(set(applied) - set(listed))}")  # fmt: skip
    with open(output, "w", encoding="utf-8") as file:
        for case in cases:
            print(json.dumps(case, separators=(",", ":"), allow_nan=False), file=file)
    print(f"{len(cases)} cases, {sum('error' in c for c in cases)} of them errors")


main()
