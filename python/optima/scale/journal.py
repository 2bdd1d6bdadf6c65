# SPDX-License-Identifier: Apache-2.0
"""What of many jobs is done, as JSON lines."""
from __future__ import annotations

import fcntl
import json
import os
import pathlib

from optima._bad_input import bad_input

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from typing import Any

    from optima.scale.jobs import Job


class Journal:
    """Lines {"key", "name", "state": "done" | "failed", "package" | "error"}, appended and flushed one by one, by one writer at a time.

    A last line that was cut off by the writer's end is taken away. done: key -> package."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path).expanduser().absolute()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "a+b")
        except OSError as error:
            raise bad_input(f"journal {str(self.path)!r} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise bad_input(f"journal {str(self.path)!r} is being written by another process, wanted one writer") from error
        self.done: dict[str, str] = self._read()

    def _read(self):
        self._file.seek(0)
        data, done = self._file.read(), {}
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                entry = json.loads(line)
                if entry["state"] == "done":
                    done[entry["key"]] = entry["package"]
            except (ValueError, KeyError, TypeError) as error:
                self._file.close()
                raise bad_input(f"journal {str(self.path)!r} line {number} is none of a journal, wanted one that compile_many wrote: {error}") from error
        self._file.truncate(whole)
        return done

    def add(self, job: Job, key: str, **what: Any) -> None:
        self._write(json.dumps({"key": key, "name": job.name, **what}).encode() + b"\n")

    def _write(self, data):
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
