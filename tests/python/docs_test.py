#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/python.md does what it says: its commands of optima-host, and its code in one piece from top to bottom."""
import contextlib
import io
import os
import re
import shlex

from support import ROOT, PackageTest, _host, unittest

PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")


def blocks():
    """The indented blocks, in order."""
    return [re.sub(r"(?m)^    ", "", block) for block in re.findall(r"(?m)(?:^    .*\n(?:\n(?=    ))*)+", PAGE)]


def is_code(block):
    try:
        compile(block, "block", "exec")
        return True
    except SyntaxError:
        return False


class Page(PackageTest):
    def test_what_it_shows_works(self):
        (self.folder / "examples").symlink_to(ROOT / "examples")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        commands = [line for block in blocks() if not is_code(block) for line in block.splitlines() if line.startswith("optima-host ")]
        self.assertEqual(len(commands), 1)
        for command in commands:
            _host.run(*shlex.split(command)[1:])
        code = [block for block in blocks() if is_code(block)]
        self.assertEqual(len(code), 5)
        space = {}
        for block in code:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, "docs/python.md", "exec"), space)

    def test_every_name_it_tells_of_is_there(self):
        from optima import runtime
        places = [runtime, runtime.Context, runtime.Model, runtime.InferRequest, runtime.Tensor]
        names = re.search(r"## Names of OptimaV2\n(.*?)are the same functions", PAGE, re.S)[1]
        for name in re.findall(r"`(\w+)`", names):
            self.assertTrue(any(hasattr(place, name) for place in places), name)


if __name__ == "__main__":
    unittest.main()
