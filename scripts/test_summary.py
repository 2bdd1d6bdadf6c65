#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads ctest's LastTest.log files: prints every skip with its reason, then 'N passed, N failed, N skipped'.

A doctest program counts with its test cases, any other test as one. A check that was skipped prints a line 'SKIP: reason'; the test
case it stands in counts as skipped and never as passed. Exits 1 when something failed, nothing ran, or a skip is in no line of
--expected (a file of regular expressions, searched for in 'test: reason'; '#' starts a comment).
"""
import argparse
import re
import sys

CASES = re.compile(r"\[doctest\] test cases:\s+\d+ \|\s+(\d+) passed \|\s+(\d+) failed \|\s+\d+ skipped")
SKIPPED_CASES = re.compile(r"^\[skips\] test cases: (\d+)$", re.M)
REASON = re.compile(r"SKIP: (.*)$", re.M)
# what a test that ran ends with, in ctest's log; the command line before the output may hold the words, too
OUTPUT = re.compile(r"^Output:\n-+\n(.*?)^<end of output>$", re.M | re.S)


def blocks(text):
    """(name, output, passed) of every test in one log."""
    for part in re.split(r"(?=^\d+/\d+ Testing: )", text, flags=re.M):
        head = re.match(r"\d+/\d+ Testing: (\S+)", part)
        if head:
            output = OUTPUT.search(part)
            yield head.group(1), output.group(1) if output else part, re.search(r"^Test Passed\.$", part, re.M) is not None


def count(output, good):
    """(passed, failed, skipped) of one test."""
    reasons = bool(REASON.search(output))
    cases = CASES.findall(output)
    if not cases:
        return (0, 1, 0) if not good else (0, 0, 1) if reasons else (1, 0, 0)
    passed, failed = (sum(int(c[k]) for c in cases) for k in (0, 1))
    skipped = sum(int(n) for n in SKIPPED_CASES.findall(output))
    if reasons and not skipped:  # said outside doctest's MESSAGE
        skipped = min(1, passed)
    if not good and not failed:
        failed = 1  # died outside a test case
    return passed - skipped, failed, skipped


def read_expected(path):
    with open(path) as file:
        lines = (line.split("#", 1)[0].strip() for line in file)
        return [re.compile(line) for line in lines if line]


def main():
    parser = argparse.ArgumentParser(description="Sums up ctest's logs.")
    parser.add_argument("logs", nargs="+", help="LastTest.log files")
    parser.add_argument("--expected", help="file of regular expressions: skips that are no failure")
    args = parser.parse_args()
    expected = read_expected(args.expected) if args.expected else None

    total = [0, 0, 0]
    skips = {}
    for path in args.logs:
        with open(path, errors="replace") as file:
            for name, output, good in blocks(file.read()):
                total = [a + b for a, b in zip(total, count(output, good))]
                skips.update((f"{name}: {reason}", None) for reason in REASON.findall(output))
    unexpected = [skip for skip in skips if expected is not None and not any(e.search(skip) for e in expected)]
    for skip in skips:
        print(f"skipped in {skip}" + (" (unexpected)" if skip in unexpected else ""))
    if unexpected:
        print(f"{len(unexpected)} unexpected skips: what setup installs is missing, or {args.expected} lacks a line; --allow-skips lets them be")
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] or not total[0] or unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
