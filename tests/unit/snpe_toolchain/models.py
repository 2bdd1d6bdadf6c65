# SPDX-License-Identifier: Apache-2.0
"""Small models for the tests of plugins/snpe's tools, with inputs and what ONNX Runtime computes: FOLDER/NAME/model.onnx, ports (a line each:
i or o, name, dtype, dims), and i0, i1, ..., o0, ... as raw bytes."""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper as h, numpy_helper as nh

rng = np.random.default_rng(4)
F = T.FLOAT


def save(name, nodes, inputs, outputs, constants, external=False):
    folder = os.path.join(sys.argv[1], name)
    os.makedirs(folder)
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(*i) for i in inputs], [h.make_tensor_value_info(*o) for o in outputs],
                         [nh.from_array(a, n) for n, a in constants.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    nameless = onnx.ModelProto()
    nameless.CopyFrom(model)
    for node in nameless.graph.node:  # ONNX Runtime wants names that differ, ours may be equal
        node.name = ""
    session = onnxruntime.InferenceSession(nameless.SerializeToString(), providers=["CPUExecutionProvider"])
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path, save_as_external_data=external, location="weights.bin", size_threshold=0)
    feeds = {n: rng.standard_normal(dims).astype(h.tensor_dtype_to_np_dtype(t)) for n, t, dims in inputs}
    with open(os.path.join(folder, "ports"), "w") as ports:
        for k, (n, t, dims) in enumerate(inputs):
            ports.write(f"i {n} {t} {' '.join(map(str, dims))}\n")
            feeds[n].tofile(os.path.join(folder, f"i{k}"))
        for k, (o, y) in enumerate(zip(session.get_outputs(), session.run(None, feeds))):
            t = h.np_dtype_to_tensor_dtype(y.dtype)
            ports.write(f"o {o.name} {t} {' '.join(map(str, y.shape))}\n")
            y.tofile(os.path.join(folder, f"o{k}"))


def weights(*dims):
    return (rng.standard_normal(dims) / np.sqrt(np.prod(dims[1:]) or 1)).astype("float32")


def image(dims):
    return [("x", F, [1, 3, dims, dims])]


# two nodes of one name, and nodes without
save("small", [h.make_node("Conv", ["x", "w", "b"], ["c"], "same", pads=[1, 1, 1, 1]), h.make_node("Relu", ["c"], ["r"], "same"),
               h.make_node("GlobalAveragePool", ["r"], ["p"]), h.make_node("Flatten", ["p"], ["f"]), h.make_node("Gemm", ["f", "g"], ["y"], transB=1)],
     image(16), [("y", F, [1, 5])], {"w": weights(8, 3, 3, 3), "b": weights(8), "g": weights(5, 8)})
save("outside", [h.make_node("MatMul", ["x", "w"], ["y"])], [("x", F, [4, 96])], [("y", F, [4, 96])], {"w": weights(96, 96)}, external=True)
save("wide", [h.make_node("MatMul", ["x", "w"], ["y"])], [("x", F, [1, 1024])], [("y", F, [1, 1024])], {"w": weights(1024, 1024)})
save("two", [h.make_node("Add", ["b", "a"], ["s"]), h.make_node("Mul", ["s", "a"], ["p"])], [("a", F, [2, 3]), ("b", F, [2, 3])],
     [("p", F, [2, 3]), ("s", F, [2, 3])], {})
# an input that two units read is dequantized once in the file; codes at the border
scale, zero = np.array(0.04, "float32"), np.array(120, "uint8")
quantization = {"s": scale, "z": zero, "wq": rng.integers(-127, 127, (3, 3, 3, 3)).astype("int8"), "ws": np.array(0.002, "float32"), "wz": np.array(0, "int8")}
save("codes", [h.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]), h.make_node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
               h.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["wd"]), h.make_node("Conv", ["xd", "wd"], ["c"], pads=[1, 1, 1, 1]),
               h.make_node("QuantizeLinear", ["c", "s", "z"], ["cq"]), h.make_node("DequantizeLinear", ["cq", "s", "z"], ["cd"]),
               h.make_node("Add", ["cd", "xd"], ["a"]), h.make_node("QuantizeLinear", ["a", "s", "z"], ["aq"]),
               h.make_node("DequantizeLinear", ["aq", "s", "z"], ["y"])], image(16), [("y", F, [1, 3, 16, 16])], quantization)
save("einsum", [h.make_node("Relu", ["x"], ["r"], "first"), h.make_node("Einsum", ["r"], ["e"], "second", equation="nchw->nhcw"), h.make_node("Relu", ["e"], ["y"], "third")],
     image(8), [("y", F, [1, 8, 3, 8])], {})
