# SPDX-License-Identifier: Apache-2.0
"""Packages by what they were made of, in a folder that workers of several machines may share."""
import hashlib
import json
import os
import pathlib
import shutil
import tempfile

from optima._bad_input import bad_input

STAMP = "entry.json"


class Cache:
    """A folder of packages by key. Any number of processes: an entry appears whole, by a rename, and the first of several makers wins.

    An entry is folder/KEY[:2]/KEY: the package under its name, and entry.json, which lists the SHA-256 of every file. An entry that is not as
    listed is set aside and counts as absent, so it is made again."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).expanduser().absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise bad_input(f"cache {str(self.folder)!r} is no folder that can be made: {error.strerror}") from error

    def find(self, key):
        """The folder of the package, or None."""
        entry = self.entry(key)
        try:
            stamp = json.loads((entry / STAMP).read_text(encoding="utf-8"))
            package = entry / stamp["name"]
            if hashes(package) == stamp["files"]:
                return package
        except FileNotFoundError:
            if not entry.exists():
                return None
        except (OSError, ValueError, KeyError, TypeError):
            pass
        self.discard(entry)
        return None

    def publish(self, key, package):
        """Copies a package in; gives the folder of the entry's package, which is an earlier one's where that is whole."""
        package, entry = pathlib.Path(package), self.entry(key)
        entry.parent.mkdir(exist_ok=True)
        staging = pathlib.Path(tempfile.mkdtemp(prefix=".new.", dir=entry.parent))
        try:
            shutil.copytree(package, staging / package.name)
            (staging / STAMP).write_text(json.dumps({"name": package.name, "files": hashes(staging / package.name)}), encoding="utf-8")
            staging.chmod(0o755)  # a temporary folder is its maker's alone
            for _ in range(8):  # a broken entry in the way is set aside once; more than that are other makers' doing
                try:
                    staging.rename(entry)
                    return entry / package.name
                except OSError:
                    found = self.find(key)
                    if found:
                        return found
            raise bad_input(f"entry {key} cannot be put into cache {str(self.folder)!r}, wanted a folder that may be written to")
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def entry(self, key):
        return self.folder / key[:2] / key

    @staticmethod
    def discard(entry):
        """Away by a rename first, so that nobody sees half of it."""
        try:
            aside = pathlib.Path(tempfile.mkdtemp(prefix=".old.", dir=entry.parent))
            os.rename(entry, aside / "entry")
        except OSError:  # another process was first
            aside = None
        if aside:
            shutil.rmtree(aside, ignore_errors=True)


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
