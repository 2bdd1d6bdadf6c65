#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a picture of a plan costs: `view` to a page and to DOT, and Graphviz' `dot` on the same graph, in CPU seconds (which other load
does not change much) and peak memory. Also `explain --what-if`, which splits once per refused (device, operator, reason).

  bench/view.py build/release [--limit SECONDS]      the time that `dot` gets per graph, default 120
"""
import argparse
import itertools
import json
import os
import random
import resource
import subprocess
import tempfile

DEVICES = ["NPU:0", "GPU:0", "CPU:0", "DSP:0"]
OPERATORS = ["Conv", "Relu", "Add", "MatMul", "Softmax", "Concat", "Sigmoid", "Mul"]


def answers(node, device, devices):
    """What each device says: its own always yes, the others no to every third node."""
    out = {}
    for index, name in enumerate(devices):
        yes = index == device or (node + index) % 3 != 0
        out[name] = {"yes": True} if yes else {"yes": False, "reason": "DTYPE", "text": "input 0 is f32, wanted f16"}
    return out


def made_plan(count, devices, seed=5):
    """A plan of `count` nodes with mostly short edges, in runs on changing devices: a document as `plan -o` writes it."""
    rng = random.Random(seed)
    nodes, subgraphs, cuts = [], [], []
    tensors = [{"name": "input", "type": "f32[1,64]", "value": 0, "bytes": 256, "to": []}]
    device = 0
    for n in range(count):
        if n == 0 or rng.random() < max(1 / 80, 6 / count):
            device = rng.choice([d for d in range(len(devices)) if d != device])
            subgraphs.append({"index": len(subgraphs), "device": devices[device], "nodes": 0, "inputs": [], "outputs": []})
        subgraphs[-1]["nodes"] += 1
        reads = {n} | ({max(0, n - rng.randrange(1, 40 if rng.random() < 0.1 else 6))} if rng.random() < 0.4 else set())
        for t in reads:
            tensors[t]["to"].append(n)
        op = rng.choice(OPERATORS)
        nodes.append({"name": f"layer.{n // 40}/{op}_{n}", "id": n, "op": op, "device": devices[device], "subgraph": len(subgraphs) - 1,
                      "why": "fewer-parts", "sentence": f"it makes fewer subgraphs on {devices[device]}", "answers": answers(n, device, devices)})
        tensors.append({"name": f"layer.{n // 40}/{op}_{n}_out", "type": "f32[1,64]", "value": n + 1, "bytes": 256, "from": n, "to": []})
    tensors[-1]["output"] = True
    for t in tensors[1:]:
        home = nodes[t["from"]]["subgraph"]
        to = sorted({nodes[n]["subgraph"] for n in t["to"]} - {home})
        if to:
            cuts.append({"name": t["name"], "value": t["value"], "from": home, "to": to, "bytes": t["bytes"]})
    return {"format": 1, "model": {"name": f"made-{count}", "hash": "0" * 64}, "lower_bound": 1, "exact": False,
            "bytes": sum(c["bytes"] * len(c["to"]) for c in cuts),
            "devices": [{"name": d, "full_name": f"plugin/{d}", "plugin": "plugin", "rule": "the only one", "only_named": False, "kind": d.split(":")[0],
                         "slot": 0, "attributes": {}, "memory_limit": 0} for d in devices],
            "subgraphs": subgraphs, "nodes": nodes, "cuts": cuts, "tensors": tensors, "question": question(nodes, tensors, devices), "notes": []}


def question(nodes, tensors, devices):
    """What the splitter is asked of nodes that move one by one, without limits: docs/placement-format.md."""
    read = [t for t in tensors if "from" in t and t["to"]]
    first_tensor, first_reader = [0] * (len(nodes) + 1), [0]
    for t in read:
        first_tensor[t["from"] + 1] = 1
        first_reader.append(first_reader[-1] + len(t["to"]))
    return {"rules": [{"limit": 2 ** len(devices) - 1}],
            "allow": [sum(node["answers"][d]["yes"] << i for i, d in enumerate(devices)) for node in nodes],
            "readers": [n for t in read for n in sorted(t["to"])], "first_tensor": list(itertools.accumulate(first_tensor)),
            "first_reader": first_reader, "bytes": [t["bytes"] for t in read], "values": [t["value"] for t in read]}


def timed(plan, seed=1):
    """The same plan as one by time: costs of every answer, launches and links."""
    rng = random.Random(seed)
    for node in plan["nodes"]:
        for answer in node["answers"].values():
            answer.update(microseconds=rng.randint(1, 100), cost_source="given")
    names = [device["name"] for device in plan["devices"]]
    plan["estimate"] = {"compute": 1, "launch": 1, "transfer": 1, "bound": 1,
                        "devices": {name: {"compute": 1, "launch": 1, "each_launch": 10, "transfer": 1} for name in names}}
    pairs = len(names) ** 2
    plan["question"]["costs"] = {"launch": [10] * len(names), "latency": [5] * pairs, "per_byte": [0.001] * pairs}
    return plan


def cost(words, limit=None):
    """(CPU seconds, peak MiB) of a program, or None when it did not end in time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--limit", type=float, default=120)
    options = parser.parse_args()
    host = os.path.join(options.build, "bin/optima-host")
    print("load", os.getloadavg()[0])
    with tempfile.TemporaryDirectory() as folder:
        plan, page, dot, svg = (os.path.join(folder, n) for n in ("plan.json", "p.html", "p.dot", "p.svg"))
        for count in (10, 300, 1000, 5000):
            with open(plan, "w", encoding="utf-8") as file:
                json.dump(made_plan(count, DEVICES), file)
            drawn = cost([host, "view", plan, "-o", page])
            cost([host, "view", plan, "-o", dot])
            graphviz = cost(["dot", "-Tsvg", "-o", svg, dot], options.limit)
            size = os.path.getsize(page) / 1024
            theirs = f"{graphviz[0]:.2f} s" if graphviz else f"not done after {options.limit:.0f} s"
            print(f"{count:6} nodes  page {drawn[0]:.3f} s, {drawn[1]:.0f} MiB, {size:.0f} KiB   dot -Tsvg {theirs}")
        for count, devices in ((100000, 2), (100000, 4)):
            with open(plan, "w", encoding="utf-8") as file:
                json.dump(made_plan(count, DEVICES[:devices]), file)
            asked = cost([host, "explain", plan, "--what-if"])
            cases = len(json.loads(subprocess.run([host, "explain", plan, "--what-if", "--json"], check=True, capture_output=True).stdout)["cases"])
            print(f"{count:6} nodes, {devices} devices: what-if, {cases} cases, {asked[0]:.2f} s, {asked[1]:.0f} MiB")
        for count, devices in ((10000, 2), (100000, 2), (10000, 4)):
            with open(plan, "w", encoding="utf-8") as file:
                json.dump(timed(made_plan(count, DEVICES[:devices])), file)
            asked = cost([host, "explain", plan, "--what-if"])
            print(f"{count:6} nodes, {devices} devices: what-if by time, {asked[0]:.2f} s, {asked[1]:.0f} MiB")


if __name__ == "__main__":
    main()
