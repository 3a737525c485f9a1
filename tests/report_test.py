#!/usr/bin/env python3
"""`hologram report`: one file with what every device does, on machines without a GPU, too.

Needs HOLOGRAM_COMMAND, the built command.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ["HOLOGRAM_COMMAND"]
OK, WRONG, USAGE, FILE = 0, 1, 2, 3
SHORT = ("--work", "add", "--work", "softmax", "--size", "1000", "--rounds", "1")


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "report.json"

    def report(self, *arguments, code=OK, sample=2000, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HOLOGRAM_")}
        done = subprocess.run([COMMAND, "report", "-o", self.path, "--sample", str(sample), *SHORT,
                               *arguments], env=clean | environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        self.out, self.err = done.stdout, done.stderr
        return json.loads(self.path.read_text()) if self.path.exists() else None

    def test_the_processor(self):
        found = self.report("--device", "cpu", HOLOGRAM_NUM_THREADS="2")
        self.assertTrue(found["complete"])
        self.assertEqual(found["settings"], {"HOLOGRAM_NUM_THREADS": "2"})
        self.assertEqual(found["system"]["name"], os.uname().sysname)
        # Why the others are not there stands in the list of devices, as `hologram devices` has it.
        self.assertLessEqual({"cuda", "rocm", "metal", "cpu"},
                             {backend["backend"] for backend in found["found"]["backends"]})
        (device,) = found["devices"]
        self.assertEqual((device["backend"], device["index"], device["trial"]), ("cpu", 0, "passed"))
        conformance, bench = device["conformance"], device["bench"]
        self.assertEqual(conformance["command"], "hologram conformance --json --device cpu:0 --sample 2000")
        self.assertGreater(conformance["counts"]["passed"], 3)
        self.assertEqual((conformance["counts"]["failed"], conformance["failed"]), (0, []))
        self.assertEqual([(row["work"], row["elements"]) for row in bench["rows"]],
                         [("add", 1000), ("softmax", 1000)])
        for text in ("cpu 0", "trial: passed", "one case in 2000:", "2 timed, every result right"):
            self.assertIn(text, self.out)

    def test_what_ends_or_does_not_end_is_told_and_the_rest_goes_on(self):
        found = self.report("--device", "cpu", "--limit", "1", code=WRONG, sample=1)
        (device,) = found["devices"]
        self.assertRegex(device["conformance"]["ended"], "^stopped after [12] s$")
        self.assertIn("stopped after", self.out)
        self.assertEqual(len(device["bench"]["rows"]), 2)
        self.assertTrue(found["complete"])

    def test_an_error_of_a_part_is_kept_with_its_words(self):
        found = self.report("--device", "cpu", "--work", "nothing", code=WRONG)
        (device,) = found["devices"]
        self.assertEqual(device["bench"]["ended"], "exit code 2")
        self.assertIn("there is no work 'nothing' to time", device["bench"]["messages"])
        self.assertEqual(device["conformance"]["counts"]["failed"], 0)

    def test_what_is_not_there(self):
        self.report("--device", "metal:7", code=USAGE)
        self.assertIn("none of the devices named is there: metal:7", self.err)
        self.path = pathlib.Path("/nonexistent/folder/report.json")
        self.assertIsNone(self.report("--device", "cpu", code=FILE))


if __name__ == "__main__":
    unittest.main()
