# SPDX-License-Identifier: Apache-2.0
"""An ONNX model as a networkx graph in OptimaV2's form: operations and tensors as nodes, one running number in their names. Needs onnx and
networkx.

An operation stands for all ONNX nodes that one call of torch became, as the exporter's notes tell; without notes for one ONNX node.
"""
import itertools
import re

import onnx

from optima._bad_input import bad_input

FORMAT = 1
CALL = re.compile(r"target=(?:torch\.ops\.)?([\w.]+)\]")
# Calls of torch that people know under another name.
ALIASES = {"native_batch_norm_legit_no_training": "batch_norm", "native_layer_norm": "layer_norm", "convolution": "conv2d", "addmm": "linear", "unsafe_view": "view"}
LIMIT = (1 << 31) - (1 << 20)  # bytes: where protobuf ends


def graph_of(model, name, hidden=(), channels_last=False):
    """The DiGraph of a ModelProto, which it changes: nodes without a name of their own get one. hidden: initializers that are arguments of
    operations and no tensors of the graph. channels_last: 4-D inputs and outputs become NHWC."""
    import networkx
    if channels_last:
        flip(model.graph)
    name_nodes(model.graph)
    graph = networkx.DiGraph()
    Builder(model.graph, graph, hidden).build()
    if model.ByteSize() > LIMIT:
        raise bad_input(f"model {name} has {model.ByteSize()} bytes, wanted less than 2 GiB for a graph that holds it")
    graph.graph.update({"optima": FORMAT, "name": name, "onnx": model.SerializeToString(),
                        "inputs": [v.name for v in model.graph.input], "outputs": [v.name for v in model.graph.output]})
    return graph


def template(graph, default_device):
    """Operation -> <default_device>:0, in topological order."""
    import networkx
    if not isinstance(default_device, str) or not re.fullmatch(r"[\w/]+", default_device):
        raise bad_input(f"default device is {default_device!r}, wanted a kind, as X64")
    return {name: f"{default_device}:0" for name in networkx.topological_sort(graph) if is_operation(graph, name)}


def is_operation(graph, name):
    data = graph.nodes[name].get("data")
    return isinstance(data, dict) and data.get("kind") == "OpNode"


def operations(graph):
    """Operation -> names of the ONNX nodes that it stands for; [] in graphs of earlier systems."""
    return {name: list(graph.nodes[name]["data"].get("onnx", ())) for name in graph if is_operation(graph, name)}


def name_nodes(graph):
    """Gives nodes without a name, or with another's, one that no other node has."""
    every, taken = {node.name for node in graph.node}, set()
    for i, node in enumerate(graph.node):
        if not node.name or node.name in taken:
            names = itertools.chain([f"{node.op_type.lower()}_{i}"], (f"{node.op_type.lower()}_{i}_{k}" for k in itertools.count()))
            node.name = next(name for name in names if name not in every and name not in taken)
        taken.add(node.name)


def flip(graph):
    """Puts a Transpose at every 4-D input and output, so that these are NHWC."""
    moved = 0  # inputs that have theirs, in the model's order
    for value in [*graph.input, *graph.output]:
        dims = value.type.tensor_type.shape.dim
        if len(dims) != 4:
            continue
        inside, is_input = f"{value.name}_nchw", any(value is v for v in graph.input)
        for node in graph.node:
            for names in (node.input, node.output):
                for k, name in enumerate(names):
                    if name == value.name:
                        names[k] = inside
        move, ends = ([0, 3, 1, 2], (value.name, inside)) if is_input else ([0, 2, 3, 1], (inside, value.name))
        made = onnx.helper.make_node("Transpose", [ends[0]], [ends[1]], name=f"permute_{value.name}", perm=move)
        graph.node.insert(moved if is_input else len(graph.node), made)
        moved += is_input
        order = [onnx.TensorShapeProto.Dimension.FromString(dims[k].SerializeToString()) for k in (0, 2, 3, 1)]
        del dims[:]
        dims.extend(order)


