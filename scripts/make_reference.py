#!/usr/bin/env python3
"""make_reference.py [--check]: writes docs/reference, the reference of the C++ and Python API, out of the public
headers with their comments, and of the package's type stubs and docstrings. With --check nothing is written, and the
exit code is 1 if a page is not up to date. Needs nothing but Python.
"""

import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "reference"
WRITTEN = "*Written by `scripts/make_reference.py`, out of {source}.*"


# --- C++: a page for each header ---------------------------------------------------------------------------------

NAMES = re.compile(
    r"^(?:template\s*<[^\n]*>\s*)?(?:HOLOGRAM_API\s+|inline\s+|constexpr\s+)*"
    r"(?:enum class|enum|struct|class)\s+(?:HOLOGRAM_API\s+)?(\w+)"
    r"|^(?:using|concept)\s+(\w+)\s*="
    r"|^inline constexpr\s+[\w:]+\s+(\w+)"
    r"|^[^\s/#}][^;{}=]*?\b(operator\s*[^\s(]+|\w+)\s*\(",
    re.M,
)


def comment_text(lines):
    """What a comment says: paragraphs as they are, indented code as blocks."""
    out, code = [], []
    for line in [re.sub(r"^\s*// ?", "", line) for line in lines] + [""]:
        if line.startswith("  ") or (code and not line.strip()):
            code.append(line)
            continue
        if code:
            out += ["", "```cpp", *textwrap.dedent("\n".join(code)).strip("\n").split("\n"), "```", ""]
            code = []
        out.append(line)
    if code and any(code):
        out += ["", "```cpp", *textwrap.dedent("\n".join(code)).strip("\n").split("\n"), "```"]
    return "\n".join(out).strip("\n")


def without_private(code):
    """A class without what is private."""
    out, hidden = [], False
    for line in code:
        if re.match(r"^ ?private:", line):
            hidden = True
        elif re.match(r"^ ?(public|protected):", line) or re.match(r"^\};", line):
            hidden = False
        if not hidden:
            out.append(line)
    while len(out) > 1 and not out[-2].strip():
        del out[-2]
    return out


def names_of(code):
    """What a block of declarations declares, at its outermost level."""
    flat, depth = [], 0
    for line in code:
        text = re.sub(r"//.*", "", line)
        if depth == 0:
            flat.append(text)
        depth += text.count("{") - text.count("}")
    found = []
    for match in NAMES.finditer("\n".join(flat)):
        name = next(g for g in match.groups() if g)
        name = re.sub(r"\s+", "", name) if name.startswith("operator") else name
        if name not in found and name not in ("alignas", "requires", "static_assert"):
            found.append(name)
    return found


def blocks_of(text):
    """(namespace, lines) of each run of lines between empty ones, in namespaces."""
    spaces, lines, depth = [], [], 0
    for line in text.split("\n"):
        opened = re.match(r"^(?:inline )?namespace ([\w:]+) \{$", line)
        bare = re.sub(r'//.*|"(?:[^"\\]|\\.)*"', "", line)
        if depth == 0 and opened:
            spaces.append(opened[1])
            continue
        if depth == 0 and line.startswith("}  // namespace"):
            if lines:
                yield "::".join(spaces), lines
                lines = []
            spaces.pop()
            continue
        if depth == 0 and not line.strip():
            if lines:
                yield "::".join(spaces), lines
            lines = []
            continue
        if spaces and not (depth == 0 and line.startswith("#")):
            lines.append(line)
        depth += bare.count("{") - bare.count("}") + bare.count("(") - bare.count(")")


def header_page(path):
    name = path.relative_to(ROOT / "include").as_posix()
    lines = path.read_text().split("\n")
    intro = []
    while lines and lines[0].startswith("//"):
        intro.append(lines.pop(0))
    out = [f"# {name}", "", WRITTEN.format(source=f"[the header](../../../include/{name})"), ""]
    out += [comment_text(intro), ""]
    declared = []
    for space, block in blocks_of("\n".join(lines)):
        head = []
        while block and block[0].startswith("//"):
            head.append(block.pop(0))
        names = names_of(block) if block else []
        # Declarations for other headers' sake, and what is not for users.
        if not block or space.endswith("detail") or all(re.match(r"^(class|struct) \w+;$", b) for b in block):
            continue
        if names:
            declared += [n for n in names if n not in declared]
            out += [f"## {', '.join(f'`{n}`' for n in names[:6])}{' …' if len(names) > 6 else ''}", ""]
        if head:
            out += [comment_text(head), ""]
        code = [line.replace("HOLOGRAM_API ", "") for line in without_private(block)]
        out += ["```cpp", f"namespace {space}", "", *code, "```", ""]
    return "\n".join(out).rstrip("\n") + "\n", comment_text(intro), declared


# --- Python: a page for each module ------------------------------------------------------------------------------

MODULES = {
    "hologram": "hologram/__init__.pyi",
    "hologram.random": "hologram/random.pyi",
    "hologram.linalg": "hologram/linalg.pyi",
    "hologram.nn": "hologram/nn/__init__.pyi",
    "hologram.nn layers": "hologram/nn/_modules.py",
    "hologram.nn training": "hologram/nn/_training.py",
    "hologram.optim": "hologram/optim.py",
    "hologram.llm": "hologram/llm.py",
}
OPERATOR = re.compile(r"^__\w+__$")


def signature_of(node):
    """As it is written, without the types that say nothing."""
    text = ast.unparse(node.args).replace("builtins.bool", "bool")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{node.name}({text}){returns.replace('builtins.bool', 'bool')}"


