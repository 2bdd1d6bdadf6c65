# SPDX-License-Identifier: Apache-2.0
"""Batches of data through a package."""
from __future__ import annotations

import os
import platform

from optima.package import Package

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Iterable, Mapping
    from typing import Any

    Path = str | os.PathLike[str]


class BatchPredictor:
    """A plain callable for Ray Data's map_batches, or anybody: name -> array of rows to the same with the model's outputs added.

    package: a folder that every worker sees under this absolute path. inputs: name of a model's input -> column; None = columns are called as inputs. keep: columns that go
    through, None = all. It is pickled as its arguments; the package is loaded at the first batch, once in each process that has a copy.

    A model whose first dims are one open symbol gets a batch at once. One whose first dims are a fixed size gets that many rows at a time, the
    last ones filled up with the last row, whose answers are dropped. Each row's answer must not depend on other rows."""

    def __init__(self, package: Path, inputs: Mapping[str, str] | None = None, keep: Iterable[str] | None = None, plugins: Path | Iterable[Path] | None = None) -> None:
        self.package, self.names, self.keep, self.plugins = str(package), dict(inputs or {}), keep, plugins
        self._loaded: Package | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        import numpy as np
        from optima._bad_input import bad_input
        if self._loaded is None and not os.path.isdir(self.package):
            raise bad_input(f"package {self.package!r} is not there on node {platform.node()!r}, wanted a folder that every worker sees under this path")
        self._loaded = self._loaded or Package(self.package, plugins=self.plugins)
        columns = {port["name"]: self.names.get(port["name"], port["name"]) for port in self._loaded.inputs}
        for name, column in columns.items():
            if column not in batch:
                raise bad_input(f"the batch has no column {column!r} for input {name!r}, wanted one of {', '.join(map(repr, batch))}")
        arrays = {name: np.asarray(batch[column]) for name, column in columns.items()}
        kept = {name: values for name, values in batch.items() if self.keep is None or name in self.keep}
        return {**kept, **self._rows(arrays)}

    def _rows(self, arrays):
        import numpy as np
        size = self._fixed_rows()
        count = len(next(iter(arrays.values())))
        if size is None or count == 0:
            return self._loaded.run(arrays)
        parts = []
        for at in range(0, count, size):
            part = {name: rows[at:at + size] for name, rows in arrays.items()}
            missing = size - min(size, count - at)
            if missing:
                part = {name: np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)]) for name, rows in part.items()}
            parts.append({name: rows[:size - missing] for name, rows in self._loaded.run(part).items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _fixed_rows(self):
        """The size of a model's first dims, None where it is open. Raises optima.Error where they differ."""
        from optima._bad_input import bad_input
        firsts = {port["shape"][0] if port["shape"] else None for port in self._loaded.inputs + self._loaded.outputs}
        if len(firsts) != 1 or None in firsts:
            raise bad_input(f"package {self.package!r} has first dims {sorted(map(str, firsts))}, wanted one for all inputs and outputs")
        (first,) = firsts
        return first if isinstance(first, int) and first >= 0 else None
