# SPDX-License-Identifier: Apache-2.0
"""Allocation files from Python. Standard library alone."""
import json
import os
import pathlib

from optima._bad_input import bad_input


def read_allocation(allocation):
    """Node or operation -> device, of a dict or a JSON file. Raises optima.Error."""
    if not isinstance(allocation, (str, os.PathLike)):
        return dict(allocation)
    path = pathlib.Path(allocation).expanduser()
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise bad_input(f"allocation {str(path)!r} cannot be read: {error}") from error
    if not isinstance(read, dict):
        raise bad_input(f"allocation {str(path)!r} is a {type(read).__name__}, wanted operation -> device")
    return read
