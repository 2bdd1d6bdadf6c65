#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AutoSplit's calls: split(), and a Splitter that says itself what is supported."""
import json
import os
import re
import shutil
import unittest
import warnings
from unittest import mock

import numpy as np

from support import BUILD, FolderTest, ROOT, check_folder, paper_device
from optima import auto_split, submodels

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n,4] x) => (float[n,4] y, float[n,4] z) { a = Relu(x)  b = Softmax(a)  c = Neg(b)  y = Add(c, x)  z = Exp(c) }"""
X = np.random.default_rng(1).standard_normal((3, 4), np.float32)


def wanted():
    a = np.exp(np.maximum(X, 0))
    c = -a / a.sum(1, keepdims=True)
    return {"y": c + X, "z": np.exp(c)}


class NoSoftmax(auto_split.Splitter):
    asked = ()

    def is_op_support(self, operator):
        self.asked += ((operator.name, operator.type),)
        return operator.type != "Softmax"


class AutoSplit(FolderTest):
    def setUp(self):
        super().setUp()
        set_host = mock.patch.dict(os.environ, {"OPTIMA_HOST": str(BUILD / "bin/optima-host")})
        set_host.start()
        self.addCleanup(set_host.stop)
        self.path, self.out = self.model(TEXT), self.folder / "deep/out"

    def check(self, devices):
        infos = check_folder(self, self.out)
        self.assertEqual([graph["device"] for graph in infos["graphs"]], devices)
        got = submodels.load(self.out, tpu="onnxruntime").infer({"x": X})
        for name, value in wanted().items():
            np.testing.assert_allclose(got[name], value, rtol=1e-5)
        return infos

    def test_split_puts_on_the_tpu_what_it_takes(self):
        paper = paper_device(self.folder / "p.json", {"Relu", "Neg", "Add", "Exp"}, "static")
        auto_split.split("onnx", {"x": X}, self.out, self.path, tpu="PAPER:0", supports=[paper])
        infos = self.check(["tpu", "cpu", "tpu"])
        self.assertEqual((infos["dynamic"], infos["tensors"]["x"]["shape"]), (False, [3, 4]))
        auto_split.split("onnx", {"x": X}, self.out, self.path, outputs=["c"], tpu="PAPER:0", supports=[paper])
        self.assertEqual(check_folder(self, self.out)["outputs"], ["c"])

    def test_split_with_symbolic_sizes(self):
        auto_split.split("onnx", {"x": X}, self.out, self.path, dynamic=True, tpu="REF:0", cpu="REF:1")
        infos = self.check(["cpu"])
        self.assertEqual((infos["dynamic"], infos["tensors"]["x"]["shape"]), (True, [-1, 4]))

    def test_split_with_symbolic_sizes_where_the_plugin_of_tpus_is_not(self):
        plugins = self.folder / "plugins"
        plugins.mkdir()
        shutil.copy2(BUILD / "lib/optima/plugins/optima_reference.so", plugins)
        with mock.patch.dict(os.environ, {"OPTIMA_PLUGINS": str(plugins)}):
            auto_split.split("onnx", {"x": X}, self.out, self.path, dynamic=True, tpu="REF:0", cpu="REF:1")
        self.assertTrue(self.check(["cpu"])["dynamic"])

    def test_a_splitter_is_asked_once_for_every_operator(self):
        mine = NoSoftmax({"model_path": self.path, "input_tensors": {"x": X}})
        mine.convert_and_split(self.out)
        self.assertEqual([kind for _, kind in mine.asked], ["Relu", "Softmax", "Neg", "Add", "Exp"])
        self.assertEqual(len({name for name, _ in mine.asked}), 5)
        self.check(["tpu", "cpu", "tpu"])

    def test_a_splitter_on_a_real_model(self):
        model = ROOT / "build/models/bert.ts.onnx"
        if not model.is_file():
            print("SKIP: build/models is empty; scripts/make_models.py fills it", flush=True)
            return
        NoSoftmax({"model_path": model}).convert_and_split(self.out)
        infos = check_folder(self, self.out)
        self.assertEqual(sum(graph["device"] == "cpu" for graph in infos["graphs"]), 4)  # one a layer
        inputs = {name: np.load(model.with_suffix(".data") / f"input_{name}.npy") for name in ("ids", "mask")}
        got = submodels.load(self.out, tpu="onnxruntime", threads=1, optimize=False).infer(inputs)
        want = np.load(model.with_suffix(".data") / "output_scores.npy")
        self.assertLess(np.abs(got["scores"] - want).max(), 1e-4 * np.abs(want).max())

    def test_a_torch_module_its_graph_and_a_file_of_torch_jit(self):
        import torch
        from optima import gpickle
        from optima.torch2nx import Torch2GraphConverter
        torch.manual_seed(4)
        module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Softmax(1), torch.nn.Linear(5, 2)).eval()
        paper = paper_device(self.folder / "p.json", {"Gemm", "MatMul", "Add"}, "static")
        saved, graph = self.folder / "m.pt", self.folder / "m.gpickle"
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # torch's, of its older ways
        torch.jit.trace(module, torch.from_numpy(X)).save(saved)
        gpickle.write(graph, Torch2GraphConverter().convert(model=module, fake_torch_data=[torch.from_numpy(X)]))
        with torch.no_grad():
            want = module(torch.from_numpy(X)).numpy()
        for model in (module, graph, saved):
            with self.subTest(type(model).__name__ + str(model)[-8:]):
                auto_split.split("pytorch", {"input": X}, self.out, model, tpu="PAPER:0", supports=[paper])
                infos = check_folder(self, self.out)
                self.assertEqual([graph["device"] for graph in infos["graphs"]], ["tpu", "cpu", "tpu"])
                (got,) = submodels.load(self.out, tpu="onnxruntime").infer({"input": X}).values()
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        shutil.rmtree(self.out)
        self.raises("input_tensors names 'x', wanted the module's inputs: 'input'", "pytorch", {"x": X}, self.out, module)
        self.raises("dynamic is True, wanted False", "pytorch", {"input": X}, self.out, module, dynamic=True)
        self.raises("input_tensors is [", "pytorch", [X], self.out, module)
        self.raises("input_tensors is {}", "pytorch", {}, self.out, module)
        self.raises("wanted a DiGraph of optima.torch2nx", "pytorch", {"x": X}, self.out, 3)
        self.raises("wanted platform 'onnx' for it", "pytorch", {"x": X}, self.out, self.path)
        self.raises("none.pt", "pytorch", {"x": X}, self.out, self.folder / "none.pt")
        (self.folder / "bad.pt").write_bytes(b"no archive")
        self.raises("bad.pt", "pytorch", {"x": X}, self.out, self.folder / "bad.pt")

    def test_the_page_runs(self):
        text = (ROOT / "docs/submodels-format.md").read_text()
        code = "".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S))
        self.assertIn("auto_split.split(", code)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        exec(compile(code, "docs/submodels-format.md", "exec"), {"__name__": "page"})
        check_folder(self, self.folder / "submodels/digits")

    def raises(self, sentence, *args, **more):
        with self.assertRaises(auto_split.AutoSplitError) as caught:
            auto_split.split(*args, **more)
        self.assertIn(sentence, str(caught.exception))
        self.assertFalse(self.out.exists())

    def test_what_is_refused(self):
        args = ({"x": X}, self.out)
        routes = {"caffe": "caffe2onnx", "mxnet": "mx2onnx", "tensorflow": "tf2onnx", "tflite": "tf2onnx", "x": "wanted onnx or pytorch"}
        for platform, route in routes.items():
            self.raises(route, platform, *args, self.path)
        self.raises("params_path is 'p'", "onnx", *args, self.path, params_path="p")
        self.raises("input_tensors is [", "onnx", [X], self.out, self.path)
        self.raises("outputs is 'y', wanted a list of names", "onnx", *args, self.path, outputs="y")
        self.raises("dynamic is 'no', wanted True or False", "onnx", *args, self.path, dynamic="no")
        self.raises("layout is 'NHWC', wanted 'NCHW'", "onnx", *args, self.path, layout="NHWC")
        self.raises("none.onnx", "onnx", *args, self.folder / "none.onnx")
        self.raises("no plugin serves kind 'VPU'", "onnx", *args, self.path, tpu="VPU:0")
        self.raises("'q'", "onnx", *args, self.path, outputs=["q"], tpu="REF:0")
        with mock.patch.dict(os.environ, {"OPTIMA_HOST": "/nowhere"}):
            self.raises("'/nowhere' does not start", "onnx", *args, self.path)
        with mock.patch.dict(os.environ, {"OPTIMA_HOST": "", "PATH": ""}):
            self.raises("optima-host is neither in this package nor on PATH", "onnx", *args, self.path)
        with self.assertRaises(NotImplementedError):
            auto_split.Splitter({"model_path": self.path}).convert_and_split(self.out)


if __name__ == "__main__":
    unittest.main()
