#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""auto_split.convert(): the TPU graphs of a folder, compiled in place."""
import json
import os
import subprocess
import sys
import unittest
import warnings
from unittest import mock

import numpy as np

from support import BUILD, FolderTest, ROOT, paper_device
from optima import auto_split, submodels

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[2,4] x) => (float[2,4] y, float[2,4] z) { a = Relu(x)  b = Softmax(a)  c = Neg(b)  y = Add(c, x)  z = Exp(c) }"""
TOOLS = ROOT / ".deps/sophon"


class Convert(FolderTest):
    def setUp(self):
        super().setUp()
        set_host = mock.patch.dict(os.environ, {"OPTIMA_HOST": str(BUILD / "bin/optima-host")})
        set_host.start()
        self.addCleanup(set_host.stop)
        os.environ.pop("REL_TOP", None)
        self.out = self.folder / "out"
        paper = paper_device(self.folder / "p.json", {"Relu", "Neg", "Add", "Exp"}, "static")
        auto_split.split("onnx", {}, self.out, self.model(TEXT), tpu="PAPER:0", supports=[paper])

    def refused(self, sentence, **words):
        with self.assertRaisesRegex(auto_split.AutoSplitError, sentence):
            auto_split.convert(self.out, **words)
        self.assertEqual(list(self.out.glob("graph_ir_*")), [])

    def test_what_cannot_be_is_refused_and_leaves_nothing(self):
        self.refused("optimize is 2, wanted None or 1", optimize=2)
        self.refused("compare is 'yes', wanted True or False", compare="yes")
        self.refused("target is 1684, wanted the name of a chip", target=1684)
        self.refused(r"batches is \[0\], wanted sizes from 1 on", batches=[0])
        self.refused("batches is 4, wanted sizes from 1 on", batches=4)
        self.refused("BM1682", target="BM1682")
        self.refused("did you mean bm1684x", target="bm1684z")
        with self.assertRaisesRegex(auto_split.AutoSplitError, "is no folder of submodels"):
            auto_split.convert(self.folder / "none", target="bm1684x")

    def test_every_tpu_graph_gets_its_file_its_script_and_its_data(self):
        if not (TOOLS / "bin/tpuc-opt").exists():
            print("SKIP: the tools of tpu-mlir are not in .deps/sophon; scripts/setup --with sophon puts them there", flush=True)
            return
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            auto_split.convert(self.out, compare=True)
        self.assertEqual(len([w for w in said if "files are made for bm1684x" in str(w.message)]), 1)
        for i, inputs, outputs in ((0, 1, 1), (2, 2, 2)):
            context = self.out / f"graph_ir_{i}"
            script, model = context / f"compile_to_graph_ir_{i}.py", context / "compilation.bmodel"
            self.assertEqual({p.name for p in context.iterdir()}, {script.name, "compilation.bmodel", "compilation.mlir", "compilation.npz",
                                                                   "input_ref_data.dat", "output_ref_data.dat"})
            sent, got = (np.fromfile(context / f"{name}_ref_data.dat", np.float32) for name in ("input", "output"))
            self.assertEqual((sent.size, got.size), (8 * inputs, 8 * outputs))
            if i == 0:
                np.testing.assert_allclose(got, np.maximum(sent, 0))
            before = model.read_bytes()
            model.unlink()
            subprocess.run([sys.executable, script], env={**os.environ, "TPUC_ROOT": str(TOOLS)}, check=True)
            self.assertEqual(model.read_bytes(), before)

    def test_an_open_batch_is_compiled_for_each_size_and_runs_emulated(self):
        if not (TOOLS / "bin/tpuc-opt").exists():
            print("SKIP: the tools of tpu-mlir are not in .deps/sophon; scripts/setup --with sophon puts them there", flush=True)
            return
        text = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n,4] x, int64[n,4] k) => (float[n,4] y) { f = Cast<to = 1>(k)  a = Mul(f, x)  b = Softmax(a)  y = Neg(b) }"""
        splitter = type("NoSoftmax", (auto_split.Splitter,), {"is_op_support": lambda self, operator: operator.type != "Softmax"})
        splitter({"model_path": self.model(text, "open"), "dynamic": True}).convert_and_split(self.out)
        infos = json.loads((self.out / "graph_infos.json").read_text())
        self.assertEqual((infos["dynamic"], [graph["device"] for graph in infos["graphs"]]), (True, ["tpu", "cpu", "tpu"]))
        auto_split.convert(self.out, compare=True, target="bm1684", batches=(3, 1))
        context = self.out / "graph_ir_0"
        self.assertTrue({"compilation.b1.mlir", "compilation.b3.mlir", "compilation.bmodel"} <= {p.name for p in context.iterdir()})
        self.assertEqual((context / "input_ref_data.dat").stat().st_size, 2 * 3 * 4 * 4)  # integers are floats in a file
        before = (context / "compilation.bmodel").read_bytes()
        (context / "compilation.bmodel").unlink()
        subprocess.run([sys.executable, context / "compile_to_graph_ir_0.py"], env={**os.environ, "TPUC_ROOT": str(TOOLS)}, check=True)
        self.assertEqual((context / "compilation.bmodel").read_bytes(), before)
        held = [os.open(os.devnull, os.O_RDONLY) for _ in range(12)]  # so that the runner's channel has a number that no shell takes
        self.addCleanup(lambda: [os.close(fd) for fd in held])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            runner = submodels.load(self.out)
        self.assertEqual(len([w for w in said if "are emulated on this machine's processor" in str(w.message)]), 1)
        random = np.random.default_rng(2)
        for size in (1, 3):
            x, k = random.standard_normal((size, 4), np.float32), random.integers(-3, 4, (size, 4))
            e = np.exp(k * x)
            np.testing.assert_allclose(runner.infer({"x": x, "k": k})["y"], -e / e.sum(1, keepdims=True), rtol=1e-4)
        with self.assertRaisesRegex(submodels.SubmodelsError, r"graph 0: inputs have shapes \[2, 4\], \[2, 4\], the model was compiled for \[1, 4\], \[1, 4\] or \[3, 4\], \[3, 4\]"):
            runner.infer({"x": np.zeros((2, 4), np.float32), "k": np.zeros((2, 4), np.int64)})
        with self.assertRaisesRegex(submodels.SubmodelsError, "graph 0: input 'k' has numbers that f32 does not hold"):
            runner.infer({"x": np.zeros((1, 4), np.float32), "k": np.full((1, 4), 2**24 + 1)})
        self.check_ends(runner)

    def check_ends(self, runner):
        """Processes of a runner, and of one that is dropped, end; those of AutoSplit's word for the emulator are such."""
        children = [graph.model.process for graph in runner.graphs if hasattr(graph, "model")]
        self.assertEqual([child.poll() for child in children], [None, None])
        runner.close()
        runner.close()
        self.assertNotIn(None, [child.returncode for child in children])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dropped = submodels.load(self.out, use_cmodel=1)
        (child, _) = [graph.model.process for graph in dropped.graphs if hasattr(graph, "model")]
        del dropped
        self.assertIsNotNone(child.returncode)
        with self.assertRaisesRegex(submodels.SubmodelsError, "use_cmodel is 1 and tpu 'sail'"):
            submodels.load(self.out, "sail", use_cmodel=1)

    def test_the_calls_of_sophons_scripts_by_their_import_names(self):
        """As its converters and its check of a split call them: a new folder, positions and words, the chip's model in C."""
        if not (TOOLS / "bin/tpuc-opt").exists():
            print("SKIP: the tools of tpu-mlir are not in .deps/sophon; scripts/setup --with sophon puts them there", flush=True)
            return
        program = self.folder / "script.py"
        program.write_text("""if True:
            import os, shutil, sys
            import numpy as np
            from sophon.auto_split.api import split as splitter
            from sophon.auto_split.api import convert as compiler
            from sophon.auto_runner.api import load, infer

            save_dir, model, target = os.path.abspath("submodels"), sys.argv[1], "BM1684X"
            if os.path.exists(save_dir):
                shutil.rmtree(save_dir)
            os.makedirs(save_dir)
            tensors_dict = {}
            for name, shape in zip(["x"], [(2, 4)]):
                tensors_dict[name] = np.ndarray(shape, dtype=np.float32)
            splitter("onnx", tensors_dict, save_dir, model, params_path=None, outputs=["y", "z"], dynamic=False, layout="NCHW")
            compiler(save_dir, optimize=1, compare=True, target=target)
            x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
            out = infer(load(save_dir, use_cmodel=1), {"x": x})
            a = np.exp(np.maximum(x, 0))
            c = -a / a.sum(1, keepdims=True)
            np.testing.assert_allclose(out["y"], c + x, rtol=1e-3)
            np.testing.assert_allclose(out["z"], np.exp(c), rtol=1e-3)
            """)
        paths = map(str, (ROOT / "python", ROOT / "python-compat/src"))
        ran = subprocess.run([sys.executable, program, self.model(TEXT)], cwd=self.folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("are emulated on this machine's processor", ran.stderr)


if __name__ == "__main__":
    unittest.main()
