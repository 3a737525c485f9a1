"""Every block of Python in docs/python and the README runs, and prints what stands there."""

import contextlib
import doctest
import io
import pathlib
import re

import pytest

import hologram as hg

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "python").glob("*.md")) + [ROOT / "README.md"]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


@pytest.fixture
def default_executor():
    """What a page makes the default one is so for that page only."""
    before = hg.ones(1).executor
    yield
    hg.set_default_executor(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, default_executor):
    if "import torch" in page.read_text():
        pytest.importorskip("torch", reason="PyTorch is not installed")
    names, printed = {}, None
    parser = doctest.DocTestParser()
    for number, match in enumerate(BLOCK.finditer(page.read_text())):
        kind, text = match.groups()
        if kind == "text":
            if printed is not None:
                assert printed == text
        elif text.startswith(">>>"):
            report = io.StringIO()
            test = parser.get_doctest(text, names, f"{page.name}, block {number}", str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, out=report.write, clear_globs=False)
            assert runner.failures == 0, report.getvalue()
            names = test.globs
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, str(page), "exec"), names)
            printed = out.getvalue()
            continue
        printed = None


def named(column):
    """The names in one column of the table, which "the same" takes from the first."""
    text = (ROOT / "docs" / "python" / "coming-from.md").read_text()
    for row in re.findall(r"^\| `.*\|$", text, re.M):
        cells = [cell.strip() for cell in row.split("|")]
        cell = cells[1] if cells[column] == "the same" else cells[column]
        for name in re.findall(r"`([^`]+)`", cell):
            name = name.split("(")[0]
            if re.fullmatch(r"[A-Za-z_][\w.]*", name) and not name.startswith(("x.", "scipy.")):
                yield name


@pytest.mark.parametrize("column, library", [(1, "hologram"), (2, "numpy"), (3, "torch")])
def test_the_names_of_the_table_are_there(column, library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    names = list(named(column))
    missing = []
    for name in names:
        # A class of its own is where its method is looked for.
        found = module.random if name.startswith("Generator.") else module
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None:
            missing.append(name)
    assert not missing and len(names) > 100


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_everything_has_a_docstring():
    for module in (hg, hg.random, hg.linalg, hg.nn, hg.optim):
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("_"):
                assert value.__doc__, name
    for name, value in vars(hg.Tensor).items():
        if callable(value) and not name.startswith("_"):
            assert value.__doc__, name
