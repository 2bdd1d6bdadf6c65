# SPDX-License-Identifier: Apache-2.0
"""optima-host as a child process. Standard library alone."""
import subprocess

from optima import _native, errors


def run_host(*words):
    """stdout of optima-host. Raises Error with the sentence and the code that it ended with."""
    program = _native.program("optima-host")
    try:
        ran = subprocess.run([program, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise errors.Error(f"{program!r} does not start: {error.strerror}", "usage") from error
    if ran.returncode:
        lines = [line for line in ran.stderr.splitlines() if "error:" in line] or [f"optima-host: error: exit code {ran.returncode}"]
        raise errors.of_host(ran.returncode, lines[-1].partition("error: ")[2])
    return ran.stdout
