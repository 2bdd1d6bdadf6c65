#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packages and runs of them: threads, states, profiles, logs, fallbacks, and what is refused."""
import pickle
import shutil
import threading
import unittest

from support import DIGITS, HEAD, X, RunTest

import numpy as np

import optima
from optima.runtime import Context, DeviceKind, FrameworkKind, LogLevel, ProfileKind


class Requests(RunTest):
    def test_what_a_package_is(self):
        model = self.context.loadModel(self.digits)
        self.assertEqual([(i.name, i.dtype, i.shape) for i in model.inputs], [("image", "float32", (1, 1, 32, 32))])
        self.assertEqual([(o.name, o.dtype, o.shape) for o in model.getOutputInfos()], [("probability", "float32", (1, 10))])
        self.assertEqual({FrameworkKind.of(s) for s in model.subgraphs}, {FrameworkKind.LLVM, FrameworkKind.Other})
        self.assertIn("REF:0", {s.device for s in model.subgraphs})
        kinds = {e.kind for e in model.getProfileData()}
        self.assertEqual(kinds, {ProfileKind.ModelInit, ProfileKind.SubgraphInit})
        devices = {(d.plugin, d.kind): d for d in self.context.getAvailableDevices()}
        self.assertIn(("llvm_cpu", DeviceKind.X64), devices)
        self.assertEqual(devices["reference", DeviceKind.Other].kind_name, "REF")

    def test_eight_threads_on_one_model_give_the_bits_of_one(self):
        model = self.context.load_model(self.digits)
        images = np.random.default_rng(0).random((8, 1, 1, 32, 32), np.float32)
        alone = [model.run(image=image)["probability"] for image in images]
        wrong, barrier = [], threading.Barrier(8)

        def work(k):
            barrier.wait()
            for n in range(25):
                mine = (k + n) % 8
                if model.run({"image": images[mine]})["probability"].tobytes() != alone[mine].tobytes():
                    wrong.append((k, n))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_run_that_takes_too_long_ends(self):
        request = self.context.load_model(self.endless).create_request()
        request.set_deadline(0.02)
        self.fails("deadline", "", request.run, {"x": X})

    def test_states(self):
        text = HEAD + "g (float[2] x, float[2] s) => (float[2] y, float[2] t) { y = Neg(x)  t = Add(x, s) }"
        request = self.context.load_model(self.package(text, "--device", "X64:0", name="state")).create_request()
        request.tieOutput("t", "s")
        sums = [request.run({"x": X})["t"] for _ in range(3)]
        self.assertEqual([s.tolist() for s in sums], [[1, 2], [2, 4], [3, 6]])
        request.reset()
        self.assertEqual(request.run({"x": X})["t"].tolist(), [1, 2])
        self.fails("invalid_input", "there is no output 'u', wanted one of 'y', 't'", request.tie, "u", "s")

    def test_outputs_that_are_wanted(self):
        text = HEAD + "g (float[2] x) => (float[2] y, float[2] z, float[2] outputs) { y = Neg(x)  z = Abs(x)  outputs = Add(x, x) }"
        package = self.package(text, "--device", "REF:0", name="wanted")
        model = self.context.load_model(package)
        for run in (model.run, model.create_request().run, optima.Package(package).run):
            self.assertEqual({name: array.tolist() for name, array in run({"x": X}, outputs=["z", "y"]).items()}, {"z": [1, 2], "y": [-1, -2]})
            self.assertEqual([list(run({"x": X}, outputs=of)) for of in (None, [], "outputs", ("y",))], [["y", "z", "outputs"], [], ["outputs"], ["y"]])
            self.fails("invalid_input", "there is no output 'q', wanted one of 'y', 'z', 'outputs'", run, {"x": X}, outputs=["y", "q"])
            self.fails("usage", "outputs is ndarray, wanted a list of names of outputs; an input of that name goes into the dict of inputs", run, {"x": X}, outputs=X)
        first = model.run({"x": X}, outputs=["y"])["y"]
        model.run({"x": X * 2}, outputs=["z"])
        self.assertEqual(first.tolist(), [-1, -2])

    def test_profiles(self):
        request = self.context.load_model(self.digits).create_request()
        request.setProfiling(True)
        request.run({"image": np.zeros((1, 1, 32, 32), np.float32)})
        kinds = [e.kind for e in request.getProfileData()]
        self.assertIn(ProfileKind.ModelExecute, kinds)
        self.assertGreater(kinds.count(ProfileKind.SubgraphExecute), 1)

    def test_loading_tells_how_far_it_is_and_stops(self):
        told = []
        self.context.load_model(self.digits, progress=lambda fraction, stage: told.append((fraction, stage)))
        self.assertEqual(told[-1][0], 1.0)
        self.fails("cancelled", "", self.context.load_model, self.digits, progress=lambda fraction, stage: False)
        with self.assertRaises(ZeroDivisionError):
            self.context.load_model(self.digits, progress=lambda fraction, stage: 1 / 0)

    def test_what_is_no_package_and_no_plugin(self):
        self.fails("invalid_input", "'/nowhere'", self.context.load_model, "/nowhere")
        self.fails("invalid_input", "", self.context.load_model, DIGITS)
        self.fails("invalid_input", "plugin folder '/nowhere'", Context, plugins="/nowhere")
        self.fails("usage", "workers is -1, wanted a number from 0 on", Context, workers=-1)
        self.fails("usage", "threads is 'all', wanted a number from 0 on", Context, threads="all")
        self.fails("usage", "inputs are ndarray, wanted {name: array}, or keywords", self.context.load_model(self.negation).run, X)
        self.fails("invalid_input", "option 'llvm_cpu.nonsense'", Context, {"llvm_cpu.nonsense": 1})
        empty = self.folder / "empty"
        empty.mkdir()
        lonely = Context(plugins=empty)
        self.fails("plugin", "llvm_cpu", lonely.load_model, self.negation)
        self.assertEqual(lonely.getAvailableDevices(), [])
        lonely.loadExtension(self.plugins())
        self.assertEqual(lonely.load_model(self.negation).run(x=X)["y"].tolist(), [-1, -2])
        self.fails("invalid_input", "there is no input 7", self.context.load_model(self.negation).create_request().set_input, 7, X)

    @staticmethod
    def plugins():
        from optima import _native
        return _native.plugin_folders()[0]

    def test_what_is_no_setting_is_one_sentence(self):
        self.fails("usage", "options are ['a'], wanted {'plugin.key': value}", Context, ["a"])
        self.fails("usage", "plugins is 3, wanted a folder, or several", Context, plugins=3)
        self.fails("usage", "found 3, wanted a path", Context, plugins=[3])
        self.fails("usage", "log_level is 'warn', wanted a LogLevel", Context, log_level="warn")
        self.fails("usage", "found None, wanted a path", self.context.load_model, None)
        request = self.context.load_model(self.negation).create_request().start({"x": X})
        for timeout in ("a", float("nan"), [1]):
            self.fails("usage", f"timeout is {timeout!r}, wanted seconds", request.wait, timeout)
        request.wait()
        self.fails("usage", "seconds is 'a', wanted seconds", request.set_deadline, "a")

    def test_damaged_packages_are_refused(self):
        copy = self.folder / "damaged"
        shutil.copytree(self.negation, copy)
        meta = copy / "model.meta"
        meta.write_text(meta.read_text().replace("float32", "float31", 1))
        self.fails("invalid_input", "", self.context.load_model, copy)
        self.fails("invalid_input", "", self.context.load_model, copy, fallback=True)

    def test_fallback_is_for_plugins_that_have_one(self):
        self.assertEqual(self.context.load_model(self.negation, fallback=True).run(x=X)["y"].tolist(), [-1, -2])
        self.assertTrue(self.context._has_fallback("snpe"))
        self.assertFalse(self.context._has_fallback("llvm_cpu"))
        package = self.folder / "qualcomm"
        package.mkdir()
        (package / "model.meta").write_text('{"variants": [{"subgraphs": [{"plugin": {"id": "snpe"}}, {"plugin": {"id": "llvm_cpu"}}]}]}')
        self.assertIsNot(self.context._with_fallback(str(package)), self.context._c)
        self.assertIs(self.context._with_fallback(str(package)), self.context._with_fallback(str(package)))
        self.assertIs(self.context._with_fallback(str(self.negation)), self.context._c)

    def test_errors_are_pickled_whole(self):
        error = optima.Error("node 'a/b' (Conv) is pinned to snpe/HEXAGON:0", "placement", node="a/b", device="snpe/HEXAGON:0")
        back = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(back), back.code, back.node, back.device), (str(error), "placement", "a/b", "snpe/HEXAGON:0"))

    def test_the_log_goes_to_logging(self):
        text = HEAD + "g (float[N] x, float[N] z) => (float[N] y, float[N] w) { y = Neg(x)  w = Neg(z) }"
        package = self.package(text, "--device", "REF:0", name="symbols")
        model, given = Context().load_model(package), {"x": X, "z": np.zeros(3, np.float32)}
        with self.assertLogs("optima", "WARNING") as heard:
            model.create_request().run(given)
        self.assertEqual(len(heard.records), 1)
        self.assertIn("runtime: input 'z': found N = 3", heard.output[0])
        Context(log_level=LogLevel.Error)  # the last one decides
        with self.assertNoLogs("optima", "WARNING"):
            model.create_request().run(given)
        Context()


if __name__ == "__main__":
    unittest.main()
