# SPDX-License-Identifier: Apache-2.0
"""The folder of a build: packages in float and int8, and the samples between them, each on disk before its call returns."""
import fcntl
import hashlib
import json
import os
import pathlib
import zipfile

import numpy as np

from optima.errors import Error

STATE, LOCK = "vitis.json", ".lock"


def identity(module, device, host):
    """What a folder's calibration is of."""
    with open(module.model, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"vitis": 1, "model": digest, "words": list(module.words), "dpu": module.dpu, "devices": [d for d in (device, host) if d]}


def checked(folder, wanted):
    """Whether the folder is one of ours; raises Error when it is of something else."""
    path = folder / STATE
    if not path.exists():
        return False
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Error(f"'{path}' cannot be read: {error}", "invalid_input") from error
    if found != wanted:
        said = "another model" if not isinstance(found, dict) or found.get("model") != wanted["model"] else "another target or other sizes"
        raise Error(f"build folder '{folder}' is of {said}, wanted one of this build, or a new one", "invalid_input")
    return True


def refuse_foreign(folder):
    """Raises Error when the folder holds what no build made; before anything is written to it."""
    if folder.exists() and not folder.is_dir():
        raise Error(f"build folder '{folder}' is a file, wanted a folder", "invalid_input")
    others = sorted(p.name for p in folder.iterdir() if p.name != LOCK) if folder.exists() else []
    if others and not (folder / STATE).exists():
        raise Error(f"build folder '{folder}' holds other things ('{others[0]}'), wanted an empty one or one of an earlier build", "invalid_input")


class Folder:
    """A folder that this process calibrates into: no other does at the same time."""

    def __init__(self, path, wanted, samples=None):
        self.path, self.samples, self._lock = path, samples or path / "samples", None
        refuse_foreign(path)
        path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._take(wanted)
        except BaseException:
            self.close()
            raise

    def _take(self, wanted):
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Error(f"build folder '{self.path}' is being calibrated into by another library or process", "usage") from error
        if not checked(self.path, wanted):
            write_whole(self.path / STATE, (json.dumps(wanted) + "\n").encode())
        self.samples.mkdir(parents=True, exist_ok=True)
        for left in self.samples.glob(".*.part"):
            left.unlink()

    def count(self):
        """Samples that are there from the first on without a gap."""
        there = 0
        while self.sample(there).exists():
            there += 1
        return there

    def sample(self, number):
        return self.samples / f"{number:06}.npz"

    def write_sample(self, number, arrays):
        """One sample, whole or not at all, and on the disk when this returns."""
        part = self.samples / f".{number:06}.part"
        try:
            with open(part, "wb") as file:
                with zipfile.ZipFile(file, "w") as archive:
                    for name, array in arrays.items():
                        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                            np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.sample(number))
        finally:
            part.unlink(missing_ok=True)

    def close(self):
        """Gives the folder free; may be called again."""
        held, self._lock = self._lock, None
        if held is not None:
            os.close(held)

    __del__ = close


def write_whole(path, content):
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def has_package(folder, name):
    return (pathlib.Path(folder) / name / "model.meta").exists()
