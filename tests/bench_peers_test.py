#!/usr/bin/env python3
"""Competitors of `hologram bench` in another process: what is said, that they are timed, and that a
wrong result is refused, whoever made it.

Needs HOLOGRAM_COMMAND, the built command, and HOLOGRAM_SOURCE, the folder of the sources. Those with
PyTorch are run by the interpreter that scripts/compare-cpu has made, where it has.
"""

import json
import os
import pathlib
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = os.environ["HOLOGRAM_COMMAND"]
SOURCE = pathlib.Path(os.environ["HOLOGRAM_SOURCE"])
PEERS = SOURCE / "bench" / "python_peers.py"
OK, FILE, WRONG_DEVICE, INTERRUPTED = 0, 3, 4, 130

# Adds, and then changes the element WRONG, if any; the first request is in the file TOLD. Arrays are .npy
# files of f32.
ADDER = """
import array, json, sys
print(json.dumps({"versions": {"adder": "1"}}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    answer = {}
    if "prepare" in request:
        open(TOLD, "w").write(line)
        files = [open(path, "rb").read() for path in request["inputs"]]
        at = [10 + f[8] + 256 * f[9] for f in files]
        a, b = (array.array("f", f[n:]) for f, n in zip(files, at))
        answer["ways"] = ["adder"]
    elif "result" in request:
        sums = array.array("f", (x + y for x, y in zip(a, b)))
        if WRONG is not None:
            sums[WRONG] += 1
        open(request["file"], "wb").write(files[0][: at[0]] + sums.tobytes())
    else:
        answer["seconds"] = request["times"] * 1e-3
    print(json.dumps(answer), flush=True)
"""


def interpreter_with(*modules):
    """An interpreter that has these, or none."""
    made = SOURCE / "build" / "peers-env" / "bin" / "python"
    for interpreter in (made, sys.executable, "/usr/bin/python3"):
        if os.path.exists(interpreter):
            done = subprocess.run([interpreter, "-c", "import " + ", ".join(modules)], capture_output=True)
            if done.returncode == 0:
                return str(interpreter)
    return None


