#!/usr/bin/env python3
"""docs/reference is what the headers and stubs say, and tells of every public name.

Needs HOLOGRAM_SOURCE, the folder of the sources.
"""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["HOLOGRAM_SOURCE"])
REFERENCE = SOURCE / "docs" / "reference"


def check(root):
    return subprocess.run([sys.executable, root / "scripts" / "make_reference.py", "--check"],
                          capture_output=True, text=True, timeout=120)


def headings(page):
    """The names that sections of a page are about."""
    return set(re.findall(r"`([^`]+)`", " ".join(re.findall(r"^## (.*)$", page.read_text(), re.M))))


class Reference(unittest.TestCase):
    def test_it_is_fresh(self):
        done = check(SOURCE)
        self.assertEqual(done.returncode, 0, f"run scripts/generate: {done.stdout}{done.stderr}")

    def test_what_is_stale_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for part in ("include", "docs/reference", "python/hologram"):
                shutil.copytree(SOURCE / part, root / part, ignore=shutil.ignore_patterns("*.so"))
            (root / "scripts").mkdir()
            shutil.copy(SOURCE / "scripts" / "make_reference.py", root / "scripts")
            self.assertEqual(check(root).returncode, 0)
            header = root / "include" / "hologram" / "sets.hpp"
            header.write_text(header.read_text().replace("NaN is none.", "NaN is one."))
            stubs = root / "python" / "hologram" / "random.pyi"
            stubs.write_text(stubs.read_text().replace("def seed(", "def sow("))
            (root / "docs" / "reference" / "cpp" / "gone.md").write_text("# Gone\n")
            done = check(root)
            self.assertEqual(done.returncode, 1)
            for page in ("cpp/sets.md", "python/hologram.random.md", "README.md", "cpp/gone.md (nothing"):
                self.assertIn(page, done.stdout)

    def test_every_exported_name_of_the_headers_is_there(self):
        everything = "\n".join(page.read_text() for page in (REFERENCE / "cpp").glob("*.md"))
        blocks = "\n".join(re.findall(r"^```cpp\n(.*?)^```$", everything, re.M | re.S))
        seen = 0
        for header in (SOURCE / "include" / "hologram").rglob("*.hpp"):
            text = header.read_text()
            names = re.findall(r"^(?:class|struct) HOLOGRAM_API (\w+)", text, re.M)
            names += re.findall(r"^HOLOGRAM_API [^;{}()]*?(\w+)\(", text, re.M)
            for name in names:
                self.assertRegex(blocks, rf"\b{name}\b", header)
            seen += len(names)
        self.assertGreater(seen, 300)

    def test_nothing_private_is_there(self):
        for page in (REFERENCE / "cpp").glob("*.md"):
            self.assertNotRegex(page.read_text(), r"(?m)^ ?private:|HOLOGRAM_API")

    def test_every_public_name_of_the_package_is_there(self):
        seen = 0
        for stub, page in (("__init__", "hologram"), ("random", "hologram.random"),
                           ("linalg", "hologram.linalg"), ("nn/__init__", "hologram.nn")):
            tree = ast.parse((SOURCE / "python" / "hologram" / f"{stub}.pyi").read_text())
            names = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
            names = {n for n in names if not n.startswith("_")}
            self.assertLessEqual(names, headings(REFERENCE / "python" / f"{page}.md"))
            seen += len(names)
        self.assertGreater(seen, 300)
        for name in ("Linear", "MultiheadAttention", "Sequential", "value_and_grad"):
            self.assertIn(name, headings(REFERENCE / "python" / "hologram.nn.md"))
        self.assertLessEqual({"Adam", "AdamW", "SGD"}, headings(REFERENCE / "python" / "hologram.optim.md"))

    def test_the_index_leads_to_every_page_and_links_lead_somewhere(self):
        index = REFERENCE / "README.md"
        linked = set(re.findall(r"\]\(((?:cpp|python)/[^)]+)\)", index.read_text()))
        pages = {p.relative_to(REFERENCE).as_posix() for p in REFERENCE.glob("*/*.md")}
        self.assertEqual(linked, pages)
        for page in REFERENCE.rglob("*.md"):
            for target in re.findall(r"\]\((\.\.?/[^)#]+)\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page}: {target}")


if __name__ == "__main__":
    unittest.main()
