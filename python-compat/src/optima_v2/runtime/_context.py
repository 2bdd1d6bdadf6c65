# SPDX-License-Identifier: Apache-2.0
"""Contexts: plugins, and the log."""
from __future__ import annotations

import logging
import os
import sys

import optima
from optima import runtime as now
from optima_v2.runtime._errors import InitializationFailedException, InvalidExtensionException, InvalidModelException, UnsupportedModelException, raised_as
from optima_v2.runtime._infos import DeviceInfo
from optima_v2.runtime._kinds import LogLevel
from optima_v2.runtime._model import Model

Path = str | os.PathLike[str]
LOG = logging.getLogger("optima")
NUMBERS = {LogLevel.Debug: 5, LogLevel.Verbose: 10, LogLevel.Info: 20, LogLevel.Warning: 30, LogLevel.Error: 40}  # of module logging


class Version:
    """(major, minor, patch), of the class and of its objects."""

    def __get__(self, _: object, owner: type) -> tuple[int, int, int]:
        major, minor, patch = map(int, optima.__version__.split("."))
        return major, minor, patch


class Context:
    """Plugins and their threads. verbosity: least level that is logged; log_path: file of the log, "" = stdout. The log belongs to the process: the
    context that was made or set last decides. Its lines are those of logging's logger "optima"."""
    version = Version()

    def __init__(self, /, verbosity: LogLevel = LogLevel.Warning, log_path: Path = "") -> None:
        write_log(log_path)
        self.verbosity = verbosity
        with raised_as(InitializationFailedException):
            self._now = now.Context(log_level=now.LogLevel[verbosity.value])

    def load_model(self, model_path: Path, fallback: bool = False) -> Model:
        """The model of a package folder. fallback: a processor stands in for a DSP that is not here. Raises ValueError where there is no such folder."""
        check_there("model_path", model_path)
        if not os.path.isdir(os.path.expanduser(model_path)):
            raise ValueError(f"model_path is {str(model_path)!r}, which is no folder")
        with raised_as(UnsupportedModelException, invalid_input=InvalidModelException, io=InvalidModelException):
            return Model(self._now.load_model(model_path, fallback))

    def load_extension(self, extension_path: Path) -> None:
        """Loads the plugins of a folder; of a plugin file those of its folder. Raises ValueError where there is no such thing."""
        check_there("extension_path", extension_path)
        folder = os.path.expanduser(extension_path)
        with raised_as(InvalidExtensionException):
            self._now.load_extension(folder if os.path.isdir(folder) else os.path.dirname(folder) or ".")

    @property
    def verbosity(self) -> LogLevel:
        return self._verbosity

    @verbosity.setter
    def verbosity(self, value: LogLevel) -> None:
        if not isinstance(value, LogLevel):
            raise TypeError(f"verbosity is {value!r:.60}, wanted a LogLevel")
        self._verbosity = value
        LOG.setLevel(NUMBERS[value])
        self._level = now.Context(plugins=(), log_level=now.LogLevel[value.value])  # the context made last decides on the level

    @property
    def available_devices(self) -> list[DeviceInfo]:
        with raised_as(InitializationFailedException):
            return [DeviceInfo._of(device) for device in self._now.devices()]


def check_there(name: str, path: Path) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} is {path!r:.60}, wanted a path")
    if not os.fspath(path) or not os.path.exists(os.path.expanduser(path)):
        raise ValueError(f"{name} is {str(path)!r}, which is not there")


class Lines:
    """stdout, whichever it is when a line comes."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


def write_log(path: Path) -> None:
    """From now on the log goes there, and no longer to where an earlier context had it."""
    try:
        handler = logging.FileHandler(os.path.expanduser(path), encoding="utf-8") if os.fspath(path) else logging.StreamHandler(Lines())
    except OSError as error:
        raise InitializationFailedException(f"log_path {str(path)!r} cannot be written: {error.strerror}", "io") from error
    handler.set_name("optima_v2.runtime")
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    for earlier in [h for h in LOG.handlers if h.get_name() == handler.get_name()]:
        LOG.removeHandler(earlier)
        earlier.close()
    LOG.addHandler(handler)
