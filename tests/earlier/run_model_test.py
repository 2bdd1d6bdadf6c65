#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/run_model with a trained model: what it prints, what it refuses."""
import struct
import unittest

import numpy as np
import onnxruntime
from PIL import Image

from support import BUILD, DIGITS, FolderTest, run, top_of

PROGRAM = BUILD / "bin/run_model"
LABELS = (DIGITS / "labels.txt").read_text().split()


class RunModel(FolderTest):
    def setUp(self):
        super().setUp()
        self.artifacts = self.compile(DIGITS / "digits.onnx", "digits")

    def words(self, **other):
        words = {"name": "digits", "artifacts": self.artifacts, "picture": DIGITS / "pictures/digit_3.png", "labels": DIGITS / "labels.txt", "input": "image", **other}
        return [PROGRAM, *words.values()]

    def refused(self, sentence, *extra, **other):
        code, _, err = run(*self.words(**other), *extra)
        self.assertEqual((code, err.count("\n")), (1, 1), err)
        self.assertIn(sentence, err)

    def test_a_picture_of_the_inputs_size_gives_what_onnx_runtime_gives_of_it(self):
        # 224/256 of the picture is the input, so that nothing is resized: 37 / 32 comes nearest for the digits
        pixels = np.asarray(Image.open(DIGITS / "pictures/digit_7.png").convert("L"))
        wide = np.zeros((37, 37), np.uint8)
        wide[2:34, 2:34] = pixels
        Image.fromarray(wide).save(self.folder / "seven.bmp")
        text = self.done(*self.words(picture=self.folder / "seven.bmp"))
        session = onnxruntime.InferenceSession(DIGITS / "digits.onnx")
        want = session.run(None, {"image": (pixels / 255).astype(np.float32)[None, None]})[0][0]
        top = top_of(text)
        self.assertEqual([i for i, _, _ in top], list(np.argsort(-want)[:5]))
        self.assertEqual([label for _, _, label in top], [LABELS[i] for i, _, _ in top])
        np.testing.assert_allclose([p for _, p, _ in top], np.sort(want)[::-1][:5], atol=1e-5)
        self.assertTrue(text.endswith("predicted class: seven\n"), text)

    def test_the_lines_of_the_guide_are_there_in_order(self):
        picture = Image.open(DIGITS / "pictures/digit_5.png").convert("RGB").resize((640, 480), Image.BILINEAR)
        picture.save(self.folder / "five.jpg", quality=95)
        lines = self.done(*self.words(picture=self.folder / "five.jpg")).splitlines()
        for line, begin in zip(lines, ["original size: 640 x 480", "resized size: 49 x 37, centre crop 32 x 32", "colour order: grey", "scaling: pixel / 255",
                                       "mean: 0, std: 1 (no --normalize)", "input tensor: image (1, 1, 32, 32), range 0", "output shape: (1, 10)",
                                       "probabilities (the model has a softmax) range: ", "top 5:", "  id=", "  id=", "  id=", "  id=", "  id=", "predicted class: "], strict=True):
            self.assertTrue(line.startswith(begin), (line, begin))

    def test_every_format_of_the_guide_is_read(self):
        picture = Image.open(DIGITS / "pictures/digit_4.png").convert("L")
        for suffix in ("jpg", "png", "tga", "bmp", "gif"):
            picture.save(self.folder / f"four.{suffix}")
            self.assertIn("predicted class: four", self.done(*self.words(picture=self.folder / f"four.{suffix}")), suffix)

    def test_damaged_pictures_are_one_sentence(self):
        picture = Image.open(DIGITS / "pictures/digit_4.png").convert("RGB")
        jpeg = self.folder / "four.jpg"
        picture.save(jpeg)
        whole = jpeg.read_bytes()
        table = whole.index(b"\xff\xc4")  # behind the marker its length and class, then how many codes there are of each length
        jpeg.write_bytes(whole[: table + 5] + b"\xff\xff" + whole[table + 7 :])
        self.refused("four.jpg': a Huffman table of the JPEG has over 256 codes", picture=jpeg)
        empty = self.folder / "empty.psd"
        empty.write_bytes(self.psd(0, 2))
        self.refused("empty.psd': found 2x0 pixels, wanted one or more", picture=empty)
        for name, whole in self.pictures():
            damaged = self.folder / f"damaged.{name}"
            damaged.write_bytes(whole)
            self.assertIn("predicted class: ", self.done(*self.words(picture=damaged)), name)
            refused = 0
            for size in range(0, min(len(whole), 120), 7):  # some formats take what is missing for black
                damaged.write_bytes(whole[:size])
                code, _, err = run(*self.words(picture=damaged))
                self.assertTrue((code, err) == (0, "") or (code == 1 and err.count("\n") == 1 and "cannot read picture" in err), (name, size, code, err))
                refused += code
            self.assertGreater(refused, 0, name)

    @staticmethod
    def psd(height, width):
        return b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHHIIIH", 3, height, width, 8, 3, 0, 0, 0, 0) + b"d" * 3 * height * width

    def pictures(self):
        """(suffix, bytes) of a picture in each format."""
        picture = Image.open(DIGITS / "pictures/digit_4.png").convert("RGB")
        for suffix in ("jpg", "png", "tga", "bmp", "gif"):
            picture.save(self.folder / f"whole.{suffix}")
            yield suffix, (self.folder / f"whole.{suffix}").read_bytes()
        yield "psd", self.psd(2, 2)
        yield "hdr", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 2\n" + b"h" * 16
        yield "pic", b"\x53\x80\xf6\x34" + bytes(84) + b"PICT" + struct.pack(">HHfHH", 8, 8, 1, 3, 0) + bytes([0, 8, 0, 0xE0]) + bytes(range(192))

    def test_what_cannot_be_is_one_sentence(self):
        self.assertEqual(run(PROGRAM)[0], 2)
        self.assertEqual(run(*self.words(), "--normalise")[0], 2)
        self.refused("the model has no input 'data', wanted one of 'image'", input="data")
        self.refused("--normalize has mean and std of three channels, the input has one", "--normalize")
        self.refused("cannot read picture", picture=self.folder / "none.png")
        self.refused("cannot read picture", picture=DIGITS / "labels.txt")
        self.refused("cannot read labels", labels=self.folder / "none.txt")
        self.refused("cannot read labels", labels=self.folder)
        self.refused("none", name="none")
        (self.folder / "two.txt").write_text("zero\none\n\n")
        self.refused("has 2 labels, wanted one for each of the model's 10 classes", labels=self.folder / "two.txt")
        Image.new("L", (20000, 10)).save(self.folder / "strip.png")
        self.refused("found a picture of 20000x10", picture=self.folder / "strip.png")


if __name__ == "__main__":
    unittest.main()
