# SPDX-License-Identifier: Apache-2.0
"""Makes the DLC of a model with onnxruntime-qnn, and says what others than our reader know of it.
Usage: tools_say.py dlc MODEL.onnx FILE.dlc   makes it
       tools_say.py ports FILE.dlc            one line per input and output, by libQnnSystem.so: role, type, dims, scale, offset, name
       tools_say.py codings MODEL.onnx        one line per quantized tensor of the model: axis, zero points, scales (comma between), name
Functions of libQnnSystem.so are taken by their places in QNN_SYSTEM_INTERFACE_VER_TYPE of the public header System/QnnSystemInterface.h, version 1."""
import ctypes
import glob
import os
import shutil
import sys
import tempfile

CREATE_FROM_FILE, FREE, GRAPHS, INPUT_COUNT, OUTPUT_COUNT, INPUT, OUTPUT = 8, 12, 27, 32, 33, 34, 35
NAME, DATA_TYPE, RANK, DIMS, QUANTIZATION, IS_DEFINED, ENCODING, SCALE, OFFSET = 36, 40, 41, 42, 43, 44, 45, 46, 47
DEFINED = 1


def make(model, target):
    import onnxruntime
    import onnxruntime_qnn
    target = os.path.abspath(target)
    onnxruntime.register_execution_provider_library("QNNExecutionProvider", onnxruntime_qnn.get_library_path())
    devices = [d for d in onnxruntime.get_ep_devices() if "QNN" in d.ep_name][:1]
    library = onnxruntime_qnn.LIB_DIR_FULL_PATH + "/libQnnIr.so"
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        options.add_provider_for_devices(devices, {"backend_path": library, "qnn_ir_backend_path": library, "dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": folder})
        os.chdir(os.path.dirname(os.path.abspath(model)))
        onnxruntime.InferenceSession(os.path.basename(model), options)
        (made,) = glob.glob(folder + "/*.dlc")
        shutil.copyfile(made, target)


class System:
    """The functions of libQnnSystem.so by their places."""

    def __init__(self):
        import onnxruntime_qnn
        library = ctypes.CDLL(onnxruntime_qnn.LIB_DIR_FULL_PATH + "/libQnnSystem.so")
        providers, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_uint32()
        self.check(library.QnnSystemInterface_getProviders(ctypes.byref(providers), ctypes.byref(count)))
        self.functions = (ctypes.c_void_p * 64).from_address(providers[0] + 32)  # behind an id, a name and three numbers of its version

    @staticmethod
    def check(code):
        if code != 0:
            sys.exit(f"libQnnSystem.so answers {code:#x}")

    def call(self, place, *arguments):
        self.check(ctypes.CFUNCTYPE(ctypes.c_uint64, *[type(a) if isinstance(a, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32)) else ctypes.c_void_p for a in arguments])(
            self.functions[place])(*[a if isinstance(a, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32)) else ctypes.cast(a, ctypes.c_void_p) for a in arguments]))

    def get(self, kind, place, handle, *more):
        out = kind()
        self.call(place, handle, *more, ctypes.pointer(out))
        return out


def tensor_line(system, role, tensor):
    name = system.get(ctypes.c_char_p, NAME, tensor).value.decode()
    dims = (ctypes.c_uint32 * max(1, system.get(ctypes.c_uint32, RANK, tensor).value))()
    system.call(DIMS, tensor, ctypes.pointer(dims))
    quantization = system.get(ctypes.c_void_p, QUANTIZATION, tensor)
    scale, offset = 0.0, 0
    if system.get(ctypes.c_uint32, IS_DEFINED, quantization).value == DEFINED and system.get(ctypes.c_uint32, ENCODING, quantization).value == 0:
        scale, offset = system.get(ctypes.c_float, SCALE, quantization).value, system.get(ctypes.c_int32, OFFSET, quantization).value
    return f"{role} {system.get(ctypes.c_uint32, DATA_TYPE, tensor).value} {'x'.join(map(str, dims))} {scale!r} {offset} {name}"


def ports(path):
    system = System()
    dlc, handles, count = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_uint32()
    system.call(CREATE_FROM_FILE, ctypes.c_void_p(), ctypes.c_char_p(path.encode()), ctypes.pointer(dlc))
    system.call(GRAPHS, dlc, ctypes.pointer(handles), ctypes.pointer(count))
    for k in range(count.value):
        graph = ctypes.c_void_p(handles[k])
        for role, how_many, one in ((0, INPUT_COUNT, INPUT), (1, OUTPUT_COUNT, OUTPUT)):
            for n in range(system.get(ctypes.c_uint32, how_many, graph).value):
                print(tensor_line(system, role, system.get(ctypes.c_void_p, one, graph, ctypes.c_uint32(n))))
    system.call(FREE, dlc)


def codings(path):
    import numpy
    import onnx
    model = onnx.load(path, load_external_data=True)
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    said = {}
    for node in model.graph.node:
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear") or node.input[1] not in constants:
            continue
        scales = constants[node.input[1]].reshape(-1)
        zeros = constants[node.input[2]].reshape(-1) if len(node.input) > 2 else numpy.zeros(len(scales), "int32")
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1) if len(scales) > 1 else -1
        name = node.input[0] if node.op_type == "DequantizeLinear" else node.output[0]
        said[name] = f"{axis} {','.join(str(int(z)) for z in zeros)} {','.join(repr(float(s)) for s in scales)} {name}"
    print("\n".join(said.values()))


if __name__ == "__main__":
    {"dlc": make, "ports": ports, "codings": codings}[sys.argv[1]](*sys.argv[2:])
