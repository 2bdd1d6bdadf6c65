# SPDX-License-Identifier: Apache-2.0
"""Optima from Python: compile ONNX models for several devices, and run what was compiled (docs/python.md).

    package = optima.runtime.Context().load_model("out/digits")
    answers = package.run(image=array)

Importing this imports nothing else: names are loaded when they are used.
"""
import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from optima import auto_split as auto_split, doctor as doctor, runtime as runtime, submodels as submodels
    from optima.errors import Error as Error

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


def __getattr__(name):
    where = _LAZY.get(name)
    if where is None:
        raise AttributeError(f"module 'optima' has no attribute {name!r}")
    module = importlib.import_module(where)
    value = module if where == f"optima.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LAZY})
