# SPDX-License-Identifier: Apache-2.0
"""annotate, merge, partition: which nodes the target takes, joined to regions, cut out of the graph. Each takes what the one before gave."""
from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile

from optima import _host
from optima.errors import Error
from optima.vitis import _targets

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    Path = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Module:
    """A model on its way to build()."""
    model: pathlib.Path
    dpu: str
    step: str                  # "annotated", "merged", "partitioned"
    taken: dict[str, bool]     # node -> whether the target takes it
    reasons: dict[str, str]    # node that it refuses -> the plugin's sentence
    regions: tuple[tuple[str, ...], ...] = ()  # from merge(): names of the nodes of each piece that goes to the target
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()  # from partition(): (device, names of nodes), in the order they run
    words: tuple[str, ...] = dataclasses.field(default=(), repr=False)  # of optima-host: sizes, and manifests without a plugin
    plan: dict[str, Any] | None = dataclasses.field(default=None, repr=False)  # optima-host's


def annotate(model: Path, dpu: str = _targets.HOST, *, shapes: Mapping[str, Sequence[int]] | None = None, supports: Sequence[Path] = ()) -> Module:
    """Asks the target of every node of an ONNX file. dpu: one of DPUS, whose plugin a vendor supplies, or "llvm". shapes: input -> sizes, where the file leaves
    them open. supports: manifests without a plugin (JSON files), to look at a split for silicon whose plugin is not here; build() refuses that.
    Raises optima.Error."""
    model = pathlib.Path(model).expanduser().absolute()
    device, host = _targets.dpu_device(dpu, supports), _targets.host_device(_targets.HOST)
    words = [word for name, sizes in (shapes or {}).items() for word in ("--shape", f"{name}={','.join(map(str, sizes)) or 'scalar'}")]
    words += [word for file in supports for word in ("--support", str(file))]
    with tempfile.TemporaryDirectory() as folder:
        plan = _host.run_json("plan", model, *words, *placing(folder, device, host))
    answers = {node["name"]: node["answers"].get(device or host, {}) for node in plan["nodes"]}
    return Module(model, dpu, "annotated", {name: bool(a.get("yes")) for name, a in answers.items()},
                  {name: a.get("text", "") for name, a in answers.items() if not a.get("yes")}, words=tuple(words), plan=plan)


def placing(folder, device, host):
    """optima-host's words for: every node that the DPU takes goes there, the others to the processor."""
    if device is None:
        return ["--device", host]
    alloc = pathlib.Path(folder) / "alloc.json"
    alloc.write_text(json.dumps({"*": [device, host]}))
    return ["--alloc", alloc]


def merge(module: Module) -> Module:
    """Joins neighbours that the target takes to as few regions as have no cycle between them."""
    of = after(module, "annotated")
    pieces = members(of)
    target = {node["device"] for node in of.plan["nodes"] if of.taken[node["name"]]}
    return dataclasses.replace(of, step="merged", regions=tuple(nodes for device, nodes in pieces if device in target and any(of.taken[n] for n in nodes)))


def partition(module: Module) -> Module:
    """Cuts the graph into parts of one device each."""
    of = after(module, "merged")
    return dataclasses.replace(of, step="partitioned", parts=members(of))


def partition_for_vitis_ai(model: Path, params: None = None, dpu: str = _targets.HOST, *, shapes: Mapping[str, Sequence[int]] | None = None,
                           supports: Sequence[Path] = ()) -> Module:
    """All three, as TVM's function of that name. params: None; an ONNX file has its weights."""
    if params is not None:
        raise Error("params is given, wanted None: an ONNX file has its weights or names their file", "invalid_input")
    return partition(merge(annotate(model, dpu, shapes=shapes, supports=supports)))


def after(module, step):
    if not isinstance(module, Module) or module.step != step:
        found = f"one that is {module.step}" if isinstance(module, Module) else type(module).__name__
        raise Error(f"found {found}, wanted a module that is {step}", "usage")
    return module


def members(module):
    """((device, names), ...) of the plan's subgraphs."""
    nodes = [[] for _ in module.plan["subgraphs"]]
    for node in module.plan["nodes"]:
        nodes[node["subgraph"]].append(node["name"])
    return tuple((part["device"], tuple(names)) for part, names in zip(module.plan["subgraphs"], nodes))
