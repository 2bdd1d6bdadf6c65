#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `compile --emit submodels` writes, and what it refuses."""
import json
import unittest

import numpy as np

from support import FolderTest, host, paper_device
from optima import submodels

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
CHAIN = HEAD + "g (float[2,3] x) => (float[2,3] y) { a = Relu(x)  b = Neg(a)  y = Exp(b) }"


class Format(FolderTest):
    def run_whole(self, made, **inputs):
        return submodels.load(made, tpu="onnxruntime", optimize=False).infer(inputs)

    def test_cpu_and_tpu_graphs_in_the_order_they_run(self):
        paper = paper_device(self.folder / "p.json", {"Neg"})
        made, infos = self.emit(self.model(CHAIN), "--support", paper, "--device", "X64:0", "--alloc", self.alloc({"op:Neg": "PAPER:0"}))
        self.assertEqual([g["device"] for g in infos["graphs"]], ["cpu", "tpu", "cpu"])
        self.assertEqual([(g["inputs"], g["outputs"]) for g in infos["graphs"]], [(["x"], ["a"]), (["a"], ["b"]), (["b"], ["y"])])
        self.assertEqual(infos["tensors"]["a"], {"shape": [2, 3], "attr": "intermediate", "dtype": "float32"})
        self.assertEqual([infos["tensors"][n]["attr"] for n in "xby"], ["input", "intermediate", "output"])
        self.assertFalse(infos["dynamic"])
        x = np.random.default_rng(1).standard_normal((2, 3), np.float32)
        np.testing.assert_allclose(self.run_whole(made, x=x)["y"], np.exp(-np.maximum(x, 0)), rtol=1e-6)

    def alloc(self, entries):
        path = self.folder / "alloc.json"
        path.write_text(json.dumps(entries))
        return path

    def test_outputs_that_are_inputs_constants_or_read_on(self):
        text = HEAD + """g (float[2] x, float[2] unused) => (float[2] x, float[2] c, float[2] a, float[2] y) <float[2] w = {1, 2}> {
            c = Add(w, w)  a = Add(x, c)  y = Neg(a) }"""
        made, infos = self.emit(self.model(text), "--alloc", self.alloc({"op:Neg": "REF:0"}), "--device", "X64:0")
        self.assertEqual(infos["outputs"], ["x", "c", "a", "y"])
        self.assertEqual(infos["tensors"]["x"]["attr"], "input")
        self.assertEqual((infos["graphs"][-1]["inputs"], infos["graphs"][-1]["outputs"]), ([], ["c"]))
        got = self.run_whole(made, x=np.float32([5, 6]), unused=np.float32([0, 0]))
        self.assertEqual({k: v.tolist() for k, v in got.items()}, {"x": [5, 6], "c": [2, 4], "a": [7, 10], "y": [-7, -10]})

    def test_a_model_without_nodes_has_no_graphs(self):
        made, infos = self.emit(self.model(HEAD + "g (float[2] x) => (float[2] x) { }"), "--device", "X64:0")
        self.assertEqual((infos["graph_num"], infos["graphs"]), (0, []))
        self.assertEqual(self.run_whole(made, x=np.float32([1, 2]))["x"].tolist(), [1, 2])

    def test_bodies_keep_what_they_capture(self):
        text = HEAD + """g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
            h = Mul(x, w)
            y = If(c) < then_branch = t () => (float[2] r) { r = Add(h, w) }, else_branch = e () => (float[2] q) { q = Sub(x, h) } > }"""
        made, infos = self.emit(self.model(text), "--alloc", self.alloc({"op:Mul": "X64:0", "op:If": "REF:0"}))
        self.assertEqual(infos["graphs"][-1]["inputs"], ["c", "h", "x"])
        for c, want in ((True, [6, 14]), (False, [0, -6])):
            self.assertEqual(self.run_whole(made, c=np.bool_([c]).reshape(()), x=np.float32([5, 6]))["y"].tolist(), want)

    def test_sizes_that_depend_on_data_cross_between_cpus_only(self):
        text = HEAD + "g (float[4] x) => (int64[1,n] y) { a = Relu(x)  i = NonZero(a)  y = Neg(i) }"
        made, infos = self.emit(self.model(text), "--device", "REF:0", "--alloc", self.alloc({"op:Neg": "REF:1"}))
        self.assertTrue(infos["dynamic"])
        self.assertEqual(infos["tensors"]["i"]["shape"], [1, -1])
        self.assertEqual(self.run_whole(made, x=np.float32([1, -1, 0, 2]))["y"].tolist(), [[0, -3]])
        paper = paper_device(self.folder / "p.json", {"Neg"})
        self.refused(3, "tensor 'i' (i64[1,unk__0]) is at the border of graph_1 on PAPER:0, wanted a static shape or one batch in front: give --dim or --shape",
                     "compile", self.model(text), "--emit", "submodels", "--support", paper, "--device", "REF:0", "--pin", "neg_1=PAPER:0",
                     "-o", self.folder / "new")
        self.assertFalse((self.folder / "new").exists())

    def test_a_graph_of_another_device_may_have_one_open_batch(self):
        paper = paper_device(self.folder / "p.json", {"Relu", "Neg"})
        words = ("--support", paper, "--device", "PAPER:0")
        infos = self.emit(self.model(HEAD + "g (float[n,2] x) => (float[n,2] y) { y = Relu(x) }"), *words)[1]
        self.assertEqual((infos["dynamic"], infos["graphs"][0]["device"], infos["tensors"]["y"]["shape"]), (True, "tpu", [-1, 2]))
        two = self.model(HEAD + "g (float[n,2] x, float[m,2] z) => (float[n,2] y, float[m,2] u) { y = Relu(x)  u = Neg(z) }", "two")
        self.refused(3, "tensor 'z' (f32[m,2]) is at the border of graph_0 on PAPER:0, wanted a static shape or one batch in front: give --dim or --shape",
                     "compile", two, "--emit", "submodels", *words, "-o", self.folder / "new")

    def test_a_symbolic_batch_becomes_static_with_dim(self):
        text = HEAD + "g (float[n,2] x) => (float[n,2] y) { y = Relu(x) }"
        paper = paper_device(self.folder / "p.json", {"Relu"})
        self.assertTrue(self.emit(self.model(text), "--device", "REF:0")[1]["dynamic"])
        infos = self.emit(self.model(text), "--support", paper, "--device", "PAPER:0", "--dim", "n=4")[1]
        self.assertEqual((infos["dynamic"], infos["tensors"]["y"]["shape"]), (False, [4, 2]))

    def test_sequences_cannot_cross(self):
        # where to comes with the inputs, so the sequence stays one
        text = HEAD + "g (float[4] x, float[1] v, int64 at) => (float[1] y) <int64 z = {1}> { s = SplitToSequence(x)  t = SequenceInsert(s, v, at)  y = SequenceAt(t, z) }"
        paper = paper_device(self.folder / "p.json", {"SequenceAt", "SequenceConstruct", "SequenceInsert", "Split", "SplitToSequence"})
        self.refused(3, "crosses submodels, wanted a tensor of known rank", "compile", self.model(text), "--emit", "submodels",
                     "-o", self.folder / "out", "--device", "PAPER:0", "--support", paper, "--pin", "sequenceat_1=PAPER:1")
        self.assertFalse((self.folder / "out").exists())

    def test_same_input_same_bytes(self):
        made, _ = self.emit(self.model(CHAIN), "--device", "X64:0")
        first = {p.name: p.read_bytes() for p in made.iterdir()}
        made, _ = self.emit(self.model(CHAIN), "--device", "X64:0")
        self.assertEqual(first, {p.name: p.read_bytes() for p in made.iterdir()})

    def test_what_is_there_is_never_lost_or_half_written(self):
        words = ("compile", self.model(CHAIN), "--device", "X64:0", "-o", self.folder / "out")
        made, _ = self.emit(self.model(CHAIN), "--device", "X64:0")
        self.refused(3, f"folder of submodels '{made}' exists, wanted a free name or --force", *words, "--emit", "submodels")
        self.refused(3, f"'{made}' exists and is not a package, wanted a package or a free name", *words, "--force")
        (made / "graph_infos.json").unlink()
        self.refused(3, "exists and is not a folder of submodels", *words, "--emit", "submodels", "--force")
        for path in made.iterdir():
            path.unlink()
        self.refused(3, f"folder of submodels '{made}' exists, wanted a free name or --force", *words, "--emit", "submodels")
        self.emit(self.model(CHAIN), "--device", "X64:0")  # an empty folder has nothing to lose
        (made / "kept").write_text("")
        (made / "graph_infos.json").unlink()
        self.refused(3, "exists and is not a folder of submodels", *words, "--emit", "submodels", "--force")
        self.refused(3, "folder of submodels name '../x' is no folder name", *words, "--emit", "submodels", "--name", "../x")
        (self.folder / "file").write_text("")
        self.refused(5, "cannot create folder", *words[:-1], self.folder / "file/out", "--emit", "submodels")
        self.assertEqual([p.name for p in (self.folder / "out").iterdir()], ["m"])

    def test_options_that_make_no_sense(self):
        words = ("compile", self.model(CHAIN), "-o", self.folder / "out")
        self.refused(2, "--emit: found 'onnx', wanted package or submodels", *words, "--emit", "onnx")
        self.refused(2, "--self-test goes with --emit package", *words, "--emit", "submodels", "--self-test")
        paper = paper_device(self.folder / "p.json", {"Relu"})
        self.refused(2, "--support plans only", *words, "--support", paper)


