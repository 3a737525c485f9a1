#!/usr/bin/env python3
"""What `hologram devices` and `hologram estimate` print, and settings as the command shows them.

Needs HOLOGRAM_COMMAND, the built command, and HOLOGRAM_SOURCE, the folder of the sources.
"""

import copy
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ["HOLOGRAM_COMMAND"]
SOURCE = pathlib.Path(os.environ["HOLOGRAM_SOURCE"])
SCHEMA = json.loads((SOURCE / "docs" / "devices.schema.json").read_text())

OK, WRONG, USAGE, FILE, NO_DEVICE = 0, 1, 2, 3, 4

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
MODEL = {"hidden": 4096, "intermediate": 14336, "layers": 32, "vocab": 32000, "heads": 32,
         "kv-heads": 8, "max-seq": 4096, "dtype-bytes": 4}


def violations(schema, value, where="$"):
    """What about a value is not as the part of JSON Schema that the schema uses says."""
    found = []
    for keyword, rule in schema.items():
        if keyword in ("title", "description"):
            continue
        if keyword == "type":
            is_number = isinstance(value, int) and not isinstance(value, bool)
            good = is_number if rule == "integer" else isinstance(value, TYPES[rule])
        elif keyword == "enum":
            good = any(value == v and type(value) is type(v) for v in rule)
        elif keyword == "required":
            good = isinstance(value, dict) and set(rule) <= set(value)
        elif keyword == "oneOf":
            good = sum(not violations(inner, value, where) for inner in rule) == 1
        elif keyword == "minimum":
            good = isinstance(value, int) and value >= rule
        elif keyword in ("minLength", "minItems"):
            good = isinstance(value, (str, list)) and len(value) >= rule
        elif keyword == "uniqueItems":
            good = isinstance(value, list) and len(set(map(json.dumps, value))) == len(value)
        elif keyword == "additionalProperties":
            assert rule is False
            good = isinstance(value, dict) and set(value) <= set(schema["properties"])
        elif keyword == "properties":
            good = True
            for name, inner in rule.items():
                if isinstance(value, dict) and name in value:
                    found += violations(inner, value[name], f"{where}.{name}")
        elif keyword == "items":
            good = True
            for i, element in enumerate(value if isinstance(value, list) else []):
                found += violations(rule, element, f"{where}[{i}]")
        else:
            raise NotImplementedError(f"{where}: the keyword {keyword}")
        if not good:
            found.append(f"{where}: {keyword} {rule}")
    return found


def objects(value, path=()):
    """Every object in a value, with the way to it."""
    if isinstance(value, dict):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from objects(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


class Case(unittest.TestCase):
    def hologram(self, *arguments, environment=None, code=OK):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HOLOGRAM_")}
        done = subprocess.run([COMMAND, *map(str, arguments)], env=clean | (environment or {}),
                              capture_output=True, timeout=60)
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.out}\n{done.err}")
        return done


class Devices(Case):
    def test_the_output_is_as_the_schema_says(self):
        for environment in ({}, {"HOLOGRAM_BACKEND": "null"}, {"HOLOGRAM_BACKEND": "null,cpu"},
                            {"HOLOGRAM_ONEDNN_LIBRARY": "none.so"}, {"HOLOGRAM_DEVICE_ID": "1000"}):
            found = json.loads(self.hologram("devices", "--json", environment=environment).out)
            self.assertEqual(violations(SCHEMA, found), [])
        self.assertIsNone(found["chosen"]["backend"])

    def test_the_schema_notices_what_is_missing_added_or_of_another_type(self):
        good = json.loads(self.hologram("devices", "--json").out)
        may_be_missing = lambda way: way[-1] == "failure" or way == ("chosen", "index") or (
            way[0] == "backends" and way[-1] == "reason")
        tried = 0
        for path in objects(good):
            for key in at(good, path):
                if not may_be_missing((*path, key)):
                    bad = copy.deepcopy(good)
                    del at(bad, path)[key]
                    self.assertTrue(violations(SCHEMA, bad), (path, key))
                bad = copy.deepcopy(good)
                at(bad, path)[key] = 1.5
                self.assertTrue(violations(SCHEMA, bad), (path, key))
                tried += 1
            bad = copy.deepcopy(good)
            at(bad, path)["more"] = 1
            self.assertTrue(violations(SCHEMA, bad), path)
        self.assertGreater(tried, 40)

    def test_without_a_driver_of_opencl_the_reason_is_told(self):
        with tempfile.TemporaryDirectory() as nothing:
            vendors = {"OCL_ICD_VENDORS": nothing}
            found = json.loads(self.hologram("devices", "--json", environment=vendors).out)
            (opencl,) = (b for b in found["backends"] if b["backend"] == "opencl")
            self.assertEqual(opencl["devices"], [])
            self.assertRegex(opencl["reason"], "no OpenCL loader|no driver is installed")
            done = self.hologram("run", SOURCE / "examples" / "atlas" / "mandelbrot.atlas", "w=8", "h=8",
                                 environment=vendors | {"HOLOGRAM_BACKEND": "opencl"}, code=NO_DEVICE)
            self.assertIn("OpenCL backend not available: " + opencl["reason"], done.err)

    def test_a_software_device_is_chosen_only_by_name(self):
        found = json.loads(self.hologram("devices", "--json").out)
        for backend in found["backends"]:
            if backend["devices"] and all(d["software"] for d in backend["devices"]):
                self.assertNotEqual(found["chosen"]["backend"], backend["backend"])
                name = {"HOLOGRAM_BACKEND": backend["backend"]}
                chosen = json.loads(self.hologram("devices", "--json", environment=name).out)["chosen"]
                self.assertEqual(chosen["backend"], backend["backend"])

    def test_the_choice_is_told(self):
        chosen = lambda backend: json.loads(self.hologram(
            "devices", "--json", environment={"HOLOGRAM_BACKEND": backend}).out)["chosen"]
        self.assertEqual(chosen("null")["backend"], "null")
        self.assertEqual(chosen("null,cpu")["backend"], "null")
        self.assertEqual(chosen("cpu,null")["backend"], "cpu")


