# SPDX-License-Identifier: Apache-2.0
"""Where the programs and plugins are. The wheel carries an installed tree in optima/_native (bin, lib, lib/optima/plugins)."""
import os
import pathlib
import shutil

from optima.errors import Error

TREE = pathlib.Path(__file__).absolute().parent / "_native"


def find_program(name):
    """The path of optima-host or optima-run: in this package, else named by OPTIMA_HOST (optima-run beside it), else on PATH; None without one."""
    inside = TREE / "bin" / name
    if inside.exists():
        return str(inside)
    named = os.environ.get("OPTIMA_HOST")
    if named:
        return named if name == "optima-host" else str(pathlib.Path(named).with_name(name))
    return shutil.which(name)


def program(name="optima-host"):
    """The same; raises Error without one."""
    found = find_program(name)
    if not found:
        raise Error(f"{name} is not in this package, wanted there, on PATH, or optima-host named by OPTIMA_HOST", "usage")
    return found


def plugin_folders():
    """Folders of plugins, found as optima-host finds them: OPTIMA_PLUGINS, else lib/optima/plugins beside the program's folder; may be none."""
    named = os.environ.get("OPTIMA_PLUGINS")
    if named:
        return [str(pathlib.Path(named).expanduser())]
    found = find_program("optima-host")
    if not found:
        return []
    beside = pathlib.Path(found).resolve().parent.parent / "lib/optima/plugins"
    return [str(beside)] if beside.is_dir() else []
