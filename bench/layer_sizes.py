#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers of open sizes beside ONNX Runtime, at small ones (maps of few pixels, few rows, short axes) and at ones that caches do not hold.

    scripts/setup --with peers
    .deps/peers/bin/python bench/layer_sizes.py build/release [--only conv3_256 ...] [--threads 1] [--rounds 5]

Each family is a few equal layers with seeded weights, compiled once. Prints ours / ONNX Runtime (below 1: ours is faster) and our microseconds at each size: the
smallest of blocks that take turns in one process; at last the largest difference of any output at any size, relative to that output's scale.
"""
import argparse
import pathlib
import tempfile

import numpy as np
import onnx
from any_model import Beside, compile_one, difference, inputs_of
from onnx import TensorProto, helper, numpy_helper
from optima_runtime import Runtime
from peers import Refused, cpu_name

MAPS = ["1,1,1", "1,2,3", "1,3,3", "1,5,7", "1,7,7", "1,13,13", "2,7,7", "3,4,4", "5,3,3", "7,2,2", "15,1,1"]
PICTURES = ["1,3,3", "1,7,7", "5,13,9", "1,30,40", "3,20,20", "1,200,300"]
LARGE, LENGTHS = ["1,50,50", "1,150,150", "3,100,100"], ["1,100", "1,3000", "1,30000"]
ROWS = ["1", "3", "7", "9", "12", "15", "33", "64", "128"]


class Net:
    """A chain of nodes on input x."""

    def __init__(self, dims, opset=21):
        self.random, self.nodes, self.weights, self.last, self.opset = np.random.default_rng(0), [], [], "x", opset
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)

    def constant(self, array):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *dims):
        return self.constant((self.random.standard_normal(dims) / np.sqrt(max(1, np.prod(dims[1:])))).astype(np.float32))

    def node(self, op, *inputs, domain="", **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.last, *inputs], [out], domain=domain, **attributes))
        self.last = out
        return self

    def model(self, dtype=TensorProto.FLOAT):
        graph = helper.make_graph(self.nodes, "net", [self.input], [helper.make_tensor_value_info(self.last, dtype, None)], self.weights)
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)


def conv1d(channels, kernel, layers):
    net = Net(["n", channels, "l"])
    for _ in range(layers):
        net.node("Conv", net.weight(channels, channels, kernel), net.weight(channels), kernel_shape=[kernel], pads=[kernel // 2] * 2).node("Relu")
    return net.model()


def aspp(channels, out, dilation):
    """A branch of a segmenter's pyramid: 3x3 of far apart taps."""
    net = Net(["n", channels, "h", "w"])
    return net.node("Conv", net.weight(out, channels, 3, 3), net.weight(out), kernel_shape=[3, 3], pads=[dilation] * 4, dilations=[dilation] * 2).node("Relu").model()


