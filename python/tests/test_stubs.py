"""The type stubs follow from the package, and type checkers take them."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_stubs_are_fresh():
    tool = ROOT / "python" / "tools" / "make_stubs.py"
    made = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert made.returncode == 0, f"run python/tools/make_stubs.py: {made.stdout}{made.stderr}"


def test_mypy_takes_them(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import hologram as hg\n"
        "x = hg.asarray([1.0, 2.0])\n"
        "y: hg.Tensor = hg.sigmoid(x * 2 + 1).sum(axis=0)\n"
        "n: tuple[int, ...] = y.shape\n"
        "t: hg.Tensor = hg.linalg.trace(hg.eye(2)) + hg.random.normal((2,))\n"
        "hg.zeros(3, nonsense=1)\n"
    )
    made = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(program)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert made.stdout.count("error:") == 1 and 'argument "nonsense"' in made.stdout, made.stdout
