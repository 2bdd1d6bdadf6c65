# SPDX-License-Identifier: Apache-2.0
"""What a server does for its clients' connections: failures as JSON, and an end to waiting for those that are slow."""
import asyncio

from aiohttp import web


def failed(status, text):
    """An answer with one sentence."""
    return web.json_response({"error": " ".join(text.split())}, status=status)


class Connection(web.RequestHandler):
    """A connection whose failures are JSON where no request came to be, too: aiohttp answers those by itself, as text."""

    def log_exception(self, *args, exc_info=None, **named):
        if not isinstance(exc_info, web.RequestPayloadError):  # which its client was told of
            super().log_exception(*args, exc_info=exc_info, **named)

    def handle_error(self, request, status=500, exc=None, message=None):
        if request.writer.output_size:
            raise ConnectionError("the answer has begun")  # no other can follow
        if status >= 500:
            self.logger.error("request from %s", request.remote, exc_info=exc)
        about = (message or str(exc) or type(exc).__name__).strip().splitlines()[0][:200]
        answer = failed(status, f"the request cannot be read as HTTP: {about}" if status < 500 else f"the server failed: {about}")
        answer.force_close()
        return answer


class Patience:
    """Gives clients so many seconds to send a body, and again to take an answer. Of the event loop's thread."""

    def __init__(self, seconds):
        self.seconds, self._waits, self._ended = seconds, set(), False

    async def of(self, work):
        """What work, a coroutine, gives. Raises TimeoutError after the seconds, or when end() came."""
        async with asyncio.timeout(0 if self._ended else self.seconds) as wait:
            self._waits.add(wait)
            try:
                return await work
            finally:
                self._waits.discard(wait)

    def end(self):
        """Nobody is waited for any longer."""
        self._ended = True
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            if not wait.expired():
                wait.reschedule(now)
