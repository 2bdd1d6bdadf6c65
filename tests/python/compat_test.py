#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima_v2.runtime: programs written for the earlier runtime, with its names and what they meant."""
import contextlib
import gc
import io
import logging
import sys
import threading
import unittest
import weakref

import numpy as np

from support import BUILD, ENDLESS, HEAD, ROOT, PackageTest

sys.path.insert(1, str(ROOT / "python-compat/src"))
import optima_v2.runtime as rt  # noqa: E402

import optima  # noqa: E402

TWO = HEAD + """two (float[2, 3] input_1, int64[3] input_2) => (float[2, 3] sum, int64[3] twice) { f = Cast<to = 1>(input_2)  sum = Add(input_1, f)  twice = Add(input_2, input_2) }"""
OPEN = HEAD + "open (float[N, 2] x) => (float[N, 2] y) { y = Neg(x) }"
SYMBOLS = HEAD + "g (float[N] x, float[N] z) => (float[N] y, float[N] w) { y = Neg(x)  w = Neg(z) }"
A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([10, 20, 30])
DOCUMENTED = {
    rt.Context: {"load_model", "load_extension", "verbosity", "available_devices", "version"},
    rt.Model: {"create_request", "get_input_tensor_info", "input_tensor_count", "input_tensors_info", "input_tensor_info", "get_output_tensor_info", "output_tensor_count",
               "output_tensors_info", "output_tensor_info", "subgraph_info"},
    rt.InferRequest: {"get_input_tensor", "input_tensor_count", "input_tensors", "get_output_tensor", "output_tensor_count", "output_tensors", "set_inputs", "get_outputs",
                      "set_callback", "infer", "wait", "profile_data"},
    rt.Tensor: {"copy_from", "to_numpy", "name", "shape", "type", "size"},
}
EXCEPTIONS = ("Backend", "Infer", "InitializationFailed", "InvalidArgument", "InvalidExtension", "InvalidModel", "InvalidOperation", "OutOfResource", "UnsupportedModel")


