#!/usr/bin/env python3
"""`hologram eval` as its users meet it.

Needs HOLOGRAM_COMMAND, the built command, and HOLOGRAM_SOURCE, the folder of the sources.
"""

import array
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import unittest

from cli_test import COMMAND, FILE, MEMORY, USAGE, WRONG, Case, npy


MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def floats(shape, values):
    return npy("<f4", shape, array.array("f", values).tobytes())


def read_npy(path):
    """The elements of a .npy file of f32 or i64, without its shape."""
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = data[10 : 10 + length].decode()
    kind = {"<f4": "f", "<i8": "q", "|b1": "b"}[header.split("'")[3]]
    return array.array(kind, data[10 + length :])


def noise(count, seed):
    generator = random.Random(seed)
    return array.array("f", (generator.uniform(-2, 2) for _ in range(count)))


class Works(Case):
    def test_values_are_printed(self):
        self.file("x.npy", floats((2, 3), range(6)))
        for expression, printed in (
            ("mean(x, axis=0)", "f32[3] [1.5, 2.5, 3.5]\n"),
            ("x > 2", "bool[2, 3]\n[[false, false, false],\n [true, true, true]]\n"),
            ("2 ** 3 + 0.5", "f32[] 8.5\n"),
            ("n = x.shape[1]; n // 2", "i64[] 1\n"),
            ("big = arange(1000); big", "i64[1000], min 0, max 999, mean 499.5\n"),
        ):
            words = ["eval", expression] + (["x=x.npy"] if "x" in expression else [])
            self.assertEqual(self.hologram(*words).out, printed)

    def test_several_outputs(self):
        self.file("x.npy", floats((4,), [1, 2, 3, 6]))
        self.file("e.txt", "m = mean(x)   # of all\nd = x - m\n\nd / a\n")
        self.hologram("eval", "--expr-file", "e.txt", "x=x.npy", "a=2", "-o", "m=m.npy", "-o", "o.npy")
        self.assertEqual(list(read_npy(self.folder / "m.npy")), [3])
        self.assertEqual(list(read_npy(self.folder / "o.npy")), [-1, -0.5, 0, 1.5])
        self.hologram("eval", "a = x; b = x * 2", "x=x.npy", "-o", "a=s.npz:a", "-o", "b=s.npz:b")
        self.assertEqual(self.hologram("eval", "sum(y)", "y=s.npz:b").out, "f32[] 24\n")

    def test_pictures(self):
        picture = self.picture()
        self.hologram("eval", "1 - x[:, ::-1]", f"x={picture}", "-o", "o.png", "--bits", "16")
        done = self.hologram("eval", "o.shape", "o=o.png")
        self.assertEqual(done.out, "i64[3] [30, 40, 3]\n")

    def test_one_launch_within_memory(self):
        count = 1_000_000
        values = {name: noise(count, name) for name in "abcde"}
        for name in "abcde":
            self.file(name + ".npy", floats((count,), values[name]))
        run = [COMMAND, "eval", "sigmoid(a*b + c)*d - e", "-o", "o.npy", "--json"]
        run += [f"{name}={name}.npy" for name in "abcde"]
        # By way of a small process, as a child begins with the size of its parent. On the CPU: the
        # drivers of other devices, which automatic choice asks, take memory of their own.
        done = subprocess.run([sys.executable, "-c", MEASURE, *run], cwd=self.folder,
                              env=os.environ | {"HOLOGRAM_BACKEND": "cpu"}, capture_output=True,
                              check=True)
        self.assertEqual(json.loads(done.stdout)["launches"], 1)
        most = int(done.stderr.split()[-1]) * 1024
        result = read_npy(self.folder / "o.npy")
        worst = 0
        for i in range(0, count, 7):
            a, b, c, d, e = (values[name][i] for name in "abcde")
            s = 1 / (1 + math.exp(-(a * b + c)))
            worst = max(worst, abs(result[i] - (s * d - e)) / (abs(s * d) + abs(e) + 1e-30))
        self.assertLessEqual(worst, 1e-6)
        # A sanitizer needs memory of its own.
        if b"__asan_init" not in pathlib.Path(COMMAND).read_bytes():
            self.assertLessEqual(most, 1.10 * 24 * count + (64 << 20))

    def test_explain_profile_and_trace(self):
        self.file("x.npy", floats((4,), [1, 2, 3, 6]))
        done = self.hologram("eval", "exp(x) * 2", "x=x.npy", "--explain", "-o", "no.npy")
        self.assertTrue(done.out.startswith("1 step on "), done.out)
        self.assertFalse((self.folder / "no.npy").exists())
        asked = ["eval", "matmul(a, b)", "a=a.npy", "b=a.npy", "--explain"]
        self.file("a.npy", floats((2, 2), [1, 2, 3, 4]))
        self.assertNotIn("one product", self.hologram(*asked).out)
        self.assertIn("* 6. one product\n", self.hologram(*asked, "--candidates").out)
        done = self.hologram("eval", "exp(x) * 2", "x=x.npy", "--profile", "--trace", "t.json")
        self.assertIn("in 1 launch\n", done.out)
        self.assertIn("traceEvents", json.loads((self.folder / "t.json").read_text()))

    def test_kernels_are_shown(self):
        words = ["show", "--expr", "sum(a * b + c)", "a:f32[100, 3]", "b:f32[3]", "c=2.5"]
        done = self.hologram(*words)
        self.assertTrue(done.out.startswith("1 step on "), done.out)
        self.assertEqual(done.out.count("\nprogram "), 1)
        self.assertEqual(len(json.loads(self.hologram(*words, "--json").out)["kernels"]), 1)
        self.refused(USAGE, "'a:f33[2]' is no input", "show", "--expr", "a", "a:f33[2]")

    def prints(self, expression, printed, *inputs):
        self.assertEqual(self.hologram("eval", expression, *inputs).out, printed + "\n")

    def test_brackets_are_part_of_the_expression(self):
        self.prints("[1, 2]", "i64[2] [1, 2]")
        self.prints("[1, 2] + [3, 4]", "i64[2] [4, 6]")
        self.prints("[[1], [2]][0]", "i64[1] [1]")
        self.prints("[x, y][1] + [1,2]", "i64[2] [3, 4]", "x=1", "y=2")
        self.refused(USAGE, "'[1, 2]' is not of the form name=value", "eval", "[1]", "[1, 2]")
        self.refused(USAGE, "'[1, 2]' is one word too many", "devices", "[1, 2]")
        done = self.hologram("show", "--expr", "[1, 2] + a", "a:f32[2]")
        self.assertTrue(done.out.startswith("1 step on "), done.out)

    def test_integers_are_exact(self):
        for number in (2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1):
            dtype = "u64" if number >= 2**63 else "i64"
            self.prints("x", f"{dtype}[] {number}", f"x={number}")
            self.prints(str(number), f"{dtype}[] {number}")
            self.prints("[x]", f"{dtype}[1] [{number}]", f"x={number}")
            done = self.hologram("eval", "full([2], x)", f"x={number}", "--json")
            output = json.loads(done.out)["outputs"][0]
            self.assertEqual((output["min"], output["max"], output["values"]), (number, number, [number] * 2))
        self.prints("x == 9007199254740992.0", "bool[] false", "x=9007199254740993")
        self.prints("x * 1.0", "f32[] 1.8446744e+19", "x=18446744073709551615")
        self.prints("x", "bool[] true", "x=true")
        self.prints("x", "u64[] 18446744073709551615", "x=0xffffffffffffffff")
        self.prints("full([100], 9007199254740993)",
                    "i64[100], min 9007199254740993, max 9007199254740993, mean 9.007199e+15")
        self.refused(USAGE, "x=18446744073709551616: no integer type holds 18446744073709551616", "eval", "x",
                     "x=18446744073709551616", remedy="Write it as a float, as in x=1.8446744")
        self.file("x.npy", npy("<u8", (2,), struct.pack("<QQ", 2**64 - 1, 2**53 + 1)))
        self.prints("x", f"u64[2] [{2**64 - 1}, {2**53 + 1}]", "x=x.npy")

    def test_sums_of_what_would_not_fit(self):
        # Whatever the machine has, the operand in i64 would be larger.
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        count = pages * page // 8 + 1000
        operand = f"broadcast_to(ones([1], u8), [{count}])"
        done = self.hologram("eval", f"sum({operand})", "--explain")
        self.assertTrue(done.out.startswith("1 step on ") or " steps on " in done.out, done.out)
        self.refused(MEMORY, "does not fit into the", "eval", f"cast({operand}, i64) * 2")

    def test_seed(self):
        one, again, other = (
            self.hologram("eval", "rand([4])", "--seed", seed).out for seed in ("1", "1", "2")
        )
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)


