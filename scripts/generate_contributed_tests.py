#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of one com.microsoft operator each, with what ONNX Runtime makes of random inputs.

    generate_contributed_tests.py OUT

The files are those of generate_node_tests.py; a tolerance is relative and absolute for floats, codes may be one step apart.
OUT/stamp names the versions and this file's content; with an equal stamp nothing is done.
"""
import hashlib
import pathlib
import shutil
import sys

import numpy as np
import onnxruntime as ort
from generate_node_tests import write_value
from onnx import TensorProto, helper, numpy_helper

DOMAIN, ML = "com.microsoft", "ai.onnx.ml"
F, U8, I8 = np.float32, np.uint8, np.int8
random = np.random.default_rng(20)


def f32(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(F)


def u8(*shape):
    return random.integers(0, 256, shape).astype(U8)


def i8(*shape):
    return random.integers(-128, 128, shape).astype(I8)


class Case:
    """`inputs`: name -> array; `constants`: name -> array; None among `operands` is an absent one."""

    def __init__(self, name, op, operands, outputs=1, since=21, tolerance=(1e-4, 1e-4), domain=DOMAIN, ml=3, **attributes):
        self.name, self.op, self.since, self.tolerance, self.attributes = name, op, since, tolerance, attributes
        self.names = [None if v is None else f"{'w' if isinstance(v, Const) else 'x'}{k}" for k, v in enumerate(operands)]
        self.operands, self.outputs, self.domain, self.ml = operands, outputs, domain, ml

    def write(self, folder):
        given = [(n, v) for n, v in zip(self.names, self.operands) if v is not None and not isinstance(v, Const)]
        constants = [numpy_helper.from_array(v.value, n) for n, v in zip(self.names, self.operands) if isinstance(v, Const)]
        made = [f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.op, [n or "" for n in self.names], made, name="node", domain=self.domain, **self.attributes)
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given]
        opsets = [helper.make_opsetid("", self.since), helper.make_opsetid(DOMAIN, 1)]
        if self.domain == ML:
            opsets.append(helper.make_opsetid(ML, self.ml))

        def model(outputs):
            return helper.make_model(helper.make_graph([node], "one", infos, outputs, constants), opset_imports=opsets, ir_version=10)

        write_model(folder, model([helper.make_empty_tensor_value_info(n) for n in made]), dict(given), self.tolerance)


def write_model(folder, model, given, tolerance):
    """The model with the types of its outputs, and what ONNX Runtime makes of `given`. A list of maps is the matrix of their values."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, given)
    results = [np.array([list(row.values()) for row in r], F) if isinstance(r, list) else r for r in results]
    typed = [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(r.dtype), None) for v, r in zip(model.graph.output, results)]
    for value, info in zip(model.graph.output, typed):
        if not value.type.HasField("sequence_type"):
            value.CopyFrom(info)
    data = folder / "set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tolerance").write_text("{} {}\n".format(*tolerance))
    for side, values, infos in (("input", given.values(), model.graph.input), ("output", results, typed)):
        for i, (value, info) in enumerate(zip(values, infos, strict=True)):
            write_value(data / f"{side}_{i}", value, info)


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
    yield Case("DequantizeLinear_16", "DequantizeLinear", [random.integers(-3000, 3000, (3, 8)).astype(np.int16), scale(0.02), zero(100, np.int16)])
    for bits in (4, 8):
        for K, block in ((64, 32), (96, 32), (40, 16), (128, 64)):
            operands, blocks = n_bits(9, K, block, bits)
            attributes = dict(K=K, N=9, bits=bits, block_size=block, tolerance=(1e-3, 1e-3))
            tag = f"_{bits}_{K}_{block}"
            yield Case("MatMulNBits" + tag, "MatMulNBits", [f32(2, 3, K)] + operands, **attributes)
            packed = Const(u8(9 * ((blocks + 1) // 2 if bits == 4 else blocks)))
            yield Case("MatMulNBits_zeros" + tag, "MatMulNBits", [f32(3, K)] + operands + [packed, None, Const(f32(9))], **attributes)
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
    words, rows, segments = Const(f32(11, 8)), Const(f32(6, 8)), Const(f32(2, 8))
    ids, of = random.integers(0, 11, (2, 5)).astype(np.int32), random.integers(0, 2, (2, 5)).astype(np.int32)
    gamma, beta = Const(f32(8)), Const(f32(8))
    op = "EmbedLayerNormalization"
    yield Case(op, op, [ids, of, words, rows, segments, gamma, beta], outputs=2)
    yield Case(op + "_mask", op, [ids, of, words, rows, segments, gamma, beta, np.array([[1] * 5, [1] * 3 + [0] * 2], np.int32)], outputs=2)
    yield Case(op + "_places", op, [ids, None, words, rows, None, gamma, beta, None, np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], np.int32)], outputs=3)
    for opset in (11, 16, 21):  # ONNX's own domain, which has the one since opset 17 and the other never
        tag = f"_{opset}"
        if opset < 17:
            yield Case("LayerNormalization" + tag, "LayerNormalization", [f32(2, 3, 8), gamma, beta], since=opset, domain="", epsilon=1e-3)
            yield Case("LayerNormalization_axis" + tag, "LayerNormalization", [f32(2, 3, 8), Const(f32(3, 8))], since=opset, domain="", axis=1)
        if opset > 11:
            yield Case("SimplifiedLayerNormalization" + tag, "SimplifiedLayerNormalization", [f32(2, 3, 8), gamma], since=opset, domain="", epsilon=1e-3)


def write_all(out, cases, *files):
    """`files`: what the cases come from."""
    stamp = out / "stamp"
    content = hashlib.sha256(b"".join(pathlib.Path(f).read_bytes() for f in files)).hexdigest()
    text = f"onnxruntime {ort.__version__} {content}\n"
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
