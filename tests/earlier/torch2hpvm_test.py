#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.torch2hpvm: a trained module with HPVM's operators becomes a program that measures what torch measures."""
import json
import os
import sys
import unittest
from unittest import mock

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

from support import BUILD, FolderTest, ROOT, run
from optima import Error
from optima.torch2hpvm import BinDataset, ModelExporter

CONF = """1000.5
+++++
conf1 1.2 1.1 97.5 0.5
1 gpu conv fp16 12 add fp16 12 relu fp16 12 pool_max fp16 12
2 gpu conv perf 125 add fp32 1
-----
+++++
conf2 1 1 98 0
1 gpu conv fp32 11
-----
"""


class Net(nn.Module):
    """Of HPVM's operators those that torch writes for layers of images; Add of a branch, both ways to flatten."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 16, 3)
        self.branch = nn.Conv2d(16, 16, 1)
        self.norm, self.pool, self.mean = nn.BatchNorm2d(16), nn.MaxPool2d(2), nn.AvgPool2d(2)
        self.wide, self.last = nn.Linear(64, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.one(x)))
        x = self.norm(torch.tanh(self.two(nn.functional.pad(x, (1, 1, 1, 1)))) + self.branch(x))
        x = self.mean(x).reshape(x.size(0), -1)
        return torch.softmax(self.last(torch.tanh(self.wide(x))), 1)


class Residual(nn.Module):
    """The block of HPVM's ResNet-18: batch normalization is in its convolutions."""

    def __init__(self, channels, out=None, stride=1):
        super().__init__()
        out = out or channels
        self.one, self.two = nn.Conv2d(channels, out, 3, stride, 1), nn.Conv2d(out, out, 3, 1, 1)
        self.short = nn.Conv2d(channels, out, 1, stride) if stride != 1 else nn.Identity()

    def forward(self, x):
        y = self.two(torch.relu(self.one(x)))
        return torch.relu(y + self.short(x))


class ResNet18(nn.Sequential):
    def __init__(self):
        blocks = [Residual(4) for _ in range(3)] + [Residual(4, 8, 2), Residual(8), Residual(8), Residual(8, 16, 2), Residual(16), Residual(16)]
        super().__init__(nn.Conv2d(3, 4, 3, 1, 1), nn.ReLU(), *blocks, nn.AvgPool2d(8), nn.Flatten(), nn.Linear(16, 10), nn.Softmax(-1))


def mobilenet():
    layer = lambda *words, **more: [nn.Conv2d(*words, bias=False, **more), nn.BatchNorm2d(words[1]), nn.ReLU()]
    deep = [part for _ in range(13) for part in (*layer(4, 4, 3, 1, 1, groups=4), *layer(4, 4, 1))]
    return nn.Sequential(*layer(3, 4, 3, 1, 1), *deep, nn.AvgPool2d(32), nn.Flatten(), nn.Linear(4, 10), nn.Softmax(-1))


def alexnet(activation, linears):
    convs = [nn.Conv2d(3, 4, 5, padding=2), activation(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1), activation(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1), activation(),
             nn.Conv2d(4, 4, 3, padding=1), activation(), nn.Conv2d(4, 4, 3, padding=1), activation(), nn.MaxPool2d(2)]
    ends = [part for _ in range(linears - 1) for part in (nn.Linear(64, 64), activation())]
    return nn.Sequential(*convs, nn.Flatten(), *ends, nn.Linear(64, 10), nn.Softmax(-1))


def trained():
    """(module, samples, labels): the first 1400 samples were trained on."""
    torch.manual_seed(3)
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x = torch.tensor(data.images[order, None] / 16, dtype=torch.float32)
    y = torch.tensor(data.target[order])
    net = Net()
    adam = torch.optim.Adam(net.parameters(), 5e-3)
    for epoch in range(6):
        for i in range(0, 1400, 50):
            adam.zero_grad()
            nn.functional.nll_loss(torch.log(net(x[i : i + 50]) + 1e-9), y[i : i + 50]).backward()
            adam.step()
    return net.eval(), x, y


