# SPDX-License-Identifier: Apache-2.0
"""What the tests of serving and scaling share: models as text, compiled once, and a server as a process of its own."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import importlib.util  # noqa: E402

_spec = importlib.util.spec_from_file_location("package_support", pathlib.Path(__file__).resolve().parents[1] / "python/support.py")
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
BUILD, DIGITS, ENDLESS, HEAD, ROOT, PackageTest, unittest = (getattr(_shared, n) for n in ("BUILD", "DIGITS", "ENDLESS", "HEAD", "ROOT", "PackageTest", "unittest"))

# Rows that do not depend on each other.
ROWS = HEAD + """rows (float[N, 4] x, int64[N, 2] k) => (float[N, 4] y, int64[N, 2] j)
    <float[4, 4] w = {1, 0.5, 0, 0, 0.25, 2, 0, 0, 0, 0, 3, 1, 0.125, 0, 1, 1}> { m = MatMul(x, w)  y = Tanh(m)  j = Add(k, k) }"""
# A number beyond the table is an error that only running tells.
LOOKUP = HEAD + """lookup (int64[N] i) => (float[N, 2] y) <float[3, 2] table = {0, 1, 10, 11, 20, 21}> { y = Gather<axis = 0>(table, i) }"""
# As long as its input says.
SLOW = HEAD + """slow (int64 trips, float[2] x) => (float[2] y) <bool yes = {1}> {
    y = Loop(trips, yes, x) < body = b (int64 i, bool go, float[2] v) => (bool go2, float[2] w) { go2 = Identity(go)  w = Neg(v) } > }"""

# As exporters write a classifier: what is behind the -1 has no name, though it can be the batch alone.
CLASSIFIER = HEAD + """classifier (float[batch, 3, 4, 4] x) => (float[rows, 2] y) <float[2, 3] w = {1, 0.5, 0, 0.25, 2, 0}, int64[2] flat = {-1, 3}> {
    p = GlobalAveragePool(x)  f = Reshape(p, flat)  y = Gemm<transB = 1>(f, w) }"""

# An answer that is much longer than what was asked.
WIDE = HEAD + "wide (float[N, 1] x, float[1, 4096] z) => (float[N, 4096] y) { y = Add(x, z) }"


GIVEN = ROOT.parent / "shared/models/dynamic"
OPEN_BATCH = """if True:
    import onnx, sys
    model = onnx.load(sys.argv[1])
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    del model.graph.value_info[:]
    onnx.save(model, sys.argv[2])"""


def open_digits(path):
    """The trained model of the examples for any number of pictures at a time; by the Python that has onnx."""
    subprocess.run([ROOT / ".deps/py/bin/python", "-c", OPEN_BATCH, DIGITS / "digits.onnx", path], check=True, env={**os.environ, "PYTHONPATH": ""})
    return path


class Process:
    """python -m optima.serve, until the test is over."""

    def __init__(self, test, *words):
        self.child = subprocess.Popen([sys.executable, "-B", "-m", "optima.serve", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        test.addCleanup(self.end)
        line = self.child.stdout.readline()
        test.assertIn("listening on http://", line)
        self.address = line.split("http://")[1].split()[0]

    def end(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()


def run_page(test, name, at_least):
    """The Python of a page of docs/, block after block as one program, in a folder with the examples beside it."""
    page = ROOT / "docs" / name
    text = page.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    test.assertGreaterEqual(len(blocks), at_least)
    folder = test.folder / page.stem
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    test.addCleanup(os.chdir, os.getcwd())
    os.chdir(folder)
    names = {"__name__": "page"}
    for block in blocks:
        exec(compile("\n" * text[:block.start(1)].count("\n") + block[1], str(page), "exec"), names)  # errors tell the page's lines
