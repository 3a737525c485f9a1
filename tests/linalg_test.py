#!/usr/bin/env python3
"""Linear algebra beside NumPy, by what defines decompositions; matrices without elements; errors.

Needs what functions_test.py needs, and LAPACK: where hologram finds none, the reason is shown and all
of it is skipped.
"""

import math
import unittest

import numpy as np

from cli_test import WRONG
from functions_test import Functions, random

NAN, INF = math.nan, math.inf


class Linalg(Functions):
    def setUp(self):
        super().setUp()
        try:
            self.values({"d": "det(eye(2))"}, {})
        except AssertionError as error:
            if "needs LAPACK" in str(error):
                self.skipTest("hologram finds no LAPACK")
            raise

    def test_systems(self):
        for dtype, error in (("float32", 2e-5), ("float64", 1e-13)):
            a = random.normal(size=(2, 3, 5, 5)).astype(dtype) + 3 * np.eye(5, dtype=dtype)
            b, v = random.normal(size=(3, 5, 2)).astype(dtype), random.normal(size=5).astype(dtype)
            f = a.astype("float64")
            spd = a @ np.swapaxes(a, -1, -2)
            sign, logarithm = np.linalg.slogdet(f)
            lower = np.linalg.cholesky(spd.astype("float64"))
            self.compare(
                [
                    ("solve(a, b)", np.linalg.solve(f, np.broadcast_to(b, (2, 3, 5, 2))), dtype),
                    ("solve(a[0, 0], v)", np.linalg.solve(f[0, 0], v), dtype),
                    ("solve(a, v)", np.linalg.solve(f, np.broadcast_to(v[:, None], (2, 3, 5, 1)))[..., 0], dtype),
                    ("inv(a)", np.linalg.inv(f), dtype),
                    ("inv(a[0, 0].T)", np.linalg.inv(f[0, 0].T), dtype),
                    ("det(a)", np.linalg.det(f), dtype),
                    ("slogdet(a)[0]", sign, dtype),
                    ("slogdet(a)[1]", logarithm, dtype),
                    ("cholesky(s)", lower, dtype),
                    ("cholesky(s, true)", np.swapaxes(lower, -1, -2), dtype),
                    ("matrix_power(a, -2)", np.linalg.matrix_power(np.linalg.inv(f), 2), dtype),
                ],
                error, a=a, b=b, v=v, s=spd,
            )  # fmt: skip
        whole = np.array([[2, 1], [1, 3]])
        self.compare([("det(w)", np.float32(5)), ("det([[1, 2], [2, 4]])", np.float32(0)), ("solve(w, [3, 4])", np.array([1, 1], "f4"))], 1e-6, w=whole)
        self.compare([("slogdet(zeros([2, 2]))[1]", np.float32(-INF)), ("slogdet(zeros([2, 2]))[0]", np.float32(0))])

    def test_decompositions(self):
        """By what defines them: the product is the matrix, columns are orthonormal, order."""
        for dtype, error in (("float32", 5e-6), ("float64", 1e-14)):
            for m, n in ((5, 3), (3, 5), (4, 4), (1, 3), (3, 1)):
                a = random.normal(size=(2, m, n)).astype(dtype)
                f, k = a.astype("float64"), min(m, n)
                one = np.broadcast_to(np.eye(k), (2, k, k))
                full = np.broadcast_to(np.eye(m), (2, m, m))
                s = np.linalg.svd(f, compute_uv=False)
                t = "transpose({})".format
                self.compare(
                    [
                        ("qr(a)[0] @ qr(a)[1]", f, dtype), (f"{t('qr(a)[0]')} @ qr(a)[0]", one, dtype),
                        ("tril(qr(a)[1], -1)", np.zeros((2, k, n)), dtype),
                        ("qr(a, true)[0] @ qr(a, true)[1]", f, dtype),
                        (f"qr(a, true)[0] @ {t('qr(a, true)[0]')}", full, dtype),
                        ("svd(a, false)[0] * svd(a, false)[1][:, none] @ svd(a, false)[2]", f, dtype),
                        (f"{t('svd(a)[0]')} @ svd(a)[0]", full, dtype),
                        (f"svd(a)[2] @ {t('svd(a)[2]')}", np.broadcast_to(np.eye(n), (2, n, n)), dtype),
                        ("svd(a)[1]", s, dtype), ("svdvals(a)", s, dtype),
                        ("pinv(a)", np.linalg.pinv(f), dtype),
                        ("matrix_rank(a)", np.full(2, k)),
                        *[(f"matrix_norm(a, {o})", np.linalg.norm(f, o if o != "inf" else INF, (-2, -1)), dtype) for o in (1, -1, 2, -2, "inf")],
                        ("matrix_norm(a)", np.linalg.norm(f, "fro", (-2, -1)), dtype),
                        ("matrix_norm(a, 'nuc', true)", s.sum(-1)[:, None, None], dtype),
                    ],
                    error, a=a,
                )  # fmt: skip
            h = random.normal(size=(3, 4, 4)).astype(dtype)
            h = h + np.swapaxes(h, -1, -2)
            values = np.linalg.eigvalsh(h.astype("float64"))
            self.compare(
                [
                    ("eigvalsh(h)", values, dtype), ("eigh(h)[0]", values, dtype),
                    ("eigh(h)[1] * eigh(h)[0][:, none] @ transpose(eigh(h)[1])", h.astype("float64"), dtype),
                    ("transpose(eigh(h)[1]) @ eigh(h)[1]", np.broadcast_to(np.eye(4), (3, 4, 4)), dtype),
                    ("eigvalsh(tril(h))", values, dtype),
                ],
                error, h=h,
            )  # fmt: skip

    def test_least_squares(self):
        for m, n, rank in ((6, 3, 3), (3, 6, 3), (6, 4, 2)):
            a = random.normal(size=(m, rank)) @ random.normal(size=(rank, n))
            b = random.normal(size=(m, 2))
            x, _, found, s = np.linalg.lstsq(a, b, None)
            residual = ((b - a @ x) ** 2).sum(0)
            have = self.values({f"r{i}": f"lstsq(a, b)[{i}]" for i in range(4)} | {"v": "lstsq(a, b[:, 0])[0]", "p": "matrix_rank(a)"}, {"a": a, "b": b})
            np.testing.assert_allclose(have["r0"], x, atol=1e-12)
            np.testing.assert_allclose(have["r1"], residual, atol=1e-12)
            np.testing.assert_allclose(have["r3"], s, atol=1e-12)
            np.testing.assert_allclose(have["v"], x[:, 0], atol=1e-12)
            self.assertEqual((int(have["r2"]), int(have["p"]), int(found)), (rank, rank, rank))

    def test_no_elements(self):
        shapes = {
            "solve(zeros([0, 0]), zeros([0, 2]))": (0, 2), "inv(zeros([2, 0, 0]))": (2, 0, 0), "det(zeros([3, 0, 0]))": (3,),
            "det(zeros([0, 3, 3]))": (0,), "cholesky(zeros([0, 2, 2]))": (0, 2, 2), "qr(zeros([0, 3]))[1]": (0, 3),
            "qr(zeros([3, 0]), true)[0]": (3, 3), "svd(zeros([2, 0]))[0]": (2, 2), "svd(zeros([2, 0]))[1]": (0,),
            "eigh(zeros([0, 0]))[1]": (0, 0), "eigvalsh(zeros([0, 2, 2]))": (0, 2), "pinv(zeros([2, 0]))": (0, 2),
            "matrix_rank(zeros([0, 2]))": (), "lstsq(zeros([0, 2]), zeros([0, 1]))[0]": (2, 1), "svdvals(zeros([0, 2, 3]))": (0, 2),
        }  # fmt: skip
        have = self.values({f"r{i}": text for i, text in enumerate(shapes)}, {})
        for i, (text, shape) in enumerate(shapes.items()):
            self.assertEqual(have[f"r{i}"].shape, shape, text)
        self.compare([("det(zeros([2, 0, 0]))", np.ones(2, "f4")), ("svd(zeros([2, 0]))[0]", np.eye(2, dtype="f4")), ("qr(zeros([2, 0]), true)[0]", np.eye(2, dtype="f4"))])

    def test_errors(self):
        for expression, what in (
            ("inv(zeros([2, 3]))", "not square"), ("inv(zeros([3]))", "holds no matrices"),
            ("inv(zeros([2, 2]))", "matrix 0 of the batch is singular"),
            ("solve(stack([eye(2), zeros([2, 2])]), ones([2, 1]))", "matrix 1 of the batch is singular"),
            ("cholesky(-eye(2))", "not positive definite"), ("solve(eye(2), ones([3]))", "right-hand sides"),
            ("solve(eye(2), 1)", "right-hand sides"), ("inv(eye(2, dtype=f16))", "not defined for f16"),
            ("svd(eye(2) * nan)", "NaN or infinities"), ("eigh(eye(2) * inf)", "NaN or infinities"),
            ("lstsq(eye(2), [1, nan])", "NaN or infinities"), ("matrix_norm(eye(2), 3)", "no order 3"),
            ("matrix_norm(eye(2), 'max')", "'fro'"), ("matrix_power(ones([2, 3]), 2)", "not square"),
        ):  # fmt: skip
            self.wrong(expression, what)

    def test_a_library_that_is_not_there(self):
        nowhere = {"HOLOGRAM_LAPACK_LIBRARY": str(self.folder / "none.so")}
        self.refused(WRONG, "det needs LAPACK, which is not found", "eval", "det(eye(2))", environment=nowhere, remedy="HOLOGRAM_LAPACK_LIBRARY")
        elsewhere = {"HOLOGRAM_LAPACK_LIBRARY": "libm.so.6"}
        self.refused(WRONG, "it lacks", "eval", "det(eye(2))", environment=elsewhere)


if __name__ == "__main__":
    unittest.main()
