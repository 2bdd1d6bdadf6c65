# SPDX-License-Identifier: Apache-2.0
"""A package that is served: its requests, joined where they may be."""
import asyncio
import contextlib
import logging
import re

import numpy as np

from optima import run_package
from optima.errors import Error
from optima.package import Package
from optima.serve.wire import DATATYPES, dtype_of

LOG = logging.getLogger("optima")
VERSION = "1"  # a package is one version
NAME = re.compile(r"[\w][\w.+-]*")


class ServedModel:
    """Loads when made; raises optima.Error. submit() is the event loop's; runs are on threads of the pool.

    most: rows of joined requests; delay: seconds that the first waits for others; limit: requests with a place() before more are refused."""

    def __init__(self, word, plugins, pool, metrics, most, delay, limit):
        name, _, folder = word.rpartition("=") if "=" in word else ("", "", word)
        package = Package(folder, plugins=plugins)
        self.name = name or package.name
        if not NAME.fullmatch(self.name):
            raise Error(f"model name {self.name!r} cannot be part of an address, wanted letters, digits and . _ + -", "usage")
        self.inputs, self.outputs = package.inputs, package.outputs
        for port in self.inputs + self.outputs:
            dtype_of(port["dtype"])
        self._model = run_package.load_here(package)
        self._idle, self._running, self._ended = [], set(), False  # append, pop, add and discard are atomic
        self._pool, self._metrics, self._limit = pool, metrics, limit
        self._most, self._delay = most, delay
        if most > 1 and not self.has_batch():
            self._most = 1
            LOG.warning("requests of model %r are not joined: first dims of its inputs and outputs are %s, wanted one open dim of one name", self.name, self._firsts())
        self._groups, self._under_way, self._tasks = {}, 0, set()

    def has_batch(self):
        """Whether the first dim of every input and output is one open dim of one name."""
        firsts = self._firsts()
        return len(firsts) == 1 and isinstance(firsts[0], str)

    def _firsts(self):
        """The different first dims; None for what has none."""
        return list(dict.fromkeys(port["shape"][0] if port["shape"] else None for port in self.inputs + self.outputs))

    def metadata(self):
        ports = lambda of: [{"name": p["name"], "datatype": DATATYPES[p["dtype"]], "shape": sizes(p["shape"])} for p in of]
        return {"name": self.name, "versions": [VERSION], "platform": "optima", "inputs": ports(self.inputs), "outputs": ports(self.outputs)}

    @contextlib.contextmanager
    def place(self):
        """A request's place among those under way. Raises optima.Error "busy" when all are taken."""
        if self._under_way >= self._limit:
            raise Error(f"model {self.name!r} has {self._under_way} requests under way, wanted fewer than that: try again later", "busy")
        self._under_way += 1
        self._metrics.waiting.labels(self.name).inc()
        try:
            yield
        finally:
            self._under_way -= 1
            self._metrics.waiting.labels(self.name).dec()

    async def submit(self, arrays):
        """The answers to arrays, name -> ndarray. Raises optima.Error: "invalid_input" for what the model does not take."""
        arrays = run_package.checked_inputs(self.inputs, arrays)
        rows = next(iter(arrays.values())).shape[0] if self._most > 1 and arrays else None
        if rows is None or not 0 < rows < self._most or any(a.shape[0] != rows for a in arrays.values()):
            return await self._alone(arrays)
        key = tuple((name, a.shape[1:]) for name, a in arrays.items())
        group = self._groups.get(key)
        if group and group.rows + rows > self._most:
            self._send(key)
            group = None
        loop = asyncio.get_running_loop()
        if not group:
            group = self._groups[key] = Group(loop.call_later(self._delay, self._send, key))
        answer = group.add(arrays, rows, loop.create_future())
        if group.rows == self._most:
            self._send(key)
        return await answer

    def _send(self, key):
        """Takes a group out of waiting and runs it."""
        group = self._groups.pop(key)
        group.timer.cancel()
        task = asyncio.get_running_loop().create_task(self._together(group.members))
        self._tasks.add(task)  # the loop holds tasks weakly
        task.add_done_callback(self._tasks.discard)

    async def _together(self, members):
        """One run for all, each its rows; where that fails each alone, so that nobody pays for another's input."""
        members = [m for m in members if not m.answer.done()]  # those whose clients still wait
        if not members:
            return
        if len(members) > 1:
            joined = {name: np.concatenate([m.arrays[name] for m in members]) for name in members[0].arrays}
            rows = sum(m.rows for m in members)
            try:
                answers = await self._alone(joined)
            except Exception:
                answers = {}
            if answers and all(a.ndim and a.shape[0] == rows for a in answers.values()):
                return share(answers, members)
        await asyncio.gather(*(self._single(m) for m in members))

    async def _single(self, member):
        try:
            answers = await self._alone(member.arrays)
        except Exception as error:
            settle(member.answer.set_exception, error, member)
        else:
            settle(member.answer.set_result, answers, member)

    def cancel(self):
        """Ends what runs with Error "cancelled", and lets nothing begin. To be called again until nothing is under way."""
        self._ended = True
        for request in tuple(self._running):
            request.cancel()

    def _run(self, arrays):
        """On a thread of the pool."""
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._model.create_request()
        self._running.add(request)
        try:
            if self._ended:
                raise Error("the server is shutting down", "cancelled")
            return request.run(arrays)
        finally:
            self._running.discard(request)
            request.drop_inputs()
            self._idle.append(request)

    async def _alone(self, arrays):
        first = next(iter(arrays.values()), None)
        self._metrics.rows.labels(self.name).observe(first.shape[0] if self._most > 1 and first is not None else 1)
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run, arrays)


class Member:
    def __init__(self, arrays, rows, answer):
        self.arrays, self.rows, self.answer = arrays, rows, answer


class Group:
    """Requests of the same other dims that wait for each other."""

    def __init__(self, timer):
        self.timer, self.members, self.rows = timer, [], 0

    def add(self, arrays, rows, answer):
        self.members.append(Member(arrays, rows, answer))
        self.rows += rows
        return answer


def share(answers, members):
    at = 0
    for member in members:
        settle(member.answer.set_result, {name: a[at:at + member.rows] for name, a in answers.items()}, member)
        at += member.rows


def settle(call, value, member):
    if not member.answer.done():  # else its client went away
        call(value)


def sizes(shape):
    return [-1 if isinstance(size, str) else size for size in shape] if shape is not None else [-1]
