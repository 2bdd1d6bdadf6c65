#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.compile and optima.Package: torch modules and ONNX models, through optima-host."""
import ast
import concurrent.futures
import contextlib
import copy
import glob
import io
import logging
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import warnings
from unittest import mock

import numpy as np
import onnx
import torch
import tqdm

from support import BOUND, BUILD, ConvAdd, FrontTest, ROOT, conv_add_inputs
import optima
from optima import _exporter, _host, _torch_export, _progress, models, run_package

DIGITS = ROOT / "examples/digits/digits.onnx"
OPEN = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n,4] x, float[n,m] z) => (float[n,4] y, float[n,m] w) { y = Relu(x)  w = Neg(z) }"""


class Named(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


class Attention(torch.nn.Module):
    """A transformer's block as its users write it: words, places, attention under a mask, two outputs."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads, self.words, self.places = heads, torch.nn.Embedding(100, width), torch.nn.Embedding(64, width)
        self.norm, self.asks, self.answers = torch.nn.LayerNorm(width), torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.head = torch.nn.Sequential(torch.nn.Linear(width, 64), torch.nn.GELU(), torch.nn.Linear(64, 7))

    def forward(self, ids, mask):
        batch, words = ids.shape
        x = self.words(ids) + self.places(torch.arange(words))[None]
        q, k, v = self.asks(self.norm(x)).view(batch, words, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :].bool())
        x = x + self.answers(seen.transpose(1, 2).reshape(batch, words, -1))
        return {"logits": self.head(x), "pooled": (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)}


def sentences(batch, words):
    mask = torch.ones(batch, words, dtype=torch.int64)
    mask[0, max(1, words - 2):] = 0
    return torch.randint(0, 100, (batch, words)), mask


