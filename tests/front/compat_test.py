#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima-compat: programs written for earlier systems run with the names that they import."""
import ast
import importlib.util
import json
import os
import pathlib
import unittest
from unittest import mock

import numpy as np
import torch

from support import FrontTest, ROOT
import optima
from optima import _host, gpickle

SOURCES = ROOT / "python-compat/src"
# Module -> where its names come from.
MODULES = {
    "zaiConverter.pytorch_module.converter": ("optima.torch2nx", ["Torch2GraphConverter"]),
    "optima_v2.manager": ("optima.manager", ["Manager"]),
    "optima_v2.manager.manager": ("optima.manager", ["Manager"]),
    "optima_v2.devices": ("optima.devices", ["DeviceEnum"]),
    "torch2hpvm": ("optima.torch2hpvm", ["BinDataset", "ModelExporter"]),
    "auto_split.api": ("optima.auto_split", ["Splitter", "convert", "split"]),
    "auto_runner": ("optima.submodels", ["Runner", "load"]),
    "auto_runner.api": ("optima.submodels", ["Runner", "load"]),
    "sophon.auto_split.api": ("optima.auto_split", ["Splitter", "convert", "split"]),
    "sophon.auto_runner.api": ("optima.submodels", ["Runner", "load"]),
}

CONVERT = '''
import json
import pickle
from pathlib import Path

import networkx as nx
import torch
import torch.nn as nn
import zaiConverter
from zaiConverter.pytorch_module import converter


class SampleModel(nn.Module):
    def __init__(self):
        super(SampleModel, self).__init__()
        self.conv = nn.Conv2d(3, 1, 3, 1, 1, bias=False)

    def forward(self, x, y):
        return self.conv(x) + y


model = SampleModel()
samples = [torch.rand(1, 3, 32, 32), torch.rand(1, 1, 32, 32)]
need_gpu = True
graph_converter = converter.Torch2GraphConverter(tf_flip=True, torch_flip=False)
nx_graph = graph_converter.convert(model=model, fake_torch_data=samples, gpu=need_gpu)
graph_converter.reset_module()
graph_converter.export_to_gpickle("sample.gpickle", nx_graph)

alloc_dict = {}
with open("sample.gpickle", "rb") as f:
    for node_name in nx.topological_sort(g := pickle.load(f)):
        if g.nodes[node_name]["data"]["kind"] == "OpNode":
            alloc_dict[node_name] = "X64" + ":0"
with open("sample.json", "w") as f:
    json.dump(alloc_dict, f)
converter.Torch2GraphConverter.get_onedevice_allocator("template.json", "X64", "sample.gpickle")
graph_converter.plot_network(Path("pictures"), "sample", "sample.json", figsizenum=5)
converter.Torch2GraphConverter.plot_network("sample_picture", "sample.gpickle", "sample.json", figsizenum=5)
'''

MANAGE = '''
from optima_v2.manager import manager
from optima_v2.devices import DeviceEnum

representative_data = [tuple(samples)] + [(torch.rand(1, 3, 32, 32), torch.rand(1, 1, 32, 32)) for _ in range(7)]
manager_instance = manager.Manager()
manager_instance.optimize(
    "SampleModel",
    [
        DeviceEnum.DEVICE_KIND_HEXAGON,
        DeviceEnum.DEVICE_KIND_X64,
    ],
    "~/sample.gpickle",
    "~/outputs/",
    "~/sample.json",
    representative_data,
)
'''


class Compat(FrontTest):
    def test_modules_but_the_runtime_are_re_exports_and_nothing_else(self):
        found = {str(path.relative_to(SOURCES).with_suffix("")).replace("/", ".").removesuffix(".__init__") for path in SOURCES.rglob("*.py")}
        parents = {name.rpartition(".")[0] for name in MODULES} | {"zaiConverter", "zaiConverter.pytorch_module", "optima_v2", "auto_split"} - {""}  # not "sophon", which others fill, too
        found = {name for name in found if not name.startswith("optima_v2.runtime")}  # a layer, tests/python/compat_test.py
        self.assertEqual(found, set(MODULES) | (parents - {""}))
        for path in [path for path in SOURCES.rglob("*.py") if SOURCES / "optima_v2/runtime" not in path.parents]:
            for node in ast.parse(path.read_text()).body:
                text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                name = isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Attribute))
                self.assertTrue(text or name or isinstance(node, ast.ImportFrom), f"{path}: line {node.lineno}")
        for module, (origin, names) in MODULES.items():
            if importlib.util.find_spec(origin) is None:
                print(f"SKIP: {origin} is not there, which {module} stands for", flush=True)
                continue
            for name in names:
                self.assertIs(getattr(importlib.import_module(module), name), getattr(importlib.import_module(origin), name))

    def test_the_documents_of_optima_v2(self):
        names = {"__name__": "sample"}
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        with self.assertWarns(UserWarning) if not torch.cuda.is_available() else mock.MagicMock():
            exec(compile(CONVERT, "convert", "exec"), names)
        self.assertEqual(names["alloc_dict"], {"conv2d_2": "X64:0", "add_5": "X64:0"})
        self.assertEqual(json.loads(pathlib.Path("template.json").read_text()), names["alloc_dict"])
        for picture in ("pictures/sample", "sample_picture"):
            self.assertTrue(pathlib.Path(picture + ".png").is_file() and pathlib.Path(picture + ".svg").is_file())
        if not any(d["device"] == "HEXAGON:0" for d in _host.run_json("devices")["devices"]):
            print("SKIP: no HEXAGON:0 here; scripts/setup --with qualcomm makes one", flush=True)
            return
        pathlib.Path("sample.json").write_text('{"conv2d_2": "HEXAGON:0", "add_5": "X64:1"}')
        with mock.patch.dict(os.environ, {"HOME": str(self.folder)}):
            exec(compile(MANAGE, "manage", "exec"), names)
        tree = {str(path.relative_to(self.folder / "outputs")) for path in (self.folder / "outputs").rglob("*")}
        self.assertLessEqual({"SampleModel/model.meta", "SampleModel/Subgraph_0/subgraph_0.dlc", "SampleModel/Subgraph_1/subgraph_1.meta"}, tree)
        self.assertTrue(any(name.startswith("SampleModel/Subgraph_1/") and name.endswith(".so") for name in tree))
        self.assertTrue((self.folder / "outputs/SampleModel/encodings.json").is_file())
        x, y = names["samples"]
        (got,) = optima.Package.load(self.folder / "outputs/SampleModel").run(x=x, y=y).values()
        self.assert_close(got, names["model"](x, y), 0.05)  # 8 bits
        self.assertEqual(set(gpickle.read("sample.gpickle")), set(names["nx_graph"]))

    def test_the_documents_of_auto_split(self):
        from auto_runner.api import infer, load
        from auto_split.api import split
        image = np.random.default_rng(0).random((1, 1, 32, 32), np.float32)
        split("onnx", {"image": image}, str(self.folder / "digits"), str(ROOT / "examples/digits/digits.onnx"), tpu="REF:0")
        out = infer(load(str(self.folder / "digits"), tpu="onnxruntime"), {"image": image})
        self.assertAlmostEqual(float(out["probability"].sum()), 1, places=5)


if __name__ == "__main__":
    unittest.main()