def first_names(node):
    return [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []


def doc_of(node):
    doc = ast.get_docstring(node)
    return doc.strip() if doc else ""


def is_property(node):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def members_of(cls):
    out, operators = [], []
    for node in cls.body:
        if isinstance(node, ast.FunctionDef):
            if OPERATOR.match(node.name) and node.name not in ("__init__", "__call__"):
                operators.append(node.name)
            elif not node.name.startswith("_") or node.name == "__call__" or (node.name == "__init__" and node.args.args[1:]):
                if any(isinstance(d, ast.Attribute) for d in node.decorator_list):  # a setter
                    continue
                text = node.name if is_property(node) else signature_of(node)
                doc = doc_of(node)
                doc = "" if doc.startswith(("Initialize self.", "Call self", "__init__(")) else doc
                out.append((text, " ".join(doc.split())))
        for name in first_names(node):
            value = node.value
            if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "property":
                doc = [k.value.value for k in value.keywords if k.arg == "doc"]
                out.append((name, doc[0] if doc else ""))
    return out, operators


def class_lines(cls):
    bases = ", ".join(ast.unparse(b) for b in cls.bases)
    out = [f"## `{cls.name}`", "", f"```text\nclass {cls.name}{f'({bases})' if bases else ''}\n```", ""]
    if doc_of(cls):
        out += [doc_of(cls), ""]
    members, operators = members_of(cls)
    for text, doc in members:
        out.append(f"- `{text}`{': ' + doc if doc else ''}")
    if operators:
        out.append(f"- Python's {', '.join(f'`{o}`' for o in sorted(operators))}")
    return out + [""]


def function_lines(node):
    out = [f"## `{node.name}`", "", f"```text\n{signature_of(node)}\n```", ""]
    return out + ([doc_of(node), ""] if doc_of(node) else [])


def exported(tree):
    for node in tree.body:
        if first_names(node) == ["__all__"]:
            return {ast.literal_eval(e) for e in node.value.elts}
    return None


def module_lines(path):
    """The sections of a module, and the names that they tell of."""
    tree = ast.parse(path.read_text())
    wanted, out, names, values = exported(tree), [], [], []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            public = node.name in wanted if wanted is not None else not node.name.startswith("_")
            if public and node.name not in names:
                names.append(node.name)
                out += function_lines(node) if isinstance(node, ast.FunctionDef) else class_lines(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if not node.target.id.startswith("_") and ast.unparse(node.annotation) != "TypeAlias":
                values.append((node.target.id, ast.unparse(node.annotation)))
        elif wanted is not None and len(first_names(node)) == 1 and first_names(node)[0] in wanted:
            values.append((first_names(node)[0], ast.unparse(node.value)))
    if values:
        out += ["## Values", "", *[f"- `{name}`: `{text}`" for name, text in values], ""]
    return out, names + [name for name, _ in values]


def module_text(path):
    """What the docstring of a module's source says, if there is one."""
    source = path.with_suffix(".py")
    return doc_of(ast.parse(source.read_text())) if source.exists() else ""


def python_pages():
    """{module: (title, intro, sections, names)}, parts of one module together."""
    pages = {}
    for title, file in MODULES.items():
        module = title.split()[0]
        path = ROOT / "python" / file
        lines, names = module_lines(path)
        known = pages.setdefault(module, [module_text(path), [], []])
        known[1] += lines
        known[2] += names
    return pages


def indented_as_code(text):
    """A docstring's indented lines as a block."""
    return comment_text(text.split("\n")).replace("```cpp", "```text")


# --- All of it ---------------------------------------------------------------------------------------------------


def first_sentence(text):
    flat = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.:])\s|[.:]$", flat, maxsplit=1)[0].rstrip(".:")


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


def pages():
    index = ["# API reference", "", WRITTEN.format(source="the public headers, and the package's stubs and docstrings")]
    index += ["", "The guides say how things go together: [tensors](../tensors.md), [neural operations](../nn.md), "
              "[language models](../llm.md), [Python](../python/guide.md). Here stands each name with its shapes, dtypes "
              "and errors.", "", "## Python", ""]  # fmt: skip
    for module, (intro, lines, names) in python_pages().items():
        page = f"python/{module}.md"
        head = [f"# {module}", "", WRITTEN.format(source="the package's stubs and docstrings"), ""]
        if intro:
            head += [indented_as_code(intro), ""]
        yield page, "\n".join(head + lines).rstrip("\n") + "\n"
        index.append(f"- [{module}]({page}): {listed(names)}")
    index += ["", "## C++", ""]
    for path in sorted((ROOT / "include" / "hologram").rglob("*.hpp")):
        text, intro, declared = header_page(path)
        if not declared:  # it includes others, and that is all
            continue
        name = path.relative_to(ROOT / "include" / "hologram").as_posix()
        page = f"cpp/{name.replace('/', '-').removesuffix('.hpp')}.md"
        yield page, text
        index.append(f"- [{name}]({page}): {first_sentence(intro)}. {listed(declared)}")
    yield "README.md", "\n".join(index) + "\n"


def main():
    check, stale, written = "--check" in sys.argv, [], set()
    for name, text in pages():
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n")))
        file = OUT / name
        written.add(file)
        if not file.exists() or file.read_text() != text:
            stale.append(name)
            if not check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
    for file in sorted(set(OUT.rglob("*.md")) - written):
        stale.append(f"{file.relative_to(OUT)} (nothing is behind it)")
        if not check:
            file.unlink()
    if stale:
        print("not up to date:" if check else "written:", ", ".join(stale))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
