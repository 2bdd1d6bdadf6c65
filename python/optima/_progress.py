# SPDX-License-Identifier: Apache-2.0
"""Bars for long work where somebody sees them: on a terminal, by tqdm on stderr, and in a notebook, by its widgets where ipywidgets is installed. Logs
and pipes get none, and nobody does without tqdm."""
import contextlib
import sys


def seen_by():
    """tqdm's class of bars, or None where nobody would see one."""
    if not in_notebook() and (sys.stderr is None or not sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


def in_notebook():
    """Whether this is the kernel of a notebook; IPython on a terminal is none."""
    ipython = sys.modules.get("IPython")  # which a kernel has imported
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


@contextlib.contextmanager
def bar(what):
    """Gives what optima._host takes as `progress`, or None where nobody would see a bar."""
    tqdm = seen_by()
    if tqdm is None:
        yield None
        return
    with tqdm(total=100, desc=what, unit="%", leave=False, bar_format="{desc} {percentage:3.0f}% |{bar}| {postfix}") as shown:
        def report(fraction, stage):
            shown.set_postfix_str(stage[:60], refresh=False)
            shown.update(max(0, min(100, round(fraction * 100)) - shown.n))
        yield report


def over(samples, what):
    """The samples, with a bar that counts them as they are taken."""
    tqdm = seen_by()
    return samples if tqdm is None else tqdm(samples, desc=what, unit=" samples", leave=False)
