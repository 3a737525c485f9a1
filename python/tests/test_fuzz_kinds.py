"""The random programs of test_fuzz.py with more kinds of steps: bits, quotients, masks, several indices, products,
matrices, sets, statistics."""

import numpy as np

import hologram as hg
from test_fuzz import DTYPES, FLOATS, INTEGERS, Program, search


def finite(a):
    return a.dtype.name in FLOATS and a.size > 0 and bool(np.isfinite(a).all()) and bool((np.abs(a) < 1e6).all())


class Wider(Program):
    def bits(self):
        name = str(self.rng.choice(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "shift"]))
        k = self.pick(lambda a: a.dtype.name not in FLOATS)
        if k is None:
            return
        t, a = self.values[k]
        if name == "bitwise_invert":
            return self.add(f"~v{k}", ~t, ~a)
        if name == "shift":
            if a.dtype == bool:
                return
            n = int(self.rng.integers(0, 8 * a.dtype.itemsize + 2))
            left = bool(self.rng.integers(2))
            count = np.array(n, a.dtype)
            # NumPy's shifts by the width or more are C's, which says nothing of them.
            if n >= 8 * a.dtype.itemsize:
                array = np.zeros_like(a) if left or a.dtype.kind == "u" else np.where(a < 0, -1, 0).astype(a.dtype)
            else:
                array = np.left_shift(a, count) if left else np.right_shift(a, count)
            return self.add(f"v{k} {'<<' if left else '>>'} {n}", t << n if left else t >> n, array)
        j = self.partner(k, lambda b: b.dtype == a.dtype)
        if j is not None:
            u, b = self.values[j]
            self.add(f"{name}(v{k}, v{j})", getattr(hg, name)(t, u), getattr(np, name)(a, b))

    def quotient(self):
        name = str(self.rng.choice(["floor_divide", "remainder"]))
        k = self.pick(lambda a: a.dtype != bool)
        j = None if k is None else self.partner(k, lambda b: b.dtype != bool)
        found = None if j is None else self.together(k, j)
        if found is None:
            return
        t, u, a, b, both = found
        if both in FLOATS:
            a2, b2 = np.broadcast_arrays(a, b)
            if not (finite(a2) and finite(b2)) or (b2 == 0).any() or (np.abs(a2 / b2) > 2**18).any():
                return
            if name == "remainder":  # what is left is rounded where the signs differ
                tensor = hg.remainder(t, u)
                np.testing.assert_allclose(np.asarray(tensor), np.remainder(a, b), rtol=1e-5, atol=1e-5 * np.abs(b2).max())
                return
        with np.errstate(all="ignore"):
            array = getattr(np, name)(a, b)
        self.add(f"{name}(v{k}, v{j})", getattr(hg, name)(t, u), array)

    def masked(self):
        k = self.pick(lambda a: a.ndim > 0 and a.dtype != bool)
        if k is None:
            return
        t, a = self.values[k]
        way = self.rng.choice(["get", "set", "nonzero", "count"])
        limit = int(self.rng.integers(0, 50))
        mask, kept = t > limit, a > limit
        if way == "get":
            self.add(f"v{k}[v{k} > {limit}]", t[mask], a[kept])
        elif way == "set":
            same, changed = t[...], a.copy()
            same[mask] = 1
            changed[kept] = 1
            self.add(f"v{k} with [v{k} > {limit}] = 1", same, changed)
        elif way == "nonzero":
            for x, y in zip(hg.nonzero(mask), np.nonzero(kept)):
                self.add(f"nonzero(v{k} > {limit})", x, y)
        else:
            axis = int(self.rng.integers(0, a.ndim))
            self.add(f"count_nonzero(v{k}, {axis})", hg.count_nonzero(t, axis=axis), np.count_nonzero(a, axis=axis))

    def indexed(self):
        k = self.pick(lambda a: a.ndim > 1 and a.size > 0)
        if k is None:
            return
        t, a = self.values[k]
        shape = tuple(self.rng.integers(1, 4, self.rng.integers(1, 3)))
        rows, columns = (self.rng.integers(-n, n, shape) for n in a.shape[:2])
        way = self.rng.choice(["two", "first", "set", "along"])
        if way == "two":
            self.add(f"v{k}[{rows.tolist()}, {columns.tolist()}]", t[hg.asarray(rows), hg.asarray(columns)], a[rows, columns])
        elif way == "first":
            self.add(f"v{k}[:, {columns.tolist()}]", t[:, hg.asarray(columns)], a[:, columns])
        elif way == "set":
            same, changed = t[...], a.copy()
            same[hg.asarray(rows), hg.asarray(columns)] = 1
            changed[rows, columns] = 1
            self.add(f"v{k} with [{rows.tolist()}, {columns.tolist()}] = 1", same, changed)
        elif not (a.dtype.name in FLOATS and (a == 0).any()):
            order = np.argsort(a, axis=-1, kind="stable")
            self.add(f"take_along_axis(v{k})", hg.take_along_axis(t, hg.argsort(t, axis=-1), axis=-1),
                     np.take_along_axis(a, order, axis=-1))  # fmt: skip

    def arranged(self):
        k = self.pick(lambda a: 0 < a.size < 200 and 0 < a.ndim < 4)
        if k is None:
            return
        t, a = self.values[k]
        way = str(self.rng.choice(["stack", "tile", "repeat", "pad", "moveaxis", "diff", "swapaxes", "rot90", "tril"]))
        if way == "stack":
            self.add(f"stack(v{k}, v{k})", hg.stack([t, t], axis=-1), np.stack([a, a], axis=-1))
        elif way == "tile":
            times = tuple(int(n) for n in self.rng.integers(1, 3, a.ndim + 1))
            self.add(f"tile(v{k}, {times})", hg.tile(t, times), np.tile(a, times))
        elif way == "repeat":
            axis = int(self.rng.integers(0, a.ndim))
            self.add(f"repeat(v{k}, 2, {axis})", hg.repeat(t, 2, axis=axis), np.repeat(a, 2, axis=axis))
        elif way == "pad":
            mode = str(self.rng.choice(["constant", "edge", "wrap"]))
            widths = [(int(self.rng.integers(0, 2)), int(self.rng.integers(0, 2))) for _ in range(a.ndim)]
            self.add(f"pad(v{k}, {widths}, {mode})", hg.pad(t, widths, mode=mode), np.pad(a, widths, mode=mode))
        elif way == "moveaxis":
            self.add(f"moveaxis(v{k}, 0, -1)", hg.moveaxis(t, 0, -1), np.moveaxis(a, 0, -1))
        elif way == "swapaxes":
            self.add(f"swapaxes(v{k}, 0, -1)", hg.swapaxes(t, 0, -1), np.swapaxes(a, 0, -1))
        elif way == "diff" and a.dtype != bool and a.shape[-1] > 1:
            with np.errstate(all="ignore"):
                self.add(f"diff(v{k})", hg.diff(t, axis=-1), np.diff(a, axis=-1))
        elif way == "rot90" and a.ndim > 1:
            self.add(f"rot90(v{k})", hg.rot90(t), np.rot90(a))
        elif way == "tril" and a.ndim > 1:
            n = int(self.rng.integers(-2, 3))
            self.add(f"tril(v{k}, {n})", hg.tril(t, k=n), np.tril(a, k=n))

    def sets(self):
        k = self.pick(lambda a: a.size > 0 and a.dtype.name in INTEGERS)
        if k is None:
            return
        t, a = self.values[k]
        way = self.rng.choice(["unique", "counts", "isin", "searchsorted", "cummax"])
        if way == "unique":
            self.add(f"unique_values(v{k})", hg.unique_values(t), np.unique(a))
        elif way == "counts":
            values, counts = hg.unique_counts(t)
            right = np.unique_counts(a)
            self.add(f"unique_counts(v{k})[0]", values, right.values)
            self.add(f"unique_counts(v{k})[1]", counts, right.counts)
        elif way == "isin":
            self.add(f"isin(v{k}, v{k}[:1])", hg.isin(t, hg.reshape(t, (-1,))[:2]), np.isin(a, a.reshape(-1)[:2]))
        elif way == "searchsorted":
            side = str(self.rng.choice(["left", "right"]))
            flat, line = hg.reshape(t, (-1,)), a.reshape(-1)
            self.add(f"searchsorted(sort(v{k}), v{k}, {side})", hg.searchsorted(hg.sort(flat), flat, side=side),
                     np.searchsorted(np.sort(line), line, side=side))  # fmt: skip
        elif a.ndim > 0:
            self.add(f"cummax(v{k})", hg.cummax(t, axis=0)[0], np.maximum.accumulate(a, axis=0))

    def product(self):
        k = self.pick(lambda a: a.ndim in (1, 2, 3) and a.size > 0 and (a.dtype.name in INTEGERS or finite(a)))
        if k is None:
            return
        t, a = self.values[k]
        # A product of bytes gives what NumPy gives: they wrap.
        transposed, turned = (hg.moveaxis(t, -1, -2), np.moveaxis(a, -1, -2)) if a.ndim > 1 else (t, a)
        made, right = hg.matmul(t, transposed), np.matmul(a, turned)
        if a.dtype.name in INTEGERS:
            return self.add(f"matmul(v{k}, v{k}.mT)", made, right)
        reach = np.matmul(np.abs(a).astype("float64"), np.abs(turned).astype("float64"))
        ours = np.asarray(made)
        assert (np.abs(ours - right) <= 16 * np.finfo(a.dtype).eps * reach).all(), f"matmul(v{k})"

    def matrices(self):
        rng = self.rng
        n, batch = int(rng.integers(1, 6)), tuple(rng.integers(1, 3, rng.integers(0, 2)))
        a = rng.standard_normal((*batch, n, n)) + 3 * n * np.eye(n)
        b = rng.standard_normal((*batch, n, 2))
        t, u = hg.asarray(a), hg.asarray(b)
        way = str(rng.choice(["solve", "inv", "det", "cholesky", "qr", "eigvalsh", "svdvals", "pinv"]))
        self.steps.append(f"{way} of {a.tolist()}")
        symmetric, mirrored = a + np.moveaxis(a, -1, -2), t + t.mT
        if way == "solve":
            made, right = hg.linalg.solve(t, u), np.linalg.solve(a, b)
        elif way == "cholesky":
            made, right = hg.linalg.cholesky(mirrored), np.linalg.cholesky(symmetric)
        elif way == "qr":
            q, r = hg.linalg.qr(t)
            made, right = q @ r, a
        elif way == "eigvalsh":
            made, right = hg.linalg.eigvalsh(mirrored), np.linalg.eigvalsh(symmetric)
        else:
            other = {"svdvals": lambda x: np.linalg.svd(x, compute_uv=False)}.get(way) or getattr(np.linalg, way)
            made, right = getattr(hg.linalg, way)(t), other(a)
        np.testing.assert_allclose(np.asarray(made), right, rtol=1e-9, atol=1e-9)

    def statistics(self):
        k = self.pick(lambda a: finite(a) and a.ndim > 0)
        if k is None:
            return
        t, a = self.values[k]
        axis = int(self.rng.integers(0, a.ndim))
        name = str(self.rng.choice(["mean", "var", "std", "median", "quantile", "logsumexp"]))
        wide = a.astype("float64")
        if name == "quantile":
            made, right = hg.quantile(t, 0.3, axis=axis), np.quantile(wide, 0.3, axis=axis)
        elif name == "logsumexp":
            if np.abs(a).max() > 80:
                return
            made, right = hg.logsumexp(t, axis=axis), np.log(np.sum(np.exp(wide), axis=axis))
        else:
            made, right = getattr(hg, name)(t, axis=axis), getattr(np, name)(wide, axis=axis)
        loose = 1e-4 if a.dtype == np.float32 else 1e-9
        scale = max(1.0, float(np.abs(wide).max()) ** (2 if name == "var" else 1))
        np.testing.assert_allclose(np.asarray(made), right, rtol=loose, atol=loose * scale, err_msg=f"{name}(v{k})")

    def to_integers(self):
        k = self.pick(lambda a: finite(a) and bool((np.abs(a) < 100).all()))
        if k is None:
            return
        t, a = self.values[k]
        dtype = str(self.rng.choice([d for d in DTYPES if d in INTEGERS and not d.startswith("u")]))
        self.add(f"trunc(v{k}).astype({dtype})", t.astype(dtype), a.astype(dtype))

    def ways(self):
        more = [self.bits, self.bits, self.quotient, self.quotient, self.masked, self.masked, self.indexed,
                self.indexed, self.arranged, self.arranged, self.sets, self.product, self.matrices,
                self.statistics, self.to_integers]  # fmt: skip
        return super().ways() + more


def test_wider_random_programs_are_those_of_numpy(seconds):
    search(Wider, 2 * seconds)
