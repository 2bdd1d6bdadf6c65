#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.manager: from graphs, gpickles, ONNX files and modules to a package, with allocations in the graph's names."""
import json
import logging
import os
import unittest
import warnings
from unittest import mock

import networkx
import numpy as np
import onnx
import torch

from support import ConvAdd, FrontTest, ROOT, conv_add_inputs
from optima import _host, gpickle
from optima.devices import DeviceEnum
from optima.manager import Manager
from optima.torch2nx import Torch2GraphConverter

X64, REF = DeviceEnum.DEVICE_KIND_X64, "REF"
DIGITS = ROOT / "examples/digits/digits.onnx"


class Two(torch.nn.Module):
    """Attention becomes several ONNX nodes for one call of torch."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(32, 8), torch.nn.Linear(8, 4)

    def forward(self, x):
        return torch.softmax(self.b(torch.relu(self.a(x))), -1)


class Managed(FrontTest):
    @classmethod
    def setUpClass(cls):
        cls.module, cls.inputs = ConvAdd(), conv_add_inputs()
        cls.graph = Torch2GraphConverter().convert(model=cls.module, fake_torch_data=list(cls.inputs))

    def optimize(self, graph, allocation, devices=(X64, REF), **more):
        return Manager().optimize("Sample", list(devices), graph, self.folder / "out", allocation, **more)

    def check(self, package, devices):
        self.assertEqual([s["device"] for s in package.explain()["subgraphs"]], devices)
        (got,) = package.run(x=self.inputs[0], y=self.inputs[1]).values()
        self.assert_close(got, self.module(*self.inputs))

    def test_a_graph_with_an_allocation_in_its_names(self):
        package = self.optimize(self.graph, {"conv2d_2": "X64:1", "add_5": "REF:0"})
        self.assertEqual(package.path, self.folder / "out/Sample")
        self.check(package, ["X64:1", "REF:0"])
        self.assertTrue((package.path / "model.meta").is_file())
        self.assertTrue(list((package.path / "Subgraph_0").glob("*.so")))
        self.assertTrue((package.path / "Subgraph_1").is_dir())
        self.check(self.optimize(self.graph, {"*_2": "REF:0", "conv2d_2": "X64:0"}), ["X64:0"])  # the name wins, and the rest is automatic
        self.check(self.optimize(self.graph, {"add_*": "REF:0", "node_conv2d": "X64:0"}), ["X64:0", "REF:0"])
        self.check(self.optimize(self.graph, None, devices=[X64]), ["X64:0"])

    def test_an_operation_that_became_several_nodes_moves_as_one(self):
        x = torch.rand(2, 3, 32)
        module = Two().eval()
        graph = Torch2GraphConverter().convert(model=module, fake_torch_data=[x])
        linear = next(name for name in graph if name.startswith("linear_") and len(graph.nodes[name]["data"].get("onnx", ())) == 2)
        package = self.optimize(graph, {linear: "REF:0"}, devices=[X64, REF])
        nodes = {node["name"]: node["device"] for node in package.explain()["nodes"]}
        self.assertEqual({nodes[name] for name in graph.nodes[linear]["data"]["onnx"] if name in nodes}, {"REF:0"})
        (got,) = package.run(x=x).values()
        self.assert_close(got, module(x))

    def test_files_under_the_home_folder(self):
        gpickle.write(self.folder / "s.gpickle", self.graph)
        (self.folder / "a.json").write_text(json.dumps({"conv2d_2": "X64:0", "add_5": "X64:1"}))
        with mock.patch.dict(os.environ, {"HOME": str(self.folder)}):
            package = Manager().optimize("MediapipeNet", [X64], "~/s.gpickle", "~/outputs/", "~/a.json")
        self.assertEqual(package.path, self.folder / "outputs/MediapipeNet")
        self.check(package, ["X64:0", "X64:1"])

    def test_modules_and_onnx_files(self):
        self.check(self.optimize(self.module, {"conv2d_2": "X64:1", "add_5": "REF:0"}, sample_inputs=[self.inputs]), ["X64:1", "REF:0"])
        self.refused("sample_inputs are missing", self.optimize, self.module, None)
        for model in (DIGITS, str(DIGITS), onnx.load(DIGITS)):
            package = self.optimize(model, {"*": "X64:0", "op:Softmax": "REF:0"})
            self.assertEqual([s["device"] for s in package.explain()["subgraphs"]], ["X64:0", "REF:0"])

    def test_samples_are_for_hexagon_alone(self):  # which compat_test.py has
        with self.assertLogs("optima", logging.INFO) as caught:
            package = self.optimize(self.graph, {"add_5": "REF:0"}, sample_inputs=[self.inputs])
        self.assertIn("sample_inputs are not needed", caught.output[0])
        self.assertFalse((package.path / "encodings.json").exists())

    def test_samples_are_for_hexagon_where_it_is_chosen_automatically(self):
        if not any(d["device"] == "HEXAGON:0" for d in _host.run_json("devices")["devices"]):
            print("SKIP: no HEXAGON:0 here; scripts/setup --with qualcomm makes one", flush=True)
            return
        package = self.optimize(self.graph, None, [DeviceEnum.DEVICE_KIND_HEXAGON, X64], sample_inputs=[self.inputs] * 4)
        self.assertIn("HEXAGON:0", [s["device"] for s in package.explain()["subgraphs"]])
        self.assertTrue((package.path / "encodings.json").is_file())

    def test_samples_of_what_each_subgraph_reads_are_kept(self):
        samples = [conv_add_inputs() for _ in range(10)]
        package = self.optimize(self.graph, {"conv2d_2": "X64:0", "add_5": "REF:0"}, sample_inputs=samples, save_calib=True)
        index = json.loads((package.path / "calib/samples.json").read_text())
        self.assertEqual((index["samples"], sorted(index["subgraphs"])), (8, ["Subgraph_0", "Subgraph_1"]))
        kept = {t["name"]: np.load(package.path / "calib/Subgraph_1" / t["file"]) for t in index["subgraphs"]["Subgraph_1"]}
        (cut,) = (name for name in kept if name != "y")
        for i in range(8):
            self.assertEqual(kept["y"][i].tobytes(), samples[i][1].numpy().tobytes())
            self.assert_close(kept[cut][i], self.module.conv(samples[i][0]).detach())
        self.assertFalse((self.optimize(self.graph, None, sample_inputs=samples).path / "calib").exists())
        self.refused("sample_inputs are missing", self.optimize, self.graph, None, save_calib=True)

    def test_device_info_bounds_placement(self):
        error = self.refused("allocation puts 'conv2d_2' on 'TPU:0', which is outside device_info (X64)", self.optimize, self.graph, {"conv2d_2": "TPU:0"}, [X64])
        self.assertEqual(error.code, "invalid_input")
        self.refused("outside device_info (X64)", self.optimize, self.graph, {"conv2d_2": ["X64:0", "openvino/TPU:0"]}, [X64])
        self.refused("outside device_info (X64)", self.optimize, self.graph, {"conv2d_2": {"device": "REF:0"}}, [X64])
        self.assertFalse((self.folder / "out").exists())
        self.check(self.optimize(self.graph, {"conv2d_2": "auto"}, [REF]), ["REF:0"])  # X64 would be there
        with self.assertWarnsRegex(UserWarning, "device_info has CV22, which no plugin serves here") as caught:
            self.check(self.optimize(self.graph, None, [X64, DeviceEnum.DEVICE_KIND_CV22]), ["X64:0"])
        self.assertTrue(caught.filename.endswith("manager_test.py"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.refused("no plugin serves any kind of device_info (CV22)", self.optimize, self.graph, None, [DeviceEnum.DEVICE_KIND_CV22])

    def test_errors_name_the_operation(self):
        error = self.refused("node 'conv2d_2' (node_conv2d)", self.optimize, self.graph, {"conv2d_2": "NULL:0"}, ["NULL", X64])
        self.assertEqual((error.code, error.node, error.device), ("placement", "conv2d_2", "NULL:0"))
        self.refused("allocation names 'conv2d_3', which the graph has not (nearest: 'conv2d_2')", self.optimize, self.graph, {"conv2d_3": "X64:0"})

    def test_a_graph_of_an_earlier_system_has_template_and_picture_and_is_not_compiled(self):
        old = networkx.DiGraph()
        for name, data in self.graph.nodes(data="data"):
            old.add_node(name, data={"kind": data["kind"], "op_type": "nn.Conv2d"})
        old.add_edges_from(self.graph.edges)
        gpickle.write(self.folder / "old.gpickle", old)
        template = Torch2GraphConverter.get_onedevice_allocator(self.folder / "a.json", "X64", self.folder / "old.gpickle")
        self.assertEqual(template, {"conv2d_2": "X64:0", "add_5": "X64:0"})
        png, _ = Torch2GraphConverter.plot_network(self.folder / "p", self.folder / "old.gpickle", self.folder / "a.json")
        self.assertTrue(png.is_file())
        self.refused("export again with optima.torch2nx", self.optimize, self.folder / "old.gpickle", self.folder / "a.json")

    def test_what_is_refused(self):
        self.refused("device_info is empty", self.optimize, self.graph, None, [])
        self.refused("device_info has 3", self.optimize, self.graph, None, [3])
        self.refused("device_info has 'X64:0'", self.optimize, self.graph, None, ["X64:0"])
        self.refused("model_graph_or_gpickle is int", self.optimize, 3, None)
        self.refused("No such file", self.optimize, self.folder / "none.gpickle", None)
        self.refused("No such file", self.optimize, self.graph, self.folder / "none.json")
        self.refused("puts 'conv2d_2' on 3", self.optimize, self.graph, {"conv2d_2": 3})
        self.refused("module_name is 'a/b'", Manager().optimize, "a/b", [X64], self.graph, self.folder / "out")
        self.refused("output_folder_dir is None", Manager().optimize, "a", [X64], self.graph, None)
        self.assertFalse((self.folder / "out").exists())


class Enum(unittest.TestCase):
    def test_every_kind_of_the_documents(self):
        kinds = "X86 X64 ARM ARM64 NVIDIA AMDGPU INTELGPU MALI ADRENO HEXAGON MYRIAD ARA1 TPU CV22".split()
        self.assertEqual([(d.name, d.kind) for d in DeviceEnum], [(f"DEVICE_KIND_{kind}", kind) for kind in kinds])


if __name__ == "__main__":
    unittest.main()
