#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that nobody here has made, given as files: each compiled once without options, at several sizes beside ONNX Runtime.

    .deps/py/bin/python tests/dynamic/strangers.py build/release [--device D] [--speed] [--dim NAME=7,33] [--value NAME=16000] MODEL.onnx ...

Open sizes are tried in steps of a ladder (or those that --dim names); what ONNX Runtime itself refuses is no size of the model. Inputs are random
by a seed; --value sets an integer input. Without --device the package is compiled without options. Prints a line per model and size: error of the worst output
over its largest value, and with --speed the processor time of a run over that of ONNX Runtime, each with one thread, in turns. Fails when a line is not ok.
"""
import argparse
import itertools
import json
import math
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import judge

LADDER = (1, 2, 3, 7, 33, 64, 96, 224, 320, 512, 576, 1000)
LARGEST = 1 << 20  # elements of the inputs of one size
MOST = 5  # sizes of one model
TRIES = 48  # of its sizes, by ONNX Runtime
TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32, "bool": np.bool_, "uint8": np.uint8, "int8": np.int8}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--device")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--dim", action="append", default=[], type=pair)
    parser.add_argument("--value", action="append", default=[], type=pair)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_intermixed_args()


def pair(text):
    name, _, values = text.rpartition("=")
    return name, tuple(int(v) for v in values.split(","))


class Peer:
    """ONNX Runtime with one thread, and what it says of the inputs."""

    def __init__(self, model):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.inputs, self.names = self.session.get_inputs(), [o.name for o in self.session.get_outputs()]

    def __call__(self, inputs):
        return dict(zip(self.names, self.session.run(None, inputs)))


def open_dims(inputs):
    """{dim: is it a first one} of what is open, by name or by place."""
    found = {}
    for value in inputs:
        for place, dim in enumerate(value.shape):
            if not isinstance(dim, int):
                found.setdefault(dim or f"{value.name}.{place}", place == 0 and len(value.shape) > 1)
    return found


def shape_of(value, dims):
    return [d if isinstance(d, int) else dims[d or f"{value.name}.{k}"] for k, d in enumerate(value.shape)]


def elements(value, dims):
    return math.prod(shape_of(value, dims))


def array_of(value, dims, values, rng):
    shape, kind = shape_of(value, dims), TYPES[value.type[7:-1]]
    if value.name in values:
        return np.full(shape, values[value.name][0], kind)
    if kind is np.bool_:
        return rng.integers(0, 2, shape).astype(kind)
    return (rng.integers(0, 50, shape) if np.issubdtype(kind, np.integer) else rng.standard_normal(shape)).astype(kind)


def runs(peer, given, values):
    """(told, inputs, wanted) of sizes that the model has: small ones, large ones, batches."""
    dims = open_dims(peer.inputs)
    ladders = [dict(given).get(name, (1, 2, 5) if first else LADDER) for name, first in dims.items()]
    tries = sorted(itertools.product(*ladders), key=lambda sizes: (max(sizes, default=0), sizes))
    tries = [s for s in tries if not dims or sum(elements(i, dict(zip(dims, s))) for i in peer.inputs) <= LARGEST]
    good = []
    for sizes in tries if len(tries) <= TRIES else [tries[k * (len(tries) - 1) // (TRIES - 1)] for k in range(TRIES)]:
        inputs = {i.name: array_of(i, dict(zip(dims, sizes)), values, np.random.default_rng(sum(sizes))) for i in peer.inputs}
        try:
            good.append(("x".join(map(str, sizes)) or "fixed", inputs, peer(inputs)))
        except Exception:  # the peer's own classes: whatever it refuses is no size of the model
            continue
    if len(good) <= MOST:
        return good
    return [good[k * (len(good) - 1) // (MOST - 1)] for k in range(MOST)]


def compiled(args, model, out):
    """(package, what was said, seconds, MiB at most). Failed where there is none."""
    words = [args.build / "bin/optima-host", "compile", model, "-o", out, "--force", *(["--device", args.device] if args.device else [])]
    begun = time.monotonic()
    ran = subprocess.run([*map(str, words)], capture_output=True, text=True)
    took = time.monotonic() - begun
    if ran.returncode:
        raise judge.Failed(f"exit code {ran.returncode}: " + (ran.stderr.strip().splitlines() or ["silent"])[-1])
    return out / model.stem, ran.stderr.strip(), took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def processor_time(run, times):
    begun = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - begun) / times


def speed(model, peer, inputs):
    """Ours over the peer's, and the peer's milliseconds: the least of five turns."""
    ours, theirs = (lambda: model.run(inputs)), (lambda: peer(inputs))
    ours(), theirs()
    times = max(1, int(0.05 / max(processor_time(theirs, 1), 1e-6)))
    turns = [(processor_time(ours, times), processor_time(theirs, times)) for _ in range(5)]
    return min(t[0] for t in turns) / min(t[1] for t in turns), 1e3 * min(t[1] for t in turns)


def say(*row):
    print(json.dumps(row), flush=True)


def try_model(path, args):
    judge.use(args.build.resolve())
    peer = Peer(path)
    sizes = runs(peer, args.dim, dict(args.value))
    with tempfile.TemporaryDirectory() as out:
        package, said, took, memory = compiled(args, path, pathlib.Path(out))
        say("compile", None, None, f"ok; {took:.1f} s, {memory} MiB" + "".join(f"; {line}" for line in said.splitlines() if line.startswith(("warning", "note"))))
        model = judge.loaded(package)
        for told, inputs, want in sizes:
            try:
                error = judge.worst(judge.run(model, inputs), want, 1e-3)
            except judge.Failed as why:
                say(told, None, None, f"failed: {why}")
                continue
            ratio = speed(model, peer, inputs) if args.speed else None
            say(told, error, ratio, "ok" if error <= judge.BOUND else f"apart by more than {judge.BOUND:g}")
    if not sizes:
        say("", None, None, "ONNX Runtime runs none of the sizes tried")


def child(path, args):
    try:
        try_model(path, args)
    except judge.Failed as why:
        say("compile", None, None, f"refused: {why}")


def rows_of(path, args):
    """Lines of one model, from a process of its own."""
    words = [sys.executable, "-B", __file__, args.build, path, "--child", *(["--device", args.device] if args.device else []), *(["--speed"] if args.speed else [])]
    for option in ("dim", "value"):
        words += [w for name, values in getattr(args, option) for w in (f"--{option}", f"{name}={','.join(map(str, values))}")]
    ran = subprocess.run([*map(str, words)], capture_output=True, text=True)
    yield from map(json.loads, ran.stdout.splitlines())
    if ran.returncode:
        yield "", None, None, f"ended with {ran.returncode}: {(ran.stderr.strip().splitlines() or ['silent'])[-1]}"


def main():
    args = arguments()
    if args.child:
        child(args.models[0], args)
        return 0
    failed = 0
    print(f"{'model':40} {'size':>12} {'error':>9} {'ratio':>6} {'ms there':>9}  status, on {args.device or 'default devices'}")
    for path in args.models:
        for size, error, ratio, status in rows_of(path, args):
            figures = f"{ratio[0]:6.2f} {ratio[1]:9.3f}" if ratio else f"{'-':>6} {'-':>9}"
            print(f"{path.stem:40} {size:>12} {'-' if error is None else f'{error:.1e}':>9} {figures}  {status}", flush=True)
            failed += status.split(";")[0] != "ok"
    print(f"{failed} not ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
