#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests: threads, asynchronous runs, states, cancellation, and what is refused."""
import asyncio
import gc
import logging
import pickle
import subprocess
import sys
import threading
import unittest
import weakref

from support import DIGITS, ENDLESS, HEAD, PackageTest

import numpy as np

import optima
from optima.runtime import Context, DeviceKind, FrameworkKind, LogLevel, ProfileKind

X = np.float32([1, 2])


class Requests(PackageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.digits = cls.package(DIGITS / "digits.onnx", "--alloc", DIGITS / "alloc_reference.json", name="digits")
        cls.endless = cls.package(ENDLESS, "--device", "REF:0", "--alloc", cls.write("alloc.json", '{"op:Loop": "host"}'), name="endless")
        cls.negation = cls.package(HEAD + "g (float[2] x) => (float[2] y) { y = Neg(x) }", "--device", "X64:0", name="negation")
        cls.context = Context()

    @classmethod
    def write(cls, name, text):
        path = cls.folder / name
        path.write_text(text)
        return path

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

    def test_pythons_lock_is_free_while_a_model_runs(self):
        request = self.context.load_model(self.endless).create_request()
        request.set_input("x", X)
        raised = []

        def work():
            try:
                request.run()
            except optima.Error as error:
                raised.append(error)
        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive():  # with the lock held in run() nobody would get here
            request.cancel()
            thread.join(0.01)
        self.assertEqual([e.code for e in raised], ["cancelled"])

    def test_one_request_is_for_one_thread(self):
        request = self.context.load_model(self.endless).create_request()
        request.start({"x": X})
        self.assertFalse(request.wait(0))
        self.assertFalse(request.wait(0.001))
        for call in (lambda: request.set_input("x", X), request.run, request.start, request.profile, request.drop_inputs, lambda: request.get_output("y"),
                     lambda: request.set_output("y", X.copy()), request.reset, lambda: request.set_deadline(1)):
            self.fails("usage", "the request is running, wanted an idle one", call)
        request.cancel()
        self.fails("cancelled", "", request.wait)
        request.set_input("x", X)

    def test_a_run_that_takes_too_long_ends(self):
        request = self.context.load_model(self.endless).create_request()
        request.set_deadline(0.02)
        self.fails("deadline", "", request.run, {"x": X})

    def test_start_and_wait(self):
        model = self.context.load_model(self.negation)
        request = model.create_request()
        self.fails("usage", "never started", request.wait)
        self.fails("invalid_input", "input 'x' is not set", lambda: request.start().wait())
        self.assertTrue(request.start({"x": X}).wait())
        self.assertEqual(request.result["y"].tolist(), [-1, -2])
        request.infer()
        request.wait()
        self.assertEqual(request.getOutputTensor(0).numpy().tolist(), [-1, -2])

    def test_await(self):
        model = self.context.load_model(self.negation)

        async def both():
            requests = [model.create_request().start({"x": X * n}) for n in range(1, 9)]
            return await asyncio.gather(*requests)
        self.assertEqual([a["y"].tolist() for a in asyncio.run(both())], [[-n, -2 * n] for n in range(1, 9)])

        async def again():
            request = model.create_request()
            first = await request.start({"x": X})
            second = await request.start({"x": X * 2})
            return first["y"].tolist(), second["y"].tolist(), (await request)["y"].tolist()
        self.assertEqual(asyncio.run(again()), ([-1, -2], [-2, -4], [-2, -4]))

    def test_await_gives_the_failure_and_cancels(self):
        model = self.context.load_model(self.endless)

        async def ended():
            request = model.create_request().start({"x": X})
            asyncio.get_running_loop().call_soon(request.cancel)
            await request
        self.fails("cancelled", "", asyncio.run, ended())

        async def impatient():
            request = model.create_request().start({"x": X})
            task = asyncio.ensure_future(request)
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            request.wait()
        self.fails("cancelled", "", asyncio.run, impatient())

    def test_callbacks(self):
        model = self.context.load_model(self.negation)
        request, heard, over = model.create_request(), [], threading.Event()

        def three_times(error):
            heard.append((error, request.get_output("y").numpy().tolist()))
            if len(heard) < 3:
                request.start({"x": X * (len(heard) + 1)})
            else:
                over.set()
        request.setCallback(three_times)
        request.start({"x": X})
        over.wait()
        request.wait()
        self.assertEqual(heard, [(None, [-1, -2]), (None, [-2, -4]), (None, [-3, -6])])

        slow, said = self.context.load_model(self.endless).create_request(), []
        slow.set_callback(said.append)
        slow.start({"x": X})
        slow.cancel()
        self.fails("cancelled", "", slow.wait)
        self.assertEqual([e.code for e in said], ["cancelled"])
        slow.set_callback(None)

    def test_a_callback_that_raises_is_told_and_harms_nothing(self):
        request, told = self.context.load_model(self.negation).create_request(), []
        request.set_callback(lambda error: 1 / 0)
        before, sys.unraisablehook = sys.unraisablehook, lambda what: told.append(what.exc_type)
        try:
            request.start({"x": X}).wait()
        finally:
            sys.unraisablehook = before
        self.assertEqual(told, [ZeroDivisionError])
        self.assertEqual(request.result["y"].tolist(), [-1, -2])

    def test_nothing_is_kept_longer_than_it_is_wanted(self):
        model = self.context.load_model(self.negation)
        array = X.copy()
        answer = model.run(x=array)["y"]
        gone = [weakref.ref(array), weakref.ref(answer)]
        del array, answer
        self.assertEqual([ref() for ref in gone], [None, None])  # without a collection: no cycles
        request = model.create_request().start({"x": X})
        request.wait()
        gone = [weakref.ref(request), weakref.ref(model)]
        del request, model
        self.assertEqual([ref() for ref in gone], [None, None])

    def test_a_request_may_be_dropped_anywhere(self):
        model = self.context.load_model(self.endless)
        request = model.create_request().start({"x": X.copy()})
        gone = weakref.ref(request)
        del request  # while it runs
        gc.collect()
        self.assertIsNone(gone())

        holder, over = [model.create_request()], threading.Event()

        def drop(error):  # the last reference, on the thread that ran it
            holder.clear()
            over.set()
        holder[0].set_callback(drop)
        holder[0].start({"x": X.copy()}).cancel()
        over.wait()
        del model
        self.assertEqual(self.context.load_model(self.negation).run(x=X)["y"].tolist(), [-1, -2])

    def test_python_ends_while_a_model_runs(self):
        program = """if True:
            import sys, numpy as np
            from optima.runtime import Context
            request = Context().load_model(sys.argv[1]).create_request()
            request.set_callback(lambda error: print("ended:", error.code, flush=True))
            request.start({"x": np.float32([1, 2])})"""
        ran = subprocess.run([sys.executable, "-c", program, self.endless], capture_output=True, text=True, timeout=200)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_ctrl_c_while_waiting(self):
        program = """if True:
            import os, signal, sys, threading, numpy as np
            from optima.runtime import Context
            request = Context().load_model(sys.argv[1]).create_request().start({"x": np.float32([1, 2])})
            try:
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
                request.wait()
            except KeyboardInterrupt:
                print("interrupted")"""
        ran = subprocess.run([sys.executable, "-c", program, self.endless], capture_output=True, text=True, timeout=200)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "interrupted\n", ""))

    def test_states(self):
        text = HEAD + "g (float[2] x, float[2] s) => (float[2] y, float[2] t) { y = Neg(x)  t = Add(x, s) }"
        request = self.context.load_model(self.package(text, "--device", "X64:0", name="state")).create_request()
        request.tieOutput("t", "s")
        sums = [request.run({"x": X})["t"] for _ in range(3)]
        self.assertEqual([s.tolist() for s in sums], [[1, 2], [2, 4], [3, 6]])
        request.reset()
        self.assertEqual(request.run({"x": X})["t"].tolist(), [1, 2])
        self.fails("invalid_input", "there is no output 'u', wanted one of 'y', 't'", request.tie, "u", "s")

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

    def test_damaged_packages_are_refused(self):
        import shutil
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
