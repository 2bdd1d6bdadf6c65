# SPDX-License-Identifier: Apache-2.0
"""AutoSplit's way of splitting, on Optima: cut a model into submodels of a TPU and a CPU (docs/submodels-format.md).

    split("onnx", {"image": array}, "out/model", "model.onnx")          # what the TPU's plugin takes goes to the TPU
    class Mine(Splitter):                                               # or: what you say it takes
        def is_op_support(self, operator): return operator.type in ("Conv", "Relu")
    Mine({"model_path": "model.onnx"}).convert_and_split("out/model")
    convert("out/model", compare=True, target="bm1684x")                # fills graph_ir_<i> with compilation.bmodel

Every supported operator goes to the TPU; the submodels are as few as that allows. optima.submodels runs the result. The program
optima-host does the work. Standard library alone, but for torch's and TensorFlow's models.
"""
from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile

from optima import _host
from optima._native import program as host_program  # noqa: F401  (others ask for it here)
from optima.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Path = str | os.PathLike[str]

PAPER = "auto_split"  # id of the manifest that stands for a Splitter's devices
TPU, CPU = "TPU:0", "X64:0"
# Types of tensors as optima-host writes them, and as numpy does.
TYPES = {"bool": "bool", **{f"{short}{bits}": f"{long}{bits}" for short, long, sizes in (("f", "float", (16, 32, 64)), ("i", "int", (8, 16, 32, 64)), ("u", "uint", (8, 16, 32, 64)))
                            for bits in sizes}}
ROUTES = {  # each was tried in an environment of its own
    "mxnet": "export it by mxnet.onnx.export_model (pip install mxnet==1.9.1 'numpy<1.24' 'onnx<1.15') and split the ONNX file",
    "caffe": "convert it by python -m caffe2onnx.convert (pip install --no-deps caffe2onnx; pip install 'onnx<1.15' 'numpy<1.24' 'protobuf<3.21') and split the ONNX file",
}


class AutoSplitError(Error):
    """What cannot be split, in one sentence: optima-host's own where it said it."""

    def __init__(self, text: str, code: str = "invalid_input", **found: str | None) -> None:
        super().__init__(text, code, **found)


def split(platform: str, input_tensors: Mapping[str, Any] | None, save_dir: Path, graph_path: Any, params_path: None = None, outputs: Sequence[str] | None = None,
          dynamic: bool = False, layout: str = "NCHW", *, tpu: str = TPU, cpu: str = CPU, supports: Iterable[Path] = ()) -> None:
    """Writes the submodels of a model and graph_infos.json to the folder save_dir, which is replaced if it holds submodels.

    platform, graph_path: "onnx" and an ONNX file; "tensorflow" and a SavedModel's folder or a frozen graph, or "tflite" and a .tflite file, which tf2onnx and
    tensorflow convert, wheels that have to be installed then (inputs keep the layout that they have there, so layout may be "NHWC"); "pytorch" and a torch
    module, one that torch.jit.save wrote, or a graph of optima.torch2nx or its gpickle.
    input_tensors: name -> ndarray of the size to split for (dynamic=True: symbolic sizes stay; a TPU graph can have one, the batch in front
    of its tensors, for which convert() names sizes); outputs: names to cut the model at. tpu, cpu: optima-host's names of the two devices; a list of supports: manifests without a
    plugin (JSON files), for devices that no plugin serves. Raises AutoSplitError."""
    if platform not in ("onnx", "pytorch", "tensorflow", "tflite"):
        raise AutoSplitError(f"platform {platform!r}: {ROUTES.get(platform, 'wanted onnx, pytorch, tensorflow or tflite')}")
    if params_path is not None:
        raise AutoSplitError(f"params_path is {str(params_path)!r}, wanted None: a model has its weights or names their file")
    if platform == "pytorch":
        with tempfile.TemporaryDirectory() as folder:
            split("onnx", input_tensors, save_dir, torch_model(graph_path, input_tensors, dynamic, folder), None, outputs, False, layout, tpu=tpu, cpu=cpu, supports=supports)
        return
    if platform in ("tensorflow", "tflite"):
        with tempfile.TemporaryDirectory() as folder:
            model, outputs = tensorflow_model(platform, graph_path, input_tensors, outputs, layout, folder)
            split("onnx", input_tensors, save_dir, model, None, outputs, dynamic, "NCHW", tpu=tpu, cpu=cpu, supports=supports)
        return
    words = model_words({"model_path": graph_path, "input_tensors": input_tensors, "outputs": outputs, "dynamic": dynamic, "layout": layout})
    check_types(inspected(words), input_tensors or {})
    if dynamic and has_plugin("bmcompiler"):
        words += ["--option", "bmcompiler.batches=1"]  # else the TPU's plugin refuses every open size
    with tempfile.TemporaryDirectory() as folder:
        alloc = write_json(folder, "alloc.json", {"*": [tpu, cpu]})
        emit(words + [part for file in supports for part in ("--support", file)] + ["--alloc", alloc], save_dir)


