#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""answer_of_onnxruntime.py MODEL.onnx FOLDER: random inputs for a model of fixed float32 inputs, and ONNX Runtime's outputs, one thread.

FOLDER gets input_<name>.npy and output_<name>.npy, as scripts/make_models.py writes them beside its models. Inputs are uniform
within 0..1 from a fixed seed.
"""
import pathlib
import sys

import numpy as np
import onnxruntime


def main(model, folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(5)
    inputs = {i.name: random.random(i.shape, dtype=np.float32) for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in inputs.items():
        np.save(folder / f"input_{name}.npy", value)
    for name, value in zip(names, session.run(names, inputs)):
        np.save(folder / f"output_{name}.npy", value)


main(*sys.argv[1:])
