# SPDX-License-Identifier: Apache-2.0
"""Runs a folder of submodels (docs/submodels-format.md), one graph after another, as the whole model.

    runner = optima.submodels.load("out/model")
    outputs = runner.infer({"image": array})

    python -m optima.submodels out/model --input image=image.npy -o answers

Graphs whose device is cpu run on ONNX Runtime. Graphs whose device is tpu run their graph_ir_<i>/compilation.bmodel through
sophon.sail (SOPHON's Python runtime, its API as documented in sophon-inference), and where that is not installed on the emulator of
their chip (optima.tpu_emulator), of which a warning tells once; where a file or all of these are missing, loading says which.
`tpu="onnxruntime"` runs their ONNX files on ONNX Runtime instead: a stand-in that tells whether the split is right, not what the
silicon computes. Needs numpy and onnxruntime.
"""
from __future__ import annotations

import argparse
import difflib
import importlib.util
import json
import pathlib
import sys
import time
import warnings

import numpy as np

from optima import _needs

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    import os
    from collections.abc import Mapping
    from typing import NoReturn

    Path = str | os.PathLike[str]

_needs.needs("optima.submodels", "submodels", "onnxruntime")
import onnxruntime  # noqa: E402

PLATFORM = "onnx"
ATTRS = ("input", "output", "intermediate")
TPU = ("auto", "sail", "emulator", "onnxruntime")


class SubmodelsError(ValueError):
    """A folder, an input or a runtime that is not what it has to be; one sentence: thing, found, wanted."""


def load(folder: Path, tpu: str = "auto", threads: int = 0, optimize: bool = True, *, use_cmodel: int = 0) -> Runner:
    """Loads every graph of a folder and gives a Runner. `tpu`: what runs the graphs of tpu devices, "sail", "emulator",
    "onnxruntime" (a stand-in), or "auto": sail where it is installed, else the emulator. `threads`: of each ONNX Runtime session, 0 = its
    default. `optimize=False` switches ONNX Runtime's graph optimisations off, so that splitting a model does not change a bit of its
    answers. `use_cmodel`: AutoSplit's word for the emulator; 1 stands for tpu="emulator". Raises SubmodelsError."""
    if use_cmodel not in (0, 1) or (use_cmodel and tpu not in ("auto", "emulator")):
        fail(f"use_cmodel is {use_cmodel!r} and tpu {tpu!r}, wanted 0, or 1 without another word for the same")
    return Runner(folder, "emulator" if use_cmodel else tpu, threads, optimize)


class Runner:
    """A loaded folder. One call of infer at a time. close(), or the end of a with block, ends the processes of emulated graphs; without them this does."""

    def __init__(self, folder: Path, tpu: str = "auto", threads: int = 0, optimize: bool = True) -> None:
        if tpu not in TPU:
            fail(f"tpu: found {tpu!r}, wanted one of {', '.join(TPU)}")
        self.folder = pathlib.Path(folder).expanduser()
        self.infos = read_infos(self.folder)
        self.tensors = self.infos["tensors"]
        of = lambda attr: [name for name, t in self.tensors.items() if t["attr"] == attr]
        # "inputs" and "outputs" give the model's order, and name outputs that are inputs too; older writers have attr alone.
        self.input_names = self.infos.get("inputs", of("input"))
        self.output_names = self.infos.get("outputs", of("output"))
        check_flow(self.infos, self.input_names, self.output_names)
        if tpu == "auto":
            tpu = "sail" if has_sail() else "emulator"
        on_tpu = {"sail": SailGraph, "emulator": EmulatedGraph}
        self.graphs = []
        for i, graph in enumerate(self.infos["graphs"]):
            made = on_tpu[tpu](self, graph, i) if graph["device"] == "tpu" and tpu in on_tpu else OnnxGraph(self, graph, i, threads, optimize)
            self.graphs.append(made)
        if any(isinstance(graph, EmulatedGraph) for graph in self.graphs):
            warnings.warn(f"graphs of tpu devices of {str(self.folder)!r} are emulated on this machine's processor: their results are a device's, "
                          "their times are not", stacklevel=3)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing runs afterwards. May be called again."""
        for graph in self.graphs:
            getattr(graph, "close", lambda: None)()

    def infer(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """name -> ndarray in, name -> ndarray out, outputs in the model's order."""
        return self.timed(inputs)[0]

    def infer_time(self, inputs: Mapping[str, np.ndarray]) -> list[float]:
        """Seconds of each graph, then of the whole call."""
        return self.timed(inputs)[1]

    def timed(self, inputs: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[float]]:
        """What infer gives, and what infer_time gives."""
        begin = time.perf_counter()
        values = self.check_inputs(inputs)
        times = []
        for graph in self.graphs:
            start = time.perf_counter()
            values.update(graph.run({name: values[name] for name in graph.inputs}))
            times.append(time.perf_counter() - start)
        return {name: values[name] for name in self.output_names}, times + [time.perf_counter() - begin]

    def check_inputs(self, inputs):
        for name in inputs:
            if name not in self.input_names:
                near = difflib.get_close_matches(name, self.input_names)
                fail(f"no input {name!r}" + (f" (nearest: {', '.join(map(repr, near))})" if near else f", wanted {self.input_names}"))
        missing = [name for name in self.input_names if name not in inputs]
        if missing:
            fail(f"input {missing[0]!r} is missing, wanted {', '.join(map(repr, self.input_names))}")
        return {name: self.check_input(name, value) for name, value in inputs.items()}

    def check_input(self, name, value):
        tensor = self.tensors[name]
        if not isinstance(value, np.ndarray):
            fail(f"input {name!r} is a {type(value).__name__}, wanted a numpy.ndarray")
        wanted = tensor["shape"]
        # In a dynamic folder a size is the largest one; -1 = any.
        fits = lambda size, most: most < 0 or size == most or (self.infos["dynamic"] and size <= most)
        if value.ndim != len(wanted) or not all(map(fits, value.shape, wanted)):
            fail(f"input {name!r} has shape {list(value.shape)}, wanted {'at most ' if self.infos['dynamic'] else ''}{wanted}")
        if "dtype" in tensor and tensor["dtype"] != "string" and value.dtype.name != tensor["dtype"]:
            fail(f"input {name!r} has type {value.dtype.name}, wanted {tensor['dtype']}")
        return value


