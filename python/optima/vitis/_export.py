# SPDX-License-Identifier: Apache-2.0
"""Exported libraries: a folder, or a tar file of one, with a package and vitis.json. Standard library alone."""
import json
import pathlib
import shutil
import tarfile
import tempfile

from optima.errors import Error
from optima.vitis._folder import STATE

TARS = {".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz"}


def copy_whole(source, target):
    """Copies a file, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        shutil.copyfile(source, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def tar_mode(path):
    return next((mode for ending, mode in TARS.items() if path.name.endswith(ending)), None)


def write_library(path, package, about):
    """Writes PATH/<name>, a copy of the package, and PATH/vitis.json. Replaces what an earlier export left there, and nothing else."""
    if path.is_dir() and not (path / STATE).exists():
        raise Error(f"'{path}' is a folder of something else, wanted a new name or an exported library", "invalid_input")
    if path.exists() and not path.is_dir() and not tar_mode(path):
        raise Error(f"'{path}' is a file, wanted a new name, an exported library or a name that ends with {' or '.join(TARS)}", "invalid_input")
    try:
        write_at(path, package, about)
    except OSError as error:
        raise Error(f"'{path}' cannot be written: {error.strerror or error}", "io") from error


def write_at(path, package, about):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as work:
        made = pathlib.Path(work) / "library"
        shutil.copytree(package, made / about["name"])
        (made / STATE).write_text(json.dumps(about) + "\n")
        if tar_mode(path):
            whole = pathlib.Path(work) / path.name
            with tarfile.open(whole, tar_mode(path)) as tar:
                tar.add(made, arcname=".")
            made = whole
        if path.is_dir():
            path.rename(pathlib.Path(work) / "before")  # goes with the work folder
        made.replace(path)


def open_library(path):
    """(folder, what vitis.json says, what keeps the folder there)."""
    if path.is_dir():
        return path, about_of(path), None
    work = tempfile.TemporaryDirectory(prefix="optima_vitis_")
    try:
        with tarfile.open(path) as tar:
            tar.extractall(work.name, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise Error(f"'{path}' is no exported library: {error}", "invalid_input") from error
    return pathlib.Path(work.name), about_of(pathlib.Path(work.name), path), work


def about_of(folder, said=None):
    try:
        about = json.loads((folder / STATE).read_text())
        good = type(about["quantized"]) is bool and type(about["name"]) is str and about["name"] not in ("", "..") and pathlib.Path(about["name"]).name == about["name"]
    except (OSError, ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise Error(f"'{said or folder}' is no exported library, wanted one with {STATE}", "invalid_input")
    return about
