"""What the package says of itself: versions that agree, extras, files of the sdist."""

import importlib.metadata
import pathlib
import re
import tomllib

import pytest

import hologram as hg

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTRAS = {
    "cuda12": {"nvidia-cuda-nvrtc-cu12", "nvidia-cublas-cu12", "nvidia-cudnn-cu12"},
    "cuda13": {"nvidia-cuda-nvrtc", "nvidia-cublas", "nvidia-cudnn-cu13"},
    "numpy": {"numpy", "ml_dtypes"},
    "torch": {"torch"},
}


def project():
    file = ROOT / "pyproject.toml"
    if not file.exists():
        pytest.skip("the tests do not lie in the tree of the sources")
    return tomllib.loads(file.read_text())


def name_of(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def test_versions_agree():
    version = project()["project"]["version"]
    assert hg.__version__ == version
    assert re.search(rf"project\(hologram\s+VERSION {re.escape(version)}\b", (ROOT / "CMakeLists.txt").read_text())


def test_extras():
    extras = project()["project"]["optional-dependencies"]
    assert {name: {name_of(r) for r in extra} for name, extra in extras.items()} == EXTRAS


def test_the_installed_wheel_has_them():
    try:
        found = importlib.metadata.metadata("hologram-runtime")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("hologram-runtime is not installed")
    if found["Version"] == "0":
        pytest.skip("the package runs from the tree, not from a wheel")
    assert found["Version"] == hg.__version__ and found["Requires-Python"] == ">=3.11"
    for extra, names in EXTRAS.items():
        wanted = [r for r in found.get_all("Requires-Dist") if re.search(rf"extra == .{extra}.", r)]
        assert {name_of(r) for r in wanted} == names
    always = {name_of(r) for r in found.get_all("Requires-Dist") if "extra ==" not in r}
    assert always == {"nanobind-backend", "scipy-openblas32"}


def test_the_sdist_takes_what_a_build_reads():
    included = project()["tool"]["scikit-build"]["sdist"]["include"]
    for part in ("include", "src", "cmake", "python", "CMakeLists.txt", "LICENSE"):
        assert part in included and (ROOT / part).exists()
