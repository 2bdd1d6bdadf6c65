# SPDX-License-Identifier: Apache-2.0
"""Requests: the execution states of a model."""
from __future__ import annotations

import threading
import weakref

from optima import _arrays, _runtime
from optima._tensor import Tensor, _handle
from optima._texts import Codes, codes_of
from optima.errors import Error, named_arrays, named_outputs, of_runtime

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Callable, Generator, Mapping
    from typing import Any

    import numpy


class InferRequest:
    """One execution state of a model, made by Model.create_request. One thread at a time; wait and cancel from any. While a started run is
    under way only these may be called; anything else raises Error "usage".

    Inputs are read in place: an array that is changed before the run is over changes what is computed. What a request gives out is never
    overwritten by a later run, but for outputs that were set to a tensor of the caller's."""

    def __init__(self, handle: _runtime.Request, inputs: tuple[_runtime.TensorInfo, ...], outputs: tuple[_runtime.TensorInfo, ...],
                 texts: tuple[list[Codes | None], list[Codes | None]] | None = None) -> None:
        """texts: of inputs and of outputs, where somebody has them already."""
        self._c = handle
        self._inputs, self._outputs = inputs, outputs
        self._texts_in, self._texts_out = texts or (codes_of(inputs), codes_of(outputs))
        # What a run of microseconds asks again and again; reading it from the runtime would take as long.
        self._input_numbers = {i.name: k for k, i in enumerate(inputs)}
        self._input_dtypes = [None if codes else i.dtype for i, codes in zip(inputs, self._texts_in)]
        self._output_names = [o.name for o in outputs]
        self._ours = {k: (o.type, shape) for k, o in enumerate(outputs) if o.type.name != "String" and (shape := _fixed_shape(o)) is not None}  # that get bytes here
        self._seen = set(self._ours)  # of these, those that want new bytes: somebody has the old ones, or there are none yet
        self._open: dict[int, tuple[int, ...]] = {}  # shapes of what outputs are set to whose own are known only when running
        self._called: Callable[[Error | None], Any] | None = None
        self._waiting: list[Callable[[], Any]] = []  # of asynchronous runs, as what follows
        self._lock, self._over, self._hooked = threading.Lock(), True, False

    # ------------------------------------------------------------------------------------------------- tensors

    def set_input(self, name: str | int, array: Any) -> None:
        """Later runs read the array's bytes, in place where they are dense and aligned as the plugin wants (64 bytes suffice; llvm_cpu takes numpy's 16), else through a copy. name: or number.
        Where the model has texts: an array of str, of which this is a copy; a Tensor is of their codes."""
        index = self._input_numbers.get(name) if isinstance(name, str) else None
        if index is None:
            index = self._index(name, self._inputs, "input")
        if (codes := self._texts_in[index]) is not None and not isinstance(array, Tensor):
            array = Tensor.of(codes.of(array))
        self._c.set_input(index, _handle(array, self._input_dtypes[index]))

    def drop_inputs(self) -> None:
        """Lets go of the arrays that inputs were set to; they have to be set again before the next run."""
        self._c.drop_inputs()

    def set_output(self, name: str | int, array: Any) -> None:
        """Later runs write the output to the bytes of the caller's array or Tensor, which has the output's type and shape; each run again. Where the shape is
        known only when running, a run whose output has another one raises Error "invalid_input". The bytes are neither an input's nor another output's."""
        index = self._index(name, self._outputs, "output")
        info, tensor = self._outputs[index], array._c if isinstance(array, Tensor) else _arrays.writable_tensor_of(array)
        if tensor.type != info.type and info.type.name != "String":
            raise Error(f"output {info.name!r}: found an array of {tensor.dtype}, wanted {info.dtype}", "invalid_input")
        if info.shape is not None and not _fits(tensor.shape, info.shape):
            raise Error(f"output {info.name!r}: found an array of shape {_shape(tensor.shape)}, wanted {_shape(info.shape)}", "invalid_input")
        self._c.set_output(index, tensor)
        self._leave(index)
        if _fixed_shape(info) is None:
            self._open[index] = tensor.shape

    def get_output(self, name: str | int) -> Tensor:
        """The Tensor of an output of the last run, which later runs leave alone. Where the model has texts it is of their codes."""
        return Tensor._of(self._give(self._index(name, self._outputs, "output")))

    def get_input(self, name: str | int) -> Tensor:
        """A Tensor of the input's type and shape that later runs read: fill it. The shape has to be fixed."""
        index = self._index(name, self._inputs, "input")
        info = self._inputs[index]
        shape = _fixed_shape(info)
        if shape is None:
            raise Error(f"input '{info.name}' has a size that is known only when running, wanted a tensor by set_input", "usage")
        tensor = Tensor(info.type, shape)
        self._c.set_input(index, tensor._c)
        return tensor

    # ------------------------------------------------------------------------------------------------- running

    def run(self, arrays: Mapping[str, Any] | None = None, *, outputs: str | list[str] | tuple[str, ...] | None = None) -> dict[str, numpy.ndarray]:
        """Runs in this thread, with the inputs in arrays and those that were set, and gives {name: ndarray}. outputs: names of those that are wanted, None =
        all; everything is computed."""
        return self._run(named_arrays(arrays, {}), outputs)

    def start(self, arrays: Mapping[str, Any] | None = None) -> InferRequest:
        """Starts a run on a thread of the context and returns this request; wait, result or await has the outcome."""
        self._prepare(named_arrays(arrays, {}))
        if not self._hooked:
            self._c.set_callback(_hook(weakref.ref(self)))
            self._hooked = True
        with self._lock:
            self._over = False
        try:
            self._c.start()
        except BaseException:
            self._over = True
            raise
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """True when the run is over, False when it still goes on after so many seconds (None or negative: no limit). Raises what it failed with."""
        over = self._c.wait(-1.0 if timeout is None else _seconds("timeout", timeout))
        if over and self._open:
            self._check_open()
        return over

    @property
    def result(self) -> dict[str, numpy.ndarray]:
        """The outputs of the started run, {name: ndarray}; waits for it and raises what it failed with."""
        self.wait()
        return self._answers()

    def __await__(self) -> Generator[Any, None, dict[str, numpy.ndarray]]:
        return self._outcome().__await__()

    async def _outcome(self) -> dict[str, numpy.ndarray]:
        """The result of the started run, without blocking the event loop. Cancelling this cancels the run."""
        import asyncio
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            if self._over:
                done.set()
            else:
                self._waiting.append(lambda: loop.call_soon_threadsafe(done.set))
        try:
            await done.wait()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self.result

    def cancel(self) -> None:
        """Ends the run under way with Error "cancelled", once the subgraph that is executing is done or stops."""
        self._c.cancel()

    def set_deadline(self, seconds: float | None) -> None:
        """Later runs that take longer end with Error "deadline"; None or 0 = no limit."""
        self._c.set_deadline(0.0 if seconds is None else _seconds("seconds", seconds))

    def set_callback(self, callback: Callable[[Error | None], Any] | None) -> None:
        """Calls callback(error) after each started run, on a thread of the context: None or the Error. It may start the next run; it must not
        wait. None = none."""
        self._called = callback

    # -------------------------------------------------------------------------------------------- states, profiles

    def tie(self, output: str | int, input: str | int) -> None:
        """From now on each run finds in the input what the run before left in the output; it starts from what was set last, else from zeros."""
        index = self._index(output, self._outputs, "output")
        self._c.drop_output(index)
        self._leave(index)
        self._c.tie(index, self._index(input, self._inputs, "input"))

    def reset(self) -> None:
        """The next run is as the first: tied inputs start again, plugins forget what runs left in them."""
        self._c.reset()

    def set_profiling(self, on: bool = True) -> None:
        """Later runs record events."""
        self._c.set_profiling(bool(on))

    def profile(self) -> list[_runtime.ProfileEvent]:
        """Hands over the events since the last call, oldest first."""
        return self._c.profile()

    # ------------------------------------------------------------------------------------------------------ inside

    @staticmethod
    def _index(name: str | int, infos: tuple[_runtime.TensorInfo, ...], what: str) -> int:
        if isinstance(name, int) and 0 <= name < len(infos):
            return name
        for index, info in enumerate(infos):
            if info.name == name:
                return index
        raise Error(f"there is no {what} {name!r}, wanted one of {', '.join(repr(i.name) for i in infos)}", "invalid_input")

    def _run(self, arrays: dict[str, Any], outputs: str | list[str] | tuple[str, ...] | None = None) -> dict[str, numpy.ndarray]:
        wanted = None if outputs is None else named_outputs(outputs, self._output_names)
        self._prepare(arrays)
        self._c.run()
        if self._open:
            self._check_open()
        return self._answers() if wanted is None else {name: self._answer(self._output_names.index(name)) for name in wanted}

    def _run_for_tensors(self, arrays: Mapping[str, Any]) -> list[Tensor]:
        self._prepare(arrays)
        self._c.run()
        return [Tensor._of(self._give(index)) for index in range(len(self._outputs))]

    def _prepare(self, arrays: Mapping[str, Any]) -> None:
        """Sets inputs, and gives every output of fixed shape bytes that nobody has seen yet."""
        for name, array in arrays.items():
            self.set_input(name, array)
        for index in tuple(self._seen):  # a second thread gets its error from the binding
            self._c.set_output(index, _runtime.Tensor(*self._ours[index]))
        self._seen.clear()

    def _leave(self, index: int) -> None:
        """From now on the output is the caller's or the runtime's own affair."""
        self._ours.pop(index, None)
        self._seen.discard(index)
        self._open.pop(index, None)

    def _check_open(self) -> None:
        for index, wanted in self._open.items():
            found = self._c.output(index).shape
            if found != wanted:
                raise Error(f"output {self._output_names[index]!r}: the run gave shape {_shape(found)}, and an array of shape {_shape(wanted)} is set for it, wanted one shape", "invalid_input")

    def _give(self, index: int) -> _runtime.Tensor:
        if index in self._ours:
            self._seen.add(index)
        return self._c.output(index)

    def _answers(self) -> dict[str, numpy.ndarray]:
        return {name: self._answer(index) for index, name in enumerate(self._output_names)}

    def _answer(self, index: int) -> numpy.ndarray:
        array = _arrays.numpy_of(self._give(index))
        texts = self._texts_out[index]
        return array if texts is None else texts.texts(array)

    def _ended(self, code: int, text: str) -> None:
        """On a thread of the context."""
        with self._lock:
            self._over, waiting, self._waiting = True, self._waiting, []
        try:
            if self._called is not None:
                self._called(self._error_of(code, text))
        finally:
            for wake in waiting:
                wake()

    def _error_of(self, code: int, text: str) -> Error | None:
        try:
            if not code:
                self._check_open()
        except Error as error:
            return error
        return of_runtime(code, text) if code else None

    setInputTensor, setOutputTensor, getInputTensor, getOutputTensor = set_input, set_output, get_input, get_output
    infer, setCallback, getProfileData, setProfiling, setDeadline, tieOutput = start, set_callback, profile, set_profiling, set_deadline, tie


def _seconds(name: str, value: Any) -> float:
    if not isinstance(value, (int, float)) and not hasattr(value, "__float__") or value != value:
        raise Error(f"{name} is {value!r}, wanted seconds", "usage")
    return float(value)


def _fixed_shape(info: _runtime.TensorInfo) -> tuple[int, ...] | None:
    """The shape, where every size of it is known before a run."""
    return info.shape if info.shape is not None and min(info.shape, default=0) >= 0 else None


def _fits(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(found) == len(wanted) and all(w < 0 or f == w for f, w in zip(found, wanted))


def _shape(sizes: tuple[int, ...]) -> str:
    return "x".join("?" if size < 0 else str(size) for size in sizes) or "scalar"


def _hook(request):
    """What the runtime calls: it does not keep the request."""
    def ended(code, text):
        alive = request()
        if alive is not None:
            alive._ended(code, text)
    return ended
