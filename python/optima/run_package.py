# SPDX-License-Identifier: Apache-2.0
"""Runs packages for optima.Package: in this process by optima.runtime, else by optima-host in one of its own. Needs numpy."""
import difflib
import functools
import importlib.util
import json
import pathlib
import tempfile
import threading

import numpy as np

from optima import _host
from optima._bad_input import bad_input
from optima._dtypes import dtype_of
from optima.calibration import as_array
from optima.errors import Error

_loading = threading.Lock()


def checked_inputs(ports, arrays):
    """name -> ndarray, every input there and of its type and shape. Raises optima.Error."""
    names = [port["name"] for port in ports]
    for name in arrays:
        if name not in names:
            near = difflib.get_close_matches(str(name), names)
            raise bad_input(f"no input {name!r}" + (f" (nearest: {', '.join(map(repr, near))})" if near else f", wanted {', '.join(map(repr, names))}"))
    for name in names:
        if name not in arrays:
            raise bad_input(f"input {name!r} is missing, wanted {', '.join(map(repr, names))}")
    return {port["name"]: checked(port, arrays[port["name"]]) for port in ports}


def checked(port, given):
    dtype, shape = port["dtype"], port["shape"]
    array = given if type(given) is np.ndarray else as_array(given, None if dtype == "string" else dtype)
    fits = shape is None or (len(shape) == array.ndim and all(want == size or want is None or isinstance(want, str) or want == -1 for want, size in zip(shape, array.shape)))
    if dtype == "string" and fits:
        return checked_texts(port, array)
    if not fits or array.dtype != dtype_of(dtype) and array.dtype.name != dtype:  # the latter for another byte order
        raise bad_input(f"input {port['name']!r}: found {array.dtype.name}{list(array.shape)}, wanted {dtype}{shape if shape is not None else ''}")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def checked_texts(port, array):
    """An array of str of one of str, or of objects that are all str."""
    for element in array.reshape(-1).tolist():
        if not isinstance(element, str):
            raise bad_input(f"input {port['name']!r}: found an element {element!r:.60}, wanted str")
    return array.astype(str)


@functools.cache
def runtime():
    """optima.runtime, or None where its extension is not installed; one that does not load is an error."""
    return importlib.import_module("optima.runtime") if importlib.util.find_spec("optima._runtime") else None


@functools.cache
def context(plugins):
    """One of the process for each list of plugin folders: plugins are loaded once."""
    return runtime().Context(plugins=list(plugins) or None)


def run_here(package, arrays, wanted=None):
    """wanted: names of outputs, None = all."""
    return run_by_host(package, arrays, wanted) if runtime() is None else load_here(package).run(arrays, outputs=wanted)


def load_here(package):
    """The optima.runtime.Model of a package, loaded once. Raises optima.Error, without the extension too."""
    if runtime() is None:
        raise Error("optima.runtime has no extension here, wanted the installed wheel, or PYTHONPATH on the build folder's python", "usage")
    with _loading:
        if package._model is None:
            package._model = context(package.plugins).load_model(str(package.path))
    return package._model


def run_by_host(package, arrays, wanted=None):
    with tempfile.TemporaryDirectory() as folder:
        folder, words = pathlib.Path(folder), []
        for i, (name, array) in enumerate(arrays.items()):
            np.save(folder / f"in_{i}.npy", array)
            words += ["--input", f"{name}={folder / f'in_{i}.npy'}"]
        words += [word for plugins in package.plugins for word in ("--plugins", plugins)]
        _host.run("run", package.path, *words, "-o", folder / "out")
        made = json.loads((folder / "out/manifest.json").read_text(encoding="utf-8"))["outputs"]
        files = {port["name"]: folder / "out" / port["file"] for port in made}
        return {name: np.load(files[name]) for name in (files if wanted is None else wanted)}
