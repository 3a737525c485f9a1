"""Random programs of tensors beside the same in NumPy.

A program holds values that later steps use: views, arithmetic, comparisons, reductions, order,
assignment, of every dtype. What is exact (integers, bool, and arithmetic of IEEE 754) must be equal
to the bit after any number of lazy steps; what is not is compared at once, and goes on with our bits.
HOLOGRAM_PYTHON_FUZZ_SEED repeats one program; HOLOGRAM_PYTHON_FUZZ_FIRST is where a search begins, 0 unless given.
"""

import os
import time

import numpy as np

import hologram as hg

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("bool", *INTEGERS, *FLOATS)


class Program:
    """Pairs of a tensor and the array that it should be, and the steps that made them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.values, self.steps = [], []
        for _ in range(4):
            self.new()

    def pick(self, wanted=lambda a: True):
        fitting = [k for k, (_, a) in enumerate(self.values) if wanted(a)]
        return int(self.rng.choice(fitting)) if fitting else None

    def add(self, step, tensor, array):
        self.steps.append(f"v{len(self.values)} = {step}")
        self.values.append((tensor, np.asarray(array)))

    def new(self):
        rng = self.rng
        shape = tuple(rng.integers(0 if rng.random() < 0.05 else 1, 5, rng.integers(0, 4)))
        dtype = str(rng.choice(DTYPES))
        if dtype == "bool":
            array = rng.integers(0, 2, shape).astype(bool)
        elif dtype in FLOATS:
            array = rng.standard_normal(shape).astype(dtype)
            if rng.random() < 0.2:
                special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e30, 1e-30], dtype)
                array = rng.choice(special, shape).astype(dtype)
        else:
            info = np.iinfo(dtype)
            low, high = (info.min, info.max) if rng.random() < 0.2 else (0, 100)
            array = rng.integers(low, high, shape, dtype, endpoint=True)
        array = np.asarray(array)
        self.add(f"{dtype} {array.tolist()}", hg.asarray(array), array)

    # Each of these does one step, or none if nothing fits.

    def view(self):
        rng = self.rng
        k = self.pick()
        t, a = self.values[k]
        way = rng.choice(["T", "flip", "slice", "reshape", "none", "broadcast", "roll", "squeeze"])
        if way == "T":
            axes = [int(x) for x in rng.permutation(a.ndim)]
            self.add(f"permute(v{k}, {axes})", hg.permute_dims(t, axes), a.transpose(axes))
        elif way == "flip":
            self.add(f"flip(v{k})", hg.flip(t), np.flip(a))
        elif way == "slice" and a.ndim:
            key = tuple(
                slice(int(rng.integers(-3, 3)), int(rng.integers(0, 6)), int(rng.choice([1, 2, -1])))
                for _ in range(rng.integers(1, a.ndim + 1))
            )
            self.add(f"v{k}[{key}]", t[key], a[key])
        elif way == "reshape":
            self.add(f"reshape(v{k}, -1)", hg.reshape(t, (a.size,)), a.reshape(a.size))
        elif way == "none" and a.ndim < 5:
            axis = int(rng.integers(0, a.ndim + 1))
            self.add(f"expand(v{k}, {axis})", hg.expand_dims(t, axis), np.expand_dims(a, axis))
        elif way == "broadcast" and a.ndim < 4:
            shape = (int(rng.integers(1, 3)), *a.shape)
            self.add(f"broadcast(v{k}, {shape})", hg.broadcast_to(t, shape), np.broadcast_to(a, shape))
        elif way == "roll":
            n = int(rng.integers(-3, 4))
            self.add(f"roll(v{k}, {n})", hg.roll(t, n), np.roll(a, n))

    def partner(self, k, wanted=lambda a: True):
        """Another value that can stand beside this one."""
        a = self.values[k][1]

        def fits(b):
            try:
                np.broadcast_shapes(a.shape, b.shape)
                return wanted(b)
            except ValueError:
                return False

        return self.pick(fits)

    def together(self, k, j):
        """Both, brought to the dtype that hologram brings them to; None where there is none."""
        (t, a), (u, b) = self.values[k], self.values[j]
        try:
            both = str(hg.result_type(t, u))
        except hg.DTypeMismatch:
            return None
        return t, u, a.astype(both), b.astype(both), both

    def arithmetic(self):
        name = str(self.rng.choice(["add", "subtract", "multiply", "maximum", "minimum", "divide"]))
        k = self.pick(lambda a: a.dtype != bool)
        j = None if k is None else self.partner(k, lambda b: b.dtype != bool)
        found = None if j is None else self.together(k, j)
        if found is None:
            return
        t, u, a, b, both = found
        if name == "divide" and both not in FLOATS:
            return
        with np.errstate(all="ignore"):
            array = getattr(np, name)(a, b)
        if name in ("maximum", "minimum") and both in FLOATS and (a == b).any():
            return  # of -0 and 0 NumPy gives either
        self.add(f"{name}(v{k}, v{j})", getattr(hg, name)(t, u), array.astype(both))

    def with_number(self):
        k = self.pick(lambda a: a.dtype != bool)
        if k is None:
            return
        t, a = self.values[k]
        n = int(self.rng.integers(1, 7))
        way = self.rng.choice(["+", "*", "-", "//", "%"])
        if a.dtype.name in FLOATS and way in ("//", "%"):
            return
        one = np.array(n, a.dtype)
        made = {"+": lambda x, y: x + y, "*": lambda x, y: x * y, "-": lambda x, y: y - x,
                "//": lambda x, y: x // y, "%": lambda x, y: x % y}[way]  # fmt: skip
        with np.errstate(all="ignore"):
            array = made(a, one)
        self.add(f"v{k} {way} {n}", made(t, n), array)

    def comparison(self):
        name = str(self.rng.choice(["equal", "not_equal", "less", "greater_equal"]))
        k = self.pick()
        j = self.partner(k)
        found = None if j is None else self.together(k, j)
        if found is None:
            return
        t, u, a, b, _ = found
        self.add(f"{name}(v{k}, v{j})", getattr(hg, name)(t, u), getattr(np, name)(a, b))

    def choice(self):
        k = self.pick(lambda a: a.dtype == bool)
        j = None if k is None else self.partner(k)
        if j is None:
            return
        (c, d), (t, a) = self.values[k], self.values[j]
        fill = np.array(1, a.dtype)
        self.add(f"where(v{k}, v{j}, 1)", hg.where(c, t, hg.asarray(fill)), np.where(d, a, fill))

    def reduction(self):
        k = self.pick(lambda a: a.size > 0 and a.ndim > 0)
        if k is None:
            return
        t, a = self.values[k]
        axis = int(self.rng.integers(0, a.ndim)) if self.rng.random() < 0.7 else None
        name = str(self.rng.choice(["sum", "max", "min", "any", "all", "argmax", "prod", "cumulative_sum"]))
        if name == "cumulative_sum":
            axis = 0 if axis is None else axis
            if a.dtype.name in FLOATS:
                return
            array = np.cumsum(a, axis=axis)
        elif name in ("sum", "prod") and a.dtype.name in FLOATS:
            with np.errstate(all="ignore"):
                array = getattr(np, name)(a.astype("float64"), axis=axis)
                reach = np.sum(np.abs(a.astype("float64")), axis=axis)
            if name == "prod" or not np.isfinite(reach).all() or (reach > 1e30).any():
                return
            tensor = hg.sum(t, axis=axis)
            ours = np.asarray(tensor)
            eps = np.finfo(a.dtype).eps
            assert (np.abs(ours - array) <= 8 * eps * reach).all(), f"sum(v{k}, axis={axis})"
            return self.add(f"sum(v{k}, axis={axis})", tensor, ours)
        elif name in ("max", "min") and a.dtype.name in FLOATS and (a == 0).any():
            return
        else:
            with np.errstate(all="ignore"):
                array = getattr(np, name)(a, axis=axis)
        self.add(f"{name}(v{k}, axis={axis})", getattr(hg, name)(t, axis=axis), array)

    def function(self):
        k = self.pick(lambda a: a.dtype.name in FLOATS)
        if k is None:
            return
        t, a = self.values[k]
        name = str(self.rng.choice(["sqrt", "abs", "floor", "ceil", "trunc", "negative", "exp", "sin", "log1p"]))
        tensor = getattr(hg, name)(t)
        with np.errstate(all="ignore"):
            array = getattr(np, name)(a)
        if name in ("exp", "sin", "log1p"):
            ours = np.asarray(tensor)
            if name == "sin":
                array, ours = array[np.abs(a) < 1e4], ours[np.abs(a) < 1e4]
            np.testing.assert_allclose(ours, array, rtol=8 * np.finfo(a.dtype).eps, atol=1e-44)
            array = np.asarray(tensor)
        self.add(f"{name}(v{k})", tensor, array)

    def order(self):
        k = self.pick(lambda a: a.ndim > 0 and not (a.dtype.name in FLOATS and (a == 0).any()))
        if k is None:
            return
        t, a = self.values[k]
        axis = int(self.rng.integers(0, a.ndim))
        if self.rng.random() < 0.5:
            self.add(f"sort(v{k}, {axis})", hg.sort(t, axis=axis), np.sort(a, axis=axis, kind="stable"))
        else:
            self.add(f"argsort(v{k}, {axis})", hg.argsort(t, axis=axis),
                     np.argsort(a, axis=axis, kind="stable"))  # fmt: skip

    def joined(self):
        k = self.pick(lambda a: a.ndim > 0 and a.size < 500)
        if k is not None:
            t, a = self.values[k]
            self.add(f"concat(v{k}, v{k})", hg.concat([t, hg.flip(t)]), np.concatenate([a, np.flip(a)]))

    def assignment(self):
        k = self.pick(lambda a: a.ndim > 0 and a.shape[0] > 0)
        if k is None:
            return
        t, a = self.values[k]
        j = self.pick(lambda b: b.dtype == a.dtype and b.ndim <= a.ndim)
        key = slice(int(self.rng.integers(0, a.shape[0])), None)
        value = np.array(1, a.dtype) if j is None else self.values[j][1]
        changed = a.copy()
        try:
            changed[key] = value
        except ValueError:
            value = np.array(1, a.dtype)
            changed[key] = value
            j = None
        same = t[...]
        same[key] = 1 if j is None else self.values[j][0]
        self.add(f"v{k} with [{key}] = {'1' if j is None else f'v{j}'}", same, changed)

    def picked(self):
        k = self.pick(lambda a: a.ndim > 0 and a.shape[0] > 0)
        if k is None:
            return
        t, a = self.values[k]
        index = self.rng.integers(-a.shape[0], a.shape[0], self.rng.integers(0, 4, 2))
        self.add(f"v{k}[{index.tolist()}]", t[hg.asarray(index)], a[index])

    def converted(self):
        k = self.pick(lambda a: a.dtype.name not in FLOATS)
        if k is None:
            return
        t, a = self.values[k]
        dtype = str(self.rng.choice(DTYPES))
        self.add(f"v{k}.astype({dtype})", t.astype(dtype), a.astype(dtype))

    def check(self):
        order = self.rng.permutation(len(self.values))
        if self.rng.random() < 0.3:
            hg.eval(*(self.values[k][0] for k in order))
        for k in order:
            tensor, array = self.values[k]
            assert tensor.shape == array.shape, f"v{k}"
            assert str(tensor.dtype) == array.dtype.name or array.dtype == np.uint64, f"v{k}"
            np.testing.assert_array_equal(np.asarray(tensor), array, err_msg=f"v{k}")

    def ways(self):
        return [self.new, self.view, self.view, self.arithmetic, self.arithmetic, self.with_number,
                self.comparison, self.choice, self.reduction, self.function, self.order, self.joined,
                self.assignment, self.picked, self.converted]  # fmt: skip

    def run(self):
        ways = self.ways()
        try:
            for _ in range(int(self.rng.integers(5, 40))):
                self.rng.choice(ways)()
            self.check()
        except BaseException:
            print("\n".join(self.steps))
            raise


def search(kind, seconds):
    """Programs of this kind from one seed to the next, for as long."""
    seed = os.environ.get("HOLOGRAM_PYTHON_FUZZ_SEED")
    if seed is not None:
        return kind(int(seed)).run()
    first = number = int(os.environ.get("HOLOGRAM_PYTHON_FUZZ_FIRST", 0))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            kind(number).run()
        except BaseException:
            print(f"HOLOGRAM_PYTHON_FUZZ_SEED={number}")
            raise
        number += 1
    print(f"{number - first} programs, from seed {first} on")
    assert number > first + 5


def test_random_programs_are_those_of_numpy(seconds):
    search(Program, 3 * seconds)
