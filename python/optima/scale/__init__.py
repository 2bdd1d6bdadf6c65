# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs on many machines, by Ray (docs/scale.md).

    results = optima.scale.compile_many(["a.onnx", "b.onnx"], [{"devices": ["X64:0"]}], output="out", cache="/shared/cache", journal="jobs.jsonl")
    answers = dataset.map_batches(optima.scale.BatchPredictor, fn_constructor_args=["out/a"], compute=ray.data.ActorPoolStrategy(size=4))

Importing this loads neither numpy nor Ray; compile_many and deployment need Ray, Job, compile_one, Cache and BatchPredictor do not.
"""
import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from optima.scale._deployment import deployment as deployment
    from optima.scale.cache import Cache as Cache
    from optima.scale.jobs import Job as Job, compile_one as compile_one
    from optima.scale.journal import Journal as Journal
    from optima.scale.many import compile_many as compile_many
    from optima.scale.predictor import BatchPredictor as BatchPredictor

_LAZY = {"BatchPredictor": "predictor", "Cache": "cache", "Job": "jobs", "Journal": "journal", "compile_many": "many", "compile_one": "jobs", "deployment": "_deployment"}


if not TYPE_CHECKING:  # or every name would be one for type checkers
    def __getattr__(name):
        if name not in _LAZY:
            raise AttributeError(f"module 'optima.scale' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"optima.scale.{_LAZY[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(_LAZY)
