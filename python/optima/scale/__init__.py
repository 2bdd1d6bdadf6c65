# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs on many machines, by Ray (docs/scale.md).

    results = optima.scale.compile_many(["a.onnx", "b.onnx"], [{"devices": ["X64:0"]}], output="out", cache="/shared/cache", journal="jobs.jsonl")
    answers = dataset.map_batches(optima.scale.BatchPredictor, fn_constructor_args=["out/a"], compute=ray.data.ActorPoolStrategy(size=4))

Importing this loads neither numpy nor Ray; compile_many and deployment need Ray, Job, compile_one, Cache and BatchPredictor do not.
"""
import importlib

_LAZY = {"BatchPredictor": "predictor", "Cache": "cache", "Job": "jobs", "Journal": "journal", "compile_many": "many", "compile_one": "jobs", "deployment": "_deployment"}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'optima.scale' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"optima.scale.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(_LAZY)
