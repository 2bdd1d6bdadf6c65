# SPDX-License-Identifier: Apache-2.0
"""Counts calls and keeps their inputs; the last one makes the int8 package."""
import os
import pathlib
import tempfile
import threading
import warnings

from optima import _host, runtime
from optima.errors import Error
from optima.vitis import _export, _targets
from optima.vitis._flow import placing
from optima.vitis._folder import has_package, identity

SAMPLES = 128


def samples_wanted():
    """PX_QUANT_SIZE."""
    text = os.environ.get("PX_QUANT_SIZE", str(SAMPLES))
    try:
        return max(0, int(text))
    except ValueError:
        raise Error(f"PX_QUANT_SIZE is {text!r}, wanted a whole number", "invalid_input") from None


def path_of(path):
    return pathlib.Path(path).expanduser().absolute()


def load(package):
    return runtime.Context().load_model(package)


class Job:
    """What is compiled, and for what."""

    def __init__(self, module, host, device):
        self.module, self.host, self.device = module, host, device
        self.identity = identity(module, device, host)
        self.about = {key: self.identity[key] for key in ("vitis", "dpu", "devices")} | {"name": module.model.stem}

    def compile_int8(self, folder, data):
        with tempfile.TemporaryDirectory() as work:
            words = []
            if self.device:
                config = pathlib.Path(work) / "optima.yaml"
                config.write_text(_targets.config_of(self.module.dpu, self.device, self.host))
                words = ["--config", config]
            _host.run(*words, "compile", self.module.model, *self.module.words, "-o", folder, "--name", "int8", "--force", "--precision", "int8", *data,
                      *placing(work, self.device, self.host))


class Calibration:
    """Counts calls, keeps their inputs, and makes the int8 package at the last of them. Any thread."""

    def __init__(self, job, folder, export=None):
        self.job, self.folder, self.export = job, folder, path_of(export) if export else None
        self.wanted, self.count = samples_wanted(), folder.count()
        self._lock, self._over = threading.Lock(), self.wanted == 0

    def resumed(self):
        """The int8 package of an earlier process, if it is there and runs."""
        if self._over or self.count < self.wanted or not has_package(self.folder.path, "int8"):
            return None
        try:
            found = load(self.folder.path / "int8")
        except Error as error:
            if self.job.device is None:
                return None  # it is made again of the samples
            warn(f"the int8 package in '{self.folder.path}' does not run here, answers stay float: {error}")
            found = None
        self._over = True
        return found

    def add(self, arrays):
        """After a call in float. Gives the int8 model when this call completed the calibration and it can run; one warning when that failed."""
        with self._lock:
            if self._over:
                return None
            try:
                if self.count < self.wanted:
                    self.folder.write_sample(self.count, arrays)
                    self.count += 1
            except OSError as error:
                self._over = True
                warn(f"samples cannot be written to '{self.folder.samples}', answers stay float: {error.strerror}")
                return None
            if self.count < self.wanted:
                return None
            self._over = True  # this call does it; the others go on in float meanwhile
        return self._quantize()

    def _quantize(self):
        try:
            self.job.compile_int8(self.folder.path, ["--calib", self.folder.samples])
            if self.export:
                _export.copy_whole(self.folder.path / "int8/encodings.json", self.export)
        except (Error, OSError) as error:
            warn(f"the int8 package could not be made, answers stay float: {error}")
            return None
        try:
            return load(self.folder.path / "int8")
        except Error as error:
            warn(f"the int8 package is in '{self.folder.path}' but does not run here, answers stay float: {error}")
            return None


def warn(text):
    warnings.warn(text, RuntimeWarning, stacklevel=5)
