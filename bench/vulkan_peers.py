#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugin spirv beside ncnn's Vulkan path, interleaved in one process on the same driver.

    scripts/setup --with peers
    .deps/py/bin/python scripts/make_models.py build/models
    .deps/peers/bin/python bench/vulkan_peers.py build/release build/models [--rounds 5] [--layers] [NAME or FILE.onnx ...]

Without names: ResNet-18, MobileNetV2, SqueezeNet and, where ../shared/models is, the face detector. Each program runs the same ONNX file in f32, which
pnnx translates for ncnn; the largest difference of the first output, relative to its scale, is printed. Every round runs a few times each program in
turn, after runs that do not count: on a software driver the first compiles kernels. Prints smallest and median milliseconds, ncnn's median as a
multiple of ours with the geometric mean, and the bytes that ours moves (what its steps read and write) beside the least a run must: inputs, weights,
outputs. --layers: each step of ours by the GPU's clock, the longest first.
"""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from optima_runtime import Model, Runtime

ROOT = pathlib.Path(__file__).parent.parent
NAMES = ("resnet18", "mobilenet_v2", "squeezenet")
BLOCK, DISCARD = 3, 1


def input_of(path):
    """Name and dims of a model's first input that is no weight; open dims are 1."""
    graph = onnx.load(path, load_external_data=False).graph
    weights = {w.name for w in graph.initializer}
    value = next(i for i in graph.input if i.name not in weights)
    return value.name, [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]


class Ours:
    def __init__(self, runtime, build, path, array, folder):
        done = subprocess.run([f"{build}/bin/optima-host", "compile", path, "-o", folder, "--name", "model", "--require-device", "VULKAN:0"], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr.strip().splitlines()[-1])
        self.package = folder / "model"
        self.model = Model(runtime, self.package, 0, array)

    def run(self):
        self.model.run()
        return self.model.output(0)

    def bytes(self):
        """Moved by the steps, and the least: ports and weights once."""
        meta = json.loads(next(self.package.glob("Subgraph_0/*.meta")).read_text())
        tensors = meta["tensors"]
        moved = sum(tensors[t]["bytes"] for s in meta["steps"] for t in s["tensors"])
        ports = sum(tensors[p["tensor"]]["bytes"] for p in meta["inputs"] + meta["outputs"])
        return moved, ports + meta["weights_bytes"]


class Ncnn:
    def __init__(self, path, shape, array, folder):
        import ncnn

        self.ncnn, tool = ncnn, next(pathlib.Path(ncnn.__file__).parent.parent.glob("pnnx/pnnx"))
        shutil.copy(path, folder / "net.onnx")
        dims = ",".join(map(str, shape))
        done = subprocess.run([tool, "net.onnx", f"inputshape=[{dims}]"], cwd=folder, capture_output=True, text=True)
        if not (folder / "net.ncnn.param").exists():
            raise SystemExit(f"pnnx does not translate {path}: {done.stdout[-200:]}")
        self.net = ncnn.Net()
        for option, value in (("use_vulkan_compute", True), ("use_fp16_packed", False), ("use_fp16_storage", False), ("use_fp16_arithmetic", False)):
            setattr(self.net.opt, option, value)
        self.net.load_param(str(folder / "net.ncnn.param"))
        self.net.load_model(str(folder / "net.ncnn.bin"))
        self.input = ncnn.Mat(np.ascontiguousarray(array[0]))

    def run(self):
        extractor = self.net.create_extractor()
        extractor.input("in0", self.input)
        return np.array(extractor.extract("out0")[1])


def measured(programs, rounds):
    """Milliseconds of each program, by round and run."""
    times = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            for k in range(BLOCK + DISCARD):
                begin = time.perf_counter()
                program.run()
                if k >= DISCARD:
                    times[name].append(1e3 * (time.perf_counter() - begin))
    return times


def layers(build, package):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        subprocess.run([f"{build}/bin/optima-host", "bench", package, "--repeat", "3", "--trace", trace], check=True, capture_output=True)
        events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    steps = {s["name"]: s for s in json.loads(next(package.glob("Subgraph_0/*.meta")).read_text())["steps"]}
    rows = sorted(((e["dur"], e["name"]) for e in events if e.get("ph") == "X" and e["name"] in steps), reverse=True)
    for us, name in rows:
        print(f"    {us:9.0f} us {steps[name]['flops'] / us / 1e3:7.1f} GFLOP/s {steps[name]['bytes'] / us / 1e3:7.2f} GB/s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", action="store_true")
    args = parser.parse_args()
    files = [pathlib.Path(n) if n.endswith(".onnx") else args.models / f"{n}.ts.onnx" for n in args.names or NAMES]
    detector = ROOT.parent / "shared/models/version-RFB-320.onnx"
    if not args.names and detector.exists():
        files.append(detector)
    runtime, ratios = Runtime(args.build), []
    print(f"{'model':20} {'spirv':>15} {'ncnn':>15} {'ratio':>6} {'error':>8} {'moved':>9} {'least':>9}   (ms smallest/median; MiB)")
    for path in files:
        name, shape = input_of(path)
        array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            ours, other = Ours(runtime, args.build, path, {name: array}, folder), Ncnn(path, shape, array, folder)
            wanted, got = ours.run().ravel(), other.run().ravel()
            error = np.abs(wanted - got).max() / np.abs(wanted).max() if wanted.size == got.size else math.nan
            times = measured({"spirv": ours, "ncnn": other}, args.rounds)
            medians = {n: statistics.median(t) for n, t in times.items()}
            ratios.append(medians["ncnn"] / medians["spirv"])
            moved, least = ours.bytes()
            cells = [f"{min(times[n]):.0f}/{medians[n]:.0f}" for n in ("spirv", "ncnn")]
            print(f"{path.stem:20} {cells[0]:>15} {cells[1]:>15} {ratios[-1]:6.2f} {error:8.1e} {moved / 2**20:9.1f} {least / 2**20:9.1f}", flush=True)
            if args.layers:
                layers(args.build, ours.package)
    print(f"geometric mean of the ratios: {math.exp(statistics.mean(map(math.log, ratios))):.2f}")


if __name__ == "__main__":
    main()
