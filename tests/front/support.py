# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python front door share: the host of this build, a folder for each test, and the sample module of earlier documents."""
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).absolute() if len(sys.argv) > 1 else ROOT / "build/release"
BOUND = any((BUILD / "python/optima").glob("_runtime*.so"))  # whether the build has the binding of the runtime
sys.path[:0] = [str(BUILD / "python" if BOUND else ROOT / "python"), str(ROOT / "python-compat/src")]
os.environ["OPTIMA_HOST"] = str(BUILD / "bin/optima-host")

import torch  # noqa: E402  behind the path

import optima  # noqa: E402

torch.set_num_threads(1)


class ConvAdd(torch.nn.Module):
    """A convolution and an addition."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 1, 3, 1, 1, bias=False)

    def forward(self, x, y):
        return self.conv(x) + y


def conv_add_inputs():
    return torch.rand(1, 3, 32, 32), torch.rand(1, 1, 32, 32)


class FrontTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        torch.manual_seed(0)
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def refused(self, sentence, call, *args, **more):
        """The call raises optima.Error, one sentence that holds this one; gives the error."""
        with self.assertRaises(optima.Error) as caught:
            call(*args, **more)
        self.assertIn(sentence, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception

    def assert_close(self, got, want, scale=1e-5):
        want = want.detach() if isinstance(want, torch.Tensor) else torch.from_numpy(want)
        got = got.detach() if isinstance(got, torch.Tensor) else torch.from_numpy(got)
        self.assertEqual((tuple(got.shape), got.dtype), (tuple(want.shape), want.dtype))
        apart = (got.double() - want.double()).abs().max().item() if want.numel() else 0
        self.assertLessEqual(apart, scale * max(1.0, want.double().abs().max().item() if want.numel() else 0))
