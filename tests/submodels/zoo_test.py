#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of build/models, split by an allocation that knows nothing of them: running the submodels gives the very bits of running
the same model in one piece, and ONNX Runtime's answers for the original file within 1e-4 of their scale (the import folds constants
and raises the opset, which may move the last bit).

Graphs of tpu devices run on ONNX Runtime too, so this tells whether the split is right and not what such a device computes.
"""
import json
import os
import random
import unittest

import numpy as np
import onnx

from support import FolderTest, ROOT, host, paper_device
from optima import submodels

MODELS = ROOT / "build/models"
# Small ones of every kind; the same splitter cuts the big ones.
NAMES = [f"{name}.{exporter}" for exporter in ("ts", "dynamo")
         for name in ("squeezenet", "shufflenet_v2", "mobilenet_v2", "unet", "bert", "bilstm", "vit_tiny")]


def arrays(model, prefix):
    return {file.stem.removeprefix(prefix): np.load(file) for file in sorted(model.with_suffix(".data").glob(f"{prefix}*.npy"))}


class Zoo(FolderTest):
    def check(self, model, device_of):
        """device_of(k): the device of node k, in the order of the model."""
        code, out, err = host("plan", model, "--json")
        self.assertEqual(code, 0, err)
        nodes = json.loads(out)["nodes"]
        paper = paper_device(self.folder / "paper.json", {node["op"] for node in nodes}, "static")
        alloc = self.folder / "alloc.json"
        alloc.write_text(json.dumps({node["name"]: device_of(k) for k, node in enumerate(nodes)}))
        whole, infos = self.run_pieces(model, "--require-device", "REF:0")
        self.assertEqual(infos["graph_num"], 1)
        got, infos = self.run_pieces(model, "--alloc", alloc, "--support", paper)
        self.assertGreater(infos["graph_num"], 3)
        wanted = arrays(model, "output_")
        self.assertEqual(set(got), set(wanted))
        for name in wanted:
            np.testing.assert_array_equal(got[name], whole[name], name)
            self.assertLess(np.abs(got[name] - wanted[name]).max(), 1e-4 * np.abs(wanted[name]).max(), name)
        return infos

    def run_pieces(self, model, *words):
        """The outputs, and graph_infos.json."""
        made, infos = self.emit(model, *words)
        return submodels.load(made, tpu="onnxruntime", threads=1, optimize=False).infer(arrays(model, "input_")), infos

    def test_every_third_node_elsewhere(self):
        for name in NAMES:
            with self.subTest(name):
                infos = self.check(MODELS / f"{name}.onnx", lambda k: "REF:0" if k % 3 == 0 else "X64:0")
                self.assertEqual({graph["device"] for graph in infos["graphs"]}, {"cpu"})

    def test_random_devices(self):
        for seed, name in enumerate(NAMES):
            with self.subTest(name):
                pick = random.Random(seed)
                infos = self.check(MODELS / f"{name}.onnx", lambda k: pick.choice(["REF:0", "X64:0", "PAPER:0", "PAPER:1"]))
                self.assertEqual({graph["device"] for graph in infos["graphs"]}, {"cpu", "tpu"})


class Big(FolderTest):
    def test_big_weights_lie_beside_a_graph_that_cannot_hold_them(self):
        # 2.25 GB in a sparse file: what is written stays sparse only where the file system can, so the disk has to have the room.
        if os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize < 8 << 30:
            print("SKIP: 8 GB of free disk are wanted for a model over 2 GB")
            return
        side, count = 8192, 9
        inits, nodes = [], []
        for k in range(count):
            w = onnx.TensorProto(name=f"w{k}", data_type=1, dims=[side, side], data_location=1)
            for key, value in (("location", "w.bin"), ("offset", str(k * side * side * 4)), ("length", str(side * side * 4))):
                w.external_data.add(key=key, value=value)
            inits.append(w)
            nodes.append(onnx.helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"], name=f"n{k}"))
        value = lambda name: onnx.helper.make_tensor_value_info(name, 1, [1, side])
        graph = onnx.helper.make_graph(nodes, "big", [value("x0")], [value(f"x{count}")], inits)
        path = self.folder / "big.onnx"
        path.write_bytes(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]).SerializeToString())
        with open(self.folder / "w.bin", "wb") as file:
            file.truncate(count * side * side * 4)
        made, _ = self.emit(path, "--device", "X64:0")
        self.assertEqual((made / "graph_0.weights.bin").stat().st_size, count * side * side * 4)
        self.assertLess((made / "graph_0.onnx").stat().st_size, 1 << 16)
        onnx.checker.check_model(str(made / "graph_0.onnx"))


if __name__ == "__main__":
    if MODELS.is_dir():
        unittest.main()
    else:
        print("SKIP: build/models is empty; scripts/make_models.py fills it")
