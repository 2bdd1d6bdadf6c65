#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The openvino plugin beside OpenVINO's own API and beside HETERO, OpenVINO's own splitter.

    scripts/setup --with tests,openvino
    .deps/py/bin/python scripts/make_models.py build/models
    .deps/openvino/bin/python bench/openvino_split.py build/release build/models [whole|hetero|cuts|cycles|random ...]

whole   a package whole on openvino against the same file through OpenVINO's API: what the runtime and the seam add to a run.
hetero  the same split by hand, both sides on OpenVINO's CPU: subgraphs, time from file to ready, latency.
cuts    ResNet-50 whole and with 2, 8 and 32 cuts between two openvino devices: what a cut costs when both sides are the same.
cycles  placements of openvino#35750 and #36126 (tests/cli/cycles): subgraphs of both.
random  random graphs and placements: subgraphs of both, and how often HETERO fails.

OpenVINO has one device on a machine without its GPUs, and HETERO wants two: its CPU plugin is registered a second time under the
name CPUB. HETERO keeps both cores busy whatever INFERENCE_NUM_THREADS says: for one thread start the whole program on one core,
`taskset -c 0 ... hetero --threads 1`. Runs that are compared take turns in one process, in blocks; medians, and the median over the
blocks of the ratio of their fastest runs.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.parser
import openvino
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from optima_runtime import Model, Runtime

ROOT = pathlib.Path(__file__).parent.parent
BLOCK, DISCARD = 6, 2
A, B = "openvino/X64:0", "openvino/X64:1"  # two slots of one backend: a cut between them costs nothing but the cut
HETERO_DEVICE = {A: "CPU", B: "CPUB", "llvm_cpu/X64:0": "CPUB"}


def core():
    out = openvino.Core()
    folder = pathlib.Path(openvino.__file__).parent / "libs"
    out.register_plugin(str(folder / "libopenvino_intel_cpu_plugin.so"), "CPUB")
    return out


def config(threads):
    return {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}


def host(args, *words):
    start = time.perf_counter()
    run = subprocess.run([args.build / "bin/optima-host", "--json", *map(str, words)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout), time.perf_counter() - start


def compile_package(args, folder, model, *words):
    """The package's path, the document of compile, and its seconds as a user waits for them."""
    document, seconds = host(args, "compile", model, "-o", folder, "--force", *words)
    return document["package"], document, seconds


def inputs_of(model):
    return {f.stem[6:]: np.load(f) for f in model.with_suffix(".data").glob("input_*.npy")}


def take_turns(runs, rounds):
    """Milliseconds of every run by name; who goes first changes from round to round."""
    times = {name: [] for name in runs}
    for turn in range(rounds):
        for name in sorted(runs, reverse=turn % 2 == 1):
            for k in range(DISCARD + BLOCK):
                start = time.perf_counter()
                runs[name]()
                if k >= DISCARD:
                    times[name].append((time.perf_counter() - start) * 1e3)
    return times


def overhead(ours, theirs):
    """Median over the rounds of the ratio of their fastest runs: rounds are seconds apart, so both see the same machine."""
    ratios = [min(ours[k:k + BLOCK]) / min(theirs[k:k + BLOCK]) for k in range(0, len(ours), BLOCK)]
    return (statistics.median(ratios) - 1) * 100


def api_run(compiled, inputs):
    """A run over the API with its tensors set once, as our requests do."""
    request = compiled.create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, openvino.Tensor(np.ascontiguousarray(array), shared_memory=True))
    request.infer()
    return request.infer


def whole(args):
    rows = [("model", "threads", "package ms", "API ms", "overhead %")]
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names:
            model = args.models / f"{name}.ts.onnx"
            package, _, _ = compile_package(args, folder, model, "--require-device", A)
            for threads in args.threads:
                inputs = inputs_of(model)
                ours = Model(args.runtime, package, threads, inputs)
                ours.run()
                compiled = core().compile_model(str(model), "CPU", config(threads))
                times = take_turns({"ours": ours.run, "api": api_run(compiled, inputs)}, args.rounds)
                rows.append((name, threads, f"{statistics.median(times['ours']):.3f}", f"{statistics.median(times['api']):.3f}",
                             f"{overhead(times['ours'], times['api']):+.2f}"))
    return "package whole on openvino beside OpenVINO's API", rows


