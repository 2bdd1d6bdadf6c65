# SPDX-License-Identifier: Apache-2.0
"""Graphs with a support mask, as every partitioner of the race gets them: from an ONNX file, or random."""
import dataclasses

import numpy as np

# What an invented NPU takes, when every result is floating: the rest runs on the host, such as NonMaxSuppression, TopK, Resize, RoiAlign,
# Gather, Where, Erf (of Gelu), and all arithmetic on shapes.
ACCELERATED = set("""Conv ConvTranspose Gemm MatMul Add Sub Mul Div Pow Sqrt Exp Neg Relu Clip Sigmoid Tanh HardSigmoid HardSwish Softmax
    LayerNormalization MaxPool AveragePool GlobalAveragePool ReduceMean BatchNormalization Concat Reshape Flatten Transpose Squeeze Unsqueeze
    Slice Split Pad Identity""".split())


@dataclasses.dataclass
class Graph:
    """Nodes in topological order; tensors by producer; constants and model inputs are no tensors."""
    name: str
    supported: np.ndarray     # bool, by node
    first_tensor: np.ndarray  # by node, one more at the end
    first_reader: np.ndarray  # by tensor, one more at the end
    readers: np.ndarray       # nodes, each once per tensor
    bytes: np.ndarray         # by tensor

    @property
    def nodes(self):
        return len(self.supported)

    def edges(self):
        """(producer, reader) of every pair of a tensor and one of its readers."""
        tensors = np.repeat(np.arange(len(self.bytes)), np.diff(self.first_reader))
        owner = np.repeat(np.arange(self.nodes), np.diff(self.first_tensor))
        return owner[tensors], self.readers

    def producers(self):
        """Per node the nodes it reads from, ascending, each once."""
        out = [set() for _ in range(self.nodes)]
        for producer, reader in zip(*map(np.ndarray.tolist, self.edges())):
            out[reader].add(producer)
        return [sorted(p) for p in out]

    def write(self, path):
        """As bench/split_graph.cpp reads it."""
        with open(path, "wb") as file:
            for array, kind in (([self.nodes, len(self.bytes), len(self.readers)], "u4"), (self.supported, "u1"), (self.first_tensor, "u4"),
                                (self.first_reader, "u4"), (self.readers, "u4"), (self.bytes, "u8")):
                file.write(np.asarray(array, "<" + kind).tobytes())

    def save(self, path):
        np.savez(path, **dataclasses.asdict(self))

    @staticmethod
    def load(path):
        with np.load(path) as file:
            return Graph(str(file["name"]), *(file[field.name] for field in dataclasses.fields(Graph)[1:]))


def from_lists(name, supported, outputs):
    """outputs: per node a list of (bytes, readers)."""
    tensors = [tensor for node in outputs for tensor in node]
    ends = lambda sizes: np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    return Graph(name, np.asarray(supported, bool), ends([len(node) for node in outputs]), ends([len(readers) for _, readers in tensors]),
                 np.asarray([r for _, readers in tensors for r in readers], np.int64), np.asarray([size for size, _ in tensors], np.int64))


def from_onnx(path):
    """All nodes but Constants. Tensors have the sizes that they have when ONNX Runtime runs the sample beside the file (<stem>.npz)."""
    import onnx
    model = onnx.load(path)
    values = values_by_running(model, path.with_suffix(".npz"))
    nodes = [node for node in model.graph.node if node.op_type != "Constant"]
    readers = {}
    for k, node in enumerate(nodes):
        for value in dict.fromkeys(node.input):
            readers.setdefault(value, []).append(k)
    outputs = [[(values[value].nbytes, readers.get(value, [])) for value in node.output if value] for node in nodes]
    floating = [all(values[value].dtype.kind == "f" for value in node.output if value) for node in nodes]
    return from_lists(path.stem, [node.op_type in ACCELERATED and f for node, f in zip(nodes, floating)], outputs)


def values_by_running(model, sample):
    """Every value of the main graph."""
    import onnx
    import onnxruntime
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    names = [value for node in model.graph.node for value in node.output if value]
    del whole.graph.output[:]
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
    with np.load(sample) as inputs:
        return dict(zip(names, session.run(names, dict(inputs))))


def random_mask(graph, host_percent, seed=1):
    """The same graph with that share of its nodes on the host, drawn anew."""
    random = np.random.default_rng([seed, graph.nodes, host_percent])
    return dataclasses.replace(graph, supported=random.integers(0, 100, graph.nodes) >= host_percent)


def random_graph(nodes, window, seed=1):
    """At most two producers a node, among the last `window` nodes (0 = all before); one tensor a node, 1 to 4096 bytes. No mask yet."""
    random = np.random.default_rng([seed, nodes, window])
    reader = np.repeat(np.arange(1, nodes), 2)
    reach = np.minimum(reader, window) if window else reader
    producer = reader - 1 - (random.random(len(reader)) * reach).astype(np.int64)
    pairs = np.unique(np.stack([producer, reader], 1), axis=0)
    first = np.searchsorted(pairs[:, 0], np.arange(nodes + 1))
    return Graph(f"random, {f'window {window}' if window else 'global'}", np.ones(nodes, bool), np.arange(nodes + 1), first, pairs[:, 1],
                 random.integers(1, 4097, nodes))
