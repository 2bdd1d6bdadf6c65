#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `optima-host plan` takes on a large ONNX file, table and plan.json included.

  .deps/py/bin/python bench/plan_scale.py build/release [NODES...]     (default 10000 100000)

Writes a chain of NODES element-wise operators in which half of the nodes also read one of the last 32 tensors, then plans it over
X64:0 and REF:0 with every Softmax and Erf pinned to REF:0, the rest to X64:0. Prints wall time, the host's own timings, peak memory, subgraphs."""
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

from onnx import TensorProto, helper


def write_model(path, count):
    draw = random.Random(count)
    names, nodes = ["x"], []
    for i in range(count):
        op = draw.choice(["Relu", "Tanh", "Add", "Mul", "Sigmoid", "Softmax", "Erf", "Add"])
        inputs = [names[-1]]
        if op in ("Add", "Mul"):
            inputs.append(draw.choice(names[-32:]) if draw.random() < 0.8 else "w")
        names.append(f"t{i}")
        nodes.append(helper.make_node(op, inputs, [names[-1]], name=f"{op.lower()}_{i}"))
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4], [1, 2, 3, 4])
    tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph(nodes, "large", [tensor("x")], [tensor(names[-1])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


def measure(build, count, folder):
    model, plan, alloc = (os.path.join(folder, name) for name in ("large.onnx", "plan.json", "alloc.json"))
    write_model(model, count)
    with open(alloc, "w") as f:
        json.dump({"op:Softmax": "REF:0", "op:Erf": "REF:0", "*": "X64:0"}, f)
    host, words = [f"{build}/bin/optima-host", "--plugins", f"{build}/lib/optima/plugins"], ["plan", model, "--device", "X64:0,REF:0", "--alloc", alloc]
    start = time.monotonic()
    subprocess.run(host + words + ["-o", plan], check=True, capture_output=True)
    wall = time.monotonic() - start
    document = json.loads(subprocess.run(host + ["--json"] + words, check=True, capture_output=True, text=True).stdout)
    steps = {key[:-3]: round(ms) for key, ms in document["timings"].items() if ms}
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"{count:8} nodes: {wall:6.2f} s, {peak} MiB, {len(document['subgraphs'])} subgraphs (bound {document['lower_bound']}), ms by step {steps}, "
          f"plan.json {os.path.getsize(plan) / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        for count in [int(n) for n in sys.argv[2:]] or [10000, 100000]:
            measure(sys.argv[1], count, folder)
