# SPDX-License-Identifier: Apache-2.0
"""Runs optima-host as a child. Standard library alone.

    document = _host.run_json("compile", "model.onnx", "-o", "out", progress=lambda fraction, stage: print(stage))
"""
import json
import os
import signal
import subprocess
import sys
import threading

from optima import _native
from optima.errors import Error, of_host

ERROR, SAID = "optima-host: error: ", "optima-host: "
GRACE = 10  # seconds: after a signal the program ends by itself within five


def run(*words, progress=None):
    """stdout of optima-host with these words.

    progress: called with (fraction 0..1, stage) in this thread. What it raises, and Ctrl-C, ends the child first, which leaves nothing half
    written, and then goes on. Warnings go to logging's logger "optima". Raises Error with the program's own sentence."""
    program = _native.program()
    command = [program, *(["--progress", "json"] if progress else []), *map(str, words)]
    try:  # a group of its own: a terminal's Ctrl-C reaches it through us alone, and once
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                 errors="replace", process_group=0)
    except OSError as error:
        raise Error(f"{program!r} does not start: {error.strerror}", "plugin") from error
    said = []
    reader = threading.Thread(target=lambda: said.append(child.stdout.read()), daemon=True)
    with child:
        reader.start()
        try:
            lines = list(_listen(child.stderr, progress))
            code = child.wait()
        except BaseException:
            _end(child)
            raise
        finally:
            reader.join(GRACE)
    if code:
        raise _failure(code, lines)
    return said[0]


def run_json(*words, progress=None):
    """The JSON document of a verb."""
    return json.loads(run(*words, "--json", progress=progress))


def _listen(stream, progress):
    """Takes events out of stderr, logs warnings, and hands over the rest."""
    for line in stream:
        line = line.rstrip("\n")
        event = _event(line) if progress else None
        if event:
            progress(*event)
        elif line.startswith(SAID) and not line.startswith(ERROR):
            _log(line.removeprefix(SAID))
        elif line:
            yield line


def _event(line):
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
        return event["progress"], event["stage"]
    except (ValueError, KeyError, TypeError):
        return None


def _log(line):
    import logging
    level, found, text = line.partition(": ")
    levels = {"warning": logging.WARNING, "warn": logging.WARNING, "error": logging.ERROR}
    logging.getLogger("optima").log(levels.get(level, logging.INFO), "%s", text if found and level in levels else line)


def _end(child):
    """One signal, which the program obeys at its next step; what it still says is read, or it could not end."""
    threading.Thread(target=child.stderr.read, daemon=True).start()
    try:
        child.send_signal(signal.SIGINT)
        child.wait(GRACE)
    except BaseException as error:  # too slow, or a second Ctrl-C
        child.kill()
        child.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise


def _failure(code, lines):
    if code < 0:
        number = signal.Signals(-code)
        ended = number in (signal.SIGINT, signal.SIGTERM)
        return Error(f"optima-host was ended by {number.name}", "cancelled" if ended else "internal")
    told = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
    return of_host(code, told[-1] if told else f"optima-host ended with exit code {code}: {lines[-1] if lines else 'it said nothing'}")


def main():
    """The console script optima-host: becomes the program."""
    _become("optima-host")


def main_of_run():
    """The console script optima-run."""
    _become("optima-run")


def _become(name):
    program = _native.TREE / "bin" / name  # never PATH, on which this script is
    if not program.exists():
        sys.exit(f"{name}: error: the program is not in this package ({str(program)!r}), wanted a wheel made by scripts/wheel")
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: error: {str(program)!r} does not start: {error.strerror}")