class Support(FolderTest):
    """--support FILE: silicon that does not exist yet, in `plan`."""

    def test_a_plan_with_reasons(self):
        paper = paper_device(self.folder / "p.json", {"Relu", "Exp"})
        code, out, err = host("plan", self.model(CHAIN), "--support", paper, "--alloc", self.any_first(), "--json")
        self.assertEqual(code, 0, err)
        plan = json.loads(out)
        self.assertEqual([n["device"] for n in plan["nodes"]], ["PAPER:0", "X64:0", "PAPER:0"])
        self.assertEqual(plan["nodes"][1]["answers"]["PAPER:0"],
                         {"yes": False, "reason": "OP", "text": "operator Neg is not in the note of plugin paper"})

    def any_first(self):
        path = self.folder / "first.json"
        path.write_text(json.dumps({"*": ["PAPER:0", "X64:0"]}))
        return path

    def test_what_is_no_manifest(self):
        model = self.model(CHAIN)
        (self.folder / "bad.json").write_text('{"manifest": 1}')
        self.refused(3, "bad.json", "plan", model, "--support", self.folder / "bad.json")
        self.refused(3, "none.json", "plan", model, "--support", self.folder / "none.json")
        taken = json.loads(paper_device(self.folder / "p.json", {"Relu"}).read_text())
        (self.folder / "taken.json").write_text(json.dumps({**taken, "id": "llvm_cpu"}))
        self.refused(3, "there is a plugin 'llvm_cpu' already, wanted an id of its own", "plan", model, "--support", self.folder / "taken.json")
        (self.folder / "runtime.json").write_text(json.dumps({**taken, "roles": ["runtime"]}))
        self.refused(3, "roles has no 'compiler'", "plan", model, "--support", self.folder / "runtime.json")


if __name__ == "__main__":
    unittest.main()
