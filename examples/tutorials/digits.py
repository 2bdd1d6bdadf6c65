#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles examples/digits for this processor and reads ten scans. Needs optima, numpy, Pillow.

    digits.py [DEVICE]     DEVICE: where to run, default X64:0
"""
import pathlib
import sys

import numpy as np
from PIL import Image

import optima

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "digits"


def main(device="X64:0"):
    labels = (FOLDER / "labels.txt").read_text().split()
    package = optima.compile(FOLDER / "digits.onnx", devices=[device])
    print(package)
    size = package.inputs[0]["shape"][2:]
    for path in sorted((FOLDER / "pictures").glob("*.png")):
        scan = Image.open(path).convert("L").resize(size[::-1], Image.BILINEAR)
        image = np.asarray(scan, np.float32)[None, None] / 255
        probability = package.run(image=image)["probability"][0]
        best = probability.argmax()
        print(f"{path.name}: {labels[best]} {probability[best]:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
