# SPDX-License-Identifier: Apache-2.0
"""HPVM's way from a PyTorch module to a program that measures accuracy, on Optima (docs/torch2hpvm.md).

    tuneset = BinDataset("tune_input.bin", "tune_labels.bin", (5000, 3, 32, 32))
    testset = BinDataset("test_input.bin", "test_labels.bin", (5000, 3, 32, 32))
    exporter = ModelExporter(module, tuneset, testset, "out", config_file="out/tuner_confs.txt")
    exporter.generate(batch_size=500).compile("out/net", "out/build")      # then: out/net test

Needs torch, numpy, onnx, a C++17 compiler, and optima-host with its runtime library.
"""
from optima import _needs

_needs.needs("optima.torch2hpvm", "compile", "torch", "onnx")

from optima.torch2hpvm._datasets import BinDataset  # noqa: E402  behind what they need
from optima.torch2hpvm._exporter import ModelExporter  # noqa: E402

__all__ = ["BinDataset", "ModelExporter"]
