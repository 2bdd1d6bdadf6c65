# SPDX-License-Identifier: Apache-2.0
"""compile_many: jobs as Ray tasks, with a journal."""
from __future__ import annotations

import pathlib
import shutil
import tempfile

from optima.errors import Error
from optima.scale._ray import ray as find_ray
from optima.scale.jobs import compile_one, jobs_of
from optima.scale.journal import Journal
from optima.scale.cache import Cache

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Path = str | os.PathLike[str]
    Options = Mapping[str, Any]


def compile_many(models: Path | Iterable[Path] | Mapping[str, Path], targets: Sequence[Options] | Mapping[str, Options], *, cache: Path, journal: Path | None = None,
                 output: Path | None = None, retries: int = 3, num_cpus: float = 1, runtime_env: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Compiles every model for every target on Ray's cluster; gives one dict for each, models first: {"name", "key", "state", "package" or "error",
    "cached"}. What fails does not stop the others.

    models: a path, paths, or name -> path. targets: dicts of options of optima.compile, or name -> such a dict. cache: the folder, which all nodes
    of the cluster have to see under this path, as they have to see the models. journal: a JSON-lines file; what it says is done and the cache
    still has is not started again. output: a folder that each package is copied into by its name. retries: how often a job is started again when
    its worker dies. num_cpus: processors that Ray counts for a job. runtime_env: Ray's, of the workers. Connects to the cluster of this process, else as ray.init() does.
    Raises optima.Error for bad arguments, before anything starts."""
    jobs = jobs_of(models, targets)
    if len({job.name for job in jobs}) != len(jobs):
        raise Error("two jobs have one name, wanted models and targets whose names differ", "invalid_input")
    ray, store, folder = find_ray(), Cache(cache), output_folder(output)
    results = {}
    with Journal(journal) if journal is not None else Nothing() as kept:
        wanted = [(job, job.key()) for job in jobs]
        for job, key in wanted:
            package = store.find(key) if key in kept.done else None
            if package:
                results[job.name] = {"name": job.name, "key": key, "state": "done", "package": str(package), "cached": True}
        waiting = [(job, key) for job, key in wanted if job.name not in results]
        for job, key, what in run(ray, waiting, (str(store.folder), store.identity()), {"max_retries": retries, "num_cpus": num_cpus, "runtime_env": runtime_env or {}}):
            kept.add(job, key, **{name: what[name] for name in ("state", "package", "error") if name in what})
            results[job.name] = {"name": job.name, "key": key, **what}
    ordered = [results[job.name] for job in jobs]
    for result in ordered:
        if folder is not None and result["state"] == "done":
            try:
                result["package"] = str(copy(result["package"], folder / result["name"]))
            except OSError as error:
                result.update(state="failed", error=f"the package is in {result.pop('package')!r} and cannot be copied to {str(folder)!r}: {error.strerror or error}")
    return ordered


def output_folder(output):
    """The folder, which is there and can be written; None for None. Raises optima.Error."""
    if output is None:
        return None
    folder = pathlib.Path(output).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise Error(f"output {str(folder)!r} cannot be written: {error.strerror}", "io") from error
    return folder


def run(ray, jobs, where, options):
    """(job, key, outcome) of each as it ends. where: the last arguments of compile_one."""
    if jobs and not ray.is_initialized():
        ray.init()
    task = ray.remote(compile_one).options(**options) if jobs else None
    waiting = {task.remote(job, *where): (job, key) for job, key in jobs}
    while waiting:
        (ended,), _ = ray.wait(list(waiting), num_returns=1)
        yield (*waiting.pop(ended), outcome(ray, ended))


def outcome(ray, ended):
    try:
        made = ray.get(ended)
        return {"state": "done", "package": made["package"], "cached": made["cached"]}
    except ray.exceptions.RayTaskError as error:
        return {"state": "failed", "error": str(error.cause).splitlines()[0]}
    except ray.exceptions.RayError as error:  # the worker died once more than it may
        return {"state": "failed", "error": f"the job's worker died: {str(error).strip().splitlines()[0]}"}


def copy(package, to):
    """The package at `to`, whole at once."""
    staging = to.with_name(f".{to.name}.new")
    shutil.rmtree(staging, ignore_errors=True)
    shutil.copytree(package, staging)
    if to.exists():
        shutil.rmtree(to)
    staging.rename(to)
    return to


class Nothing:
    """The journal of whoever wants none."""
    done = {}

    def add(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
