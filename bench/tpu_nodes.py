#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's node tests on the emulators of TPUs: what bmcompiler takes is compiled, run and compared with the expected answers.

    scripts/setup --with tests,sophon
    .deps/py/bin/python scripts/generate_node_tests.py build/node_tests
    .deps/py/bin/python bench/tpu_nodes.py build/release [--chip bm1684x] [--precision f32] [--only PATTERN] [--every N]

Each test is asked for as it is and with all but its first input as constants, which many operators want. Those that are taken whole lie
beside each other in one model, as a process with an emulator costs seconds; a model that fails is halved until the test is found.
wrong: more than 1e-4 of the answer's scale (1e-2 for f16, 5e-2 for bf16) and than the test's own tolerance, any other integer or truth value,
or a tool that dies. Tests that the reference has on its list of exceptions are left out.
Ends with 1 when there is any.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROOT = pathlib.Path(__file__).parent.parent
BESIDE = 24
NUMPY = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13}  # of ONNX's types


class Case:
    def __init__(self, name, model, inputs, outputs, tolerance, frozen):
        self.name, self.frozen, self.tolerance = name, frozen, tolerance
        self.version = (model.ir_version, tuple((o.domain, o.version) for o in model.opset_import))
        kept = len(inputs) if not frozen else 1
        self.graph, self.inputs, self.outputs = model.graph, inputs[:kept], outputs
        self.constants = inputs[kept:]

    def placed(self, number):
        """Inputs, outputs, constants and nodes under names of their own."""
        inner = lambda name: f"c{number}/{name}" if name else ""
        nodes = []
        for k, node in enumerate(self.graph.node):
            n = onnx.NodeProto()
            n.CopyFrom(node)
            n.name = inner(f"n{k}")
            n.input[:] = [inner(x) for x in node.input]
            n.output[:] = [inner(x) for x in node.output]
            nodes.append(n)
        infos = []
        for side in (self.graph.input[: len(self.inputs)], self.graph.output):
            infos.append([onnx.ValueInfoProto() for _ in side])
            for made, info in zip(infos[-1], side):
                made.CopyFrom(info)
                made.name = inner(info.name)
        constants = []
        for info, value in zip(self.graph.input[len(self.inputs) :], self.constants):
            constants.append(numpy_helper.from_array(np.asarray(value), inner(info.name)))
        for tensor in self.graph.initializer:
            constants.append(onnx.TensorProto())
            constants[-1].CopyFrom(tensor)
            constants[-1].name = inner(tensor.name)
        return nodes, *infos, constants


def is_tensor(info):
    return info.type.HasField("tensor_type")


def array_of(path):
    head, _, data = path.read_bytes().partition(b"\n")
    kind, *dims = map(int, head.split())
    return np.frombuffer(data, helper.tensor_dtype_to_np_dtype(kind)).reshape(dims)


def side_of(folder, side, count):
    """None where a value is no tensor of numbers that NumPy has."""
    paths = [folder / f"set_0/{side}_{k}.tensor" for k in range(count)]
    if not all(p.exists() for p in paths):
        return None
    kinds = [int(p.open("rb").readline().split()[0]) for p in paths]
    return [array_of(p) for p in paths] if all(k in NUMPY for k in kinds) else None


def cases(only, every):
    exceptions = {line.split()[0] for line in (ROOT / "tests/conformance/reference_exceptions.txt").read_text().splitlines()}
    for folder in sorted(p for p in (ROOT / "build/node_tests").iterdir() if p.is_dir())[::every]:
        if not fnmatch.fnmatch(folder.name, only) or folder.name in exceptions:
            continue
        model = onnx.load(folder / "model.onnx")
        graph = model.graph
        if model.functions or any(n.domain not in ("", "ai.onnx") for n in graph.node) or any(a.HasField("g") for n in graph.node for a in n.attribute):
            continue
        inputs, outputs = (side_of(folder, *s) for s in (("input", len(graph.input)), ("output", len(graph.output))))
        if inputs is None or outputs is None:
            continue
        tolerance = [float(x) for x in (folder / "tolerance").read_text().split()]
        yield Case(folder.name, model, inputs, outputs, tolerance, False)
        if len(inputs) > 1:
            yield Case(folder.name, model, inputs, outputs, tolerance, True)


def model_of(some, path):
    nodes, inputs, outputs, constants = [], [], [], []
    for k, case in enumerate(some):
        for whole, part in zip((nodes, inputs, outputs, constants), case.placed(k)):
            whole.extend(part)
    graph = helper.make_graph(nodes, "cases", inputs, outputs, constants)
    ir, opsets = some[0].version
    onnx.save(helper.make_model(graph, ir_version=ir, opset_imports=[helper.make_opsetid(*o) for o in opsets]), path)


class Failed(Exception):
    pass


