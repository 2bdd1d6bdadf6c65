# SPDX-License-Identifier: Apache-2.0
"""What build() gives: a library that answers in float while it calibrates, and in int8 from then on."""
from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from optima import _host
from optima.errors import Error
from optima.vitis import _calibration, _export, _targets
from optima.vitis._calibration import Calibration, Job, path_of
from optima.vitis._flow import after
from optima.vitis._folder import Folder, checked, has_package

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Callable, Iterable
    from typing import Any

    from optima.vitis._flow import Module

    Path = str | os.PathLike[str]

OPTIONS = ("dpu", "build_dir", "work_dir", "export_runtime_module", "load_runtime_module")
BLOCK = "relay.ext.vitis_ai.options"


def build(module: Module, target: str = _targets.HOST, options: Mapping[str, Any] | None = None) -> Library:
    """Compiles a partitioned Module and gives a Library.

    target: "llvm", or "llvm -mtriple=aarch64-linux-gnu": the processor, which answers while calibrating and computes what a DPU does not take. options,
    also as {"relay.ext.vitis_ai.options": {...}}: dpu (as the module's), build_dir (default: MODEL.vitis in the current folder), work_dir (where samples are kept;
    default: in build_dir), export_runtime_module (a file to write the calibration to), load_runtime_module (such a file: no calibration).
    Environment: PX_QUANT_SIZE, the number of calls that calibrate (128; 0 or less: none), PX_BUILD_DIR, a build folder whose int8 package is used at
    once. Raises optima.Error."""
    module = after(module, "partitioned")
    chosen = checked_options(module, options)
    host, device = _targets.host_device(target), _targets.dpu_device(module.dpu)
    job = Job(module, host, device)
    here = _targets.is_here(host)
    if os.environ.get("PX_BUILD_DIR"):
        folder = path_of(os.environ["PX_BUILD_DIR"])
        if not checked(folder, job.identity) or not has_package(folder, "int8"):
            raise Error(f"PX_BUILD_DIR '{folder}' has no finished calibration, wanted a build folder with one", "invalid_input")
        return Library(job.about, folder, *load_or_why(folder / "int8", here), quantized=True)
    samples = path_of(chosen["work_dir"]) / f"samples_{job.identity['model'][:16]}" if chosen.get("work_dir") else None
    folder = Folder(path_of(chosen.get("build_dir") or f"{module.model.stem}.vitis"), job.identity, samples)
    try:
        return build_in(folder, job, chosen, here)
    except BaseException:
        folder.close()
        raise


def build_in(folder, job, chosen, here):
    if chosen.get("load_runtime_module"):
        job.compile_int8(folder.path, ["--encodings", path_of(chosen["load_runtime_module"])])
        return Library(job.about, folder.path, *load_or_why(folder.path / "int8", here), quantized=True, keeps=folder)
    if not here:
        raise Error(f"{job.host} is not this machine's, wanted load_runtime_module: what a build here wrote as export_runtime_module", "usage")
    return Library(job.about, folder.path, float_model(job, folder), calibration=Calibration(job, folder, chosen.get("export_runtime_module")), keeps=folder)


def checked_options(module, options):
    options = options if options is not None else {}
    block = options.get(BLOCK, {}) if hasattr(options, "items") else None
    if not hasattr(block, "items"):
        raise Error(f"options are {options!r:.100}, wanted name -> value, as {{'build_dir': 'model.vitis'}}", "invalid_input")
    chosen = {**block, **{name: value for name, value in options.items() if name != BLOCK}}
    unknown = sorted(set(chosen) - set(OPTIONS))
    if unknown:
        raise Error(f"option {unknown[0]!r} is unknown, wanted one of {', '.join(OPTIONS)}", "invalid_input")
    if chosen.get("dpu", module.dpu) != module.dpu:
        raise Error(f"option dpu is {chosen['dpu']!r}, wanted {module.dpu!r}, which the module was partitioned for", "invalid_input")
    return chosen


def load_or_why(package, here):
    """(model, None), or (None, the Error that calls shall raise): what does not run here can still be exported."""
    if not here:
        return None, Error("the library is for another machine, wanted export_library() and a run there", "usage")
    try:
        return _calibration.load(package), None
    except Error as error:
        return None, error


