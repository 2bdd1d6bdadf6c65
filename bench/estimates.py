#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench: how far the latency objective's estimates are from measured latency.

    .deps/py/bin/python bench/estimates.py build/release build/models [MODEL ...] [--repeat N]

Each model is measured whole on llvm_cpu and on openvino (bench --write-costs). From these costs alone the estimates of other plans are made:
the latency plan, and plans whose nodes go to the two devices in 2, 4 and 8 blocks. Every plan is then run: estimate, measurement, ratio.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

LLVM, OPENVINO = "llvm_cpu/X64:0", "openvino/X64:0"


class Bench:
    def __init__(self, build, folder, repeat):
        self.host, self.folder, self.repeat = build / "bin/optima-host", pathlib.Path(folder), repeat

    def run(self, *words):
        done = subprocess.run([self.host, "--plugins", self.host.parent.parent / "lib/optima/plugins", *words], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def compile(self, model, name, *words):
        self.run("compile", model, "-o", self.folder, "--name", name, "--force", *words)
        return self.folder / name

    def measure(self, package, *words):
        return json.loads(self.run("bench", package, "--json", "--repeat", str(self.repeat), *words))["milliseconds"]["p50"]

    def whole(self, model, name, device):
        package, costs = self.compile(model, name, "--require-device", device), self.folder / f"{name}.json"
        ms = self.measure(package, "--write-costs", costs)
        return ms, costs, [node["name"] for node in json.loads((package / "placement.json").read_text())["nodes"]]

    def planned(self, model, name, costs, alloc=None):
        words = [word for file in costs for word in ("--costs", file)]
        if alloc:
            path = self.folder / "alloc.json"
            path.write_text(json.dumps(alloc))
            words += ["--alloc", path]
        package = self.compile(model, name, "--objective", "latency", "--device", f"{LLVM},{OPENVINO}", *words)
        plan = json.loads((package / "placement.json").read_text())
        return len(plan["subgraphs"]), plan["estimate"]["microseconds"] / 1e3, self.measure(package)


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(a, b):
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    return sum((x - ma) * (y - mb) for x, y in zip(a, b)) / (sum((x - ma) ** 2 for x in a) * sum((y - mb) ** 2 for y in b)) ** 0.5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=["squeezenet", "mobilenet_v2", "shufflenet_v2", "unet"])
    parser.add_argument("--repeat", type=int, default=50)
    options = parser.parse_args()
    print("| model | plan | subgraphs | estimate ms | measured ms | measured/estimate |\n|---|---|---|---|---|---|")
    estimates, measured = [], []
    for name in options.names or []:
        model = options.models / f"{name}.ts.onnx"
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options.build, folder, options.repeat)
            llvm, llvm_costs, nodes = bench.whole(model, "llvm", LLVM)
            openvino, openvino_costs, _ = bench.whole(model, "openvino", OPENVINO)
            print(f"| {name} | llvm_cpu alone | 1 | | {llvm:.3f} | |\n| {name} | openvino alone | 1 | | {openvino:.3f} | |")
            plans = [("latency", None)]
            for blocks in (2, 4, 8):
                plans.append((f"{blocks} blocks", {node: (LLVM, OPENVINO)[i * blocks // len(nodes) % 2] for i, node in enumerate(nodes)}))
            for label, alloc in plans:
                parts, estimate, ms = bench.planned(model, "planned", [llvm_costs, openvino_costs], alloc)
                estimates.append(estimate), measured.append(ms)
                print(f"| {name} | {label} | {parts} | {estimate:.3f} | {ms:.3f} | {ms / estimate:.2f} |", flush=True)
    print(f"\n{len(estimates)} plans: correlation {correlation(estimates, measured):.3f}, of ranks {correlation(ranks(estimates), ranks(measured)):.3f}")


if __name__ == "__main__":
    main()
