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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page):
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


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_everything_has_a_docstring():
    for module in (hg, hg.random, hg.linalg):
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("_"):
                assert value.__doc__, name
    for name, value in vars(hg.Tensor).items():
        if callable(value) and not name.startswith("_"):
            assert value.__doc__, name
