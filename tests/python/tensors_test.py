#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors between Python's arrays and the runtime: every type, no copies, and what is refused."""
import gc
import os
import unittest
import weakref

from support import HEAD, PackageTest

import ml_dtypes
import numpy as np
import torch

import optima
from optima.runtime import Context, ElementType, Tensor

NUMPY = "float32 uint8 int8 uint16 int16 int32 int64 bool float16 float64 uint32 uint64 complex64 complex128".split()
BEYOND = "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
PACKED = "uint4 int4 uint2 int2 float4_e2m1fn".split()
TEXT = {"float32": "float", "float64": "double", "float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz", "float8_e5m2": "float8e5m2",
        "float8_e5m2fnuz": "float8e5m2fnuz"}


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name)) if name in BEYOND + PACKED else np.dtype(name)


def some(name, shape=(3, 5)):
    codes = np.random.default_rng(len(name)).integers(0, 256, shape + (dtype_of(name).itemsize,), np.uint8)
    bits = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}.get(name)
    if name == "bool":
        codes &= 1
    if name in ("float4_e2m1fn",):
        return (codes & 15).view(dtype_of(name)).reshape(shape)
    if bits:
        signed = name.startswith("i")
        return (codes[..., 0] % (1 << bits)).astype(np.int16).__sub__((1 << bits - 1) if signed else 0).astype(np.int8 if signed else np.uint8).astype(dtype_of(name))
    return codes.view(dtype_of(name)).reshape(shape)


def bits_of(array):
    return np.ascontiguousarray(array).view(np.uint8).tolist()


def address(array):
    return array.__array_interface__["data"][0]


