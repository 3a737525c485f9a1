"""test_summary.py TESTS.XML LOG: what failed, why tests were skipped, and the closing line.

Reads what ctest wrote with --output-junit. The line 'N passed, N failed, N skipped' comes last,
alone on its line. Exit code 1 if a test failed or none ran.
"""

import collections
import os
import re
import sys
import xml.etree.ElementTree as tree


def skip_reasons(output):
    """GoogleTest prints 'FILE:LINE: Skipped', then the reason, or both on one line."""
    reasons = re.findall(r"Skipped\s*\n(.*?)\n*\[  SKIPPED \]", output, re.S)
    return [" ".join(reason.split()) or "no reason given" for reason in reasons]


def cases_passed(output):
    """A test of ctest is one case of GoogleTest, or, under sanitizers, all of a file."""
    return int((re.findall(r"^\[  PASSED  \] (\d+) tests?\.", output, re.M) or [1])[-1])


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
            passed += cases_passed(output)
            skipped.update(skip_reasons(output))
        elif skip is not None and "SKIP" in (skip.get("message") or ""):
            skipped.update(skip_reasons(output) or ["no reason given"])
        elif status == "disabled":
            skipped["disabled"] += 1
        else:
            failed.append((case.get("name"), output.strip() or status))
    for reason, count in skipped.most_common():
        print(f"skipped: {count}: {reason}")
    for name, output in failed:
        print(f"== {name}\n{output}\n")
    for name, _ in failed:
        print("failed:", name)
    if failed:
        print("The whole log:", log)
    print(f"{passed} passed, {len(failed)} failed, {sum(skipped.values())} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
