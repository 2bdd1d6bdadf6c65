# SPDX-License-Identifier: Apache-2.0
"""What these tests share: where things lie, programs as users run them."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else ROOT / "build/release"
sys.path.insert(0, str(BUILD / "python"))  # the package with its native binding
DIGITS = ROOT / "examples/digits"


def run(*words, **more):
    """(exit code, stdout, stderr) of a program."""
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    return ran.returncode, ran.stdout, ran.stderr


class FolderTest(unittest.TestCase):
    """A test with a folder of its own and the built optima-host."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        named = mock.patch.dict(os.environ, {"OPTIMA_HOST": str(BUILD / "bin/optima-host")})
        named.start()
        self.addCleanup(named.stop)

    def done(self, *words, **more):
        """stdout of a program that succeeds."""
        code, out, err = run(*words, **more)
        self.assertEqual(code, 0, err)
        return out

    def compile(self, model, name, device="X64:0", *words):
        self.done(BUILD / "bin/optima-host", "compile", model, "-o", self.folder / device[:-2], "--name", name, "--device", device, *words)
        return self.folder / device[:-2]


def top_of(text):
    """[(id, p, label)] of what run_model prints."""
    return [(int(i), float(p), label) for i, p, label in re.findall(r"^  id=(\d+) p=([0-9.]+) (.*)$", text, re.M)]
