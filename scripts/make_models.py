#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the model zoo of the tests and benchmarks: well-known topologies with seeded random weights, as ONNX.

    .deps/py/bin/python scripts/make_models.py build/models            # all of them, both exporters
    .deps/py/bin/python scripts/make_models.py build/models resnet18   # some of them

Each model NAME gives NAME.ts.onnx (TorchScript exporter, opset 17) and NAME.dynamo.onnx (torch.export, opset 20), each with
a folder NAME.<exporter>.data/ of input_<name>.npy and output_<name>.npy; the outputs are ONNX Runtime's, on one thread with
its graph optimisations off. A model that exists with its data is not made again. BatchNormalization statistics and weights are
random too, so that folding them wrongly shows. Of some models int8/NAME.onnx is made besides: quantized to 8 bits in QDQ form
by onnxruntime.quantization, with the same kind of data folder (of `encoder` only that); with `--host optima-host` also int8/NAME.shared.onnx, by `quantize`. Of some
half/NAME.f16.onnx and half/NAME.bf16.onnx, whose floats are of that type between casts at their ends, with outputs of ONNX Runtime in f32 for constants
and inputs rounded to the type. dynamic/NAME.ts.onnx and some dynamic/NAME.dynamo.onnx have free sizes and no data (scripts/dynamic_models.py); of the
decoders `llama` and `gpt` there is nothing else. Topologies: He 2015 (ResNet), Sandler 2018 (MobileNetV2), Iandola 2016
(SqueezeNet 1.1), Ma 2018 (ShuffleNetV2), Dosovitskiy 2020 (ViT), Devlin 2018 (BERT), Ronneberger 2015 (U-Net), Tan 2019
(EfficientNet).
"""
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import torch
from onnxruntime import quantization
from torch import nn
from torch.nn import functional as F

import dynamic_models


def conv_bn(i, o, k=3, s=1, groups=1, act=None):
    layers = [nn.Conv2d(i, o, k, s, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([act()] if act else []))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, i, width, s):
        super().__init__()
        self.body = nn.Sequential(conv_bn(i, width, 3, s, act=nn.ReLU), conv_bn(width, width))
        self.skip = conv_bn(i, width, 1, s) if s > 1 or i != width else nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, i, width, s):
        super().__init__()
        o = 4 * width
        self.body = nn.Sequential(conv_bn(i, width, 1, act=nn.ReLU), conv_bn(width, width, 3, s, act=nn.ReLU), conv_bn(width, o, 1))
        self.skip = conv_bn(i, o, 1, s) if s > 1 or i != o else nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


def resnet(block, depths):
    layers = [conv_bn(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, depth in enumerate(depths):
        for k in range(depth):
            layers.append(block(channels, 64 << stage, 2 if stage and not k else 1))
            channels = (64 << stage) * block.expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


class InvertedResidual(nn.Module):
    def __init__(self, i, o, s, expand):
        super().__init__()
        h = i * expand
        widen = [conv_bn(i, h, 1, act=nn.ReLU6)] if expand > 1 else []
        self.body = nn.Sequential(*widen, conv_bn(h, h, 3, s, groups=h, act=nn.ReLU6), conv_bn(h, o, 1))
        self.residual = s == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


def mobilenet_v2():
    layers, i = [conv_bn(3, 32, 3, 2, act=nn.ReLU6)], 32
    for expand, o, n, s in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for k in range(n):
            layers.append(InvertedResidual(i, o, s if k == 0 else 1, expand))
            i = o
    return nn.Sequential(*layers, conv_bn(i, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


class Fire(nn.Module):
    def __init__(self, i, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(i, squeeze, 1)
        self.left, self.right = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.left(x)), torch.relu(self.right(x))], 1)


def squeezenet():
    pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(nn.Conv2d(3, 64, 3, 2), nn.ReLU(), pool(), Fire(64, 16, 64), Fire(128, 16, 64), pool(), Fire(128, 32, 128),
                         Fire(256, 32, 128), pool(), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256),
                         nn.Conv2d(512, 1000, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class ShuffleUnit(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        h, left = o // 2, i if s > 1 else o // 2
        self.split = s == 1
        self.left = nn.Sequential(conv_bn(i, i, 3, s, groups=i), conv_bn(i, h, 1, act=nn.ReLU)) if s > 1 else nn.Identity()
        self.right = nn.Sequential(conv_bn(left, h, 1, act=nn.ReLU), conv_bn(h, h, 3, s, groups=h), conv_bn(h, h, 1, act=nn.ReLU))

    def forward(self, x):
        a, b = x.chunk(2, 1) if self.split else (x, x)
        y = torch.cat([self.left(a), self.right(b)], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def shufflenet_v2():
    layers, i = [conv_bn(3, 24, 3, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 24
    for o, n in [(116, 4), (232, 8), (464, 4)]:
        layers += [ShuffleUnit(i if k == 0 else o, o, 2 if k == 0 else 1) for k in range(n)]
        i = o
    return nn.Sequential(*layers, conv_bn(464, 1024, 1, act=nn.ReLU), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        n, t, c = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        score = q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5
        if mask is not None:
            score = score.masked_fill(mask[:, None, None, :] == 0, -1e9)
        return self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(n, t, c))


class TransformerLayer(nn.Module):
    def __init__(self, width, heads, norm_first):
        super().__init__()
        self.norm_first = norm_first
        self.attention, self.n1, self.n2 = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attention(self.n1(x), mask)
            return x + self.mlp(self.n2(x))
        x = self.n1(x + self.attention(x, mask))
        return self.n2(x + self.mlp(x))


class ViT(nn.Module):
    def __init__(self, width=192, heads=3, depth=12, patch=16, size=224):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.position = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.layers = nn.ModuleList(TransformerLayer(width, heads, True) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class Bert(nn.Module):
    def __init__(self, width=256, heads=4, depth=4, words=5000, length=128):
        super().__init__()
        self.word, self.position, self.kind = nn.Embedding(words, width), nn.Embedding(length, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(TransformerLayer(width, heads, False) for _ in range(depth))
        self.pool, self.classify = nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, ids, mask):
        place = torch.arange(ids.shape[1], device=ids.device)[None]
        x = self.norm(self.word(ids) + self.position(place) + self.kind(torch.zeros_like(ids)))
        for layer in self.layers:
            x = layer(x, mask)
        return x, self.classify(torch.tanh(self.pool(x[:, 0])))


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        two = lambda i, o: nn.Sequential(conv_bn(i, o, act=nn.ReLU), conv_bn(o, o, act=nn.ReLU))
        w = [width << k for k in range(4)]
        self.down = nn.ModuleList([two(3, w[0]), two(w[0], w[1]), two(w[1], w[2])])
        self.bottom = two(w[2], w[3])
        self.up1, self.after1 = nn.ConvTranspose2d(w[3], w[2], 2, 2), two(w[3], w[2])
        self.up2, self.after2 = nn.ConvTranspose2d(w[2], w[1], 3, 2, padding=1, output_padding=1), two(w[2], w[1])
        self.up3, self.after3 = nn.Conv2d(w[1], w[0], 1), two(w[1], w[0])
        self.head = nn.Conv2d(w[0], 4, 1)

    def forward(self, image):
        a = self.down[0](image)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        x = self.bottom(F.max_pool2d(c, 2))
        x = self.after1(torch.cat([self.up1(x), c], 1))
        x = self.after2(torch.cat([self.up2(x), b], 1))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.after3(torch.cat([self.up3(x), a], 1)))


class MBConv(nn.Module):
    def __init__(self, i, o, k, s, expand):
        super().__init__()
        h, squeeze = i * expand, max(1, i // 4)
        self.widen = conv_bn(i, h, 1, act=nn.SiLU) if expand > 1 else nn.Identity()
        self.depth = conv_bn(h, h, k, s, groups=h, act=nn.SiLU)
        self.squeeze, self.excite = nn.Conv2d(h, squeeze, 1), nn.Conv2d(squeeze, h, 1)
        self.project = conv_bn(h, o, 1)
        self.residual = s == 1 and i == o

    def forward(self, x):
        y = self.depth(self.widen(x))
        gate = torch.sigmoid(self.excite(F.silu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        y = self.project(y * gate)
        return x + y if self.residual else y


def efficientnet():
    layers, i = [conv_bn(3, 32, 3, 2, act=nn.SiLU)], 32
    for expand, o, n, s, k in [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                               (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]:
        for r in range(n):
            layers.append(MBConv(i, o, k, s if r == 0 else 1, expand))
            i = o
    return nn.Sequential(*layers, conv_bn(i, 1280, 1, act=nn.SiLU), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


class BiLSTM(nn.Module):
    def __init__(self, words=2000, width=64, hidden=128):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.classify = nn.Linear(2 * hidden, 5)

    def forward(self, ids):
        x, _ = self.lstm(self.word(ids))
        return self.classify(x.mean(1)).softmax(-1)


def image(rng, size=224):
    return {"image": torch.from_numpy(rng.standard_normal((1, 3, size, size), dtype=np.float32))}


def tokens(rng, words, length, mask):
    ids = {"ids": torch.from_numpy(rng.integers(0, words, (1, length)))}
    if mask:
        ids["mask"] = torch.from_numpy((np.arange(length) < length - 37).astype(np.int64))[None]
    return ids


MODELS = {
    "resnet18": (lambda: resnet(BasicBlock, [2, 2, 2, 2]), image),
    "resnet50": (lambda: resnet(Bottleneck, [3, 4, 6, 3]), image),
    "mobilenet_v2": (mobilenet_v2, image),
    "squeezenet": (squeezenet, image),
    "shufflenet_v2": (shufflenet_v2, image),
    "vit_tiny": (ViT, image),
    "bert": (Bert, lambda rng: tokens(rng, 5000, 128, True)),
    "unet": (UNet, lambda rng: image(rng, 128)),
    "efficientnet": (efficientnet, image),
    "bilstm": (BiLSTM, lambda rng: tokens(rng, 2000, 48, False)),
    "encoder": (lambda: Bert(384, 12, 6, 1000), lambda rng: tokens(rng, 1000, 128, True)),
}


def randomise(net):
    """Non-trivial statistics, and scales that keep activations of order one through the depth."""
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.5, 2)
            m.weight.data.uniform_(0.6, 1.4)
            m.bias.data.normal_(0, 0.2)
        elif isinstance(m, nn.LayerNorm):
            m.weight.data.uniform_(0.8, 1.2)
            m.bias.data.normal_(0, 0.1)
        elif isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
    return net.eval()


def export(net, inputs, exporter, path):
    names = list(inputs)
    outputs = ["hidden", "scores"] if isinstance(net, Bert) else ["scores"]
    common = dict(input_names=names, output_names=outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "ts":
            # Without constant folding BatchNormalization and the shape arithmetic stay in the file.
            torch.onnx.export(net, tuple(inputs.values()), path, dynamo=False, opset_version=17, do_constant_folding=False, **common)
        else:
            torch.onnx.export(net, tuple(inputs.values()), path, dynamo=True, external_data=False, verbose=False, **common)


def expected(path, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    outputs = session.run(None, {k: v.numpy() for k, v in inputs.items()})
    return dict(zip([o.name for o in session.get_outputs()], outputs))


def make(name, exporter, folder):
    path, data = folder / f"{name}.{exporter}.onnx", folder / f"{name}.{exporter}.data"
    if (data / "done").exists():
        return
    torch.manual_seed(sum(map(ord, name)))
    build, make_inputs = MODELS[name]
    net = randomise(build())
    inputs = make_inputs(np.random.default_rng(len(name)))
    export(net, inputs, exporter, path)
    data.mkdir(exist_ok=True)
    for key, value in inputs.items():
        np.save(data / f"input_{key}.npy", value.numpy())
    for key, value in expected(path, inputs).items():
        np.save(data / f"output_{key}.npy", value)
        print(f"{path.name}: {key} {list(value.shape)} largest {np.abs(value).max():.3g}", flush=True)
    (data / "done").touch()


QUANTIZED = ("resnet18", "resnet50", "mobilenet_v2", "bert")
ONLY_QUANTIZED = ("encoder",)  # the size of small sentence encoders; its float file is not kept
PRODUCTS = ["MatMul", "Gemm"]
# Of a transformer only what products read is quantized: its sums and normalizations carry outliers.
ONLY_INPUTS_OF_PRODUCTS = dict.fromkeys(("bert", "encoder"), {"op_types_to_quantize": PRODUCTS, "extra_options": {"OpTypesToExcludeOutputQuantization": PRODUCTS}})


class Samples(quantization.CalibrationDataReader):
    def __init__(self, make_inputs, count=4):
        self.left = [{k: v.numpy() for k, v in make_inputs(np.random.default_rng(100 + n)).items()} for n in range(count)]

    def get_next(self):
        return self.left.pop() if self.left else None


def make_int8(name, folder):
    """8-bit weights per channel and 8-bit activations; 7 of the weights' bits used, so that no kernel's 16-bit sums overflow."""
    path, data = folder / "int8" / f"{name}.onnx", folder / "int8" / f"{name}.data"
    if (data / "done").exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as passing:
        source = folder / f"{name}.dynamo.onnx"
        if name in ONLY_QUANTIZED:
            make(name, "dynamo", pathlib.Path(passing))
            source = pathlib.Path(passing) / source.name
        quantize_statically(name, source, path)
    keep_answers(name, path, data)


def quantize_statically(name, source, path):
    quantization.quantize_static(source, path, Samples(MODELS[name][1]), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                 reduce_range=True, activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
                                 **ONLY_INPUTS_OF_PRODUCTS.get(name, {}))


def make_shared(name, folder, host):
    """The same model by our own `quantize`: scheme `shared`, all of the weights' bits, from the same samples."""
    path, data, calib = (folder / "int8" / f"{name}.shared.{suffix}" for suffix in ("onnx", "data", "calib"))
    if (data / "done").exists():
        return
    for made in (data, calib):
        made.mkdir(parents=True, exist_ok=True)
    for n, sample in enumerate(Samples(MODELS[name][1], 8).left):
        np.savez(calib / f"{n}.npz", **sample)
    subprocess.run([host, "quantize", folder / f"{name}.dynamo.onnx", "--calib", calib, "-o", path], check=True)
    keep_answers(name, path, data)


