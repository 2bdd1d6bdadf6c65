#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of free sizes, each compiled once without options, at many sizes beside ONNX Runtime.

    .deps/py/bin/python tests/dynamic/dynamic_test.py build/release [--device openvino/X64:0] [--all] [--fixed] [--largest N] [MODEL ...]

--fixed compiles each size by itself instead: what a device does with free sizes is judged by what it does with these.
Without --all a few sizes of each model, as the suite does; with it every size, and decoders for 200 tokens. MODEL: globs of names.
--largest leaves out sizes of more input elements, which slow devices need. Prints a table, and fails when a line of it is not ok but for
those of exceptions.txt. Each model has a process of its own: what crashes is told of its model alone.
"""
import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys

import cases
import exceptions

TOKENS = {False: 60, True: 200}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", nargs="*", default=["*"])
    parser.add_argument("--device", default="reference/REF:0")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--largest", type=int, default=1 << 40)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_intermixed_args()


def rows_of(case, args):
    """(size, error, status) of one model, from a process of its own."""
    words = [sys.executable, "-B", __file__, args.build, case.name, "--child", "--device", args.device, "--largest", args.largest]
    child = subprocess.Popen([*map(str, words), *(f"--{flag}" for flag in ("all", "fixed") if getattr(args, flag))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with child:
        for line in child.stdout:
            yield json.loads(line)
        said = child.stderr.read().strip().splitlines()
    if child.returncode:
        yield ["", None, f"ended with {child.returncode}: {said[-1] if said else 'silent'}"]


class Table:
    """Prints lines and counts them."""

    def __init__(self, device):
        self.excepted, self.ok, self.failed, self.known = exceptions.of(device), 0, 0, 0
        print(f"{'model':18} {'size':>20} {'error':>9}  status, on {device}")

    def add(self, case, size, error, status):
        good, (why, always) = status.split(";")[0] == "ok", self.excepted.get((case.name, size), ("", False))
        if why and (always or not good):
            status = f"known: {why}" if not good else "ok, though exceptions.txt has it"
            self.known, self.failed = self.known + (not good), self.failed + good
        elif not status.startswith("left out"):
            self.ok, self.failed = self.ok + good, self.failed + (not good)
        print(f"{case.name:18} {size:>20} {'-' if error is None else f'{error:.1e}':>9}  {status}", flush=True)


def main():
    args = arguments()
    chosen = [c for c in cases.CASES if (args.all or args.child or c.quick) and any(fnmatch.fnmatchcase(c.name, m) for m in args.models)]
    if not chosen:
        sys.exit(f"no model is called {' or '.join(args.models)}; there are {' '.join(c.name for c in cases.CASES)}")
    if args.child:
        import one_model
        one_model.main(chosen[0], args, TOKENS[args.all])
        return 0
    table = Table(args.device)
    for case in chosen:
        if not case.path.exists():
            where = "../shared/models/dynamic" if case.path.parent == cases.GIVEN else "build/models/dynamic; scripts/make_models.py makes it"
            print(f"SKIP: {case.path.name} is not in {where}")
            continue
        for row in rows_of(case, args):
            table.add(case, *row)
    print(f"{table.ok} ok, {table.failed} not, {table.known} known exceptions")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
