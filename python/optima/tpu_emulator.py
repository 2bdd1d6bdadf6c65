# SPDX-License-Identifier: Apache-2.0
"""A bmodel on the emulator of its chip, in a process of its own: optima_bmcompiler_runner, which lies among the plugins of optima-host.

    model = tpu_emulator.Model("graph_ir_1/compilation.bmodel")
    model.run({"x": array}, ["y"])          # name -> ndarray of the file's types and sizes

What it computes is the chip's; its times are not. Wants the tools of `scripts/setup --with sophon`, or TPUC_ROOT or OPTIMA_SOPHON naming
them. Needs numpy.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import weakref

import numpy as np

from optima.auto_split import AutoSplitError, host, host_program

# Element types of a bmodel by their names: the number in a file, numpy's type.
TYPES = {"f32": (0, np.float32), "f16": (1, np.float16), "i8": (2, np.int8), "u8": (3, np.uint8), "i16": (4, np.int16), "u16": (5, np.uint16),
         "i32": (6, np.int32), "u32": (7, np.uint32)}
# The runner talks over descriptor 3; a shell cannot move one above 9 there.
AS_THREE = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.argv[2], sys.argv[2:])"
CASTS = ("_f32", "_f16", "_bf16", "_si32", "_si16", "_si8", "_ui8")  # the tools name a tensor that they cast so


class EmulatorError(RuntimeError):
    """What cannot be emulated, in one sentence."""


class Model:
    """A file that runs, one call at a time. The process ends with close(), and with this at the latest."""

    def __init__(self, path):
        try:
            about = json.loads(host("inspect", path, "--json"))
            program = runner_program()
        except AutoSplitError as error:
            raise EmulatorError(str(error)) from error
        self.net = about["networks"][0]
        self.work = tempfile.TemporaryDirectory(prefix="optima-tpu")
        self.folder = pathlib.Path(self.work.name)
        try:
            self.start(program, about["chip"])
        except EmulatorError as error:
            raise EmulatorError(f"{str(path)!r}: {error}") from error
        self.ask("open", str(pathlib.Path(path).absolute()))

    def start(self, program, chip):
        kind, libraries, environment = wants_of(program, chip, self.folder)
        for name, link in libraries:
            (self.folder / link).symlink_to(library_path(name))
        ours, theirs = socket.socketpair()
        with theirs, open(self.folder / "log", "wb") as log:  # the runtimes chatter
            self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", AS_THREE, str(theirs.fileno()), program, kind, str(self.folder), "emulator"],
                                            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **environment})
        self.channel = ours.makefile("rwb", buffering=0)
        ours.close()
        self._end = weakref.finalize(self, end, self.channel, self.process, self.work)

    def close(self):
        self._end()

    def ask(self, *words):
        line = "\t".join(str(w).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") for w in words)
        try:
            self.channel.write(line.encode() + b"\n")
            answer = self.channel.readline().decode(errors="replace").rstrip("\n").split("\t")
        except OSError:
            answer = [""]
        if answer[0] != "ok":
            raise EmulatorError(answer[2] if len(answer) == 3 else f"the emulator's process ended: {(self.folder / 'log').read_text(errors='replace')[-300:].strip()}")

    def run(self, inputs, outputs):
        """Arrays by name; `outputs`: names. Whole numbers become the file's floats and have to be the same number then."""
        stage = self.stage_for(inputs)
        given = matched(stage["inputs"], list(inputs))
        sent = [(tensor, self.as_in_file(name, tensor, inputs[name])) for tensor, name in zip(stage["inputs"], given)]
        wanted = matched(stage["outputs"], list(outputs))
        got = [(tensor, np.empty(tensor["dims"], type_of(tensor)[1])) for tensor in stage["outputs"]]
        planes = self.folder / "planes"
        with open(planes, "wb") as file:
            places, words = [], []
            for part in (sent, got):
                words.append(len(part))
                for tensor, array in part:
                    places.append(place(file, array))
                    words += [tensor["name"], type_of(tensor)[0], places[-1], len(tensor["dims"]), *tensor["dims"]]
        self.ask("run", self.net["name"], planes, *words)
        data = planes.read_bytes()
        return {name: np.frombuffer(data, array.dtype, array.size, at).reshape(array.shape)
                for name, (_, array), at in zip(wanted, got, places[len(sent):])}

    def stage_for(self, inputs):
        stages = self.net["stages"]
        shape = lambda sizes: [size for size in sizes if size != 1]
        for stage in stages:
            if all(shape(t["dims"]) == shape(inputs[name].shape) for t, name in zip(stage["inputs"], matched(stage["inputs"], list(inputs)))):
                return stage
        sizes = " or ".join(", ".join(str(t["dims"]) for t in stage["inputs"]) for stage in stages)
        raise EmulatorError(f"inputs have shapes {', '.join(str(list(v.shape)) for v in inputs.values())}, the model was compiled for {sizes}")

    @staticmethod
    def as_in_file(name, tensor, value):
        made = np.ascontiguousarray(value, dtype=type_of(tensor)[1])
        if value.dtype.kind in "iub" and not np.array_equal(made.astype(value.dtype), value):
            raise EmulatorError(f"input {name!r} has numbers that {tensor['type']} does not hold")
        return made


