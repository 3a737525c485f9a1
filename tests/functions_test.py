#!/usr/bin/env python3
"""Functions that people look for, beside NumPy: values, dtypes, shapes, errors.

Needs HOLOGRAM_COMMAND and HOLOGRAM_SOURCE, as eval_test.py does, and NumPy.
"""

import math
import unittest
import warnings

import numpy as np

from cli_test import WRONG, Case

np.seterr(all="ignore")
warnings.simplefilter("ignore")  # of NumPy: the mean of nothing
NAN, INF = math.nan, math.inf
random = np.random.default_rng(5)


def numbers(dtype, shape, special=True):
    """Few different values, so that there are equal ones; of floats NaN, infinities, -0 among them."""
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.integer):
        return random.integers(0 if dtype[0] == "u" else -9, 12, shape).astype(dtype)
    values = (random.integers(-24, 24, shape) / 8).astype(dtype)
    if special:
        flat = values.reshape(-1)
        for i, v in enumerate((NAN, INF, -INF, -0.0, NAN)):
            if 7 * i + 3 < flat.size:
                flat[7 * i + 3] = v
    return values


class Functions(Case):
    def values(self, expressions, inputs):
        """What each expression of {name: text} is, computed by one command."""
        for name, value in inputs.items():
            np.save(self.folder / f"{name}.npy", value)
        text = "\n".join(f"{name} = {expression}" for name, expression in expressions.items())
        outputs = [word for name in expressions for word in ("-o", f"{name}={name}.npy")]
        self.file("e.txt", text)
        self.hologram("eval", "--expr-file", "e.txt", *[f"{n}={n}.npy" for n in inputs], *outputs)
        return {name: np.load(self.folder / f"{name}.npy") for name in expressions}

    def compare(self, rows, error=0.0, **inputs):
        """Rows of (expression, NumPy's value[, its dtype]); error is relative to the largest value."""
        rows = [(*row, None)[:3] for row in rows]
        named = {f"r{i}": row[0] for i, row in enumerate(rows)}
        have = self.values(named, inputs)
        for i, (text, expected, dtype) in enumerate(rows):
            expected, found = np.asarray(expected), have[f"r{i}"]
            self.assertEqual(found.dtype, dtype or expected.dtype, text)
            self.assertEqual(found.shape, expected.shape, text)
            if error == 0 or found.dtype.kind in "bi":
                np.testing.assert_array_equal(found, expected.astype(found.dtype), text)
                continue
            finite = expected[np.isfinite(expected)]
            scale = max(1e-30, float(np.abs(finite).max(initial=0)))
            np.testing.assert_allclose(found, expected, rtol=0, atol=error * scale, err_msg=text)

    def wrong(self, expression, what, **inputs):
        for name, value in inputs.items():
            np.save(self.folder / f"{name}.npy", value)
        done = self.hologram("eval", expression, *[f"{n}={n}.npy" for n in inputs], code=WRONG)
        self.assertIn(what, done.err, expression)


