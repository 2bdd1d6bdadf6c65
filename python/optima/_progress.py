# SPDX-License-Identifier: Apache-2.0
"""A bar on stderr for long work, where stderr is a terminal and tqdm is installed."""
import contextlib
import sys


@contextlib.contextmanager
def bar(what):
    """Gives what optima._host takes as `progress`, or None where nobody would see a bar."""
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    with tqdm(total=100, desc=what, unit="%", leave=False, bar_format="{desc} {percentage:3.0f}% |{bar}| {postfix}") as shown:
        def report(fraction, stage):
            shown.set_postfix_str(stage[:60], refresh=False)
            shown.update(max(0, min(100, round(fraction * 100)) - shown.n))
        yield report


def over(samples, what):
    """The samples, with a bar that counts them as they are taken."""
    try:
        from tqdm import tqdm
    except ImportError:
        return samples
    return tqdm(samples, desc=what, unit=" samples", leave=False, disable=None, file=sys.stderr)  # disable=None: off where stderr is no terminal
