# SPDX-License-Identifier: Apache-2.0
"""What of Optima is installed here, what works, what is missing and the command that installs it.

    python -m optima.doctor            # exit code 0 when models can be compiled and run, 1 when not
    python -m optima.doctor --json

Standard library alone, so that it runs where nothing else does.
"""
from __future__ import annotations

import argparse
import ctypes.util
import dataclasses
import importlib.metadata
import importlib.util
import json
import platform
import shutil
import sys

import optima
from optima import _host, _native, _tensorflow
from optima.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from typing import Any

# Python packages that parts of optima load when they are used.
PACKAGES = (("ml_dtypes", "bfloat16, 8-bit floats and 4-bit integers as numpy arrays"),
            ("torch", "torch modules in optima.compile, torch.compile's backend, optima.torch2nx and optima.torch2hpvm"),
            ("onnx", "torch modules in optima.compile, ONNX models with examples, optima.torch2nx and optima.torch2hpvm"),
            ("onnxscript", "torch modules in optima.compile and optima.torch2nx"),
            ("networkx", "optima.torch2nx and optima.manager"),
            ("tqdm", "bars while optima.compile compiles"),
            ("onnxruntime", "optima.submodels"),
            ("aiohttp", "optima.serve"),
            ("prometheus_client", "optima.serve"),
            ("ray", "optima.scale on a cluster", "'ray[data,serve]'"))
SETUP = "in a checkout of Optima: scripts/setup --with {0}; then export {1}"


@dataclasses.dataclass
class Row:
    """One thing that was looked for. needed: without it models cannot be compiled or run. fix: a command, or what to do."""
    name: str
    ok: bool
    found: str
    needed: bool = False
    purpose: str = ""
    fix: str = ""


def examine() -> dict[str, Any]:
    """A dict: ok, rows (what was looked for), plugins, devices and refused (optima-host's own words). Raises nothing."""
    listing, host = host_row()
    rows = [Row("optima", True, f"{optima.__version__}, Python {platform.python_version()} on {platform.machine()}"), host, runtime_row()]
    rows += plugin_rows(listing["plugins"], {r["plugin"]: r["reason"] for r in listing.get("remarks", ()) if r["failed"]})
    rows += tool_rows(listing)
    return {"ok": all(row.ok for row in rows if row.needed), "rows": [dataclasses.asdict(row) for row in rows],
            "plugins": listing["plugins"], "devices": listing["devices"], "refused": listing["refused_kinds"]}


def host_row():
    """What optima-host says of its plugins and devices, and a row about itself."""
    nothing = {"plugins": [], "devices": [], "refused_kinds": []}
    row = Row("optima-host", False, "", True, "compiles models", "pip install --force-reinstall the wheel of scripts/wheel, or set OPTIMA_HOST to a built one")
    try:
        version = _host.run("--version").strip()
        listing = _host.run_json("plugins")
        row.ok, row.found, row.fix = True, f"{version.removeprefix('optima-host ')}, {_native.program()}", ""
        return listing, row
    except Error as error:
        row.found = str(error)
        return nothing, row


def runtime_row():
    row = Row("optima.runtime", False, "", True, "runs what was compiled, in Python's process")
    try:
        from optima import _runtime
        row.ok, row.found = True, "C API {}.{}, for {}, {}".format(*_runtime.library_version, _native.pythons_of_binding(), _runtime.__file__)
    except ImportError as error:
        row.found = f"the native binding does not load: {error}; bindings here are for: {_native.pythons_of_binding()}"
        row.fix = f"in a checkout of Optima: scripts/wheel --python {sys.executable}, then pip install what it made"
    return row


def plugin_rows(plugins, failed):
    """failed: id -> what a plugin said that could not be asked: its file was accepted, as it was when it was first seen, and does not load now."""
    rows, good = [], {}
    for plugin in plugins:
        name = plugin.get("id") or plugin["path"]
        why = plugin.get("refused") or failed.get(name)
        if why:
            rows.append(Row(f"plugin {name}", False, why, True, "a file of the plugin folder", fix_of(plugin)))
        else:
            good.setdefault(name, []).append(plugin)
    for name, files in good.items():
        roles = sorted({role for f in files for role in f["roles"]})
        kinds = sorted({d["kind"] for f in files for d in f["devices"]})
        rows.append(Row(f"plugin {name}", True, f"{files[0]['version']}, {' and '.join(roles)}, {' '.join(kinds)}"))
    if not good:
        rows.append(Row("plugins", False, "none that can be used", True, "each serves devices", "set OPTIMA_PLUGINS to a folder of plugins"))
    return rows