class Pieces(Case):
    """Inputs of 64 MB with room for 8."""

    SMALL = {"HOLOGRAM_CACHE_SIZE_MB": "8"}

    def setUp(self):
        super().setUp()
        rows = 4_000_000
        block = noise(4000, 1)
        self.file("x.npy", npy("<f4", (rows, 4), block.tobytes() * (rows * 4 // len(block))))
        self.mean = [math.fsum(block[k::4]) / 1000 for k in range(4)]
        self.block, self.rows = block, rows

    def pieces(self, *words):
        done = self.hologram("eval", *words, "x=x.npy", "--json", environment=self.SMALL)
        report = json.loads(done.out)
        self.assertGreater(report["pieces"], 8)
        return report

    def test_reductions(self):
        report = self.pieces("mean(x, axis=0)")
        self.assertEqual(report["passes"], 1)
        for got, right in zip(report["outputs"][0]["values"], self.mean):
            self.assertAlmostEqual(got, right, delta=1e-6)
        report = self.pieces("max(x) + sum(x > 0)")
        right = max(self.block) + sum(v > 0 for v in self.block) * (self.rows // 1000)
        self.assertAlmostEqual(report["outputs"][0]["values"][0], right, delta=right * 1e-6)

    def test_rows_are_written_in_order(self):
        report = self.pieces("x - mean(x, axis=0)", "-o", "o.npy")
        self.assertEqual(report["passes"], 2)
        result = read_npy(self.folder / "o.npy")
        self.assertEqual(len(result), len(self.block) * self.rows // 1000)
        for at in (0, 1, 2_000_003, len(result) - 1):
            right = self.block[at % 4000] - self.mean[at % 4]
            self.assertAlmostEqual(result[at], right, delta=2e-6)

    def test_what_needs_all_rows_says_so(self):
        done = self.refused(WRONG, "sort over the first axis needs all rows at once", "eval",
                            "1 + sort(x, axis=0)", "x=x.npy", "-o", "o.npy", environment=self.SMALL,
                            remedy="HOLOGRAM_CACHE_SIZE_MB above the 62 MiB")
        self.assertIn("expression:1:5:", done.err)


class Refused(Case):
    def test_each_with_its_remedy(self):
        self.file("x.npy", floats((2, 3), range(6)))
        self.file("y.npy", floats((1, 2), range(2)))
        self.refused(WRONG, "expression:1:7: add: shapes [2, 3] and [2] do not go together", "eval",
                     "x * 2 + y[0]", "x=x.npy", "y=y.npy")
        self.refused(WRONG, "expression:1:4: there is no function 'sqt'", "eval", "1 +sqt(x)", "x=x.npy",
                     remedy="Did you mean sqrt?")
        self.refused(USAGE, "the expression needs 'y'", "eval", "x + y", "x=x.npy", remedy="y=FILE")
        self.refused(USAGE, "no input 'z'", "eval", "x + 1", "x=x.npy", "z=1", remedy="Its inputs are: x")
        self.refused(USAGE, "'x' is given twice", "eval", "x + 1", "x=x.npy", "x=1")
        self.refused(FILE, "cannot read 'no.npy'", "eval", "x + 1", "x=no.npy")
        self.refused(USAGE, "there is no expression", "eval")
        self.refused(WRONG, "expression:1:5:", "eval", "x + ", "x=x.npy")
        self.refused(FILE, "cannot write", "eval", "x + 1", "x=x.npy", "-o", "no/o.npy")
        self.refused(WRONG, "names no format", "eval", "x + 1", "x=x.npy", "-o", "o.xyz")
        self.refused(USAGE, "would be written twice", "eval", "a = x; a", "x=x.npy", "-o", "o.npy", "-o", "a=o.npy")
        done = self.hologram("eval", "x + y", "x=x.npy", "--json", code=USAGE)
        self.assertEqual(json.loads(done.err)["error"]["exit_code"], USAGE)


if __name__ == "__main__":
    sys.exit(unittest.main())
