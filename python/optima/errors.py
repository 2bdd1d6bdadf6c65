# SPDX-License-Identifier: Apache-2.0
"""optima.Error: every failure of the runtime, of optima-host and of this package. Standard library alone."""
from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# By the number of the C API (optima/runtime.h).
RUNTIME = {1: "usage", 2: "invalid_input", 3: "plugin", 4: "io", 5: "cancelled", 6: "timeout", 7: "internal", 8: "deadline"}
# By the exit code of optima-host.
HOST = {2: "usage", 3: "invalid_input", 4: "placement", 5: "plugin", 6: "tolerance", 130: "cancelled", 143: "cancelled"}
NODE = re.compile(r"\bnode '((?:[^'\\]|\\.)*)'")
DEVICE = re.compile(r"(?<![\w/])(?:[a-z][\w.-]*/)?[A-Z][A-Z0-9_]*:\d+\b")


class Error(RuntimeError):
    """What failed, in one sentence: the runtime's or optima-host's own where it said it.

    code: "usage" (the call makes no sense now), "invalid_input", "placement" (a pin or a required device cannot be kept), "plugin" (a plugin
    or its tools are absent or failed; of optima-host also the disk), "io", "tolerance" (a comparison), "cancelled", "timeout" (of a wait, the run goes on),
    "deadline" (a run did not end in time), "internal" (a bug). node, device: the first ones that the sentence names, else None."""

    def __init__(self, text: str, code: str = "internal", *, node: str | None = None, device: str | None = None) -> None:
        super().__init__(text)
        self.code, self.node, self.device = code, node, device

    def __reduce__(self):  # exceptions are pickled with their arguments alone
        return _restore, (type(self), str(self), self.code, self.node, self.device)


def named_arrays(arrays: Any, named: dict[str, Any]) -> dict[str, Any]:
    """name -> array of what run() was called with: a dict, keywords, or both."""
    if arrays is not None and not hasattr(arrays, "keys"):
        raise Error(f"inputs are {type(arrays).__name__}, wanted {{name: array}}, or keywords", "usage")
    if not named:  # as a rule, and then quick
        return arrays if type(arrays) is dict else dict(arrays or {})
    both = sorted(set(arrays or ()) & set(named))
    if both:
        raise Error(f"input {both[0]!r} is given twice, wanted it once", "usage")
    return {**(arrays or {}), **named}


def named_outputs(outputs: Any, known: list[str]) -> list[str]:
    """The names of outputs that run() was asked for, one or several. Raises Error where they are none of the model's."""
    names = [outputs] if isinstance(outputs, str) else list(outputs) if isinstance(outputs, (list, tuple)) else None
    if names is None:
        raise Error(f"outputs is {type(outputs).__name__}, wanted a list of names of outputs; an input of that name goes into the dict of inputs", "usage")
    for name in names:
        if name not in known:
            raise Error(f"there is no output {name!r:.200}, wanted one of {', '.join(map(repr, known))}", "invalid_input")
    return names


def of_text(text: str, code: str) -> Error:
    """An Error whose node and device are read from its sentence."""
    node, device = NODE.search(text), DEVICE.search(text)
    return Error(text, code, node=node and node[1], device=device and device[0])


def of_runtime(number: int, text: str) -> Error:
    """An Error of a code of the C API."""
    return of_text(text, RUNTIME.get(number, "internal"))


def of_host(exit_code: int, text: str) -> Error:
    """An Error of an exit code of optima-host."""
    return of_text(text, HOST.get(exit_code, "internal"))


def _restore(kind, text, code, node, device):
    return kind(text, code, node=node, device=device)
