# SPDX-License-Identifier: Apache-2.0
"""One compilation as data, and as a plain function that any engine may call."""
from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import platform

from optima import _host, _native, _scratch
from optima._bad_input import bad_input
from optima.errors import Error
from optima.scale.cache import ID, Cache, hashes, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from typing import Any

FILES = ("allocation", "calibration")  # options of optima.compile that may be paths; others that end so are below
FILE_OPTIONS = ("config", "plan", "encodings", "costs", "support", "calib")


@dataclasses.dataclass(frozen=True)
class Job:
    """An ONNX file and one set of options of optima.compile, which have to be JSON. name: of the package."""
    model: str
    options: dict[str, Any]
    name: str

    def key(self) -> str:
        """What the package depends on: the model's bytes (and those of its external data), the options with the bytes of the files that they name,
        the program, its plugins, and the machine that compiles: its processor, which kernels are for unless a target says otherwise, and the devices that
        plugins find, which are the candidates. Raises optima.Error."""
        said = {"model": model_hash(self.model), "options": {name: named(name, value) for name, value in self.options.items()}, "name": self.name,
                "made_by": maker(program_stamp(), json.dumps(plugin_words(self.options)), os.environ.get("OPTIMA_PLUGINS", "")), "processor": processor()}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def compile_one(job: Job, cache: str | os.PathLike[str], identity: str | None = None) -> dict[str, Any]:
    """Compiles a job, or finds it in a cache (a folder): {"key", "package", "cached"}. Plain and picklable. identity: of the caller's cache, by which
    a worker on another machine tells that its folder is the same. Raises optima.Error."""
    from optima.compiler import compile
    if identity is not None:
        check_shared(job, cache, identity)
    store, key = Cache(cache), job.key()
    found = store.find(key)
    if found:
        return {"key": key, "package": str(found), "cached": True}
    with _scratch.Folder("job") as folder:
        made = compile(job.model, output=folder, name=job.name, **job.options)
        return {"key": key, "package": str(store.publish(key, made.path)), "cached": False}


def check_shared(job, cache, identity):
    """Raises optima.Error where this machine has not what the caller has under these paths. Makes nothing."""
    try:
        found = (pathlib.Path(cache) / ID).read_text(encoding="utf-8")
    except OSError:
        found = None
    if found != identity:
        raise bad_input(f"cache {str(cache)!r} on node {platform.node()!r} is not the caller's, wanted a folder that all nodes see under this path")
    for path in [job.model, *(value for name in (*FILES, *FILE_OPTIONS, "plugins") for value in listed(job.options.get(name)))]:
        if isinstance(path, str) and os.path.isabs(path) and not os.path.exists(path):
            raise bad_input(f"{path!r} is not there on node {platform.node()!r}, wanted a path that all nodes see")


def listed(value):
    return value if isinstance(value, list) else [value]


def jobs_of(models, targets):
    """A Job for each model and target. models: a path, paths, or name -> path; targets: dicts of options, or name -> such a dict. Raises optima.Error."""
    named_models, named_targets = names_of(models), targets_of(targets)
    jobs = []
    for model_name, path in named_models.items():
        if not os.path.isfile(os.path.expanduser(path)):
            raise bad_input(f"model {str(path)!r} is no file, wanted an ONNX model")
        for target_name, options in named_targets.items():
            check(target_name, options)
            name = f"{model_name}.{target_name}" if target_name else model_name
            check_name(name)
            jobs.append(Job(str(pathlib.Path(path).expanduser().absolute()), {n: resolved(n, v) for n, v in options.items()}, name))
    return jobs


def names_of(models):
    """name -> path."""
    if isinstance(models, (str, os.PathLike)):
        models = [models]
    try:
        paths = list(models.values() if hasattr(models, "items") else models)
    except TypeError:
        paths = [models]
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise bad_input(f"models has {path!r:.60}, wanted paths of ONNX files, or name -> path")
    named = dict(models) if hasattr(models, "items") else {pathlib.Path(m).stem: m for m in paths}
    if len(named) != len(paths):
        raise bad_input("two models have one file name, wanted name -> path")
    return named


