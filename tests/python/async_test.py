#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the background: waiting, awaiting, callbacks, cancelling, and requests that are let go while they run."""
import asyncio
import gc
import subprocess
import sys
import threading
import unittest
import weakref

from support import HEAD, X, RunTest

import numpy as np

import optima


class Background(RunTest):
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

        for _ in range(200):  # what a callback starts may end before the call that started what it is the callback of
            heard.clear()
            over.clear()
            request.start({"x": X})
            over.wait()
            request.wait()

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

    def test_what_a_run_reads_is_kept_for_it(self):
        model = self.context.load_model(self.digits)
        image = np.linspace(0, 1, 1024, dtype=np.float32).reshape(1, 1, 32, 32)
        want = model.run(image=image)["probability"]
        requests = [model.create_request().start({"image": image.copy()}) for _ in range(4)]  # nobody else has the copies
        self.assertEqual([(r.result["probability"] == want).all() for r in requests], [True] * 4)
        requests[0].set_input("image", image.copy())
        self.assertTrue((requests[0].start().result["probability"] == want).all())

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

    def test_runs_in_a_fork(self):
        program = """if True:
            import os, sys, numpy as np, optima
            from optima.runtime import Context
            X = {"x": np.ones((256, 512), np.float32), "w": np.ones((512, 512), np.float32)}
            context = Context()
            model = context.load_model(sys.argv[1])
            request, endless = model.create_request(), context.load_model(sys.argv[2]).create_request()
            request.start(X).wait()  # threads of the context and of the plugin
            endless.start({"x": np.float32([1, 2])})
            child = os.fork()
            if child == 0:
                print((request.run(X)["y"] == 512).all(), (model.run(X)["y"] == 512).all())
                for call in (model.create_request().start, lambda _: endless.wait()):
                    try:
                        call(X)
                    except optima.Error as error:
                        print(error.code, error)
                own = Context().load_model(sys.argv[1])
                print((own.create_request().start(X).result["y"] == 512).all())
                del request, endless, model, context, own
                sys.exit(0)
            print("ended", os.waitpid(child, 0)[1])
            endless.cancel()
            """
        text = HEAD + "g (float[256,512] x, float[512,512] w) => (float[256,512] y) { y = MatMul(x, w) }"
        matmul = self.package(text, "--device", "X64:0", name="matmul")
        ran = subprocess.run([sys.executable, "-c", program, matmul, self.endless], capture_output=True, text=True, timeout=200)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        told = ran.stdout.splitlines()
        self.assertEqual((told[0], told[3:]), ("True True", ["True", "ended 0"]))
        self.assertIn("usage the request's context was made before this process was forked and has no threads here", told[1])
        self.assertIn("usage the run was started before this process was forked and ends in the other alone", told[2])

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


if __name__ == "__main__":
    unittest.main()
