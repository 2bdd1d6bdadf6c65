# SPDX-License-Identifier: Apache-2.0
"""The HTTP server. Needs aiohttp and prometheus_client."""
from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import os
import signal
import threading

from aiohttp import web

import optima
from optima.errors import Error
from optima.serve import wire
from optima.serve.connection import Connection, Patience, failed
from optima.serve.metrics import Metrics
from optima.serve.model import VERSION, ServedModel

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Iterable

    Path = str | os.PathLike[str]

STATUS = {"invalid_input": 400, "usage": 400, "unknown": 404, "busy": 503, "cancelled": 503}
GONE = 499  # the status under which requests are counted whose client went away
ENDING = "the server is shutting down, wanted another one"
PACKINGS = ("identity", "gzip", "deflate")
LOG = logging.getLogger("optima")
LARGE = 1 << 20  # bytes: larger bodies are read on a thread, so that others are answered meanwhile


class Server:
    """Serves packages by the Open Inference Protocol (docs/serve.md).

    packages: folders, "NAME=FOLDER" for another name than the folder's. port 0 = a free one. batch: most rows of joined requests (1 = never
    joined), for models whose inputs and outputs share an open first dim, whose rows must not depend on each other. delay_us: how long a
    request waits for others. workers: runs at a time, 0 = one for each processor, at most 8. queue: requests under way for each model, those that
    still come and answers that still go among them, before more are refused (503). max_body: bytes of a request. client_timeout: seconds that a client
    may take to send a request's body, and again to take its answer. drain: seconds that requests under way get at the end. plugins: folders of plugins.

    run() serves until SIGTERM or Ctrl-C, in the main thread. As a context manager it serves on a thread of its own. Models load at the
    beginning of either; what fails there raises optima.Error."""

    def __init__(self, packages: Path | Iterable[Path], *, host: str = "127.0.0.1", port: int = 8000, batch: int = 1, delay_us: int = 1000, workers: int = 0,
                 queue: int = 1000, max_body: int = 64 << 20, client_timeout: float = 60, drain: float = 30, plugins: Path | Iterable[Path] | None = None) -> None:
        for name, value, least, most in (("port", port, 0, 65535), ("batch", batch, 1, 1 << 20), ("delay_us", delay_us, 0, 10_000_000), ("workers", workers, 0, 1024),
                                         ("queue", queue, 1, 1 << 30), ("max_body", max_body, 1, 1 << 40), ("client_timeout", client_timeout, .001, 86400), ("drain", drain, 0, 86400)):
            if not isinstance(value, (int, float)) or not least <= value <= most:
                raise Error(f"{name} is {value!r}, wanted {least} to {most}", "usage")
        self.host, self.port, self.drain = host, port, drain
        self._packages = [os.fspath(p) for p in ([packages] if isinstance(packages, (str, os.PathLike)) else packages)]
        self._settings = {"most": int(batch), "delay": delay_us / 1e6, "limit": int(queue)}
        self._workers, self._max_body, self._plugins = workers or min(os.cpu_count() or 1, 8), int(max_body), plugins
        self.metrics, self.models, self._patience = Metrics(), {}, Patience(client_timeout)
        self._stopping, self._under_way, self._idle = False, 0, asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    # ------------------------------------------------------------------------------------------------- beginning and end

    def run(self) -> None:
        """Serves in this thread until SIGTERM or SIGINT; what is under way then is finished. A second signal ends the process at once."""
        asyncio.run(self._serve())

    def __enter__(self) -> Server:
        ready = concurrent.futures.Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve_on_thread(ready)), name="optima.serve", daemon=True)
        self._thread.start()
        self._loop, self._end = ready.result()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _serve(self):
        end, loop = asyncio.Event(), asyncio.get_running_loop()
        await self.start()

        def signalled(number):
            if end.is_set():
                print(f"optima.serve: ends at once, with {self._under_way} requests under way", flush=True)
                os._exit(128 + number)
            end.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, signalled, number)
        print(f"optima.serve: listening on {self.url} with {', '.join(self.models)}", flush=True)
        await end.wait()
        print(f"optima.serve: finishes {self._under_way} requests", flush=True)
        await self.stop()

    async def _serve_on_thread(self, ready):
        end = asyncio.Event()
        try:
            await self.start()
        except BaseException as error:
            ready.set_exception(error)
            return
        ready.set_result((asyncio.get_running_loop(), end))
        await end.wait()
        await self.stop()

    async def start(self) -> None:
        """Loads the models and listens, in the running event loop."""
        self._pool = concurrent.futures.ThreadPoolExecutor(self._workers, "optima.serve")
        try:
            for word in self._packages:
                model = ServedModel(word, self._plugins, self._pool, self.metrics, **self._settings)
                if model.name in self.models:
                    raise Error(f"two packages are called {model.name!r}, wanted NAME=FOLDER for one of them", "usage")
                self.models[model.name] = model
            if not self.models:
                raise Error("there is no package to serve, wanted one or more", "usage")
            self._runner = web.AppRunner(self._application(), handler_cancellation=False, shutdown_timeout=1)  # of idle connections: stop() waits for the others
            await self._runner.setup()
            loop = asyncio.get_running_loop()
            try:
                self._socket = await loop.create_server(lambda: Connection(self._runner.server, loop=loop, access_log=None), self.host, self.port, backlog=128)
            except OSError as error:
                await self._runner.cleanup()
                raise Error(f"cannot listen on {self.host}:{self.port}: {error.strerror or error}", "io") from error
        except BaseException:
            self._pool.shutdown(wait=False)
            raise
        self.port = self._socket.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Takes no more requests, finishes those that are under way, cancels them after `drain` seconds, and closes."""
        self._stopping = True
        self._socket.close()
        if not await self._finished(self.drain):
            print(f"optima.serve: cancels {self._under_way} requests that did not end in {self.drain} seconds", flush=True)
            self._patience.end()
            for model in self.models.values():
                model.cancel()
            while not await self._finished(.05):  # a cancel that came before its run began is lost
                for model in self.models.values():
                    model.cancel()
        await self._runner.cleanup()
        self._pool.shutdown()

    async def _finished(self, seconds):
        """Whether nothing is under way after so many seconds at most."""
        if not self._under_way:
            return True
        self._idle.clear()
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except asyncio.TimeoutError:
            pass
        return not self._under_way

    # ------------------------------------------------------------------------------------------------- what is asked

    def _application(self):
        app = web.Application(client_max_size=self._max_body, middlewares=[self._guard])
        get, post = app.router.add_get, app.router.add_post
        get("/v2", self._server_metadata)
        get("/v2/", self._server_metadata)
        get("/v2/health/live", self._live)
        get("/v2/health/ready", self._ready)
        get("/metrics", self._metrics)
        post("/v2/repository/index", self._index)
        for path in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
            get(path, self._model_metadata)
            get(path + "/ready", self._model_ready)
            post(path + "/infer", self._infer)
        return app

    @web.middleware
    async def _guard(self, request, handler):
        """Every failure is a JSON object with one sentence."""
        try:
            return await handler(request)
        except Error as error:
            return failed(STATUS.get(error.code, 500), str(error))
        except web.HTTPRequestEntityTooLarge:
            return failed(413, f"the request is larger than {self._max_body} bytes, wanted at most that")
        except web.HTTPNotFound:
            return failed(404, f"there is nothing at {request.path!r:.200}, wanted an address of the protocol below /v2")
        except web.HTTPMethodNotAllowed as error:
            return failed(405, f"{request.path!r:.200} does not take {request.method}, wanted {' or '.join(sorted(error.allowed_methods))}")
        except web.HTTPException as error:
            return failed(error.status, error.reason)
        except web.RequestPayloadError as error:
            return failed(400, f"the request's body cannot be read: {str(error).removeprefix('400, message:') or 'it ends too early'}")
        except Exception as error:
            LOG.exception("request for %.200s", request.path)
            return failed(500, f"the server failed: {type(error).__name__}: {error}")

    def _model_of(self, request):
        name, version = request.match_info["model"], request.match_info.get("version", VERSION)
        if name not in self.models:
            raise Error(f"there is no model {name!r:.100}, wanted one of {', '.join(map(repr, self.models))}", "unknown")
        if version != VERSION:
            raise Error(f"model {name!r} has no version {version!r:.100}, wanted {VERSION!r}", "unknown")
        return self.models[name]

    async def _server_metadata(self, request):
        return web.json_response({"name": "optima", "version": optima.__version__, "extensions": ["binary_tensor_data"]})

    async def _live(self, request):
        return web.json_response({"live": True})

    async def _ready(self, request):
        return web.json_response({"ready": not self._stopping}, status=503 if self._stopping else 200)

    async def _model_metadata(self, request):
        return web.json_response(self._model_of(request).metadata())

    async def _model_ready(self, request):
        return web.json_response({"name": self._model_of(request).name, "ready": not self._stopping}, status=503 if self._stopping else 200)

    async def _index(self, request):
        return web.json_response([{"name": name, "version": VERSION, "state": "READY", "reason": ""} for name in self.models])

    async def _metrics(self, request):
        return web.Response(body=self.metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def _infer(self, request):
        model, status = self._model_of(request), GONE
        self._under_way += 1
        self.metrics.requests.labels(model.name).inc()
        try:
            with contextlib.ExitStack() as held:
                answer = await self._guard(request, lambda r: self._answer(model, r, held))
                status = answer.status if await self._send(request, answer) else GONE
                return answer
        finally:
            if status >= 400:
                self.metrics.failures.labels(model.name, status).inc()
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _answer(self, model, request, held):
        """The answer to a request. held: what is let go of when the answer went."""
        if self._stopping:
            return closing(failed(503, ENDING))
        held.enter_context(model.place())  # before the body is read: bodies of refused requests are not kept
        try:
            body = await self._patience.of(self._body(request))
        except TimeoutError:
            late = f"the request's body did not come within {self._patience.seconds} seconds, wanted it whole by then"
            return closing(failed(503, ENDING) if self._stopping else failed(408, late))
        except ConnectionError:
            return failed(GONE, "the client went away")  # to nobody, for the counts
        with self.metrics.latency.labels(model.name).time():
            asked = await near(len(body), wire.decode, body, request.headers.get(wire.HEADER), model.inputs, model.outputs)
            answers = await model.submit(asked.arrays)
            made, length = await near(sum(a.nbytes for a in answers.values()), wire.encode, model.name, VERSION, asked, answers)
        if length is None:
            return web.Response(body=made, content_type="application/json")
        return web.Response(body=made, content_type="application/octet-stream", headers={wire.HEADER: str(length)})

    async def _body(self, request):
        packing = request.headers.get("Content-Encoding", "identity").lower()
        if packing not in PACKINGS:
            raise web.HTTPUnsupportedMediaType(reason=f"the request has Content-Encoding {packing!r:.60}, wanted {', '.join(PACKINGS)}")
        if (request.content_length or 0) > self._max_body:
            raise web.HTTPRequestEntityTooLarge(self._max_body, request.content_length)
        return await request.read()

    async def _send(self, request, answer):
        """Whether the client took the answer; the connection of one that is too slow ends."""
        async def whole():
            await answer.prepare(request)
            await answer.write_eof()
        try:
            await self._patience.of(whole())
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            return False
        except ConnectionError:
            return False
        return True


async def near(size, call, *words):
    return call(*words) if size < LARGE else await asyncio.to_thread(call, *words)


def closing(answer):
    """The same, and its connection ends: the rest of the request is not waited for."""
    answer.force_close()
    return answer
