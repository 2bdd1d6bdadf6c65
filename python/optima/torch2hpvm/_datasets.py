# SPDX-License-Identifier: Apache-2.0
"""Sets of samples with labels: as raw files, and from any dataset of torch to raw files."""
from __future__ import annotations

import operator
import os
import pathlib

import numpy as np
import torch
from torch.utils.data import Dataset

from optima.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Sequence

FLOAT, INT = np.dtype("<f4"), np.dtype("<i4")


class BinDataset(Dataset):
    """Raw files without headers, little-endian: float32 samples one behind the other as NCHW, int32 labels. Files are mapped, not read.

    shape: (N, C, H, W); N = -1 takes it from the file. Sample i is (float32 tensor of C x H x W, its label as an int). Raises optima.Error: a
    file that is missing or whose size is another."""

    def __init__(self, input_file: str | os.PathLike[str], labels_file: str | os.PathLike[str], shape: Sequence[int]) -> None:
        self.input_file, self.labels_file = (pathlib.Path(f).expanduser() for f in (input_file, labels_file))
        shape = checked_shape(shape)
        row = int(np.prod(shape[1:])) * FLOAT.itemsize
        size, labels_size = size_of(self.input_file), size_of(self.labels_file)
        count = shape[0] if shape[0] >= 0 else size // row
        if count == 0 or size % row:
            raise Error(f"'{self.input_file}' has {size} bytes, wanted a multiple of {row}: float32 of {'x'.join(map(str, shape[1:]))} a sample", "invalid_input")
        if size != count * row:
            raise Error(f"'{self.input_file}' has {size // row} samples, wanted {count}", "invalid_input")
        if labels_size != count * INT.itemsize:
            raise Error(f"'{self.labels_file}' has {labels_size} bytes, wanted {count * INT.itemsize}: an int32 for each of {count} samples", "invalid_input")
        self.shape = (count, *shape[1:])
        self._samples = np.memmap(self.input_file, FLOAT, "r", shape=self.shape)
        self._labels = np.fromfile(self.labels_file, INT)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        return torch.from_numpy(self._samples[index].astype(np.float32)), int(self._labels[index])


def checked_shape(shape):
    try:
        sizes = tuple(operator.index(size) for size in shape)
    except TypeError:
        sizes = ()
    if len(sizes) != 4 or min(sizes[1:]) < 1 or sizes[0] < -1 or sizes[0] == 0:
        raise Error(f"shape is {shape!r}, wanted (N, C, H, W)", "invalid_input")
    return sizes


def size_of(path):
    try:
        with open(path, "rb") as file:  # so that a folder fails here, too
            return os.fstat(file.fileno()).st_size
    except OSError as error:
        raise Error(f"cannot read '{path}': {error.strerror}", "invalid_input") from error


def samples_of(dataset, what):
    """(sample, label) of every sample: ndarray of float32, int."""
    every = (dataset[i] for i in range(len(dataset))) if hasattr(dataset, "__len__") else dataset
    for i, item in enumerate(every):
        try:
            sample, label = item
            label = int(label)
        except (TypeError, ValueError):
            raise Error(f"{what}: sample {i} is {type(item).__name__}, wanted a pair (tensor, label)", "invalid_input") from None
        values = np.asarray(sample.detach().cpu() if isinstance(sample, torch.Tensor) else sample)
        if values.dtype != np.float32 or values.ndim != 3:
            raise Error(f"{what}: sample {i} is {values.dtype} of shape {list(values.shape)}, wanted float32 of channels, height, width", "invalid_input")
        if not 0 <= label < 2**31:
            raise Error(f"{what}: sample {i} has label {label}, wanted an int32 from 0 on", "invalid_input")
        yield values, label


def write_set(dataset, folder, name):
    """Writes NAME_input.bin and NAME_labels.bin, whole or not at all; gives (N, C, H, W)."""
    what = f"{name} set"
    parts = [folder / f"{name}_input.bin.part", folder / f"{name}_labels.bin.part"]
    try:
        shape, labels = None, []
        with open(parts[0], "wb") as file:
            for values, label in samples_of(dataset, what):
                if shape not in (None, values.shape):
                    raise Error(f"{what}: sample {len(labels)} has shape {list(values.shape)}, wanted {list(shape)} as the first one", "invalid_input")
                shape = values.shape
                file.write(np.ascontiguousarray(values, FLOAT).tobytes())
                labels.append(label)
        if not labels:
            raise Error(f"{what}: no samples, wanted at least one", "invalid_input")
        parts[1].write_bytes(np.array(labels, INT).tobytes())
        for part in parts:
            part.replace(part.with_suffix(""))
        return len(labels), *shape
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