class Compile(FrontTest):
    def setUp(self):
        super().setUp()
        self.module, self.inputs = ConvAdd(), conv_add_inputs()

    def test_a_torch_module_gives_its_own_answers(self):
        package = optima.compile(self.module, self.inputs, devices=["X64:0"])
        self.assertEqual([port["name"] for port in package.inputs], ["x", "y"])
        self.assertEqual([port["shape"] for port in package.outputs], [[1, 1, 32, 32]])
        x, y = self.inputs
        (got,) = package.run(x=x, y=y.numpy()).values()
        self.assert_close(got, self.module(x, y))

    def test_large_weights_lie_beside_the_model(self):
        names, source_of = [], models.source_of

        def watched(model, example_inputs, dynamic, folder, name):
            made = source_of(model, example_inputs, dynamic, folder, name)
            names.extend(sorted(path.name for path in folder.glob("m.*")))
            return made
        with mock.patch.object(_torch_export, "EXTERNAL", 0), mock.patch.object(models, "source_of", watched):
            package = optima.compile(self.module, self.inputs, devices="X64:0", name="m")
        self.assertEqual(names, ["m.onnx", "m.onnx.data"])
        (got,) = package.run(x=self.inputs[0], y=self.inputs[1]).values()
        self.assert_close(got, self.module(*self.inputs))

    def test_modes_of_a_module_stay_as_they_were(self):
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4), torch.nn.Dropout(0.5))
        net[1].eval()
        package = optima.compile(net, self.inputs[0], devices="X64:0", name="net")
        self.assertEqual([part.training for part in net.modules()], [True, True, False, True])
        (got,) = package.run({package.inputs[0]["name"]: self.inputs[0]}).values()
        self.assert_close(got, net.eval()(self.inputs[0]))

    def test_open_dims_of_a_torch_module(self):
        package = optima.compile(self.module, self.inputs, devices="REF:0", dynamic={"x": {0: "n"}, "y": {0: "n"}})
        self.assertEqual(package.inputs[0]["shape"], ["n", 3, 32, 32])
        x, y = torch.rand(3, 3, 32, 32), torch.rand(3, 1, 32, 32)
        (got,) = package.run(x=x, y=y).values()
        self.assert_close(got, self.module(x, y))
        self.refused("no input 'q'", optima.compile, self.module, self.inputs, dynamic={"q": {0: "n"}})
        self.refused("wanted input -> {dim: symbol}", optima.compile, self.module, self.inputs, dynamic=["n"])

    def test_the_batch_of_a_classifier_has_one_name(self):
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 3))
        package = optima.compile(net, torch.rand(2, 3, 8, 8), devices="X64:0", dynamic={"input": {0: "batch"}})
        self.assertEqual([port["shape"] for port in (*package.inputs, *package.outputs)], [["batch", 3, 8, 8], ["batch", 3]])

    def test_a_transformer_of_open_sizes_runs_at_each(self):
        net = Attention().eval()
        package = optima.compile(net, sentences(2, 8), devices="X64:0", dynamic={name: {0: "batch", -1: "words"} for name in ("ids", "mask")})
        self.assertEqual([port["shape"] for port in package.inputs], [["batch", "words"]] * 2)
        for size in ((2, 8), (1, 1), (3, 17), (1, 64), (2, 8)):
            ids, mask = sentences(*size)
            with torch.no_grad():
                want = net(ids, mask)
            for got, of in zip(package.run(ids=ids, mask=mask).values(), want.values(), strict=True):
                self.assert_close(got, of)

    def test_open_dims_that_cannot_be_are_refused(self):
        x = torch.rand(4, 3)
        for dynamic, sentence in (({"x": {2: "n"}}, "input 'x' has no dim 2, its example has 2 dims"), ({"x": {0: 3}}, "dim 0 of input 'x' is called 3, wanted a name"),
                                  ({"x": {0: "a b"}}, "is called 'a b', wanted a name"), ({"x": [0]}, "wanted input -> {dim: symbol}"),
                                  ({"x": {0: "n", 1: "n"}}, "'n' is 4 in the example of input 'x' and 3 in that of 'x'")):
            self.refused(sentence, optima.compile, Named(), x, dynamic=dynamic)

        class BySize(torch.nn.Module):
            def forward(self, x):
                return x.reshape(2, -1) if x.shape[0] == 4 else x
        self.refused("dim 0 of input 'x' ('n') is always 4", optima.compile, BySize(), x, dynamic={"x": {0: "n"}})

    def test_what_torch_export_cannot_take_is_traced_with_a_warning(self):
        class ByValue(torch.nn.Module):
            def forward(self, x):
                return x + 1 if float(x.sum()) > 0 else x - 1
        x = torch.ones(2, 3)
        with self.assertWarnsRegex(UserWarning, r"torch\.export could not take ByValue \(.+\); the older exporter") as caught:
            package = optima.compile(ByValue(), x, devices="X64:0")
        self.assertEqual(caught.filename, __file__)
        (got,) = package.run({package.inputs[0]["name"]: x}).values()
        self.assert_close(got, x + 1)

    def test_what_no_exporter_takes_is_one_error(self):
        class Never(torch.nn.Module):
            def forward(self, x):
                raise ValueError("not today")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.refused("not today", optima.compile, Never(), torch.ones(2))
        self.refused("example_inputs are missing", optima.compile, Never())

    def test_threads_compile_torch_modules_at_the_same_time(self):
        streams = sys.stdout, sys.stderr

        def compiled(width):
            net, x = torch.nn.Linear(width, 2), torch.rand(3, width)
            return optima.compile(net, x, devices="REF:0").run(input=x).popitem()[1], net(x)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for got, want in pool.map(compiled, range(3, 9)):
                self.assert_close(got, want)
        self.assertEqual((sys.stdout, sys.stderr), streams)
        self.assertNotIn(_exporter._FILTER, warnings.filters)

    def test_an_export_is_quiet_in_its_own_thread_alone(self):
        heard = io.StringIO()
        log = logging.getLogger("torch.onnx")
        handler = logging.StreamHandler(heard)
        log.addHandler(handler)
        self.addCleanup(log.removeHandler, handler)

        def say(who):
            print(f"{who} prints")
            warnings.warn(f"{who} warns")
            log.warning("%s logs", who)

        class Says(torch.nn.Module):
            def forward(self, x):
                say("the module")
                other = threading.Thread(target=say, args=("another thread",))
                other.start()
                other.join()
                return torch.relu(x) if x.sum() > 0 else x  # which torch.export refuses, with a print of its graph
        printed, said = io.StringIO(), io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            warnings.simplefilter("always")
            _torch_export.export_torch(Says(), torch.ones(2), self.folder / "m.onnx")
        warned = [str(w.message) for w in caught]
        self.assertEqual({text for text in warned if "another thread" not in text and "could not take" not in text}, set())
        self.assertIn("another thread warns", warned)
        self.assertEqual(set(heard.getvalue().splitlines()), {"another thread logs"})
        self.assertEqual(set(printed.getvalue().splitlines()), {"the module prints", "another thread prints"})
        self.assertEqual(said.getvalue(), "")

    def test_inputs_have_the_names_of_arguments_when_they_are_results_too(self):
        class Given(torch.nn.Module):
            def forward(self, a, a_out):
                return a, a_out + 1
        x = torch.rand(2, 3)
        package = optima.compile(Given(), (x, x), devices="X64:0", dynamic={"a": {0: "n"}, "a_out": {0: "n"}})
        self.assertEqual([port["name"] for port in package.inputs], ["a", "a_out"])
        got, more = package.run(a=x, a_out=x).values()
        self.assert_close(got, x)
        self.assert_close(more, x + 1)

    def test_wrapped_modules_are_themselves(self):
        x = torch.rand(2, 3)
        for wrapped in (torch.compile(Named()), torch.nn.DataParallel(Named())):
            self.assertEqual([port["name"] for port in optima.compile(wrapped, x, devices="REF:0").inputs], ["x"])

    def test_functions_and_exported_programs(self):
        def scaled(x, *, by):
            return x * by
        x, net = torch.rand(4, 3), torch.nn.Linear(3, 2)
        package = optima.compile(scaled, {"x": x, "by": x}, devices="X64:0")
        self.assertEqual((package.name, [port["name"] for port in package.inputs]), ("scaled", ["x", "by"]))
        self.assert_close(package.run(x=x, by=x).popitem()[1], x * x)
        self.assert_close(optima.compile(net.forward, x, devices="X64:0").run(input=x).popitem()[1], net(x))
        exported = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
        package = optima.compile(exported, devices="X64:0")
        self.assert_close(package.run(input=x[:3]).popitem()[1], net(x[:3]))
        self.refused("wanted none: an ExportedProgram has its open dims already", optima.compile, exported, dynamic={"input": {0: "n"}})

    def test_examples_in_every_form(self):
        class Batch(torch.nn.Module):
            def forward(self, batch):
                return batch["x"] * 2
        x = torch.rand(2, 3)
        package = optima.compile(Batch(), ({"x": x},), devices="X64:0")
        self.assert_close(package.run({package.inputs[0]["name"]: x}).popitem()[1], x * 2)
        self.assert_close(optima.compile(Named(), x.numpy(), devices="X64:0").run(x=x).popitem()[1], x)
        self.refused("example_inputs do not fit the forward of Batch: missing a required argument: 'batch'; wanted a tensor, a tuple in the order of batch, or name -> tensor; "
                     "a dict that is one argument lies in a tuple", optima.compile, Batch(), {"x": x})
        self.refused("do not fit the forward of Named: too many positional arguments", optima.compile, Named(), (x, x))

    def test_results_that_are_no_tensors_are_told_of(self):
        class Counts(torch.nn.Module):
            def forward(self, x):
                return x + 1, None, 3
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.refused("the forward of Counts gives 3 among its results, wanted tensors alone", optima.compile, Counts(), torch.ones(2))

    def test_bfloat16_of_layers_that_older_opsets_have_not(self):
        net, x = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(2)).bfloat16(), torch.rand(1, 3, 8, 8).bfloat16()
        package = optima.compile(net, x, devices="X64:0")
        (got,) = package.run(input=x).values()
        self.assertEqual(got.dtype.name, "bfloat16")
        self.assert_close(got.astype(np.float32), net(x).float(), 1e-2)
        half = optima.compile(lambda x: x.bfloat16() @ x.bfloat16().T, torch.rand(2, 3), devices="X64:0")  # none in its weights
        self.assertEqual(half.outputs[0]["dtype"], "bfloat16")

    def test_samples_have_what_the_model_reads(self):
        path = self.folder / "open.onnx"
        onnx.save(onnx.parser.parse_model(OPEN), path)
        x, z = np.ones((3, 4), np.float32), np.ones((3, 5), np.float32)
        image = np.random.default_rng(0).random((1, 1, 32, 32), np.float32)
        compiled = lambda model, sample, **more: optima.compile(model, devices="X64:0", precision="int8", calibration=[sample], **more)
        self.refused("calibration sample 0 has no array 'image', found 'imge'", compiled, DIGITS, {"imge": image})
        self.refused("calibration sample 0 has 3 arrays, wanted 2: x, z", compiled, path, (x, z, z))
        self.refused("calibration sample 0 has 2 arrays, wanted 1: image", compiled, DIGITS, (image, 3))
        compiled(DIGITS, {"image": image, "label": "seven"})
        compiled(DIGITS, {"/stem/stem.0/Conv_output_0": np.ones((1, 16, 32, 32), np.float32)}, inputs="/stem/stem.0/Conv_output_0")

    def test_packages_are_pickled_and_copied(self):
        package, image = optima.compile(DIGITS, devices="X64:0", plugins=BUILD / "lib/optima/plugins"), np.zeros((1, 1, 32, 32), np.float32)
        want = package.run(image=image)["probability"]
        pickled = pickle.dumps(package)
        again = [pickle.loads(pickled), copy.copy(package), copy.deepcopy({"p": package})["p"]]
        for other in again:
            np.testing.assert_array_equal(other.run(image=image)["probability"], want)
            self.assertEqual((other.path, other.plugins), (package.path, package.plugins))
        kept = again[2]
        del package, again, other
        np.testing.assert_array_equal(kept.run(image=image)["probability"], want)  # whose temporary folder it shares
        path = kept.path
        del kept
        self.assertFalse(path.exists())
        self.refused("is no package", pickle.loads, pickled)

    def test_lists_are_arrays_of_the_inputs_type(self):
        package = optima.compile(DIGITS, devices="X64:0")
        image = np.zeros((1, 1, 32, 32), np.float32)
        np.testing.assert_array_equal(package.run(image=image.tolist())["probability"], package.run(image=image)["probability"])
        self.refused("found 'cat', wanted an array", package.run, image="cat")
        counts = optima.compile(lambda x: x + 1, torch.ones(2, dtype=torch.int64), devices="REF:0")
        np.testing.assert_array_equal(counts.run(x=[1, 2]).popitem()[1], [2, 3])
        self.refused("some of it is no int64", counts.run, x=[1, 2.5])
        self.refused("found torch.sparse_coo", counts.run, x=torch.ones(2, dtype=torch.int64).to_sparse())
        half = optima.compile(lambda x: x + 1, torch.ones(2).bfloat16(), devices="X64:0")
        self.assertEqual(half.run(x=torch.ones(2).bfloat16()).popitem()[1].tolist(), [2, 2])
        self.assertEqual(half.run(x=[1, 2]).popitem()[1].tolist(), [2, 3])

    def test_what_is_not_installed_is_one_sentence(self):
        for missing, program, sentence in (("onnx", "optima.compile(torch.nn.Linear(2, 2), torch.zeros(1, 2))", "a model of torch needs onnx, which is not installed, wanted it by: pip install 'optima[compile]'"),
                                           ("onnxscript", "optima.compile(torch.nn.Linear(2, 2), torch.zeros(1, 2))", "a model of torch needs onnxscript"),
                                           ("onnx", f"optima.compile({str(DIGITS)!r}, torch.zeros(1, 1, 32, 32))", "example_inputs of an ONNX model needs onnx"),
                                           ("networkx", "import optima.torch2nx", "optima.torch2nx needs networkx, which is not installed, wanted it by: pip install 'optima[torch2nx]'"),
                                           ("onnxruntime", "optima.submodels", "optima.submodels needs onnxruntime"),
                                           ("onnx", "optima.torch2hpvm", "optima.torch2hpvm needs onnx")):
            code = f"import sys; sys.modules[{missing!r}] = None; sys.path[:0] = {sys.path!r}\nimport torch, optima\ntry: {program}\nexcept optima.Error as error: print(error.code, error)"
            ran = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
            self.assertIn(f"usage {sentence}", ran.stdout, ran.stderr)

    def test_onnx_as_a_path_a_proto_and_bytes(self):
        proto, image = onnx.load(DIGITS), np.random.default_rng(0).random((1, 1, 32, 32), np.float32)
        answers = []
        for model in (DIGITS, str(DIGITS), proto, proto.SerializeToString()):
            answers.append(optima.compile(model, devices="X64:0").run(image=image)["probability"])
        for answer in answers:
            np.testing.assert_array_equal(answer, answers[0])
        self.assertAlmostEqual(float(answers[0].sum()), 1, places=5)

    def test_open_dims_of_an_onnx_model(self):
        path = self.folder / "open.onnx"
        onnx.save(onnx.parser.parse_model(OPEN), path)
        x, z = np.ones((3, 4), np.float32), np.ones((3, 5), np.float32)
        shapes = lambda **more: [port["shape"] for port in optima.compile(path, devices="REF:0", **more).inputs]
        self.assertEqual(shapes(), [["n", 4], ["n", "m"]])
        self.assertEqual(shapes(example_inputs=(x, z)), [[3, 4], [3, 5]])
        self.assertEqual(shapes(example_inputs={"x": x, "z": z}, dynamic=["n"]), [["n", 4], ["n", 5]])
        self.refused("dim 0 ('n') is 2, and 3 elsewhere", optima.compile, path, (x, z[:2]))
        self.refused("no symbol 'q'", optima.compile, path, (x, z), dynamic=["q"])
        self.refused("without example_inputs", optima.compile, path, dynamic=["n"])
        self.refused("wanted 2 dims", optima.compile, path, (x[0], z))

    def test_sizes_that_open_dims_may_have(self):
        path = self.folder / "open.onnx"
        onnx.save(onnx.parser.parse_model(OPEN), path)
        x, z = np.ones((3, 4), np.float32), np.ones((3, 5), np.float32)
        for dynamic in ({"n": "1..8@3"}, {"n": range(1, 9)}, ["n=1..8"]):
            package = optima.compile(path, (x, z), devices="REF:0", dynamic=dynamic)
            self.assertEqual([port["shape"] for port in package.inputs], [["n", 4], ["n", 5]])
            package.run(x=x, z=z)
            self.refused("input 'x': n = 9, wanted 1 to 8", package.run, x=np.ones((9, 4), np.float32), z=np.ones((9, 5), np.float32))
        few = optima.compile(path, devices="REF:0", dynamic={"n": [2, 1, 4], "m": 5})
        self.assertEqual([port["shape"] for port in few.inputs], [["n", 4], ["n", 5]])
        self.refused("n = 3, wanted 1, 2 or 4", few.run, x=x, z=z)
        self.refused("found '9..1'", optima.compile, path, dynamic={"n": "9..1"})
        self.refused("wanted a range of sizes that rises", optima.compile, path, dynamic={"n": range(3, 3)})

    def test_allocation_and_explanation(self):
        package = optima.compile(DIGITS, devices=["X64:0"], allocation={"op:Softmax": "REF:0"})
        self.assertEqual(package.explain("/Softmax")["device"], "REF:0")
        self.assertIn("runs on REF:0", str(package.explain("/Softmax")))
        self.assertEqual(len(package.explain()["subgraphs"]), 2)
        error = self.refused("no node 'q'", package.explain, "q")
        self.assertEqual(error.code, "invalid_input")
        file = self.folder / "alloc.json"
        file.write_text('{"*": "REF:0"}')
        self.assertEqual(optima.compile(DIGITS, devices="REF:0", allocation=file).explain()["subgraphs"][0]["device"], "REF:0")

    def test_the_picture(self):
        package = optima.compile(DIGITS, devices="X64:0")
        page = package.view()._repr_html_()
        self.assertTrue(page.startswith('<iframe sandbox="allow-scripts" srcdoc="'))
        self.assertIn("/stem/stem.0/Conv", page)
        self.assertNotIn("<script", page)  # all of it is inside the frame
        self.assertIn("<svg", package.view().save(self.folder / "p.svg").read_text())

    def test_precision_and_calibration(self):
        samples = [np.random.default_rng(i).random((1, 1, 32, 32), np.float32) for i in range(8)]
        for calibration in (samples, ({"image": s} for s in samples), [(s,) for s in map(torch.from_numpy, samples)]):
            package = optima.compile(DIGITS, devices="X64:0", precision={"X64:0": "int8"}, calibration=calibration)
            self.assertEqual(package.explain("/stem/stem.0/Conv")["precision"], "int8")
        self.refused("calibration has no sample", optima.compile, DIGITS, precision="int8", calibration=[])
        self.refused("no such file", optima.compile, DIGITS, precision="int8", calibration="nowhere")
        self.assertEqual(self.refused("sample", optima.compile, DIGITS, precision="int8", calibration=[samples[0][0, 0, :3]]).code, "invalid_input")

    def test_other_options_are_those_of_the_program(self):
        package = optima.compile(DIGITS, devices="X64:0", pin={"/Softmax": "X64:1"}, self_test=True, objective="parts")
        self.assertTrue((package.path / "self_test").is_dir())
        (named,) = re.findall(r"\boption=(\{.*?\})", optima.compile.__doc__)
        optima.compile(DIGITS, devices="X64:0", option=ast.literal_eval(named))
        self.assertEqual(package.explain("/Softmax")["device"], "X64:1")
        self.assertEqual(self.refused("--no-such-thing", optima.compile, DIGITS, no_such_thing=1).code, "usage")

    def test_a_package_runs_with_the_plugins_that_made_it(self):
        plugins = self.folder / "plugins"
        plugins.mkdir()
        shutil.copy2(BUILD / "lib/optima/plugins/optima_reference.so", plugins)
        package = optima.compile(DIGITS, devices="REF:0", plugins=[plugins])
        self.refused("no plugin serves kind 'X64'", optima.compile, DIGITS, devices="X64:0", plugins=plugins)
        image = np.zeros((1, 1, 32, 32), np.float32)
        want = package.run(image=image)["probability"]
        with mock.patch.object(run_package, "runtime", lambda: None):
            np.testing.assert_array_equal(package.run(image=image)["probability"], want)
        native = optima.compile(DIGITS, devices="X64:0")
        error = self.refused("llvm_cpu", optima.Package.load(native.path, plugins=plugins).run, image=image)
        self.assertEqual(error.code, "plugin")

    def test_saving_and_loading(self):
        package = optima.compile(DIGITS, devices="X64:0", output=self.folder / "out", name="d")
        self.assertEqual(package.path, self.folder / "out/d")
        copy = package.save(self.folder / "deep/copy")
        image = np.zeros((1, 1, 32, 32), np.float32)
        np.testing.assert_array_equal(optima.Package.load(copy.path).run(image=image)["probability"], package.run(image=image)["probability"])
        self.refused("wanted a new folder", package.save, copy.path)
        self.refused("is no package", optima.Package.load, self.folder)
        self.refused("package is None, wanted its folder", optima.Package.load, None)

    def test_a_temporary_package_goes_with_its_object(self):
        package = optima.compile(DIGITS, devices="X64:0")
        path, picture = package.path, package.view()
        del package
        self.assertTrue(path.exists())
        picture.save(self.folder / "p.html")
        del picture
        self.assertFalse(path.exists())

    def test_inputs_are_checked(self):
        package = optima.compile(DIGITS, devices="X64:0")
        image = np.zeros((1, 1, 32, 32), np.float32)
        self.refused("no input 'imge' (nearest: 'image')", package.run, imge=image)
        self.refused("input 'image' is missing", package.run)
        self.refused("found float64[1, 1, 32, 32], wanted float32", package.run, image=image.astype(float))
        self.refused("found float32[1, 32, 32]", package.run, image=image[0])
        self.refused("inputs are ndarray, wanted {name: array}, or keywords", package.run, image)
        self.refused("inputs are list, wanted {name: array}", package.run, [image])
        self.refused("input 'image' is given twice", package.run, {"image": image}, image=image)

    def test_a_damaged_description_of_a_package_is_one_sentence(self):
        package = optima.compile(DIGITS, devices="X64:0", output=self.folder / "out", name="d")
        meta = package.path / "model.meta"
        whole = meta.read_text()
        for text, sentence in (("{}", "has no list 'inputs' of names, types and shapes"), ("[]", "has no list 'inputs'"), (whole[:50], "model.meta: Unterminated string"),
                               (whole.replace('"inputs": [', '"inputs": [3, ', 1), "has no list 'inputs'"), (whole.replace('"outputs"', '"outpots"', 1), "has no list 'outputs'")):
            meta.write_text(text)
            self.refused(sentence, optima.Package.load, package.path)
        meta.write_bytes(b"\xff\xfe")
        self.refused("can't decode byte 0xff", optima.Package.load, package.path)

    def test_what_is_refused(self):
        self.assertEqual(self.refused("no plugin serves kind 'VPU'", optima.compile, DIGITS, devices="VPU:0").code, "invalid_input")
        self.refused("no such file", optima.compile, "nowhere.onnx")
        self.refused("a folder, wanted an ONNX file", optima.compile, self.folder)
        self.refused("output is 3, wanted a folder", optima.compile, DIGITS, output=3)
        self.refused("dynamic is 3, wanted a list of the model's symbols", optima.compile, DIGITS, dynamic=3)
        self.refused("example of input 'image': dim 1 is 3, wanted 1, which the model fixes", optima.compile, DIGITS, np.zeros((1, 3, 32, 32), np.float32))
        self.refused("model is int", optima.compile, 3)
        self.refused("devices is [3]", optima.compile, DIGITS, devices=[3])
        self.refused("devices is 3", optima.compile, DIGITS, devices=3)
        image = np.zeros((1, 1, 32, 32), np.float32)
        self.refused("example_inputs: no input 'q', found image", optima.compile, DIGITS, {"q": image})
        self.refused("example_inputs has 2 arrays, wanted at most 1: image", optima.compile, DIGITS, (image, image))
        self.refused("example of input 'image' is a int, wanted an array", optima.compile, DIGITS, 3)
        self.refused("calibration sample 0: 'image' holds objects of Python", optima.compile, DIGITS, precision="int8", calibration=[None])
        self.refused("precision is 8", optima.compile, DIGITS, precision=8)
        self.refused("allocation is a list", optima.compile, DIGITS, allocation=["X64:0"])
        for sentence, model, more in (("model: ", b"no model", {}), ("allocation: no node 'zzz'", DIGITS, {"allocation": {"zzz": "X64:0"}})):  # no word of files that nobody gave
            error = self.refused(sentence, optima.compile, model, devices="X64:0", **more)
            self.assertTrue(error.code == "invalid_input" and str(error).startswith(sentence), error)

    def test_an_interrupt_ends_the_program_and_leaves_nothing_behind(self):
        stages = []

        @contextlib.contextmanager
        def bar(what):
            def interrupt(fraction, stage):
                stages.append(stage)
                raise KeyboardInterrupt
            yield interrupt
        with tempfile.TemporaryDirectory() as temporary, mock.patch.object(tempfile, "tempdir", temporary), mock.patch.object(_progress, "bar", bar):
            for output in (None, self.folder / "out"):
                with self.assertRaises(KeyboardInterrupt):
                    optima.compile(self.module, self.inputs, precision="int8", calibration=[self.inputs], output=output)
            self.assertEqual(glob.glob(f"{temporary}/optima_*"), [])
        self.assertEqual((len(stages), (self.folder / "out").exists()), (2, False))

    def test_an_error_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as temporary, mock.patch.object(tempfile, "tempdir", temporary):
            for output in (None, self.folder / "out"):
                self.refused("no plugin serves", optima.compile, DIGITS, devices="VPU:0", output=output)
            self.assertEqual(glob.glob(f"{temporary}/optima_*"), [])
        self.assertFalse((self.folder / "out").exists())

    def test_a_terminal_gets_a_bar_and_a_pipe_none(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True
        for stream in (Terminal(), io.StringIO()):
            with contextlib.redirect_stderr(stream):
                optima.compile(DIGITS, devices="X64:0", precision="int8", calibration=[np.zeros((1, 1, 32, 32), np.float32)] * 2)
            for shown in ("compiling digits", "samples:"):
                self.assertEqual(shown in stream.getvalue(), stream.isatty(), stream.getvalue())

    def test_a_notebook_gets_a_bar_and_a_shell_with_a_log_none(self):
        text_bars = types.SimpleNamespace(tqdm=tqdm.tqdm)  # widgets want a browser
        for kernel in (True, False):
            shell = types.SimpleNamespace(config={"IPKernelApp": {}} if kernel else {"TerminalIPythonApp": {}})
            ipython, stream = types.SimpleNamespace(get_ipython=lambda: shell), io.StringIO()
            with mock.patch.dict(sys.modules, {"IPython": ipython, "tqdm.auto": text_bars}), contextlib.redirect_stderr(stream):
                optima.compile(DIGITS, devices="X64:0", precision="int8", calibration=[np.zeros((1, 1, 32, 32), np.float32)] * 2)
            for shown in ("compiling digits", "samples:"):
                self.assertEqual(shown in stream.getvalue(), kernel, stream.getvalue())

    def test_packages_run_in_this_process_and_by_the_program_alike(self):
        package, image = optima.compile(DIGITS, devices="X64:0"), np.random.default_rng(0).random((1, 1, 32, 32), np.float32)
        answers = []
        with mock.patch.object(run_package, "runtime", lambda: None):
            answers.append(package.run(image=image)["probability"])
            self.assertEqual((list(package.run(image=image, outputs="probability")), package.run(image=image, outputs=[])), (["probability"], {}))
            self.refused("there is no output 'q', wanted one of 'probability'", package.run, image=image, outputs=["q"])
        if BOUND:
            with mock.patch.object(_host, "run", None):
                answers.append(package.run(image=image)["probability"])
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    answers += [of["probability"] for of in pool.map(lambda _: package.run(image=image), range(8))]
        else:
            print("SKIP: no binding of the runtime; scripts/setup --with tests installs what builds it", flush=True)
        for answer in answers:
            np.testing.assert_array_equal(answer, answers[0])


if __name__ == "__main__":
    unittest.main()
