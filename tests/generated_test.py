#!/usr/bin/env python3
"""generated_test.py GENERATOR ROOT: what scripts/generate wrote is what the generator says now."""

import pathlib
import subprocess
import sys

FILES = {
    "header": "include/hologram/elementwise.hpp",
    "source": "src/tensor/elementwise.cpp",
    "docs": "docs/operations.md",
}


def main():
    generator, root = sys.argv[1], pathlib.Path(sys.argv[2])
    stale = []
    for what, name in FILES.items():
        text = subprocess.run([generator, what], check=True, capture_output=True).stdout
        if text != (root / name).read_bytes():
            stale.append(name)
    if stale:
        print(f"run scripts/generate: {', '.join(stale)} not up to date")
    return 1 if stale else 0


sys.exit(main())