class Earlier(PackageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.two = str(cls.package(TWO, "--device", "X64:0", name="two"))
        cls.open = str(cls.package(OPEN, "--device", "X64:0", name="open"))
        cls.symbols = str(cls.package(SYMBOLS, "--device", "REF:0", name="symbols"))
        host = cls.folder / "alloc.json"
        host.write_text('{"op:Loop": "host"}')
        cls.endless = str(cls.package(ENDLESS, "--device", "REF:0", "--alloc", host, name="endless"))
        cls.addClassCleanup(lambda: [logging.getLogger("optima").removeHandler(h) for h in list(logging.getLogger("optima").handlers)])
        cls.context = rt.Context()

    def request(self, package=None):
        return self.context.load_model(package or self.two).create_request()

    def test_what_is_documented_is_there(self):
        for kind, names in DOCUMENTED.items():
            self.assertEqual({name for name in vars(kind) if not name.startswith("_")}, names)
        for name in EXCEPTIONS:
            self.assertTrue(issubclass(getattr(rt, name + "Exception"), rt.Exception), name)
        self.assertTrue(issubclass(rt.Exception, RuntimeError) and issubclass(rt.Exception, optima.Error))
        self.assertLessEqual({"I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "F16", "F32", "F64", "Q8", "Q16", "BF16"}, set(rt.ElementType.__members__))
        self.assertEqual(list(rt.LogLevel.__members__), ["Debug", "Verbose", "Info", "Warning", "Error"])
        self.assertEqual(set(rt.__all__), {name for name in vars(rt) if not name.startswith("_")})

    def test_contexts_tell_version_and_devices(self):
        self.assertEqual((rt.Context.version, self.context.version), (tuple(map(int, optima.__version__.split("."))),) * 2)
        (cpu,) = [device for device in self.context.available_devices if device.framework is rt.FrameworkKind.Native]
        self.assertEqual((cpu.kind, cpu.name, rt.is_device_cpu(cpu.kind)), (rt.DeviceKind.x64, "llvm_cpu/X64:0", True))
        self.assertEqual([f(rt.DeviceKind.Mali) for f in (rt.is_device_cpu, rt.is_device_gpu, rt.is_device_npu)], [False, True, False])
        self.assertEqual([f(rt.DeviceKind.Hexagon) for f in (rt.is_device_cpu, rt.is_device_gpu, rt.is_device_npu)], [False, False, True])

    def test_the_log_goes_to_stdout_or_a_file_from_a_level_on(self):
        path = self.folder / "runtime.log"
        self.addCleanup(rt.Context)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            quiet = rt.Context()
            logging.getLogger("optima").info("not this")
            quiet.verbosity = rt.LogLevel.Info
            logging.getLogger("optima").info("but this")
        self.assertEqual((shown.getvalue(), quiet.verbosity), ("INFO but this\n", rt.LogLevel.Info))
        context = rt.Context(verbosity=rt.LogLevel.Verbose, log_path=str(path))
        with contextlib.redirect_stdout(shown):
            request = context.load_model(self.symbols).create_request()
            request.set_inputs([np.zeros(2, np.float32), np.zeros(3, np.float32)])
            for level in (rt.LogLevel.Warning, rt.LogLevel.Error):
                context.verbosity = level
                request.infer()
                request.wait()
        self.assertEqual(shown.getvalue(), "INFO but this\n")
        self.assertRegex(path.read_text(), "^WARNING runtime: input 'z': found N = 3.*\n$")  # once
        self.assertRaises(TypeError, setattr, context, "verbosity", "loud")
        with self.assertRaisesRegex(rt.InitializationFailedException, "log_path '/nope/x' cannot be written"):
            rt.Context(log_path="/nope/x")

    def test_what_cannot_be_loaded(self):
        for wrong in ("", str(self.folder / "none"), __file__):
            self.assertRaises(ValueError, self.context.load_model, wrong)
        self.assertRaisesRegex(rt.InvalidModelException, "model.meta", self.context.load_model, str(self.folder))
        self.assertRaises(ValueError, self.context.load_extension, "")
        self.assertRaises(ValueError, self.context.load_extension, "/nope.so")
        self.assertRaises(TypeError, self.context.load_extension, 3)
        no_plugins = rt.Context()
        no_plugins._now = optima.runtime.Context(plugins=())
        self.assertRaises(rt.UnsupportedModelException, no_plugins.load_model, self.two)
        no_plugins.load_extension(str(next((BUILD / "lib/optima/plugins").glob("optima_llvm_cpu_rt.so"))))  # a file: its folder
        no_plugins.load_model(self.two)

    def test_models_tell_their_tensors(self):
        model = self.context.load_model(self.two, fallback=True)
        self.assertEqual([(i.name, i.type, i.shape, i.alignment) for i in model.input_tensors_info],
                         [("input_1", rt.ElementType.F32, (2, 3), 64), ("input_2", rt.ElementType.I64, (3,), 64)])
        self.assertEqual((model.input_tensor_info, model.output_tensor_info), (model.input_tensors_info, model.output_tensors_info))
        self.assertEqual((model.input_tensor_count, model.output_tensor_count), (2, 2))
        self.assertEqual(model.get_input_tensor_info(), model.get_input_tensor_info("input_1"))
        self.assertEqual(model.get_output_tensor_info(1).name, "twice")
        self.assertRaises(IndexError, model.get_input_tensor_info, 2)
        self.assertRaises(IndexError, model.get_output_tensor_info, -1)
        self.assertRaisesRegex(ValueError, "no output 'input_1'", model.get_output_tensor_info, "input_1")
        self.assertRaises(TypeError, model.get_input_tensor_info, 1.0)
        self.assertEqual((rt.ElementType.F32.to_dtype(), rt.get_element_size(rt.ElementType.BF16), rt.get_element_size(rt.ElementType.Q16)), (np.float32, 2, 2))

    def test_inputs_are_set_in_each_of_the_ways(self):
        request = self.request()
        for given in ([A, B], (A, B), {"input_1": A, "input_2": B}, {0: A, "input_2": B}):
            request.set_inputs([np.zeros_like(A), np.zeros_like(B)])
            request.set_inputs(given)
            request.infer()
            self.assertIs(request.wait(), False)
            for got, want in zip(request.get_outputs(), (A + B, 2 * B), strict=True):
                np.testing.assert_array_equal(got, want)
        tensor = request.get_input_tensor("input_2")
        tensor.copy_from(B + 1)
        self.assertEqual((tensor.name, tensor.shape, tensor.type, tensor.size), ("input_2", (3,), rt.ElementType.I64, 24))
        request.infer()
        request.wait()
        first = request.get_output_tensor("twice").to_numpy()
        np.testing.assert_array_equal(first, 2 * (B + 1))  # the other input is as it was
        np.testing.assert_array_equal(request.get_output_tensor().to_numpy(), A + B + 1)
        first[:] = 0  # a copy
        np.testing.assert_array_equal(request.get_output_tensor(1).to_numpy(), 2 * (B + 1))
        np.testing.assert_array_equal(request.input_tensors[0].to_numpy(), A)
        self.assertEqual((request.input_tensor_count, request.output_tensor_count, len(request.output_tensors)), (2, 2, 2))

    def test_wrong_inputs_are_python_s_own_errors(self):
        request = self.request()
        for error, wrong in ((ValueError, A), (ValueError, [A]), (ValueError, {"input_1": A}), (ValueError, {"input_1": A, "input_3": B}), (IndexError, {0: A, 2: B}),
                             (ValueError, {0: A, "input_1": A}), (TypeError, {0.5: A, 1: B}), (TypeError, [A.tolist(), B]), (TypeError, [A, B.astype(np.int32)]), (TypeError, None),
                             (TypeError, "ab"), (ValueError, [A.reshape(3, 2), B]), (ValueError, [np.asfortranarray(A), B]), (ValueError, [A.reshape((1,) * 8 + (6,)), B])):
            self.assertRaises(error, request.set_inputs, wrong)
        np.testing.assert_array_equal(request.get_input_tensor(0).to_numpy(), 0 * A)  # none was copied
        self.assertRaises(IndexError, request.get_input_tensor, 2)
        self.assertRaises(ValueError, request.get_output_tensor, "z")
        self.assertRaisesRegex(rt.InvalidOperationException, "output 'sum'", request.get_output_tensor().copy_from, A)

    def test_an_open_size_is_that_of_what_is_copied_in(self):
        request = self.request(self.open)
        x, y = request.get_input_tensor(), request.get_output_tensor()
        self.assertEqual((x.shape, y.shape, x.size), ((-1, 2), (-1, 2), 0))
        self.assertRaisesRegex(rt.InferException, "wanted copy_from first", x.to_numpy)
        for rows in (3, 1, 4):
            request.set_inputs(np.full((rows, 2), rows, np.float32))
            request.infer()
            request.wait()
            np.testing.assert_array_equal(y.to_numpy(), np.full((rows, 2), -rows, np.float32))
            self.assertEqual((x.shape, y.shape, y.size), ((rows, 2), (rows, 2), rows * 8))

    def test_wait_is_true_while_a_run_goes_on_and_takes_milliseconds(self):
        request = self.request()
        self.assertRaisesRegex(rt.InferException, "never started", request.wait)
        request.infer()
        self.assertIs(request.wait(0), False)
        self.assertIs(request.wait(100), False)  # again
        self.assertRaises(ValueError, request.wait, -1)
        self.assertRaises(TypeError, request.wait, 0.5)
        endless = self.request(self.endless)
        endless.infer()
        self.assertIs(endless.wait(1), True)
        self.assertEqual(endless.profile_data, [])
        self.assertRaises(rt.InvalidOperationException, endless.infer)
        self.assertRaises(rt.InvalidOperationException, endless.set_callback, print)
        self.assertRaises(rt.InvalidOperationException, endless.get_input_tensor().copy_from, np.zeros(2, np.float32))
        endless._now.cancel()
        with self.assertRaises(rt.InferException) as caught:
            endless.wait()
        self.assertEqual(caught.exception.code, "cancelled")
        self.assertRaises(rt.InferException, endless.get_outputs)

    def test_callbacks_get_their_data_and_start_the_next_run(self):
        request, over, seen = self.request(), threading.Event(), []

        def again(data):
            data.append(request.get_outputs()[1].tolist())
            if len(data) == 3:
                over.set()
                return
            request.get_input_tensor(1).copy_from(np.array(data[-1]))
            request.infer()
        request.set_inputs([A, B])
        request.set_callback(again, seen)
        request.infer()
        self.assertTrue(over.wait(60))
        self.assertIs(request.wait(), False)
        self.assertEqual(seen, [[20, 40, 60], [40, 80, 120], [80, 160, 240]])
        request.set_callback(lambda: seen.append("none"))
        request.infer()
        request.wait()
        self.assertEqual(seen[-1], "none")

    def test_the_callback_of_a_run_that_failed_is_not_called(self):
        request, seen = self.request(self.endless), []
        request.set_callback(seen.append)
        request.infer()
        request._now.cancel()
        self.assertRaises(rt.InferException, request.wait)
        self.assertEqual(seen, [])

    def test_profiles_are_of_the_last_run(self):
        request = self.request()
        self.assertEqual(request.profile_data, [])
        for _ in range(3):
            request.infer()
            request.wait()
        got = request.profile_data
        self.assertEqual([data.kind for data in got].count(rt.ProfileKind.ModelExecute), 1)
        self.assertIn(rt.ProfileKind.LayerExecute, [data.kind for data in got])
        self.assertTrue(all(type(data.time) is int and data.time >= 0 and isinstance(data.name, str) for data in got))
        self.assertEqual(request.profile_data, got)
        self.assertIn("ModelExecute", str(got))

    def test_requests_are_let_go_of(self):
        request = self.request()
        request.set_callback(lambda: request)
        request.infer()
        request.wait()
        gone = weakref.ref(request)
        del request
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
