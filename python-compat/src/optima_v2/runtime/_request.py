# SPDX-License-Identifier: Apache-2.0
"""Requests: single inferences."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from optima import runtime as now
from optima.errors import Error
from optima_v2.runtime._errors import InferException, InvalidOperationException, index_of, raised_as
from optima_v2.runtime._infos import ProfileData, TensorInfo
from optima_v2.runtime._tensor import Tensor


class InferRequest:
    """One execution state, made by Model.create_request. Runs are asynchronous: infer() starts one, wait() and the callback tell its end."""

    def __init__(self, request: now.InferRequest, inputs: list[TensorInfo], outputs: list[TensorInfo]) -> None:
        self._now, self._running, self._events, self._call = request, False, list[ProfileData](), None
        self._inputs, self._outputs = ([Tensor(request, i, info, side is inputs, lambda: self._running) for i, info in enumerate(side)] for side in (inputs, outputs))
        request.set_profiling()
        request.profile()  # of its making
        request.set_callback(self._ended)

    # ------------------------------------------------------------------------------------------------- tensors

    def get_input_tensor(self, index: int | str = 0) -> Tensor:
        """By number or name. Raises IndexError, ValueError."""
        return self._inputs[index_of(index, [tensor.name for tensor in self._inputs], "input")]

    def get_output_tensor(self, index: int | str = 0) -> Tensor:
        """By number or name. Raises IndexError, ValueError."""
        return self._outputs[index_of(index, [tensor.name for tensor in self._outputs], "output")]

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(self._inputs)

    @property
    def output_tensors(self) -> list[Tensor]:
        return list(self._outputs)

    @property
    def input_tensor_count(self) -> int:
        return len(self._inputs)

    @property
    def output_tensor_count(self) -> int:
        return len(self._outputs)

    def set_inputs(self, tensors: numpy.ndarray | Sequence[numpy.ndarray] | Mapping[int | str, numpy.ndarray]) -> None:
        """Copies all inputs in: an array of a model of one, arrays in order, or number or name -> array. Raises IndexError, ValueError, TypeError; all are
        looked at before one is copied."""
        given = self._given(tensors)
        for index, array in given.items():
            self._inputs[index]._check(array)
        for index, array in given.items():
            self._inputs[index].copy_from(array)

    def _given(self, tensors: Any) -> dict[int, Any]:
        if isinstance(tensors, numpy.ndarray):
            tensors = [tensors]
        if isinstance(tensors, Mapping):
            given = {index_of(key, [tensor.name for tensor in self._inputs], "input"): array for key, array in tensors.items()}
        elif isinstance(tensors, Sequence) and not isinstance(tensors, (str, bytes)):
            given = dict(enumerate(tensors))
        else:
            raise TypeError(f"inputs are a {type(tensors).__name__}, wanted a numpy.ndarray, a list of them, or number or name -> numpy.ndarray")
        if len(given) != len(self._inputs) or len(tensors) != len(given):
            raise ValueError(f"{len(tensors)} inputs are given, wanted {len(self._inputs)}")
        return given

    def get_outputs(self) -> list[numpy.ndarray]:
        """Copies of all outputs of the last run, in order."""
        return [tensor.to_numpy() for tensor in self._outputs]

    # ------------------------------------------------------------------------------------------------- running

    def set_callback(self, callback: Callable[[], None] | Callable[[Any], None], userdata: Any = None) -> None:
        """Calls callback(userdata), or callback() where it takes nothing, after each run that did not fail, on a thread of the runtime. It may start the
        next run. Raises InvalidOperationException while one goes on."""
        if not callable(callback):
            raise TypeError(f"callback is {callback!r:.60}, wanted a function")
        if self._running:
            raise InvalidOperationException("a run goes on, wanted set_callback before it or behind it", "usage")
        self._call = (lambda: callback(userdata)) if takes_one(callback) else callback

    def infer(self) -> None:
        """Starts a run and returns. Raises InvalidOperationException while one goes on."""
        if self._running:
            raise InvalidOperationException("a run goes on, wanted infer when it is over", "usage")
        self._now.profile()  # of the run before
        self._events = []
        self._running = True
        try:
            with raised_as(InferException):
                self._now.start()
        except BaseException:
            self._running = False
            raise

    def wait(self, timeout: int = 0) -> bool:
        """False when the run is over, True when it still goes on after so many milliseconds (0: no limit). Raises InferException when it failed, or was never
        started."""
        if isinstance(timeout, bool) or not isinstance(timeout, int):
            raise TypeError(f"timeout is {timeout!r:.60}, wanted milliseconds, an int")
        if timeout < 0:
            raise ValueError(f"timeout is {timeout}, wanted milliseconds from 0 on")
        with raised_as(InferException):
            return not self._now.wait(timeout / 1000 if timeout else None)

    @property
    def profile_data(self) -> list[ProfileData]:
        """What the last run's infer() took, oldest first; nothing before a run and during one."""
        if self._running:
            return []
        self._events += ProfileData._of(self._now.profile())
        return list(self._events)

    def _ended(self, error: Error | None) -> None:
        """On a thread of the runtime."""
        self._running = False
        if error is None and self._call is not None:
            self._call()


def takes_one(callback: Callable[..., None]) -> bool:
    try:
        inspect.signature(callback).bind(None)
        return True
    except TypeError:
        return False
    except ValueError:  # of the interpreter's own, which do not tell
        return True
