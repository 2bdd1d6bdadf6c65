# SPDX-License-Identifier: Apache-2.0
"""What the tests of submodels share: the host as users run it, a device of paper, and an independent check of a folder."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build/release"

DTYPES = ("float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 complex128 float8e4m3fn "
          "float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 int2 uint2 float4e2m1 float8e8m0").split()


def host(*words):
    """(exit code, stdout, stderr) of optima-host."""
    ran = subprocess.run([BUILD / "bin/optima-host", *map(str, words)], capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def paper_device(path, operators, shapes="any"):
    """A manifest without a plugin that takes the operators, of every type; shapes="static" refuses dynamic ones."""
    every = [[*range(1, 24)]]
    row = {"domain": "", "since_version": [1, 1000], "inputs": every, "outputs": every, "static_shape": shapes == "static"}
    path.write_text(json.dumps({"manifest": 1, "abi": [[0, 1]], "id": "paper", "vendor": "nobody", "version": "1", "build_id": "1",
                                "roles": ["compiler"], "devices": [{"kind": "PAPER", "class": "tpu"}],
                                "operators": [{**row, "op": op} for op in sorted(operators)], "options": []}))
    return path


def check_folder(test, folder):
    """Every fact that compat files are made of, read from the folder alone; gives graph_infos.json."""
    infos = json.loads((folder / "graph_infos.json").read_text())
    test.assertIs(type(infos["graph_num"]), int)
    test.assertEqual(infos["graph_num"], len(infos["graphs"]))
    test.assertEqual(infos["platform"], "onnx")
    test.assertIs(type(infos["dynamic"]), bool)
    test.assertIn(infos["layout"], ("NCHW", "NHWC"))
    test.assertIs(type(infos["tensors"]), dict)
    for name, tensor in infos["tensors"].items():
        test.assertIn(tensor["attr"], ("input", "output", "intermediate"), name)
        test.assertTrue(all(type(size) is int for size in tensor["shape"]), name)
        test.assertEqual(infos["dynamic"] or all(size >= 0 for size in tensor["shape"]), True, name)
        test.assertIn(tensor["dtype"], DTYPES, name)
    known = {name for name, tensor in infos["tensors"].items() if tensor["attr"] == "input"}
    test.assertEqual(set(infos["inputs"]), known)
    used, files = set(known), {"graph_infos.json"}
    for i, graph in enumerate(infos["graphs"]):
        test.assertIn(graph["device"], ("cpu", "tpu"))
        test.assertEqual(graph["model_info"], {"model_path": f"graph_{i}.onnx"})
        test.assertTrue((folder / f"graph_{i}.onnx").is_file())
        files |= {f"graph_{i}.onnx", f"graph_{i}.weights.bin"}
        test.assertEqual(graph.get("context_dir"), f"graph_ir_{i}" if graph["device"] == "tpu" else None)
        test.assertLessEqual(set(graph["inputs"]), known, f"graph {i} reads what is not there yet")
        test.assertTrue(known.isdisjoint(graph["outputs"]), f"graph {i} writes a tensor twice")
        test.assertTrue(graph["outputs"])
        known |= set(graph["outputs"])
        used |= set(graph["inputs"]) | set(graph["outputs"])
    test.assertEqual(used, set(infos["tensors"]))
    for name in infos["outputs"]:
        test.assertIn(name, known)
        test.assertIn(infos["tensors"][name]["attr"], ("output", "input"))
    test.assertLessEqual({p.name for p in folder.iterdir()}, files)
    return infos


class FolderTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def model(self, text, name="m"):
        path = self.folder / f"{name}.onnxtxt"
        path.write_text(text)
        return path

    def emit(self, model, *words):
        """Splits a model; gives the folder of submodels, checked, and its graph_infos.json."""
        code, out, err = host("compile", model, "--emit", "submodels", "-o", self.folder / "out", "--force", *words)
        self.assertEqual(code, 0, err)
        made = self.folder / "out" / pathlib.Path(model).stem
        self.assertIn(str(made), out)
        return made, check_folder(self, made)

    def refused(self, code, sentence, *words):
        """The program ends with the code and one line that holds the sentence."""
        found, _, err = host(*words)
        self.assertEqual((found, err.count("error:")), (code, 1), err)
        self.assertIn(sentence, err)