class Arrangements(Functions):
    def test_axes_and_parts(self):
        for dtype in ("float32", "float16", "int8", "uint64", "bool"):
            x, v, w = numbers(dtype, (3, 4, 5)), numbers(dtype, 4), numbers(dtype, 3)
            grid, image = np.meshgrid(v, w, indexing="ij"), np.meshgrid(v, w)
            self.compare(
                [
                    ("moveaxis(x, 0, -1)", np.moveaxis(x, 0, -1)),
                    ("moveaxis(x, [0, 2], [1, 0])", np.moveaxis(x, [0, 2], [1, 0])),
                    ("swapaxes(x, 0, 2)", np.swapaxes(x, 0, 2)),
                    *[(f"rot90(x, {k})", np.rot90(x, k)) for k in range(-2, 5)],
                    ("rot90(x, 1, 2, 0)", np.rot90(x, 1, (2, 0))),
                    ("chunk(x, 2, 2)[1]", x[:, :, 3:]),
                    ("unstack(x, 1)[2]", x[:, 2]),
                    ("hstack([v, w])", np.hstack([v, w])),
                    ("hstack([x, x])", np.hstack([x, x])),
                    ("vstack([v, v])", np.vstack([v, v])),
                    ("vstack([x, x])", np.vstack([x, x])),
                    *[(f"meshgrid([v, w], true)[{k}]", grid[k]) for k in (0, 1)],
                    *[(f"meshgrid([v, w])[{k}]", image[k]) for k in (0, 1)],
                    ("repeat(x, [0, 2, 1, 3], 1)", np.repeat(x, [0, 2, 1, 3], 1)),
                    ("repeat(v, [2])", np.repeat(v, [2])),
                    ("tril(x)", np.tril(x)),
                    *[(f"triu(x, {k})", np.triu(x, k)) for k in (-9, -1, 0, 2, 9)],
                    *[(f"tril(x, {k})", np.tril(x, k)) for k in (-9, -1, 2, 9)],
                    *[(f"diag(v, {k})", np.diag(v, k)) for k in (-2, 0, 1)],
                    *[(f"diagonal(x, {k}, 1, 2)", np.diagonal(x, k, 1, 2)) for k in (-9, -1, 0, 3, 9)],
                    ("diagonal(x)", np.diagonal(x)),
                    ("diagonal(x, 1, -1, 0)", np.diagonal(x, 1, -1, 0)),
                ],
                x=x, v=v, w=w,
            )  # fmt: skip

    def test_padding(self):
        x, one = numbers("float32", (3, 4)), numbers("float32", (1, 2))
        rows = []
        for mode in ("reflect", "symmetric", "edge", "wrap"):
            for before, behind in ((1, 2), (0, 3), (2, 2)):
                pads = [(before, behind), (behind, before)]
                text = f"[[{before}, {behind}], [{behind}, {before}]]"
                rows.append((f"pad(x, {text}, mode='{mode}')", np.pad(x, pads, mode)))
            if mode != "wrap":  # NumPy 1.24 does not go on in order
                rows.append((f"pad(x, [[8, 9], [0, 13]], mode='{mode}')", np.pad(x, [(8, 9), (0, 13)], mode)))
            rows.append((f"pad(one, [[2, 3], [1, 1]], mode='{mode}')", np.pad(one, [(2, 3), (1, 1)], mode)))
        long = np.take(x, np.arange(-8, 12) % 3, 0)
        self.compare([*rows, ("pad(x, [[8, 9], [0, 0]], mode='wrap')", long)], x=x, one=one)
        self.wrong("pad(zeros([0]), [[1, 0]], mode='edge')", "no element that could be repeated")
        self.wrong("pad(zeros([2]), [[1, 0]], mode='mirror')", "'reflect'")

    def test_indices(self):
        x = numbers("int32", (4, 5, 6))
        a, b = np.array([[0, 3], [-1, 2]]), np.array([4, -5])
        mask, plane = x > 2, x[:, :, 0] > 1
        y, z = x.copy(), x.copy()
        y[a, :, b] = 7
        np.add.at(z, (a, b), 5)
        self.compare(
            [
                ("x[a, b]", x[a, b]),
                ("x[a, :, b]", x[a, :, b]),
                ("x[:, a, b]", x[:, a, b]),
                ("x[..., b]", x[..., b]),
                ("x[a]", x[a]),
                ("x[1:3, b]", x[1:3, b]),
                ("x[2, b, a]", x[2, b, a]),
                ("x[none, a, 1:2, b]", x[None, a, 1:2, b]),
                ("x[[0, 2]]", x[[0, 2]]),
                ("x[m]", x[mask]),
                ("x[p]", x[plane]),
                ("x[p, 1:]", x[plane, 1:]),
                ("x[x > 100]", x[x > 100]),
                ("x[a, b, 0]", x[a, b, 0]),
                ("index_put(x, [a, none, b], 7)", y),
                ("index_put(x, [a, b], 5, true)", z),
                ("index_put(x, [m], 0)", np.where(mask, 0, x).astype("int32")),
            ],
            x=x, a=a, b=b, m=mask, p=plane,
        )  # fmt: skip
        self.wrong("x[a, b]", "outside", x=x, a=np.array([0, 4]), b=np.array([0, 0]))
        self.wrong("x[a, b]", "outside", x=x, a=np.array([0, 1]), b=np.array([0, -6]))
        self.wrong("x[m]", "mask", x=x, m=np.zeros((4, 4), bool))
        self.wrong("x[a, a, a, a]", "4 indices for a tensor of shape [4, 5, 6]", x=x, a=a)

    def test_errors(self):
        for expression, what in (
            ("moveaxis(x, [0, 1], 0)", "2 axes to 1 places"),
            ("moveaxis(x, [0, 0], [0, 1])", "axis 0 is given twice"),
            ("rot90(x, 1, 0, 0)", "given twice"),
            ("chunk(x, 0)", "0 parts"),
            ("diag(zeros([2, 2, 2]))", "[2, 2, 2]"),
            ("diagonal(x, 0, 1, 1)", "given twice"),
            ("tril(zeros([3]))", "[3]"),
            ("meshgrid([x])", "no vector"),
            ("repeat(x, [1, 2, 3], 0)", "for 2 elements"),
            ("repeat(x, [1, -2], 0)", "-2 times"),
            ("repeat(x, [1.0, 2.0], 0)", "repeat is not defined for f32"),
            ("cross(x, x)", "2 elements"),
            ("kron(ones([1,1,1,1,1]), x)", "4 axes"),
            ("cdist(x, ones([2, 3]))", "different lengths"),
            ("'a\n", "without an end"),
        ):
            self.wrong(expression, what, **({"x": np.zeros((2, 2), "f4")} if "x" in expression else {}))