def float_model(job, folder):
    """The package in float of the build folder; made where it is not there or no longer fits."""
    if has_package(folder.path, "float"):
        try:
            return _calibration.load(folder.path / "float")
        except Error:
            pass  # of another version of a plugin, or damaged
    _host.run("compile", job.module.model, *job.module.words, "-o", folder.path, "--name", "float", "--device", job.host, "--force")
    return _calibration.load(folder.path / "float")


class Library:
    """A built model. run() may be called from any number of threads; each call is answered whole by the model that was active when it began."""

    def __init__(self, about, folder, model, why_not=None, *, quantized=False, calibration=None, keeps=None, names=("float", "int8")):
        self._about, self._packages, self._calibration, self._keeps = about, [folder / name for name in names], calibration, keeps
        self._active, self._why_not = (model, quantized), why_not  # one assignment switches model and word
        resumed = calibration.resumed() if calibration else None
        if resumed:
            self._active = (resumed, True)

    @property
    def quantized(self) -> bool:
        """Whether the next call is answered in int8."""
        return self._active[1]

    @property
    def samples(self) -> tuple[int, int]:
        """(calls that have calibrated, calls that shall)."""
        return (self._calibration.count, self._calibration.wanted) if self._calibration else (0, 0)

    def run(self, arrays: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, np.ndarray]:
        """{output: ndarray} of arrays by the names of inputs. The call that completes the calibration quantizes and compiles before it returns."""
        model, quantized = self._active
        if model is None:
            raise self._why_not
        arrays = {} if arrays is None else arrays
        if not isinstance(arrays, Mapping):
            raise Error(f"inputs are {type(arrays).__name__}, wanted {{name: array}}", "usage")
        given = {**arrays, **named}
        answers = model.run(given)
        if self._calibration and not quantized:
            made = self._calibration.add({info.name: np.asarray(given[info.name], info.dtype) for info in model.inputs})
            if made:
                self._active = (made, True)
        return answers

    def calibrate(self, paths: Iterable[Path], calib_fn: Callable[[list[Path]], Mapping[str, Any]]) -> int:
        """Calls run(calib_fn([path])) for one path after the other until the calibration is complete; gives how many were used. calib_fn(paths) ->
        {input: array}."""
        used = 0
        for path in paths:
            if self.quantized or self.samples[0] >= self.samples[1]:
                break
            self.run(calib_fn([path]))
            used += 1
        return used

    def executor(self) -> Executor:
        """An Executor, for one thread."""
        return Executor(self)

    def export_library(self, path: Path) -> None:
        """Writes what runs now to a folder, or to a file when the name ends with .tar, .tar.gz or .tgz: the package, under the model's name, and vitis.json. Of another
        machine's the int8 package; that is what run_model and optima-run take there. What is exported in float stays float."""
        _export.write_library(path_of(path), self._packages[self.quantized], {**self._about, "quantized": self.quantized})

    def close(self) -> None:
        """Lets another process calibrate into the build folder; calls then go on without calibrating."""
        self._calibration = None
        if isinstance(self._keeps, Folder):
            self._keeps.close()


def load_library(path: Path) -> Library:
    """A Library of what export_library wrote; it answers as that did, without calibrating. Raises optima.Error."""
    folder, state, keeps = _export.open_library(path_of(path))
    quantized = state.pop("quantized")
    return Library(state, folder, _calibration.load(folder / state["name"]), quantized=quantized, keeps=keeps, names=[state["name"]] * 2)


class Executor:
    """set_input, run, get_output, as TVM's graph executor has them. One thread; any number of executors of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._inputs: dict[str, Any] = {}
        self._outputs: list[np.ndarray] | None = None

    def set_input(self, name: str | Mapping[str, Any] | None = None, value: Any = None, **more: Any) -> None:
        """By name, by keyword, or a dict of all; kept for later runs."""
        self._inputs.update(name if isinstance(name, Mapping) else {} if name is None else {name: value}, **more)

    def run(self, **inputs: Any) -> None:
        self.set_input(**inputs)
        self._outputs = list(self._library.run(self._inputs).values())

    def get_num_outputs(self) -> int:
        return len(self._answers())

    def get_output(self, index: int) -> np.ndarray:
        """The array of an output of the last run, in the model's order."""
        answers = self._answers()
        if not isinstance(index, int) or not 0 <= index < len(answers):
            raise Error(f"output {index!r} is not there, wanted 0 to {len(answers) - 1}", "usage")
        return answers[index]

    def _answers(self):
        if self._outputs is None:
            raise Error("get_output() without run() before it", "usage")
        return self._outputs
