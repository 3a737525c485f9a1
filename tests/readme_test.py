#!/usr/bin/env python3
"""What the README shows is what is there.

Needs HOLOGRAM_COMMAND, the built command, and HOLOGRAM_SOURCE, the folder of the sources.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["HOLOGRAM_SOURCE"])
README = (SOURCE / "README.md").read_text()
LARGEST_PICTURE = 150_000


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


class Readme(unittest.TestCase):
    def test_the_cpp_programs_are_examples(self):
        self.assertEqual(blocks("cpp"), [(SOURCE / "examples" / name).read_text()
                                         for name in ("02_tensors.cpp", "05_training.cpp", "01_saxpy.cpp")])

    def test_every_cpp_example_is_built_and_linked_to(self):
        tests = (SOURCE / "tests" / "CMakeLists.txt").read_text()
        examples = list((SOURCE / "examples").glob("*.cpp"))
        self.assertGreaterEqual(len(examples), 4)
        for path in examples:
            self.assertRegex(tests, rf"example\({path.stem}\s")
            self.assertIn(f"(examples/{path.name})", README)

    def test_the_atlas_programs_verify(self):
        self.assertTrue(blocks("atlas"))
        with tempfile.TemporaryDirectory() as folder:
            for text in blocks("atlas"):
                path = pathlib.Path(folder) / "program.atlas"
                path.write_text(text)
                subprocess.run([os.environ["HOLOGRAM_COMMAND"], "show", path], check=True,
                               stdout=subprocess.DEVNULL)

    def test_links_lead_somewhere(self):
        for target in re.findall(r"\]\(([^)#:]+)\)", README):
            self.assertTrue((SOURCE / target).exists(), target)

    def test_commands_name_files_that_are_there(self):
        for path in re.findall(r"\bexamples/[\w/]+\.atlas", README):
            self.assertTrue((SOURCE / path).exists(), path)

    def test_every_example_is_shown(self):
        for path in (SOURCE / "examples" / "atlas").glob("*.atlas"):
            self.assertIn(f"(examples/atlas/{path.name})", README)

    def test_pictures_are_small(self):
        for path in (SOURCE / "docs" / "images").iterdir():
            self.assertLess(path.stat().st_size, LARGEST_PICTURE, path)


if __name__ == "__main__":
    unittest.main()