class Sums(Functions):
    def test_einsum(self):
        a, b, c = numbers("float32", (3, 4), False), numbers("float32", (4, 5), False), numbers("float32", (5, 3), False)
        s, t, u = numbers("float32", (2, 3, 3), False), numbers("float32", (2, 3, 4), False), numbers("float32", (1, 4), False)
        given = {"a": a, "b": b, "c": c, "s": s, "t": t, "u": u}
        rows = []
        for equation, *names in (
            ("ij,jk->ik", "a", "b"), ("ij,jk", "a", "b"), ("ij,jk,kl->il", "a", "b", "c"), ("ij->ji", "a"),
            ("ij->", "a"), ("ij->j", "a"), ("ba", "a"), ("bii->bi", "s"), ("bii", "s"), ("bii->", "s"),
            ("ij,kj->ik", "a", "a"), ("ij,ij->", "a", "a"), ("ij,ij->ij", "a", "a"), ("ij,kl->ijkl", "a", "b"),
            ("bij,bjk->bik", "s", "t"), ("...ij,...jk->...ik", "s", "t"), ("...ij,jk", "t", "b"),
            ("b...,b...->...", "t", "t"), ("i...->...i", "t"), ("bij,ij->b", "t", "a"), ("ij, jk -> ki", "a", "b"),
            ("bij,bij->bi", "t", "t"), ("i,j", "r", "r"), ("ij,ij->j", "u", "a"), ("ij,kj->ik", "u", "a"),
            ("bij,ca,ij->cb", "t", "a", "a"), ("bij,bij,bij->b", "t", "t", "t"),
        ):  # fmt: skip
            operands = [a[0] if n == "r" else given[n] for n in names]
            text = ", ".join("a[0]" if n == "r" else n for n in names)
            rows.append((f"einsum('{equation}', [{text}])", np.einsum(equation, *operands)))
        self.compare(rows, 1e-6, **given)
        self.compare([("einsum('...->', [t])", t.sum())], 1e-6, t=t)  # as PyTorch's; NumPy refuses it
        whole = numbers("int64", (3, 4))
        self.compare([("einsum('ij,kj', [w, w])", np.einsum("ij,kj", whole, whole)), ("einsum('ij->i', [w])", whole.sum(1))], w=whole)
        for expression, what in (
            ("einsum('ij,jk', [a])", "2 operands are named, 1 given"),
            ("einsum('i', [a])", "does not suit"),
            ("einsum('ij->k', [a])", "'k'"),
            ("einsum('ij->ii', [a])", "twice in the result"),
            ("einsum('i$', [a])", "no letter"),
            ("einsum('i......', [a])", "twice in one operand"),
            ("einsum('ij,ij', [a, a.T])", "length 3 and length 4"),
            ("einsum('ii', [a])", "length 3 and length 4"),
            ("einsum(1, [a])", "a text between quotation marks"),
        ):
            self.wrong(expression, what, a=a)

    def test_products(self):
        a, b = numbers("float32", (3, 4), False), numbers("float32", (2, 3), False)
        x, y = numbers("float32", (5, 3), False), numbers("float32", (1, 3), False)
        square = numbers("float64", (2, 3, 3), False)
        self.compare(
            [
                ("kron(a, b)", np.kron(a, b)),
                ("kron(a[0], b)", np.kron(a[0], b)),
                ("cross(x, y)", np.cross(x, y).astype("float32")),
                ("cross(x.T, y.T, 0)", np.cross(x.T, y.T, axis=0).astype("float32")),
                ("vecdot(x, y)", (x * y).sum(-1)),
                ("trace(a)", np.trace(a)),
                ("trace(q, 1, 1, 2)", np.trace(q := square, 1, 1, 2)),
                *[(f"matrix_power(q, {n})", np.linalg.matrix_power(q, n)) for n in (0, 1, 2, 5)],
            ],
            1e-6, a=a, b=b, x=x, y=y, q=square,
        )  # fmt: skip
        wide = random.normal(size=(6, 40)).astype("float32")
        distance = np.abs(wide[:4, None].astype("f8") - wide[None, :3].astype("f8"))
        self.compare(
            [
                ("cdist(w[:4], w[:3])", np.sqrt((distance**2).sum(-1)), "float32"),
                ("cdist(w[:4], w[:3], 1)", distance.sum(-1), "float32"),
                ("cdist(w[:4], w[:3], inf)", distance.max(-1), "float32"),
                ("cov(w)", np.cov(wide.astype("f8")), "float32"),
                ("cov(w, 0)", np.cov(wide.astype("f8"), bias=True), "float32"),
                ("cov(w[0])", np.cov(wide[0].astype("f8")), "float32"),
                ("corrcoef(w)", np.corrcoef(wide.astype("f8")), "float32"),
            ],
            1e-6, w=wide,
        )  # fmt: skip


