# SPDX-License-Identifier: Apache-2.0
"""Packages by what they were made of, in a folder that workers of several machines may share."""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import tempfile

from optima._bad_input import bad_input

STAMP, ID = "entry.json", "cache.id"


class Cache:
    """A folder of packages by key. Any number of processes: an entry appears whole, by a rename, and the first of several makers wins.

    An entry is folder/KEY[:2]/KEY: the package under its name, and entry.json, which lists the SHA-256 of every file. An entry that is not as
    listed is set aside and counts as absent, so it is made again. Entries come and go under the lock of their shelf (KEY[:2], a file lock.KEY[:2]), so what
    a process that was killed left half done there is removed by the next that holds it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(folder).expanduser().absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise bad_input(f"cache {str(self.folder)!r} is no folder that can be made: {error.strerror}") from error

    def find(self, key: str) -> pathlib.Path | None:
        """The folder of the package, or None."""
        entry = self.entry(key)
        if not entry.exists():
            return None
        package = whole(entry)
        if not package:
            try:
                with self._locked(entry.parent):  # another process may have replaced it meanwhile
                    package = whole(entry)
                    if not package:
                        self._discard(entry)
            except OSError as error:
                raise bad_input(f"broken entry {key} cannot be taken out of cache {str(self.folder)!r}: {error.strerror or error}") from error
        return package

    def publish(self, key: str, package: str | os.PathLike[str]) -> pathlib.Path:
        """Copies a package in; gives the folder of the entry's package, which is an earlier one's where that is whole."""
        package, entry = pathlib.Path(package), self.entry(key)
        try:
            entry.parent.mkdir(exist_ok=True)
            with self._locked(entry.parent):
                found = whole(entry)
                if not found:
                    self._discard(entry)
                    self._put(package, entry)
                return found or entry / package.name
        except OSError as error:
            raise bad_input(f"entry {key} cannot be put into cache {str(self.folder)!r}: {error.strerror or error}") from error

    @staticmethod
    def _put(package, entry):
        staging = pathlib.Path(tempfile.mkdtemp(prefix=".new.", dir=entry.parent))
        try:
            shutil.copytree(package, staging / package.name)
            (staging / STAMP).write_text(json.dumps({"name": package.name, "files": hashes(staging / package.name)}), encoding="utf-8")
            staging.chmod(0o755)  # a temporary folder is its maker's alone
            staging.rename(entry)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def identity(self) -> str:
        """A random word that lies in the folder from its first use on: who reads the same sees the same folder. Raises optima.Error."""
        try:
            with self._locked(self.folder / "id"):
                if not (self.folder / ID).exists():
                    made = self.folder / f"{ID}.new"
                    made.write_text(secrets.token_hex(16), encoding="utf-8")
                    made.rename(self.folder / ID)
                return (self.folder / ID).read_text(encoding="utf-8")
        except OSError as error:
            raise bad_input(f"cache {str(self.folder)!r} cannot be written to: {error.strerror or error}") from error

    def entry(self, key: str) -> pathlib.Path:
        return self.folder / key[:2] / key

    @contextlib.contextmanager
    def _locked(self, shelf):
        """What takes entries away or puts them in place does so one at a time; the operating system unlocks for a process that dies."""
        with open(self.folder / f"lock.{shelf.name}", "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for left in (*shelf.glob(".new.*"), *shelf.glob(".old.*")):
                shutil.rmtree(left, ignore_errors=True)
            yield

    @staticmethod
    def _discard(entry):
        """Away, where it is there, by a rename first, so that nobody sees half of it. Under the lock."""
        if entry.exists():
            aside = pathlib.Path(tempfile.mkdtemp(prefix=".old.", dir=entry.parent))
            entry.rename(aside / "entry")
            shutil.rmtree(aside, ignore_errors=True)


def whole(entry):
    """The package of an entry whose files are as listed, else None."""
    try:
        stamp = json.loads((entry / STAMP).read_text(encoding="utf-8"))
        package = entry / stamp["name"]
        return package if hashes(package) == stamp["files"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def hashes(folder):
    """SHA-256 of every file below a folder, by its path in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[path.relative_to(folder).as_posix()] = sha256(path)
    return found


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