def targets_of(targets):
    """name -> options."""
    if not isinstance(targets, (list, tuple)) and not hasattr(targets, "items"):
        raise bad_input(f"targets is {targets!r:.60}, wanted a list of dicts of options of optima.compile, or name -> such a dict")
    return dict(targets) if hasattr(targets, "items") else {f"target{i}" if len(targets) > 1 else "": t for i, t in enumerate(targets)}


def check_name(name):
    """The rule of optima-host, which would say it once for each worker."""
    if not 0 < len(os.fsencode(name)) <= 200 or "/" in name or name.startswith("."):
        raise bad_input(f"a job would be called {name!r}, wanted models and targets whose names make one of 1 to 200 bytes without '/' and not starting with '.'")


def check(name, options):
    if not hasattr(options, "items"):
        raise bad_input(f"target {name!r} is a {type(options).__name__}, wanted a dict of options of optima.compile")
    taken = {"output", "name"} & set(options)
    if taken:
        raise bad_input(f"target {name!r} has {sorted(taken)[0]!r}, which compile_many gives itself")
    try:
        json.dumps(options)
    except (TypeError, ValueError) as error:
        raise bad_input(f"target {name!r} has options that are no JSON: {error}") from error


def resolved(name, value):
    """A file option with its path made absolute: workers have folders of their own."""
    if isinstance(value, list):
        return [resolved(name, one) for one in value]
    if name in (*FILES, *FILE_OPTIONS, "plugins") and isinstance(value, str) and os.path.exists(os.path.expanduser(value)):
        return str(pathlib.Path(value).expanduser().absolute())
    return value


def named(name, value):
    """An option's value, a file or folder as the hash of what is in it."""
    if name in FILES + FILE_OPTIONS and isinstance(value, (str, os.PathLike)):
        path = pathlib.Path(value).expanduser()
        return {"sha256": hashes(path) if path.is_dir() else sha256(path)} if path.exists() else str(value)
    if isinstance(value, list) and name in FILE_OPTIONS:
        return [named(name, one) for one in value]
    return value


def model_hash(path):
    """Of the file, and of the files beside and below it whose paths it holds, as it does of its external data."""
    path = pathlib.Path(path)
    data = path.read_bytes()
    return hashlib.sha256(json.dumps([hashlib.sha256(data).hexdigest(), *named_files(path.parent, "", data, path)]).encode()).hexdigest()


def named_files(folder, prefix, data, model):
    """[path, SHA-256] of each file whose path from the model's folder is among the bytes; only folders that are named too are looked into."""
    found = []
    for entry in sorted(folder.iterdir()):
        name = prefix + entry.name
        if name.encode() in data and entry != model:
            if entry.is_file():
                found.append([name, sha256(entry)])
            elif entry.is_dir():
                found += named_files(entry, name + "/", data, model)
    return found


def plugin_words(options):
    folders = options.get("plugins") or []
    return [word for folder in ([folders] if isinstance(folders, str) else folders) for word in ("--plugins", folder)]


def program_stamp():
    """Changes when the program does; the versions are asked for once for each."""
    program = _native.program()
    try:
        stat = os.stat(program)
    except OSError as error:
        raise Error(f"{program!r} is not there, wanted optima-host: {error.strerror}", "plugin") from error
    return f"{stat.st_mtime_ns}:{stat.st_size}"


@functools.lru_cache(maxsize=8)
def maker(stamp, words, folder):
    """The program and its plugins by their bytes, for builds of one version differ, and the devices that these find."""
    document = _host.run_json(*json.loads(words), "plugins")
    return {"program": sha256(_native.program()), "plugins": sorted(sha256(p["path"]) for p in document["plugins"]),
            "devices": sorted(json.dumps(d, sort_keys=True) for d in document["devices"])}


@functools.cache
def processor():
    """Kind and instructions of the machine's processor, as Linux tells them."""
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU implementer", "CPU part", "CPU variant")
    found = set()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in wanted:
                    found.add(f"{name.strip()}: {' '.join(sorted(value.split()))}")
    except OSError:  # the architecture is known anyway
        pass
    return [platform.machine(), *sorted(found)]