def end(channel, process, work):
    """Of a model's process, which ends when nobody talks to it any more."""
    channel.close()
    process.wait()
    work.cleanup()


def place(file, array):
    """Writes an array at the next such address; where."""
    file.write(bytes(-file.tell() % 64))
    at = file.tell()
    file.write(array.tobytes())
    return at


def type_of(tensor):
    if tensor["type"] not in TYPES:
        raise EmulatorError(f"tensor {tensor['name']!r} of the file is {tensor['type']}, wanted one of {', '.join(TYPES)}")
    return TYPES[tensor["type"]]


def matched(tensors, names):
    """For each tensor of the file the name that is meant: its own, without a cast, or the only one that is left."""
    if len(tensors) != len(names):
        raise EmulatorError(f"the file has {[t['name'] for t in tensors]}, wanted {names}")
    found = [next((n for n in names if t["name"] == n or t["name"] in [n + cast for cast in CASTS]), None) for t in tensors]
    left = [n for n in names if n not in found]
    if found.count(None) > 1 or len(set(found)) != len(found):
        raise EmulatorError(f"the file has {[t['name'] for t in tensors]}, wanted {names}")
    return [left[0] if n is None else n for n in found]


def wants_of(program, chip, folder):
    """What the runner says that a chip's emulator wants: the kind of runtime, (library of the tools, name it is opened by) of each, environment."""
    ran = subprocess.run([program, "--emulator", chip, folder], capture_output=True, text=True)
    if ran.returncode:
        raise EmulatorError(ran.stderr.strip() or f"{program!r} ended with {ran.returncode}")
    said = [line.split("\t") for line in ran.stdout.splitlines()]
    of = lambda word: [rest for first, *rest in said if first == word]
    return of("kind")[0][0], of("library"), dict(entry.split("=", 1) for (entry,) in of("environment"))


def runner_program():
    path = pathlib.Path(host_program()).resolve().parent.parent / "lib/optima/plugins/optima_bmcompiler_runner"
    if not path.exists():
        raise EmulatorError(f"{str(path)!r} is not there, wanted it among the plugins of optima-host")
    return str(path)


def library_path(name):
    named = os.environ.get("TPUC_ROOT") or os.environ.get("OPTIMA_SOPHON")
    roots = [pathlib.Path(named), pathlib.Path(named) / "tpu_mlir"] if named else [pathlib.Path(__file__).resolve().parents[2] / ".deps/sophon"]
    for root in roots:
        for folder in (root / "lib", root / "lib/third_party"):
            if (folder / name).exists():
                return (folder / name).absolute()
    raise EmulatorError(f"no tools of tpu-mlir with lib/{name} in {str(roots[0])!r}: scripts/setup --with sophon installs them, TPUC_ROOT or OPTIMA_SOPHON names others")