def keep_answers(name, path, data):
    """ONNX Runtime's answers of a quantized model, beside their inputs."""
    inputs = MODELS[name][1](np.random.default_rng(len(name)))
    for key, value in inputs.items():
        np.save(data / f"input_{key}.npy", value.numpy())
    for key, value in expected(path, inputs).items():
        np.save(data / f"output_{key}.npy", value)
        print(f"int8/{path.name}: {key} {list(value.shape)} largest {np.abs(value).max():.3g}", flush=True)
    (data / "done").touch()


def host_of(words):
    """The program behind --host, which is taken out of the words; None without."""
    if "--host" not in words:
        return None
    at = words.index("--host")
    if at + 1 == len(words):
        sys.exit("make_models: --host wants the path of optima-host")
    del words[at]
    return words.pop(at)


HALVES = ("resnet18", "mobilenet_v2", "bert", "vit_tiny")
HALF_TYPES = {"f16": onnx.TensorProto.FLOAT16, "bf16": onnx.TensorProto.BFLOAT16}
LARGEST_F16 = 65504.0


def rounded(array, kind):
    """The nearest numbers of the type, as f32; finite numbers stay finite."""
    limited = np.clip(array, -LARGEST_F16, LARGEST_F16) if kind == "f16" else array
    type_ = torch.float16 if kind == "f16" else torch.bfloat16
    return torch.from_numpy(np.array(limited, np.float32)).to(type_).to(torch.float32).numpy()


