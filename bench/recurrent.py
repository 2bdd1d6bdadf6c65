#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN on llvm_cpu beside ONNX Runtime, and beside another build: single layers with random weights.

    .deps/py/bin/python bench/recurrent.py build/release [LAYER ...] [--before BUILD] [--threads 1,2] [--rounds 9]

LAYER: KIND:steps,batch,inputs,hidden[,directions[,linear_before_reset]], as GRU:32,1,256,256. Prints the smallest milliseconds of blocks that take turns in one process, ours over
ONNX Runtime's and over the other build's (below 1: ours is faster), and the largest difference from ONNX Runtime relative to the output's scale.
"""
import argparse
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from optima_runtime import Runtime
from peers import cpu_name, measure, optima, ort

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
USUAL = ["LSTM:32,1,64,64", "LSTM:32,1,128,128", "LSTM:32,1,256,256", "LSTM:32,1,512,512", "LSTM:32,2,256,256", "LSTM:32,4,256,256,2", "LSTM:32,8,256,256",
         "GRU:32,1,128,128", "GRU:32,1,256,256", "GRU:32,1,256,256,1,1", "RNN:32,1,256,256"]


def layer(text):
    try:
        kind, numbers = text.split(":")
        numbers = [int(n) for n in numbers.split(",")]
        steps, batch, inputs, hidden, directions, before = numbers + [1, 0][len(numbers) - 4:]
        return text, kind, GATES[kind], steps, batch, inputs, hidden, directions, before
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"found '{text}', wanted a layer as LSTM:32,1,256,256 or GRU:32,1,256,256,2,1")


def write(path, kind, gates, steps, batch, inputs, hidden, directions, before):
    random = np.random.default_rng(0)
    weights = {"w": (directions, gates * hidden, inputs), "r": (directions, gates * hidden, hidden), "b": (directions, 2 * gates * hidden)}
    held = [numpy_helper.from_array(((random.random(s) * 2 - 1) / np.sqrt(hidden)).astype(np.float32), name) for name, s in weights.items()]
    attributes = {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward"}
    if kind == "GRU":
        attributes["linear_before_reset"] = before
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node(kind, ["x", *weights], ["y"], **attributes)], kind, [value("x", TensorProto.FLOAT, [steps, batch, inputs])],
                              [value("y", TensorProto.FLOAT, [steps, directions, batch, hidden])], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)
    return {"x": random.standard_normal((steps, batch, inputs)).astype(np.float32)}


def print_row(runtimes, text, shape, threads, rounds, folder):
    path = folder / f"{text.replace(':', '_').replace(',', '_')}.onnx"
    inputs = write(path, *shape)
    runs, outputs = {}, {}
    for name, (runtime, build) in runtimes.items():
        runs[name], outputs[name] = optima(runtime, build / "bin/optima-host", path, threads, inputs, folder / name)
    runs["ort"], outputs["ort"] = ort(path, threads, inputs)
    best = {name: min(times) for name, times in measure(runs, rounds).items()}
    error = np.abs(outputs["ours"].reshape(outputs["ort"].shape) - outputs["ort"]).max() / np.abs(outputs["ort"]).max()
    before = f"{best['ours'] / best['before']:8.2f}" if "before" in best else "       -"
    print(f"{text:28} {threads:7} {best['ours']:9.3f} {best['ort']:9.3f} {best['ours'] / best['ort']:9.2f} {before} {error:9.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("layers", nargs="*", type=layer, default=[layer(u) for u in USUAL])
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_intermixed_args()
    builds = {"ours": args.build, **({"before": args.before} if args.before else {})}
    runtimes = {name: (Runtime(build), build) for name, build in builds.items()}
    print(f"{cpu_name()}; onnxruntime {onnxruntime.__version__}")
    print(f"{'layer':28} {'threads':>7} {'ours':>9} {'ort':>9} {'ours/ort':>9} {'/before':>8} {'error':>9}")
    with tempfile.TemporaryDirectory() as out:
        for text, *shape in args.layers:
            for threads in map(int, args.threads.split(",")):
                print_row(runtimes, text, shape, threads, args.rounds, pathlib.Path(out))


if __name__ == "__main__":
    main()
