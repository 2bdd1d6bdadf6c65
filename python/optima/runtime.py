# SPDX-License-Identifier: Apache-2.0
"""Runs packages that optima-host compiled, in this process (docs/python.md).

    model = Context().load_model("out/digits")
    model.inputs                                      # name, dtype, shape
    answers = model.run(image=array)                  # name -> ndarray; or run({"image": array}); from any thread

    request = model.create_request()                  # one execution state: asynchronous, bound outputs, profile
    request.start({"image": array})
    request.wait()
    answers = request.result                          # or: answers = await request

Every function has the name that it had in OptimaV2 as well (loadModel, createRequest, infer, ...). Failures raise optima.Error with the
runtime's own sentence. Python's lock is free while plugins load and run. Needs numpy only for what is given or wanted as numpy arrays.
"""
from __future__ import annotations

import os
import pathlib

from optima import _native

try:
    from optima import _runtime
except ImportError as error:
    raise ImportError(f"the native binding optima._runtime does not load: {error}; bindings here are for: {_native.pythons_of_binding()}; wanted a wheel of "
                      "scripts/wheel --python for this Python, or PYTHONPATH=build/release/python") from error
from optima._framework import FrameworkKind
from optima._request import InferRequest
from optima._runtime import DeviceInfo, DeviceKind, ElementType, LogLevel, ProfileEvent, ProfileKind, SubgraphInfo, TensorInfo
from optima._tensor import Tensor
from optima._texts import codes_of
from optima.errors import Error, named_arrays

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    import numpy

    Path = str | os.PathLike[str]

__all__ = ["Context", "DeviceInfo", "DeviceKind", "ElementType", "Error", "FrameworkKind", "InferRequest", "LogLevel", "Model", "ProfileEvent",
           "ProfileKind", "SubgraphInfo", "Tensor", "TensorInfo"]

_LEVELS = {LogLevel.Trace: 5, LogLevel.Debug: 10, LogLevel.Info: 20, LogLevel.Warn: 30, LogLevel.Error: 40}  # of module logging


class Context:
    """Plugins and threads. Any thread; models keep it alive.

    options: settings of plugins, {"plugin.key": value}. plugins: a folder of plugins or several; None = those of this package, or
    OPTIMA_PLUGINS. workers: threads for asynchronous requests, 0 = one per processor, at most 8. threads: most threads of one subgraph, 0 =
    all. allow_writable_plugins: also load plugin files that others than root and you may change. log_level: least level of lines that go to
    logging's logger "optima"; the log belongs to the process, and the last context made decides; None leaves it as it is."""

    def __init__(self, options: Mapping[str, Any] | None = None, *, plugins: Path | Iterable[Path] | None = None, workers: int = 0, threads: int = 0,
                 allow_writable_plugins: bool = False, log_level: LogLevel | None = LogLevel.Warn) -> None:
        if options is not None and not hasattr(options, "items"):
            raise Error(f"options are {options!r:.60}, wanted {{'plugin.key': value}}", "usage")
        if log_level is not None and not isinstance(log_level, LogLevel):
            raise Error(f"log_level is {log_level!r}, wanted a LogLevel or None", "usage")
        self._folders = _native.plugin_folders() if plugins is None else [_path(f) for f in _listed(plugins)]
        self._settings = [(str(k), _setting(v)) for k, v in (options or {}).items()]
        self._rest = (_count("workers", workers), _count("threads", threads), bool(allow_writable_plugins), None if log_level is None else _log, log_level or LogLevel.Warn)
        self._c = _runtime.Context(self._folders, self._settings, *self._rest)
        self._standing_in: dict[tuple[str, ...], _runtime.Context] = {}  # plugins -> a context whose plugins may stand in for their devices

    def load_model(self, path: Path, fallback: bool = False, *, progress: Callable[[float, str], bool | None] | None = None) -> Model:
        """Loads the package in a folder and gives a Model. Raises Error: no package, a damaged one, a plugin or a device that is not there.

        fallback: plugins of the package that have an option `fallback` (snpe: its CPU stands in for a device that is not there) may use it,
        and log a warning when they do; others have nothing to fall back to, so what they lack stays an error. progress: called with
        (fraction, stage), from any thread; False stops the load."""
        folder = _path(path)
        return Model((self._with_fallback(folder) if fallback else self._c).load_model(folder, progress))

    def load_extension(self, folder: Path) -> None:
        """Looks for plugins in one more folder, after the others."""
        self._c.load_extension(_path(folder))
        self._folders.append(_path(folder))
        self._standing_in.clear()

    def devices(self) -> list[DeviceInfo]:
        """A DeviceInfo for each device that the plugins find on this machine. A plugin that has none is left out."""
        return self._c.devices()

    def _with_fallback(self, folder: str) -> _runtime.Context:
        """A context whose settings let the package's plugins stand in; self's own where none of them can."""
        can = tuple(sorted(p for p in _plugins_of(folder) if self._has_fallback(p)))
        if can and can not in self._standing_in:
            chosen = dict(self._settings) | {f"{p}.fallback": "true" for p in can}
            self._standing_in[can] = _runtime.Context(self._folders, list(chosen.items()), *self._rest)
        return self._standing_in[can] if can else self._c

    def _has_fallback(self, plugin: str) -> bool:
        try:  # a context refuses settings that no plugin knows
            _runtime.Context(self._folders, [(f"{plugin}.fallback", "true")], 0, 0, self._rest[2], None, LogLevel.Warn)
            return True
        except Error as error:
            if error.code not in ("usage", "invalid_input"):
                raise
            return False

    loadModel, loadExtension, getAvailableDevices = load_model, load_extension, devices


