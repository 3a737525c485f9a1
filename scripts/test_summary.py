"""test_summary.py TESTS.XML LOG: what failed, why tests were skipped, and the closing line.

Reads what ctest wrote with --output-junit. The line 'N passed, N failed, N skipped' comes last,
alone on its line. Exit code 1 if a test failed or none ran.
"""

import collections
import os
import re
import sys
import xml.etree.ElementTree as tree


def skip_reason(output):
    """GoogleTest prints 'FILE:LINE: Skipped', then the reason, or both on one line."""
    match = re.search(r"Skipped\s*\n(.*?)\n*\[  SKIPPED \]", output, re.S)
    return " ".join(match.group(1).split()) if match and match.group(1).strip() else "no reason given"


def main():
    results, log = sys.argv[1:]
    if not os.path.exists(results):
        sys.stdout.write(open(log, encoding="utf-8", errors="replace").read())
        print("No test ran. The whole log:", log)
        return 1
    passed, failed, skipped = 0, [], collections.Counter()
    for case in tree.parse(results).getroot().iter("testcase"):
        status, output = case.get("status"), case.findtext("system-out") or ""
        skip = case.find("skipped")
        if status == "run" and case.find("failure") is None:
            passed += 1
        elif skip is not None and "SKIP" in (skip.get("message") or ""):
            skipped[skip_reason(output)] += 1
        elif status == "disabled":
            skipped["disabled"] += 1
        else:
            failed.append((case.get("name"), output.strip() or status))
    for name, output in failed:
        print(f"== {name}\n{output}\n")
    for name, _ in failed:
        print("failed:", name)
    for reason, count in skipped.most_common():
        print(f"skipped: {count}: {reason}")
    if failed:
        print("The whole log:", log)
    print(f"{passed} passed, {len(failed)} failed, {sum(skipped.values())} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
