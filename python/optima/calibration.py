# SPDX-License-Identifier: Apache-2.0
"""Representative samples from Python as the files that optima-host --calib reads (docs/quantization.md). Needs numpy."""
import os
import pathlib

import numpy as np

from optima import _progress
from optima._bad_input import bad_input
from optima._dtypes import array_of, dtype_of


def as_array(value, dtype=None):
    """A torch tensor or anything that numpy takes. dtype: numpy's name of the type that lists and numbers become. Raises optima.Error."""
    if hasattr(value, "detach"):
        return of_torch(value.detach().cpu())
    try:
        return np.asarray(value) if dtype is None or hasattr(value, "dtype") else array_of(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise bad_input(f"found {value!r:.60}, wanted an array: {error}") from error


def of_torch(tensor):
    """numpy's array over a tensor's bytes; with ml_dtypes of types that numpy has not."""
    import torch
    if tensor.layout != torch.strided:
        raise bad_input(f"found {tensor.layout}, wanted a dense tensor")
    tensor = tensor.resolve_conj().resolve_neg()
    try:
        return tensor.numpy()
    except TypeError:  # another type
        bits = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
        return tensor.contiguous().view(bits).numpy().view(dtype_of(str(tensor.dtype).removeprefix("torch.")))


def write_samples(calibration, folder, names):
    """The path for --calib. calibration: a path is itself; else any iterable of samples, each one a dict name -> array, a tuple with one
    array an input in the model's order, or an array alone. names: gives the model's inputs; asked where there is no path. Samples are read one by one.
    Raises optima.Error."""
    if isinstance(calibration, (str, os.PathLike)):
        path = pathlib.Path(calibration).expanduser()
        if not path.exists():
            raise bad_input(f"calibration {str(path)!r}: no such file or folder")
        return path
    if hasattr(calibration, "items") or not hasattr(calibration, "__iter__"):
        raise bad_input(f"calibration is a {type(calibration).__name__}, wanted a path or an iterable of samples")
    folder, names = pathlib.Path(folder), names()
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
    """name -> array of one sample; of a dict those that the model has."""
    if hasattr(sample, "items"):
        for name in names:
            if name not in sample:
                raise bad_input(f"calibration sample {number} has no array {name!r}, found {', '.join(map(repr, sample)) or 'none'}")
        return {name: as_array(sample[name]) for name in names}
    values = list(sample) if isinstance(sample, (list, tuple)) else [sample]
    if len(values) != len(names):
        raise bad_input(f"calibration sample {number} has {len(values)} arrays, wanted {len(names)}: {', '.join(names)}")
    return dict(zip(names, map(as_array, values)))
