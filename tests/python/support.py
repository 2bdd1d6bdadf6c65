# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: the package of the build folder, models as text, packages of them."""
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else ROOT / "build/release"
sys.path.insert(0, str(BUILD / "python"))
for variable in ("OPTIMA_HOST", "OPTIMA_PLUGINS"):  # what is tested is this build
    os.environ.pop(variable, None)
if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):  # but for a program that compiles in its place
    os.environ["OPTIMA_HOST"] = sys.argv.pop(1)
os.environ["PYTHONPATH"] = str(BUILD / "python")  # of children

import numpy as np  # noqa: E402

from optima import _host  # noqa: E402
from optima.errors import Error  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
DIGITS = ROOT / "examples/digits"
X = np.float32([1, 2])
# Goes on for as long as nobody stops it; the host drives it, so a cancellation is seen at every trip.
ENDLESS = HEAD + """g (float[2] x) => (float[2] y) <int64 trips = {9000000000000000000}, bool yes = {1}> {
    y = Loop(trips, yes, x) < body = b (int64 i, bool go, float[2] v) => (bool go2, float[2] w) { go2 = Identity(go)  w = Neg(v) } > }"""


class PackageTest(unittest.TestCase):
    """A class of tests with one folder."""

    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.folder = pathlib.Path(made.name)

    @classmethod
    def package(cls, model, *words, name="m"):
        """Compiles a model, a file or its text, and gives the folder of the package."""
        if isinstance(model, str):
            path = cls.folder / f"{name}.onnxtxt"
            path.write_text(model)
            model = path
        _host.run("compile", model, "-o", cls.folder / "out", "--name", name, "--force", *words)
        return cls.folder / "out" / name

    def fails(self, code, sentence, call, *args, **named):
        """The call raises an Error of this code with this sentence in it; gives it."""
        with self.assertRaises(Error) as raised:
            call(*args, **named)
        self.assertEqual(raised.exception.code, code, raised.exception)
        self.assertIn(sentence, str(raised.exception))
        return raised.exception


class RunTest(PackageTest):
    """The same with packages to run, and a context."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.digits = cls.package(DIGITS / "digits.onnx", "--alloc", DIGITS / "alloc_reference.json", name="digits")
        cls.endless = cls.package(ENDLESS, "--device", "REF:0", "--alloc", cls.write("alloc.json", '{"op:Loop": "host"}'), name="endless")
        cls.negation = cls.package(HEAD + "g (float[2] x) => (float[2] y) { y = Neg(x) }", "--device", "X64:0", name="negation")
        from optima.runtime import Context
        cls.context = Context()

    @classmethod
    def write(cls, name, text):
        path = cls.folder / name
        path.write_text(text)
        return path
