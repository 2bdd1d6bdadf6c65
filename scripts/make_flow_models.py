#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of the tests of host-driven If, Loop and Scan: small, with seeded random weights, as ONNX.

    .deps/py/bin/python scripts/make_flow_models.py build/flow_models

NAME.onnx with NAME.data/{input,output}_<name>.npy; the outputs are ONNX Runtime's. Most are written as ONNX text, by node name;
"torch" is scripted PyTorch with a branch and a loop that depend on the data, exported by the TorchScript exporter (opset 17).
A folder that this script has finished is not made again.
"""
import hashlib
import logging
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import torch

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
# A branch that depends on the data; both sides read what the graph around them has.
BRANCH = """branch (float[2,4] x, float[4,4] w) => (float[2,4] y, float[2,4] z) {
  [total] s = ReduceSum <keepdims = 0> (x)
  zero = Constant <value = float {0}> ()
  [above] c = Greater (s, zero)
  [hidden] h = MatMul (x, w)
  [choice] y, z = If (c) <
    then_branch = then_g () => (float[2,4] ty, float[2,4] tz) { [relu] ty = Relu (h)  [twice] tz = Add (ty, x) },
    else_branch = else_g () => (float[2,4] ey, float[2,4] ez) { [neg] en = Neg (h)  [exp] ey = Exp (en)  [back] ez = Identity (h) }
  >
}"""
# Branches of different rank, the else_branch first: what follows has a rank only once it runs, also inside another If.
RANKS = """ranks (float[2,1,4] x, float limit) => (float[] y, float[n] flat, int64[r] sizes, float[] again) {
  [total] s = ReduceSum <keepdims = 0> (x)
  [above] c = Greater (s, limit)
  axis = Constant <value = int64[1] {1}> ()
  minus = Constant <value = int64[1] {-1}> ()
  two = Constant <value = int64 {2}> ()
  [choice] r = If (c) <
    else_branch = else_g () => (float[2,1,4] e) { [exp] e = Exp (x) },
    then_branch = then_g () => (float[2,4] t) { [drop] d = Squeeze (x, axis)  [neg] t = Neg (d) }
  >
  [soft] y = Softmax <axis = -1> (r)
  [flatten] flat = Reshape (y, minus)
  [measure] sizes = Shape (r)
  [rank] k = Size (sizes)
  [is_two] q = Equal (k, two)
  [restore] again = If (q) <
    then_branch = then_h () => (float[] u) { [lift] u = Unsqueeze (y, axis) },
    else_branch = else_h () => (float[] v) { [same] v = Identity (r) }
  >
}"""
# The carried tensor gets a dim in every trip.
LIFT = """lift (int64 n, float[2,3] x) => (float[] y, float[m] flat) {
  go = Constant <value = bool {1}> ()
  axis = Constant <value = int64[1] {0}> ()
  minus = Constant <value = int64[1] {-1}> ()
  [pile] y = Loop (n, go, x) <
    body = body_g (int64 i, bool c, float[] a) => (bool c_out, float[] a_out) {
      [same] c_out = Identity (c)
      [more] b = Unsqueeze (a, axis)
      [neg] a_out = Neg (b)
    }
  >
  [flatten] flat = Reshape (y, minus)
}"""
# Trips by an input; one carried tensor, one scan output of unknown length, one that is the counter.
LOOP = """loop (int64 n, float[2,4] x, float[4,4] w) => (float[2,4] y, float[k,2,4] all, int64[k] counts) {
  go = Constant <value = bool {1}> ()
  [steps] y, all, counts = Loop (n, go, x) <
    body = body_g (int64 i, bool c, float[2,4] a) => (bool c_out, float[2,4] a_out, float[2,4] a_copy, int64 i_out) {
      [same] c_out = Identity (c)
      [mul] m = MatMul (a, w)
      [squash] t = Tanh (m)
      [plus] a_out = Add (t, x)
      [copy] a_copy = Identity (a_out)
      [count] i_out = Identity (i)
    }
  >
}"""
# No trip count: the data ends it. Two carried values change places, so each output of the body is an input of it.
WHILE = """while_ (float[3] x, float[3] y, float limit) => (float[3] a, float[3] b, float size) {
  go = Constant <value = bool {1}> ()
  zero = Constant <value = float {0}> ()
  [halve] a, b, size = Loop (, go, x, y, zero) <
    body = body_g (int64 i, bool c, float[3] p, float[3] q, float s) => (bool c_out, float[3] q, float[3] p_out, float s_out) {
      half = Constant <value = float {0.5}> ()
      [smaller] p_out = Mul (p, half)
      [abs] r = Abs (p_out)
      [norm] s_out = ReduceMax <keepdims = 0> (r)
      [more] c_out = Greater (s_out, limit)
    }
  >
}"""
# The carried tensor grows: no shape is known before running.
GROW = """grow (int64 n, float[1,2] x) => (float[rows,2] y) {
  go = Constant <value = bool {1}> ()
  [pile] y = Loop (n, go, x) <
    body = body_g (int64 i, bool c, float[r,2] a) => (bool c_out, float[q,2] a_out) {
      [same] c_out = Identity (c)
      [half] h = Mul (a, x)
      [stack] a_out = Concat <axis = 0> (a, h)
    }
  >
}"""
# A recurrent cell over axis 1 of one input and, backwards, axis 0 of another; one output is put together along its last axis.
SCAN = """scan (float[2,3] h0, float[2,5,3] x, float[5,2,3] g, float[3,3] w) => (float[2,3] h, float[5,2,3] states, float[2,3,5] gates) {
  [cell] h, states, gates = Scan (h0, x, g) <
    num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [0, 1],
    scan_output_axes = [0, -1], scan_output_directions = [1, 0],
    body = body_g (float[2,3] s, float[2,3] xt, float[2,3] gt) => (float[2,3] s_out, float[2,3] s_copy, float[2,3] gate) {
      [recur] r = MatMul (s, w)
      [join] j = Add (r, xt)
      [gate] gate = Sigmoid (gt)
      [act] t = Tanh (j)
      [mix] s_out = Mul (t, gate)
      [copy] s_copy = Identity (s_out)
    }
  >
}"""
# Three bodies deep: the innermost reads a tensor of the main graph, of the outer loop, and a weight.
NESTED = """nested (float[2,2] x, float[2,2] w, int64 n) => (float[2,2] y, float[k] sums) {
  go = Constant <value = bool {1}> ()
  [shift] base = Add (x, w)
  [outer] y, sums = Loop (n, go, x) <
    body = outer_g (int64 i, bool c, float[2,2] a) => (bool c_out, float[2,2] a_out, float sum) {
      [same] c_out = Identity (c)
      one = Constant <value = int64 {1}> ()
      zero = Constant <value = float {0}> ()
      [up] trips = Add (i, one)
      [scaled] b = Mul (a, base)
      [sum] sum = ReduceSum <keepdims = 0> (b)
      [positive] p = Greater (sum, zero)
      [choice] a_out = If (p) <
        then_branch = then_g () => (float[2,2] ty) {
          [inner] ty = Loop (trips, , b) <
            body = inner_g (int64 j, bool d, float[2,2] v) => (bool d_out, float[2,2] v_out) {
              [keep] d_out = Identity (d)
              [mul] m = MatMul (v, w)
              [tanh] t = Tanh (m)
              [add] v_out = Add (t, base)
            }
          >
        },
        else_branch = else_g () => (float[2,2] ey) { [minus] en = Neg (b)  [plus] ey = Add (en, w) }
      >
    }
  >
}"""


def tensors(**shapes):
    rng = np.random.default_rng(sum(map(ord, "".join(shapes))))
    return {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}


def parsed(text):
    return onnx.parser.parse_model(HEAD + text)


class Decode(torch.nn.Module):
    """A branch on a sum, then steps until a value is small."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)

    def forward(self, x, n: int):
        if bool(x.sum() > 0):
            h = torch.relu(self.a(x))
        else:
            h = torch.tanh(self.b(x)) * 2
        for _ in range(n):
            h = torch.tanh(self.b(h)) + x
        i = 0
        while bool(h.abs().max() > 0.01) and i < 20:
            h = h * 0.5
            i += 1
        return h


