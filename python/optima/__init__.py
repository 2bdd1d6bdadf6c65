# SPDX-License-Identifier: Apache-2.0
"""Optima from Python: compile ONNX models for several devices, and run what was compiled (docs/python.md).

    package = optima.runtime.Context().load_model("out/digits")
    answers = package.run(image=array)

Importing this imports nothing else: names are loaded when they are used.
"""
import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from optima import auto_split as auto_split, doctor as doctor, runtime as runtime, scale as scale, serve as serve
    from optima import submodels as submodels, torch2hpvm as torch2hpvm, vitis as vitis
    from optima.compiler import compile as compile
    from optima.devices import DeviceEnum as DeviceEnum
    from optima.errors import Error as Error
    from optima.manager import Manager as Manager
    from optima.package import Package as Package

__version__ = "0.1.0"

# Name -> the module that has it; a module that has the name of its own stands for itself.
_LAZY = {
    "DeviceEnum": "optima.devices",
    "Error": "optima.errors",
    "Manager": "optima.manager",
    "Package": "optima.package",
    "auto_split": "optima.auto_split",
    "compile": "optima.compiler",
    "doctor": "optima.doctor",
    "runtime": "optima.runtime",
    "scale": "optima.scale",
    "serve": "optima.serve",
    "submodels": "optima.submodels",
    "torch2hpvm": "optima.torch2hpvm",
    "vitis": "optima.vitis",
}


if not TYPE_CHECKING:  # or every name would be one for type checkers
    def __getattr__(name):
        where = _LAZY.get(name)
        if where is None:
            raise AttributeError(f"module 'optima' has no attribute {name!r}")
        module = importlib.import_module(where)
        value = module if where == f"optima.{name}" else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
