#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads ctest's LastTest.log files: prints every skip with its reason, then 'N passed, N failed, N skipped'.

A doctest program counts with its test cases, any other test as one. A skipped check prints a line 'SKIP: reason'.
Exits 1 when something failed or nothing ran.
"""
import re
import sys

CASES = re.compile(r"\[doctest\] test cases:\s+\d+ \|\s+(\d+) passed \|\s+(\d+) failed \|\s+(\d+) skipped")


def blocks(text):
    """(name, output, passed) of every test in one log."""
    for part in re.split(r"\n-{10,}\n(?=\d+/\d+ Test|$)|(?=^\d+/\d+ Testing: )", text, flags=re.M):
        head = re.match(r"\d+/\d+ Testing: (\S+)", part)
        if head:
            yield head.group(1), part, re.search(r"^Test Passed\.$", part, re.M) is not None


def main():
    passed = failed = 0
    skips = []
    for path in sys.argv[1:]:
        with open(path, errors="replace") as file:
            for name, output, good in blocks(file.read()):
                cases = CASES.findall(output)
                passed += sum(int(c[0]) for c in cases) if cases else int(good)
                failed += sum(int(c[1]) for c in cases) if cases else int(not good)
                if cases and not good and not any(int(c[1]) for c in cases):
                    failed += 1  # died outside a test case
                skips += [(name, reason) for reason in re.findall(r"SKIP: (.*)$", output, re.M)]
    for name, reason in skips:
        print(f"skipped in {name}: {reason}")
    print(f"{passed} passed, {failed} failed, {len(skips)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
