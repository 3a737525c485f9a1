#!/usr/bin/env python3
"""`hologram bisect` as its users meet it.

Needs HOLOGRAM_COMMAND, the built command, and HOLOGRAM_SOURCE, the folder of the sources.
"""

import json
import unittest

from cli_test import ATLAS, USAGE, WRONG, Case, floats


class Bisect(Case):
    def test_bisect_finds_the_operation_that_makes_a_nan(self):
        self.file("x.npy", floats(0, 4))
        done = self.hologram("bisect", "sqrt(x - 1) * 2", "x=x.npy", "--device", "cpu", code=WRONG)
        self.assertTrue(done.out.startswith("sqrt makes a NaN"), done.out)
        again = next(line for line in done.out.splitlines() if line.startswith("  again"))
        words = again.split()[2:]
        self.assertEqual(words[0], "run")
        self.hologram(*words, "-o", "y.npy")
        self.assertTrue((self.folder / "y.npy").exists())
        # The program that was written shows the same.
        words[0] = "bisect"
        self.hologram(*words, "--device", "cpu", "--output", "twice", code=WRONG)
        done = self.hologram("bisect", "sqrt(x - 1) * 2", "x=x.npy", "--device", "cpu", "--no-nan")
        self.assertEqual(done.out, "cpu computes what the interpreter does\n")
        done = self.hologram("bisect", ATLAS / "saxpy.atlas", "x=x.npy", "y=zeros:2", "a=2", "--device", "cpu", "--json")
        self.assertIsNone(json.loads(done.out)["found"])
        self.refused(USAGE, "'gpu' is no device", "bisect", "x", "x=1", "--device", "gpu")


if __name__ == "__main__":
    unittest.main()
