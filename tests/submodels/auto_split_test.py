#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AutoSplit's calls: split(), and a Splitter that says itself what is supported."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import warnings
from unittest import mock

import numpy as np
import onnx
import onnx.parser

from support import BUILD, FolderTest, ROOT, check_folder, paper_device
from optima import _tensorflow, auto_split, submodels

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


class SplitTest(FolderTest):
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

    def raises(self, sentence, *args, **more):
        with self.assertRaises(auto_split.AutoSplitError) as caught:
            auto_split.split(*args, **more)
        self.assertIn(sentence, str(caught.exception))
        self.assertFalse(self.out.exists())


class AutoSplit(SplitTest):
    def test_split_puts_on_the_tpu_what_it_takes(self):
        paper = paper_device(self.folder / "p.json", {"Relu", "Neg", "Add", "Exp"}, "static")
        auto_split.split("onnx", {"x": X}, self.out, self.path, tpu="PAPER:0", supports=[paper])
        infos = self.check(["tpu", "cpu", "tpu"])
        self.assertEqual((infos["dynamic"], infos["tensors"]["x"]["shape"]), (False, [3, 4]))
        auto_split.split("onnx", {"x": X}, self.out, self.path, outputs=["c"], tpu="PAPER:0", supports=[paper])
        self.assertEqual(check_folder(self, self.out)["outputs"], ["c"])

    def test_an_empty_folder_is_filled_and_another_is_not_touched(self):
        self.out.mkdir(parents=True)  # as SOPHON's scripts do first
        auto_split.split("onnx", {"x": X}, self.out, self.path, tpu="REF:0")
        self.check(["cpu"])
        other = self.folder / "other"
        other.mkdir()
        (other / "kept").write_text("")
        with self.assertRaisesRegex(auto_split.AutoSplitError, "exists and is not a folder of submodels"):
            auto_split.split("onnx", {"x": X}, other, self.path, tpu="REF:0")
        self.assertTrue((other / "kept").exists())

    def test_tensors_that_the_model_does_not_take(self):
        conv = self.model(f"""<ir_version: 10, opset_import: ["" : 21]>
            g (float[1,1,8,8] x) => (float[1,2,6,6] y) <float[2,1,3,3] w = {{{','.join('1' * 18)}}}> {{ y = Conv(x, w) }}""", "conv")
        self.raises("sizes of --shape do not fit the model: node", "onnx", {"x": np.zeros((1, 3, 8, 8), np.float32)}, self.out, conv, tpu="REF:0")
        self.raises("input_tensors['x'] is float64, wanted float32 as the model's input", "onnx", {"x": np.zeros((1, 1, 8, 8))}, self.out, conv, tpu="REF:0")
        auto_split.split("onnx", {"x": np.zeros((4, 1, 9, 8), np.float32)}, self.out, conv, tpu="REF:0")  # other sizes that fit
        self.assertEqual(check_folder(self, self.out)["tensors"]["y"]["shape"], [4, 2, 7, 6])
        for descriptor in ({}, {"model_path": None}, 3):
            with self.assertRaisesRegex(auto_split.AutoSplitError, "wanted a dict with 'model_path', an ONNX file"):
                NoSoftmax(descriptor)
        with self.assertRaisesRegex(auto_split.AutoSplitError, "is float64, wanted float32"):
            NoSoftmax({"model_path": self.path, "input_tensors": {"x": X.astype(np.float64)}}).convert_and_split(self.folder / "none")

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

    def test_what_is_refused(self):
        args = ({"x": X}, self.out)
        routes = {"caffe": "caffe2onnx", "mxnet": "mxnet.onnx.export_model", "x": "wanted onnx, pytorch, tensorflow or tflite"}
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


NO_CONVERTER = """import sys
sys.stderr.write("warning\\nValueError: no such operator\\n")
sys.exit(1)
"""
# What tf2onnx.convert is called with is in words.txt; what it makes is the model of the tests.
STAND_IN = """import pathlib, shutil, sys
here = pathlib.Path(__file__).parent
(here / "words.txt").write_text("\\n".join(sys.argv[1:]))
shutil.copy(here / "model.onnx", sys.argv[sys.argv.index("--output") + 1])
"""