def fix_of(plugin):
    """What to do about a file that was refused: most often openvino's, whose libraries are another wheel's."""
    _, found, version = plugin.get("build", "").partition("+openvino.")
    repair = f"repair or remove {plugin['path']}"
    return f"{sys.executable} -m pip install openvino=={version}, or {repair}" if found else repair


def tool_rows(listing):
    dot, vulkan = shutil.which("dot"), ctypes.util.find_library("vulkan")
    ids = {plugin.get("id") for plugin in listing["plugins"]}
    rows = [package_row("numpy", "arrays of inputs and outputs", needed=True), *(package_row(*words) for words in PACKAGES), converter_row(),
            Row("Graphviz", bool(dot), dot or "dot is not on PATH", False, "optima-host view -o FILE.svg and .png", "apt-get install graphviz"),
            Row("Vulkan", bool(vulkan), vulkan or "no libvulkan.so.1", False, "spirv runs on it", "apt-get install libvulkan1 mesa-vulkan-drivers, or the driver of your GPU")]
    rows += vendor_rows(listing, ids)
    for row in rows:
        row.fix = "" if row.ok else row.fix
    return rows


def package_row(name, purpose, wanted="", needed=False):
    """wanted: what pip is asked for where that is not the name."""
    found = importlib.util.find_spec(name) is not None
    return Row(name, found, version_of(name) if found else "not installed", needed, purpose, f"{sys.executable} -m pip install {wanted or name}")


def version_of(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # a folder on the path
        return "installed"


def converter_row():
    absent = _tensorflow.missing()
    return Row("tf2onnx", not absent, f"not installed: {', '.join(absent)}" if absent else "installed", False, "auto_split of TensorFlow's and TFLite's models", _tensorflow.INSTALL)


def vendor_rows(listing, ids):
    """Toolchains of vendors, as their plugins find them."""
    rows = []
    for plugin, kind, name, fix in (("bmcompiler", "TPU", "SOPHON's tpu-mlir", SETUP.format("sophon", "OPTIMA_SOPHON=CHECKOUT/.deps/sophon")),
                                    ("snpe", "HEXAGON", "Qualcomm's tools", SETUP.format("qualcomm", "OPTIMA_QUALCOMM=CHECKOUT/.deps/qualcomm"))):
        if plugin in ids:
            here = [d["description"] for d in listing["devices"] if d["plugin"] == plugin and d["present"]]
            why = [r["reason"] for r in listing["refused_kinds"] if r["plugin"] == plugin and r["kind"] == kind]
            rows.append(Row(name, bool(here), (here or why or ["no device"])[0], False, f"{plugin} compiles with them", fix))
    if "openvino" not in ids:
        rows.append(Row("plugin openvino", False, "not installed: it comes in a wheel of its own", False, "Intel's processors, GPUs and NPUs",
                        f"{sys.executable} -m pip install FOLDER/optima_openvino-{optima.__version__}-*.whl, which scripts/wheel makes and which brings OpenVINO"))
    return rows


def text_of(report: dict[str, Any]) -> str:
    lines = []
    for row in report["rows"]:
        mark = "ok  " if row["ok"] else "FAIL" if row["needed"] else "-   "
        lines.append(f"{mark} {row['name']}: {row['found']}")
        if not row["ok"]:
            lines.append(f"       for: {row['purpose']}; get it: {row['fix']}" if row["fix"] else f"       for: {row['purpose']}")
    lines.append("devices here: " + (", ".join(f"{d['full_name']} ({d['description']})" for d in report["devices"] if d["present"]) or "none"))
    lines.append("to compile for: " + (", ".join(d["full_name"] for d in report["devices"] if not d["present"]) or "none"))
    lines += [f"not here: {r['plugin']}/{r['kind']}: {r['reason']}" for r in report["refused"]]
    missing = [row["name"] for row in report["rows"] if row["needed"] and not row["ok"]]
    lines.append(f"not ready: {', '.join(missing)}" if missing else "ready: models can be compiled and run")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="python -m optima.doctor", description="What is installed, what works, what is missing and the command that installs it.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    args = parser.parse_args()
    report = examine()
    print(json.dumps(report, indent=2) if args.json else text_of(report))
    sys.exit(0 if report["ok"] else 1)


if __name__ == "__main__":
    main()
