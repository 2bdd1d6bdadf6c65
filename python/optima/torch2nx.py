# SPDX-License-Identifier: Apache-2.0
"""A torch module as a networkx graph of operations and tensors, with OptimaV2's calls (docs/torch2nx.md).

    converter = Torch2GraphConverter()
    graph = converter.convert(model=model, fake_torch_data=[x, y])
    converter.export_to_gpickle("model.gpickle", graph)
    Torch2GraphConverter.get_onedevice_allocator("alloc.json", "X64", "model.gpickle")

Needs torch, onnx, onnxscript and networkx; pictures need Graphviz' dot.
"""
from __future__ import annotations

import json
import pathlib
import tempfile
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optima import _needs

_needs.needs("optima.torch2nx", "torch2nx", "networkx", "onnx")

from optima import _nx_graph, gpickle, models  # noqa: E402  behind what they need
from optima._bad_input import bad_input
from optima._exporter import quiet

if TYPE_CHECKING:
    import os

    import networkx
    import torch


class Torch2GraphConverter:
    """Converts modules one after another. tf_flip, torch_flip: which graphs get images channels last (NHWC), their 4-D inputs and outputs: those of
    TensorFlow's models, which come so (True), and those of torch's (False keeps NCHW). Modules are torch's, so tf_flip changes nothing here."""

    def __init__(self, tf_flip: bool = True, torch_flip: bool = False) -> None:
        if not isinstance(tf_flip, bool) or not isinstance(torch_flip, bool):
            raise bad_input(f"tf_flip and torch_flip are {tf_flip!r} and {torch_flip!r}, wanted True or False")
        self.tf_flip, self.torch_flip = tf_flip, torch_flip
        self.module, self.graph = None, None

    def convert(self, model: torch.nn.Module, fake_torch_data: Sequence[torch.Tensor], gpu: bool = False) -> networkx.DiGraph:
        """The networkx.DiGraph of a module. fake_torch_data: one tensor for each argument of forward, in order. gpu: export on the GPU, as modules of
        float16 parts that processors lack need; without CUDA one warning says so and the processor is used. The module is left as it was.

        Nodes are operations and tensors, named by one running number: conv2d_2. Each has "data", a dict whose "kind" is "OpNode" for
        operations; graph.graph["onnx"] is the model that they stand for. Raises optima.Error."""
        if not models.is_torch_module(model):
            raise bad_input(f"model is {type(model).__name__}, wanted a torch module")
        if not isinstance(fake_torch_data, (list, tuple)) or not fake_torch_data:
            raise bad_input(f"fake_torch_data is {type(fake_torch_data).__name__}, wanted a list of tensors in forward's order")
        self.module = model
        proto, hidden = folded(export(model, tuple(fake_torch_data), gpu))
        self.graph = _nx_graph.graph_of(proto, type(model).__name__, hidden, self.torch_flip)
        return self.graph

    def reset_module(self) -> None:
        """Forgets the module, whose memory may then go; the graph stays."""
        self.module = None

    @staticmethod
    def export_to_gpickle(path: str | os.PathLike, graph: networkx.DiGraph) -> None:
        """Writes a graph as a pickle, which optima.gpickle.read reads without running anything of it."""
        gpickle.write(path, graph)

    @staticmethod
    def get_onedevice_allocator(json_path: str | os.PathLike, default_device: str, graph_or_gpickle: networkx.DiGraph | str | os.PathLike) -> dict[str, str]:
        """Writes and gives the allocation template: every operation in topological order, on <default_device>:0."""
        template = _nx_graph.template(graph_of(graph_or_gpickle), default_device)
        path = pathlib.Path(json_path).expanduser()
        try:
            path.write_text(json.dumps(template, indent=2) + "\n")
        except OSError as error:
            raise bad_input(f"allocation {str(path)!r} cannot be written: {error.strerror}") from error
        return template

    def plot_network(*args: Any, figsizenum: float = 5) -> list[pathlib.Path]:
        """Draws a graph as NAME.png and NAME.svg, each device in a colour of its own and all tensors in one more; gives the two paths.

        converter.plot_network(folder, name, allocation_json): the last converted graph.
        Torch2GraphConverter.plot_network(name, graph_or_gpickle, allocation_json): any; name may have a folder.
        figsizenum: inches of the longer side, 5 to 40."""
        from optima import _nx_plot
        if args and isinstance(args[0], Torch2GraphConverter):
            if len(args) not in (4, 5):
                raise bad_input("plot_network wants a folder, a name and an allocation")
            self, folder, name, allocation, *size = args
            if self.graph is None:
                raise bad_input("plot_network has no graph, wanted convert() before it")
            return _nx_plot.draw(self.graph, pathlib.Path(folder) / name, allocation, *(size or [figsizenum]))
        if len(args) not in (3, 4):
            raise bad_input("plot_network wants a name, a graph or gpickle, and an allocation")
        name, graph, allocation, *size = args
        return _nx_plot.draw(graph_of(graph), name, allocation, *(size or [figsizenum]))


def graph_of(graph_or_gpickle):
    """A DiGraph as it is, or the one of a gpickle."""
    import networkx
    return graph_or_gpickle if isinstance(graph_or_gpickle, networkx.DiGraph) else gpickle.read(graph_or_gpickle)


def export(module, tensors, gpu):
    """The module as an ONNX ModelProto, one that keeps every operation apart."""
    import onnx
    import torch

    from optima import _torch_export
    on_gpu = gpu and torch.cuda.is_available()
    if gpu and not on_gpu:
        warnings.warn("gpu=True: torch has no CUDA here, the module is converted on the processor", stacklevel=3)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        if on_gpu:
            import copy
            module, tensors = copy.deepcopy(module).cuda(), tuple(t.cuda() for t in tensors)
        _torch_export.export_torch(module, tensors, path, optimize=False)
        return onnx.load(path)


def folded(proto):
    """The model with what follows from constants alone computed, and the names of what came of sizes and options of calls: arguments, no tensors
    of the module. Weights in another layout are tensors still."""
    import onnx
    from onnxscript import optimizer
    weights = {tensor.name for tensor in proto.graph.initializer}
    before = set(weights)
    for node in proto.graph.node:  # in topological order
        if node.op_type not in ("Shape", "Size") and weights.intersection(node.input):
            weights.update(node.output)
    with quiet():
        optimizer.fold_constants(proto)
        optimizer.remove_unused_nodes(proto)
    hidden = {tensor.name for tensor in proto.graph.initializer} - before - weights
    # the older exporter leaves sizes out
    return (onnx.shape_inference.infer_shapes(proto) if proto.ByteSize() < _nx_graph.LIMIT else proto), hidden