class OnnxGraph:
    """One graph on ONNX Runtime's CPU provider."""

    def __init__(self, runner, graph, index, threads, optimize):
        self.inputs, self.outputs = graph["inputs"], graph["outputs"]
        path = inside(runner.folder, graph["model_info"].get("model_path"), f"graph {index}: model_path")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        if not optimize:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's errors share no base class
            fail(f"graph {index}: ONNX Runtime refuses {str(path)!r}: {error}", error)
        have = {value.name for value in self.session.get_inputs()}
        if have != set(self.inputs):
            fail(f"graph {index}: {str(path)!r} has inputs {sorted(have)}, wanted {sorted(self.inputs)}")

    def run(self, inputs):
        return dict(zip(self.outputs, self.session.run(self.outputs, inputs)))


STAND_IN = "; tpu='onnxruntime' runs it on ONNX Runtime as a stand-in"


def has_sail():
    try:
        return sys.modules.get("sophon.sail") is not None or importlib.util.find_spec("sophon.sail") is not None
    except (ImportError, ValueError):
        return False


def compiled_file(runner, graph, index):
    path = inside(runner.folder, graph["context_dir"], f"graph {index}: context_dir") / "compilation.bmodel"
    if not path.is_file():
        fail(f"graph {index} is for a tpu and not compiled: {str(path)!r} is not there, wanted what bmcompiler makes of it{STAND_IN}")
    return path


class EmulatedGraph:
    """One compiled graph on the emulator of its chip, in a process of its own."""

    def __init__(self, runner, graph, index):
        from optima import tpu_emulator
        self.inputs, self.outputs, self.index = graph["inputs"], graph["outputs"], index
        self.tensors = {name: runner.tensors[name] for name in self.outputs}
        self.error = tpu_emulator.EmulatorError
        path = compiled_file(runner, graph, index)
        try:
            self.model = tpu_emulator.Model(path)
        except self.error as error:
            fail(f"graph {index} is for a tpu and its emulator does not start: {error}; on a device sophon.sail runs it{STAND_IN}", error)

    def close(self):
        self.model.close()

    def run(self, inputs):
        try:
            out = self.model.run(inputs, self.outputs)
        except self.error as error:
            fail(f"graph {self.index}: {error}", error)
        return {name: out[name].reshape(t["shape"]).astype(t.get("dtype", out[name].dtype)) for name, t in self.tensors.items()}


class SailGraph:
    """One compiled graph on a SOPHON TPU through sophon.sail."""

    def __init__(self, runner, graph, index):
        self.inputs, self.outputs = graph["inputs"], graph["outputs"]
        self.shapes = {name: runner.tensors[name]["shape"] for name in self.outputs}
        path = compiled_file(runner, graph, index)
        try:
            import sophon.sail as sail
        except ImportError as error:
            fail(f"graph {index} is for a tpu: the Python package sophon.sail is not installed, wanted SOPHON's runtime{STAND_IN}", error)
        self.engine = sail.Engine(str(path), 0, sail.IOMode.SYSIO)
        self.name = self.engine.get_graph_names()[0]

    def run(self, inputs):
        out = self.engine.process(self.name, inputs)
        return {name: np.asarray(out[name]).reshape(self.shapes[name]) for name in self.outputs}


