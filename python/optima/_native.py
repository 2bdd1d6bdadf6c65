# SPDX-License-Identifier: Apache-2.0
"""Where the programs and plugins are. The wheel carries an installed tree in optima/_native (bin, lib, lib/optima/plugins)."""
import os
import pathlib
import shutil

from optima.errors import Error

TREE = pathlib.Path(__file__).absolute().parent / "_native"


def find_program(name):
    """The path of optima-host or optima-run: named by OPTIMA_HOST (optima-run beside it), else in this package, else on PATH; None without one."""
    named = os.environ.get("OPTIMA_HOST")
    if named:
        return named if name == "optima-host" else str(pathlib.Path(named).with_name(name))
    inside = TREE / "bin" / name
    return str(inside) if inside.exists() else shutil.which(name)


def program(name="optima-host"):
    """The same; raises Error without one."""
    found = find_program(name)
    if not found:
        raise Error(f"{name} is neither in this package nor on PATH, wanted there, or optima-host named by OPTIMA_HOST", "usage")
    return found


def plugin_folders():
    """Folders of plugins for the runtime library: named by OPTIMA_PLUGINS, else in this package."""
    named = os.environ.get("OPTIMA_PLUGINS")
    inside = TREE / "lib/optima/plugins"
    return [str(pathlib.Path(named).expanduser())] if named else [str(inside)] if inside.is_dir() else []


def pythons_of_binding():
    """Which Pythons the bindings beside this file are for, in words: "CPython 3.12 and up"; "none" without one."""
    tags = sorted(path.name.split(".")[1] for path in pathlib.Path(__file__).absolute().parent.glob("_runtime.*.so"))
    return " and ".join("CPython 3.12 and up" if tag == "abi3" else tag for tag in tags) or "none"
