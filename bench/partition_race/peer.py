#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One partitioner on one graph, in a process of its own: peer.py NAME GRAPH.npz OUT.npy LIMIT. Prints a JSON line with the CPU milliseconds of
the partition call alone, the MiB it took at its peak above what was there before, and the peer's version; writes the group of every
node to OUT (-1 = host). Killed by SIGALRM when the call takes longer than LIMIT seconds on the clock."""
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from graphs import Graph


def memory(key):
    """KiB; as in /proc/self/status."""
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1])


class Measure:
    """Takes the CPU time of a block and its peak memory (proc(5): writing 5 to clear_refs resets the peak)."""

    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        signal.setitimer(signal.ITIMER_REAL, self.limit)
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        self.before, self.start, self.end = memory("VmRSS"), time.process_time(), None
        return self

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.ms = ((self.end or time.process_time()) - self.start) * 1e3
        self.mib = (memory("VmHWM") - self.before) / 1024


def torch_fx(graph, measure):
    """torch.fx.passes.infra.partitioner.CapabilityBasedPartitioner on an FX graph of the same nodes."""
    import torch
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupportBase

    def operator(*_):
        raise AssertionError("nobody runs this graph")

    fx = torch.fx.Graph()
    source, nodes, index = fx.placeholder("x"), [], {}
    for k, producers in enumerate(graph.producers()):
        nodes.append(fx.call_function(operator, tuple(nodes[p] for p in producers) or (source,)))
        index[nodes[-1]] = k
    read = {p for producers in graph.producers() for p in producers}
    fx.output(tuple(node for k, node in enumerate(nodes) if k not in read))

    class Support(OperatorSupportBase):
        def is_node_supported(self, _, node):
            return node in index and bool(graph.supported[index[node]])

    module = torch.fx.GraphModule(torch.nn.Module(), fx)
    with measure:
        partitions = CapabilityBasedPartitioner(module, Support(), allows_single_node_partition=True).propose_partitions()
    group = np.full(graph.nodes, -1)
    for number, partition in enumerate(partitions):
        for node in partition.nodes:
            group[index[node]] = number
    return group, {"version": torch.__version__}


def onnxruntime_wave(graph, measure):
    """ONNX Runtime's own Python twin of CreateSupportedPartitionNodeGroups (its mobile usability checker). The C++ function runs
    inside execution providers. The wheel has none that takes a mask, and a provider library of ours could not hand it one: what
    EpGraphSupportInfo_AddNodesToFuse is given must come out as one group, else the runtime logs "set nodes that cannot be fused
    together" and drops the provider's answer."""
    import onnxruntime
    from onnxruntime.tools.mobile_helpers import usability_checker

    class Node:
        op_type, domain, input, attribute = "Node", "", (), ()

        def __init__(self, index):
            self.index = index

    class Support:
        def is_op_supported(self, node):
            return bool(graph.supported[node.index])

    class Nodes:
        initializer = ()
        node = [Node(k) for k in range(graph.nodes)]

    lists = graph.producers()
    producers = {Nodes.node[k]: [Nodes.node[p] for p in found] for k, found in enumerate(lists)}
    consumers = {node: [] for node in Nodes.node}
    for k, found in enumerate(lists):
        for p in found:
            consumers[Nodes.node[p]].append(Nodes.node[k])
    with measure:
        info = usability_checker._check_partitioning_for_graph(Nodes, producers, consumers, Support(), set(), False, {})
    group = np.full(graph.nodes, -1)
    for number, nodes in enumerate(info.supported_groups):
        for node in nodes:
            group[node.index] = number
    return group, {"version": onnxruntime.__version__}


def openvino_hetero(graph, measure):
    """OpenVINO's HETERO with the mask as manual affinity, on a model of the same nodes: n-ary Einsum products of eight numbers. Its CPU
    plugin is the host and, registered a second time, the accelerator. HETERO says by dumps (OPENVINO_HETERO_VISUALIZE) which node is in
    which subgraph: one dump when affinities are known, one when the subgraphs are. The time between the two is the partition; nobody waits
    for the compilation behind."""
    import openvino
    from openvino import opset13 as op
    os.environ["OPENVINO_HETERO_VISUALIZE"] = "1"
    affinity = ["CPUB" if supported else "CPU" for supported in graph.supported]
    source, made, read = op.parameter([8], np.float32), [], set()
    for k, producers in enumerate(graph.producers()):
        inputs = [made[p] for p in producers] or [source]
        made.append(op.relu(inputs[0]) if len(inputs) == 1 else op.einsum(inputs, ",".join("a" * len(inputs)) + "->a"))
        made[-1].set_friendly_name(f"node_{k}")
        read.update(producers)
    results = {k: op.result(node) for k, node in enumerate(made) if k not in read}
    for k, node in [*enumerate(made), *results.items()]:
        node.get_rt_info()["affinity"] = affinity[k]
    source.get_rt_info()["affinity"] = affinity[0]
    model = openvino.Model(list(results.values()), [source], "race")
    core = openvino.Core()
    core.register_plugin(str(pathlib.Path(openvino.__file__).parent / "libs/libopenvino_intel_cpu_plugin.so"), "CPUB")
    failed = []

    def compile_model():
        try:
            core.compile_model(model, "HETERO:CPUB,CPU")
        except RuntimeError as error:
            failed.append(str(error).strip().splitlines()[-1])

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with measure:
            threading.Thread(target=compile_model, daemon=True).start()
            text = dumped(failed, measure)
    group = np.full(graph.nodes, -1)
    for node, subgraph in re.findall(r'label="node_(\d+)\\n.*?\\nsubgraph=(\d+)\\n', text):
        group[int(node)] = int(subgraph) if graph.supported[int(node)] else -1
    return group, {"version": openvino.__version__.partition("-")[0]}


def dumped(failed, measure):
    """Waits for HETERO's two dumps; gives the second one's text and sets the clock to the time between them."""
    first, second = pathlib.Path("hetero_affinity_race.dot"), pathlib.Path("hetero_subgraphs_race.dot")
    size, measure.start = 0, None
    while not second.exists():
        if failed:
            sys.exit(failed[0])
        if first.exists() and first.stat().st_size != size:
            size, measure.start = first.stat().st_size, time.process_time()
        time.sleep(0.0001)
    measure.end = time.process_time()
    while not (text := second.read_text()).endswith("}\n"):
        time.sleep(0.01)
    return text


PEERS = {"torch": torch_fx, "onnxruntime": onnxruntime_wave, "openvino": openvino_hetero}


def main():
    name, source, out, limit = sys.argv[1:]
    sys.setrecursionlimit(1_000_000)
    measure = Measure(float(limit))
    group, told = PEERS[name](Graph.load(source), measure)
    np.save(out, group)
    print(json.dumps({"ms": measure.ms, "mib": measure.mib, **told}), flush=True)
    os._exit(0)  # without the teardown of a million objects


if __name__ == "__main__":
    main()
