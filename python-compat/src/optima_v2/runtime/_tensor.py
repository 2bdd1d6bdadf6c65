# SPDX-License-Identifier: Apache-2.0
"""Tensors of requests."""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy

from optima import runtime as now
from optima_v2.runtime._errors import InferException, InvalidOperationException, OutOfResourceException, raised_as
from optima_v2.runtime._infos import TensorInfo
from optima_v2.runtime._kinds import ElementType, get_element_size

DIMS = 8  # most of an array that is copied in


class Tensor:
    """An input or output of a request, which has its bytes; made by the request alone. An input keeps what was copied in for every later run."""

    def __init__(self, request: now.InferRequest, index: int, info: TensorInfo, is_input: bool, running: Callable[[], bool]) -> None:
        self._request, self._index, self._info, self._is_input, self._running = request, index, info, is_input, running
        self._own: now.Tensor | None = None  # of an input
        if is_input and min(info.shape, default=0) >= 0:
            self._hold(info.shape)

    def copy_from(self, data: numpy.ndarray) -> None:
        """Copies the elements of an array of this type and shape in, dense and row by row. Raises TypeError, ValueError; InvalidOperationException of outputs, and
        while a run goes on."""
        if not self._is_input:
            raise InvalidOperationException(f"output {self.name!r} is written by runs alone, wanted an input", "usage")
        if self._running():
            raise InvalidOperationException(f"input {self.name!r} is being read by a run, wanted copy_from before it or behind it", "usage")
        self._check(data)
        if self._own is None or self._own.shape != data.shape:
            self._hold(data.shape)
        with raised_as(InvalidOperationException):
            self._own.copy_from(data)

    def to_numpy(self) -> numpy.ndarray:
        """A copy of the elements: of an output those of the last run."""
        return numpy.array(self._held().numpy())

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def shape(self) -> tuple[int, ...]:
        """What it has now; before the first run an output's as the model tells it, with -1 for what is known when running."""
        try:
            return self._held().shape
        except InferException:
            return self._info.shape

    @property
    def type(self) -> ElementType:
        return self._info.type

    @property
    def size(self) -> int:
        """In bytes; 0 while its shape is not known."""
        return max(math.prod(self.shape), 0) * get_element_size(self.type) if min(self.shape, default=0) >= 0 else 0

    def _held(self) -> now.Tensor:
        if not self._is_input:
            with raised_as(InferException, usage=InferException):
                return self._request.get_output(self._index)
        if self._own is None:
            raise InferException(f"input {self.name!r} has nothing yet, and a size that is known when running: wanted copy_from first", "usage")
        return self._own

    def _hold(self, shape: tuple[int, ...]) -> None:
        """Zeros of this shape, which runs read from now on."""
        with raised_as(InvalidOperationException, invalid_input=OutOfResourceException):
            own = now.Tensor(self._info.type.value, shape)
            self._request.set_input(self._index, own)
        self._own = own

    def _check(self, data: numpy.ndarray) -> None:
        if not isinstance(data, numpy.ndarray):
            raise TypeError(f"input {self.name!r} is given a {type(data).__name__}, wanted a numpy.ndarray")
        if data.dtype.name != self._info.type.value:
            raise TypeError(f"input {self.name!r} is given {data.dtype.name}, wanted {self._info.type.value}")
        shape = self._info.shape
        if data.ndim > DIMS:
            raise ValueError(f"input {self.name!r} is given {data.ndim} dims, wanted {len(shape)}, and at most {DIMS}")
        if data.ndim != len(shape) or any(want >= 0 and have != want for have, want in zip(data.shape, shape)):
            raise ValueError(f"input {self.name!r} is given shape {list(data.shape)}, wanted {list(shape)}")
        if not data.flags.c_contiguous:
            raise ValueError(f"input {self.name!r} is given an array with gaps or another order, wanted a C-contiguous one")

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, {self.type.name}, {self.shape})"
