# SPDX-License-Identifier: Apache-2.0
"""Makes and runs what the stand-ins of Qualcomm's SDK (stand_in.py, ../snpe_run/stand_in_snpe.cpp) are asked for in files of the true form, with
the public wheels onnxruntime and onnxruntime-qnn: the SDK itself cannot be had without an account. DLCs are libQnnIr.so's, contexts
libQnnHtp.so's, and both are run on the emulator. No wheel takes a DLC back in, so a DLC holds a part more that says what it was made of.

Usage: true_form.py TOOL FLAGS-AS-JSON ROOT   what one of the SDK's programs does; ROOT/layout says "last" for a converter that lays pictures out with
                                              channels last whatever it is told, "other" for one whose outputs have other names
       true_form.py ports DLC                 as ../snpe_dlc/tools_say.py
       true_form.py run DLC RUNTIME FOLDER    FOLDER/NAME.in of each input, dense and of the network's type, to FOLDER/NAME.out; RUNTIME: dsp, gpu, cpu"""
import contextlib
import io
import json
import os
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE + "/../../../plugins/snpe/driver", HERE + "/../snpe_dlc"]
import numpy  # noqa: E402
import onnx  # noqa: E402
import optima_snpe_driver as wheels  # noqa: E402
import tools_say  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

MODEL, OVERRIDES, CONTEXT = "stand-in/model.onnx", "stand-in/overrides.json", "stand-in/context"
CHIPS = {"sm8550": ("43", "73"), "sm8650": ("57", "75")}
TYPES = {0x232: "float32", 0x216: "float16", 0x408: "uint8", 0x308: "int8", 0x416: "uint16", 0x32: "int32", 0x64: "int64", 0x108: "uint8", 0x508: "bool"}


def parts(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist() if name.startswith("stand-in/")}


def add_parts(path, more):
    with zipfile.ZipFile(path, "a") as file:
        for name, content in more.items():
            file.writestr(zipfile.ZipInfo(name), content)  # of no time


def dlc_of(model, target, more):
    """The DLC of a model, with what it was made of."""
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, folder + "/model.onnx")
        (made,) = wheels.dlc(wheels.Tools(), folder, *CHIPS["sm8550"], "fp16", folder, folder, "")
        os.rename(made, target)
    add_parts(target, {MODEL: model.SerializeToString(), **more})


def of_rank_4(ports):
    return [p for p in ports if len(p.type.tensor_type.shape.dim) == 4]


def turn(port):
    d = port.type.tensor_type.shape.dim
    sizes = [d[k].dim_value for k in (0, 2, 3, 1)]
    for k, size in enumerate(sizes):
        d[k].dim_value = size


def channels_last(model):
    """Inputs and outputs of four dims as [N, H, W, C]."""
    graph = model.graph
    for port in of_rank_4(graph.input):
        for node in graph.node:
            node.input[:] = [port.name + "_first" if name == port.name else name for name in node.input]
        graph.node.insert(0, helper.make_node("Transpose", [port.name], [port.name + "_first"], perm=[0, 3, 1, 2]))
        turn(port)
    for port in of_rank_4(graph.output):
        for node in graph.node:
            for names in (node.input, node.output):
                names[:] = [port.name + "_first" if name == port.name else name for name in names]
        graph.node.append(helper.make_node("Transpose", [port.name + "_first"], [port.name], perm=[0, 2, 3, 1]))
        turn(port)
    return model


def with_other_outputs(model):
    for port in model.graph.output:
        model.graph.node.append(helper.make_node("Relu", [port.name], [port.name + "_other"]))
        port.name += "_other"
    return model


def in_halves(model):
    from onnxruntime.transformers import float16

    return float16.convert_float_to_float16(model)


def convert(given, root):
    model = onnx.load(given["--input_network"][0])
    layout = open(root + "/layout").read() if os.path.exists(root + "/layout") else ""
    if layout == "last":
        model = channels_last(model)
    if layout == "other":
        model = with_other_outputs(model)
    overrides = given.get("--quantization_overrides")
    more = {OVERRIDES: open(overrides[0]).read()} if overrides else {}
    if given.get("--float_bitwidth") == ["16"] and not overrides:
        model = in_halves(model)
    dlc_of(model, given["--output_path"][0], more)


