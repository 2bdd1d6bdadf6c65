# SPDX-License-Identifier: Apache-2.0
"""ModelExporter: a module with its two sets becomes a folder of files and a program."""
from __future__ import annotations

import json
import operator
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import tempfile

import onnx
import torch

from optima import _host, _native
from optima.errors import Error
from optima.torch2hpvm import _graph
from optima.torch2hpvm._datasets import BinDataset, write_set

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Iterable
    from typing import Any

    Path = str | os.PathLike[str]
    Samples = torch.utils.data.Dataset[Any] | Iterable[tuple[Any, int]]

SOURCES = pathlib.Path(__file__).absolute().parent / "cpp"
SETS = ("tune", "test")


class ModelExporter:
    """model: a torch.nn.Module of one input. tuneset, testset: BinDatasets, or any dataset of torch whose samples are (float32 tensor of C x H x W, label); both
    of one shape. output_dir: made where it is missing; what it has of these files is replaced. config_file: the tuner configuration that
    the program reads when it starts; may be absent then; "" = tuner_confs.txt in output_dir. device: what the packages are compiled for; None = this
    machine's processor. Raises optima.Error."""

    def __init__(self, model: torch.nn.Module, tuneset: Samples, testset: Samples, output_dir: Path, config_file: Path = "", *, device: str | None = None) -> None:
        if not isinstance(model, torch.nn.Module):
            raise Error(f"model is {type(model).__name__}, wanted a torch.nn.Module", "invalid_input")
        self.model, self.sets = model, dict(zip(SETS, (tuneset, testset)))
        self.output_dir = pathlib.Path(output_dir).expanduser().absolute()
        self.config_file = pathlib.Path(config_file).expanduser().absolute() if config_file else self.output_dir / "tuner_confs.txt"
        self.device = device or ("ARM64:0" if platform.machine() == "aarch64" else "X64:0")
        self.nodes = None

    def generate(self, batch_size: int = 500) -> ModelExporter:
        """Writes weights/{tune,test}_{input,labels}.bin, model.onnx, ops.json and the program's sources. batch_size: samples of a run; no more are taken than
        the larger set has. Gives itself."""
        if not hasattr(batch_size, "__index__") or operator.index(batch_size) < 1:
            raise Error(f"batch_size is {batch_size!r}, wanted a whole number from 1 on", "invalid_input")
        weights = self.output_dir / "weights"
        weights.mkdir(parents=True, exist_ok=True)
        shapes = {name: write_set(dataset, weights, name) for name, dataset in self.sets.items()}
        if shapes["tune"][1:] != shapes["test"][1:]:
            raise Error(f"samples of the tune set have shape {list(shapes['tune'][1:])}, those of the test set {list(shapes['test'][1:])}, wanted one shape", "invalid_input")
        name = max(SETS, key=lambda s: shapes[s][0])
        batch = min(operator.index(batch_size), shapes[name][0])
        written = BinDataset(weights / f"{name}_input.bin", weights / f"{name}_labels.bin", shapes[name])
        samples = torch.stack([written[i][0] for i in range(batch)])
        self.nodes = _graph.hpvm_nodes(_graph.export(self.model, samples, self.output_dir / "model.onnx", self.device))
        (self.output_dir / "ops.json").write_text(json.dumps({"nodes": self.nodes}, indent=1) + "\n")
        for source in sorted(SOURCES.iterdir()):
            shutil.copyfile(source, self.output_dir / source.name)
        (self.output_dir / "settings.hpp").write_text(self._settings(batch, shapes["tune"][1:]))
        return self

    def compile(self, target_binary: Path, build_dir: Path) -> ModelExporter:
        """Builds the program as target_binary and compiles the model's packages to output_dir/packages: fp32, fp16, fp16_products, and one for each mixture of
        fp32 and fp16 that the configuration file asks for now. build_dir holds what is made on the way. CXX names the compiler (default g++). Gives itself."""
        if self.nodes is None:
            raise Error("compile() without generate() before it", "usage")
        target, build = (pathlib.Path(p).expanduser().absolute() for p in (target_binary, build_dir))
        if target.is_dir():
            raise Error(f"target_binary '{target}' is a folder, wanted a file", "invalid_input")
        build.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        made = build / "program"
        self._build_program(made)
        mixtures = self._mixtures(made)
        self._compile_packages(mixtures)
        shutil.copy(made, target.with_name(target.name + ".part"))
        target.with_name(target.name + ".part").replace(target)
        return self

    def _settings(self, batch, shape):
        text = lambda value: json.dumps(str(value), ensure_ascii=False)
        folders = ", ".join(map(text, _native.plugin_folders() or [find_runtime()[1].parent / "optima/plugins"]))
        nodes = ",\n    ".join("{%d, %s, %d, {%s}}" % (n["id"], str(bool(n["product"])).lower(), -1 if n["bias"] is None else n["bias"], ", ".join(map(text, n["ops"]))) for n in self.nodes)
        return f"""// Written by optima.torch2hpvm: what the program is about. Changed files of output_dir/weights of the same shape are taken as they are.
#pragma once
#include "tuner_confs.hpp"

namespace settings {{
inline const std::string kOutput = {text(self.output_dir)}, kConfiguration = {text(self.config_file)};
inline const std::vector<std::string> kPlugins = {{{folders}}};
inline constexpr int64_t kBatch = {batch}, kChannels = {shape[0]}, kHeight = {shape[1]}, kWidth = {shape[2]};
inline const std::vector<hpvm::Node> kNodes = {{
    {nodes}}};
}}  // namespace settings
"""

    def _build_program(self, made):
        include, library = find_runtime()
        compiler = shlex.split(os.environ.get("CXX", "g++"))
        words = [*compiler, "-std=c++17", "-O2", self.output_dir / "hpvm_c.cpp", "-I", include, library, f"-Wl,-rpath,{library.parent}", "-o", made]
        try:
            ran = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        except OSError as error:
            raise Error(f"compiler {compiler[0]!r} does not start: {error.strerror}", "plugin") from error
        if ran.returncode:
            said = next((line for line in ran.stderr.splitlines() if "error" in line), f"exit code {ran.returncode}")
            raise Error(f"{compiler[0]!r} does not compile '{self.output_dir / 'hpvm_c.cpp'}': {said}", "plugin")

    def _mixtures(self, program):
        """Sets of operations in fp16, (node's number, place in its ops), that the configuration asks for, as the program reads it."""
        if not self.config_file.exists():
            return []
        ran = subprocess.run([program, "--mixtures", "-c", self.config_file], capture_output=True, text=True)
        if ran.returncode:
            raise Error((ran.stderr.strip() or f"'{program}' ended with {ran.returncode}").removeprefix("error: "), "invalid_input")
        numbers = [list(map(int, line.split())) for line in ran.stdout.splitlines()]
        return [frozenset(zip(line[::2], line[1::2])) for line in numbers]

    def _compile_packages(self, mixtures):
        names = {(n["id"], k): name for n in self.nodes for k, name in enumerate(n["nodes"]) if k != n["bias"]}
        products = {(n["id"], 0): n["product"] for n in self.nodes if n["product"]}
        wanted = {frozenset(): "fp32"}
        for half, name in ((frozenset(names), "fp16"), (frozenset(products), "fp16_products"), *((half, f"mixture_{i}") for i, half in enumerate(mixtures, 1))):
            wanted.setdefault(half, name)
        model, final = onnx.load(self.output_dir / "model.onnx"), self.output_dir / "packages"
        with tempfile.TemporaryDirectory(dir=self.output_dir, prefix=".packages.") as work:
            made = pathlib.Path(work) / "made"
            for half, name in wanted.items():
                source, alloc = pathlib.Path(work) / "model.onnx", pathlib.Path(work) / "alloc.json"
                onnx.save(_graph.rounded(model, {names[k] for k in half}), source)
                alloc.write_text(json.dumps({"*": {"precision": "f32"}, **{products[k]: {"precision": "f16"} for k in sorted(half & products.keys())}}))
                _host.run("compile", source, "-o", made, "--name", name, "--device", self.device, "--alloc", alloc)
            (made / "packages.txt").write_text("".join(" ".join([name, *(f"{i} {k}" for i, k in sorted(half))]) + "\n" for half, name in wanted.items()))
            shutil.rmtree(final, ignore_errors=True)
            made.rename(final)


def find_runtime():
    """The folder of optima/runtime.hpp, which a checkout has elsewhere than an installed tree, and the runtime library beside optima-host."""
    tree = pathlib.Path(_native.program("optima-host")).resolve().parent.parent
    headers = [tree / "include", tree.parent.parent / "core/runtime/include"]
    include = next((h for h in headers if (h / "optima/runtime.hpp").exists()), None)
    library = tree / "lib/liboptima_runtime.so.0"
    if include is None or not library.exists():
        raise Error(f"'{library if include else headers[0] / 'optima/runtime.hpp'}' is not there, wanted it beside optima-host", "usage")
    return include, library