def place(model, device_of):
    """Writes each operation's affinity from device_of(output names); operations between the named ones (constants, what the
    front end made of one node) follow their readers, results what they read, as HETERO wants every one pinned."""
    ops = model.get_ordered_ops()
    device = {}
    for op in ops:
        names = [n for out in op.outputs() for n in out.get_names()]
        device[op] = next((d for d in map(device_of, names) if d), None)
    for op in reversed(ops):
        if device[op] is None and op.get_type_name() != "Result":
            readers = [device[t.get_node()] for out in op.outputs() for t in out.get_target_inputs()]
            device[op] = next((d for d in readers if d), None)
    for op in ops:
        if device[op] is None:
            before = [device[value.get_node()] for value in op.input_values()]
            device[op] = next((d for d in before if d), "CPU")
        op.get_rt_info()["affinity"] = device[op]


def hetero_compile(source, placement, threads=2):
    """HETERO's compiled model and the seconds from the source (a path or bytes) to it."""
    c = core()
    start = time.perf_counter()
    model = c.read_model(source)
    place(model, placement.get)
    compiled = c.compile_model(model, "HETERO:CPU,CPUB", {"DEVICE_PROPERTIES": {d: config(threads) for d in ("CPU", "CPUB")}})
    return compiled, time.perf_counter() - start


def names_by_output(model):
    return {out: node.name for node in model.graph.node for out in node.output if out}


def every_kth(args, model, k, folder):
    """Allocation file and HETERO placement that send every k-th node of the plan to the other device."""
    document, _ = host(args, "plan", model, "--require-device", A)
    device = {n["name"]: B if i % k == k - 1 else A for i, n in enumerate(document["nodes"])}
    path = pathlib.Path(folder) / "alloc.json"
    path.write_text(json.dumps(device))
    outputs = names_by_output(onnx.load(model, load_external_data=False))
    return path, {o: HETERO_DEVICE[device[n]] for o, n in outputs.items() if n in device}


def hetero(args):
    rows = [("model", "k", "subgraphs", "HETERO's", "plan ms", "compile s", "HETERO's s", "threads", "run ms", "HETERO's ms", "HETERO/ours")]
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names:
            model = args.models / f"{name}.ts.onnx"
            inputs = inputs_of(model)
            for k in (3, 10):
                alloc, placement = every_kth(args, model, k, folder)
                package, document, seconds = compile_package(args, folder, model, "--device", f"{A},{B}", "--alloc", alloc)
                for threads in args.threads:
                    ours = Model(args.runtime, package, threads, inputs)
                    ours.run()
                    try:
                        compiled, theirs = hetero_compile(str(model), placement, threads)
                        their_run = api_run(compiled, inputs)
                    except RuntimeError as error:  # OpenVINO's own split may not run: openvino#35750 and others
                        print(f"HETERO fails on {name} with k = {k}: {str(error).strip().splitlines()[-1]}")
                        rows.append((name, k, len(document["subgraphs"]), "fails", f"{document['timings']['plan_ms']:.0f}", f"{seconds:.2f}", "", threads, "", "", ""))
                        continue
                    times = take_turns({"ours": ours.run, "hetero": their_run}, args.rounds)
                    mine, other = (statistics.median(times[n]) for n in ("ours", "hetero"))
                    rows.append((name, k, len(document["subgraphs"]), compiled.get_property("HETERO_NUMBER_OF_SUBMODELS"),
                                 f"{document['timings']['plan_ms']:.0f}", f"{seconds:.2f}", f"{theirs:.2f}", threads, f"{mine:.2f}", f"{other:.2f}",
                                 f"{1 + overhead(times['hetero'], times['ours']) / 100:.2f}"))
    return "split by hand beside HETERO with the same split", rows


