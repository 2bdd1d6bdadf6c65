# SPDX-License-Identifier: Apache-2.0
"""A compiled package as an object: run, explain, look at, copy. Needs numpy to run."""
from __future__ import annotations

import html
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from optima import _host
from optima._bad_input import bad_input
from optima.errors import named_arrays, named_outputs

if TYPE_CHECKING:
    import numpy


class View:
    """A package's picture. In a notebook it is the page itself; save() writes it."""

    def __init__(self, package):
        self._package = package

    def save(self, path: str | os.PathLike) -> pathlib.Path:
        """Writes .html, .svg, .png, .dot or .json, by the suffix (docs/view.md); gives the path."""
        path = pathlib.Path(path).expanduser()
        _host.run("view", self._package.path, "-o", path)
        return path

    def html(self) -> str:
        """The page, which loads nothing."""
        with tempfile.TemporaryDirectory() as folder:
            return self.save(pathlib.Path(folder) / "view.html").read_text(encoding="utf-8")

    def _repr_html_(self):
        # a frame of its own, whose scripts may not touch the notebook
        return f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(self.html())}" style="width:100%;height:640px;border:0"></iframe>'


class Explanation(dict):
    """What optima-host says of a plan or a node, as data; as text it reads like the program's own output."""

    def __init__(self, data, text):
        super().__init__(data)
        self.text = text

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _repr_pretty_(self, printer, cycle):
        printer.text(self.text)


def ports_of(meta, key):
    """The list of {name, dtype, shape} that a package has of its inputs or outputs. Raises ValueError."""
    listed = meta.get(key) if isinstance(meta, dict) else None
    if not isinstance(listed, list) or not all(isinstance(p, dict) and isinstance(p.get("name"), str) and isinstance(p.get("dtype"), str)
                                               and isinstance(p.get("shape"), (list, type(None))) for p in listed):
        raise ValueError(f"has no list {key!r} of names, types and shapes")
    texts = meta.get("texts") or {}
    return [{**p, "dtype": "string"} if p["name"] in texts else p for p in listed]


class Package:
    """A package folder (docs/package-format.md). run() may be called from several threads."""

    def __init__(self, path: str | os.PathLike, keep: Any = None, plugins: str | os.PathLike | Iterable[str | os.PathLike] | None = None) -> None:
        """path: the folder; keep: whatever has to live as long as the package, such as the temporary folder that it lies in; plugins: folders of
        plugins to run it with, None = the default ones."""
        if not isinstance(path, (str, os.PathLike)):
            raise bad_input(f"package is {path!r:.60}, wanted its folder")
        self.path = pathlib.Path(path).expanduser().absolute()
        self.plugins = tuple(str(pathlib.Path(folder).expanduser()) for folder in ([plugins] if isinstance(plugins, (str, os.PathLike)) else plugins or ()))
        self._keep, self._model = keep, None
        try:
            self.meta = json.loads((self.path / "model.meta").read_text(encoding="utf-8"))
            self._inputs, self._outputs = (ports_of(self.meta, key) for key in ("inputs", "outputs"))
        except OSError as error:
            raise bad_input(f"{str(self.path)!r} is no package: model.meta: {error.strerror}") from error
        except ValueError as error:
            raise bad_input(f"{str(self.path)!r} is no package: model.meta: {error}") from error

    @classmethod
    def load(cls, path: str | os.PathLike, plugins: str | os.PathLike | Iterable[str | os.PathLike] | None = None) -> Package:
        """The package of a folder. Raises optima.Error where it is none."""
        return cls(path, plugins=plugins)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Lists of {name, dtype, shape} in the model's order; dtype "string": arrays of str. An open dim is its symbol or -1; shape None = the rank is open too."""
        return [dict(port) for port in self._inputs]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        return [dict(port) for port in self._outputs]

    def save(self, path: str | os.PathLike) -> Package:
        """Copies the package to the folder `path`, which must not exist; gives the copy."""
        path = pathlib.Path(path).expanduser().absolute()
        if path.exists():
            raise bad_input(f"{str(path)!r} exists, wanted a new folder")
        staging = path.parent / f".{path.name}.{os.getpid()}"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copytree(self.path, staging)
            staging.rename(path)
        except OSError as error:
            raise bad_input(f"package is not saved to {str(path)!r}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return Package(path, plugins=self.plugins)

    def explain(self, node: str | None = None) -> Explanation:
        """Why every node, or this one, is where it is: an Explanation."""
        words = ["explain", self.path, *([node] if node is not None else [])]
        return Explanation(_host.run_json(*words), _host.run(*words))

    def view(self) -> View:
        return View(self)

    def run(self, arrays: Mapping[str, Any] | None = None, /, *, outputs: str | list[str] | tuple[str, ...] | None = None, **named: Any) -> dict[str, numpy.ndarray]:
        """name -> ndarray of every output, or of those that `outputs` names. Inputs by keyword, or as one dict where a name is no word of Python; arrays or torch tensors
        of the input's type, or lists and numbers, which become it. Through optima.runtime in this process where that is installed, else by optima-host."""
        from optima.run_package import checked_inputs, run_here
        wanted = None if outputs is None else named_outputs(outputs, [port["name"] for port in self._outputs])
        return run_here(self, checked_inputs(self._inputs, named_arrays(arrays, named)), wanted)

    def __reduce__(self):
        """A pickle has the path, not the folder: one that is temporary goes with the objects of the process that made it."""
        return Package, (str(self.path), None, self.plugins)

    def __copy__(self) -> Package:
        return Package(self.path, self._keep, self.plugins)

    def __deepcopy__(self, _: Any) -> Package:
        return self.__copy__()

    def __repr__(self):
        ports = lambda of: ", ".join(f"{p['name']}: {p['dtype']}{p['shape']}" for p in of)
        return f"<optima.Package {str(self.path)!r}: ({ports(self._inputs)}) -> ({ports(self._outputs)})>"