def samples(path, model):
    """What the input_list says, as feeds; its files are dense float32 in the layout of the DLC."""
    shapes = {p.name: [d.dim_value for d in p.type.tensor_type.shape.dim] for p in model.graph.input}
    for line in open(path).read().splitlines():
        words = [word.split(":=") if ":=" in word else [model.graph.input[0].name, word] for word in line.split()]
        yield {name: numpy.fromfile(file, "float32").reshape(shapes[name]) for name, file in words}


def ranges(model, path):
    """Least and greatest of every float value over the samples."""
    import onnxruntime

    tapped = onnx.shape_inference.infer_shapes(model)
    names = [v.name for v in tapped.graph.value_info if v.type.tensor_type.elem_type == TensorProto.FLOAT]
    tapped.graph.output.extend(v for v in tapped.graph.value_info if v.name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(tapped.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = {}
    for feed in samples(path, model):
        values = {**feed, **dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))}
        for name, value in values.items():
            low, high = found.get(name, (0.0, 0.0))
            found[name] = (min(low, float(value.min())), max(high, float(value.max())))
    return found


def codings(model, overrides, found):
    """By value (scale, zero point): the encodings given, else those of the ranges, as 80-63442-2 makes them."""
    out = {}
    for name, (low, high) in found.items():
        step = max(high - low, 1e-4) / 255
        out[name] = (step, round(-low / step))
    for name, (e, *_) in overrides["activation_encodings"].items():
        out[name] = (e["scale"], int(-e["offset"]))
    return out


class Coder:
    """Codes in a float model: every value that has a coding goes through it, weights that have encodings are codes."""

    def __init__(self, model, overrides, found, codes_outside):
        self.graph = model.graph
        self.codings = codings(model, overrides, found)
        self.borders = {p.name for p in list(model.graph.input) + list(model.graph.output)} if codes_outside else set()
        self.nodes, self.parameters = [], overrides["param_encodings"]

    def constant(self, name, value):
        self.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        return name

    def coded_weight(self, tensor):
        encodings = self.parameters[tensor.name]
        scales, value = numpy.array([e["scale"] for e in encodings], "float32"), onnx.numpy_helper.to_array(tensor)
        shape = [-1] + [1] * (value.ndim - 1) if len(scales) > 1 else [1] * value.ndim
        codes = numpy.clip(numpy.round(value / scales.reshape(shape)), -128, 127).astype("int8")
        name = tensor.name
        self.graph.initializer.remove(tensor)
        more = [self.constant(name + "_s", scales if len(scales) > 1 else scales[0]), self.constant(name + "_z", numpy.zeros_like(scales, "int8") if len(scales) > 1 else numpy.int8(0))]
        self.nodes.append(helper.make_node("DequantizeLinear", [self.constant(name + "_q", codes)] + more, [name], axis=0))

    def pair(self, name):
        """Its name with codes behind it."""
        scale, zero = self.codings[name]
        more = [self.constant(name + "_s", numpy.float32(scale)), self.constant(name + "_z", numpy.uint8(zero))]
        return helper.make_node("QuantizeLinear", [name] + more, [name + "_q"]), helper.make_node("DequantizeLinear", [name + "_q"] + more, [name + "_d"])

    def __call__(self, model):
        for tensor in list(self.graph.initializer):
            if tensor.name in self.parameters:
                self.coded_weight(tensor)
        made = [p.name for p in model.graph.input] + [o for node in self.graph.node for o in node.output]
        nodes = list(self.graph.node)
        behind = {name: self.pair(name) for name in made if name in self.codings}
        outputs = {p.name for p in model.graph.output}
        before, after = self.nodes, []
        for node in nodes:
            node.input[:] = [name + "_d" if name in behind else name for name in node.input]
            node.output[:] = [name + "_f" if name in behind and name in outputs else name for name in node.output]
        for name, (q, d) in behind.items():
            if name in outputs:
                q.input[0] = name + "_f"
                (q if name in self.borders else d).output[0] = name
                after += [q] if name in self.borders else [q, d]
            elif name in self.borders:
                d.input[0] = name
                before.append(d)
            else:
                after += [q, d]
        for port in list(model.graph.input) + list(model.graph.output):
            if port.name in self.borders and port.name in behind:
                port.type.tensor_type.elem_type = TensorProto.UINT8
        del self.graph.node[:]
        self.graph.node.extend(in_order(before + nodes + after, {p.name for p in model.graph.input} | {t.name for t in self.graph.initializer}))
        return model


