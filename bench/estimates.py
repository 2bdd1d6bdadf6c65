#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench: how far the latency objective's estimates are from measured latency.

    .deps/py/bin/python bench/estimates.py build/release build/models [MODEL ...] [--repeat N] [--rounds N]

`calibrate-costs` measures each model whole and in 6 blocks on llvm_cpu and openvino. From these costs alone the estimates of other plans are
made: everything on one device, the latency plan, and plans whose nodes go to the two devices in 2, 4 and 8 blocks, from either. Every plan is
then run, all of a model in turns; the least of the medians counts. Printed: estimate, measurement, ratio, and how both order the plans.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

LLVM, OPENVINO = "llvm_cpu/X64:0", "openvino/X64:0"


class Bench:
    def __init__(self, build, folder, options):
        self.host, self.folder, self.options = build / "bin/optima-host", pathlib.Path(folder), options

    def run(self, *words):
        done = subprocess.run([self.host, "--plugins", self.host.parent.parent / "lib/optima/plugins", *words], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def calibrate(self, model):
        costs = self.folder / "costs.json"
        self.run("calibrate-costs", model, "-o", costs, "--device", f"{LLVM},{OPENVINO}", "--rounds", str(self.options.rounds),
                 "--repeat", str(self.options.repeat))
        return costs

    def compile(self, model, costs, name, alloc):
        words = []
        if alloc:
            path = self.folder / f"{name}.alloc.json"
            path.write_text(json.dumps(alloc))
            words = ["--alloc", path]
        self.run("compile", model, "-o", self.folder, "--name", name, "--force", "--objective", "latency", "--costs", costs,
                 "--device", f"{LLVM},{OPENVINO}", *words)
        return self.folder / name

    def measure(self, package):
        return json.loads(self.run("bench", package, "--json", "--repeat", str(self.options.repeat)))["milliseconds"]["p50"]


def plan_of(package):
    return json.loads((package / "placement.json").read_text())


def allocations(names):
    plans = {"latency": None, "llvm_cpu alone": {"*": LLVM}, "openvino alone": {"*": OPENVINO}}
    for blocks in (2, 4, 8):
        for start in (0, 1):
            plans[f"{blocks} blocks{', openvino first' if start else ''}"] = {
                name: (LLVM, OPENVINO)[(i * blocks // len(names) + start) % 2] for i, name in enumerate(names)}
    return plans


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(a, b):
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    return sum((x - ma) * (y - mb) for x, y in zip(a, b)) / (sum((x - ma) ** 2 for x in a) * sum((y - mb) ** 2 for y in b)) ** 0.5


def both(estimates, measured):
    return f"correlation {correlation(estimates, measured):.3f}, of ranks {correlation(ranks(estimates), ranks(measured)):.3f}"


def estimate_and_measure(bench, model):
    """[(label, subgraphs, estimate ms, measured ms)]"""
    costs = bench.calibrate(model)
    packages = {"latency": bench.compile(model, costs, "latency", None)}
    names = [node["name"] for node in plan_of(packages["latency"])["nodes"]]
    for label, alloc in allocations(names).items():
        packages.setdefault(label, bench.compile(model, costs, label.replace(" ", "_"), alloc))
    least = {}
    for _ in range(bench.options.rounds):
        for label, package in packages.items():
            ms = bench.measure(package)
            least[label] = min(ms, least.get(label, ms))
    plans = {label: plan_of(package) for label, package in packages.items()}
    return [(label, len(plan["subgraphs"]), plan["estimate"]["microseconds"] / 1e3, least[label]) for label, plan in plans.items()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=["squeezenet", "mobilenet_v2", "resnet18", "efficientnet"])
    parser.add_argument("--repeat", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}\n\n| model | plan | subgraphs | estimate ms | measured ms | measured/estimate |\n|---|---|---|---|---|---|")
    all_plans, notes = [], []
    for name in options.names:
        with tempfile.TemporaryDirectory() as folder:
            plans = estimate_and_measure(Bench(options.build, folder, options), options.models / f"{name}.ts.onnx")
        for label, parts, estimate, ms in plans:
            print(f"| {name} | {label} | {parts} | {estimate:.3f} | {ms:.3f} | {ms / estimate:.2f} |", flush=True)
        measured = {label: ms for label, _, _, ms in plans}
        alone = min(measured["llvm_cpu alone"], measured["openvino alone"])
        notes.append(f"{name}: {both(*zip(*[plan[2:] for plan in plans]))}; latency plan {measured['latency'] / alone:.2f} x the best device alone")
        all_plans += plans
    print("\n" + "\n".join(notes))
    print(f"all {len(all_plans)} plans: {both(*zip(*[plan[2:] for plan in all_plans]))}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
