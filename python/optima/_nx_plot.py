# SPDX-License-Identifier: Apache-2.0
"""A networkx graph of optima.torch2nx as a picture, through Graphviz' dot."""
import colorsys
import os
import pathlib
import shutil
import subprocess

from optima import _nx_graph
from optima._allocation import read_allocation
from optima._bad_input import bad_input
from optima.errors import Error

TENSOR = "#dddddd"
FORMATS = ("png", "svg")


def draw(graph, stem, allocation, figsizenum):
    """Writes <stem>.png and <stem>.svg. allocation: operation -> device, as a dict or a JSON file. Gives the two paths. Raises optima.Error."""
    if not isinstance(figsizenum, (int, float)) or isinstance(figsizenum, bool) or not 1 <= figsizenum <= 200:
        raise bad_input(f"figsizenum is {figsizenum!r}, wanted inches, 5 to 40")
    text = dot_of(graph, read_allocation(allocation), figsizenum)
    stem = pathlib.Path(stem).expanduser()
    if stem.suffix.lstrip(".") in FORMATS:
        stem = stem.with_suffix("")
    stem.parent.mkdir(parents=True, exist_ok=True)
    return [run_dot(text, stem.with_name(f"{stem.name}.{kind}"), kind) for kind in FORMATS]


def colors_of(devices):
    """A colour for each device, evenly around the wheel; light enough for black letters."""
    rgb = [colorsys.hsv_to_rgb(i / max(len(devices), 1), 0.5, 0.95) for i in range(len(devices))]
    return dict(zip(devices, ("#" + "".join(f"{round(255 * part):02x}" for part in color) for color in rgb)))


def dot_of(graph, allocation, size):
    devices = list(dict.fromkeys(str(device) for device in allocation.values()))
    colors = colors_of(devices)
    lines = ["digraph g {", f'graph [size="{size},{size}", dpi=100];', 'node [style=filled, fontname="sans"];']
    for name in graph:
        if _nx_graph.is_operation(graph, name):
            device = str(allocation[name]) if name in allocation else None
            label = quoted(f"{name}\n{device}" if device else str(name))
            lines.append(f"{quoted(name)} [shape=box, label={label}, fillcolor={quoted(colors[device] if device else 'white')}];")
        else:
            lines.append(f"{quoted(name)} [shape=ellipse, fillcolor={quoted(TENSOR)}];")
    lines += [f"{quoted(a)} -> {quoted(b)};" for a, b in graph.edges]
    lines += [f"{quoted(device)} [shape=note, label={quoted(device)}, fillcolor={quoted(color)}];" for device, color in colors.items()]
    return "\n".join([*lines, "}"])


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def run_dot(text, path, kind):
    if not shutil.which("dot"):
        raise Error("dot is not on PATH, wanted Graphviz' (apt install graphviz)", "plugin")
    staging = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        ran = subprocess.run(["dot", f"-T{kind}", "-o", staging], input=text, capture_output=True, text=True)
        if ran.returncode:
            raise Error(f"dot cannot draw {str(path)!r}: {' '.join(ran.stderr.split())[:200]}", "io")
        staging.replace(path)
    finally:
        staging.unlink(missing_ok=True)
    return path
