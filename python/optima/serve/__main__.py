# SPDX-License-Identifier: Apache-2.0
"""python -m optima.serve PACKAGE...: serves packages until SIGTERM or Ctrl-C (docs/serve.md)."""
import argparse
import sys

from optima import serve
from optima.errors import Error


def parser():
    words = argparse.ArgumentParser(prog="python -m optima.serve", description="Serves packages over HTTP by the Open Inference Protocol (KServe v2).")
    words.add_argument("packages", nargs="+", metavar="PACKAGE", help="a package folder, or NAME=FOLDER; without a name the folder's")
    words.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    words.add_argument("--port", type=int, default=8000, help="port, 0 = a free one (default: %(default)s)")
    words.add_argument("--batch", type=int, default=1, help="most rows of joined requests, 1 = never joined (default: %(default)s)")
    words.add_argument("--delay-us", type=int, default=1000, help="microseconds that a request waits for others to join (default: %(default)s)")
    words.add_argument("--workers", type=int, default=0, help="runs at a time, 0 = one for each processor, at most 8 (default: %(default)s)")
    words.add_argument("--queue", type=int, default=1000, help="requests under way for each model before more are refused (default: %(default)s)")
    words.add_argument("--max-body", type=int, default=64 << 20, help="most bytes of a request (default: %(default)s)")
    words.add_argument("--client-timeout", type=float, default=60, help="seconds that a client may take to send a body, and to take an answer (default: %(default)s)")
    words.add_argument("--drain", type=float, default=30, help="seconds that requests under way get at the end (default: %(default)s)")
    words.add_argument("--plugins", action="append", help="a folder of plugins instead of the default one; repeats")
    return words


def main(words=None):
    given = vars(parser().parse_args(words))
    try:
        serve.Server(given.pop("packages"), **given).run()
    except Error as error:
        print(f"optima.serve: error: {error}", file=sys.stderr)
        return {"usage": 2, "invalid_input": 3}.get(error.code, 5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