class Estimate(Case):
    def estimate(self, *more, code=OK, environment=None, **changes):
        sizes = MODEL | {k.replace("_", "-"): v for k, v in changes.items()}
        arguments = [f"--{k}={v}" for k, v in sizes.items() if v is not None]
        return self.hologram("estimate", *arguments, *more, code=code, environment=environment)

    def test_the_numbers(self):
        found = json.loads(self.estimate("--json").out)
        self.assertEqual(
            [found[k] for k in ("weights", "kv_cache", "activations", "total")],
            [28_966_928_384, 1_073_741_824, 262_144, 30_040_932_352])
        for device in found["devices"]:
            self.assertEqual(device["fits"], device["free_memory"] >= found["total"])
        table = self.estimate().out
        for text in ("28.0 GiB", "30040932352 bytes", "kv cache", "256.0 KiB"):
            self.assertIn(text, table)

    def test_what_may_be_left_out(self):
        found = json.loads(self.estimate("--json", kv_heads=None, dtype_bytes=None).out)
        self.assertEqual(found, json.loads(self.estimate("--json", kv_heads=32).out) | {
            "devices": found["devices"], "chosen": found["chosen"]})
        self.assertIn("--hidden", self.estimate(hidden=None, code=USAGE).err)

    def test_what_fits(self):
        small = json.loads(self.estimate("--json", hidden=32, intermediate=64, layers=1, vocab=99).out)
        self.assertTrue(all(d["fits"] for d in small["devices"]))
        self.assertIsNotNone(small["chosen"]["backend"])
        null = {"HOLOGRAM_BACKEND": "null"}
        self.assertEqual(json.loads(self.estimate("--json", environment=null).out)["chosen"]["backend"], "null")
        huge = json.loads(self.estimate("--json", layers=2**30).out)
        self.assertIsNone(huge["chosen"]["backend"])
        self.assertIn(f"{huge['total']} bytes are needed", huge["chosen"]["why"])
        self.assertIn("It fits nowhere", self.estimate(layers=2**30).out)

    def test_what_is_no_model(self):
        self.assertIn("heads=33", self.estimate(heads=33, kv_heads=33, code=WRONG).err)
        self.assertIn("layers=0", self.estimate(layers=0, code=WRONG).err)
        self.assertIn("2^64", self.estimate(layers=2**62, code=WRONG).err)
        self.assertIn("vocab", self.estimate(vocab="many", code=USAGE).err)


class Settings(Case):
    def test_the_file_and_the_variables(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "hologram.toml"
            path.write_text('check = false\nbackend_type = "null"\n')
            file = {"HOLOGRAM_CONFIG": str(path)}
            chosen = lambda environment: json.loads(
                self.hologram("devices", "--json", environment=environment).out)["chosen"]["backend"]
            self.assertEqual(chosen(file), "null")
            self.assertEqual(chosen(file | {"HOLOGRAM_BACKEND": "cpu"}), "cpu")
            path.write_text('check = false\nbackend = "null"\n')
            done = self.hologram("devices", environment=file, code=USAGE)
            self.assertIn("line 2: there is no setting 'backend'", done.err)
            path.unlink()
            self.assertIn(str(path), self.hologram("devices", environment=file, code=FILE).err)

    def test_what_is_skipped_is_a_warning_and_strict_an_error(self):
        run = ["run", SOURCE / "examples" / "atlas" / "mandelbrot.atlas", "w=8", "h=8"]
        # One of the two is on no machine.
        both = {"HOLOGRAM_BACKEND": "metal,cuda,cpu"}
        self.assertIn("hologram: warning: ", self.hologram(*run, environment=both).err)
        quiet = both | {"HOLOGRAM_LOG_LEVEL": "error"}
        self.assertEqual(self.hologram(*run, environment=quiet).err, "")
        self.assertEqual(self.hologram(*run, "--json", environment=both).err, "")
        talkative = self.hologram(*run, environment={"HOLOGRAM_LOG_LEVEL": "info"})
        self.assertIn("is the first of all backends", talkative.err)
        self.assertNotIn("warning", talkative.err)
        self.hologram(*run, environment=both | {"HOLOGRAM_STRICT": "1"}, code=NO_DEVICE)

    def test_the_help_lists_every_variable(self):
        text = self.hologram("help", "environment").out
        for row in (SOURCE / "docs" / "configuration.md").read_text().splitlines():
            if row.startswith("| `"):
                self.assertIn(f"  {row.split('`')[3]}\n", text)
        self.assertLess(max(map(len, text.splitlines())), 121)


if __name__ == "__main__":
    unittest.main()