class TensorFlow(SplitTest):
    """By tf2onnx where it is installed with tensorflow, which scripts/setup does not do; else by a stand-in, and without any."""

    def setUp(self):
        super().setUp()
        self.frozen, self.tflite, self.saved = self.folder / "f.pb", self.folder / "m.tflite", self.folder / "saved"
        self.frozen.write_bytes(b"")
        self.tflite.write_bytes(b"")
        self.saved.mkdir()
        (self.saved / "saved_model.pb").write_bytes(b"")

    def converter(self, text):
        """A package tf2onnx whose converter is the text, for this process and its children."""
        folder = self.folder / "wheels"
        for name in ("tf2onnx", "tensorflow"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "__init__.py").touch()
        (folder / "tf2onnx/convert.py").write_text(text)
        onnx.save(onnx.parser.parse_model(TEXT), folder / "tf2onnx/model.onnx")
        for set_path in (mock.patch.dict(os.environ, {"PYTHONPATH": str(folder)}), mock.patch.object(sys, "path", [str(folder), *sys.path])):
            set_path.start()
            self.addCleanup(set_path.stop)
        return folder / "tf2onnx/words.txt"

    def test_without_the_converter_its_wheels_are_named(self):
        with mock.patch.object(_tensorflow.importlib.util, "find_spec", lambda name: None):
            for platform, path in (("tensorflow", self.saved), ("tflite", self.tflite)):
                self.raises(f"platform {platform!r} wants an optional converter, and tensorflow and tf2onnx are not installed: {sys.executable} -m pip install tensorflow tf2onnx",
                            platform, {"x": X}, self.out, path)

    def test_what_the_converter_makes_is_split(self):
        words, paper = self.converter(STAND_IN), paper_device(self.folder / "p.json", {"Relu", "Neg", "Add", "Exp"})
        for platform, path, outputs, want in (("tflite", self.tflite, None, ["--tflite", str(self.tflite)]), ("tensorflow", str(self.saved), None, ["--saved-model", str(self.saved)]),
                                              ("tensorflow", self.frozen, ["y", "z:0"], ["--graphdef", str(self.frozen), "--inputs", "x:0", "--outputs", "y:0,z:0",
                                                                                       "--rename-inputs", "x", "--rename-outputs", "y,z:0"])):
            auto_split.split(platform, {"x": X}, self.out, path, outputs=outputs, layout="NHWC", tpu="PAPER:0", supports=[paper])
            self.assertEqual(words.read_text().splitlines()[:-2], want)
            self.check(["tpu", "cpu", "tpu"])

    def test_what_the_converter_refuses_is_told(self):
        self.converter(NO_CONVERTER)
        self.raises(f"model {str(self.tflite)!r}: tf2onnx does not convert it: ValueError: no such operator", "tflite", {"x": X}, self.out, self.tflite)

    def test_paths_and_names_that_are_wrong(self):
        self.converter(STAND_IN)
        args = {"x": X}, self.out
        self.raises("is not there, wanted a .tflite file", "tflite", *args, self.folder / "none.tflite")
        self.raises("is a folder, wanted a .tflite file", "tflite", *args, self.saved)
        self.raises("is a folder, wanted a SavedModel's folder or a frozen graph (.pb)", "tensorflow", *args, self.folder)
        self.raises("model is a NoneType, wanted the path of a SavedModel's folder", "tensorflow", *args, None)
        self.raises("is a frozen graph, wanted the names of its input_tensors and outputs", "tensorflow", *args, self.frozen)
        self.raises("layout is 'NC', wanted 'NCHW' or 'NHWC'", "tflite", *args, self.tflite, layout="NC")
        self.raises("'image'", "tflite", {"image": X}, self.out, self.tflite, tpu="REF:0")

    def test_real_models_of_tensorflow(self):
        if _tensorflow.missing():
            print("SKIP: tensorflow and tf2onnx are not installed", flush=True)
            return
        made = subprocess.run([sys.executable, "-c", MAKE, str(self.folder)], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        arrays, want = np.load(self.folder / "x.npy"), np.load(self.folder / "y.npy")
        paper = paper_device(self.folder / "p.json", {"Conv", "Relu", "MaxPool", "Transpose"})
        for platform, path, name, outputs in (("tensorflow", self.saved, "image", None), ("tensorflow", self.frozen, "image", ["Identity"]), ("tflite", self.tflite, "serving_default_image:0", None)):
            auto_split.split(platform, {name: arrays}, self.out, path, outputs=outputs, layout="NHWC", tpu="PAPER:0", supports=[paper])
            self.assertIn("tpu", [graph["device"] for graph in check_folder(self, self.out)["graphs"]])
            (got,) = submodels.load(self.out, tpu="onnxruntime").infer({name: arrays}).values()
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


# In a process of its own, as tensorflow is nowhere else imported: a SavedModel, a frozen graph, a .tflite file, an input and the answer.
MAKE = """import pathlib, sys
import numpy as np, tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
out = pathlib.Path(sys.argv[1])
i = tf.keras.Input((8, 8, 3), batch_size=1, name="image")
x = tf.keras.layers.Conv2D(8, 3, padding="same", activation="relu")(i)
x = tf.keras.layers.DepthwiseConv2D(3, padding="same")(tf.keras.layers.MaxPool2D()(x))
m = tf.keras.Model(i, tf.keras.layers.Softmax()(tf.keras.layers.Dense(4)(tf.keras.layers.Flatten()(x))))
x = np.random.default_rng(0).random((1, 8, 8, 3), np.float32)
np.save(out / "x.npy", x), np.save(out / "y.npy", m(x).numpy())
m.export(str(out / "saved"), verbose=False)
(out / "m.tflite").write_bytes(tf.lite.TFLiteConverter.from_keras_model(m).convert())
call = tf.function(lambda t: m(t)).get_concrete_function(tf.TensorSpec((1, 8, 8, 3), tf.float32, name="image"))
(out / "f.pb").write_bytes(convert_variables_to_constants_v2(call).graph.as_graph_def().SerializeToString())
"""


if __name__ == "__main__":
    unittest.main()
