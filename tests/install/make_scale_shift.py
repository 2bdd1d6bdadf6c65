#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes scale_shift.onnx: x[2,4] -> Relu -> com.acme::ScaleShift(scale=2, shift=[0,10,20,30]) -> Relu -> y.

    .deps/py/bin/python tests/install/make_scale_shift.py

For x = [[1,-2,3,-4],[0,0,0,1]] the answer is y = [[2,10,26,30],[0,10,20,32]].
"""
import pathlib

from onnx import TensorProto, helper

shape = [2, 4]
nodes = [
    helper.make_node("Relu", ["x"], ["a"], name="before"),
    helper.make_node("ScaleShift", ["a", "shift"], ["b"], name="scale_shift", domain="com.acme", scale=2.0),
    helper.make_node("Relu", ["b"], ["y"], name="after"),
]
graph = helper.make_graph(
    nodes, "scale_shift",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    [helper.make_tensor("shift", TensorProto.FLOAT, [4], [0.0, 10.0, 20.0, 30.0])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.acme", 1)], ir_version=10)
(pathlib.Path(__file__).parent / "scale_shift.onnx").write_bytes(model.SerializeToString(deterministic=True))
