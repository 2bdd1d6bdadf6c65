#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A photograph through CNNs: the five best classes of each, by Optima and by ONNX Runtime. Needs optima, numpy, Pillow, onnxruntime.

    cnns.py PICTURE MODELS [DEVICE]     MODELS: a folder with resnet18.ts.onnx and others (scripts/make_models.py makes it)

The models there have the topologies of the field and seeded random weights, so classes are numbers without a meaning; with trained files of
the same names they are ImageNet's.
"""
import pathlib
import sys

import numpy as np
import onnxruntime
from PIL import Image

import optima

NAMES = ("resnet18", "mobilenet_v2", "squeezenet", "shufflenet_v2")
MEAN, STD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)


def picture(path, size=224, short=256):
    """f32 1 x 3 x size x size: the short side resized, the middle, ImageNet's mean and deviation."""
    photo = Image.open(path).convert("RGB")
    scale = short / min(photo.size)
    photo = photo.resize([round(side * scale) for side in photo.size], Image.BILINEAR)
    left, top = (photo.width - size) // 2, (photo.height - size) // 2
    pixels = np.asarray(photo.crop((left, top, left + size, top + size)), np.float32) / 255
    return ((pixels - MEAN) / STD).transpose(2, 0, 1)[None].copy()


def top5(scores):
    scores = scores.reshape(-1)
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    return [(int(i), float(shares[i])) for i in np.argsort(-scores, kind="stable")[:5]]


def main(path, models, device="X64:0"):
    image = picture(path)
    for name in NAMES:
        model = pathlib.Path(models) / f"{name}.ts.onnx"
        package = optima.compile(model, devices=[device])
        (scores,) = package.run(image=image).values()
        (wanted,) = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, {"image": image})
        same = [i for i, _ in top5(scores)] == [i for i, _ in top5(wanted)]
        print(f"{name}: " + "  ".join(f"{i} {share:.3f}" for i, share in top5(scores)) + f"  {'as' if same else 'NOT AS'} onnxruntime")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
