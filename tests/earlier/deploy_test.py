#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The deploy guide: its models compiled here for X64 and ARM64, run by run_model here and on an emulated target.

    deploy_test.py [BUILD]                          # the guide's four models
    DEPLOY_MODELS=resnet18,… deploy_test.py BUILD   # those
"""
import os
import shutil
import sys
import time
import unittest

import numpy as np
import onnxruntime
from PIL import Image

from support import BUILD, FolderTest, ROOT, top_of

MODELS = os.environ.get("DEPLOY_MODELS", "resnet18,squeezenet,shufflenet_v2,mobilenet_v2").split(",")
ARM64 = ROOT / "build/arm64/bin/run_model"
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def picture():
    """320 x 256: nothing is resized, so that another program can prepare the same tensor. Shapes and texture, the same each time."""
    y, x = np.mgrid[:256, :320]
    noise = np.random.default_rng(4).integers(0, 60, (256, 320, 3))
    planes = [128 + 90 * np.sin(x / 17 + y / 29), 255 * (((x - 160) ** 2 + (y - 128) ** 2) < 6400), (x * 2 + y) % 256]
    return np.clip(np.stack(planes, -1) * 0.75 + noise, 0, 255).astype(np.uint8)


class Deploy(FolderTest):
    def setUp(self):
        super().setUp()
        if not ARM64.exists() or not shutil.which("qemu-aarch64"):
            self.skip("build/arm64 is not built (cmake --preset arm64 && cmake --build build/arm64), or qemu-aarch64 is not installed")
        Image.fromarray(picture()).save(self.folder / "picture.png")
        (self.folder / "labels.txt").write_text("".join(f"class {i}\n" for i in range(1000)))

    def skip(self, why):
        print(f"SKIP: {why}", flush=True)
        self.skipTest(why)

    def answer(self, name, device, *program):
        """What run_model says of the model compiled for a device."""
        model = ROOT / f"build/models/{name}.ts.onnx"
        if not model.exists():
            self.skip("build/models is not there; scripts/make_models.py build/models makes it")
        begin = time.monotonic()
        folder = self.compile(model, name, device)
        compiled = time.monotonic()
        text = self.done(*program, name, folder, self.folder / "picture.png", self.folder / "labels.txt", "image", "--normalize")
        print(f"{name} on {device}: compiled in {compiled - begin:.1f} s, run_model took {time.monotonic() - compiled:.1f} s", file=sys.stderr)
        return text

    def onnx_runtime(self, name):
        crop = picture()[16:240, 48:272]
        tensor = ((crop / 255 - MEAN) / STD).transpose(2, 0, 1)[None].astype(np.float32)
        logits = onnxruntime.InferenceSession(ROOT / f"build/models/{name}.ts.onnx").run(None, {"image": tensor})[0][0].astype(np.float64)
        p = np.exp(logits - logits.max())
        return tensor, p / p.sum()

    def test_the_target_prints_what_this_machine_prints(self):
        for name in MODELS:
            with self.subTest(name):
                here = self.answer(name, "X64:0", BUILD / "bin/run_model")
                there = self.answer(name, "ARM64:0", "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", ARM64)
                tensor, p = self.onnx_runtime(name)
                best = list(np.argsort(-p, kind="stable")[:5])
                for text in (here, there):
                    self.assertIn("original size: 320 x 256\nresized size: 320 x 256, centre crop 224 x 224\ncolour order: RGB\nscaling: pixel / 255\n"
                                  "mean: 0.485 0.456 0.406, std: 0.229 0.224 0.225\n"
                                  f"input tensor: image (1, 3, 224, 224), range {tensor.min():.6g} to {tensor.max():.6g}\noutput shape: (1, 1000)\nlogits range: ", text)
                    self.assertEqual([i for i, _, _ in top_of(text)], best)
                    np.testing.assert_allclose([q for _, q, _ in top_of(text)], p[best], atol=2e-5)
                    self.assertTrue(text.endswith(f"predicted class: class {best[0]}\n"))


if __name__ == "__main__":
    unittest.main()
