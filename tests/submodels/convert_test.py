#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""auto_split.convert(): the TPU graphs of a folder, compiled in place."""
import os
import subprocess
import sys
import unittest
import warnings
from unittest import mock

import numpy as np

from support import BUILD, FolderTest, ROOT, paper_device
from optima import auto_split

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


if __name__ == "__main__":
    unittest.main()
