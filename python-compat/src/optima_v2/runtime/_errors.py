# SPDX-License-Identifier: Apache-2.0
"""What the runtime raises. Wrong types, values and numbers are Python's own TypeError, ValueError and IndexError, as they were."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from optima.errors import Error


class Exception(Error):
    """Base of the others; a RuntimeError, and an optima.Error with its code."""


class BackendException(Exception):
    """What none of the others says."""


class InferException(Exception):
    """A run failed."""


class InitializationFailedException(Exception):
    """A context or a request cannot be made."""


class InvalidArgumentException(Exception):
    """An argument that makes no sense."""


class InvalidExtensionException(Exception):
    """A plugin, or a folder of plugins, that cannot be used."""


class InvalidModelException(Exception):
    """A package that is none, or damaged."""


class InvalidOperationException(Exception):
    """A call that has to wait until the run is over."""


class OutOfResourceException(Exception):
    """Memory is not enough."""


class UnsupportedModelException(Exception):
    """A package that wants a plugin or a device which is not here."""


@contextlib.contextmanager
def raised_as(other: type[Exception], **of: type[Exception]) -> Iterator[None]:
    """Errors of optima.runtime as these: by the code, else `other`."""
    try:
        yield
    except Exception:
        raise
    except Error as error:
        raise of.get(error.code, other)(str(error), error.code, node=error.node, device=error.device) from error
    except MemoryError as error:
        raise OutOfResourceException(str(error) or "memory is not enough", "invalid_input") from error


def index_of(key: int | str, names: list[str], what: str) -> int:
    """The number of an input or output by number or name. Raises IndexError, ValueError or TypeError."""
    if isinstance(key, str):
        if key not in names:
            raise ValueError(f"there is no {what} {key!r}, wanted one of {', '.join(map(repr, names))}")
        return names.index(key)
    if isinstance(key, bool) or not isinstance(key, int):
        raise TypeError(f"{what} is {key!r:.60}, wanted a number or a name")
    if not 0 <= key < len(names):
        raise IndexError(f"there is no {what} {key}, wanted one of 0 to {len(names) - 1}")
    return key