class Interface:
    """Shows an array by __array_interface__ alone."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class Tensors(unittest.TestCase):
    def test_its_own_bytes_are_zeroed_and_aligned(self):
        for name in NUMPY + BEYOND:
            tensor = Tensor(name, (3, 5))
            self.assertEqual((tensor.dtype, tensor.shape, tensor.address % 64, tensor.nbytes), (name, (3, 5), 0, 15 * dtype_of(name).itemsize))
            self.assertFalse(np.asarray(tensor.numpy()).view(np.uint8).any())
        self.assertEqual(Tensor(np.float32, ()).numpy().shape, ())
        self.assertEqual(Tensor(ElementType.Int4, [3]).nbytes, 2)
        self.assertEqual(Tensor("float32", (0, 4)).numpy().shape, (0, 4))

    def test_numpy_arrays_of_every_type_are_seen_in_place(self):
        for name in NUMPY + BEYOND:
            array = some(name)
            tensor = Tensor.of(array)
            self.assertEqual((tensor.dtype, tensor.shape, tensor.address), (name, (3, 5), address(array)))
            back = tensor.numpy()
            self.assertEqual((back.dtype, address(back)), (dtype_of(name), address(array)))
            self.assertEqual(bits_of(back), bits_of(array), name)

    def test_packed_types_are_packed_low_bits_first(self):
        for name in PACKED:
            array = some(name)
            tensor = Tensor.of(array)
            self.assertEqual((tensor.dtype, tensor.shape), (name, (3, 5)))
            self.assertEqual(bits_of(tensor.numpy()), bits_of(array), name)
        self.assertEqual(list(Tensor.of(np.array([1, -2, 3], ml_dtypes.int4)).get_buffer()), [0xE1, 0x03])

    def test_torch_tensors_share_their_bytes_both_ways(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.bool, torch.float64, torch.complex64):
            theirs = torch.ones(2, 3).to(dtype)
            tensor = Tensor.of(theirs)
            self.assertEqual((tensor.address, tensor.shape), (theirs.data_ptr(), (2, 3)))
            back = torch.from_dlpack(tensor)
            self.assertEqual((back.data_ptr(), back.dtype), (theirs.data_ptr(), dtype))
        own = Tensor("float32", (4,))
        view = torch.from_dlpack(own)
        view[2] = 7
        self.assertEqual(own.numpy().tolist(), [0, 0, 7, 0])
        self.assertEqual(address(np.from_dlpack(own)), own.address)
        self.assertEqual(address(np.asarray(own)), own.address)

    def test_what_has_an_array_interface_alone_shares_its_bytes_both_ways(self):
        array = some("float32")
        tensor = Tensor.of(Interface(array))
        self.assertEqual((tensor.address, tensor.dtype, tensor.shape), (address(array), "float32", (3, 5)))
        tensor.getBuffer()[:4] = np.float32(7).tobytes()
        self.assertEqual(array[0, 0], 7)
        self.assertEqual(address(np.asarray(Interface(tensor))), tensor.address)
        self.assertTrue(Tensor.of(Interface(frozen(array.copy()))).get_buffer().readonly)
        there = np.zeros_like(array)
        tensor.copy_to(Interface(there))
        self.assertEqual(bits_of(there), bits_of(array))
        self.fails("has gaps", Tensor.of, Interface(array[:, ::2]))
        self.fails("may not be written to", tensor.copy_to, Interface(frozen(there)))
        gone = weakref.ref(array)
        del array
        gc.collect()
        self.assertIsNotNone(gone())
        del tensor
        gc.collect()
        self.assertIsNone(gone())
        broken = type("Broken", (), {"__array_interface__": {"version": 3}})()
        for call in (Tensor.of, Tensor("float32", (2,)).copy_to):
            self.fails("an array of ", call, broken)

    def test_views_keep_the_bytes(self):
        array = some("float32")
        want, gone = array.copy(), weakref.ref(array)
        tensor = Tensor.of(array)
        views = [tensor.numpy(), torch.from_dlpack(tensor), memoryview(tensor.get_buffer())]
        del array, tensor
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertTrue(bits_of(views[0]) == bits_of(views[1].numpy()) == bits_of(want))
        self.assertEqual(bytes(views[2]), want.tobytes())
        del views
        gc.collect()
        self.assertIsNone(gone())

    def test_copies_in_and_out_want_one_type_and_shape(self):
        tensor = Tensor("int16", (2, 2))
        tensor.copyFrom(np.int16([[1, 2], [3, 4]]))
        out = np.zeros((2, 2), np.int16)
        tensor.copyTo(out)
        self.assertEqual(out.tolist(), [[1, 2], [3, 4]])
        there = torch.zeros(2, 2, dtype=torch.int16)
        tensor.copy_to(there)
        self.assertEqual(there.tolist(), [[1, 2], [3, 4]])
        tensor.getBuffer()[0] = 9
        self.assertEqual(tensor.numpy()[0, 0], 9)
        self.fails("found int32 of shape 2x2, wanted int16 of shape 2x2", tensor.copy_from, np.zeros((2, 2), np.int32))
        self.fails("found int16 of shape 4, wanted int16 of shape 2x2", tensor.copy_from, np.zeros(4, np.int16))
        self.fails("may not be written to", tensor.copy_to, frozen(np.zeros((2, 2), np.int16)))

    def test_what_cannot_be_written_is_not(self):
        array = frozen(some("float32"))
        tensor = Tensor.of(array)
        self.assertEqual(tensor.address, address(array))
        self.assertFalse(tensor.numpy().flags.writeable)
        self.assertTrue(tensor.get_buffer().readonly)
        with self.assertRaises(optima.Error):
            tensor.copy_from(np.zeros_like(array))

    def test_other_layouts_are_refused_or_copied(self):
        wide = some("float32", (4, 6))
        self.fails("has gaps or another order than row-major", Tensor.of, wide[:, ::2])
        self.fails("has gaps", Tensor.of, wide.T)
        column = wide[:, :1][:1]  # one element: any stride is dense
        self.assertEqual(Tensor.of(column).address, address(column))

    def test_bad_types_and_shapes_are_one_sentence(self):
        self.fails("element type 'float31' is unknown, wanted one of float32, ", Tensor, "float31", (2,))
        self.fails("has no size", Tensor, "float32", (-1,))
        self.fails("has no size", Tensor, "float32", (1 << 40, 1 << 40))
        if "ASAN_OPTIONS" not in os.environ:  # whose allocator ends the process
            self.fails("is larger than this machine's memory", Tensor, "float32", (1 << 45,))
        self.fails("wanted sizes", Tensor, "float32", (1 << 70,))
        self.fails("shape is 3, wanted sizes", Tensor, "float32", 3)
        self.fails("shape is (2.5,), wanted sizes", Tensor, "float32", (2.5,))
        self.fails("has no size", Tensor, ElementType.String, (1,))
        self.fails("an array has elements of object, wanted one of", Tensor.of, np.array([object()]))
        self.fails("wanted an array", Tensor.of, [1.0])
        self.fails("an array has elements of datetime64[s], wanted one of", Tensor.of, np.zeros(2, "M8[s]"))
        self.fails("of this machine's byte order", Tensor.of, np.zeros(2, ">f4"))

    def fails(self, sentence, call, *args):
        with self.assertRaises(optima.Error) as raised:
            call(*args)
        self.assertIn(sentence, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))


class Inputs(PackageTest):
    """Arrays as inputs and outputs of runs."""

    def test_every_type_goes_through_a_run(self):
        names = [n for n in NUMPY + BEYOND + PACKED if n not in ("float8_e8m0fnu", "uint2", "int2")]  # those the model text has no word for
        words = [TEXT.get(n, n.replace("float4_e2m1fn", "float4e2m1")) for n in names]
        takes = ", ".join(f"{w}[3, 5] x{i}" for i, w in enumerate(words))
        gives = ", ".join(f"{w}[3, 5] x{i}" for i, w in enumerate(words))
        text = HEAD.replace("21", "23") .replace("10", "11") + f"g ({takes}, float[2] a) => ({gives}, float[2] b) {{ b = Neg(a) }}"
        model = Context().load_model(self.package(text, "--device", "X64:0", name="types"))
        self.assertEqual([i.dtype for i in model.inputs], names + ["float32"])
        given = {f"x{i}": some(n) for i, n in enumerate(names)}
        got = model.run(given, a=[1, 2])
        self.assertEqual(got["b"].tolist(), [-1, -2])
        for i, name in enumerate(names):
            self.assertEqual((got[f"x{i}"].dtype, bits_of(got[f"x{i}"])), (dtype_of(name), bits_of(given[f"x{i}"])), name)

    def test_inputs_of_other_layouts_and_libraries_give_the_same(self):
        model = Context().load_model(self.package(HEAD + "g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }", "--device", "X64:0", name="neg"))
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        wide = np.zeros((2, 6), np.float32)
        wide[:, ::2] = x
        for form in (x, np.asfortranarray(x), wide[:, ::2], x.astype(">f4"), frozen(x), torch.tensor(x), torch.tensor(wide)[:, ::2], x.tolist(), Tensor.of(x)):
            self.assertEqual(model.run(x=form)["y"].tolist(), (-x).tolist(), type(form))
        for bad, sentence in ((x.astype(np.float64), "input 'x': found type float64, wanted float32"), (x[0], "input 'x': found shape 3, wanted 2x3"),
                              ("text", "wanted an array"), ([[1, 2], [3]], "wanted an array"), (None, "wanted an array")):
            self.fails("invalid_input", sentence, model.run, x=bad)
        self.fails("invalid_input", "there is no input 'z', wanted one of 'x'", model.run, z=x)
        self.fails("invalid_input", "input 'x' is not set", model.run)
        self.fails("usage", "input 'x' is given twice", model.run, {"x": x}, x=x)

    def test_outputs_stay_what_they_were(self):
        model = Context().load_model(self.package(HEAD + "g (float[4] x) => (float[4] y) { y = Neg(x) }", "--device", "X64:0", name="stay"))
        request = model.create_request()
        first = request.run({"x": np.float32([1, 2, 3, 4])})["y"]
        second = request.run({"x": np.float32([5, 6, 7, 8])})["y"]
        kept = request.get_output("y")
        del request, model
        gc.collect()
        self.assertEqual((first.tolist(), second.tolist(), kept.numpy().tolist()), ([-1, -2, -3, -4], [-5, -6, -7, -8], [-5, -6, -7, -8]))

    def test_an_output_is_written_where_the_caller_says(self):
        model = Context().load_model(self.package(HEAD + "g (float[4] x) => (float[4] y) { y = Neg(x) }", "--device", "X64:0", name="bound"))
        request = model.createRequest()
        mine = np.zeros(4, np.float32)
        request.setOutputTensor("y", mine)
        request.setInputTensor("x", np.float32([1, 2, 3, 4]))
        request.infer()
        self.assertTrue(request.wait())
        self.assertEqual(mine.tolist(), [-1, -2, -3, -4])
        self.assertEqual(request.getOutputTensor("y").address, address(mine))
        self.fails("invalid_input", "wanted", request.set_output, "y", np.zeros(3, np.float32))
        self.fails("invalid_input", "may not be written to", request.set_output, "y", frozen(np.zeros(4, np.float32)))
        ours = request.getInputTensor("x")
        ours.copyFrom(np.float32([4, 3, 2, 1]))
        request.run()
        self.assertEqual(mine.tolist(), [-4, -3, -2, -1])

    def test_an_output_has_the_type_and_shape_of_what_it_is_set_to(self):
        model = Context().load_model(self.package(HEAD + "g (float[2,2] x) => (float[2,2] y) { y = Neg(x) }", "--device", "REF:0", name="fixed"))
        request = model.create_request()
        for array, found in ((np.zeros((3, 2), np.float32), "an array of shape 3x2, wanted 2x2"), (np.zeros(4, np.float32), "an array of shape 4, wanted 2x2"),
                             (np.zeros((2, 2)), "an array of float64, wanted float32"), (Tensor("int32", (2, 2)), "an array of int32, wanted float32")):
            self.fails("invalid_input", f"output 'y': found {found}", request.set_output, "y", array)

    def test_an_output_whose_shape_a_run_finds_to_be_another(self):
        model = Context().load_model(self.package(HEAD + "g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }", "--device", "REF:0", name="open"))
        request, two, three = model.create_request(), np.ones((2, 2), np.float32), np.ones((3, 2), np.float32)
        self.fails("invalid_input", "output 'y': found an array of shape 3x3, wanted ?x2", request.set_output, "y", np.zeros((3, 3), np.float32))
        mine, sentence = np.zeros((3, 2), np.float32), "output 'y': the run gave shape 2x2, and an array of shape 3x2 is set for it, wanted one shape"
        request.set_output("y", mine)
        self.fails("invalid_input", sentence, request.run, {"x": two})
        told = []
        request.set_callback(told.append)
        self.fails("invalid_input", sentence, request.start({"x": two}).wait)
        self.assertEqual([str(error) for error in told], [sentence])
        self.assertTrue((request.run({"x": three})["y"] == -three).all() and (mine == -three).all())
        self.assertTrue(request.start({"x": three}).wait())
        self.assertIsNone(told[1])
        smaller = np.zeros((2, 2), np.float32)
        request.set_output("y", smaller)
        self.fails("invalid_input", "found a bound buffer of 16 bytes, wanted 24", request.run, {"x": three})
        self.assertEqual(request.run({"x": two})["y"].tolist(), (-two).tolist())

    def test_bytes_of_an_input_or_of_another_output_are_no_place_for_an_output(self):
        text = HEAD + "g (float[4] x) => (float[4] y, float[4] z) { y = Neg(x)  z = Abs(x) }"
        request = Context().load_model(self.package(text, "--device", "REF:0", name="places")).create_request()
        room = np.float32([1, -2, 3, -4, 0, 0, 0, 0, 0, 0])
        request.set_output("z", room[:4])
        self.fails("usage", "output 'z' is bound to bytes of input 'x', wanted bytes of its own", request.run, {"x": room[:4]})
        self.fails("usage", "output 'z' is bound to bytes of input 'x'", request.start({"x": room[3:7]}).wait)
        request.set_output("z", room[4:8])
        request.set_output("y", room[6:10])
        self.fails("usage", "output 'z' is bound to bytes of output 'y', wanted bytes of its own", request.run, {"x": room[:4]})
        self.assertEqual(room.tolist(), [1, -2, 3, -4, 0, 0, 0, 0, 0, 0])
        request.set_output("y", np.zeros(4, np.float32))
        answers = request.run({"x": room[:4]})
        self.assertEqual((answers["y"].tolist(), room[4:8].tolist()), ([-1, 2, -3, 4], [1, 2, 3, 4]))
        request.set_output("y", room[:4])  # and now the other way round
        self.assertEqual(request.run({"x": answers["y"]})["y"].tolist(), [1, -2, 3, -4])

    def test_sizes_that_only_a_run_knows(self):
        model = Context().load_model(self.package(HEAD + "g (float[N] x) => (float[N] y) { y = Neg(x) }", "--device", "REF:0", name="dynamic"))
        self.assertEqual((model.inputs[0].shape, model.inputs[0].symbols), ((-1,), ["N"]))
        request = model.create_request()
        answers = [request.run({"x": np.arange(n, dtype=np.float32)})["y"] for n in (3, 100, 0, 7)]
        self.assertEqual([a.tolist() for a in answers], [[-float(i) for i in range(n)] for n in (3, 100, 0, 7)])
        self.fails("usage", "known only when running", request.get_input, "x")


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


if __name__ == "__main__":
    unittest.main()