def cuts(args):
    """Cuts at equal distances through the order of the plan; the same machine code on both sides of each."""
    rows = [("cuts", "subgraphs", "MiB cut", "threads", "run ms", "whole ms", "cost %", "per cut us")]
    model = args.models / "resnet50.ts.onnx"
    with tempfile.TemporaryDirectory() as folder:
        names = [n["name"] for n in host(args, "plan", model, "--require-device", A)[0]["nodes"]]
        plain, _, _ = compile_package(args, f"{folder}/whole", model, "--require-device", A)
        for count in (2, 8, 32):
            alloc = pathlib.Path(folder) / "alloc.json"
            alloc.write_text(json.dumps({n: (A, B)[i * (count + 1) // len(names) % 2] for i, n in enumerate(names)}))
            package, document, _ = compile_package(args, f"{folder}/cut", model, "--device", f"{A},{B}", "--alloc", alloc)
            for threads in args.threads:
                inputs = inputs_of(model)
                runs = {"whole": Model(args.runtime, plain, threads, inputs), "cut": Model(args.runtime, package, threads, inputs)}
                times = take_turns({n: m.run for n, m in runs.items()}, args.rounds)
                cost = overhead(times["cut"], times["whole"])
                base = statistics.median(times["whole"])
                subgraphs = len(document["subgraphs"])
                rows.append((count, subgraphs, f"{document['bytes'] / 2**20:.1f}", threads, f"{statistics.median(times['cut']):.2f}", f"{base:.2f}",
                             f"{cost:+.1f}", f"{cost / 100 * base / (subgraphs - 1) * 1e3:.0f}"))
    return "cuts in ResNet-50, openvino on both sides", rows


def both_subgraphs(args, folder, model, allocation):
    """(ours, HETERO's or why it failed) for a model and {node or glob: device}."""
    path, alloc = pathlib.Path(folder) / "model.onnx", pathlib.Path(folder) / "alloc.json"
    onnx.save(model, path)
    alloc.write_text(json.dumps(allocation))
    ours = len(host(args, "plan", path, "--alloc", alloc)[0]["subgraphs"])
    placement = {}
    for out, name in names_by_output(model).items():
        placement[out] = next(HETERO_DEVICE[d] for pattern, d in allocation.items() if fnmatch.fnmatch(name, pattern))
    try:
        return ours, hetero_compile(str(path), placement)[0].get_property("HETERO_NUMBER_OF_SUBMODELS")
    except RuntimeError as e:
        return ours, "failed: " + str(e).strip().split("\n")[-1][:80]


def cycles(args):
    rows = [("placement", "subgraphs", "HETERO's")]
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted((ROOT / "tests/cli/cycles").glob("*.onnxtxt")):
            model, allocation = onnx.parser.parse_model(path.read_text()), json.loads(path.with_suffix(".json").read_text())
            rows.append((path.stem, *both_subgraphs(args, folder, model, allocation)))
    return "placements of openvino#35750 and #36126", rows


def random_graph(seed, size):
    """Additions of two earlier values or of one and a shared constant, in a random order of devices."""
    r = random.Random(seed)
    value = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [4])
    names, nodes, allocation = ["x0", "x1"], [], {}
    for k in range(size):
        other = f"c{r.randrange(3)}" if r.random() < 0.3 else r.choice(names[-8:])
        nodes.append(helper.make_node("Add", [r.choice(names[-8:]), other], [f"v{k}"], name=f"n{k}"))
        names.append(f"v{k}")
        allocation[f"n{k}"] = r.choice((A, B))
    used = {i for n in nodes for i in n.input}
    ends = [f"v{k}" for k in range(size) if f"v{k}" not in used]
    weights = [helper.make_tensor(f"c{k}", TensorProto.FLOAT, [4], [1.0 + k] * 4) for k in range(3)]
    graph = helper.make_graph(nodes, "random", [value(n) for n in ("x0", "x1")], [value(n) for n in ends], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), allocation


def random_placements(args):
    rows = [("nodes", "graphs", "subgraphs", "HETERO's", "HETERO/ours", "HETERO failed")]
    with tempfile.TemporaryDirectory() as folder:
        for size in (10, 30, 100):
            pairs = [both_subgraphs(args, folder, *random_graph(seed, size)) for seed in range(args.graphs)]
            good = [(a, b) for a, b in pairs if isinstance(b, int)]
            mine, theirs = sum(a for a, _ in good), sum(b for _, b in good)
            rows.append((size, args.graphs, mine, theirs, f"{theirs / mine:.2f}" if mine else "-", len(pairs) - len(good)))
    return "random graphs and placements (sums over the graphs that HETERO splits)", rows


PARTS = {"whole": whole, "hetero": hetero, "cuts": cuts, "cycles": cycles, "random": random_placements}


def print_table(title, rows):
    widths = [max(len(str(row[c])) for row in rows) for c in range(len(rows[0]))]
    print(f"\n{title}")
    for row in rows:
        cells = (str(cell).rjust(width) if c else str(cell).ljust(width) for c, (cell, width) in enumerate(zip(row, widths)))
        print("  ".join(cells).rstrip(), flush=True)


def machine():
    name = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    return f"{name}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; OpenVINO {openvino.__version__}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--names", default="resnet50,mobilenet_v2,bert", type=lambda s: s.split(","), help="models of whole and hetero")
    parser.add_argument("--threads", default=[1, 2], type=lambda s: [int(n) for n in s.split(",")])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--graphs", type=int, default=50, help="graphs of each size in random")
    args = parser.parse_intermixed_args()
    args.runtime = Runtime(args.build)
    print(machine(), flush=True)
    for part in args.parts or PARTS:
        print_table(*PARTS[part](args))


if __name__ == "__main__":
    main()