class Statistics(Functions):
    def test_counts(self):
        for dtype in ("float32", "float64", "float16", "int32", "uint8", "bool"):
            x = numbers(dtype, (4, 30))
            f = x.astype("float64")
            edges = np.array([-2, -1, 0, 0.5, 2.5])
            self.compare(
                [
                    ("count_nonzero(x)", np.int64(np.count_nonzero(x))),
                    ("count_nonzero(x, 0)", np.count_nonzero(x, 0)),
                    ("histogram(x, e)[0]", np.histogram(f.reshape(-1), edges)[0]),
                    ("histogram(x, 8, [-2, 2])[0]", np.histogram(f.reshape(-1), 8, (-2, 2))[0]),
                    ("digitize(x, e)", np.digitize(f, edges)),
                    ("digitize(x, e, true)", np.digitize(f, edges, True)),
                ],
                x=x, e=edges.astype("float64" if dtype == "float64" else "float32"),
            )  # fmt: skip
        n, w = np.array([0, 5, 2, 2, 0, 7]), np.array([0.5, 1, 2, 3, -1, 4], "f4")
        counts, sides = np.histogram(w, 4)
        self.compare(
            [
                ("bincount(n)", np.bincount(n)),
                ("bincount(n, none, 12)", np.bincount(n, None, 12)),
                ("bincount(n, w)", np.bincount(n, w), "float32"),
                ("bincount(n[:0])", np.bincount(n[:0])),
                ("histogram(w, 4)[0]", counts),
                ("histogram(w, 4)[1]", sides, "float32"),
                ("histogram(n[:0], 2)[0]", np.array([0, 0])),
                ("histogram(w * 0 + 3, 2)[1]", np.array([2.5, 3, 3.5]), "float32"),
            ],
            n=n, w=w,
        )  # fmt: skip
        self.wrong("bincount([1, -1])", "-1 has no place")
        self.wrong("bincount([1.5])", "bincount is not defined for f32")
        self.wrong("histogram([1, nan])", "histogram from nan")
        self.wrong("histogram([1], 0)", "0 bins")

    def test_order_statistics(self):
        for dtype in ("float32", "float64", "int16"):
            x = numbers(dtype, (5, 8), False)
            y = numbers(dtype, (5, 9))
            to = "float64" if dtype == "float64" else "float32"
            f, g = x.astype("float64"), y.astype("float64")
            q = [0, 0.1, 0.5, 0.75, 1]
            rows = [("quantile(x, [0, 0.1, 0.5, 0.75, 1], 1)", np.quantile(f, q, 1), to)]
            for how in ("linear", "lower", "higher", "midpoint", "nearest"):
                rows.append((f"quantile(x, 0.3, 0, true, '{how}')", np.quantile(f, 0.3, 0, method=how, keepdims=True), to))
                rows.append((f"percentile(x, [25, 90], none, false, '{how}')", np.percentile(f, [25, 90], method=how), to))
            for name in ("x", "y"):
                of = f if name == "x" else g
                rows += [
                    (f"median({name})", np.median(of), to), (f"median({name}, 1)", np.median(of, 1), to),
                    (f"median({name}, 0, true)", np.median(of, 0, keepdims=True), to),
                    (f"nanmedian({name}, 1)", np.nanmedian(of, 1), to), (f"nanmedian({name})", np.nanmedian(of), to),
                ]  # fmt: skip
            self.compare(rows, 3e-7, x=x, y=y)
        line = np.array([NAN, 1, 2], "f4")
        far = np.array([-3e38, 3e38, INF, INF], "f4")
        self.compare(
            [
                ("quantile(n, 0.5)", np.float32(NAN)), ("nanmedian(n)", np.float32(1.5)), ("median(n)", np.float32(NAN)),
                ("nanmedian(n[:1])", np.float32(NAN)), ("median(f[:2])", np.float32(0)), ("quantile(f[:2], 0.5)", np.float32(0)),
                ("quantile(f[2:], 0.3)", np.float32(INF)), ("quantile(f[:1], 0.3)", far[0]),
            ],
            n=line, f=far,
        )  # fmt: skip
        self.wrong("quantile([1, 2], 1.5)", "1.5 is no share")
        self.wrong("percentile([1, 2], 101)", "from 0 to 100")
        self.wrong("median(zeros([0]))", "no elements")

    def test_without_nan(self):
        for dtype in ("float32", "float64", "int32"):
            x = numbers(dtype, (6, 10))
            if dtype[0] == "f":
                x[0], x[1], x[2, 4:] = NAN, [1, NAN] * 5, NAN
                x[np.isinf(x)] = 2
            f, to = x.astype("float64"), dtype if dtype[0] == "f" else "float32"
            total = "int64" if dtype == "int32" else dtype
            rows = []
            for axis in ("none", 0, 1):
                along = None if axis == "none" else axis
                rows += [
                    (f"nansum(x, {axis})", np.nansum(f, along), total),
                    (f"nanmean(x, {axis})", np.nanmean(f, along), to),
                    (f"nanmin(x, {axis})", np.nanmin(f, along), dtype),
                    (f"nanmax(x, {axis})", np.nanmax(f, along), dtype),
                    (f"nanvar(x, {axis})", np.nanvar(f, along), to),
                    (f"nanstd(x, {axis}, 1)", np.nanstd(f, along, ddof=1), to),
                ]  # fmt: skip
            rows.append(("nanprod(x[:4] > 0, 0)", np.prod(f[:4] > 0, 0), "int64"))
            self.compare(rows, 1e-6, x=x)

    def test_sequences(self):
        for dtype in ("float32", "float16", "int32", "uint8", "bool"):
            x = numbers(dtype, (3, 19))
            rows = [(f"diff(x, {n}, {k})", np.diff(x, n, k)) for n, k in ((1, -1), (2, 0), (0, 1), (3, 0), (5, 1))]
            for k in (0, 1):
                rows.append((f"cummax(x, {k})[0]", np.maximum.accumulate(x, k)))
                rows.append((f"cummin(x, {k})[0]", np.minimum.accumulate(x, k)))
            indices = np.zeros(x.shape, "int64")
            for i, j in np.ndindex(x.shape):
                if j > 0:
                    best = x[i, indices[i, j - 1]]
                    better = x[i, j] != x[i, j] or x[i, j] >= best
                    indices[i, j] = j if better else indices[i, j - 1]
            self.compare([*rows, ("cummax(x, 1)[1]", indices)], x=x)
        at, v = np.array([0, 1, 2.5, 2.5, 4], "f4"), np.array([1, -1, 3, 5, 0], "f4")
        x = np.array([-1, 0, 0.25, 1, 2, 2.5, 3, 4, 5, NAN, INF, -INF], "f4")
        self.compare(
            [
                ("interp(x, at, v)", np.interp(x, at, v), "float32"),
                ("interp(x, at, v, -7, 8)", np.interp(x, at, v, -7, 8), "float32"),
                ("interp(x[:9], at[:1], v[:1], -7)", np.interp(x[:9], at[:1], v[:1], -7), "float32"),
                ("interp(x[9:10], at[:1], v[:1])", np.array([NAN]), "float32"),
                ("interp(x, [0, 1], [inf, inf])", np.interp(x, [0, 1], [INF, INF]), "float32"),
                ("logspace(-2, 3, 6)", np.logspace(-2, 3, 6), "float32"),
                ("logspace(0, 8, 9, 2, f64)", np.logspace(0, 8, 9, base=2)),
            ],
            1e-6, x=x, at=at, v=v,
        )  # fmt: skip
        self.wrong("interp([1], [1, 2], [1])", "interp between points")
        self.wrong("diff([1], -1)", "-1 times")

    def test_sets_and_comparison(self):
        for dtype in ("float32", "int32", "uint8", "bool"):
            x, y = numbers(dtype, (4, 15)), numbers(dtype, 9)
            z = x.copy()
            if dtype == "float32":
                z = z + np.float32(1e-6)
            values, first, inverse, counts = np.unique(x, True, True, True)
            relative = dtype != "bool"
            rows = [
                ("unique_all(x)[0]", values), ("unique_all(x)[1]", first), ("unique_all(x)[3]", counts),
                ("unique_all(x)[2]", inverse.reshape(x.shape)),
                ("isin(x, y)", np.isin(x, y)), ("isin(x, y, true)", np.isin(x, y, invert=True)),
                ("isin(x, y[:0])", np.isin(x, y[:0])),
                ("array_equal(x, x, true)", np.bool_(True)), ("array_equal(x, y)", np.bool_(False)),
                ("array_equal(x, x)", np.array_equal(x, x)), ("allclose(x, z, 1e-5, 1e-8, true)", np.allclose(x, z, equal_nan=True)),
            ]  # fmt: skip
            if relative:
                rows += [
                    ("isclose(x, z)", np.isclose(x, z)), ("isclose(x, y[0], 0.1, 0.5)", np.isclose(x, y[0], 0.1, 0.5)),
                    ("isclose(x, z, 1e-5, 1e-8, true)", np.isclose(x, z, equal_nan=True)),
                ]  # fmt: skip
            self.compare([(t, np.asarray(v)) for t, v in rows], x=x, y=y, z=z)
        big = np.array([2**53, 2**53 + 1, -(2**63)])
        self.compare(
            [
                ("isclose(b, b[0], 0, 0)", np.array([True, False, False])),
                ("isclose(b, b[0], 0, 1)", np.array([True, True, False])),
                ("nan_to_num([nan, inf, -inf, 2])", np.nan_to_num(np.array([NAN, INF, -INF, 2], "f4"))),
                ("nan_to_num([nan, inf, -inf, 2], 1, 2, 3)", np.array([1, 2, 3, 2], "f4")),
            ],
            b=big,
        )


if __name__ == "__main__":
    unittest.main()
