#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.vitis: calibration while serving, with the trained digits."""
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import unittest
import warnings
from unittest import mock

import numpy as np
import onnx
from PIL import Image

from support import BUILD, DIGITS, FolderTest, top_of
from optima import Error, _host, runtime, torch2hpvm, vitis

MODEL = DIGITS / "digits.onnx"
PICTURES = sorted(DIGITS.glob("pictures/*.png"))


def array_of(paths):
    return {"image": np.stack([np.asarray(Image.open(p).convert("L"), np.float32)[None] / 255 for p in paths])}


SAMPLES = [array_of([p])["image"] for p in PICTURES]


class Vitis(FolderTest):
    def setUp(self):
        super().setUp()
        self.set(PX_QUANT_SIZE="4", PX_BUILD_DIR=None)
        self.build_dir = self.folder / "build"

    def set(self, **variables):
        patch = mock.patch.dict(os.environ, {k: v for k, v in variables.items() if v is not None})
        patch.start()
        self.addCleanup(patch.stop)
        for name in [k for k, v in variables.items() if v is None]:
            os.environ.pop(name, None)

    def build(self, model=MODEL, target="llvm", **options):
        library = vitis.build(vitis.partition_for_vitis_ai(model), target, {"build_dir": self.build_dir, **options})
        self.addCleanup(library.close)
        return library

    def refused(self, sentence, call, *given, **named):
        with self.assertRaisesRegex(Error, sentence):
            call(*given, **named)

    def float_answers(self):
        self.compile(MODEL, "float")
        model = runtime.Context().load_model(self.folder / "X64/float")
        return [model.run(image=s)["probability"] for s in SAMPLES]

    def test_the_first_calls_answer_in_float_and_then_int8_takes_over(self):
        want = self.float_answers()
        library = self.build(export_runtime_module=self.folder / "calibration.json")
        executor = library.executor()
        for i in range(4):
            self.assertFalse(library.quantized)
            executor.set_input("image", SAMPLES[i])
            executor.run()
            np.testing.assert_array_equal(executor.get_output(0), want[i])
            self.assertEqual(library.samples, (i + 1, 4))
            with np.load(self.build_dir / f"samples/{i:06}.npz") as kept:
                np.testing.assert_array_equal(kept["image"], SAMPLES[i])
        self.assertTrue(library.quantized)
        self.assertTrue(any("Quantize" in op for op in self.operators("int8")), self.operators("int8"))
        answers = [library.run(image=s)["probability"] for s in SAMPLES]
        apart = max(np.abs(a - b).max() for a, b in zip(answers, want))
        self.assertGreater(apart, 0)
        self.assertLess(apart, 0.1)
        self.assertEqual([int(a.argmax()) for a in answers], [int(p.stem[-1]) for p in PICTURES])
        self.assertEqual(len(list(self.build_dir.glob("samples/*"))), 4)
        with self.subTest("exported, it answers the same in another process"):
            for name in ("lib", "lib.tar.gz"):
                library.export_library(self.folder / name)
                library.export_library(self.folder / name)  # again
                code = "import sys, numpy as np; from optima import vitis; l = vitis.load_library(sys.argv[1]); x = np.load(sys.argv[2]); " \
                       "np.save(sys.argv[3], l.run(image=x)['probability']); assert l.quantized; l.export_library(sys.argv[4])"
                np.save(self.folder / "x.npy", SAMPLES[5])
                self.python(code, self.folder / name, self.folder / "x.npy", self.folder / "y.npy", self.folder / "again")
                np.testing.assert_array_equal(np.load(self.folder / "y.npy"), answers[5])
                shutil.rmtree(self.folder / "again")
            text = self.done(BUILD / "bin/run_model", "digits", self.folder / "lib", PICTURES[5], DIGITS / "labels.txt", "image")
            self.assertEqual(top_of(text)[0][2], "five")
        with self.subTest("PX_BUILD_DIR: at once"):
            self.set(PX_BUILD_DIR=str(self.build_dir))
            again = self.build(build_dir=self.folder / "not_used")
            self.assertTrue(again.quantized)
            np.testing.assert_array_equal(again.run(image=SAMPLES[7])["probability"], answers[7])
            self.assertFalse((self.folder / "not_used").exists())
            with mock.patch("optima.vitis._calibration.load", side_effect=Error("no device DPU9:0", "plugin")):
                absent = self.build()
            self.refused("no device DPU9:0", absent.run, image=SAMPLES[7])
            absent.export_library(self.folder / "absent")
            self.assertTrue((self.folder / "absent/digits/model.meta").exists())
            self.set(PX_BUILD_DIR=str(self.folder / "none"))
            self.refused("PX_BUILD_DIR '.*none' has no finished calibration", self.build)
            self.set(PX_BUILD_DIR=None)
        with self.subTest("a calibration is loaded, for this machine and for another"):
            loaded = self.build(build_dir=self.folder / "loaded", load_runtime_module=self.folder / "calibration.json")
            for sample, answer in zip(SAMPLES, answers):
                np.testing.assert_array_equal(loaded.run(image=sample)["probability"], answer)
            other = "aarch64" if "X64:0" in (self.build_dir / "vitis.json").read_text() else "x86_64"
            far = self.build(target=f"llvm -mtriple={other}-linux-gnu", build_dir=self.folder / "far", load_runtime_module=self.folder / "calibration.json")
            self.refused("the library is for another machine", far.run, image=SAMPLES[0])
            far.export_library(self.folder / "far_lib")
            self.assertIn(other, (self.folder / "far_lib/digits/model.meta").read_text())
            self.refused("not this machine's, wanted load_runtime_module", self.build, target=f"llvm -mtriple={other}-linux-gnu", build_dir=self.folder / "far2")
        with self.subTest("another process finds the int8 package in the build folder"):
            library.close()
            self.assertTrue(self.build().quantized)

    def operators(self, name):
        return {node["op"] for node in json.loads((self.build_dir / name / "placement.json").read_text())["nodes"]}

    def python(self, code, *words, **more):
        return self.done(sys.executable, "-c", code, *words, env={**os.environ, "PYTHONPATH": str(BUILD / "python")}, **more)

    def test_a_process_that_is_killed_loses_no_sample(self):
        self.set(PX_QUANT_SIZE="6")
        code = """
import os, signal, sys, numpy as np
from optima import vitis
library = vitis.build(vitis.partition_for_vitis_ai(sys.argv[1]), options={"build_dir": sys.argv[2]})
for i in range(3):
    library.run(image=np.load(sys.argv[3])[i])
os.kill(os.getpid(), signal.SIGKILL)
"""
        np.save(self.folder / "x.npy", np.stack(SAMPLES))
        words = [sys.executable, "-c", code, MODEL, self.build_dir, self.folder / "x.npy"]
        ended = subprocess.run(list(map(str, words)), env={**os.environ, "PYTHONPATH": str(BUILD / "python")}, capture_output=True, text=True)
        self.assertEqual(ended.returncode, -signal.SIGKILL, ended.stderr)
        (self.build_dir / "samples/.000003.part").write_bytes(b"half")
        library = self.build()
        self.assertEqual((library.samples, library.quantized), ((3, 6), False))
        self.refused("is being calibrated into by another library or process", self.build)
        self.assertEqual(library.calibrate(PICTURES[3:], array_of), 3)
        self.assertTrue(library.quantized)
        with np.load(self.build_dir / "samples/000002.npz") as early, np.load(self.build_dir / "samples/000003.npz") as late:
            np.testing.assert_array_equal(early["image"], SAMPLES[2])
            np.testing.assert_array_equal(late["image"], SAMPLES[3])
        with self.subTest("samples elsewhere, by the model"):
            work = self.build(build_dir=self.folder / "b2", work_dir=self.folder / "work")
            work.run(image=SAMPLES[0])
            self.assertEqual(len(list(self.folder.glob("work/samples_*/000000.npz"))), 1)
            self.assertFalse((self.folder / "b2/samples").exists())
        with self.subTest("killed while quantizing: the next call does it"):
            library.close()
            shutil.rmtree(self.build_dir / "int8")
            again = self.build()
            self.assertEqual((again.samples, again.quantized), ((6, 6), False))
            again.run(image=SAMPLES[9])
            self.assertTrue(again.quantized)
            self.assertFalse((self.build_dir / "samples/000006.npz").exists())

    def test_callers_at_the_same_time_get_float_or_int8_whole(self):
        want = self.float_answers()
        self.set(PX_QUANT_SIZE="5")
        library = self.build()
        compiles, compile_int8 = [], library._calibration.job.compile_int8
        library._calibration.job.compile_int8 = lambda *words: (compiles.append(1), compile_int8(*words))
        got, begin = [set() for _ in range(3)], threading.Barrier(3)
        answer = lambda i: (i, library.run(image=SAMPLES[i])["probability"].tobytes())

        def call(answers):
            begin.wait()
            while not library.quantized:
                answers.update(map(answer, range(10)))
            answers.update(map(answer, range(10)))

        threads = [threading.Thread(target=call, args=(answers,)) for answers in got]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((compiles, library.samples), ([1], (5, 5)))
        codes, floats = set(map(answer, range(10))), {(i, w.tobytes()) for i, w in enumerate(want)}
        for answers in got:
            self.assertLessEqual(codes, answers)
            self.assertLessEqual(answers, codes | floats)
        self.assertTrue(floats & set.union(*got))

    def test_a_compile_that_fails_leaves_float_with_one_warning(self):
        want = self.float_answers()
        library = self.build()
        real = _host.run
        fails = lambda *words, **more: real("compile", "none.onnx") if "int8" in words else real(*words, **more)
        with mock.patch.object(_host, "run", fails), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for i in range(8):
                np.testing.assert_array_equal(library.run(image=SAMPLES[i])["probability"], want[i])
        self.assertEqual([str(w.message).partition(":")[0] for w in said], ["the int8 package could not be made, answers stay float"])
        self.assertFalse(library.quantized)
        self.assertFalse((self.build_dir / "int8").exists())

    def test_scalars_integers_and_names_of_any_kind_calibrate(self):
        random = np.random.default_rng(0)
        weights = random.standard_normal((16, 8)).astype(np.float32)
        graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["in/x", "w"], ["h"]), onnx.helper.make_node("Mul", ["h", "file"], ["m"]),
                                        onnx.helper.make_node("Gather", ["m", "rows"], ["y"], axis=0)], "g",
                                       [onnx.helper.make_tensor_value_info("in/x", 1, [4, 16]), onnx.helper.make_tensor_value_info("file", 1, []),
                                        onnx.helper.make_tensor_value_info("rows", 7, [2])],
                                       [onnx.helper.make_tensor_value_info("y", 1, [2, 8])], [onnx.numpy_helper.from_array(weights, "w")])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), self.folder / "g.onnx")
        library = self.build(self.folder / "g.onnx")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for i in range(6):
                x = random.standard_normal((16, 4)).astype(np.float32).T  # not dense
                y = library.run({"in/x": x, "file": np.float32(0.5), "rows": [3, i % 4]})["y"]
                np.testing.assert_allclose(y, (x @ weights / 2)[[3, i % 4]], atol=0.2)
        self.assertTrue(library.quantized)

    def test_calls_that_fail_do_not_count_and_none_calibrate_when_told_so(self):
        library = self.build()
        self.refused("", library.run, image=np.zeros((1, 1, 3, 3), np.float32))
        self.refused("", library.run)
        self.refused("inputs are ndarray, wanted {name: array}", library.run, SAMPLES[0])
        self.assertEqual(library.samples, (0, 4))
        library.close()
        for size in ("0", "-3"):
            self.set(PX_QUANT_SIZE=size)
            library = self.build(build_dir=self.folder / f"none{size}")
            for s in SAMPLES:
                library.run(image=s)
            self.assertEqual((library.samples, library.quantized), ((0, 0), False))
        self.set(PX_QUANT_SIZE="many")
        self.refused("PX_QUANT_SIZE is 'many', wanted a whole number", self.build, build_dir=self.folder / "other")

    def test_a_dpu_is_the_target_of_a_vendors_plugin(self):
        self.refused("target 'DPU9' is unknown, wanted llvm or one of DPUCADX8G", vitis.annotate, MODEL, "DPU9")
        self.refused("target 'DPUCZDX8G-zcu104' needs a vendor's plugin that serves devices of kind DPUCZDX8G, found none", vitis.annotate, MODEL, "DPUCZDX8G-zcu104")
        plugins = self.folder / "plugins"
        plugins.mkdir()
        for file in [*(BUILD / "lib/optima/plugins").glob("optima_llvm_cpu*.so"), *(BUILD / "test_plugins/dpu").glob("*.so")]:
            (plugins / file.name).symlink_to(file)
        self.set(OPTIMA_PLUGINS=str(plugins))
        annotated = vitis.annotate(MODEL, "DPUCZDX8G-zcu104")
        self.assertTrue(all(annotated.taken.values()))
        self.refused("found one that is annotated, wanted a module that is merged", vitis.partition, annotated)
        module = vitis.partition(vitis.merge(annotated))
        self.assertEqual([device for device, _ in module.parts], ["DPUCZDX8G:0"])
        self.assertEqual(module.regions, (module.parts[0][1],))
        library = vitis.build(module, options={"relay.ext.vitis_ai.options": {"build_dir": str(self.build_dir), "dpu": "DPUCZDX8G-zcu104"}})
        self.addCleanup(library.close)
        self.assertEqual(library.calibrate(PICTURES, array_of), 4)
        self.assertTrue(library.quantized)
        self.assertEqual({n["device"] for n in json.loads((self.build_dir / "int8/placement.json").read_text())["nodes"]}, {"DPUCZDX8G:0"})
        self.assertIn("DPUCZDX8G-zcu104", (self.build_dir / "int8/optima.yaml").read_text())
        self.assertEqual([int(library.run(image=s)["probability"].argmax()) for s in SAMPLES], list(range(10)))

    def test_a_split_can_be_looked_at_without_the_plugin(self):
        every = [[*range(1, 24)]]
        row = {"domain": "", "since_version": [1, 1000], "inputs": every, "outputs": every}
        note = self.folder / "dpu.json"
        note.write_text(json.dumps({"manifest": 1, "abi": [[0, 1]], "id": "paper", "vendor": "nobody", "version": "1", "build_id": "1", "roles": ["compiler"],
                                    "devices": [{"kind": "DPUCAHX8L", "class": "npu"}], "options": [], "operators": [{**row, "op": op} for op in ("Conv", "Relu", "Add")]}))
        annotated = vitis.annotate(MODEL, "DPUCAHX8L", supports=[note])
        self.assertIn("MaxPool", " ".join(annotated.reasons.values()))
        module = vitis.partition(vitis.merge(annotated))
        self.assertEqual({name for name, taken in module.taken.items() if taken}, {name for region in module.regions for name in region})
        self.assertEqual({device for device, _ in module.parts}, {"DPUCAHX8L:0", next(iter(vitis.annotate(MODEL).plan["devices"]))["name"]})
        self.assertEqual(sorted(n for _, nodes in module.parts for n in nodes), sorted(module.taken))
        self.refused("needs a vendor's plugin that serves devices of kind DPUCAHX8L", vitis.build, module)

    def test_what_users_call_is_annotated(self):
        calls = [vitis.annotate, vitis.merge, vitis.partition, vitis.partition_for_vitis_ai, vitis.build, vitis.load_library]
        for kind in (vitis.Executor, vitis.Library, torch2hpvm.BinDataset, torch2hpvm.ModelExporter):
            calls += [member for name, member in vars(kind).items() if inspect.isfunction(member) and not name.startswith("_")]
        calls += [vitis.Executor.__init__, torch2hpvm.BinDataset.__init__, torch2hpvm.ModelExporter.__init__]
        for call in calls:
            found = inspect.signature(call)
            self.assertIsNot(found.return_annotation, found.empty, call)
            self.assertEqual([p.name for p in found.parameters.values() if p.name != "self" and p.annotation is p.empty], [], call)

    def test_what_cannot_be_is_one_sentence(self):
        module = vitis.partition_for_vitis_ai(MODEL)
        for options in ("dir", ["build_dir"], {"relay.ext.vitis_ai.options": "dir"}):
            self.refused("wanted name -> value, as {'build_dir': 'model.vitis'}", vitis.build, module, options=options)
        self.refused("option 'dir' is unknown, wanted one of dpu, build_dir", vitis.build, module, options={"dir": "x"})
        self.refused("option dpu is 'DPUCADX8G', wanted 'llvm'", vitis.build, module, options={"dpu": "DPUCADX8G"})
        self.refused("target is 'cuda', wanted 'llvm'", vitis.build, module, "cuda")
        self.refused("target is 'llvm -mcpu=x', wanted 'llvm' with no option", vitis.build, module, "llvm -mcpu=x")
        self.refused("found str, wanted a module that is partitioned", vitis.build, "m.onnx")
        self.refused("params is given, wanted None", vitis.partition_for_vitis_ai, MODEL, {})
        self.refused("none.onnx", vitis.annotate, self.folder / "none.onnx")
        self.folder.joinpath("build").mkdir()
        (self.build_dir / "thesis.txt").write_text("x")
        self.refused(r"holds other things \('thesis.txt'\)", self.build)
        self.assertEqual(len(list(self.build_dir.iterdir())), 1)
        self.refused("is a file, wanted a folder", self.build, build_dir=self.build_dir / "thesis.txt")
        (self.build_dir / "thesis.txt").unlink()
        library = self.build()
        self.refused("is a folder of something else", library.export_library, self.folder)
        (self.folder / "file").write_text("kept")
        self.refused("file' is a file, wanted a new name, an exported library or a name that ends with .tar", library.export_library, self.folder / "file")
        self.refused("file/deep' cannot be written: (Not a directory|File exists)", library.export_library, self.folder / "file/deep")
        self.assertEqual((self.folder / "file").read_text(), "kept")
        self.refused("get_output.. without run", library.executor().get_output, 0)
        library.close()
        other = self.folder / "other.onnx"
        other.write_bytes(MODEL.read_bytes() + b"\x1a\x00")
        self.refused("is of another model, wanted one of this build", self.build, other)
        self.refused("is no exported library", vitis.load_library, self.build_dir)
        self.refused("is no exported library", vitis.load_library, MODEL)


if __name__ == "__main__":
    unittest.main()
