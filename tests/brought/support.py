# SPDX-License-Identifier: Apache-2.0
"""Small models made on the spot, run by ONNX Runtime and by a package, of the reference unless a test says otherwise: the same answers, or both refuse."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build/release"
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
onnxruntime.set_default_logger_severity(4)


def value(name, dtype=F, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, numbers, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(numbers, dtype), name)


def graph(nodes, outputs, inputs=(), constants=(), name="body"):
    return helper.make_graph(nodes, name, list(inputs), list(outputs), list(constants))


def model(nodes, inputs, outputs, constants=(), opset=17, ir=8, imports=None):
    whole = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    made = helper.make_model(whole, opset_imports=imports or [helper.make_opsetid("", opset)])
    made.ir_version = ir
    return made


def floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def host(*words):
    """(exit code, stdout and stderr) of optima-host."""
    ran = subprocess.run([BUILD / "bin/optima-host", *map(str, words), "--progress", "none"], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


class Package:
    """A model compiled for the reference in a folder of its own; for any device with `device=None`."""

    def __init__(self, made, *options, device="reference/REF:0"):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.file = made if isinstance(made, pathlib.Path) else self.folder / "m.onnx"
        if not isinstance(made, pathlib.Path):
            self.file.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
        self.code, self.said = host("compile", self.file, "-o", self.folder / "out", "--name", "m", *(["--device", device] if device else []), *options)

    def run(self, inputs):
        """{name: array}, or the error as text."""
        words = []
        for k, (name, array) in enumerate(inputs.items()):
            np.save(self.folder / f"{k}.npy", array)
            words += ["--input", f"{name}={self.folder / f'{k}.npy'}"]
        answers = self.folder / "answers"
        code, said = host("run", self.folder / "out/m", *words, "-o", answers)
        if code:
            return said
        manifest = json.loads((answers / "manifest.json").read_text())
        return {o["name"]: np.load(answers / o["file"]) for o in manifest["outputs"]}

    def operators(self):
        """Of the main graph, as planned."""
        code, said = host("plan", self.file, "--device", "reference/REF:0", "-o", self.folder / "plan.json")
        assert code == 0, said
        return [n["op"] for n in json.loads((self.folder / "plan.json").read_text())["nodes"]]


class Case(unittest.TestCase):
    def close(self, found, wanted, what):
        self.assertEqual(found.shape, wanted.shape, what)
        self.assertEqual(found.dtype, wanted.dtype, what)
        if wanted.dtype.kind != "f":
            return np.testing.assert_array_equal(found, wanted, what)
        scale = max(float(np.abs(wanted).max(initial=0)), 1e-6)
        np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-4, err_msg=what)

    def agree(self, what, made, *inputs, options=(), device="reference/REF:0"):
        """Every set of inputs gives what ONNX Runtime gives; gives the package."""
        package = Package(made, *options, device=device)
        self.assertEqual(package.code, 0, f"{what}: {package.said}")
        session = onnxruntime.InferenceSession(str(package.file), providers=["CPUExecutionProvider"])
        for given in inputs:
            answers = package.run(given)
            self.assertIsInstance(answers, dict, f"{what}: {answers}")
            for output, wanted in zip(session.get_outputs(), session.run(None, given)):
                self.close(answers[output.name], wanted, f"{what}: {output.name}")
        return package

    def refused(self, made, sentence):
        package = Package(made)
        self.assertNotEqual(package.code, 0, "it compiled")
        self.assertIn(sentence, package.said)


def main():
    unittest.main(warnings="ignore")