def in_order(nodes, known):
    out = []
    while nodes:
        ready = [n for n in nodes if all(not name or name in known for name in n.input)]
        out += ready
        known |= {o for n in ready for o in n.output}
        nodes = [n for n in nodes if all(n is not r for r in ready)]
    return out


def quantize(given, keeps_floats):
    held = parts(given["--input_dlc"][0])
    model = onnx.ModelProto.FromString(held[MODEL])
    overrides = json.loads(held.get(OVERRIDES, '{"activation_encodings": {}, "param_encodings": {}}'))
    found = ranges(model, given["--input_list"][0]) if "--input_list" in given else {}
    dlc_of(Coder(model, overrides, found, not keeps_floats)(model), given["--output_dlc"][0], {})


def prepare(given):
    """The DLC with a context for each chip."""
    source, target = given["--input_dlc"][0], given["--output_dlc"][0]
    held = parts(source)
    soc, arch = CHIPS[given["--htp_socs"][0]]
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/model.onnx", "wb") as file:
            file.write(held[MODEL])
        binary, wrapper = wheels.context(wheels.Tools(), folder, soc, arch, "fp16", folder, folder, "")
        made = {CONTEXT + "_qnn.bin": open(binary, "rb").read(), CONTEXT + ".onnx": open(wrapper, "rb").read(), CONTEXT + ".chip": f"{soc} {arch}"}
    with open(source, "rb") as old, open(target, "wb") as new:
        new.write(old.read())
    add_parts(target, made)


def ports(path):
    """[(is output, type, dims, scale, offset, name)] by libQnnSystem.so."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        tools_say.ports(path)
    rows = [line.split(" ", 5) for line in text.getvalue().splitlines()]
    return [(role == "1", int(kind), dims.replace("x", ","), scale, offset, name) for role, kind, dims, scale, offset, name in rows]


def info(path):
    for output, title in ((False, "Input Name"), (True, "Output Name")):
        print(f"| {title} | Dimensions | Type | Encoding Info |")
        for is_output, kind, dims, _, _, name in ports(path):
            if is_output == output:
                print(f"| {name} | {dims} | {TYPES[kind]} | No encoding info |")


def run(path, runtime, folder):
    tools, held = wheels.Tools(), parts(path)
    feeds = {}
    for is_output, kind, dims, _, _, name in ports(path):
        if not is_output:
            feeds[name] = numpy.fromfile(f"{folder}/{name}.in", TYPES[kind]).reshape([int(d) for d in dims.split(",")])
    os.chdir(folder)
    if runtime != "dsp":
        session = tools.ort.InferenceSession(held[MODEL], providers=["CPUExecutionProvider"])
    elif CONTEXT + ".onnx" in held:
        for end in (".onnx", "_qnn.bin"):
            open("context" + end, "wb").write(held[CONTEXT + end])
        session = tools.session("context.onnx", tools.hexagon(*held[CONTEXT + ".chip"].decode().split(), "fp16"), wheels.WHOLE)
    else:
        open("model.onnx", "wb").write(held[MODEL])
        session = tools.session("model.onnx", tools.hexagon(*CHIPS["sm8550"], "fp16"), wheels.WHOLE)
    names = [o.name for o in session.get_outputs()]
    for name, value in zip(names, session.run(names, feeds)):
        value.tofile(f"{folder}/{name}.out")


def main(tool, *words):
    if tool == "run":
        return run(*words)
    if tool == "ports":
        return tools_say.ports(words[0])
    given = json.loads(words[0])
    if tool == "snpe-dlc-info":
        return info(given["-i"][0])
    if tool in ("snpe-onnx-to-dlc", "qairt-converter"):
        return convert(given, words[1])
    if tool == "snpe-dlc-graph-prepare":
        return prepare(given)
    return quantize(given, "--preserve_io_datatype" in given)


try:
    main(*sys.argv[1:])
except wheels.Failure as e:
    sys.exit(f"stand-in {sys.argv[1]}: {e.code}: {e.text}")
