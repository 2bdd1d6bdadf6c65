# SPDX-License-Identifier: Apache-2.0
"""Reads pickled networkx graphs without running anything of theirs, and writes them. Needs networkx; numpy where arrays are inside.

A pickle is a program that calls what it names. Here whatever it names becomes an inert record of the name, what it was called with and the
state it was given; nothing is imported, nothing is called. Graphs, arrays and containers are rebuilt from their records afterwards, by the
code below, which takes memory and time in proportion to the file. Names of the standard library, numpy and networkx that no graph needs are
refused by name: they stand in files that were made to harm. Classes of other packages, and such as paths, dates and decimals, stay records.
"""
from __future__ import annotations

import os
import pathlib
import pickle
import stat
import sys
from typing import TYPE_CHECKING

from optima._bad_input import bad_input
from optima._gpickle_machine import Machine, Record
from optima._gpickle_values import ALLOWED, Rebuilder

if TYPE_CHECKING:
    import networkx

KNOWN = sys.stdlib_module_names | {"__builtin__", "copy_reg", "numpy", "networkx", "optima"}
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"PK": "zip", b"\xfd7zXZ": "xz"}


def read(path: str | os.PathLike) -> networkx.DiGraph:
    """The networkx.DiGraph of a gpickle, with every attribute that could be rebuilt. Raises optima.Error; nothing of the file is run."""
    path = pathlib.Path(path).expanduser()
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # so that a pipe without a writer opens, too
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise bad_input(f"gpickle {str(path)!r} is no regular file, wanted one")
            data = file.read()
    except OSError as error:
        raise bad_input(f"gpickle {str(path)!r}: {error.strerror}") from error
    return loads(data, f"gpickle {str(path)!r}")


def loads(data: bytes, what: str = "gpickle") -> networkx.DiGraph:
    """As read, of bytes. `what` begins the sentence of an error."""
    for magic, name in COMPRESSED.items():
        if data.startswith(magic):
            raise bad_input(f"{what} is a {name} file, wanted a plain pickle: unpack it first")

    def name_of(module, name):
        asked = f"{module}.{name}"
        if asked not in ALLOWED and (module.partition(".")[0] in KNOWN or not module):
            raise bad_input(f"{what} asks for {asked!r:.120}, which no graph needs; nothing of it was run")
        return asked

    value = Machine(data, what, name_of).run()
    try:
        value = Rebuilder(what, len(data)).value(value)
    except RecursionError:
        raise bad_input(f"{what} is nested too deep, wanted a graph") from None
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # what lies in a damaged pickle may be anything
        if type(error).__module__ == "optima.errors":
            raise
        raise bad_input(f"{what} is damaged: {type(error).__name__}: {error}".replace("\n", " ")) from error
    import networkx
    if not isinstance(value, networkx.DiGraph):
        found = f"{value.asked!r:.120}" if isinstance(value, Record) else type(value).__name__
        raise bad_input(f"{what} holds {found}, wanted a networkx.DiGraph")
    return value


def write(path: str | os.PathLike, graph: networkx.DiGraph) -> None:
    """Pickles a DiGraph so that pickle.load and read() give it again. The file is replaced as a whole."""
    path = pathlib.Path(path).expanduser()
    staging = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(staging, "wb") as file:
            pickle.dump(graph, file, protocol=4)
        staging.replace(path)
    except (TypeError, AttributeError, pickle.PicklingError) as error:  # such as a record of a class that nobody knows
        raise bad_input(f"graph cannot be pickled: {error}") from error
    except OSError as error:
        raise bad_input(f"gpickle {str(path)!r} cannot be written: {error.strerror}") from error
    finally:
        staging.unlink(missing_ok=True)
