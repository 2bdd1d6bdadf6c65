# SPDX-License-Identifier: Apache-2.0
"""Reads pickled networkx graphs without running anything of theirs, and writes them. Needs networkx; numpy where arrays are inside.

A pickle is a program that calls what it names. Here whatever it names becomes an inert record of the name, what it was called with and the
state it was given, made of a class of this load alone; nothing is imported, nothing is called. Graphs, arrays and containers are
rebuilt from their records afterwards, by the code below. Names of the standard library, numpy and networkx that no graph needs are refused by
name: they stand in files that were made to harm. Classes of other packages stay records.
"""
from __future__ import annotations

import io
import os
import pathlib
import pickle
import pickletools
import sys
from typing import TYPE_CHECKING

from optima._bad_input import bad_input
from optima._gpickle_values import ALLOWED, Record, Rebuilder

if TYPE_CHECKING:
    import networkx

KNOWN = sys.stdlib_module_names | {"__builtin__", "copy_reg", "numpy", "networkx", "optima"}
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"PK": "zip", b"\xfd7zXZ": "xz"}
# Opcodes that ask the program which reads for more than the file has.
OUTSIDE = {"EXT1": "an extension code", "EXT2": "an extension code", "EXT4": "an extension code", "PERSID": "a persistent id",
           "BINPERSID": "a persistent id", "NEXT_BUFFER": "a buffer outside the file", "READONLY_BUFFER": "a buffer outside the file"}


def read(path: str | os.PathLike) -> networkx.DiGraph:
    """The networkx.DiGraph of a gpickle, with every attribute that could be rebuilt. Raises optima.Error; nothing of the file is run."""
    path = pathlib.Path(path).expanduser()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise bad_input(f"gpickle {str(path)!r}: {error.strerror}") from error
    return loads(data, f"gpickle {str(path)!r}")


def loads(data: bytes, what: str = "gpickle") -> networkx.DiGraph:
    """As read, of bytes. `what` begins the sentence of an error."""
    for magic, name in COMPRESSED.items():
        if data.startswith(magic):
            raise bad_input(f"{what} is a {name} file, wanted a plain pickle: unpack it first")
    look_over(data, what)
    reader = Reader(io.BytesIO(data), what)
    try:
        value = reader.load()
        value = Rebuilder(what).value(value)
    except RecursionError:
        raise bad_input(f"{what} is nested too deep, wanted a graph") from None
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # a damaged pickle raises whatever its opcodes come to
        if type(error).__module__ == "optima.errors":
            raise
        raise bad_input(f"{what} is damaged: {type(error).__name__}: {error}".replace("\n", " ")) from error
    import networkx
    if not isinstance(value, networkx.DiGraph):
        found = f"{value.asked!r:.120}" if isinstance(value, Record) else type(value).__name__
        raise bad_input(f"{what} holds {found}, wanted a networkx.DiGraph")
    return value


def look_over(data, what):
    """Goes over the opcodes without doing any: what asks for things outside the file, or for more memory than the file is long, is refused."""
    try:
        for opcode, argument, position in pickletools.genops(data):
            if opcode.name in OUTSIDE:
                raise bad_input(f"{what} asks for {OUTSIDE[opcode.name]} ({argument!r:.60}) at byte {position}, wanted a file that has everything")
            if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and argument > len(data):
                raise bad_input(f"{what} is damaged: memo {argument} at byte {position} of {len(data)}")
    except (ValueError, IndexError, EOFError, UnicodeError, OverflowError) as error:
        raise bad_input(f"{what} is no pickle: {error}".replace("\n", " ")) from error


class Reader(pickle.Unpickler):
    """Gives an inert class for every name."""

    def __init__(self, file, what):
        super().__init__(file)
        self.what, self.classes = what, {}

    def find_class(self, module, name):
        asked = f"{module}.{name}"
        if asked not in ALLOWED and (module.partition(".")[0] in KNOWN or not module):
            raise bad_input(f"{self.what} asks for {asked!r:.120}, which no graph needs; nothing of it was run")
        if asked not in self.classes:
            self.classes[asked] = type("Record", (Record,), {"asked": asked, "__slots__": ()})
        return self.classes[asked]

    def persistent_load(self, pid):
        raise bad_input(f"{self.what} asks for a persistent id ({pid!r:.60}), wanted a file that has everything")


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