def call_of(node):
    """(key, name) of the call of torch that a node comes from; its own name and operator where the exporter left no note."""
    note = next((p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.fx_node"), "")
    found = CALL.search(note)
    if not found:
        return node.name, own_name(node)
    parts = found[1].split(".")
    base = (parts[1] if parts[0] == "aten" and len(parts) > 1 else parts[-1]).lstrip("_")
    return note, ALIASES.get(base, base)


def own_name(node):
    if node.op_type in ("Conv", "ConvTranspose"):
        kernel = next((a.ints for a in node.attribute if a.name == "kernel_shape"), (0, 0))
        return f"{node.op_type.lower()}{len(kernel)}d"
    return node.op_type.lower()


class Builder:
    """Makes the nodes in the order that the model runs in, each operation behind what it reads."""

    def __init__(self, model, graph, hidden):
        self.model, self.graph, self.count = model, graph, 0
        self.constants = {name for node in model.node if node.op_type == "Constant" for name in node.output} | set(hidden)
        self.made_by = {name: node for node in model.node for name in node.output}
        self.infos = {v.name: v for v in [*model.input, *model.output, *model.value_info]}
        self.initializers = {t.name: t for t in model.initializer}
        self.ends = {v.name for v in model.output}
        self.readers = {}  # value -> names of the ONNX nodes that read it
        for node in model.node:
            for value in read_by(node):
                self.readers.setdefault(value, set()).add(node.name)
        self.tensors = {}  # value -> its node

    def build(self):
        for nodes, name in self.groups():
            self.add_operation(nodes, name)
        for value in self.model.input:  # those that nobody reads
            self.tensor(value.name)

    def groups(self):
        """(ONNX nodes, name) of every operation, in an order in which each comes behind what it reads. Calls whose nodes read each other in a
        circle, as shared subexpressions can bring about, are taken apart."""
        import networkx
        key_of = {node.name: call_of(node)[0] for node in self.model.node if node.op_type != "Constant"}
        knots = [c for c in networkx.strongly_connected_components(self.arrows(key_of)) if len(c) > 1]
        apart = {key for knot in knots for key in knot}
        for node in self.model.node:
            if key_of.get(node.name) in apart:
                key_of[node.name] = node.name
        groups = {}
        for node in self.model.node:
            if node.name in key_of:
                groups.setdefault(key_of[node.name], []).append(node)
        first = {key: i for i, key in enumerate(groups)}
        for key in networkx.lexicographical_topological_sort(self.arrows(key_of), key=first.__getitem__):
            yield groups[key], call_of(groups[key][-1])[1]

    def arrows(self, key_of):
        import networkx
        out = networkx.DiGraph()
        out.add_nodes_from(dict.fromkeys(key_of.values()))
        for node in self.model.node:
            for name in read_by(node):
                source = self.made_by.get(name)
                if source is not None and source.name in key_of and node.name in key_of and key_of[source.name] != key_of[node.name]:
                    out.add_edge(key_of[source.name], key_of[node.name])
        return out

    def add_operation(self, nodes, name):
        own = {output for node in nodes for output in node.output}
        reads = dict.fromkeys(i for node in reversed(nodes) for i in read_by(node) if i and i not in own and i not in self.constants)
        inputs = [self.tensor(value) for value in reads]
        operation = self.add(name, {"kind": "OpNode", "op": name, "onnx": [node.name for node in nodes], "onnx_ops": [node.op_type for node in nodes]})
        for value in inputs:
            self.graph.add_edge(value, operation)
        names = {node.name for node in nodes}
        for output in (o for node in nodes for o in node.output if o):
            if output in self.ends or not self.readers.get(output, set()) <= names or output not in self.readers:
                self.graph.add_edge(operation, self.tensor(output))

    def tensor(self, value):
        if value not in self.tensors:
            self.tensors[value] = self.add(value, self.describe(value))
        return self.tensors[value]

    def describe(self, value):
        held = self.initializers.get(value)
        if held is not None:
            return {"kind": "StaticTensor", "value": value, "dtype": dtype_name(held.data_type), "shape": list(held.dims)}
        data, info = {"kind": "DynamicTensor", "value": value, "dtype": None, "shape": None}, self.infos.get(value)
        if info is not None and info.type.HasField("tensor_type"):
            kind = info.type.tensor_type
            data["dtype"] = dtype_name(kind.elem_type)
            data["shape"] = [d.dim_param or d.dim_value for d in kind.shape.dim] if kind.HasField("shape") else None
        return data

    def add(self, name, data):
        made = f"{name}_{self.count}"
        self.count += 1
        self.graph.add_node(made, data=data)
        return made


def dtype_name(number):
    try:
        return onnx.helper.tensor_dtype_to_np_dtype(number).name
    except KeyError:
        return None


def read_by(node):
    """Values that a node reads, and those that its bodies take from outside."""
    yield from node.input
    for attribute in node.attribute:
        for body in [attribute.g, *attribute.graphs]:
            inside = {v.name for v in body.input} | {t.name for t in body.initializer} | {o for n in body.node for o in n.output}
            yield from (i for n in body.node for i in read_by(n) if i not in inside)
            yield from (o.name for o in body.output if o.name not in inside)
