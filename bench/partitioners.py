#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Partitioners side by side: the same nodes, the same support mask, one accelerator and a host.

    scripts/setup --with peers
    ninja -C build/release split_graph
    .deps/py/bin/python bench/partitioners.py build/release [--limit 60] [--nodes 1000,10000,100000,1000000] [GRAPH ...]

Every partitioner gets a graph in a process of its own, and its partition call alone is measured: CPU time, which other work on the
machine disturbs less than the clock, and the peak of memory above what the process held before. What it answers is judged by
bench/partition_race/check.py: are the parts runnable one after another, how many are there, and how many bytes cross. Peers make
accelerator parts only; the checker gives them the best host parts it knows. Calls that take longer than the limit (seconds on the clock)
are killed and printed as such, and larger random graphs of the kind are then left out. Peers: torch's CapabilityBasedPartitioner, ONNX
Runtime's partitioning helper in its Python form, OpenVINO's HETERO; bench/partition_race/peer.py says how each is driven. Masks: npu,
what an invented accelerator takes (graphs.py), on the networks; and a random 10 or 30 % of the nodes on the host.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "partition_race"))
from check import judge_groups, judge_parts, self_test
from graphs import from_lists, from_onnx, random_graph, random_mask

DEPS = HERE.parent / ".deps"
PYTHONS = {"torch": DEPS / "py/bin/python", "onnxruntime": DEPS / "py/bin/python", "openvino": DEPS / "peers/bin/python"}
NETS = ["ssdlite", "mask_rcnn", "swin", "vit", "bert"]
WINDOWS = [32, 0]
PERCENTS = [10, 30]


def ours(build, graph, folder, limit):
    """None = over the limit."""
    graph.write(folder / "graph.bin")
    words = [build / "bin/split_graph", folder / "graph.bin", folder / "parts"]
    try:
        ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    ms, mib, parts, bound, bytes_told = map(float, ran.stdout.split())
    part = np.fromfile(folder / "parts", "<u4").astype(np.int64)
    verdict = judge_parts(graph, part)
    if (verdict["total"], verdict["bytes"]) != (parts, bytes_told):
        raise SystemExit(f"{graph.name}: the splitter says {parts:.0f} parts and {bytes_told:.0f} bytes, the checker {verdict}")
    return {"ms": ms, "mib": mib, "note": f"proven minimum {bound:.0f}", **verdict}


def peer(name, graph, folder, limit):
    """None = over the limit."""
    graph.save(folder / "graph.npz")
    words = [PYTHONS[name], "-B", HERE / "partition_race/peer.py", name, folder / "graph.npz", folder / "group.npy", str(limit)]
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode == -signal.SIGALRM:
        return None
    if ran.returncode:
        reason = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
        return {"note": f"failed: {reason[:60]}"}
    told = json.loads(ran.stdout.splitlines()[-1])
    return {**told, "note": told["version"], **judge_groups(graph, np.load(folder / "group.npy"))}


def row(graph, mask, name, result):
    number = lambda key, form: format(result[key], form) if result.get(key) is not None else "-"
    cyclic = {True: "CYCLIC", False: "no"}.get(result.get("cyclic"), "-")
    print(f"{graph.name:20} {mask:6} {graph.nodes:9,} {name:12} {number('accelerator', ','):>11} {number('total', ','):>8} "
          f"{number('bytes', ','):>15} {number('ms', ',.2f'):>12} {number('mib', ',.1f'):>9} {cyclic:>7}  {result.get('note', '')}", flush=True)


def graphs(args, folder):
    """(graph, mask's name); random graphs of a kind by size."""
    chosen = lambda name: not args.graphs or name in args.graphs
    nets = [name for name in NETS if chosen(name)]
    if nets:
        subprocess.run([PYTHONS["torch"], "-B", HERE / "partition_race/nets.py", folder, *nets], check=True)
    for name in nets:
        graph = from_onnx(folder / f"{name}.onnx")
        yield graph, "npu"
        for percent in PERCENTS:
            yield random_mask(graph, percent), f"{percent} %"
    for window in WINDOWS if chosen("random") else ():
        for percent in PERCENTS:
            for nodes in map(int, args.nodes.split(",")):
                yield random_mask(random_graph(nodes, window), percent), f"{percent} %"


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown CPU")
    return f"{cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("graphs", nargs="*", help=f"{', '.join(NETS)}, random; default all")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one partitioner on one graph")
    parser.add_argument("--nodes", default="1000,10000,100000,1000000")
    args = parser.parse_intermixed_args()
    self_test(from_lists)
    print(machine())
    print(f"{'graph':20} {'host':6} {'nodes':>9} {'partitioner':12} {'accelerator':>11} {'parts':>8} {'bytes':>15} {'CPU ms':>12} {'MiB':>9} "
          f"{'cyclic':>7}")
    over = set()  # (kind of graph, peer)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        for graph, mask in graphs(args, folder):
            over_limit = {"note": f"> {args.limit:.0f} s"}
            row(graph, mask, "optima", ours(args.build, graph, folder, args.limit) or over_limit)
            for name in PYTHONS:
                kind = (graph.name, mask, name)
                if kind in over:
                    continue
                result = peer(name, graph, folder, args.limit)
                if result is None:
                    over.add(kind)
                row(graph, mask, name, result or over_limit)
    print(machine())


if __name__ == "__main__":
    main()