def npy(*values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (117 - len(header)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + struct.pack(f"<{len(values)}f", *values)


class BenchPeers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hologram-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def bench(self, *arguments, beside, code=OK):
        command = [COMMAND, "bench", *map(str, arguments), "--rounds", "2", "--turn", "0.01", "--beside", beside]
        # The search for leaks crashes where oneDNN has been at work.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        environment = os.environ | {"HOLOGRAM_BACKEND": "cpu", "ASAN_OPTIONS": sanitizer}
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
        self.assertEqual(done.returncode, code, f"{done.stdout}\n{done.stderr}")
        return done

    def peers(self, *modules):
        """The command line of an interpreter that has these; without one the test is skipped."""
        interpreter = interpreter_with(*modules)
        if interpreter is None:
            self.skipTest(f"no Python with {' and '.join(modules)}; scripts/compare-cpu makes one")
        return [interpreter, str(PEERS)]

    def adder(self, wrong=None, told=os.devnull):
        path = self.folder / "adder.py"
        path.write_text(f"WRONG, TOLD = {wrong!r}, {str(told)!r}\n{ADDER}")
        return shlex.join([sys.executable, str(path)])

    def test_contestant_keeps_its_own_time(self):
        done = json.loads(self.bench("add", "--size", 5000, "--json", "--median", beside=self.adder()).stdout)
        self.assertEqual(done["versions"], {"adder": "1"})
        self.assertEqual(done["told"], "median")
        (peer,) = [p for p in done["rows"][0]["peers"] if p["name"] == "adder"]
        self.assertAlmostEqual(peer["median"], 1e-3, delta=1e-9)
        self.assertAlmostEqual(peer["best"], 1e-3, delta=1e-9)
        self.assertAlmostEqual(peer["speed"], 3 * 4 * 5000 / 1e-3 / 1e9, delta=1e-6)

    def test_wrong_result_is_refused(self):
        # The first and the last are looked at in float64; one in between is beside what was right.
        for element, words in ((0, "element 0 is"), (4999, "element 4999 is"), (3, "not about")):
            done = self.bench("add", "--size", 5000, beside=self.adder(element), code=WRONG_DEVICE)
            self.assertIn("a wrong result of adder", done.stderr)
            self.assertIn(words, done.stderr)
            self.assertNotIn("adder 0.", done.stdout)

    def test_one_that_fails_is_named(self):
        for program, words in (
            ("/none/here", "/none/here"),
            ("true", "ended without an answer"),
            ("echo hello", "no JSON object"),
            ("""sh -c 'echo "{}"; cat >/dev/null' #""", "versions"),
            ("""sh -c 'echo "{\\"versions\\": {}}"; head -n 1 >/dev/null; echo "{\\"error\\": \\"no cake\\"}"' #""",
             "no cake"),
        ):
            done = self.bench("add", "--size", 10, beside=program, code=FILE)
            self.assertIn(words, done.stderr, program)

    def test_nothing_stays_behind(self):
        told = self.folder / "told"
        beside = self.adder(told=told)
        command = [COMMAND, "bench", "add", "--size", "100", "--rounds", "1000", "--turn", "10", "--beside", beside]
        started = subprocess.Popen(command, env=os.environ | {"HOLOGRAM_BACKEND": "cpu"}, stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True)
        while not told.exists() or not told.read_text().endswith("\n"):
            self.assertIsNone(started.poll())
            time.sleep(0.01)
        folder = pathlib.Path(json.loads(told.read_text())["inputs"][0]).parent
        started.send_signal(signal.SIGINT)
        _, words = started.communicate(timeout=60)
        self.assertEqual(started.returncode, INTERRUPTED, words)
        self.assertFalse(folder.exists())

    def test_numpy_takes_part(self):
        command = shlex.join([*self.peers("numpy"), "--without", "torch", "--without", "numexpr"])
        done = json.loads(self.bench("--size", 1000, "--threads", 1, "--json", beside=command).stdout)
        there = {row["work"] for row in done["rows"] if any(p["name"] == "NumPy" for p in row["peers"])}
        self.assertLessEqual({"add", "twelve", "softmax", "layer-norm", "matmul-f64", "matrix-vector"}, there)

    def test_pytorch_takes_part(self):
        command = shlex.join([*self.peers("numpy", "torch"), "--without", "torch.compile"])
        done = json.loads(self.bench("--size", 1000, "--threads", 1, "--json", beside=command).stdout)
        for row in done["rows"]:
            self.assertIn("PyTorch", [p["name"] for p in row["peers"]], row["work"])

    def test_what_is_said(self):
        (self.folder / "a.npy").write_bytes(npy(0, 1, 2, 3, 4))
        (self.folder / "b.npy").write_bytes(npy(1, 1, 1, 1, 1))
        result = self.folder / "c.npy"
        requests = [
            {"prepare": "add", "inputs": [str(self.folder / "a.npy"), str(self.folder / "b.npy")]},
            {"result": 0, "file": str(result)},
            {"run": 0, "times": 3, "processor": False},
            {"run": 7, "times": 3, "processor": False},
            {"dance": 1},
        ]
        command = [*self.peers("numpy"), "--threads", "1", "--without", "torch", "--without", "numexpr"]
        text = "".join(json.dumps(r) + "\n" for r in requests) + "no JSON\n"
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        hello, ways, saved, ran, *errors = map(json.loads, done.stdout.splitlines())
        self.assertLessEqual({"Python", "NumPy"}, set(hello["versions"]))
        self.assertEqual(ways, {"ways": ["NumPy"]})
        self.assertEqual(saved, {})
        self.assertEqual(struct.unpack("<5f", result.read_bytes()[-20:]), (1, 2, 3, 4, 5))
        self.assertGreater(ran["seconds"], 0)
        self.assertEqual([list(e) for e in errors], [["error"]] * 3)
        self.assertIn("no request 'dance'", errors[1]["error"])


if __name__ == "__main__":
    unittest.main()
