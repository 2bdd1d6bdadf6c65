#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.torch2nx: what a module's graph is, its files and its picture."""
import io
import json
import logging
import pathlib
import pickle
import unittest
import warnings

import networkx
import numpy as np
import onnx
import onnxruntime
import torch

from support import ConvAdd, FrontTest, conv_add_inputs
import optima
from optima import _nx_graph, gpickle
from optima.torch2nx import Torch2GraphConverter


class Block(torch.nn.Module):
    """What an encoder's layer is made of, behind a convolution and a normalization."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 1, 3, 1, 1), torch.nn.BatchNorm2d(1)
        self.layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, x, y):
        return self.layer((self.norm(self.conv(x)) + y)[:, 0]).softmax(-1)


def convert(module, **more):
    return Torch2GraphConverter(**more).convert(model=module, fake_torch_data=list(conv_add_inputs()))


def operators(graph):
    return [name for name in networkx.topological_sort(graph) if graph.nodes[name]["data"]["kind"] == "OpNode"]


class Torch2Nx(FrontTest):
    @classmethod
    def setUpClass(cls):
        cls.sample, cls.block = ConvAdd(), Block().eval()
        cls.graph, cls.block_graph = convert(cls.sample), convert(cls.block)

    def test_the_sample_of_the_documents_has_their_names(self):
        graph = self.graph
        self.assertIs(type(graph), networkx.DiGraph)
        self.assertEqual(operators(graph), ["conv2d_2", "add_5"])
        self.assertEqual(list(graph.edges), [("x_0", "conv2d_2"), ("conv.weight_1", "conv2d_2"), ("conv2d_2", "conv2d_3"), ("conv2d_3", "add_5"),
                                             ("y_4", "add_5"), ("add_5", "add_6")])
        kinds = {name: graph.nodes[name]["data"]["kind"] for name in graph}
        self.assertEqual((kinds["x_0"], kinds["conv.weight_1"]), ("DynamicTensor", "StaticTensor"))
        self.assertEqual(graph.nodes["conv.weight_1"]["data"]["shape"], [1, 3, 3, 3])
        self.assertEqual(graph.nodes["x_0"]["data"]["dtype"], "float32")

    def test_a_wrong_shape_is_one_sentence_without_torchs_traceback(self):
        heard, log = io.StringIO(), logging.getLogger("torch._subclasses.fake_tensor")
        handler = logging.StreamHandler(heard)
        log.addHandler(handler)
        self.addCleanup(log.removeHandler, handler)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.refused("Linear cannot be exported", Torch2GraphConverter().convert, torch.nn.Linear(3, 2), [torch.rand(1, 4)])
        self.assertEqual(heard.getvalue(), "")

    def test_every_operation_of_a_larger_module_stands_for_its_nodes(self):
        module, graph = self.block, self.block_graph
        self.assertTrue(networkx.is_directed_acyclic_graph(graph))
        calls = [graph.nodes[name]["data"]["op"] for name in operators(graph)]
        for call, count in (("conv2d", 1), ("batch_norm", 1), ("linear", 4), ("layer_norm", 2), ("relu", 1)):
            self.assertEqual(calls.count(call), count, calls)
        model = onnx.load_from_string(graph.graph["onnx"])
        named = [node for name in operators(graph) for node in graph.nodes[name]["data"]["onnx"]]
        self.assertEqual(sorted(named), sorted(node.name for node in model.graph.node if node.op_type != "Constant"))
        numbers = [int(name.rpartition("_")[2]) for name in graph]
        self.assertEqual(sorted(numbers), list(range(len(graph))))
        for name in graph:  # bipartite
            for other in graph.successors(name):
                self.assertEqual([graph.nodes[n]["data"]["kind"] == "OpNode" for n in (name, other)].count(True), 1)
        x, y = conv_add_inputs()
        (got,) = onnxruntime.InferenceSession(graph.graph["onnx"]).run(None, {"x": x.numpy(), "y": y.numpy()})
        self.assert_close(got, module(x, y))

    def test_a_module_that_is_traced_has_such_names_too(self):
        class ByValue(ConvAdd):
            def forward(self, x, y):
                out = super().forward(x, y)
                return out * 2 if float(out.sum()) > -1e9 else out
        with self.assertWarnsRegex(UserWarning, "the older exporter"):
            graph = convert(ByValue())
        self.assertEqual(operators(graph), ["conv2d_2", "add_5", "mul_7"])
        (out,) = graph.successors("conv2d_2")
        self.assertEqual((graph.nodes[out]["data"]["dtype"], graph.nodes[out]["data"]["shape"]), ("float32", [1, 1, 32, 32]))

    def test_calls_that_read_each_other_are_taken_apart(self):
        model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 21]>
            g (float[4] x) => (float[4] y) { a = Relu(x)  b = Exp(a)  c = Add(a, b)  y = Neg(c) }''')
        for node, call in zip(model.graph.node, ("one", "two", "one", "three")):
            node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=f"%{call} : call_function[target=torch.ops.aten.{call}.default](args = ())")
        graph = _nx_graph.graph_of(model, "m")
        self.assertTrue(networkx.is_directed_acyclic_graph(graph))
        self.assertEqual([graph.nodes[name]["data"]["onnx"] for name in operators(graph)], [["relu_0"], ["exp_1"], ["add_2"], ["neg_3"]])  # they had no names
        self.assertEqual([graph.nodes[name]["data"]["onnx_ops"] for name in operators(graph)], [["Relu"], ["Exp"], ["Add"], ["Neg"]])

    def test_torch_flip_puts_channels_last_and_tf_flip_leaves_torchs_graphs_alone(self):
        module, (x, y) = self.sample, conv_add_inputs()
        last = lambda t: t.permute(0, 2, 3, 1).contiguous().numpy()
        answer = module(x, y).detach()
        for tf_flip in (True, False):
            graph = convert(module, tf_flip=tf_flip, torch_flip=False)
            self.assertEqual(graph.graph["onnx"], self.graph.graph["onnx"])
            self.assertEqual(operators(graph), ["conv2d_2", "add_5"])
            graph = convert(module, tf_flip=tf_flip, torch_flip=True)
            self.assertEqual([graph.nodes[name]["data"]["shape"] for name in ("x_0", "y_3")], [[1, 32, 32, 3], [1, 32, 32, 1]])
            self.assertEqual(operators(graph), ["transpose_1", "transpose_4", "conv2d_7", "add_9", "transpose_11"])
            (got,) = onnxruntime.InferenceSession(graph.graph["onnx"]).run(None, {"x": last(x), "y": last(y)})
            self.assert_close(got, last(answer))
        template = _nx_graph.template(graph, "X64")
        self.assertEqual(set(template.values()), {"X64:0"})
        package = optima.Manager().optimize("Flipped", [optima.DeviceEnum.DEVICE_KIND_X64], graph, self.folder, template)
        (got,) = package.run(x=last(x), y=last(y)).values()
        self.assert_close(got, last(answer))

    def test_a_gpickle_is_a_plain_pickle(self):
        graph, path = self.graph, self.folder / "g.gpickle"
        converter = Torch2GraphConverter()
        converter.reset_module()
        converter.export_to_gpickle(path, graph)
        with open(path, "rb") as file:
            plain = pickle.load(file)
        for read in (plain, gpickle.read(path)):
            self.assertEqual(dict(read.nodes(data=True)), dict(graph.nodes(data=True)))
            self.assertEqual((list(read.edges(data=True)), read.graph), (list(graph.edges(data=True)), graph.graph))

    def test_the_template_names_every_operation(self):
        graph, path = self.block_graph, self.folder / "a.json"
        gpickle.write(self.folder / "g.gpickle", graph)
        template = Torch2GraphConverter.get_onedevice_allocator(path, "ARM64", self.folder / "g.gpickle")
        self.assertEqual(list(template), operators(graph))
        self.assertEqual(set(template.values()), {"ARM64:0"})
        self.assertEqual(json.loads(path.read_text()), template)
        self.refused("default device is 'X64:0'", Torch2GraphConverter.get_onedevice_allocator, path, "X64:0", graph)

    def test_a_picture_has_one_colour_more_than_devices(self):
        converter = Torch2GraphConverter()
        graph = converter.convert(model=ConvAdd(), fake_torch_data=list(conv_add_inputs()))
        alloc = self.folder / "a.json"
        for allocation, colors in (({"conv2d_2": "HEXAGON:0", "add_5": "X64:1"}, 3), ({"conv2d_2": "X64:0", "add_5": "X64:0"}, 2)):
            alloc.write_text(json.dumps(allocation))
            png, svg = converter.plot_network(pathlib.Path(self.folder), "picture", alloc, figsizenum=8)
            self.assertTrue(png.read_bytes().startswith(b"\x89PNG"))
            text = svg.read_text()
            fills = {part.split('"')[0] for part in text.split('fill="')[1:]} - {"none", "white", "black"}
            self.assertEqual(len(fills), colors, fills)
            self.assertIn("conv2d_2", text)
        png, _ = Torch2GraphConverter.plot_network(self.folder / "other.png", graph, alloc, figsizenum=5)
        self.assertEqual(png, self.folder / "other.png")
        self.assertEqual(list(self.folder.glob(".*")), [])

    def test_a_name_cannot_leave_its_label(self):
        graph = networkx.DiGraph()
        graph.add_node('a"];\n"b', data={"kind": "OpNode"})
        _, svg = Torch2GraphConverter.plot_network(self.folder / "p", graph, {'a"];\n"b': 'X64:"0\\'})
        self.assertEqual(svg.read_text().count('class="node"'), 2)  # it, and the device

    def test_without_cuda_one_warning_and_on(self):
        if torch.cuda.is_available():
            self.assertEqual(operators(Torch2GraphConverter().convert(model=ConvAdd(), fake_torch_data=list(conv_add_inputs()), gpu=True)), ["conv2d_2", "add_5"])
            return
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            graph = Torch2GraphConverter().convert(model=ConvAdd(), fake_torch_data=list(conv_add_inputs()), gpu=True)
        self.assertEqual([str(w.message)[:30] for w in caught if w.category is UserWarning], ["gpu=True: torch has no CUDA he"])
        self.assertEqual(operators(graph), ["conv2d_2", "add_5"])

    def test_what_is_refused(self):
        converter = Torch2GraphConverter()
        self.refused("model is int", converter.convert, model=3, fake_torch_data=[torch.ones(1)])
        self.refused("fake_torch_data is Tensor", converter.convert, model=ConvAdd(), fake_torch_data=torch.ones(1))
        self.refused("tf_flip and torch_flip", Torch2GraphConverter, tf_flip="yes")
        self.refused("wanted convert() before", converter.plot_network, self.folder, "p", {})
        self.refused("figsizenum is 0", converter.plot_network.__func__, "p", networkx.DiGraph(), {}, figsizenum=0)
        self.refused("No such file", Torch2GraphConverter.get_onedevice_allocator, self.folder / "a", "X64", self.folder / "none")
        self.refused("allocation", converter.plot_network.__func__, "p", networkx.DiGraph(), self.folder / "none.json")


if __name__ == "__main__":
    unittest.main()