def half_tensor(tensor, kind):
    """Of an f32 TensorProto; others are None."""
    if tensor.data_type != onnx.TensorProto.FLOAT:
        return None
    array = rounded(onnx.numpy_helper.to_array(tensor), kind)
    bits = array.astype(np.float16).view(np.uint16) if kind == "f16" else (array.view(np.uint32) >> 16).astype(np.uint16)
    return onnx.TensorProto(name=tensor.name, dims=tensor.dims, data_type=HALF_TYPES[kind], raw_data=bits.tobytes())


def each_tensor(graph):
    """Initializers and tensors in attributes, but for the scales of Resize, which are f32 in every type."""
    scales = {i for n in graph.node if n.op_type == "Resize" for i in n.input[1:3]}
    for tensor in graph.initializer:
        if tensor.name not in scales:
            yield tensor
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and not scales & set(node.output):
                yield attribute.t


def to_half(model, kind):
    graph, type_ = model.graph, HALF_TYPES[kind]
    del graph.value_info[:]
    for tensor in each_tensor(graph):
        if (half := half_tensor(tensor, kind)) is not None:
            tensor.CopyFrom(half)
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = type_
    floats = {v.name for v in graph.input if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
    results = {v.name for v in graph.output if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
    for node in graph.node:
        node.input[:] = [i + "/half" if i in floats | results else i for i in node.input]
        node.output[:] = [o + "/half" if o in results else o for o in node.output]
    nodes = [onnx.helper.make_node("Cast", [i], [i + "/half"], to=type_) for i in sorted(floats)] + list(graph.node)
    nodes += [onnx.helper.make_node("Cast", [o + "/half"], [o], to=onnx.TensorProto.FLOAT) for o in sorted(results)]
    del graph.node[:]
    graph.node.extend(nodes)
    for opset in model.opset_import:
        if opset.domain == "":
            opset.version = max(opset.version, 22)  # the first one with convolutions of bf16


def make_half(name, kind, folder):
    source, path, data = folder / f"{name}.dynamo.onnx", folder / "half" / f"{name}.{kind}.onnx", folder / "half" / f"{name}.{kind}.data"
    if (data / "done").exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    inputs = {k: torch.from_numpy(rounded(v.numpy(), kind)) if v.dtype == torch.float32 else v
              for k, v in MODELS[name][1](np.random.default_rng(len(name))).items()}
    model = onnx.load(source)
    for tensor in each_tensor(model.graph):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(onnx.numpy_helper.from_array(rounded(onnx.numpy_helper.to_array(tensor), kind), tensor.name))
    wanted = expected(model.SerializeToString(), inputs)
    model = onnx.load(source)
    to_half(model, kind)
    onnx.save(model, path)
    for key, value in inputs.items():
        np.save(data / f"input_{key}.npy", value.numpy())
    for key, value in wanted.items():
        np.save(data / f"output_{key}.npy", value)
        print(f"half/{path.name}: {key} {list(value.shape)} largest {np.abs(value).max():.3g}", flush=True)
    (data / "done").touch()


def make_dynamic(name, folder):
    zoo = None
    if name in MODELS:
        build, make_inputs = MODELS[name]
        outputs = ["hidden", "scores"] if name == "bert" else ["scores"]
        zoo = (lambda: randomise(build()), make_inputs(np.random.default_rng(len(name))), outputs)
    dynamic_models.make(name, folder / "dynamic", zoo)


def main():
    logging.disable(logging.WARNING)  # the exporter speaks of packages nobody needs
    words = sys.argv[1:]
    host = host_of(words)
    if not words:
        sys.exit(__doc__)
    folder = pathlib.Path(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    known = dict.fromkeys((*MODELS, *dynamic_models.NAMES))
    unknown = [n for n in words[1:] if n not in known]
    if unknown:
        sys.exit(f"make_models: unknown model {unknown[0]!r}, wanted one of {', '.join(known)}")
    for name in words[1:] or known:
        for exporter in ("ts", "dynamo") if name in MODELS and name not in ONLY_QUANTIZED else ():
            make(name, exporter, folder)
        if name in dynamic_models.NAMES:
            make_dynamic(name, folder)
        if name in QUANTIZED + ONLY_QUANTIZED:
            make_int8(name, folder)
        if host and name in QUANTIZED:
            make_shared(name, folder, host)
        for kind in HALF_TYPES if name in HALVES else ():
            make_half(name, kind, folder)


if __name__ == "__main__":
    main()
