# SPDX-License-Identifier: Apache-2.0
"""OptimaV2's entry point on Optima: a graph, an allocation in its names, and a list of kinds become a package (docs/manager.md)."""
from __future__ import annotations

import difflib
import fnmatch
import logging
import os
import pathlib
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from optima import _host, models
from optima._allocation import read_allocation
from optima._bad_input import bad_input
from optima.compiler import compile
from optima.devices import DeviceEnum
from optima.errors import Error
from optima.package import Package

# Kinds whose files are made of codes: representative samples are for them alone.
CODED = ("HEXAGON",)
log = logging.getLogger("optima")


class Manager:
    """Has no state: one may serve several threads."""

    def optimize(self, module_name: str, device_info: Iterable[DeviceEnum | str], model_graph_or_gpickle: Any, output_folder_dir: str | os.PathLike,
                 device_alloc_per_kernel_json_dir: str | os.PathLike | Mapping[str, Any] | None = None, sample_inputs: Iterable[Any] | None = None,
                 need_gpu: bool = False, *, save_calib: bool = False) -> Package:
        """Writes the package <output_folder_dir>/<module_name> (model.meta, Subgraph_0, ...; one that is there is replaced) and gives it as an
        optima.Package. Raises optima.Error.

        device_info: DeviceEnums or kinds; nothing is placed on others, and an allocation that names another is an error.
        model_graph_or_gpickle: a DiGraph of optima.torch2nx or the path of its gpickle, the path of an ONNX file, or a torch module,
          which takes its example inputs from sample_inputs' first.
        device_alloc_per_kernel_json_dir: operation -> device, a JSON file or a dict, in the names of the graph; names of the ONNX model, globs and
          op:Type are taken, too. What it does not name, and None, is placed automatically.
        sample_inputs: list of tuples of tensors, representative data: used for nodes that are placed on HEXAGON, by the allocation or automatically, which are
          then computed in codes where it takes them.
        need_gpu: a torch module is converted on the GPU.
        save_calib: keeps the first 8 samples of what each subgraph reads in the package (calib/<subgraph>/<tensor>.npy); wants sample_inputs, which are then
          read wherever nodes are placed."""
        kinds = kinds_of(device_info)
        samples = list(sample_inputs) if sample_inputs is not None else None
        if save_calib and not samples:
            raise bad_input("save_calib is True, and sample_inputs are missing: wanted at least one tuple of tensors")
        model, operations = model_of(model_graph_or_gpickle, samples, need_gpu)
        wishes = read_allocation(device_alloc_per_kernel_json_dir) if device_alloc_per_kernel_json_dir is not None else {}
        named = devices_in(wishes, kinds)
        allocation = allocation_of(wishes, operations)
        devices = candidates(kinds, named)
        coded = [device for device in devices if kind_of(device) in CODED] if samples else []
        if samples and not coded and not save_calib:
            log.info("sample_inputs are not needed: nothing can be placed on %s", " or ".join(CODED))
        try:
            return compile(model, devices=devices, allocation=allocation or None, output=checked_folder(output_folder_dir),
                           name=checked_name(module_name), precision={device: "auto" for device in coded} or None, calibration=samples if coded or save_calib else None,
                           save_calib=bool(save_calib))
        except Error as error:
            raise in_names_of_graph(error, operations) from error


def kinds_of(device_info):
    """Kinds of a list of DeviceEnums or of their names."""
    listed = [device_info] if isinstance(device_info, (str, DeviceEnum)) else list(device_info or ())
    kinds = []
    for device in listed:
        kind = device.kind if isinstance(device, DeviceEnum) else device
        if not isinstance(kind, str) or not kind or ":" in kind:
            raise bad_input(f"device_info has {device!r}, wanted a DeviceEnum, such as DEVICE_KIND_X64, or a kind")
        kinds.append(kind.removeprefix("DEVICE_KIND_"))
    if not kinds:
        raise bad_input("device_info is empty, wanted at least one DeviceEnum")
    return list(dict.fromkeys(kinds))


