# SPDX-License-Identifier: Apache-2.0
"""Representative samples from Python as the files that optima-host --calib reads (docs/quantization.md). Needs numpy."""
import os
import pathlib

import numpy as np

from optima import _progress
from optima._bad_input import bad_input


def as_array(value):
    """A torch tensor or anything that numpy takes."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def write_samples(calibration, folder, names):
    """The path for --calib. calibration: a path is itself; else any iterable of samples, each one a dict name -> array, a tuple with one
    array an input in the model's order, or an array alone. names: the model's inputs; None where unknown, samples are then dicts, or
    arrays in the model's order. Samples are read one by one. Raises optima.Error."""
    if isinstance(calibration, (str, os.PathLike)):
        path = pathlib.Path(calibration).expanduser()
        if not path.exists():
            raise bad_input(f"calibration {str(path)!r}: no such file or folder")
        return path
    if hasattr(calibration, "items") or not hasattr(calibration, "__iter__"):
        raise bad_input(f"calibration is a {type(calibration).__name__}, wanted a path or an iterable of samples")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for count, sample in enumerate(_progress.over(calibration, "samples"), 1):
        arrays = named(sample, names, count - 1)
        for name, array in arrays.items():
            if array.dtype == object:
                raise bad_input(f"calibration sample {count - 1}: {name!r} holds objects of Python, wanted an array of numbers")
        np.savez(folder / f"{count - 1:06}.npz", **arrays)
    if not count:
        raise bad_input("calibration has no sample, wanted at least one")
    return folder


def named(sample, names, number):
    """name -> array of one sample. Without names numpy's arr_0, arr_1, ..., which optima-host reads in the model's order."""
    if hasattr(sample, "items"):
        return {name: as_array(value) for name, value in sample.items()}
    values = list(sample) if isinstance(sample, (list, tuple)) else [sample]
    if names is None:
        names = [f"arr_{i}" for i in range(len(values))]
    if len(values) != len(names):
        raise bad_input(f"calibration sample {number} has {len(values)} arrays, wanted {len(names)}: {', '.join(names)}")
    return dict(zip(names, map(as_array, values)))
