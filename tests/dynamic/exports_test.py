#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The zoo's dynamic exports are the fixed models: at the fixed size ONNX Runtime gives the outputs that lie beside the fixed file."""
import pathlib
import unittest

import numpy as np

import cases
import judge

FIXED = [case for case in cases.CASES if case.path.parent == cases.MADE and case.name.split(".")[0] not in ("llama", "gpt")]


def arrays(folder, prefix):
    return {file.stem.removeprefix(prefix): np.load(file) for file in folder.glob(f"{prefix}*.npy")}


class Exports(unittest.TestCase):
    def test_they_give_what_the_fixed_models_give(self):
        for case in FIXED:
            with self.subTest(case.name):
                data = pathlib.Path(cases.ROOT / "build/models" / f"{case.name}.data")
                self.assertLess(judge.worst(judge.peer(case.path)(arrays(data, "input_")), arrays(data, "output_"), 1e-30), 1e-5)


if __name__ == "__main__":
    if cases.MADE.is_dir():
        unittest.main()
    else:
        print("SKIP: build/models/dynamic is empty; scripts/make_models.py fills it")
