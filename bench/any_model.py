#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Any ONNX model beside ONNX Runtime: one package, at each of some sizes.

    scripts/setup --with peers
    .deps/peers/bin/python bench/any_model.py build/release MODEL ... [--sizes 1,1,80,3 ...] [--device X64:0] [--threads 1] [--rounds 9]

A size fills the open dims of every input in their order (the last number fills those that are left; dims of one name are one number), with random
numbers in them. Without --sizes some usual ones are tried. A size that ONNX Runtime refuses is told. Prints the smallest milliseconds of blocks
that take turns in one process, the ratio (below 1: ours is faster), ours of the first run at that size, and the largest difference of any output,
relative to that output's scale. Noise is not what a model was trained for: where the difference is large, ONNX Runtime's own with its optimizations
off, which is printed beside, may be as large; where that is small, the two may still share an error (of sums, say), and only doubles tell.
"""
import argparse
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
from optima_runtime import Model, Runtime
from peers import Refused, cpu_name, measure

USUAL = ["1,64,96", "1,320,480", "2,96,64", "1,48,320", "1,224,224", "1,960,960", "1,16000", "37", "1,200", "100,144"]
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(bool)": np.bool_,
         **{f"tensor({np.dtype(t)})": t for t in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)}}


def inputs_of(session, numbers):
    """Random arrays whose open dims are `numbers`; a type without random numbers here is refused by name."""
    random, left, named, out = np.random.default_rng(1), list(numbers), {}, {}

    def dim(known):
        if isinstance(known, int) and known >= 0:
            return known
        if known in (None, "?", "None") or known not in named:
            named[known] = left.pop(0) if len(left) > 1 else left[0]
        return named[known]

    for i in session.get_inputs():
        if i.type not in TYPES:
            raise Refused(f"input '{i.name}' is a {i.type}, wanted one of {', '.join(TYPES)}")
        shape, dtype = [dim(d) for d in i.shape], TYPES[i.type]
        floats = np.issubdtype(dtype, np.floating)
        out[i.name] = (random.standard_normal(shape) * 0.5).astype(dtype) if floats else random.integers(0, 128 if dtype in (np.uint8, np.int8) else 2, shape).astype(dtype)
    return out


def difference(got, wanted):
    worst = 0.0
    for a, b in zip(got, wanted):
        if np.shape(a) != np.shape(b):
            return float("inf")
        if np.size(b):
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            if not np.array_equal(np.isfinite(a), np.isfinite(b)):
                return float("inf")
            a, b = np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0)
            worst = max(worst, np.abs(a - b).max() / max(np.abs(b).max(), 1e-6))
    return worst


def session_of(path, threads, plain=False):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compile_one(host, path, device, out):
    start = time.perf_counter()
    done = subprocess.run([host, "compile", path, "-o", out, "--force", "--name", "model"] + (["--device", device] if device else []), capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr.strip().splitlines()[-1])
    return time.perf_counter() - start


class Beside:
    """One model in both programs."""

    def __init__(self, runtime, package, path, threads):
        self.runtime, self.package, self.threads, self.model = runtime, package, threads, None
        self.session, self.plain = session_of(path, threads), session_of(path, threads, plain=True)
        for o in self.session.get_outputs():
            if o.type not in TYPES:
                raise Refused(f"output '{o.name}' is a {o.type}, wanted one of {', '.join(TYPES)}")

    def load(self, inputs):
        if self.model is None:
            self.model = Model(self.runtime, self.package, self.threads, inputs)
        self.model.set_inputs(inputs)

    def times(self, inputs, rounds):
        """Smallest milliseconds of both, of blocks that take turns; `inputs` are loaded."""
        times = measure({"ours": self.model.run, "ort": lambda: self.session.run(None, inputs)}, rounds)
        return min(times["ours"]), min(times["ort"])

    def outputs(self):
        return [self.model.output(k) for k in range(self.model.outputs)]

    def print_row(self, inputs, rounds):
        sizes = " ".join("x".join(map(str, a.shape)) for a in inputs.values())
        try:
            wanted, plain = self.session.run(None, inputs), self.plain.run(None, inputs)
        except Exception:  # the peer's own rules about sizes
            print(f"  {sizes[:60]:60} refused by ONNX Runtime", flush=True)
            return
        self.load(inputs)
        start = time.perf_counter()
        self.model.run()
        first = (time.perf_counter() - start) * 1e3
        got = self.outputs()
        ours, ort = self.times(inputs, rounds)
        print(f"  {sizes[:60]:60} {ours:9.3f} {ort:9.3f} {ours / ort:6.2f} {first:9.1f} {difference(got, wanted):9.1e} {difference(plain, wanted):9.1e}", flush=True)


def print_model(runtime, host, path, sizes, args, out):
    print(f"{path.name}: compiled in {compile_one(host, path, args.device, out):.1f} s", flush=True)
    beside, seen = Beside(runtime, out / "model", path, args.threads), set()
    for numbers in sizes:
        inputs = inputs_of(beside.session, numbers)
        key = tuple(a.shape for a in inputs.values())
        if key in seen:
            continue
        seen.add(key)
        beside.print_row(inputs, args.rounds)


def numbers_of(text):
    try:
        return [int(n) for n in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"found '{text}', wanted whole numbers, as 1,3,224")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--sizes", nargs="+", type=numbers_of, default=[numbers_of(u) for u in USUAL])
    parser.add_argument("--device")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_intermixed_args()
    runtime, host = Runtime(args.build), args.build / "bin/optima-host"
    print(f"{cpu_name()}; onnxruntime {onnxruntime.__version__}; threads {args.threads}")
    print(f"  {'sizes':60} {'ours':>9} {'ort':>9} {'ratio':>6} {'first':>9} {'error':>9} {'its own':>9}")
    with tempfile.TemporaryDirectory() as out:
        for path in args.models:
            try:
                print_model(runtime, host, path, args.sizes, args, pathlib.Path(out))
            except (Refused, RuntimeError) as why:
                print(f"{path.name}: refused: {why}", flush=True)


if __name__ == "__main__":
    main()
