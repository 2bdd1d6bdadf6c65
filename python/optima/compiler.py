# SPDX-License-Identifier: Apache-2.0
"""optima.compile: a torch module or an ONNX model to a package, by optima-host (docs/compile-from-python.md)."""
from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from optima import _host, _progress, _scratch, calibration as calib, models
from optima._bad_input import bad_input
from optima.errors import Error
from optima.package import Package


def compile(module_or_onnx: Any, example_inputs: Any = None, devices: str | Iterable[str] | None = None,
            allocation: Mapping[str, Any] | str | os.PathLike | None = None, precision: str | Mapping[str, str] | None = None,
            calibration: Iterable[Any] | str | os.PathLike | None = None, dynamic: Any = None, output: str | os.PathLike | None = None,
            *, name: str | None = None, force: bool = True, **options: Any) -> Package:
    """Compiles a model and gives its Package. Raises optima.Error, whose text is optima-host's sentence.

    module_or_onnx: a torch module or a function of tensors (exported by torch.export; with a warning by the older exporter where that cannot), an
      ExportedProgram, the path of an ONNX file, a ModelProto, or a serialized model.
    example_inputs: a tensor, a tuple in forward's order, or name -> tensor. Needed of a module or function; of an ONNX model they give sizes to
      open dims.
    devices: candidates in order of preference ("X64:0", ["openvino/X64:0", "X64:0"]); None = all that are here.
    allocation: node, glob or op:Type -> device (docs/config.md), as a dict or a file.
    precision: "int8", or device -> precision. calibration: representative samples, an iterable of dicts, tuples or arrays, or a path.
    dynamic: of a torch module input -> {dim: symbol}; of an ONNX model with example_inputs the symbols that stay open, or symbol -> sizes. A symbol
      may have its sizes with it, "width=32..960:32@320" as in --dim; sizes are such text, a number, a range, or a list whose first matters most.
    output: folder that the package comes into, as output/<name>; None = a temporary one that lives as long as the Package.
    force: replaces a package that is there. options: any other of `optima-host compile --help`, dashes as underscores:
      objective="latency", pin={"fc": "X64:1"}, option={"llvm_cpu.cpu": "x86-64-v3"}, self_test=True, plugins=["dir"], save_calib=True."""
    if output is not None and not isinstance(output, (str, os.PathLike)):
        raise bad_input(f"output is {output!r}, wanted a folder")
    name = name or default_name(module_or_onnx)
    with _scratch.Folder("work") as work:
        source = models.source_of(module_or_onnx, example_inputs, dynamic, work, name)
        words = ["--name", name, *source.words, *device_words(devices), *precision_words(precision), *option_words(options)]
        if allocation is not None:
            words += ["--alloc", allocation_file(allocation, work)]
        if calibration is not None:
            words += ["--calib", calib.write_samples(calibration, work / "samples", lambda: input_names(source.path, options))]
        try:
            return write(source.path, words, output, name, force, options.get("plugins"))
        except Error as error:
            raise in_callers_words(error, work) from error


def input_names(path, options):
    """Of a model, where options may cut it."""
    words = option_words({key: options[key] for key in ("inputs", "outputs", "plugins", "config", "allow_writable_plugins") if key in options})
    return [port["name"] for port in _host.run_json("inspect", path, *words)["inputs"]]


def in_callers_words(error, work):
    """The error with files that were made of arguments called as the arguments."""
    text = re.sub(rf"(?:model )?'{re.escape(str(work))}/[^'/]*\.onnx'", "model", str(error)).replace(f"'{work / 'alloc.json'}'", "allocation")
    return Error(text, error.code, node=error.node, device=error.device)


def write(path, words, output, name, force, plugins):
    """Runs the program; the temporary folder, where there is one, goes with the Package."""
    keep = _scratch.Folder("package") if output is None else None
    folder = keep.path if keep else pathlib.Path(output).expanduser().absolute()
    try:
        with _progress.bar(f"compiling {name}") as progress:
            _host.run("compile", path, "-o", folder, *(["--force"] if force else []), *words, "--json", progress=progress)
        return Package(folder / name, keep, plugins)
    except BaseException:
        if keep:
            keep.remove()
        raise


def default_name(model):
    """The file's stem, else the module's class or the graph's name."""
    if isinstance(model, (str, os.PathLike)):
        return pathlib.Path(model).stem
    model = getattr(model, "_orig_mod", model)  # what torch.compile made of it
    if models.is_torch_module(model):
        return type(model).__name__
    name = getattr(model, "__name__", "model")
    return name if name.isidentifier() else "model"


def device_words(devices):
    listed = [devices] if isinstance(devices, str) or not hasattr(devices, "__iter__") and devices is not None else list(devices or ())
    if not all(isinstance(device, str) for device in listed):
        raise bad_input(f"devices is {devices!r}, wanted names like 'X64:0'")
    return [word for device in listed for word in ("--device", device)]


def precision_words(precision):
    if precision is None:
        return []
    if hasattr(precision, "items"):
        return [word for device, to in precision.items() for word in ("--precision", f"{device}={to}")]
    if not isinstance(precision, str):
        raise bad_input(f"precision is {precision!r}, wanted its name, or device -> name")
    return ["--precision", precision]


def option_words(options):
    """Words of the other options: True is a flag, a dict NAME=VALUE of each, a list the option once for each."""
    words = []
    for key, value in options.items():
        option = "--" + key.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            values = [f"{k}={v}" for k, v in value.items()] if hasattr(value, "items") else value if isinstance(value, (list, tuple)) else [value]
            words += [word for one in values for word in (option, str(one))]
    return words


def allocation_file(allocation, folder):
    if isinstance(allocation, (str, os.PathLike)):
        return pathlib.Path(allocation).expanduser()
    if not hasattr(allocation, "items"):
        raise bad_input(f"allocation is a {type(allocation).__name__}, wanted node -> device or a file")
    path = folder / "alloc.json"
    try:
        path.write_text(json.dumps(dict(allocation)))
    except (TypeError, ValueError) as error:
        raise bad_input(f"allocation cannot be written as JSON: {error}") from error
    return path
