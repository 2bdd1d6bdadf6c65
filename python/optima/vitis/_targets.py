# SPDX-License-Identifier: Apache-2.0
"""Names of targets, as users of Vitis AI write them, and as optima-host knows them. Standard library alone."""
import json
import pathlib
import platform

from optima import _host
from optima.errors import Error

HOST = "llvm"  # the processor, by llvm_cpu
DPUS = ("DPUCADX8G", "DPUCZDX8G-zcu104", "DPUCZDX8G-zcu102", "DPUCZDX8G-kv260", "DPUCVDX8G", "DPUCVDX8H", "DPUCADF8H", "DPUCAHX8H-u50", "DPUCAHX8H-u280", "DPUCAHX8L")
MACHINES = {"x86_64": "X64:0", "aarch64": "ARM64:0"}


def host_device(target):
    """optima-host's name of the processor of a target "llvm", or "llvm -mtriple=aarch64-linux-gnu"."""
    words = str(target).split()
    if not words or words[0] != HOST:
        raise Error(f"target is {target!r}, wanted 'llvm', or 'llvm -mtriple=…' for another machine", "invalid_input")
    triples = [word.partition("=")[2] for word in words[1:] if word.startswith(("-mtriple=", "--mtriple="))]
    machine = triples[-1].partition("-")[0] if triples else platform.machine()
    if len(triples) + 1 != len(words) or machine not in MACHINES:
        raise Error(f"target is {target!r}, wanted 'llvm' with no option but -mtriple of {' or '.join(MACHINES)}", "invalid_input")
    return MACHINES[machine]


def is_here(device):
    return MACHINES.get(platform.machine()) == device


def dpu_device(dpu, supports=()):
    """optima-host's name of a DPU, None for "llvm". The device of DPUCZDX8G-zcu104 is DPUCZDX8G:0. Raises Error for a name that Vitis AI does not have, and
    one whose kind no plugin here serves and no manifest of supports describes."""
    if dpu == HOST:
        return None
    if dpu not in DPUS:
        raise Error(f"target {dpu!r} is unknown, wanted {HOST} or one of {', '.join(DPUS)}", "invalid_input")
    kind = dpu.partition("-")[0]
    there = {device["kind"] for plugin in _host.run_json("plugins")["plugins"] for device in plugin.get("devices", ())}
    for file in supports:
        there |= {device["kind"] for device in json.loads(pathlib.Path(file).read_text())["devices"]}
    if kind not in there:
        raise Error(f"target {dpu!r} needs a vendor's plugin that serves devices of kind {kind}, found none: OPTIMA_PLUGINS names the folder that has it",
                    "plugin", device=f"{kind}:0")
    return f"{kind}:0"


def config_of(dpu, device, host):
    """A config of the two devices in which the DPU is told which one it is."""
    return json.dumps({"devices": [{"name": device, "target": {"dpu": dpu}}, host]})  # JSON is YAML
