# SPDX-License-Identifier: Apache-2.0
"""One compilation as data, and as a plain function that any engine may call."""
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import tempfile

from optima import _host
from optima._bad_input import bad_input
from optima.scale.cache import Cache, hashes, sha256

FILES = ("allocation", "calibration")  # options of optima.compile that may be paths; others that end so are below
FILE_OPTIONS = ("config", "plan", "encodings", "costs", "support", "calib")


@dataclasses.dataclass(frozen=True)
class Job:
    """An ONNX file and one set of options of optima.compile, which have to be JSON. name: of the package."""
    model: str
    options: dict
    name: str

    def key(self):
        """What the package depends on: the model's bytes (and those of its external data), the options with the bytes of the files that they name,
        and the versions of the program and of its plugins. Raises optima.Error."""
        said = {"model": model_hash(self.model), "options": {name: named(name, value) for name, value in self.options.items()}, "name": self.name,
                "made_by": versions(program_stamp(), json.dumps(plugin_words(self.options)))}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def compile_one(job, cache):
    """Compiles a job, or finds it in a cache (a folder): {"key", "package", "cached"}. Plain and picklable. Raises optima.Error."""
    from optima.compiler import compile
    store, key = Cache(cache), job.key()
    found = store.find(key)
    if found:
        return {"key": key, "package": str(found), "cached": True}
    with tempfile.TemporaryDirectory(prefix="optima_job_") as folder:
        made = compile(job.model, output=folder, name=job.name, **job.options)
        return {"key": key, "package": str(store.publish(key, made.path)), "cached": False}


def jobs_of(models, targets):
    """A Job for each model and target. models: paths, or name -> path; targets: dicts of options, or name -> such a dict. Raises optima.Error."""
    named_models = dict(models) if hasattr(models, "items") else {pathlib.Path(m).stem: m for m in models}
    if len(named_models) != len(list(models)):
        raise bad_input("two models have one file name, wanted name -> path")
    named_targets = dict(targets) if hasattr(targets, "items") else {f"target{i}" if len(targets) > 1 else "": t for i, t in enumerate(targets)}
    jobs = []
    for model_name, path in named_models.items():
        if not os.path.isfile(os.path.expanduser(path)):
            raise bad_input(f"model {str(path)!r} is no file, wanted an ONNX model")
        for target_name, options in named_targets.items():
            check(target_name, options)
            jobs.append(Job(str(pathlib.Path(path).expanduser().absolute()), {n: resolved(n, v) for n, v in options.items()}, f"{model_name}.{target_name}" if target_name else model_name))
    return jobs


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
    from optima import _native
    stat = os.stat(_native.program())
    return f"{stat.st_mtime_ns}:{stat.st_size}"


@functools.lru_cache(maxsize=8)
def versions(stamp, words):
    document = _host.run_json(*json.loads(words), "plugins")
    return [_host.run("--version").strip(), *sorted(f"{p['id']} {p['version']} {p['build']} {sorted(p['roles'])}" for p in document["plugins"])]
