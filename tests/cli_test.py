#!/usr/bin/env python3
"""The command as its users meet it: what works, and above all what does not.

Needs HOLOGRAM_COMMAND, the built command, and HOLOGRAM_SOURCE, the folder of the sources.
"""

import json
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from xml.etree import ElementTree

COMMAND = os.environ["HOLOGRAM_COMMAND"]
EXAMPLES = pathlib.Path(os.environ["HOLOGRAM_SOURCE"]) / "examples"
ATLAS = EXAMPLES / "atlas"

OK, WRONG, USAGE, FILE, NO_DEVICE, TIMEOUT, MEMORY, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

ENDLESS = """program endless(out y: f32[n]) lanes(n) {
  var s = 1.0
  loop {
    s = s * 0.5 + 1.0
    if s < 0.0 { break }
  }
  y[global_id.x] = s
}
"""


def npy(dtype, shape, data):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(*values):
    return npy("<f4", (len(values),), struct.pack(f"<{len(values)}f", *values))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hologram-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def hologram(self, *arguments, environment=None, code=OK):
        """Runs the command in an empty folder; it must end with the code given and not crash."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HOLOGRAM_")}
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env=clean | (environment or {}),
            capture_output=True,
            timeout=60,
        )
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.out}\n{done.err}")
        return done

    def refused(self, code, what, *arguments, remedy="", environment=None):
        """Ends with the code, names the culprit and the remedy in two lines, and leaves no file."""
        before = sorted(p.name for p in self.folder.iterdir())
        done = self.hologram(*arguments, environment=environment, code=code)
        lines = done.err.splitlines()
        self.assertTrue(lines[0].startswith("hologram: "), done.err)
        self.assertIn(what, done.err)
        self.assertTrue(lines[-1].startswith("  ") and lines[-1].rstrip().endswith((".", "?")), done.err)
        self.assertIn(remedy, lines[-1])
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), before)
        return done

    def picture(self, name="in.png", width=40, height=30):
        self.hologram("run", EXAMPLES / "scene.atlas", f"w={width}", f"h={height}", "-o", name)
        return self.folder / name


class Works(Case):
    def test_a_picture_goes_through_a_program(self):
        for name in ("a.png", "a.jpg", "a.npy", "a.npz", "a.safetensors"):
            self.picture(name)
            self.hologram("run", ATLAS / "bilateral.atlas", f"src={name}", "sigma_space=2", "-o", "b.png")
            self.assertTrue((self.folder / "b.png").read_bytes().startswith(b"\x89PNG"))

    def test_members_of_a_file_are_named(self):
        self.file("x.npy", floats(1, 2, 3))
        self.hologram("run", ATLAS / "saxpy.atlas", "x=x.npy", "y=zeros:3", "a=2", "-o", "s.npz:sum")
        done = self.hologram("run", ATLAS / "reduce.atlas", "x=s.npz:sum", "groups=1")
        self.assertEqual(done.out, "sums: f32[1], min 12, max 12, mean 12\n")

    def test_outputs_without_a_file_are_summed_up(self):
        self.file("x.npy", floats(0.1, 0.2, 0.9))
        done = self.hologram("run", ATLAS / "histogram.atlas", "src=x.npy", "bins=2", "--json")
        output = json.loads(done.out)["outputs"][0]
        self.assertEqual((output["name"], output["shape"], output["max"]), ("counts", [2], 2))

    def test_profile(self):
        done = self.hologram("run", ATLAS / "mandelbrot.atlas", "w=20", "h=10", "--profile")
        self.assertIn("1 launch", done.out)
        self.assertRegex(done.out, r"(?m)^kernel +launches.*GB/s +GFLOP/s\nmandelbrot +1 ")
        profile = json.loads(self.hologram("run", ATLAS / "histogram.atlas", "src=zeros:1000", "bins=2",
                                           "--profile", "--json").out)["profile"]
        self.assertEqual(profile["launches"], 1)
        self.assertGreater(profile["gigabytes_per_second"], 0)

    def test_trace(self):
        run = ["run", ATLAS / "mandelbrot.atlas", "w=20", "h=10", "-o", "m.png", "--trace"]
        self.hologram(*run, "t.json")
        launch = json.loads((self.folder / "t.json").read_text())["traceEvents"][-1]
        self.assertEqual((launch["name"], launch["ph"]), ("mandelbrot", "X"))
        self.assertGreater(launch["dur"], 0)
        self.refused(USAGE, "m.png", *run, "m.png")
        (self.folder / "m.png").unlink()
        self.refused(FILE, "missing/t.json", *run, "missing/t.json")  # and no m.png

    def test_sixteen_bits(self):
        self.hologram("run", ATLAS / "mandelbrot.atlas", "w=9", "h=5", "--bits", "16", "-o", "m.png")
        self.assertEqual((self.folder / "m.png").read_bytes()[24], 16)

    def test_linear_light(self):
        self.picture()
        run = ["run", ATLAS / "box_blur.atlas", "src=in.png", "radius=0", "-o"]
        self.hologram(*run, "same.png", "--linear")  # there and back again
        self.hologram(*run, "stored.npy")
        self.hologram(*run, "light.npy", "--linear")
        self.hologram(*run, "again.png")
        same, again = ((self.folder / n).read_bytes() for n in ("same.png", "again.png"))
        self.assertEqual(same, again)
        stored, light = (struct.unpack("<3f", (self.folder / n).read_bytes()[-12:])
                         for n in ("stored.npy", "light.npy"))
        for s, l in zip(stored, light):
            self.assertAlmostEqual(l, s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4, places=5)

    def test_the_same_file_on_one_thread_and_on_two_and_by_strips(self):
        self.picture("in.npy", 700, 500)  # 4 MiB
        run = ["run", ATLAS / "bilateral.atlas", "src=in.npy", "sigma_space=1", "-o"]
        self.hologram(*run, "one.png", environment={"HOLOGRAM_NUM_THREADS": "1"})
        self.hologram(*run, "two.png", environment={"HOLOGRAM_NUM_THREADS": "2"})
        strips = {"HOLOGRAM_CACHE_SIZE_MB": "6"}
        done = self.hologram(*run, "strips.png", "--profile", environment=strips)
        self.assertNotIn("in 1 launch", done.out)
        one, two, by_strips = ((self.folder / f"{n}.png").read_bytes() for n in ("one", "two", "strips"))
        self.assertEqual(one, two)
        self.assertEqual(one, by_strips)
        self.refused(WRONG, "HOLOGRAM_CACHE_SIZE_MB=1", *run, "out.png",
                     environment={"HOLOGRAM_CACHE_SIZE_MB": "1"})

    def test_show(self):
        for path in ATLAS.glob("*.atlas"):
            described = json.loads(self.hologram("show", path, "--json").out)
            self.assertEqual(described["program"], path.stem)
            for form in ("--source", "--optimized"):
                text = self.hologram("show", path, form).out
                again = json.loads(self.hologram("show", self.file("again.atlas", text), "--json").out)
                self.assertEqual(again["buffers"], described["buffers"])

    def test_show_in_dialects(self):
        for path in ATLAS.glob("*.atlas"):
            one = json.loads(self.hologram("show", path, "--json", "--dialect", "all").out)["dialects"]
            self.assertEqual(list(one), ["cuda", "opencl", "hip", "metal", "wgsl"])
            for name, text in one.items():
                self.assertIn(f"atlas_{path.stem}(", text)
                self.assertEqual(self.hologram("show", path, "--dialect", name).out, text)
            self.assertEqual(self.hologram("show", path, "--dialect", "all").out,
                             "\n".join(one.values()))
        kernel = self.hologram("show", "--expr", "exp(a) + b", "a:f32[9]", "b:f32[9]",
                               "--dialect", "opencl").out
        self.assertIn("__kernel", kernel)
        # What is dense lies inside its buffers, and no access looks.
        body = kernel[kernel.index("run_lane("):kernel.index("__kernel")]
        self.assertNotRegex(body, r"_n\d")
        doubles = self.file("d.atlas", "program d(inout x: f64[n]) lanes(n) { x[global_id.x] *= 2.0 }")
        self.assertIn("// Not in metal: program 'd' computes with f64, which Metal does not have.",
                      self.hologram("show", doubles, "--dialect", "all").out)
        self.refused(WRONG, "f64", "show", doubles, "--dialect", "metal")
        self.refused(WRONG, "f64", "show", doubles, "--dialect", "wgsl")
        self.refused(USAGE, "glsl", "show", doubles, "--dialect", "glsl")

    def test_devices(self):
        self.assertRegex(self.hologram("devices").out, r"✓ cpu ")
        found = json.loads(self.hologram("devices", "--json").out)
        names = [b["backend"] for b in found["backends"]]
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertGreaterEqual(set(names), {"cuda", "rocm", "metal", "opencl", "webgpu", "cpu", "null"})
        for backend in found["backends"]:
            self.assertTrue(backend["devices"] or backend["reason"], backend)

    def test_devices_tells_libraries(self):
        found = json.loads(self.hologram("devices", "--json").out)["libraries"]
        self.assertEqual([library["name"] for library in found], ["cuBLASLt", "cuDNN", "hipBLASLt", "rocBLAS", "oneDNN", "OpenBLAS"])
        for library in found:
            self.assertTrue(library.get("reason") or library["version"] and library["path"], library)
        missing = {"HOLOGRAM_ONEDNN_LIBRARY": "libnone.so.2", "HOLOGRAM_OPENBLAS_LIBRARY": "libnone.so.0"}
        text = self.hologram("devices", environment=missing).out
        self.assertIn("oneDNN   not found (libnone.so.2: ", text)
        self.assertIn("OpenBLAS not found (libnone.so.0: ", text)
        self.assertIn("CBLAS ", self.hologram("devices", environment={"HOLOGRAM_CBLAS": "libnone.so"}).out)

    def test_the_example_in_the_help_runs(self):
        text = self.hologram("help", "atlas").out
        program = re.search(r"(  // Makes.*?\n  }\n)", text, re.S).group(1)
        self.file("brighten.atlas", program)
        self.picture("photo.jpg")
        command = re.search(r"and run it: hologram (.*)", text).group(1)
        self.hologram(*command.split())
        self.assertTrue((self.folder / "bright.png").exists())

    def test_bench(self):
        done = self.hologram("bench", "--size", 999, "--size", 7, "--rounds", 1, "--json")
        rows = json.loads(done.out)["rows"]
        self.assertEqual(len(rows), 2 * len({row["work"] for row in rows}))
        for row in rows:
            self.assertGreater(row["seconds"], 0, row)
            self.assertGreater(row["speed"], 0, row)
        done = self.hologram("bench", "softmax", "--size", 100, "--rounds", 1)
        self.assertRegex(done.out, r"softmax +100 .* us .* GB/s")
        done = self.hologram("bench", "sotfmax", code=USAGE)
        self.assertIn("Did you mean softmax?", done.err)

    def test_bench_draws(self):
        picture = self.folder / "bars.svg"
        self.hologram("bench", "add", "softmax", "--size", 100, "--rounds", 1, "--svg", picture)
        root = ElementTree.parse(picture).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
        for part in ("add, 100 elements", "softmax, 100 elements"):
            self.assertIn(part, texts)
        self.assertTrue(any(re.fullmatch(r"[\d.e+-]+ GB/s tensors", t) for t in texts), texts)
        done = self.hologram("bench", "add", "--size", 7, "--rounds", 1, "--svg", "none/here.svg", code=FILE)
        self.assertIn("none/here.svg", done.err)
        self.assertEqual(list(self.folder.glob("**/*.tmp")), [])

    def test_from_which_size_on_a_device_pays(self):
        done = self.hologram("bench", "--crossover", environment={"HOLOGRAM_BACKEND": "cpu"}, code=USAGE)
        self.assertIn("HOLOGRAM_BACKEND", done.err)
        backends = json.loads(self.hologram("devices", "--json").out)["backends"]
        if not any(b["backend"] == "opencl" and b["devices"] for b in backends):
            self.skipTest("there is no device but the CPU")
        device = {"HOLOGRAM_BACKEND": "opencl"}
        sizes = ("--size", 1000, "--size", 10, "--rounds", 1)
        picture = self.folder / "crossover.svg"
        done = self.hologram("bench", "add", "--crossover", *sizes, "--json", "--svg", picture, environment=device)
        (work,) = json.loads(done.out)["crossover"]
        self.assertEqual([s["elements"] for s in work["sizes"]], [10, 1000])
        last = work["sizes"][-1]
        self.assertEqual(work["pays_from"] is not None, last["device_seconds"] < last["cpu_seconds"])
        self.assertIn("opencl with transfers", picture.read_text())
        done = self.hologram("bench", "add", "--crossover", *sizes, environment=device)
        self.assertRegex(done.out, r"add +(pays from about|does not pay up to 1000)")

    def test_help_on_everything(self):
        overview = self.hologram("help").out
        for topic in re.search(r"one of: (.*)", overview).group(1).split(", "):
            self.assertGreater(len(self.hologram("help", topic).out), 200)
        for command in ("run", "show", "devices", "estimate"):
            self.assertIn("--json", self.hologram(command, "--help").out)
        self.assertRegex(self.hologram("--version").out, r"^hologram \d+\.\d+\.\d+\n$")

    def test_the_commands_in_the_examples_run(self):
        self.picture("photo.jpg")
        self.file("x.npy", floats(1, 2))
        self.file("y.npy", floats(1, 2))
        self.file("data.npy", floats(1, 2, 3))
        matrix = npy("<f4", (2, 2), struct.pack("<4f", 1, 2, 3, 4))
        self.file("a.npy", matrix)
        self.file("b.npy", matrix)
        (self.folder / "examples").symlink_to(EXAMPLES)
        for path in [*ATLAS.glob("*.atlas"), EXAMPLES / "scene.atlas"]:
            commands = re.findall(r"^//   hologram (.*)", path.read_text(), re.M)
            self.assertTrue(commands, path)
            for command in commands:
                small = re.sub(r"\bw=\d+ h=\d+", "w=24 h=16", command)
                self.hologram(*re.sub(r"samples=\d+", "samples=1", small).split())


class BadCommandLines(Case):
    def test_words(self):
        self.refused(USAGE, "dvices", "dvices", remedy="Did you mean devices?")
        self.refused(USAGE, "file", "run")
        self.refused(USAGE, "--profil", "run", "x.atlas", "--profil", remedy="--profile")
        self.refused(USAGE, "many", "show", ATLAS / "saxpy.atlas", "many")
        self.refused(USAGE, "runn", "help", "runn", remedy="Did you mean run?")

    def test_arguments(self):
        program = ATLAS / "bilateral.atlas"
        self.picture()
        self.refused(USAGE, "needs 'src'", "run", program, "-o", "o.png", remedy="src=FILE")
        self.refused(USAGE, "'sigma_spaec'", "run", program, "src=in.png", "sigma_spaec=1", "-o", "o.png",
                     remedy="Did you mean sigma_space?")
        self.refused(USAGE, "'in.png' is not of the form", "run", program, "in.png", "-o", "o.png")
        self.refused(USAGE, "'src' is given twice", "run", program, "src=in.png", "src=in.png", "-o", "o.png")
        self.refused(USAGE, "'wide'", "run", program, "src=in.png", "sigma_space=wide", "-o", "o.png",
                     remedy="sigma_space")
        self.refused(USAGE, "'h', 'w'", "run", ATLAS / "mandelbrot.atlas", "-o", "o.png", remedy="w=NUMBER")
        self.refused(WRONG, "sigma_space", "run", program, "src=in.png", "sigma_space=-1", "-o", "o.png")
        self.refused(WRONG, "rounds", "run", ATLAS / "mandelbrot.atlas", "w=9", "h=9", "rounds=1.5")

    def test_outputs(self):
        run = ["run", ATLAS / "mandelbrot.atlas", "w=9", "h=5"]
        self.refused(FILE, "missing/o.png", *run, "-o", "missing/o.png", remedy="folder")
        (self.folder / "folder.png").mkdir()
        self.refused(FILE, "folder.png", *run, "-o", "folder.png")
        self.refused(WRONG, "o.bmp", *run, "-o", "o.bmp", remedy=".png")
        self.refused(WRONG, "bits", *run, "-o", "o.png", "--bits", "12")
        self.refused(USAGE, "pict", *run, "--shape", "pict=3")
        self.refused(USAGE, "--grid", *run, "--grid", "1,2,3,4")
        self.refused(USAGE, "two files", *run, "-o", "a.png", "-o", "b.png")

    def test_a_failed_run_leaves_the_old_output(self):
        old = self.file("o.png", "old")
        self.refused(WRONG, "sigma_space", "run", ATLAS / "bilateral.atlas", f"src={self.picture()}",
                     "sigma_space=0", "-o", "o.png")
        self.assertEqual(pathlib.Path(old).read_text(), "old")

    def test_several_outputs_appear_together_or_not_at_all(self):
        program = self.file("two.atlas", """program two(out a: f32[n], out b: f32[n]) lanes(n) {
  a[global_id.x] = 1.0
  b[global_id.x] = 2.0
}
""")
        self.refused(FILE, "missing/b.npy", "run", program, "n=4", "-o", "a=a.npy", "-o", "b=missing/b.npy")
        self.refused(USAGE, "which output", "run", program, "n=4", "-o", "a.npy", remedy="NAME=FILE")
        self.hologram("run", program, "n=4", "-o", "a=ab.npz:a", "-o", "b=ab.npz:b")
        self.hologram("run", program, "n=4", "-o", "a=a.npy", "-o", "b=b.npy")
        self.assertTrue((self.folder / "a.npy").exists() and (self.folder / "b.npy").exists())

    def test_environment(self):
        run = ["run", ATLAS / "mandelbrot.atlas", "w=9", "h=5", "-o", "o.png"]
        for variable, value in (("BACKEND", "cudaa"), ("NUM_THREADS", "two"), ("TIMEOUT_MS", "-1"),
                                ("CHECK", "maybe"), ("CPU_TARGET", "mmx"), ("DEVICE_ID", "x"), ("STRICT", "2"), ("LOG_LEVEL", "loud")):
            code = USAGE
            self.refused(code, value, *run, environment={f"HOLOGRAM_{variable}": value})
        self.refused(NO_DEVICE, "CUDA backend not available: ", *run, environment={"HOLOGRAM_BACKEND": "cuda"}, remedy="devices")
        self.refused(NO_DEVICE, "7", *run, environment={"HOLOGRAM_DEVICE_ID": "7"}, remedy="devices")
        self.hologram("devices", environment={"HOLOGRAM_BACKEND": "cuda"})

    def test_a_full_standard_output(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([COMMAND, "help"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, FILE, done.stderr)
        self.assertIn(b"standard output", done.stderr)

    def test_errors_as_json(self):
        done = self.hologram("run", "none.atlas", "--json", code=FILE)
        error = json.loads(done.err)["error"]
        self.assertEqual((error["kind"], error["exit_code"]), ("IoError", FILE))
        self.assertIn("none.atlas", error["what"])
        self.assertTrue(error["remedy"])


class BadFiles(Case):
    def test_cut_short(self):
        for name in ("in.png", "in.jpg", "in.npy", "in.npz", "in.safetensors"):
            whole = self.picture(name).read_bytes()
            for length in (0, 1, 7, 40, len(whole) // 2, len(whole) - 3):
                self.file(name, whole[:length])
                with self.subTest(name=name, length=length):
                    self.refused(FILE, name, "run", ATLAS / "sobel.atlas", f"src={name}", "-o", "o.png")

    def test_random_bytes(self):
        chance = random.Random(1)
        for name in ("in.png", "in.jpg", "in.npy", "in.npz", "in.safetensors", "in.atlas"):
            noise = bytes(chance.randrange(256) for _ in range(3000))
            self.file(name, noise)
            if name == "in.atlas":
                self.refused(WRONG, name, "run", name)
            else:
                self.refused(FILE, name, "run", ATLAS / "sobel.atlas", f"src={name}", "-o", "o.png")

    def test_flipped_bytes_never_crash(self):
        chance = random.Random(2)
        for name in ("in.png", "in.jpg", "in.npy", "in.npz", "in.safetensors"):
            whole = bytearray(self.picture(name, 12, 8).read_bytes())
            for _ in range(12):
                damaged = bytearray(whole)
                for _ in range(3):
                    damaged[chance.randrange(min(len(damaged), 400))] = chance.randrange(256)
                self.file(name, bytes(damaged))
                done = subprocess.run([COMMAND, "run", ATLAS / "sobel.atlas", f"src={name}"],
                                      cwd=self.folder, capture_output=True, timeout=60)
                self.assertIn(done.returncode, (OK, WRONG, FILE, MEMORY), (name, done.stderr))

    def test_not_there(self):
        self.refused(FILE, "none.png", "run", ATLAS / "sobel.atlas", "src=none.png", "-o", "o.png")
        self.refused(FILE, "none.atlas", "run", "none.atlas")
        self.refused(FILE, ".", "show", ".")

    def test_types_and_ranks(self):
        run = ["run", ATLAS / "bilateral.atlas", "-o", "o.png"]
        self.file("wide.npy", npy("<f8", (1, 1, 3), bytes(24)))
        done = self.refused(WRONG, "wide.npy", *run, "src=wide.npy", remedy="f32")
        self.assertIn("f64", done.err)
        self.file("flat.npy", npy("<f4", (2, 3), bytes(24)))
        self.refused(WRONG, "flat.npy", *run, "src=flat.npy", remedy="3 axes")
        self.file("five.npy", npy("<f4", (1, 1, 5), bytes(20)))
        self.refused(WRONG, "c >= 1 && c <= 4", *run[:2], "src=five.npy", "-o", "o.npy")
        self.file("x.npy", floats(1, 2))
        self.file("y.npy", floats(1, 2, 3))
        self.refused(WRONG, "'n'", "run", ATLAS / "saxpy.atlas", "x=x.npy", "y=y.npy", "-o", "o.npy")


class BadPrograms(Case):
    def refused_program(self, text, what, line):
        self.file("bad.atlas", text)
        done = self.refused(WRONG, what, "run", "bad.atlas", "n=4", "-o", "o.npy")
        self.assertIn(f"bad.atlas:{line}", done.err)

    def test_mistakes(self):
        self.refused_program("program p(out y: f32[n]) lanes(n) {\n  y[global_id.x] = sqr(2.0)\n}\n", "sqr", 2)
        self.refused_program("program p(out y: f32[n]) lanes(n) {\n  y[global_id.x] = 1 +\n}\n", "}", 3)
        self.refused_program("program p(out y: f32[n]) lanes(n) {\n  y[0] = global_id.x\n}\n", "f32", 2)

    def test_barrier_under_divergence(self):
        self.refused_program("""program p(out y: f32[n]) workgroup(64) lanes(n) {
  if lane_id.x < 7 {
    barrier()
  }
  y[global_id.x] = 1.0
}
""", "barrier", 3)

    def test_an_index_outside_reads_zero_and_writes_nothing(self):
        self.file("outside.atlas", """program outside(in x: f32[n], out y: f32[n]) lanes(n) {
  i = global_id.x
  y[i] = x[i + 1000000] + x[i - 1000000] + 5.0
  y[i + n] = 9.0
  y[i - 2000000000] = 9.0
}
""")
        self.file("x.npy", floats(*range(300)))
        done = self.hologram("run", "outside.atlas", "x=x.npy")
        self.assertIn("min 5, max 5, mean 5", done.out)

    def test_every_beginning_of_a_program(self):
        text = (ATLAS / "matmul.atlas").read_text()
        for length in range(0, len(text.rstrip()), 29):
            self.file("cut.atlas", text[:length])
            self.refused(WRONG, "cut.atlas", "show", "cut.atlas")

    def test_an_endless_loop_ends_in_time(self):
        self.file("endless.atlas", ENDLESS)
        start = time.monotonic()
        self.refused(TIMEOUT, "500 ms", "run", "endless.atlas", "n=100000", "-o", "o.npy",
                     environment={"HOLOGRAM_TIMEOUT_MS": "500"}, remedy="HOLOGRAM_TIMEOUT_MS")
        # Within 1 s where nothing else runs; tests run beside others.
        self.assertLess(time.monotonic() - start, 3)

    def test_ctrl_c(self):
        self.file("endless.atlas", ENDLESS)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([COMMAND, "run", "endless.atlas", "n=100000", "-o", "o.npy"],
                                       cwd=self.folder, stderr=subprocess.PIPE)
            # The temporary file tells that the work is about to begin.
            deadline = time.monotonic() + 20
            while len(list(self.folder.iterdir())) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            process.send_signal(number)
            error = process.communicate(timeout=20)[1].decode()
            self.assertEqual(process.returncode, 128 + number, error)
            self.assertEqual([p.name for p in self.folder.iterdir()], ["endless.atlas"])

    def test_progress_is_drawn_on_a_terminal_only(self):
        self.file("endless.atlas", ENDLESS)
        try:
            terminal, end = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal is to be had: {error}")
        process = subprocess.Popen([COMMAND, "run", "endless.atlas", "n=100000"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=end)
        os.close(end)
        shown = b""
        deadline = time.monotonic() + 20
        while b"%" not in shown and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 4096)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=20)[0], b"")
        os.close(terminal)
        self.assertIn("endless ─", shown.decode())
        self.assertEqual(process.returncode, INTERRUPTED)
        self.refused(TIMEOUT, "700 ms", "run", "endless.atlas", "n=100000",
                     environment={"HOLOGRAM_TIMEOUT_MS": "700"})


if __name__ == "__main__":
    unittest.main()