def torch_model(given, tensors, dynamic, folder):
    """The ONNX file of what split() takes of torch, made in the folder by torch2nx; needs what that needs."""
    from optima import manager
    if dynamic:
        raise AutoSplitError("dynamic is True, wanted False: a torch module is exported for the sizes of input_tensors (or wanted an ONNX file of open sizes)")
    if not hasattr(tensors, "items") or not tensors:
        raise AutoSplitError(f"input_tensors is {tensors!r:.80}, wanted name -> ndarray in the order of forward")
    import onnx
    import torch
    try:
        if isinstance(given, (str, pathlib.Path)) and pathlib.Path(given).suffix in (".pt", ".pth", ".ts"):
            given = torch.jit.load(pathlib.Path(given).expanduser(), map_location="cpu")
        held, _ = manager.model_of(given, [tuple(torch.as_tensor(value) for value in tensors.values())], False)
    except Error as error:
        raise AutoSplitError(str(error), error.code) from error
    except (OSError, RuntimeError, TypeError, ValueError) as error:  # torch's own, of files that are none and arrays of other types
        raise AutoSplitError(f"model {str(given)!r:.80}: {(str(error).strip() or type(error).__name__).splitlines()[0]}") from error
    proto = onnx.load_from_string(held) if isinstance(held, bytes) else held
    if not isinstance(proto, onnx.ModelProto):
        raise AutoSplitError(f"model {str(given)!r:.80} is an ONNX file, wanted platform 'onnx' for it")
    inputs = [value.name for value in proto.graph.input]
    if set(inputs) != set(tensors):
        raise AutoSplitError(f"input_tensors names {', '.join(map(repr, tensors))}, wanted the module's inputs: {', '.join(map(repr, inputs))}")
    path = pathlib.Path(folder) / "model.onnx"
    onnx.save(proto, path)
    return path


def tensorflow_model(platform, given, tensors, outputs, layout, folder):
    """(the ONNX file, made in the folder, the outputs that are still to be cut at) of what split() takes of TensorFlow."""
    from optima import _tensorflow
    if layout not in ("NCHW", "NHWC"):
        raise AutoSplitError(f"layout is {layout!r}, wanted 'NCHW' or 'NHWC'")
    named_tensors, named_outputs = checked_names(tensors, outputs)
    try:
        path = _tensorflow.to_onnx(platform, given, list(named_tensors), named_outputs, folder)
    except Error as error:
        raise AutoSplitError(str(error), error.code) from error
    frozen = platform == "tensorflow" and pathlib.Path(given).expanduser().is_file()  # cut already
    return path, None if frozen else outputs


def checked_names(tensors, outputs):
    """input_tensors and outputs, which may be None, of a model."""
    tensors, outputs = tensors or {}, outputs or ()
    if not hasattr(tensors, "items") or not all(hasattr(value, "shape") for value in tensors.values()):
        raise AutoSplitError(f"input_tensors is {tensors!r:.80}, wanted name -> ndarray")
    if isinstance(outputs, str) or not all(isinstance(name, str) for name in outputs):
        raise AutoSplitError(f"outputs is {outputs!r}, wanted a list of names")
    return tensors, outputs


def inspected(words):
    return json.loads(host("inspect", *words, "--json"))


def check_types(model, tensors):
    """Types of input_tensors are those of the inspected model: the submodels take no others."""
    types = {value["name"]: value["type"].partition("[")[0] for value in model["inputs"]}
    for name, value in tensors.items():
        found, wanted = str(getattr(value, "dtype", "")).removeprefix("torch."), TYPES.get(types.get(name))
        if wanted and found and found != wanted:
            raise AutoSplitError(f"input_tensors[{name!r}] is {found}, wanted {wanted} as the model's input")


@dataclasses.dataclass(frozen=True)
class Operator:
    """A node that a Splitter is asked about."""
    name: str  # as in the model; a stable generated one where it has none
    type: str  # operator of ONNX opset 21


