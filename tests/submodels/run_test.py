#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of submodels: what it accepts, what it refuses, and how it talks to a TPU's runtime.

sophon.sail cannot be installed here: a module of that name with the documented calls, computing on ONNX Runtime, stands in for it,
so these tests tell that the calls are made as documented, not that a TPU answers.
"""
import json
import os
import subprocess
import sys
import types
import unittest
from unittest import mock

import numpy as np
import onnx.parser
import onnxruntime

from support import BUILD, FolderTest, ROOT, paper_device
from optima import submodels

# "/" is no letter of ONNX text, and a usual one in names: S is replaced by it.
TEXT = """<ir_version: 10, opset_import: ["" : 21]> g (float[2,3] x, float[2,3] z) => (float[2,3] bSy, float[2,3] b_y) {
  a = Relu(x)  bSy = Neg(a)  b_y = Mul(bSy, z) }"""
X, Z = np.float32([[1, -2, 3], [4, 5, -6]]), np.float32([[1, 2, 3], [4, 5, 6]])
WANTED = {"b/y": -np.maximum(X, 0), "b_y": -np.maximum(X, 0) * Z}


class FakeEngine:
    """sophon.sail.Engine(path, tpu, mode): here the graph_<i>.onnx beside the folder of the bmodel, outputs flat as a TPU may give them."""

    def __init__(self, path, tpu, mode):
        assert (tpu, mode) == (0, "sys")
        folder = os.path.dirname(path)
        self.session = onnxruntime.InferenceSession(folder.replace("graph_ir_", "graph_") + ".onnx")

    def get_graph_names(self):
        return ["the graph"]

    def process(self, name, inputs):
        assert name == "the graph"
        names = [o.name for o in self.session.get_outputs()]
        return {n: v.reshape(-1) for n, v in zip(names, self.session.run(names, inputs))}


class Run(FolderTest):
    def setUp(self):
        super().setUp()
        alloc = self.folder / "alloc.json"
        alloc.write_text(json.dumps({"op:Neg": "PAPER:0", "*": "X64:0"}))
        paper = paper_device(self.folder / "paper.json", {"Neg"})
        model = self.folder / "m.onnx"
        model.write_bytes(onnx.parser.parse_model(TEXT).SerializeToString().replace(b"bSy", b"b/y"))
        self.made, self.infos = self.emit(model, "--alloc", alloc, "--support", paper)

    def edit(self, change):
        infos = json.loads((self.made / "graph_infos.json").read_text())
        change(infos)
        (self.made / "graph_infos.json").write_text(json.dumps(infos))

    def check(self, runner):
        got = runner.infer({"x": X, "z": Z})
        self.assertEqual(list(got), ["b/y", "b_y"])
        for name, value in WANTED.items():
            np.testing.assert_array_equal(got[name], value)

    def raises(self, sentence, call=None):
        with self.assertRaises(submodels.SubmodelsError) as caught:
            (call or (lambda: submodels.load(self.made, tpu="onnxruntime")))()
        self.assertIn(sentence, str(caught.exception))

    def test_the_stand_in_gives_the_answers(self):
        runner = submodels.load(self.made, tpu="onnxruntime")
        self.check(runner)
        times = runner.infer_time({"x": X, "z": Z})
        self.assertEqual(len(times), self.infos["graph_num"] + 1)
        self.assertGreaterEqual(times[-1], sum(times[:-1]))

    def test_without_bmodel_or_sail_it_says_which(self):
        self.raises("graph_ir_1/compilation.bmodel' is not there", lambda: submodels.load(self.made))
        self.compile_by_hand()
        with mock.patch.dict(sys.modules, {"sophon": None, "sophon.sail": None}):
            self.raises("the Python package sophon.sail is not installed", lambda: submodels.load(self.made, tpu="sail"))
        with mock.patch.dict(os.environ, {"OPTIMA_HOST": "/nowhere"}):
            self.raises("graph 1 is for a tpu and its emulator does not start: '/nowhere' does not start", lambda: submodels.load(self.made))
        with mock.patch.dict(os.environ, {"OPTIMA_HOST": str(BUILD / "bin/optima-host")}):
            self.raises("bmodel has 0 bytes, wanted a header of 64; on a device sophon.sail runs it", lambda: submodels.load(self.made, tpu="emulator"))
        self.raises("tpu: found 'gpu', wanted one of auto, sail, emulator, onnxruntime", lambda: submodels.load(self.made, tpu="gpu"))

    def compile_by_hand(self):
        (self.made / "graph_ir_1").mkdir()
        (self.made / "graph_ir_1/compilation.bmodel").write_bytes(b"")

    def test_sail_is_called_as_documented(self):
        # a module with the documented calls stands in for sophon.sail, which cannot be installed here
        self.compile_by_hand()
        sail = types.ModuleType("sophon.sail")
        sail.Engine, sail.IOMode = FakeEngine, types.SimpleNamespace(SYSIO="sys")
        package = types.ModuleType("sophon")
        package.sail = sail
        with mock.patch.dict(sys.modules, {"sophon": package, "sophon.sail": sail}):
            self.check(submodels.load(self.made))

    def test_tensors_as_a_list_and_folders_without_our_additions(self):
        def older(infos):
            infos["tensors"] = [{"name": name, "shape": t["shape"], "attr": t["attr"]} for name, t in infos["tensors"].items()]
            del infos["inputs"], infos["outputs"]
        self.edit(older)
        self.check(submodels.load(self.made, tpu="onnxruntime"))

    def test_inputs_are_checked_by_name_shape_and_type(self):
        run = lambda inputs: lambda: submodels.load(self.made, tpu="onnxruntime").infer(inputs)
        self.raises("input 'z' is missing", run({"x": X}))
        self.raises("no input 'xx' (nearest: 'x')", run({"xx": X, "z": Z}))
        self.raises("input 'x' has shape [3, 2], wanted [2, 3]", run({"x": X.T, "z": Z}))
        self.raises("input 'x' has type float64, wanted float32", run({"x": X.astype(np.float64), "z": Z}))
        self.raises("input 'x' is a list, wanted a numpy.ndarray", run({"x": [1], "z": Z}))

    def test_a_dynamic_folder_takes_smaller_inputs(self):
        text = '<ir_version: 10, opset_import: ["" : 21]>\ng (float[n] x) => (float[n] y) { y = Relu(x) }'
        made, infos = self.emit(self.model(text, "dyn"), "--device", "REF:0")
        self.assertEqual((infos["dynamic"], infos["tensors"]["x"]["shape"]), (True, [-1]))
        for size in (1, 5):
            self.assertEqual(submodels.load(made).infer({"x": np.ones(size, np.float32)})["y"].shape, (size,))

    def test_wrong_folders(self):
        cases = {
            "graph_num is 7, but there are 3 graphs": lambda i: i.update(graph_num=7),
            "platform is 'mxnet', wanted 'onnx'": lambda i: i.update(platform="mxnet"),
            "dynamic is None": lambda i: i.pop("dynamic"),
            "graph 0: device is 'gpu', wanted cpu or tpu": lambda i: i["graphs"][0].update(device="gpu"),
            "graph 1: no context_dir": lambda i: i["graphs"][1].pop("context_dir"),
            "graph 2: 'nowhere' is not among tensors": lambda i: i["graphs"][2].update(inputs=["nowhere"]),
            "which no earlier graph writes": lambda i: i["graphs"].reverse(),
            "output 'a2' is written by no graph": lambda i: (i["outputs"].append("a2")),
            "graph 0: model_path is '../graph_0.onnx', wanted the name": lambda i: i["graphs"][0]["model_info"].update(model_path="../graph_0.onnx"),
            "graph 0: ONNX Runtime refuses": lambda i: i["graphs"][0]["model_info"].update(model_path="none.onnx"),
            "graph 0: '": lambda i: i["graphs"][0]["model_info"].update(model_path="graph_2.onnx"),
            "wanted shape and attr": lambda i: i["tensors"]["x"].pop("attr"),
        }
        text = (self.made / "graph_infos.json").read_text()
        for sentence, change in cases.items():
            with self.subTest(sentence):
                (self.made / "graph_infos.json").write_text(text)
                self.edit(change)
                self.raises(sentence)
        (self.made / "graph_infos.json").write_text("{")
        self.raises("graph_infos.json")
        self.raises("wanted a folder of submodels", lambda: submodels.load(self.folder / "none"))

    def test_the_command(self):
        np.save(self.folder / "x.npy", X)
        np.save(self.folder / "z.npy", Z)
        inputs = ["--input", f"x={self.folder}/x.npy", "--input", f"z={self.folder}/z.npy"]
        words = [sys.executable, "-B", "-m", "optima.submodels", str(self.made), *inputs]
        where = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        run = lambda *more: subprocess.run([*words, *map(str, more)], capture_output=True, text=True, env=where)
        ran = run("--tpu", "onnxruntime", "-o", self.folder / "answers")
        self.assertEqual((ran.returncode, ran.stdout), (0, "b/y  float32  2x3\nb_y  float32  2x3\n"), ran.stderr)
        np.testing.assert_array_equal(np.load(self.folder / "answers/b_y.npy"), WANTED["b/y"])
        np.testing.assert_array_equal(np.load(self.folder / "answers/b_y_2.npy"), WANTED["b_y"])
        ran = run()
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stderr.count("\n"), 1)
        self.assertIn("optima.submodels: error: graph 1 is for a tpu", ran.stderr)


if __name__ == "__main__":
    unittest.main()
