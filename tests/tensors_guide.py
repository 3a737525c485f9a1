#!/usr/bin/env python3
"""tensors_guide.py GUIDE.md OUT.cpp: the C++ blocks of a guide in docs/ as tests.

A line `expression;  // -> text` becomes a check of what the expression shows, one with `// error:`
of what it throws.
"""

import pathlib
import re
import sys

HEAD = """// Written by tests/tensors_guide.py.
#define GUIDE "docs/%s"
#include "hologram/embeddings.hpp"
#include "hologram/llm.hpp"
#include "tensors_guide.hpp"

using namespace hologram;
using namespace guide;
"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def line_of(line, number):
    check = re.match(r"^(\s*)(.*?);\s*// (->|error:) (.*)$", line)
    if not check:
        return line
    indent, expression, kind, text = check.groups()
    # Commas in an expression would part the macro's arguments.
    if kind == "->":
        return f"{indent}check({number}, ({expression}), {quoted(text)});"
    return f"{indent}check_error({number}, [&] {{ (void)({expression}); }}, {quoted(text)});"


def main():
    path = pathlib.Path(sys.argv[1])
    guide = path.read_text()
    name = path.stem.capitalize()
    out = [HEAD % path.name]
    count = 0
    inside = False
    for number, line in enumerate(guide.split("\n"), 1):
        if line == "```cpp":
            inside = True
            count += 1
            out.append(f"TEST({name}Guide, BlockOfLine{number}) {{")
        elif inside and line == "```":
            inside = False
            out.append("}\n")
        elif inside:
            out.append(line_of(line, number))
    pathlib.Path(sys.argv[2]).write_text("\n".join(out))


main()
