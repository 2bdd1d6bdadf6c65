# SPDX-License-Identifier: Apache-2.0
"""torch's exporters, one at a time and without their chatter: of libraries that are not there, of deprecations inside torch, and whole graphs that they
print. Streams, warnings and logs of other threads stay as they are. Standard library alone."""
import builtins
import contextlib
import importlib
import logging
import sys
import threading
import warnings

ALONE = threading.RLock()  # exporters patch modules and torch itself while they work, so one thread exports at a time
LOGGERS = ("torch", "onnxscript", "onnx_ir")  # first words of their names
PRINT = ("torch.export._trace", "torch.fx.graph_module")  # modules that print graphs which they could not take
_here = threading.local()


def is_quiet():
    """Whether this thread is inside quiet()."""
    return getattr(_here, "depth", 0) > 0


@contextlib.contextmanager
def quiet():
    """Holds ALONE. Meanwhile nothing is heard of this thread's warnings, of its records in LOGGERS and of the graphs that torch prints; of what a module prints in its forward it is."""
    with ALONE:
        _here.depth = getattr(_here, "depth", 0) + 1
        try:
            with _no_warnings():
                _hush_logs()
                _hush_prints()
                yield
        finally:
            _here.depth -= 1


class _InThisThread:
    """Stands where a filter of warnings has the pattern of its texts."""

    def match(self, _):
        return is_quiet()


_FILTER = ("ignore", _InThisThread(), Warning, None, 0)


@contextlib.contextmanager
def _no_warnings():
    """catch_warnings is the whole process's, and undoes what other threads do to filters meanwhile; a filter that asks for the thread may stay behind."""
    if getattr(sys.flags, "context_aware_warnings", 0):  # since 3.14 it may be of a context
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
        return
    _drop(_FILTER)
    warnings.filters.insert(0, _FILTER)
    try:
        yield
    finally:
        if _here.depth == 1:
            _drop(_FILTER)


def _drop(entry):
    while entry in warnings.filters:
        warnings.filters.remove(entry)


def _hush_logs():
    """Loggers of modules, and torch's handlers, which modules that are loaded later log to."""
    with contextlib.suppress(ImportError):
        importlib.import_module("onnxscript.optimizer")
    for name, log in list(logging.Logger.manager.loggerDict.items()):
        if name.partition(".")[0] in LOGGERS and isinstance(log, logging.Logger):
            for hushed in (log, *log.handlers):
                hushed.addFilter(_is_heard)


def _is_heard(record):
    return not is_quiet()


def _hush_prints():
    for name in PRINT:
        if name in sys.modules:
            sys.modules[name].print = _print


def _print(*what, **how):
    if not is_quiet():
        builtins.print(*what, **how)