class Model:
    """A loaded package. Any thread; made by Context.load_model."""

    def __init__(self, handle: _runtime.Model) -> None:
        self._c = handle
        self.inputs = tuple(handle.inputs)
        self.outputs = tuple(handle.outputs)
        self.subgraphs = tuple(handle.subgraphs)
        self._texts = codes_of(self.inputs), codes_of(self.outputs)
        self._idle: list[InferRequest] = []  # requests of run(); list.append and pop are atomic

    def run(self, arrays: Mapping[str, Any] | None = None, /, *, outputs: str | list[str] | tuple[str, ...] | None = None, **named: Any) -> dict[str, numpy.ndarray]:
        """Runs on arrays by the names of inputs, and gives {name of output: ndarray}; the arrays are the caller's. outputs: names of those that are wanted,
        None = all. Any number of threads at a time."""
        values = named_arrays(arrays, named)
        request = self._take_idle() or self.create_request()
        try:
            return request._run(values, outputs)
        finally:
            request.drop_inputs()
            self._idle.append(request)

    def run_for_tensors(self, arrays: Mapping[str, Any]) -> list[Tensor]:
        """The same, and gives the outputs in their order as Tensors, which later runs leave alone: of elements that numpy has not, too. Texts are codes."""
        request = self._take_idle() or self.create_request()
        try:
            return request._run_for_tensors(arrays)
        finally:
            request.drop_inputs()
            self._idle.append(request)

    def _take_idle(self) -> InferRequest | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def create_request(self) -> InferRequest:
        """A request: one execution state, for one thread at a time."""
        return InferRequest(self._c.create_request(), self.inputs, self.outputs, self._texts)

    def profile(self) -> list[ProfileEvent]:
        """What loading took: ModelInit and SubgraphInit events."""
        return self._c.profile()

    def input_infos(self) -> list[TensorInfo]:
        return list(self.inputs)

    def output_infos(self) -> list[TensorInfo]:
        return list(self.outputs)

    def __repr__(self) -> str:
        return f"Model(inputs={[i.name for i in self.inputs]}, outputs={[o.name for o in self.outputs]}, subgraphs={[s.device for s in self.subgraphs]})"

    createRequest, getProfileData, getInputInfos, getOutputInfos = create_request, profile, input_infos, output_infos


def _count(name, value):
    if not hasattr(value, "__index__") or not 0 <= value < 1 << 16:
        raise Error(f"{name} is {value!r}, wanted a number from 0 on", "usage")
    return int(value)


def _listed(plugins):
    if isinstance(plugins, (str, os.PathLike)):
        return [plugins]
    if not hasattr(plugins, "__iter__"):
        raise Error(f"plugins is {plugins!r}, wanted a folder, or several", "usage")
    return list(plugins)


def _path(path):
    if not isinstance(path, (str, os.PathLike)):
        raise Error(f"found {path!r:.60}, wanted a path", "usage")
    return str(pathlib.Path(path).expanduser())


def _setting(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plugins_of(folder):
    """Ids of the plugins of a package; none of what is no package, which loading then says."""
    import json
    try:
        meta = json.loads((pathlib.Path(folder) / "model.meta").read_text(encoding="utf-8"))
        return {s["plugin"]["id"] if isinstance(s["plugin"], dict) else s["plugin"] for v in meta["variants"] for s in v["subgraphs"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _log(level, component, text):
    import logging
    logging.getLogger("optima").log(_LEVELS[level], "%s: %s", component, text)
