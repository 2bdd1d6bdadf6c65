#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.torch2hpvm: a trained module with HPVM's operators becomes a program that measures what torch measures."""
import json
import os
import unittest
from unittest import mock

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

from support import FolderTest, run
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
            other.write_text("1\n+++\nconf1 1 1 1 0\n2 cpu conv fp16 12 tanh fp16 12\n1 cpu conv fp32 11 add fp16 12 tanh fp16 12\n3 gpu conv samp 265\n---\n")
            lines = [line for line in self.done(program, "test", "-c", other, cwd=self.folder).splitlines() if "runs as fp32" in line]
            mixture = "no package was compiled with this mixture of fp16 and fp32 (give the file to ModelExporter)"
            self.assertEqual(lines, [f"{other}:4: node 2: conv fp16 12 runs as fp32: {mixture}", f"{other}:4: node 2: tanh fp16 12 runs as fp32: {mixture}",
                                     f"{other}:5: node 1: add fp16 12 runs as fp32: a bias is computed as its product is, in fp32",
                                     f"{other}:5: node 1: tanh fp16 12 runs as fp32: the node has no such operation there (ops.json)",
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
