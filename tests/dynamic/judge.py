# SPDX-License-Identifier: Apache-2.0
"""Compiles a model of free sizes once, runs the package at many sizes, and judges it by ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOUND = 1e-4  # of the largest value that ONNX Runtime gives


class Failed(Exception):
    """One sentence of our own programs or of this comparison."""


def use(build):
    """Takes the programs and the binding of this build."""
    sys.path.insert(0, str(build / "python"))
    for variable in ("OPTIMA_HOST", "OPTIMA_PLUGINS"):
        os.environ.pop(variable, None)


def compiled(build, model, device, out, inputs=None):
    """The folder of the package of `device` alone, without options of any kind; of these inputs' sizes alone where there are any."""
    sizes = [w for name, array in (inputs or {}).items() for w in ("--shape", f"{name}={','.join(map(str, array.shape))}") if array.ndim]
    ran = subprocess.run([build / "bin/optima-host", "compile", model, "--device", device, "-o", out, "--force", *sizes], capture_output=True, text=True)
    if ran.returncode:
        raise Failed((ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1])
    return out / model.stem


def loaded(package):
    from optima import runtime
    return runtime.Context(threads=1).load_model(package)


def peer(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(None, inputs)))


def error_of(got, want, least):
    """The largest difference of one output over the largest finite value wanted, at least `least`; Failed where they cannot be compared."""
    if got.shape != want.shape or got.dtype != want.dtype:
        raise Failed(f"is {got.dtype}{list(got.shape)}, wanted {want.dtype}{list(want.shape)}")
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not (np.array_equal(finite, np.isfinite(got)) and np.array_equal(got[~finite], want[~finite], equal_nan=True)):
        raise Failed("has nan or inf elsewhere than wanted")
    if not finite.any():
        return 0.0
    return np.abs(got[finite] - want[finite]).max() / max(np.abs(want[finite]).max(), least)


def worst(got, want, least):
    """The worst error of all outputs."""
    if set(got) != set(want):
        raise Failed(f"outputs are {sorted(got)}, wanted {sorted(want)}")
    errors = [0.0]
    for name, array in want.items():
        try:
            errors.append(error_of(np.asarray(got[name]), array, least))
        except Failed as why:
            raise Failed(f"output '{name}' {why}") from None
    return max(errors)


def run(model, inputs):
    from optima.errors import Error
    try:
        return model.run(inputs)
    except Error as error:
        raise Failed(str(error)) from None