def read_infos(folder):
    """graph_infos.json, checked; `tensors` as an object whichever way it was written."""
    path = folder / "graph_infos.json"
    try:
        infos = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"{str(path)!r}: {error.strerror}, wanted a folder of submodels", error)
    except ValueError as error:
        fail(f"{str(path)!r}: {error}", error)
    want = lambda ok, what: None if ok else fail(f"{str(path)!r}: {what}")
    want(isinstance(infos, dict), "wanted an object")
    for key, kind in (("graph_num", int), ("platform", str), ("dynamic", bool), ("layout", str), ("graphs", list), ("tensors", (dict, list))):
        want(isinstance(infos.get(key), kind), f"{key} is {infos.get(key)!r}, wanted a value of its type")
    want(infos["platform"] == PLATFORM, f"platform is {infos['platform']!r}, wanted '{PLATFORM}': convert the model to ONNX and split it again")
    want(infos["graph_num"] == len(infos["graphs"]), f"graph_num is {infos['graph_num']}, but there are {len(infos['graphs'])} graphs")
    if isinstance(infos["tensors"], list):
        infos["tensors"] = {t["name"]: {k: v for k, v in t.items() if k != "name"} for t in infos["tensors"]}
    for name, tensor in infos["tensors"].items():
        good = isinstance(tensor.get("shape"), list) and tensor.get("attr") in ATTRS
        want(good, f"tensor {name!r} is {tensor!r}, wanted shape and attr ({', '.join(ATTRS)})")
    for i, graph in enumerate(infos["graphs"]):
        want(graph.get("device") in ("cpu", "tpu"), f"graph {i}: device is {graph.get('device')!r}, wanted cpu or tpu")
        want(isinstance(graph.get("model_info"), dict), f"graph {i}: no model_info, wanted an object with model_path")
        want(graph["device"] == "cpu" or isinstance(graph.get("context_dir"), str), f"graph {i}: no context_dir, wanted one for a tpu")
        for name in graph.get("inputs", []) + graph.get("outputs", []):
            want(name in infos["tensors"], f"graph {i}: {name!r} is not among tensors")
    return infos


def check_flow(infos, inputs, outputs):
    """Every graph reads what is there when its turn comes."""
    known = set(inputs)
    for i, graph in enumerate(infos["graphs"]):
        for name in graph["inputs"]:
            if name not in known:
                fail(f"graph {i} reads {name!r}, which no earlier graph writes")
        known.update(graph["outputs"])
    for name in outputs:
        if name not in known:
            fail(f"output {name!r} is written by no graph")


def inside(folder, name, what):
    """The path of a file of the folder; names that lead out of it are refused."""
    if not isinstance(name, str) or pathlib.PurePosixPath(name).is_absolute() or ".." in pathlib.PurePosixPath(name).parts:
        fail(f"{what} is {name!r}, wanted the name of a file in {str(folder)!r}")
    return folder / name


def fail(message: str, cause: BaseException | None = None) -> NoReturn:
    raise SubmodelsError(message) from cause


def save(outputs, folder):
    """One <name, / as _>.npy per output; a second equal name gets _2, a third _3."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = {}
    for name, value in outputs.items():
        stem = name.replace("/", "_")
        taken[stem] = taken.get(stem, 0) + 1
        np.save(folder / (stem + (f"_{taken[stem]}" if taken[stem] > 1 else "") + ".npy"), value)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m optima.submodels", description="Runs a folder of submodels and prints or saves its outputs.")
    parser.add_argument("folder")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("-o", dest="out", type=pathlib.Path, help="folder for the outputs, one .npy each")
    parser.add_argument("--tpu", choices=TPU, default="auto", help="what runs tpu graphs: sail, else (auto) the chip's emulator; onnxruntime is a stand-in")
    parser.add_argument("--exact", action="store_true", help="ONNX Runtime without its graph optimisations")
    args = parser.parse_args()
    try:
        inputs = {}
        for text in args.input:
            name, found, file = text.rpartition("=")
            inputs[name] = np.load(file) if found else fail(f"--input: found {text!r}, wanted NAME=FILE.npy")
        outputs = load(args.folder, args.tpu, optimize=not args.exact).infer(inputs)
        for name, value in outputs.items():
            print(f"{name}  {value.dtype}  {'x'.join(map(str, value.shape)) or 'scalar'}")
        if args.out:
            save(outputs, args.out)
    except (SubmodelsError, OSError) as error:
        sys.exit(f"optima.submodels: error: {error}")


if __name__ == "__main__":
    main()
