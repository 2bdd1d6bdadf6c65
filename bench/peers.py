#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""llvm_cpu beside ONNX Runtime (and OpenVINO when it is installed), interleaved in one process.

    scripts/setup --with peers
    .deps/py/bin/python scripts/make_models.py build/models
    .deps/peers/bin/python bench/peers.py build/release build/models [--threads 1,2] [--rounds 25] [--int8] [--isa ISA] [NAME ...]

Every round runs a block of each program, after runs that do not count: a peer's spinning threads disturb whoever comes next.
Prints the smallest and the median milliseconds of each, and the peers' medians as multiples of ours. Both sides run the same
file with the same input; the largest difference of the outputs, relative to their scale, is printed too.

--int8 takes the QDQ models of build/models/int8 instead (scripts/make_models.py --host adds those of our own `quantize`). A model that ours
refuses is printed with its sentence. --isa restricts oneDNN, and so OpenVINO, to an instruction set by ONEDNN_MAX_CPU_ISA, as
AVX512_CORE_VNNI on machines with AMX; ONNX Runtime's own kernels heed no such setting.
"""
import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

# Read by oneDNN once, when it is loaded.
if "--isa" in sys.argv[:-1]:
    os.environ["ONEDNN_MAX_CPU_ISA"] = os.environ["DNNL_MAX_CPU_ISA"] = sys.argv[sys.argv.index("--isa") + 1]

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from optima_runtime import Model, Runtime

try:
    import openvino
except ImportError:
    openvino = None

BLOCK, DISCARD = 6, 2
LET_GO = 0.08  # s before a block: ONNX Runtime's threads spin for some 40 ms after a run, on the processors that the next program's want


class Refused(Exception):
    """A model that ours does not compile or load, with its sentence."""


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def optima(runtime, host, model, threads, inputs, out):
    done = subprocess.run([host, "compile", model, "-o", out, "--force", "--require-device", "X64:0"], capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr.strip().splitlines()[-1])
    m = Model(runtime, out / model.stem, threads, inputs)
    m.run()
    return m.run, m.output(m.outputs - 1)


def ort(model, threads, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs), session.run(None, inputs)[-1]


def open_vino(model, threads, inputs):
    config = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    request = openvino.Core().compile_model(str(model), "CPU", config).create_infer_request()
    request.infer(inputs)
    outputs = len(request.model_outputs) if hasattr(request, "model_outputs") else len(request.results)
    return lambda: request.infer(inputs), request.get_output_tensor(outputs - 1).data.copy()


def measure(runs, rounds):
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(LET_GO)
            for k in range(DISCARD + BLOCK):
                start = time.perf_counter()
                run()
                if k >= DISCARD:
                    times[name].append((time.perf_counter() - start) * 1e3)
    return times


def print_row(runtime, host, model, name, threads, rounds, out):
    inputs = {f.stem[6:]: np.load(f) for f in model.with_suffix(".data").glob("input_*.npy")}
    runs, outputs = {}, {}
    runs["ours"], outputs["ours"] = optima(runtime, host, model, threads, inputs, out)
    runs["ort"], outputs["ort"] = ort(model, threads, inputs)
    if openvino:
        runs["ov"], outputs["ov"] = open_vino(model, threads, inputs)
    times = measure(runs, rounds)
    cell = {k: f"{min(t):8.2f}/{statistics.median(t):8.2f}" for k, t in times.items()}
    ratio = {k: statistics.median(t) / statistics.median(times["ours"]) for k, t in times.items()}
    error = np.abs(outputs["ours"] - outputs["ort"]).max() / np.abs(outputs["ort"]).max()
    print(f"{name:20} {threads:7} {cell['ours']:>17} {cell['ort']:>17} {ratio['ort']:9.2f} {cell.get('ov', '-'):>17} "
          f"{ratio.get('ov', float('nan')):8.2f} {error:9.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--exporter", default="ts")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--isa")
    args = parser.parse_intermixed_args()
    runtime, host = Runtime(args.build), args.build / "bin/optima-host"
    print(f"{cpu_name()}; onnxruntime {onnxruntime.__version__}; openvino {openvino.__version__ if openvino else 'not installed'}")
    print(f"{'model':20} {'threads':>7} {'ours min/med':>17} {'ort min/med':>17} {'ort/ours':>9} {'openvino':>17} {'ov/ours':>8} {'error':>9}")
    models = sorted((args.models / "int8").glob("*.onnx")) if args.int8 else sorted(args.models.glob(f"*.{args.exporter}.onnx"))
    with tempfile.TemporaryDirectory() as out:
        for model in models:
            name = model.stem if args.int8 else model.name.split(".")[0]
            if args.names and name not in args.names:
                continue
            for threads in map(int, args.threads.split(",")):
                try:
                    print_row(runtime, host, model, name, threads, args.rounds, pathlib.Path(out))
                except Refused as why:
                    print(f"{name:20} {threads:7} refused: {why}", flush=True)


if __name__ == "__main__":
    main()
