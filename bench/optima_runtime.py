# SPDX-License-Identifier: Apache-2.0
"""The runtime's C API through ctypes, as far as the benchmarks need it."""
import ctypes as c

import numpy as np


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("code", c.c_int32), ("text", c.c_char * 504)]


class Tensor(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_int32), ("name", c.c_char_p), ("shape", c.POINTER(c.c_int64)),
                ("data", c.c_void_p), ("size", c.c_uint64), ("rank", c.c_int32), ("reserved", c.c_uint32)]


class ContextOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("workers", c.c_uint32), ("plugin_folders", c.POINTER(c.c_char_p)), ("settings", c.c_void_p),
                ("plugin_folder_count", c.c_uint32), ("setting_count", c.c_uint32), ("log", c.c_void_p), ("log_data", c.c_void_p),
                ("log_level", c.c_int32), ("flags", c.c_uint32)]


class LoadOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32), ("threads", c.c_int64), ("cache_folder", c.c_char_p)]


DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}


class Runtime:
    """One process-wide library and context."""

    def __init__(self, build):
        self.library = c.CDLL(f"{build}/lib/liboptima_runtime.so")
        self.error = Error(struct_size=c.sizeof(Error))
        folders = (c.c_char_p * 1)(f"{build}/lib/optima/plugins".encode())
        options = ContextOptions(struct_size=c.sizeof(ContextOptions), plugin_folders=folders, plugin_folder_count=1)
        self.context = c.c_void_p()
        self.check(self.library.optima_rt_context_create(c.byref(options), c.byref(self.context), c.byref(self.error)))

    def check(self, code):
        if code:
            raise RuntimeError(self.error.text.decode())


class Model:
    """A package with one request; inputs are a dict of arrays."""

    def __init__(self, runtime, package, threads, inputs):
        self.runtime, library, error = runtime, runtime.library, c.byref(runtime.error)
        options = LoadOptions(struct_size=c.sizeof(LoadOptions), threads=threads)
        self.model, self.request = c.c_void_p(), c.c_void_p()
        runtime.check(library.optima_rt_model_load(runtime.context, str(package).encode(), c.byref(options), c.byref(self.model), error))
        runtime.check(library.optima_rt_request_create(self.model, c.byref(self.request), error))
        self.outputs = library.optima_rt_model_output_count(self.model)
        self.set_inputs(inputs)

    def set_inputs(self, inputs):
        """The arrays stay in use until they are replaced."""
        runtime, library, error = self.runtime, self.runtime.library, c.byref(self.runtime.error)
        self.keep = []
        for name, array in inputs.items():
            index = c.c_uint32()
            runtime.check(library.optima_rt_model_find_input(self.model, name.encode(), c.byref(index), error))
            array = np.asarray(array, order="C")
            shape = (c.c_int64 * array.ndim)(*array.shape)
            dtype = next(k for k, v in DTYPES.items() if v == array.dtype)
            tensor = Tensor(struct_size=c.sizeof(Tensor), dtype=dtype, shape=shape, data=array.ctypes.data, size=array.nbytes, rank=array.ndim)
            runtime.check(library.optima_rt_request_set_input(self.request, index, c.byref(tensor), error))
            self.keep += [array, shape]

    def run(self):
        self.runtime.check(self.runtime.library.optima_rt_request_run(self.request, c.byref(self.runtime.error)))

    def output(self, index):
        t = Tensor(struct_size=c.sizeof(Tensor))
        self.runtime.check(self.runtime.library.optima_rt_request_output(self.request, index, c.byref(t), c.byref(self.runtime.error)))
        bytes_ = (c.c_byte * t.size).from_address(t.data) if t.size else b""
        return np.frombuffer(bytes_, DTYPES[t.dtype]).reshape([t.shape[i] for i in range(t.rank)]).copy()
