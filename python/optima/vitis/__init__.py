# SPDX-License-Identifier: Apache-2.0
"""Vitis AI's way through TVM, on Optima: partition, build, calibrate while serving, export (docs/vitis.md).

    module = vitis.partition(vitis.merge(vitis.annotate("model.onnx", "llvm")))
    library = vitis.build(module, target="llvm", options={"build_dir": "model.vitis"})
    for picture in pictures:                       # the first PX_QUANT_SIZE (128) calls answer in float and calibrate; then int8 takes over
        answers = library.run({"image": picture})
    library.export_library("model_lib")

Needs numpy, optima-host and optima's native binding.
"""
from optima.vitis._flow import Module, annotate, merge, partition, partition_for_vitis_ai
from optima.vitis._library import Executor, Library, build, load_library
from optima.vitis._targets import DPUS

__all__ = ["DPUS", "Executor", "Library", "Module", "annotate", "build", "load_library", "merge", "partition", "partition_for_vitis_ai"]
