# SPDX-License-Identifier: Apache-2.0
"""Serves packages over HTTP by the Open Inference Protocol (KServe v2), docs/serve.md.

    python -m optima.serve out/digits --port 8000 --batch 8

    with optima.serve.Server(["out/digits"], port=0) as server:
        print(server.url)

Needs numpy, aiohttp and prometheus_client, which are loaded when Server is used.
"""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from optima.serve.server import Server as Server


if not TYPE_CHECKING:  # or every name would be one for type checkers
    def __getattr__(name):
        if name != "Server":
            raise AttributeError(f"module 'optima.serve' has no attribute {name!r}")
        try:
            from optima.serve.server import Server
        except ModuleNotFoundError as error:
            from optima.errors import Error
            if (error.name or "").partition(".")[0] not in ("aiohttp", "prometheus_client", "numpy"):
                raise
            raise Error(f"optima.serve needs {error.name}, which is not installed, wanted it by: pip install 'optima[serve]'", "usage") from error
        return Server


def __dir__() -> list[str]:
    return ["Server"]
