#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of one com.microsoft operator each, with what ONNX Runtime makes of random inputs.

    generate_contributed_tests.py OUT

The files are those of generate_node_tests.py, and OUT/<case>/open.onnx, in which every size of an input has a name (but heads, and their size); a tolerance is relative and absolute for floats, codes may be one step apart.
OUT/stamp names the versions and this file's content; with an equal stamp nothing is done.
"""
import hashlib
import pathlib
import shutil
import sys

import ml_dtypes
import numpy as np
import onnxruntime as ort
from generate_node_tests import write_value
from onnx import TensorProto, helper, numpy_helper, parser

DOMAIN, ML = "com.microsoft", "ai.onnx.ml"
F, U8, I8, I64 = np.float32, np.uint8, np.int8, np.int64
random = np.random.default_rng(20)


def f32(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(F)


def u8(*shape):
    return random.integers(0, 256, shape).astype(U8)


def i8(*shape):
    return random.integers(-128, 128, shape).astype(I8)


class Case:
    """None among `operands` is an absent one. `expected`: what ONNX Runtime would make, where its CPU has no kernel of the operator. `unnamed`:
    outputs that nobody reads."""

    def __init__(self, name, op, operands, outputs=1, since=21, tolerance=(1e-4, 1e-4), domain=DOMAIN, ml=3, expected=None, unnamed=(), **attributes):
        self.name, self.op, self.since, self.tolerance, self.attributes = name, op, since, tolerance, attributes
        self.names = [None if v is None else f"{'w' if isinstance(v, Const) else 'x'}{k}" for k, v in enumerate(operands)]
        self.operands, self.outputs, self.domain, self.ml = operands, outputs, domain, ml
        self.expected, self.unnamed = expected, unnamed

    def write(self, folder):
        given = [(n, v) for n, v in zip(self.names, self.operands) if v is not None and not isinstance(v, Const)]
        constants = [numpy_helper.from_array(v.value, n) for n, v in zip(self.names, self.operands) if isinstance(v, Const)]
        made = [f"y{k}" for k in range(self.outputs) if k not in self.unnamed]
        outputs = ["" if k in self.unnamed else f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.op, [n or "" for n in self.names], outputs, name="node", domain=self.domain, **self.attributes)
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given]
        opsets = [helper.make_opsetid("", self.since), helper.make_opsetid(DOMAIN, 1)]
        if self.domain == ML:
            opsets.append(helper.make_opsetid(ML, self.ml))

        def model(outputs):
            return helper.make_model(helper.make_graph([node], "one", infos, outputs, constants), opset_imports=opsets, ir_version=10)

        write_model(folder, model([helper.make_empty_tensor_value_info(n) for n in made]), dict(given), self.tolerance, self.expected)


def write_model(folder, model, given, tolerance, expected=None):
    """The model with the types of its outputs, and what ONNX Runtime makes of `given`. A list of maps is the matrix of their values."""
    results = expected or run_model(model, given)
    write_results(folder, model, given, tolerance, results)


def run_model(model, given):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, given)
    return [np.array([list(row.values()) for row in r], F) if isinstance(r, list) else r for r in results]


def write_results(folder, model, given, tolerance, results):
    typed = [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(r.dtype), None) for v, r in zip(model.graph.output, results)]
    for value, info in zip(model.graph.output, typed):
        if not value.type.HasField("sequence_type"):
            value.CopyFrom(info)
    data = folder / "set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tolerance").write_text("{} {}\n".format(*tolerance))
    heads = model.graph.node[0].op_type.endswith("Attention") or model.graph.node[0].op_type.endswith("RotaryEmbedding")
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        for k, dim in enumerate(dims):
            if not heads or k not in KNOWN.get(len(dims), ()):
                dim.dim_param = f"{info.name}_{k}"
    (folder / "open.onnx").write_bytes(model.SerializeToString())
    for side, values, infos in (("input", given.values(), model.graph.input), ("output", results, typed)):
        for i, (value, info) in enumerate(zip(values, infos, strict=True)):
            write_value(data / f"{side}_{i}", value, info)


# Of tensors of attention, by rank: dims that a model fixes, which are what is not batch nor sequence.
KNOWN = {3: (2,), 4: (1, 3), 5: (0, 2, 4)}


class Const:
    def __init__(self, value):
        self.value = np.asarray(value)


def scale(v):
    return Const(F(v))


def zero(v, dtype=U8):
    return Const(dtype(v))


def n_bits(N, K, block, bits):
    blocks = -(-K // block)
    return [Const(u8(N, blocks, block * bits // 8)), Const(f32(N * blocks, scale=0.02))], blocks


def cases():
    for opset in (11, 21):
        tag = f"_{opset}"
        for op in ("QLinearAdd", "QLinearMul"):
            yield Case(op + tag, op, [u8(2, 3, 4), scale(0.02), zero(130), u8(3, 1), scale(0.05), zero(7), scale(0.03), zero(100)], since=opset)
            yield Case(op + "_signed" + tag, op, [i8(5, 4), scale(0.02), zero(-3, I8), i8(4), scale(0.05), zero(7, I8), scale(0.03), zero(1, I8)], since=opset)
        one = [u8(2, 3, 9), scale(0.04), zero(128), scale(1 / 256), zero(0)]
        yield Case("QLinearSigmoid" + tag, "QLinearSigmoid", one, since=opset)
        yield Case("QLinearLeakyRelu" + tag, "QLinearLeakyRelu", one[:3] + [scale(0.03), zero(90)], since=opset, alpha=0.2)
        yield Case("QLinearSoftmax" + tag, "QLinearSoftmax", one, since=opset, axis=1 if opset < 13 else -1, opset=opset)
        yield Case("QLinearConcat" + tag, "QLinearConcat",
                   [scale(0.05), zero(10), u8(2, 3, 4), scale(0.02), zero(100), u8(2, 5, 4), scale(0.05), zero(10)], since=opset, axis=1)
        yield Case("QLinearGlobalAveragePool" + tag, "QLinearGlobalAveragePool", [u8(1, 5, 6, 7), scale(0.04), zero(128), scale(0.01), zero(100)],
                   since=opset, channels_last=0)
        yield Case("QLinearGlobalAveragePool_last" + tag, "QLinearGlobalAveragePool", [u8(1, 5, 6, 7), scale(0.04), zero(128), scale(0.01), zero(100)],
                   since=opset, channels_last=1)
        pool = [u8(1, 3, 8, 9), scale(0.04), zero(128), scale(0.02), zero(100)]
        yield Case("QLinearAveragePool" + tag, "QLinearAveragePool", pool, since=opset, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0])
        yield Case("QLinearAveragePool_last" + tag, "QLinearAveragePool", pool, since=opset, kernel_shape=[3, 2], channels_last=1, count_include_pad=1)
        yield Case("QLinearWhere" + tag, "QLinearWhere",
                   [random.integers(0, 2, (3, 4)).astype(bool), u8(3, 4), scale(0.02), zero(100), u8(4), scale(0.05), zero(10), scale(0.04), zero(60)], since=opset)
        conv = [u8(1, 6, 7, 8), scale(0.02), zero(120), Const(i8(4, 6, 3, 3)), Const(np.abs(f32(4)) * F(0.01) + F(0.001)), zero(np.zeros(4), lambda v: v.astype(I8)),
                scale(0.2), zero(128), Const(random.integers(-1000, 1000, 4).astype(np.int32))]
        yield Case("QLinearConv" + tag, "QLinearConv", conv, since=opset, pads=[1, 1, 1, 1], channels_last=0)
        yield Case("QLinearConv_last" + tag, "QLinearConv", [u8(1, 7, 8, 6)] + conv[1:], since=opset, pads=[1, 1, 1, 1], strides=[2, 1], channels_last=1)
        gemm = [u8(5, 16), scale(0.02), zero(120), Const(i8(7, 16)), scale(0.01), zero(3, I8), Const(random.integers(-1000, 1000, 7).astype(np.int32))]
        yield Case("QGemm" + tag, "QGemm", gemm + [scale(0.1), zero(128)], since=opset, transB=1)
        yield Case("QGemm_float" + tag, "QGemm", gemm, since=opset, transB=1, alpha=0.5, tolerance=(1e-4, 1e-3))
        yield Case("DynamicQuantizeMatMul" + tag, "DynamicQuantizeMatMul", [f32(2, 5, 16), Const(i8(16, 7)), Const(np.abs(f32(7)) * F(0.01)),
                   Const(i8(7)), Const(f32(7))], since=opset, tolerance=(1e-4, 1e-3))
        yield Case("MatMulIntegerToFloat" + tag, "MatMulIntegerToFloat", [u8(5, 16), Const(i8(16, 7)), scale(0.02), Const(np.abs(f32(7)) * F(0.01)), zero(9),
                   Const(i8(7)), Const(f32(7))], since=opset, tolerance=(1e-4, 1e-3))
        yield Case("QuantizeLinear" + tag, "QuantizeLinear", [f32(3, 8), scale(0.02), zero(100)], since=opset)
        yield Case("DequantizeLinear" + tag, "DequantizeLinear", [u8(3, 8), scale(0.02), zero(100)], since=opset)
    yield Case("QGemm_columns", "QGemm", [u8(5, 16), scale(0.02), zero(120), Const(i8(16, 7)), Const(np.abs(f32(7)) * F(0.01)), Const(np.zeros(7, I8)),
               Const(random.integers(-1000, 1000, 7).astype(np.int32)), scale(0.1), zero(128)])
    yield Case("QLinearSoftmax_old", "QLinearSoftmax", [u8(2, 3, 5), scale(0.04), zero(128), scale(1 / 256), zero(0)], axis=1, opset=11)
    yield Case("QuantizeLinear_axis", "QuantizeLinear", [f32(3, 8, 2), Const(np.abs(f32(8)) * F(0.02)), Const(np.arange(8, dtype=np.uint16))], axis=1)
    for kind, low in ((ml_dtypes.int4, -8), (ml_dtypes.uint4, 0)):
        nibbles = Const(random.integers(low, low + 16, (6, 8)).astype(kind))
        yield Case(f"DequantizeLinear_{np.dtype(kind).name}", "DequantizeLinear", [nibbles, scale(0.25), Const(np.array(low + 5, kind))])
        x = f32(6, 8)  # ONNX Runtime computes it, but gives Python no array of 4 bits
        codes = np.clip(np.rint(x / F(0.25)) + low + 8, low, low + 15).astype(kind)
        yield Case(f"QuantizeLinear_{np.dtype(kind).name}", "QuantizeLinear", [x, scale(0.25), Const(np.array(low + 8, kind))], expected=[codes])
    for kind in (np.int16, np.uint16):
        yield Case(f"QuantizeLinear_{np.dtype(kind).name}", "QuantizeLinear", [f32(3, 8), scale(0.001), zero(100, kind)])
    yield Case("DequantizeLinear_i32", "DequantizeLinear", [random.integers(-3000, 3000, (3, 8)).astype(np.int32), scale(0.02)])
    yield Case("DequantizeLinear_axis", "DequantizeLinear", [i8(3, 8), Const(np.abs(f32(3)) * F(0.02)), Const(i8(3))], axis=0)
    yield Case("DequantizeLinear_16", "DequantizeLinear", [random.integers(-3000, 3000, (3, 8)).astype(np.int16), scale(0.02), zero(100, np.int16)])
    for bits in (2, 4, 8):
        for K, block in ((64, 32), (96, 32), (40, 16), (128, 64)):
            operands, blocks = n_bits(9, K, block, bits)
            attributes = dict(K=K, N=9, bits=bits, block_size=block, tolerance=(1e-3, 1e-3))
            tag = f"_{bits}_{K}_{block}"
            yield Case("MatMulNBits" + tag, "MatMulNBits", [f32(2, 3, K)] + operands, **attributes)
            packed = Const(u8(9 * -(-blocks * bits // 8)))
            yield Case("MatMulNBits_zeros" + tag, "MatMulNBits", [f32(3, K)] + operands + [packed, None, Const(f32(9))], **attributes)
    for bits in (4, 8):  # ONNX Runtime and llvm_cpu round activations then, where processors multiply bytes
        operands, blocks = n_bits(40, 256, 32, bits)
        for rows in (3, 20):
            yield Case(f"MatMulNBits_rounded_{bits}_{rows}", "MatMulNBits", [f32(rows, 256)] + operands, K=256, N=40, bits=bits, block_size=32, accuracy_level=4, tolerance=(2e-2, 0.3))
    operands, blocks = n_bits(9, 64, 32, 4)
    yield Case("MatMulNBits_float_zeros", "MatMulNBits", [f32(3, 64)] + operands + [Const(f32(9 * blocks))], K=64, N=9, bits=4, block_size=32, tolerance=(1e-3, 1e-3))
    hidden, heads = 24, 3
    attention = [f32(2, 5, 16), Const(f32(16, 3 * hidden, scale=0.2)), Const(f32(3 * hidden))]
    seen = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    for tag, mask in (("", None), ("_mask", seen), ("_ends", np.array([3, 5], np.int32)), ("_mask3", np.tril(np.ones((2, 5, 5), np.int32)))):
        yield Case("Attention" + tag, "Attention", attention + [mask], num_heads=heads)
        yield Case("QAttention" + tag, "QAttention", [u8(2, 5, 16), Const(i8(16, 3 * hidden)), attention[2], scale(0.02), scale(0.01), mask, zero(128), zero(0, I8)],
                   num_heads=heads, tolerance=(1e-3, 1e-3))
    past = f32(2, 2, heads, 4, hidden // heads)
    yield Case("Attention_causal", "Attention", attention, num_heads=heads, unidirectional=1)
    yield Case("Attention_past", "Attention", attention + [None, past], outputs=2, num_heads=heads, unidirectional=1)
    yield Case("Attention_past_mask", "Attention", attention + [np.ones((2, 9), np.int32), past], outputs=2, num_heads=heads, unidirectional=1)
    yield Case("Attention_bias", "Attention", attention + [None, None, f32(2, heads, 5, 5)], num_heads=heads, scale=0.5)
    yield from transformers()
    yield from images()
    yield from others()
    yield from edges()
    yield from experts()
    yield from language()
    yield Case("Gelu", "Gelu", [f32(3, 8)])
    yield Case("BiasGelu", "BiasGelu", [f32(3, 8), f32(8)])
    yield Case("FastGelu", "FastGelu", [f32(3, 8), f32(8)])
    yield Case("QuickGelu", "QuickGelu", [f32(3, 8)], alpha=1.5)
    yield Case("SkipLayerNormalization", "SkipLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)])
    yield Case("SkipSimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8)], epsilon=1e-5)
    yield Case("FusedMatMul", "FusedMatMul", [f32(2, 5, 3), f32(2, 4, 5)], transA=1, transB=1, alpha=0.25)
    yield Case("FusedGemm", "FusedGemm", [f32(3, 5), f32(4, 5), f32(4)], transB=1, activation="LeakyRelu", activation_alpha=0.3)
    yield Case("FusedConv", "FusedConv", [f32(1, 3, 5, 6), Const(f32(4, 3, 3, 3)), Const(f32(4)), f32(1, 4, 5, 6)], pads=[1, 1, 1, 1], activation="Relu")
    yield Case("FusedConv_clip", "FusedConv", [f32(1, 3, 5, 6), Const(f32(4, 3, 3, 3)), Const(f32(4))], activation="Clip", activation_params=[-1.0, 1.0])
    yield Case("MatMulInteger16", "MatMulInteger16", [random.integers(-300, 300, (3, 8)).astype(np.int16), random.integers(-300, 300, (8, 4)).astype(np.int16)])
    lstm = [f32(4, 2, 8), Const(i8(2, 8, 24)), Const(i8(2, 6, 24)), Const(f32(2, 48, scale=0.1)), None, None, None, None]
    zeros = Const(np.zeros(2, I8))
    yield Case("DynamicQuantizeLSTM", "DynamicQuantizeLSTM", lstm + [Const(np.array([0.003, 0.004], F)), zeros, Const(np.array([0.002, 0.003], F)), zeros],
               hidden_size=6, direction="bidirectional", tolerance=(0, 0.03))  # there the activations are quantized, too
    yield Case("GatherBlockQuantized", "GatherBlockQuantized", [Const(u8(7, 64)), np.array([[1, 5, 0]], np.int64), Const(f32(7, 2)), Const(u8(7, 2))],
               bits=8, block_size=32, gather_axis=0, quantize_axis=1)
    for tag, width, zeros in (("_middle", 64, None), ("_pairs", 32, None), ("_pairs_zeros", 48, u8(7, 2))):
        bits, blocks = (8 if tag == "_middle" else 4), (3 if zeros is not None else 2)
        yield Case("GatherBlockQuantized" + tag, "GatherBlockQuantized", [Const(u8(7, width)), np.array([[1, 5, 0]], np.int64), Const(f32(7, blocks))] + ([Const(zeros)] if zeros is not None else []),
                   bits=bits, block_size=32, gather_axis=0, quantize_axis=1)


def run_standard(text, given):
    """What ONNX Runtime makes of nodes of ONNX, for operators that its CPU has no kernel of."""
    return run_model(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), given)


def images():
    for kind in (u8, i8):
        op, tag = "NhwcMaxPool", "_" + kind.__name__
        yield Case(op + tag, op, [kind(2, 7, 8, 3)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
        yield Case(op + "_ceil" + tag, op, [kind(1, 7, 7, 2)], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, dilations=[2, 1], since=12)
        yield Case(op + "_same" + tag, op, [kind(1, 7, 7, 2)], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER", since=12)
    x, w, b = f32(1, 4, 6, 5), f32(4, 3, 3, 2), f32(3)
    op = "ConvTransposeWithDynamicPads"
    turned = np.ascontiguousarray(w.transpose(0, 1, 3, 2))
    for tag, weights, bias, attributes in (("", w, None, {}), ("_bias", turned, b, dict(strides=[2, 2], output_padding=[1, 0])), ("_dilated", w, b, dict(dilations=[2, 1]))):
        yield Case(op + tag, op, [x, Const(weights), np.array([1, 0, 0, 1], I64)] + ([Const(bias)] if bias is not None else []), since=21 if tag else 11, **attributes)
        yield Case(op + "_known" + tag, op, [x, Const(weights), Const(np.array([1, 0, 0, 1], I64))] + ([Const(bias)] if bias is not None else []), **attributes)
    pictures = f32(2, 3, 7, 9)
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0.9, 0.1, 0.2, 1.0], [-0.2, 0.3, 1.3, 0.5], [0, 0, 1, 1]], F)
    owners, op = np.array([0, 1, 1, 0], np.int32), "CropAndResize"
    for mode in ("bilinear", "nearest"):
        for height, width in ((4, 5), (1, 6), (7, 1)):
            yield Case(f"{op}_{mode}_{height}_{width}", op, [pictures, boxes, owners, Const(np.array([height, width], np.int32))], mode=mode, extrapolation_value=0.5)
    layers = f32(2, 4, 3, 6), Const(f32(6)), Const(f32(6))
    nhwc = "float[2,4,3,6] x, float[6] g, float[6] b"
    normal = "xf = Transpose <perm = [0, 3, 1, 2]> (x) n = GroupNormalization <num_groups = 3, epsilon = 0.001> (xf, g, b)"
    inputs = dict(x=layers[0], g=layers[1].value, b=layers[2].value)
    for swish, last in ((0, "y = Transpose <perm = [0, 2, 3, 1]> (n)"), (1, "s = Sigmoid(n) p = Mul(n, s) y = Transpose <perm = [0, 2, 3, 1]> (p)")):
        yield Case(f"GroupNorm_{swish}", "GroupNorm", layers, groups=3, epsilon=1e-3, activation=swish, expected=run_standard(f"g ({nhwc}) => (y) {{ {normal} {last} }}", inputs))
    first = f32(2, 6, 4, 3)
    yield Case("GroupNorm_first", "GroupNorm", [first, *layers[1:]], groups=2, activation=0, channels_last=0,
               expected=run_standard("g (float[2,6,4,3] x, float[6] g, float[6] b) => (y) { y = GroupNormalization <num_groups = 2> (x, g, b) }", dict(inputs, x=first)))
    for tag, skip in (("", f32(2, 4, 3, 6)), ("_narrow", f32(2, 1, 1, 6)), ("_flat", f32(2, 6))):
        bias = f32(6)
        wide = skip[:, None, None, :] if skip.ndim == 2 else skip
        s = layers[0] + wide + bias
        y, = run_standard(f"g ({nhwc}) => (y) {{ {normal} y = Transpose <perm = [0, 2, 3, 1]> (n) }}", dict(inputs, x=s))
        yield Case("SkipGroupNorm" + tag, "SkipGroupNorm", [*layers, skip, Const(bias)], outputs=2, groups=3, epsilon=1e-3, activation=0, expected=[y, s])
    photo, filters, more = f32(1, 6, 5, 3), f32(4, 3, 3, 2), f32(1, 6, 5, 4)
    conv = "xf = Transpose <perm = [0, 3, 1, 2]> (x) c = Conv <pads = [1, 0, 1, 1]> (xf, w, b) d = Transpose <perm = [0, 2, 3, 1]> (c)"
    given = dict(x=photo, w=filters, b=f32(4))
    plain, = run_standard(f"g (float[1,6,5,3] x, float[4,3,3,2] w, float[4] b) => (d) {{ {conv} }}", given)
    yield Case("NhwcConv", "NhwcConv", [photo, Const(filters.transpose(0, 2, 3, 1).copy()), Const(given["b"])], pads=[1, 0, 1, 1], expected=[plain])
    yield Case("NhwcFusedConv", "NhwcFusedConv", [photo, Const(filters), Const(given["b"]), more], pads=[1, 0, 1, 1], activation="Relu", expected=[np.maximum(plain + more, 0)])
    op, picture = "Crop", f32(2, 3, 8, 9)
    yield Case(op, op, [picture], since=9, domain="", border=[1, 2, 3, 0])
    yield Case(op + "_size", op, [picture], since=9, domain="", border=[1, 2, 0, 0], scale=[4, 5])
    yield Case("ImageScaler", "ImageScaler", [picture], since=9, domain="", scale=0.25, bias=[0.5, -1.0, 2.0])


def nibbles(codes):
    """Two codes of the last axis to a byte, the earlier one low; a row of odd length ends with an empty half."""
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros_like(codes[..., :1])], -1)
    return (codes[..., 0::2] | codes[..., 1::2] << 4).astype(U8)


def experts():
    count, hidden, inner, tokens = 4, 32, 48, 5
    x, router = f32(tokens, hidden), f32(tokens, count)

    def layers(rows):
        return [Const(f32(count, rows, hidden)), Const(f32(count, rows)), Const(f32(count, hidden, inner, scale=0.2)), Const(f32(count, hidden))]

    for normal in (0, 1):
        for kind in ("relu", "gelu", "silu", "identity"):
            yield Case(f"MoE_{kind}_{normal}", "MoE", [x, router, *layers(inner)], k=2, activation_type=kind, normalize_routing_weights=normal, tolerance=(1e-3, 1e-3))
    fused = dict(activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1, tolerance=(1e-3, 1e-3))
    gpt = dict(fused, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=7.0)
    yield Case("MoE_swiglu", "MoE", [x, router, *layers(2 * inner)], k=2, **fused)
    yield Case("MoE_limit", "MoE", [x, router, *layers(2 * inner)], k=3, **dict(gpt, swiglu_limit=0.5))
    weights = layers(inner)
    yield Case("MoE_bare", "MoE", [x[None], router, weights[0], None, weights[2]], k=1, activation_type="relu")
    gate, line = layers(inner), layers(inner)  # two layers side by side, which ONNX Runtime's CPU has no kernel of, are the rows of one by turns
    turns = [Const(np.stack([a.value, b.value], 2).reshape(count, 2 * inner, *a.value.shape[2:])) for a, b in zip(gate[:2], line[:2])]
    case = Case("MoE_apart", "MoE", [x, router, *turns, *gate[2:]], k=2, **gpt)
    node = helper.make_node("MoE", ["x", "r", "w1", "b1", "w2", "b2"], ["y"], domain=DOMAIN, **case.attributes)
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in (("x", x), ("r", router))]
    constants = [numpy_helper.from_array(c.value, n) for n, c in zip(("w1", "b1", "w2", "b2"), [*turns, *gate[2:]])]
    graph = helper.make_graph([node], "one", infos, [helper.make_empty_tensor_value_info("y")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)], ir_version=10)
    apart = dict(gpt, swiglu_fusion=0, expected=run_model(model, dict(x=x, r=router)))
    yield Case("MoE_apart", "MoE", [x, router, *gate, *line[:2]], k=2, **apart)
    behind = [Const(np.concatenate([a.value, b.value], 1)) for a, b in zip(gate[:2], line[:2])]
    yield Case("MoE_behind", "MoE", [x, router, *behind, *gate[2:]], k=2, **dict(apart, swiglu_fusion=2))
    for bits in (4, 8):
        for block in (0, 16):
            for has_zeros in (0, 1):
                yield q_moe(bits, block, has_zeros, x, router, gpt)
    yield q_moe(8, 16, 1, x, router, gpt, [np.abs(f32(tokens, count))])


def q_moe(bits, block, has_zeros, x, router, attributes, weights=()):
    count, hidden, inner = router.shape[1], x.shape[1], 48

    def coded(rows, columns):
        blocks = columns // block if block else 1
        codes, scales = random.integers(0, 1 << bits, (count, rows, columns)).astype(U8), np.abs(f32(count, rows, blocks, scale=0.16 / (1 << bits)))
        zeros = random.integers(0, 1 << bits, (count, rows, blocks)).astype(U8)
        if not block:
            scales, zeros = scales[..., 0], zeros[..., 0]
        return [Const(nibbles(codes) if bits == 4 else codes), Const(scales), Const(nibbles(zeros) if bits == 4 else zeros)]

    first, second = coded(2 * inner, hidden), coded(hidden, inner)
    operands = [x, router, *first[:2], Const(f32(count, 2 * inner)), *second[:2], Const(f32(count, hidden)), None, None, None]
    operands += [first[2], second[2]] if has_zeros else [None, None]
    sized = dict(block_size=block) if block else {}
    if bits == 8 and block:  # constant weights of 8 bits in blocks ONNX Runtime multiplies by activations of 8 bits
        attributes = dict(attributes, tolerance=(1e-2, 1e-2))
    return Case(f"QMoE_{bits}_{block}_{has_zeros}" + ("_weights" if weights else ""), "QMoE", [*operands, None, *weights] if has_zeros else operands[:8], k=2, expert_weight_bits=bits,
                **sized, **attributes)


def language():
    x, gate = f32(2, 3, 24), f32(2, 3, 24)
    for kind in ("silu", "sigmoid"):
        yield Case("GatedRMSNorm_" + kind, "GatedRMSNorm", [x, Const(f32(8)), gate], activation=kind, epsilon=1e-5)
    yield Case("GatedRMSNorm", "GatedRMSNorm", [x, Const(f32(24)), gate])
    for tag, shape, attributes in (("", (2, 3, 4, 6), {}), ("_flat", (2, 3, 24), dict(num_branches=4))):
        for scaled, factors in (("", None), ("_size", f32(6)), ("_all", f32(24)), ("_grid", f32(4, 6))):
            yield Case("BranchwiseRMSNorm" + tag + scaled, "BranchwiseRMSNorm", [f32(*shape)] + ([] if factors is None else [Const(factors)]), epsilon=1e-5, **attributes)
    signal, kernel, bias = f32(2, 6, 7), Const(f32(6, 1, 4)), Const(f32(6))
    op = "CausalConvWithState"
    yield Case(op, op, [signal, kernel, bias], outputs=2)
    yield Case(op + "_past", op, [signal, kernel, bias, f32(2, 6, 3)], outputs=2, activation="silu")
    yield Case(op + "_dilated", op, [signal, kernel, None, f32(2, 6, 6)], outputs=2, activation="silu", dilation=2)
    yield Case(op + "_token", op, [signal[..., :1], kernel, None, f32(2, 6, 3)], outputs=2)
    heads, size, angles = 3, 16, np.arange(20)[:, None] * 0.4 ** np.arange(8)[None, :]
    cos, sin = Const(np.cos(angles).astype(F)), Const(np.sin(angles).astype(F))
    places = random.integers(0, 20, (3, 2, 5))
    for layout, sections in ((0, [2, 3, 3]), (1, [4, 2, 2])):
        for interleaved in (0, 1):
            given = dict(mrope_section=sections, mrope_layout=layout, interleaved=interleaved)
            yield Case(f"MRotaryEmbedding_{layout}_{interleaved}", "MRotaryEmbedding", [f32(2, heads, 5, size), places, cos, sin], **given)
            yield Case(f"MRotaryEmbedding_joined_{layout}_{interleaved}", "MRotaryEmbedding", [f32(2, 5, heads * size), places, cos, sin], num_heads=heads, **given)
    for size, length in ((1, 4), (2, 9), (3, 9), (4, 2)):
        yield Case(f"NGramRepeatBlock_{size}_{length}", "NGramRepeatBlock", [random.integers(0, 3, (2, length)), f32(2, 5)], ngram_size=size)
    codes = random.integers(0, 256, 9 * 64 // 2).astype(U8)
    for kind in (0, 1):
        yield Case(f"MatMulBnb4_{kind}", "MatMulBnb4", [f32(2, 3, 64), Const(codes), Const(np.abs(f32(9 * 2)))], K=64, N=9, block_size=32, quant_type=kind)


def others():
    x = f32(3, 8)
    yield Case("Affine", "Affine", [x], since=9, domain="", alpha=0.5, beta=2.0)
    yield Case("Scale", "Scale", [x], since=9, domain="", scale=0.5)
    yield Case("ScaledTanh", "ScaledTanh", [x], since=9, domain="", alpha=0.5, beta=2.0)
    yield Case("ParametricSoftplus", "ParametricSoftplus", [x], since=9, domain="", alpha=0.5, beta=2.0)
    yield Case("ThresholdedRelu", "ThresholdedRelu", [x], since=9, domain="", alpha=0.3)
    yield Case("ThresholdedRelu_default", "ThresholdedRelu", [x], since=9, domain="")
    yield Case("DynamicSlice", "DynamicSlice", [x, Const(np.array([1, 0], I64)), Const(np.array([-1, 2], I64)), Const(np.array([1, 0], I64))], since=9, domain="")
    for upper in (0, 1):
        yield Case(f"Trilu_{upper}", "Trilu", [f32(2, 4, 5), Const(np.array(1, I64))], upper=upper)
    yield Case("Trilu", "Trilu", [f32(4, 5)], since=14)
    for size in (1, 2, 3, 5):
        yield Case(f"Inverse_{size}", "Inverse", [f32(3, size, size) + 2 * np.eye(size, dtype=F)[::-1]], tolerance=(1e-3, 1e-3))
    yield Case("Inverse_pivots", "Inverse", [np.array([[0, 2, 1], [1, 0, 0], [3, 0, 1]], F)])
    for mode in ("bilinear", "nearest", "bicubic"):
        for k, padding in enumerate(("zeros", "border", "reflection")):
            if (mode, padding) == ("bicubic", "border"):
                continue  # ONNX's own evaluator clips positions first, ONNX Runtime the four elements
            yield Case(f"GridSample_{mode}_{padding}", "GridSample", [f32(2, 3, 5, 6), f32(2, 4, 3, 2)], mode=mode, padding_mode=padding, align_corners=k % 2)
    for metric in ("euclidean", "sqeuclidean"):
        yield Case("CDist_" + metric, "CDist", [f32(6, 5), f32(4, 5)], metric=metric, tolerance=(1e-3, 1e-3))
    for axis in (0, 1, -1):
        yield Case(f"ExpandDims_{axis}", "ExpandDims", [x, Const(np.array(axis, np.int32))], since=21 if axis else 11)
    pads = np.array([1, 0, 0, 2], I64)
    for tag, operands, mode in (("", [x, Const(pads)], "constant"), ("_value", [x, Const(pads), Const(np.array([1.5], F))], "constant"), ("_row", [x, Const(pads[None])], "reflect"),
                                ("_edge", [x, Const(pads)], "edge")):
        yield Case("Pad" + tag, "Pad", operands, mode=mode, since=21 if tag else 11)
    yield Case("Unique", "Unique", [np.array([2, 1, 1, 3, 4, 3, 2], F)], outputs=3)
    yield Case("GatherND", "GatherND", [f32(3, 4, 5), Const(np.array([[0, 1], [2, 3]], I64))])
    yield Case("SampleOp", "SampleOp", [x])
    yield Case("Range", "Range", [Const(np.array([1], F)), Const(np.array([7], F)), Const(np.array([2], F))])
    yield Case("Range_one", "Range", [Const(np.array(1, I64)), Const(np.array(7, I64))])
    yield Case("UnfoldTensor", "UnfoldTensor", [f32(3, 9, 2)], dim=1, size=4, step=2)
    yield Case("UnfoldTensor_last", "UnfoldTensor", [x], size=3)
    yield Case("ScaledSiLU", "ScaledSiLU", [x], alpha=0.7)
    yield Case("ScaledSiLU_scale", "ScaledSiLU", [x, Const(F(1.5))])
    yield Case("GatedAdd", "GatedAdd", [x, f32(3, 8), f32(3, 1)])
    yield Case("TransposeMatMul", "TransposeMatMul", [f32(2, 5, 3), f32(2, 4, 5)], transA=1, transB=1, alpha=0.5)
    for k, (a, b) in enumerate(((f32(4, 2, 3, 5), f32(2, 3, 5, 6)), (f32(4, 2, 5), f32(2, 5, 6)))):
        for turned in (0, 1):
            left = np.ascontiguousarray(np.swapaxes(a, 0, -1)) if turned else a
            yield Case(f"FusedMatMul_batch_{k}_{turned}", "FusedMatMul", [left, b], transBatchA=1, transA=turned)
    yield Case("FusedMatMul_batches", "FusedMatMul", [f32(4, 2, 5), f32(5, 2, 6)], transBatchA=1, transBatchB=1)
    yield Case("FusedMatMul_batches_turned", "FusedMatMul", [f32(4, 2, 5), f32(6, 2, 5)], transBatchA=1, transBatchB=1, transB=1)
    image, bias, skip = f32(2, 5, 8), f32(8), f32(2, 5, 8)
    yield Case("BiasAdd", "BiasAdd", [image, Const(bias), skip], expected=[image + bias + skip])
    yield Case("BiasDropout", "BiasDropout", [image, Const(bias), skip], expected=[image + bias + skip])
    halves = "g (float[2,5,8] x, float[8] b) => (y) { s = Add(x, b) l, r = Split <axis = 2, num_outputs = 2> (s) g = Gelu(r) y = Mul(l, g) }"
    yield Case("BiasSplitGelu", "BiasSplitGelu", [image, Const(bias)], expected=run_standard(halves, dict(x=image, b=bias)))
    scores, mask = f32(2, 3, 4, 5), f32(2, 1, 1, 5)
    soft = np.exp(scores + mask)
    yield Case("BiasSoftmax", "BiasSoftmax", [scores, mask], axis=3, is_inner_broadcast=1, expected=[soft / soft.sum(-1, keepdims=True)])
    yield Case("BiasSoftmax_flat", "BiasSoftmax", [scores, mask], axis=2, is_inner_broadcast=1, expected=[soft / soft.sum((-2, -1), keepdims=True)])
    at = np.array([[0, 2], [1, 1]], I64)
    yield Case("TorchEmbedding", "TorchEmbedding", [Const(x), at], expected=[x[at]])
    wave = np.fft.rfft(image)
    pairs = np.stack([wave.real, wave.imag], -1).astype(F)
    yield Case("Rfft", "Rfft", [image], signal_ndim=1, normalized=0, onesided=1, expected=[pairs])
    yield Case("Irfft", "Irfft", [pairs], signal_ndim=1, normalized=0, onesided=1, expected=[image])
    codes = u8(2, 3, 4)
    mean = ((codes.astype(F) - 128) * F(0.04)).mean(1, keepdims=True)
    yield Case("QLinearReduceMean", "QLinearReduceMean", [codes, scale(0.04), zero(128), scale(0.02), zero(100)], axes=[1], keepdims=1,
               expected=[np.clip(np.rint(mean / F(0.02)) + 100, 0, 255).astype(U8)])


def edges():
    """Operands left out, signed codes, one element, each activation."""
    for op in ("QLinearAdd", "QLinearMul"):
        x, w = u8(3, 4), u8(1)
        real = [x * F(0.02), w * F(0.05)]
        y = real[0] + real[1] if op == "QLinearAdd" else real[0] * real[1]
        yield Case(op + "_no_zeros", op, [x, scale(0.02), None, w, scale(0.05), None, scale(0.03), None], expected=[np.clip(np.rint(y / F(0.03)), 0, 255).astype(U8)])
        yield Case(op + "_one", op, [u8(1), scale(0.02), zero(3), Const(u8(2, 1, 3)), scale(0.05), zero(200), scale(0.03), zero(255)], since=11)
    signed = [i8(2, 3, 9), scale(0.04), zero(-8, I8), scale(1 / 256), zero(-128, I8)]
    yield Case("QLinearSigmoid_signed", "QLinearSigmoid", signed)
    yield Case("QLinearSigmoid_no_zeros", "QLinearSigmoid", [u8(2, 3), scale(0.04), None, scale(1 / 128), None])
    yield Case("QLinearLeakyRelu_signed", "QLinearLeakyRelu", signed[:3] + [scale(0.03), zero(5, I8)])
    yield Case("QLinearSoftmax_signed", "QLinearSoftmax", signed, axis=-1, opset=13)
    yield Case("QLinearConcat_signed", "QLinearConcat", [scale(0.05), zero(-10, I8), i8(2, 3), scale(0.02), zero(100, I8), i8(2, 1), scale(0.05), zero(-10, I8), i8(2, 2), scale(0.2), zero(0, I8)], axis=-1)
    yield Case("QLinearGlobalAveragePool_signed", "QLinearGlobalAveragePool", [i8(2, 5, 6, 7), scale(0.04), zero(-8, I8), scale(0.01), zero(3, I8)], channels_last=0)
    yield Case("QLinearAveragePool_signed", "QLinearAveragePool", [i8(1, 3, 8, 9), scale(0.04), zero(-8, I8), scale(0.023), zero(3, I8)], kernel_shape=[2, 2], pads=[1, 1, 1, 1],
               strides=[2, 2], count_include_pad=1)
    yield Case("QLinearAveragePool_ceil", "QLinearAveragePool", [u8(1, 3, 8, 9), scale(0.04), zero(128), scale(0.02), zero(100)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    yield Case("QLinearWhere_signed", "QLinearWhere", [random.integers(0, 2, (3, 1)).astype(bool), i8(3, 4), scale(0.02), zero(10, I8), i8(1), scale(0.05), zero(-10, I8), scale(0.04), zero(6, I8)])
    yield Case("QGemm_turned", "QGemm", [u8(16, 5), scale(0.02), zero(120), Const(i8(16, 7)), scale(0.01), zero(3, I8), None, scale(0.1), zero(128)], transA=1)
    columns = Const(np.abs(f32(7)) * F(0.01))
    yield Case("MatMulIntegerToFloat_bare", "MatMulIntegerToFloat", [i8(2, 5, 16), Const(i8(16, 7)), scale(0.02), scale(0.01)], tolerance=(1e-4, 1e-3))
    yield Case("MatMulIntegerToFloat_unsigned", "MatMulIntegerToFloat", [u8(5, 16), Const(u8(16, 7)), scale(0.02), columns, zero(9), Const(u8(7))], tolerance=(1e-4, 1e-3))
    yield Case("DynamicQuantizeMatMul_bare", "DynamicQuantizeMatMul", [f32(5, 16), Const(i8(16, 7)), scale(0.01)], tolerance=(1e-4, 1e-3))
    yield Case("DynamicQuantizeMatMul_bias", "DynamicQuantizeMatMul", [f32(5, 16), Const(u8(16, 7)), columns, None, Const(f32(7))], tolerance=(1e-4, 1e-3))
    photo = [f32(1, 3, 5, 6), Const(f32(4, 3, 3, 3)), Const(f32(4))]
    for name, parameters in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("HardSigmoid", [0.3, 0.4])):
        given = dict(activation_params=parameters) if parameters else {}
        yield Case("FusedConv_" + name, "FusedConv", photo, activation=name, strides=[2, 1], dilations=[1, 2], **given)
        alphas = dict(zip(("activation_alpha", "activation_beta"), parameters))
        yield Case("FusedGemm_" + name, "FusedGemm", [f32(3, 5), f32(5, 4), Const(f32(1, 4))], activation=name, alpha=0.5, beta=2.0, **alphas)
    yield Case("FusedGemm_bare", "FusedGemm", [f32(5, 3), f32(5, 4)], transA=1, activation="Relu")
    yield Case("FusedMatMul_vector", "FusedMatMul", [f32(5), f32(2, 5, 3)], alpha=-1.0)
    yield Case("FastGelu_bare", "FastGelu", [f32(3, 8)])
    yield Case("QuickGelu_default", "QuickGelu", [f32(3, 8)])
    gamma, beta, bias = Const(f32(8)), Const(f32(8)), Const(f32(8))
    for tag, skip in (("", f32(2, 3, 8)), ("_row", f32(3, 8)), ("_batch", f32(1, 3, 8))):
        yield Case("SkipLayerNormalization_sum" + tag, "SkipLayerNormalization", [f32(2, 3, 8), skip, gamma, None, bias], outputs=4, unnamed=(1, 2), epsilon=1e-3)
        yield Case("SkipSimplifiedLayerNormalization_sum" + tag, "SkipSimplifiedLayerNormalization", [f32(2, 3, 8), skip, gamma, bias], outputs=4, unnamed=(1, 2), epsilon=1e-3)
    yield Case("SkipLayerNormalization_bare", "SkipLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), gamma, beta])


def transformers():
    heads, size, size_v = 3, 8, 4
    hidden, hidden_v = heads * size, heads * size_v
    q, k, v = f32(2, 5, hidden), f32(2, 7, hidden), f32(2, 7, hidden_v)
    bias = Const(f32(2 * hidden + hidden_v))
    op = "MultiHeadAttention"
    yield Case(op, op, [q, k, v], num_heads=heads)
    yield Case(op + "_bias", op, [q, k, v, bias], num_heads=heads, scale=0.2)
    yield Case(op + "_mask", op, [q, k, v, None, np.array([[1] * 7, [1] * 4 + [0] * 3], np.int32)], num_heads=heads)
    yield Case(op + "_ends", op, [q, k, v, None, np.array([7, 3], np.int32)], num_heads=heads)
    yield Case(op + "_scores", op, [q, k, v, None, None, f32(1, heads, 5, 7)], num_heads=heads)
    own = f32(2, 5, hidden), f32(2, 5, hidden)
    yield Case(op + "_present", op, [q, *own], outputs=3, num_heads=heads)
    cache = f32(2, heads, 4, size), f32(2, heads, 4, size)
    yield Case(op + "_past", op, [q, *own, None, None, None, *cache], outputs=3, num_heads=heads)
    yield Case(op + "_causal", op, [q, *own, None, None, None, *cache], outputs=3, num_heads=heads, unidirectional=1)
    yield Case(op + "_across", op, [q, f32(2, heads, 7, size), f32(2, heads, 7, size)], num_heads=heads)
    angles = np.arange(20)[:, None] * 0.3 ** np.arange(size // 2)[None, :]
    cos, sin = Const(np.cos(angles).astype(F)), Const(np.sin(angles).astype(F))
    places = np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]], np.int64)
    op = "RotaryEmbedding"
    for interleaved in (0, 1):
        tag = f"_{interleaved}"
        yield Case(op + tag, op, [q, places, cos, sin], interleaved=interleaved)
        yield Case(op + "_first" + tag, op, [q, np.array([6], np.int64), cos, sin], interleaved=interleaved)
        yield Case(op + "_heads" + tag, op, [f32(2, heads, 5, size), places, cos, sin], interleaved=interleaved)
    half = Const(np.cos(angles[:, :2]).astype(F)), Const(np.sin(angles[:, :2]).astype(F))
    yield Case(op + "_part", op, [q, places, *half], num_heads=heads, rotary_embedding_dim=4)
    op, groups, length, size = "GroupQueryAttention", 2, 3, 16
    angles = np.arange(20)[:, None] * 0.3 ** np.arange(size // 2)[None, :]
    cos, sin = Const(np.cos(angles).astype(F)), Const(np.sin(angles).astype(F))
    wide, narrow, few = f32(2, length, 4 * size), f32(2, length, groups * size), (cos, sin)
    cached = f32(2, groups, 6, size), f32(2, groups, 6, size)
    given = dict(num_heads=4, kv_num_heads=groups)
    fresh = [wide, narrow, f32(2, length, groups * size)]
    none = f32(2, groups, 0, size), f32(2, groups, 0, size)
    first = [np.array([2, 2], np.int32), Const(np.array([3], np.int32))]
    yield Case(op + "_first", op, fresh + [None, None] + first, outputs=3, **given)
    yield Case(op + "_empty", op, fresh + [*none] + first, outputs=3, **given)
    token = [v[:, :1] for v in fresh]
    equal = [np.array([6, 6], np.int32), Const(np.array([7], np.int32))]
    yield Case(op, op, token + [*cached] + equal, outputs=3, **given)
    yield Case(op + "_rotary", op, token + [*cached] + equal + [*few], outputs=3, do_rotary=1, **given)
    yield Case(op + "_window", op, token + [*cached] + equal, outputs=3, local_window_size=2, softcap=3.0, **given)
    yield Case(op + "_lengths", op, token + [*cached] + [np.array([6, 3], np.int32), Const(np.array([7], np.int32))] + [*few], outputs=3, do_rotary=1, **given)
    one = [v[:1] for v in fresh]
    alone = [v[:1, :1] for v in fresh]
    yield Case(op + "_one", op, one + [v[:1] for v in cached] + [np.array([8], np.int32), Const(np.array([9], np.int32))] + [*few], outputs=3, do_rotary=1, rotary_interleaved=1, **given)
    yield Case(op + "_token", op, alone + [v[:1] for v in cached] + [np.array([6], np.int32), Const(np.array([7], np.int32))] + [*few], outputs=3, do_rotary=1, **given)
    joined = np.concatenate([v[:1, :1] for v in fresh], axis=2)
    yield Case(op + "_packed", op, [joined, None, None] + [v[:1] for v in cached] + [np.array([6], np.int32), Const(np.array([7], np.int32))] + [*few], outputs=3, do_rotary=1, **given)
    ends = lambda *lengths: [np.array([t - 1 for t in lengths], np.int32), Const(np.array([max(lengths)], np.int32)), *few]
    slides = dict(outputs=3, do_rotary=1, sliding_window_cache=1, **given)  # of 6 rows; at these lengths all of them hold a key
    yield Case(op + "_slides", op, token + [*cached] + ends(9, 6), local_window_size=4, **slides)
    yield Case(op + "_slides_full", op, token + [*cached] + ends(12, 7), local_window_size=6, **slides)
    yield Case(op + "_slides_chunk", op, one + [v[:1] for v in cached] + ends(9), local_window_size=4, softcap=3.0, **slides)
    long = [f32(2, 9, 4 * size), f32(2, 9, groups * size), f32(2, 9, groups * size)]
    yield Case(op + "_slides_prompt", op, long + [*cached] + ends(9, 9), local_window_size=4, **slides)
    yield Case(op + "_around", op, fresh + [*none] + first, outputs=3, causal=0, **given)
    yield Case(op + "_around_past", op, one + [v[:1] for v in cached] + ends(9), outputs=3, do_rotary=1, causal=0, **given)
    sink = Const(f32(4))
    for tag, bias, sinks, more in (("_bias", f32(2, 4, 1, 7), None, {}), ("_bias_one", f32(1, 1, 1, 7), None, dict(softcap=3.0)), ("_sink", None, sink, {}), ("_smooth", None, None, dict(smooth_softmax=1)),
                                   ("_sink_bias", f32(1, 4, 1, 7), sink, dict(local_window_size=4))):
        yield Case(op + tag, op, token + [*cached] + equal + [None, None, None, bias, sinks], outputs=3, **given, **more)
    yield Case(op + "_first_bias", op, fresh + [None, None] + first + [None, None, None, f32(2, 4, 3, 3), sink], outputs=3, **given)
    words, rows, segments = Const(f32(11, 8)), Const(f32(6, 8)), Const(f32(2, 8))
    ids, of = random.integers(0, 11, (2, 5)).astype(np.int32), random.integers(0, 2, (2, 5)).astype(np.int32)
    gamma, beta = Const(f32(8)), Const(f32(8))
    op = "EmbedLayerNormalization"
    yield Case(op, op, [ids, of, words, rows, segments, gamma, beta], outputs=2)
    yield Case(op + "_mask", op, [ids, of, words, rows, segments, gamma, beta, np.array([[1] * 5, [1] * 3 + [0] * 2], np.int32)], outputs=2)
    yield Case(op + "_places", op, [ids, None, words, rows, None, gamma, beta, None, np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], np.int32)], outputs=3)
    op = "QEmbedLayerNormalization"
    tables, factors = [Const(u8(11, 8)), Const(u8(6, 8)), Const(u8(2, 8))], [Const(u8(8)), Const(u8(8))]
    scales, zeros = [scale(v) for v in (0.02, 0.03, 0.01, 0.05, 0.04)], [zero(v) for v in (128, 100, 7, 20, 130)]
    mask = np.array([[1] * 5, [1] * 3 + [0] * 2], np.int32)
    yield Case(op, op, [ids, of, *tables, *factors, mask, *scales, *zeros], outputs=2, epsilon=1e-6)
    yield Case(op + "_one", op, [ids, None, *tables[:2], None, *factors, None, *scales[:2], None, *scales[3:], *zeros[:2], None, *zeros[3:]], outputs=2, epsilon=1e-6)
    for opset in (11, 16, 21):  # ONNX's own domain, which has the one since opset 17 and the other never
        tag = f"_{opset}"
        if opset < 17:
            yield Case("LayerNormalization" + tag, "LayerNormalization", [f32(2, 3, 8), gamma, beta], since=opset, domain="", epsilon=1e-3)
            yield Case("LayerNormalization_axis" + tag, "LayerNormalization", [f32(2, 3, 8), Const(f32(3, 8))], since=opset, domain="", axis=1)
        if opset > 11:
            yield Case("SimplifiedLayerNormalization" + tag, "SimplifiedLayerNormalization", [f32(2, 3, 8), gamma], since=opset, domain="", epsilon=1e-3)


def write_all(out, cases, *files, made_with=""):
    """`files`, `made_with`: what the cases come from; when these change they are made again."""
    stamp = out / "stamp"
    content = hashlib.sha256(b"".join(pathlib.Path(f).read_bytes() for f in files)).hexdigest()
    text = f"onnxruntime {ort.__version__} {made_with} {content}\n"
    if stamp.exists() and stamp.read_text() == text:
        return 0
    shutil.rmtree(out, ignore_errors=True)
    done = 0
    for case in cases():
        case.write(out / case.name)
        done += 1
    stamp.write_text(text)
    print(f"{done} cases of onnxruntime {ort.__version__} in {out}")
    return 0


def main():
    return write_all(pathlib.Path(sys.argv[1]), cases, __file__)


if __name__ == "__main__":
    sys.exit(main())