def in_fp16(net, x, every):
    """The module's answers where products, or all operations, read and give fp16; weights of products are fp16 then, sums fp32."""
    half = lambda t: t.half().float()
    other = half if every else lambda t: t
    linear = lambda layer, t: half(nn.functional.linear(half(t), half(layer.weight), half(layer.bias)))
    conv = lambda layer, t: half(nn.functional.conv2d(half(t), half(layer.weight), half(layer.bias), padding=layer.padding))
    with torch.no_grad():
        x = net.pool(torch.relu(conv(net.one, x)))
        tanh = other(torch.tanh(conv(net.two, nn.functional.pad(x, (1, 1, 1, 1)))))
        x = other(net.norm(other(tanh + conv(net.branch, x))))
        x = other(net.mean(x)).reshape(x.size(0), -1)
        return other(torch.softmax(linear(net.last, other(torch.tanh(linear(net.wide, x)))), 1))


class Torch2Hpvm(FolderTest):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        cls.net, x, y = trained()
        cls.tune, cls.test = (x[:1400], y[:1400]), (x[1400:], y[1400:])

    def percent(self, samples, labels):
        with torch.no_grad():
            return 100 * float((self.net(samples).argmax(1) == labels).double().mean())

    def measured(self, text):
        self.assertIn("****** Accuracy = ", text)
        return float(text.rpartition("= ")[2])

    def bin_set(self, name, samples, labels):
        paths = self.folder / f"{name}.bin", self.folder / f"{name}_labels.bin"
        samples.numpy().astype("<f4").tofile(paths[0])
        labels.numpy().astype("<i4").tofile(paths[1])
        return BinDataset(*paths, tuple(samples.shape))

    def exporter(self, **more):
        return ModelExporter(self.net, self.bin_set("tune", *self.tune), TensorDataset(*self.test), self.folder / "out", **more)

    def test_the_program_measures_what_torch_measures(self):
        conf = self.folder / "confs.txt"
        conf.write_text(CONF)
        out, program = self.folder / "out", self.folder / "bin/net"
        self.exporter(config_file=conf).generate(batch_size=500).compile(program, self.folder / "build")
        self.assertEqual(np.fromfile(out / "weights/test_input.bin", "<f4").tobytes(), self.test[0].numpy().tobytes())
        self.assertEqual((out / "weights/tune_labels.bin").read_bytes(), (self.folder / "tune_labels.bin").read_bytes())
        nodes = json.loads((out / "ops.json").read_text())["nodes"]
        self.assertEqual(nodes[0]["ops"], ["conv", "add", "relu", "pool_max"])
        with self.subTest("a mixture that was compiled, with a line for each knob that is not computed"):
            text = self.done(program, "test", cwd=self.folder)
            self.assertIn(f"configuration conf1 of '{conf}': 1 of {len(nodes)} nodes have fp16\n", text)
            self.assertEqual([line for line in text.splitlines() if "runs as fp32" in line],
                             [f"{conf}:5: node 2: conv perf 125 runs as fp32: no kernel perforates"])
            self.assertAlmostEqual(self.measured(text), self.percent(*self.test), delta=0.6)
        with self.subTest("no configuration; the last batch has 397 of 500 samples"):
            conf.unlink()
            for name, set_ in (("test", self.test), ("tune", self.tune)):
                text = self.done(program, "-d", name, cwd=self.folder)
                self.assertIn(f"no configuration at '{conf}': all in fp32\n{name} set: {len(set_[1])} samples in batches of 500\n", text)
                self.assertGreater(self.percent(*set_), 90)
                self.assertAlmostEqual(self.measured(text), self.percent(*set_), places=4)
                self.assertAlmostEqual(float((self.folder / "final_accuracy").read_text()), self.percent(*set_), places=2)
        with self.subTest("all in fp16, all products, and a mixture that was not compiled"):
            conf.write_text(CONF)
            other = self.folder / "other.txt"
            ids = {n["id"]: n["ops"] for n in nodes}
            block = lambda lines: "1\n+++\nconf1 1 1 1 0\n" + "".join(f"{k} cpu {' '.join(f'{op} fp16 12' for op in ops)}\n" for k, ops in lines) + "---\n"
            for lines in (ids.items(), [(n["id"], n["ops"][:1]) for n in nodes if n["product"]]):
                other.write_text(block(lines))
                text = self.done(program, "test", "-c", other, cwd=self.folder)
                self.assertNotIn("runs as fp32", text)
                self.assertIn(f"{len(lines)} of {len(nodes)} nodes have fp16", text)
            other.write_text("1\n+++\nconf1 1 1 1 0\n2 cpu conv fp16 12 tanh fp16 12\n1 cpu conv fp32 11 add fp16 12 relu fp32 1\n3 gpu conv samp 265\n---\n")
            lines = [line for line in self.done(program, "test", "-c", other, cwd=self.folder).splitlines() if "runs as fp32" in line]
            mixture = "no package was compiled with this mixture of fp16 and fp32 (give the file to ModelExporter)"
            self.assertEqual(lines, [f"{other}:4: node 2: conv fp16 12 runs as fp32: {mixture}", f"{other}:4: node 2: tanh fp16 12 runs as fp32: {mixture}",
                                     f"{other}:5: node 1: add fp16 12 runs as fp32: a bias is computed as its product is, in fp32",
                                     f"{other}:6: node 3: conv samp 265 runs as fp32: no kernel samples its filter"])
        with self.subTest("each operation of the fp16 package gives numbers of fp16"):
            from optima.runtime import Context
            x = self.test[0][:1].repeat(500, 1, 1, 1)
            answers = {name: Context().load_model(out / "packages" / name).run(input=x.numpy())["output"][0] for name in ("fp32", "fp16", "fp16_products")}
            halves = {name: bool((answer == answer.astype(np.float16)).all()) for name, answer in answers.items()}
            self.assertEqual(halves, {"fp32": False, "fp16": True, "fp16_products": False})  # of the last one softmax
            for name, every in (("fp16", True), ("fp16_products", False)):
                wanted = in_fp16(self.net, x[:1], every)[0].numpy()
                self.assertLess(np.abs(answers[name] - wanted).max(), np.abs(answers["fp32"] - wanted).max() / 2)
        with self.subTest("a broken configuration is one sentence with its line, and nothing is measured"):
            (self.folder / "final_accuracy").unlink()
            for text, sentence in (("", ":0: the file ends, wanted the baseline time"), ("fast\n", ":1: found 'fast', wanted the baseline time"),
                                   ("1\nconf1\n", ":2: found 'conf1', wanted a line of plus signs"), ("1\n+\nconf1 1 1 1\n", ":3: found 'conf1 1 1 1', wanted conf<K>"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu conv fp16\n-\n", ":4: found '1 gpu conv fp16', wanted NODE gpu|cpu"),
                                   ("1\n+\nconf1 1 1 1 0\n99 gpu conv fp16 12\n-\n", ":4: found node 99, wanted one of 1 to"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu conv fp16 77\n-\n", ":4: found knob 'fp16 77', wanted 11"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu conv fp16 12 tanh fp16 12\n-\n",
                                    ":4: found 'tanh' for node 1, which is 'conv add relu pool_max', wanted its operations in their order, from the first on"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu relu fp16 12\n-\n", ":4: found 'relu' for node 1, which is 'conv add relu pool_max'"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu conv fp16 12 relu fp16 12 add fp16 12\n-\n", ":4: found 'add' for node 1"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu group_conv fp16 12\n-\n", ":4: found 'group_conv' for node 1"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu conv fp16 12\n", ":4: the file ends, wanted a line of minus signs"),
                                   ("1\n+\nconf1 1 1 1 0\n1 gpu conv fp16 12\n1 gpu conv fp16 12\n-\n", ":5: found node 1 again")):
                other.write_text(text)
                code, _, err = run(program, "test", "-c", other, cwd=self.folder)
                self.assertEqual((code, err.count("\n")), (1, 1), err)
                self.assertIn(f"error: {other}{sentence}", err)
            self.assertFalse((self.folder / "final_accuracy").exists())
        with self.subTest("words, and sets that are damaged"):
            self.assertEqual(run(program, "-h")[0], 0)
            for words in ((), ("train",), ("test", "-d", "tune"), ("-c",)):
                self.assertEqual(run(program, *words)[0], 2, words)
            labels = out / "weights/test_labels.bin"
            labels.write_bytes(b"\x0b\0\0\0" + labels.read_bytes()[4:])
            self.assertIn("found label 11, wanted one of the model's 10 classes", run(program, "test", cwd=self.folder)[2])
            labels.write_bytes(labels.read_bytes()[4:])
            self.assertIn("wanted 256 and 4 a sample", run(program, "test", cwd=self.folder)[2])

    def test_the_calls_of_its_readme_by_their_import_name(self):
        data, checkpoint = self.folder / "model_params/net_digits", self.folder / "model_params/net.pth.tar"
        data.mkdir(parents=True)
        for name, (samples, labels) in (("tune", self.tune), ("test", self.test)):
            samples[:397].numpy().tofile(data / f"{name}_input.bin")
            labels[:397].numpy().astype("<i4").tofile(data / f"{name}_labels.bin")
        torch.save(self.net.state_dict(), checkpoint)
        program = self.folder / "front_end.py"
        program.write_text(f"""if True:
            from pathlib import Path
            import torch
            from torch2hpvm import BinDataset, ModelExporter
            from torch2hpvm_test import Net

            data_dir = Path(__file__).parent / "model_params/net_digits"
            dataset_shape = 397, 1, 8, 8
            tuneset = BinDataset(data_dir / "tune_input.bin", data_dir / "tune_labels.bin", dataset_shape)
            testset = BinDataset(data_dir / "test_input.bin", data_dir / "test_labels.bin", dataset_shape)
            model = Net()
            model.load_state_dict(torch.load(data_dir.parent / "net.pth.tar"))
            output_dir = Path("./net_hpvm")
            build_dir = output_dir / "build"
            target_binary = build_dir / "net"
            exporter = ModelExporter(model, tuneset, testset, output_dir, config_file="")
            exporter.generate(batch_size=200).compile(target_binary, build_dir)
            """)
        paths = map(str, (BUILD / "python", ROOT / "python-compat/src", ROOT / "tests/earlier"))
        self.done(sys.executable, program, BUILD, cwd=self.folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        for name, (samples, labels) in (("tune", self.tune), ("test", self.test)):
            text = self.done(self.folder / "net_hpvm/build/net", name, cwd=self.folder)
            self.assertAlmostEqual(self.measured(text), self.percent(samples[:397], labels[:397]), places=4)

    def nodes_of(self, net, size=32, name="nodes"):
        x = torch.randn(2, 3, size, size)
        ModelExporter(net.eval(), TensorDataset(x, torch.zeros(2)), TensorDataset(x, torch.zeros(2)), self.folder / name).generate(batch_size=2)
        return [" ".join(n["ops"]) for n in json.loads((self.folder / name / "ops.json").read_text())["nodes"]]

    def test_nodes_are_numbered_as_in_the_configurations_of_hpvms_benchmarks(self):
        """As in tuner_confs.txt of its alexnet, resnet18, mobilenet and of the first stage of its resnet50."""
        conv, plain, end = "conv add relu", "conv add", ["pool_mean", "mul add", "softmax"]
        with self.subTest("resnet18_cifar10: 42 nodes"):
            block, wide = [conv, plain, "add", "relu"], [conv, plain, plain, "add", "relu"]
            self.assertEqual(self.nodes_of(ResNet18()), [conv] + 3 * block + 2 * (wide + 2 * block) + end)
        with self.subTest("mobilenet_cifar10: 84 nodes"):
            layer = lambda word: [word, "batchnorm", "relu"]
            self.assertEqual(self.nodes_of(mobilenet()), layer("conv") + 13 * (layer("group_conv") + layer("conv")) + end)
        with self.subTest("alexnet_cifar10 and alexnet_imagenet"):
            with_pool = lambda act: f"conv add {act} pool_max"
            self.assertEqual(self.nodes_of(alexnet(nn.Tanh, 1)), [with_pool("tanh")] * 2 + ["conv add tanh"] * 2 + [with_pool("tanh"), "mul add", "softmax"])
            self.assertEqual(self.nodes_of(alexnet(nn.ReLU, 3)), [with_pool("relu")] * 2 + [conv] * 2 + [with_pool("relu"), "mul add relu", "mul add relu", "mul add", "softmax"])
        with self.subTest("resnet50_imagenet, its beginning, and what stands alone"):
            net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU(),
                                nn.Conv2d(4, 4, 3, groups=4), nn.Tanh(), nn.Conv2d(4, 2, 3, bias=False), nn.ReLU(), nn.Identity(), nn.ZeroPad2d(1), nn.MaxPool2d(2))
            self.assertEqual(self.nodes_of(net), ["conv add relu pool_max", "batchnorm", plain, "batchnorm", "relu", "group_conv", "add", "tanh", "conv", "relu", "pool_max"])

    def test_a_published_configuration_lands_on_its_layers(self):
        """Lines as HPVM's tuner wrote them, for a net of all the kinds of nodes that its benchmarks have."""
        torch.manual_seed(2)
        net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1, groups=4), Residual(4), nn.AvgPool2d(8), nn.Flatten(),
                            nn.Linear(4, 5), nn.Softmax(-1)).eval()
        x = torch.randn(6, 3, 8, 8)
        with torch.no_grad():
            set_ = TensorDataset(x, net(x).argmax(1))
        conf = self.folder / "conf.txt"
        block = lambda lines: "2484.981244\n+++++\nconf2 1.7675 1.7963 88.96 0.6\n" + "\n".join(lines) + "\n-----\n"
        lines = ["1 gpu conv perf_fp16 153", "2 gpu batchnorm fp16 12", "3 gpu relu fp16 12", "4 gpu group_conv fp16 12", "5 gpu add fp16 1", "6 gpu conv fp16 12 add fp16 1 relu fp16 1",
                 "7 gpu conv samp_fp16 262 add fp16 1", "8 gpu add fp32 11", "9 gpu relu fp16 12", "10 gpu pool_mean fp16 12", "11 gpu mul fp16 12 add fp16 1", "12 gpu softmax fp32 1"]
        conf.write_text(block(lines))
        ModelExporter(net, set_, set_, self.folder / "out", config_file=conf).generate(batch_size=6).compile(self.folder / "net", self.folder / "build")
        nodes = json.loads((self.folder / "out/ops.json").read_text())["nodes"]
        (mixture,) = [line.split()[1:] for line in (self.folder / "out/packages/packages.txt").read_text().splitlines() if line.startswith("mixture_1")]
        half = {(int(i), int(k)) for i, k in zip(mixture[::2], mixture[1::2])}
        self.assertEqual(half, {(2, 0), (3, 0), (4, 0), (6, 0), (6, 2), (9, 0), (10, 0), (11, 0)})  # biases go with their products
        kinds = {"conv": "Conv", "group_conv": "Conv", "mul": "Gemm", "batchnorm": "BatchNormalization", "relu": "Relu", "pool_mean": "AveragePool"}
        made = {node.name: node.op_type for node in onnx.load(self.folder / "out/model.onnx").graph.node}
        for i, k in half:
            self.assertEqual(made[nodes[i - 1]["nodes"][k]], kinds[nodes[i - 1]["ops"][k]])
        text = self.done(self.folder / "net", "test", cwd=self.folder)
        self.assertIn(f"configuration conf2 of '{conf}': 7 of 12 nodes have fp16\n", text)
        self.assertEqual([line.partition(": ")[2] for line in text.splitlines() if "runs as fp32" in line],
                         ["node 1: conv perf_fp16 153 runs as fp32: no kernel perforates", "node 7: conv samp_fp16 262 runs as fp32: no kernel samples its filter",
                          "node 7: add fp16 1 runs as fp32: a bias is computed as its product is, in fp32"])
        conf.write_text(block(lines[:7] + ["8 gpu relu fp16 12"]))
        self.assertIn(f"{conf}:11: found 'relu' for node 8, which is 'add', wanted its operations", run(self.folder / "net", "test", cwd=self.folder)[2])

    def test_the_rest_of_the_operators_and_nothing_half_done(self):
        class Rest(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Identity(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
                self.weights = nn.Parameter(torch.randn(8, 7))

            def forward(self, x):
                return self.body(x) @ self.weights

        torch.manual_seed(1)
        net, x = Rest(), 3 * torch.randn(23, 3, 9, 9)
        with torch.no_grad():
            set_ = [(sample, int(net(sample[None]).argmax())) for sample in x]  # a list is a dataset, too
        exporter = ModelExporter(net, set_, set_, self.folder / "out").generate(batch_size=10)
        self.assertTrue(net.training)  # as it was
        nodes = json.loads((self.folder / "out/ops.json").read_text())["nodes"]
        self.assertEqual([n["ops"] for n in nodes], [["conv", "add", "pool_mean"], ["mul"]])
        program = self.folder / "net"
        for compiler, sentence in (("false", "'false' does not compile"), ("no-such-compiler", "'no-such-compiler' does not start")):
            with mock.patch.dict(os.environ, {"CXX": compiler}):
                self.refused(sentence, lambda: exporter.compile(program, self.folder / "build"))
        (self.folder / "out/tuner_confs.txt").write_text("1\n+\n")
        self.refused("tuner_confs.txt:2: the file ends, wanted conf<K>", lambda: exporter.compile(program, self.folder / "build"))
        self.refused("is a folder, wanted a file", lambda: exporter.compile(self.folder, self.folder / "build"))
        self.assertFalse(program.exists() or (self.folder / "out/packages").exists())
        (self.folder / "out/tuner_confs.txt").unlink()
        exporter.compile(program, self.folder / "build")
        self.assertIn("****** Accuracy = 100.000000", self.done(program, "test", "-d", "test", cwd=self.folder))

    def refused(self, sentence, call):
        with self.assertRaisesRegex(Error, sentence):
            call()

    def test_a_file_of_another_size_is_no_set(self):
        samples, labels = self.folder / "x.bin", self.folder / "y.bin"
        np.zeros(48, "<f4").tofile(samples)
        np.array([1, 2, 3], "<i4").tofile(labels)
        made = BinDataset(samples, labels, np.array([-1, 1, 4, 4]))
        self.assertEqual((len(made), made[2][1], made[2][0].shape), (3, 3, (1, 4, 4)))
        self.refused("has 3 samples, wanted 2", lambda: BinDataset(samples, labels, (2, 1, 4, 4)))
        self.refused("has 192 bytes, wanted a multiple of 100", lambda: BinDataset(samples, labels, (3, 1, 5, 5)))
        self.refused(r"shape is \(3, 4, 4\), wanted \(N, C, H, W\)", lambda: BinDataset(samples, labels, (3, 4, 4)))
        self.refused("cannot read '.*none': No such file", lambda: BinDataset(self.folder / "none", labels, (3, 1, 4, 4)))
        np.zeros(4, "<i4").tofile(labels)
        self.refused("has 16 bytes, wanted 12: an int32 for each of 3 samples", lambda: BinDataset(samples, labels, (3, 1, 4, 4)))

    def generated(self, net, x, y=None):
        y = torch.zeros(len(x), dtype=torch.int64) if y is None else y
        return lambda: ModelExporter(net, TensorDataset(x, y), TensorDataset(x, y), self.folder / "out").generate()

    def test_what_hpvm_does_not_have_is_refused_by_name(self):
        x = torch.rand(5, 1, 8, 8)
        Wide = type("Wide", (nn.Module,), {"forward": lambda self, x: torch.relu(x.reshape(len(x), 1, 12, 6))})
        self.refused("is operator Sigmoid, wanted Conv, MatMul", self.generated(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sigmoid()), x))
        self.refused("is a Reshape that something else than Gemm or MatMul reads", self.generated(nn.Sequential(nn.Conv2d(1, 2, 3), Wide()), x))
        self.assertFalse((self.folder / "out/model.onnx").exists())
        together = type("Together", (nn.Module,), {"forward": lambda self, x: torch.softmax(x.flatten(1), 0)})
        self.refused("depends on the other samples of its batch", self.generated(together(), x))
        self.refused("the module does not run, or torch does not export it: .*positional argument", self.generated(nn.Bilinear(4, 4, 4), x))
        self.refused("the module does not run, or torch does not export it: Given groups=1", self.generated(nn.Conv2d(3, 3, 3), x))
        self.refused("samples of the tune set have shape", lambda: ModelExporter(
            self.net, TensorDataset(x, torch.zeros(5)), TensorDataset(torch.rand(5, 1, 9, 8), torch.zeros(5)), self.folder / "out").generate())
        self.refused("tune set: sample 0 is float64", self.generated(self.net, x.double()))
        self.refused("tune set: sample 1 has label -1", self.generated(self.net, x, torch.tensor([0, -1, 0, 0, 0])))
        self.refused("model is int, wanted a torch.nn.Module", lambda: ModelExporter(3, None, None, self.folder / "out"))
        self.refused("batch_size is 2.5", lambda: self.exporter().generate(batch_size=2.5))
        self.refused("batch_size is 0", lambda: self.exporter().generate(batch_size=0))
        self.refused("without generate", lambda: self.exporter().compile("net", "build"))
        self.assertEqual(list(self.folder.glob("out/weights/*.part")), [])


if __name__ == "__main__":
    unittest.main()
