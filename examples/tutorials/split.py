#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One model over two backends: which node goes where, why, a picture of it, and the same answer as unsplit. Needs optima and numpy.

    split.py OUT.html [SECOND]     SECOND: the device that takes the widening stage and the softmax, default openvino/X64:0
"""
import pathlib
import sys

import numpy as np

import optima

MODEL = pathlib.Path(__file__).resolve().parents[1] / "digits/digits.onnx"


def main(out, second="openvino/X64:0"):
    allocation = {"*": "llvm_cpu/X64:0", "/widen/*": second, "op:Softmax": second}
    split = optima.compile(MODEL, allocation=allocation, name="split")
    whole = optima.compile(MODEL, devices=["llvm_cpu/X64:0"], name="whole")
    for part in split.meta["variants"][0]["subgraphs"]:
        print(f"subgraph {part['index']} on {part['device']}: {', '.join(part['inputs'])} -> {', '.join(part['outputs'])}")
    why = split.explain("/Softmax")
    print(*why.text.splitlines()[:2], sep="\n")
    image = np.random.default_rng(0).random((1, 1, 32, 32), np.float32)
    apart = np.abs(split.run(image=image)["probability"] - whole.run(image=image)["probability"]).max()
    print(f"largest difference to the unsplit model: {'below 1e-5' if apart < 1e-5 else apart}")
    print(f"picture: {split.view().save(out)}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