def conv(channels, kernel, layers, group=1, transposed=False):
    net = Net(["n", channels, "h", "w"])
    for _ in range(layers):
        if transposed:
            net.node("ConvTranspose", net.weight(channels, channels, kernel, kernel), kernel_shape=[kernel] * 2, strides=[2, 2], pads=[(kernel - 2) // 2] * 4)
        else:
            net.node("Conv", net.weight(channels, channels // group, kernel, kernel), net.weight(channels), kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=group)
        net.node("Relu")
    return net.model()


def four_bits(widths, block=32):
    net = Net(["n", widths[0]])
    for k, n in zip(widths, widths[1:]):
        codes = net.random.integers(0, 256, (n, k // block, block // 2)).astype(np.uint8)
        scales = (net.random.random(n * (k // block)) * 0.01).astype(np.float32)
        net.node("MatMulNBits", net.constant(codes), net.constant(scales), domain="com.microsoft", K=k, N=n, bits=4, block_size=block).node("Relu")
    return net.model()


def modulated(channels):
    """A convolution whose weights follow from the input, as StyleGAN's."""
    net = Net(["n", channels, "h", "w"])
    net.node("ReduceMean", net.constant(np.array([0, 2, 3], np.int64)), keepdims=1).node("Mul", net.weight(channels, channels, 3, 3))
    weights, net.last = net.last, "x"
    return net.node("Conv", weights, kernel_shape=[3, 3], pads=[1] * 4).model()


def resize(mode, factor):
    scales = np.array([1, 1, factor, factor], np.float32)
    net = Net(["n", 16, "h", "w"])
    rule = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"} if mode == "nearest" else {}
    return net.node("Resize", "", net.constant(scales), mode=mode, **rule).model()


FAMILIES = {
    "conv3_64": (lambda: conv(64, 3, 6), MAPS),
    "conv3_256": (lambda: conv(256, 3, 4), MAPS),
    "conv5_48": (lambda: conv(48, 5, 4), MAPS),
    "conv3_64_g4": (lambda: conv(64, 3, 6, group=4), MAPS),
    "conv1_256": (lambda: conv(256, 1, 6), MAPS),
    "conv1_512": (lambda: conv(512, 1, 6), MAPS),
    "deconv4_64": (lambda: conv(64, 4, 2, transposed=True), MAPS),
    "conv1_512_large": (lambda: conv(512, 1, 2), LARGE),
    "conv5_64_large": (lambda: conv(64, 5, 1), LARGE),
    "deconv4_64_large": (lambda: conv(64, 4, 1, transposed=True), LARGE),
    "aspp_512": (lambda: aspp(512, 256, 6), ["1,33,33", "1,65,65", "1,100,100"]),
    "conv1d_256": (lambda: conv1d(256, 3, 2), LENGTHS),
    "conv1d_256_1": (lambda: conv1d(256, 1, 2), LENGTHS),
    "modulated_64": (lambda: modulated(64), PICTURES),
    "attention23": (lambda: Net(["n", 8, "s", 64], 23).node("Attention", "x", "x", is_causal=1).model(), ["1,1", "1,16", "1,128", "3,77", "1,500"]),
    "int4_512": (lambda: four_bits([512, 1024, 512]), ROWS),
    "argmax_last": (lambda: Net(["n", "l"]).node("ArgMax", axis=-1, keepdims=0).model(TensorProto.INT64), ["3,2", "300,7", "33,15", "64,64", "7,1000", "1,50257"]),
    "argmax_classes": (lambda: Net(["n", 21, "h", "w"]).node("ArgMax", axis=1, keepdims=0).model(TensorProto.INT64), PICTURES),
    "nearest2": (lambda: resize("nearest", 2), PICTURES),
    "linear2": (lambda: resize("linear", 2), PICTURES),
}


def print_family(name, runtime, host, folder, args):
    make, sizes = FAMILIES[name]
    path = folder / f"{name}.onnx"
    onnx.save(make(), path)
    compile_one(host, path, None, folder)
    beside, cells, worst = Beside(runtime, folder / "model", path, args.threads), [], 0.0
    for size in sizes:
        inputs = inputs_of(beside.session, [int(n) for n in size.split(",")])
        beside.load(inputs)
        beside.model.run()
        worst = max(worst, difference(beside.outputs(), beside.session.run(None, inputs)))
        ours, ort = beside.times(inputs, args.rounds)
        cells.append(f"{size} {ours / ort:.2f} ({ours * 1e3:.0f})")
    print(f"{name:15} " + "  ".join(cells) + f"  error {worst:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES), metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    runtime = Runtime(args.build)
    print(f"{cpu_name()}; threads {args.threads}; size ours/ort (us)")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.only:
            try:
                print_family(name, runtime, args.build / "bin/optima-host", pathlib.Path(folder), args)
            except (Refused, RuntimeError) as why:
                print(f"{name}: refused: {why}", flush=True)


if __name__ == "__main__":
    main()