def model_of(given, samples, need_gpu):
    """(what optima.compile takes, operation -> names of ONNX nodes or None)."""
    if models.is_torch_module(given):
        if not samples:
            raise bad_input("sample_inputs are missing, wanted at least one tuple of tensors: the model is a torch module")
        from optima.torch2nx import Torch2GraphConverter
        first = samples[0] if isinstance(samples[0], (tuple, list)) else (samples[0],)
        given = Torch2GraphConverter().convert(model=given, fake_torch_data=list(first), gpu=need_gpu)
    elif isinstance(given, (str, os.PathLike)):
        path = pathlib.Path(given).expanduser()
        if path.suffix in (".onnx", ".onnxtxt", ".pb"):
            return path, None
        from optima import gpickle
        given = gpickle.read(path)
    elif models.is_model_proto(given):
        return given, None
    return onnx_in(given)


def onnx_in(graph):
    import networkx
    from optima import _nx_graph
    if not isinstance(graph, networkx.DiGraph):
        raise bad_input(f"model_graph_or_gpickle is {type(graph).__name__}, wanted a DiGraph of optima.torch2nx, the path of a gpickle or ONNX file, or a torch module")
    held = graph.graph.get("onnx")
    if not isinstance(held, bytes):
        raise bad_input("the graph holds operations and shapes, but no weights: it is of an earlier system; export again with optima.torch2nx")
    return held, _nx_graph.operations(graph)


def allocation_of(allocation, operations):
    """The allocation in names of the ONNX model. A key of the graph means every node that its operation became; of several that name a node
    the exact one decides, else the longest glob."""
    if operations is None:
        return allocation
    nodes, out = {node for of in operations.values() for node in of}, {}
    for key in sorted(allocation, key=lambda key: (key in operations or key in nodes, len(key))):
        out.update(dict.fromkeys(names_of(key, operations, nodes), allocation[key]))
    return out


def names_of(key, operations, nodes):
    if key in operations:
        return operations[key]
    if key in nodes or key == "*" or key.startswith("op:"):
        return [key]
    found = [node for name, of in operations.items() if fnmatch.fnmatchcase(name, key) for node in of]
    if not found:
        near = difflib.get_close_matches(key, operations)
        raise bad_input(f"allocation names {key!r}, which the graph has not" + (f" (nearest: {', '.join(map(repr, near))})" if near else ""))
    return found


def in_names_of_graph(error, operations):
    """The error with every ONNX node that it names told as the operation that it belongs to."""
    owner = {repr(node): f"{name!r} ({node})" for name, of in (operations or {}).items() for node in of}
    text = re.sub("|".join(map(re.escape, sorted(owner, key=len, reverse=True))) or "$^", lambda found: owner[found[0]], str(error))
    node = next((name for name, of in (operations or {}).items() if error.node in of), error.node)
    return Error(text, error.code, node=node, device=error.device)


def kind_of(device):
    return device.rpartition("/")[2].partition(":")[0]


def devices_in(allocation, kinds):
    """Devices that an allocation names, each once. Raises where one is of a kind outside the list."""
    devices = {}
    for key, value in allocation.items():
        wish = value.get("device", "auto") if isinstance(value, dict) else value
        for device in wish if isinstance(wish, list) else [wish]:
            if not isinstance(device, str):
                raise bad_input(f"allocation puts {key!r} on {device!r}, wanted a device like 'X64:0'")
            if device in ("auto", "host"):
                continue
            if kind_of(device) not in kinds:
                raise bad_input(f"allocation puts {key!r} on {device!r}, which is outside device_info ({', '.join(kinds)})")
            devices[device] = None
    return list(devices)


def candidates(kinds, named):
    """Devices for what the allocation leaves open, in the order of device_info: of each kind those that the allocation names, else the first,
    where a plugin serves the kind."""
    served, out = {kind_of(device[key]) for device in _host.run_json("devices")["devices"] for key in ("device", "full_name")}, []
    for kind in kinds:
        of_kind = [device for device in named if kind_of(device) == kind]
        if not of_kind and kind not in served:
            warnings.warn(f"device_info has {kind}, which no plugin serves here", stacklevel=3)
        out += of_kind or [f"{kind}:0"] * (kind in served)
    if not out:
        raise bad_input(f"no plugin serves any kind of device_info ({', '.join(kinds)})")
    return out


def checked_folder(folder):
    if not isinstance(folder, (str, os.PathLike)) or not str(folder):
        raise bad_input(f"output_folder_dir is {folder!r}, wanted a folder")
    return pathlib.Path(folder).expanduser()


def checked_name(name):
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise bad_input(f"module_name is {name!r}, wanted a name for a folder")
    return name