def exported(path, x):
    torch.manual_seed(7)
    net = torch.jit.script(Decode().eval())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (torch.from_numpy(x), 3), path, dynamo=False, opset_version=17, input_names=["x", "n"], output_names=["y"])


def cases():
    b = tensors(x=(2, 4), w=(4, 4))
    yield "branch_then", parsed(BRANCH), b | {"x": np.abs(b["x"])}
    yield "branch_else", parsed(BRANCH), b | {"x": -np.abs(b["x"])}
    r = tensors(x=(2, 1, 4)) | {"limit": np.array(0, np.float32)}
    yield "ranks_then", parsed(RANKS), r | {"x": np.abs(r["x"])}
    yield "ranks_else", parsed(RANKS), r | {"x": -np.abs(r["x"])}
    for n in (0, 3):
        yield f"lift_{n}", parsed(LIFT), {"n": np.array(n)} | tensors(x=(2, 3))
    for n in (-2, 0, 1, 6):
        yield f"loop_{n}", parsed(LOOP), {"n": np.array(n)} | b
        yield f"grow_{n}", parsed(GROW), {"n": np.array(n)} | tensors(x=(1, 2))
    yield "while", parsed(WHILE), tensors(x=(3,), y=(3,)) | {"limit": np.array(0.01, np.float32)}
    yield "scan", parsed(SCAN), tensors(h0=(2, 3), x=(2, 5, 3), g=(5, 2, 3), w=(3, 3))
    yield "nested", parsed(NESTED), tensors(x=(2, 2), w=(2, 2)) | {"n": np.array(4)}


def finish(path, inputs):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    inputs = {k: v for k, v in inputs.items() if k in wanted}
    data = path.with_suffix(".data")
    data.mkdir(exist_ok=True)
    for key, value in inputs.items():
        np.save(data / f"input_{key}.npy", value)
    for info, value in zip(session.get_outputs(), session.run(None, inputs)):
        np.save(data / f"output_{info.name}.npy", value)
        print(f"{path.name}: {info.name} {list(value.shape)}", flush=True)


def main():
    logging.disable(logging.WARNING)
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    this_script = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()
    if (folder / "done").exists() and (folder / "done").read_text() == this_script:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, model, inputs in cases():
        if all(o.type.tensor_type.HasField("shape") for o in model.graph.output):  # it wants a rank of every output
            onnx.checker.check_model(model)
        onnx.save(model, folder / f"{name}.onnx")
        finish(folder / f"{name}.onnx", inputs)
    for sign in (1, -1):
        x = sign * np.abs(tensors(x=(2, 6))["x"])
        path = folder / f"torch_{'then' if sign > 0 else 'else'}.onnx"
        exported(str(path), x)
        finish(path, {"x": x, "n": np.array(3)})
    (folder / "done").write_text(this_script)


if __name__ == "__main__":
    main()
