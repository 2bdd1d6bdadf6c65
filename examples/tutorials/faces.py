#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds faces in a picture and draws boxes around them. Needs optima, numpy, Pillow.

    faces.py MODEL PICTURE OUT.png [DEVICE]

MODEL: Ultra-Light-Fast-Generic-Face-Detector (version-RFB-320.onnx): input 1x3x240x320, RGB, (x - 127) / 128; outputs scores n x {background,
face} and boxes n x {left, top, right, bottom} as shares of the picture.
"""
import sys

import numpy as np
from PIL import Image, ImageDraw

import optima

LEAST, SAME = 0.7, 0.3  # a face's score; intersection over union above which two boxes are one face


def overlaps(box, others):
    """Intersection over union of a box with each of others, n x 4."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = sides.clip(0).prod(1)
    area = lambda boxes: (boxes[..., 2:] - boxes[..., :2]).prod(-1)
    return shared / (area(box) + area(others) - shared)


def faces_of(scores, boxes):
    """[(box, score)], the best first: non-maximum suppression."""
    order = [i for i in np.argsort(-scores[:, 1]) if scores[i, 1] >= LEAST]
    kept = []
    for i in order:
        if not kept or overlaps(boxes[i], boxes[kept]).max() <= SAME:
            kept.append(i)
    return [(boxes[i], float(scores[i, 1])) for i in kept]


def main(model, path, out, device="X64:0"):
    package = optima.compile(model, devices=[device])
    photo = Image.open(path).convert("RGB")
    pixels = np.asarray(photo.resize((320, 240), Image.BILINEAR), np.float32)
    answers = package.run(input=((pixels - 127) / 128).transpose(2, 0, 1)[None].copy())
    draw = ImageDraw.Draw(photo)
    faces = faces_of(answers["scores"][0], answers["boxes"][0])
    for box, score in faces:
        corners = [float(v) for v in box * [photo.width, photo.height, photo.width, photo.height]]
        draw.rectangle(corners, outline=(255, 0, 0), width=3)
        print("face {:4.0f},{:4.0f} to {:4.0f},{:4.0f}  score {:.3f}".format(*corners, score))
    photo.save(out)
    print(f"{len(faces)} faces, drawn in {out}")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
