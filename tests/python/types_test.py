#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What type checkers see of the package: a user's program under mypy --strict. A name that were Any would fail assert_type, and leave a wrong call's ignore unused."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import BUILD

PROGRAM = '''
import pathlib
from typing import Any, assert_type

import numpy

import optima
from optima import auto_split, doctor, runtime, scale, serve, submodels, torch2hpvm, vitis

package = optima.compile("model.onnx", devices=["X64:0"], precision="int8", dynamic={"x": {0: "batch"}}, objective="latency")
assert_type(package, optima.Package)
assert_type(optima.Package.load("out/model", plugins=["plugins"]), optima.Package)
assert_type(package.run(x=[1.0]), dict[str, numpy.ndarray])
assert_type(package.view().save("picture.svg"), pathlib.Path)
optima.compile()  # type: ignore[call-arg]
optima.compile("model.onnx", devices=3)  # type: ignore[arg-type]
optima.compilr  # type: ignore[attr-defined]
package.explain(3)  # type: ignore[arg-type]

manager = optima.Manager()
assert_type(manager.optimize("Model", [optima.DeviceEnum.DEVICE_KIND_X64], "model.onnx", pathlib.Path("out")), optima.Package)
manager.optimize("Model")  # type: ignore[call-arg]
assert_type(optima.DeviceEnum.DEVICE_KIND_X64.kind, str)

try:
    model = runtime.Context(threads=1).load_model("out/model")
except optima.Error as error:
    assert_type(error.code, str)
    assert_type(error.node, str | None)
    raise
assert_type(model, runtime.Model)
request = model.create_request()
assert_type(request.run({"x": numpy.zeros(3)}), dict[str, numpy.ndarray])
assert_type(model.run(x=numpy.zeros(3), outputs=["y"]), dict[str, numpy.ndarray])
request.run({"x": numpy.zeros(3)}, outputs=3)  # type: ignore[arg-type]
assert_type(request.wait(1.5), bool)
request.wait("long")  # type: ignore[arg-type]
assert_type(model.inputs[0].shape, tuple[int, ...] | None)

module = vitis.partition(vitis.merge(vitis.annotate("model.onnx", "llvm")))
assert_type(module, vitis.Module)
library = vitis.build(module, target="llvm")
assert_type(library, vitis.Library)
assert_type(library.run(image=0), dict[str, numpy.ndarray])
vitis.annotate(3)  # type: ignore[arg-type]

with serve.Server(["out/model"], port=0, batch=8) as server:
    assert_type(server, serve.Server)
    assert_type(server.url, str)
serve.Server(["out/model"], port="http")  # type: ignore[arg-type]
serve.Servr  # type: ignore[attr-defined]

assert_type(scale.compile_many(["a.onnx"], [{"devices": ["X64:0"]}], cache="cache"), list[dict[str, Any]])
scale.compile_many(["a.onnx"], [{}])  # type: ignore[call-arg]
job = scale.Job("a.onnx", {"devices": ["X64:0"]}, "a")
assert_type(job.key(), str)
assert_type(scale.compile_one(job, "cache"), dict[str, Any])
cache = scale.Cache(pathlib.Path("cache"))
assert_type(cache.find(job.key()), pathlib.Path | None)
scale.Cache(3)  # type: ignore[arg-type]
with scale.Journal("jobs.jsonl") as journal:
    assert_type(journal.done, dict[str, str])
assert_type(scale.BatchPredictor("out/a", keep=["id"])({"x": numpy.zeros(3)}), dict[str, Any])
scale.deployment("out/a", batch="many")  # type: ignore[arg-type]
scale.compile_all  # type: ignore[attr-defined]


class Mine(auto_split.Splitter):
    def is_op_support(self, operator: auto_split.Operator) -> bool:
        return operator.type in ("Conv", "Relu")


Mine({"model_path": "model.onnx"}).convert_and_split("out/model")
auto_split.split("onnx", {"image": numpy.zeros(3)}, "out/model", "model.onnx", outputs=["y"])
auto_split.split("onnx")  # type: ignore[call-arg]
auto_split.convert("out/model", compare="yes")  # type: ignore[arg-type]
with submodels.load("out/model", tpu="emulator") as runner:
    assert_type(runner, submodels.Runner)
    assert_type(runner.infer({"image": numpy.zeros(3)}), dict[str, numpy.ndarray])
    assert_type(runner.infer_time({"image": numpy.zeros(3)}), list[float])
submodels.load(3)  # type: ignore[arg-type]

tune = torch2hpvm.BinDataset("in.bin", "labels.bin", (5000, 3, 32, 32))
assert_type(len(tune), int)
torch2hpvm.BinDataset(3)  # type: ignore[call-arg, arg-type]
assert_type(doctor.examine(), dict[str, Any])
assert_type(optima.__version__, str)
'''
# Not read: what a program of none of their types needs.
CONFIG = "[mypy]\n" + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\nignore_missing_imports = True\n" for name in ("torch", "onnx", "onnxruntime", "networkx", "ml_dtypes", "aiohttp"))


class Types(unittest.TestCase):
    def test_a_strict_program_sees_types(self):
        if importlib.util.find_spec("mypy") is None:
            print("SKIP: no mypy; scripts/setup --with tests installs it", flush=True)
            return
        with tempfile.TemporaryDirectory() as folder:
            program, config = pathlib.Path(folder) / "program.py", pathlib.Path(folder) / "mypy.ini"
            program.write_text(PROGRAM)
            config.write_text(CONFIG)
            words = ["--strict", "--config-file", str(config), "--follow-imports", "silent", "--cache-dir", str(pathlib.Path(folder) / "cache"), str(program)]
            done = subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(BUILD / "python")}, cwd=folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("Success", done.stdout)


if __name__ == "__main__":
    unittest.main()