class Sweep:
    def __init__(self, args, plugins):
        self.args, self.plugins = args, plugins
        self.options = ["--option", f"bmcompiler.chip={args.chip}", "--option", f"bmcompiler.precision={args.precision}"]
        self.bound = {"f16": 1e-2, "bf16": 5e-2}.get(args.precision, 1e-4)

    def host(self, *words):
        run = subprocess.run([self.args.build / "bin/optima-host", "--json", "--plugins", self.plugins, *map(str, words)], capture_output=True, text=True)
        if run.returncode:
            raise Failed(f"exit code {run.returncode}: {run.stderr.strip()[:600]}")
        return run.stdout

    def asked(self, some):
        """Of each case: None when it is taken whole, else the sentence."""
        with tempfile.TemporaryDirectory() as folder:
            model = f"{folder}/cases.onnx"
            try:
                model_of(some, model)
                plan = json.loads(self.host("plan", model, "--device", "TPU:0,REF:0", *self.options))
            except Failed as e:
                if len(some) == 1:
                    return ["the host: " + str(e)]
                half = len(some) // 2
                return self.asked(some[:half]) + self.asked(some[half:])
        answers = ["nothing of it is left to compute"] * len(some)
        said = [[] for _ in some]
        for node in plan["nodes"]:
            said[int(re.match(r"c(\d+)/", node["name"])[1])].append(node["answers"]["TPU:0"])
        for k, all_of in enumerate(said):
            refused = [a for a in all_of if not a["yes"]]
            if all_of:
                answers[k] = refused[0].get("text") or json.dumps(refused[0]) if refused else None
        return answers

    def run(self, some):
        """Of each case: how far it is apart, or the sentence of what failed."""
        with tempfile.TemporaryDirectory() as folder:
            model = f"{folder}/cases.onnx"
            model_of(some, model)
            try:
                self.host("compile", model, "-o", folder, "--name", "m", "--require-device", "TPU:0", *self.options)
                words = []
                for k, case in enumerate(some):
                    for n, (info, value) in enumerate(zip(case.graph.input, case.inputs)):
                        np.save(f"{folder}/{k}_{n}.npy", value)
                        words += ["--input", f"c{k}/{info.name}={folder}/{k}_{n}.npy"]
                self.host("run", f"{folder}/m", *words, "-o", f"{folder}/answers")
            except Failed as e:
                if len(some) == 1:
                    return [str(e)]
                half = len(some) // 2
                return self.run(some[:half]) + self.run(some[half:])
            files = {o["name"]: o["file"] for o in json.loads(pathlib.Path(f"{folder}/answers/manifest.json").read_text())["outputs"]}
            found = []
            for k, case in enumerate(some):
                sides = [(np.load(f"{folder}/answers/" + files[f"c{k}/{info.name}"]), wanted) for info, wanted in zip(case.graph.output, case.outputs)]
                found.append(max((apart(*side, case.tolerance) for side in sides), default=0))
            return found


def apart(got, wanted, tolerance):
    if got.shape != wanted.shape:
        return math.inf
    if wanted.dtype.kind != "f":
        return float(np.count_nonzero(got != wanted))
    with np.errstate(all="ignore"):
        finite = np.isfinite(wanted)
        near = finite & (np.abs(got - wanted) <= tolerance[0] * np.abs(wanted) + tolerance[1])
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | near
        scale = max(float(np.max(np.abs(wanted[finite]), initial=0)), 1e-6)
        off = np.where(same, 0, np.abs(got.astype(np.float64) - wanted.astype(np.float64)) / scale)
        off = np.where(np.isnan(off), math.inf, off)
    return float(np.max(off, initial=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--chip", default="bm1684x")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--only", default="*")
    parser.add_argument("--every", type=int, default=1, help="a sample: each Nth of the tests by name")
    parser.add_argument("--refusals", action="store_true", help="say each")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as plugins:
        for name in ("optima_bmcompiler.so", "optima_bmcompiler_runner", "optima_reference.so"):  # others take time to look around
            shutil.copy2(args.build / "lib/optima/plugins" / name, plugins)
        return sweep_all(args, Sweep(args, plugins))


def sweep_all(args, sweep):
    groups = collections.defaultdict(list)
    for case in cases(args.only, args.every):
        groups[case.version].append(case)
    whole = [group[k : k + 100] for group in groups.values() for k in range(0, len(group), 100)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(sweep.asked, whole))
        refused = [(case, why) for group, said in zip(whole, answers) for case, why in zip(group, said) if why]
        taken = collections.defaultdict(list)
        for group, said in zip(whole, answers):
            for case, why in zip(group, said):
                if not why:
                    taken[case.version].append(case)
        runs = [group[k : k + BESIDE] for group in taken.values() for k in range(0, len(group), BESIDE)]
        found = []
        for group, all_of in zip(runs, pool.map(sweep.run, runs)):  # told as they are found: a sweep takes long
            for case, f in zip(group, all_of):
                found.append((case, f))
                if isinstance(f, str) or f > sweep.bound:
                    print(f"WRONG    {case.name}{' (constants)' if case.frozen else ''}: {f}", flush=True)
            print(f"{len(found)} ran", file=sys.stderr, flush=True)

    wrong = [(case, f) for case, f in found if isinstance(f, str) or f > sweep.bound]
    if args.refusals:
        for case, why in refused:
            print(f"refused  {case.name}{' (constants)' if case.frozen else ''}: {why}")
    good = {case.name for case, f in found if not isinstance(f, str) and f <= sweep.bound}
    bad = {case.name for case, _ in wrong}
    names = good | bad | {case.name for case, _ in refused}
    print(f"{args.chip} {args.precision}: {len(names)} node tests, {len(good - bad)} supported, {len(names - good - bad)} refused, {len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