class Splitter:
    """Base of splitters that know what their silicon takes; subclasses answer is_op_support. model_descriptor: a dict with
    "model_path" and, as in split(), "input_tensors", "outputs", "dynamic" and "layout" if wanted."""

    def __init__(self, model_descriptor: Mapping[str, Any]) -> None:
        self.words, self.tensors = model_words(model_descriptor), model_descriptor.get("input_tensors") or {}

    def is_op_support(self, operator: Operator) -> bool:
        """True when the TPU takes this Operator."""
        raise NotImplementedError(f"{type(self).__name__} must say which operators are supported")

    def convert_and_split(self, save_folder: Path) -> None:
        """Asks is_op_support once for every node, then writes the folder. Raises AutoSplitError."""
        with tempfile.TemporaryDirectory() as folder:
            model = inspected(self.words)
            check_types(model, self.tensors)
            words = self.words + ["--support", write_json(folder, "paper.json", paper(model["operators"]))]
            on_cpu = ["--alloc", write_json(folder, "cpu.json", {"*": f"{PAPER}/CPU:0"})]
            nodes = json.loads(host("plan", *words, *on_cpu, "--json"))["nodes"]
            places = {n["name"]: f"{PAPER}/TPU:0" if self.is_op_support(Operator(n["name"], n["op"])) else f"{PAPER}/CPU:0" for n in nodes}
            emit(words + ["--alloc", write_json(folder, "alloc.json", places)], save_folder)


def convert(folder: Path, optimize: int | None = None, compare: bool = False, target: str | None = None, *, batches: Iterable[int] = (1,)) -> None:
    """Compiles the tpu graphs of a folder of submodels in place: optima.auto_convert.convert, which tells the parameters."""
    from optima import auto_convert  # needs numpy, which splitting does not
    auto_convert.convert(folder, optimize, compare, target, batches=batches)


def paper(types):
    """A manifest without a plugin: a TPU and a CPU that take the operators whatever their types and shapes are."""
    every = [list(range(1, 64))]
    row = {"domain": "", "since_version": [1, 1 << 20], "inputs": every, "outputs": every, "static_shape": False}
    return {"manifest": 1, "abi": [[0, 1]], "id": PAPER, "vendor": "auto_split", "version": "1", "build_id": "1", "roles": ["compiler"],
            "flags": ["only_when_named"], "devices": [{"kind": "TPU", "class": "tpu"}, {"kind": "CPU", "class": "cpu"}],
            "operators": [{**row, "op": name.rpartition(".")[2], "domain": name.rpartition(".")[0]} for name in sorted(types)], "options": []}


def model_words(descriptor):
    """The words of optima-host that name a model, its sizes and its ends."""
    if not hasattr(descriptor, "get") or not isinstance(descriptor.get("model_path"), (str, pathlib.Path)):
        raise AutoSplitError(f"model_descriptor is {descriptor!r:.80}, wanted a dict with 'model_path', an ONNX file")
    if descriptor.get("layout", "NCHW") != "NCHW":
        raise AutoSplitError(f"layout is {descriptor['layout']!r}, wanted 'NCHW', which is ONNX's")
    tensors, outputs = checked_names(descriptor.get("input_tensors"), descriptor.get("outputs"))
    dynamic = descriptor.get("dynamic", False)
    if dynamic not in (False, True):
        raise AutoSplitError(f"dynamic is {dynamic!r}, wanted True or False")
    words = [str(pathlib.Path(descriptor["model_path"]).expanduser())]
    if not dynamic:
        for name, value in tensors.items():
            words += ["--shape", f"{name}={','.join(map(str, value.shape)) or 'scalar'}"]
    for name in outputs:
        words += ["--outputs", name]
    return words


def emit(words, save_dir):
    target = pathlib.Path(save_dir).expanduser().absolute()
    host("compile", *words, "--emit", "submodels", "-o", target.parent, "--name", target.name, "--force")


def host(*words):
    """stdout of optima-host; its error line as AutoSplitError."""
    try:
        return _host.run(*words)
    except Error as error:
        raise AutoSplitError(str(error), error.code, node=error.node, device=error.device) from error


def has_plugin(name):
    """Whether optima-host, which refuses options of plugins that it has not, has this one."""
    return any(plugin.get("id") == name for plugin in json.loads(host("plugins", "--json"))["plugins"])


def write_json(folder, name, value):
    path = pathlib.Path(folder) / name
    path.write_text(json.dumps(value))
    return str(path)
