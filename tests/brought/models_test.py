# SPDX-License-Identifier: Apache-2.0
"""Trained models with open sizes, which lie beside the checkout or do not: each as one package without options, at several sizes."""
from PIL import Image, ImageDraw, ImageFont

from support import *

MODELS = pathlib.Path(str(ROOT) + "/../shared/models/dynamic")


def page(batch, height, width):
    """Dark words on white, normalized to -1..1."""
    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).text((4, height // 4), "Total 42", fill="black", font=ImageFont.load_default(size=max(10, height // 3)))
    planes = np.asarray(picture, np.float32).transpose(2, 0, 1) / 127.5 - 1
    return {"x": np.stack([planes * (1 - 0.1 * b) for b in range(batch)])}


def voice(batch, samples, rate, fresh=False):
    state = np.zeros((2, batch, 128), np.float32) if fresh else floats(2, batch, 128) * 0.1
    return {"input": floats(batch, samples) * 0.1, "state": state, "sr": np.array(rate)}


class Models(Case):
    def check(self, name, *inputs, options=()):
        path = MODELS / f"{name}.onnx"
        if not path.exists():
            print(f"SKIP: no file ../shared/models/dynamic/{path.name}")
            return
        self.agree(name, path, *inputs, options=options)

    def test_text_detector(self):
        self.check("ocr_det", page(1, 64, 96), page(2, 32, 64), page(1, 96, 160))

    def test_text_recogniser(self):
        self.check("ocr_rec", page(1, 48, 64), page(2, 48, 97), page(1, 48, 200))

    def test_direction_classifier(self):
        self.check("ocr_cls", page(1, 48, 192), page(3, 48, 100), page(2, 48, 64))
        self.check("ocr_cls", page(2, 48, 192), options=("--dim", "x.0=2", "--dim", "x.2=48", "--dim", "x.3=192"))

    def test_voice_activity(self):
        self.check("voice_16k", voice(1, 576, 16000), voice(3, 576, 16000), voice(1, 576, 16000, fresh=True))
        self.check("voice_16k", voice(2, 576, 16000), options=("--dim", "batch=2", "--dim", "sequence=576"))

    def test_voice_activity_at_two_rates(self):
        self.check("voice", voice(1, 576, 16000), voice(1, 288, 8000), voice(3, 576, 16000), voice(2, 288, 8000, fresh=True))
        self.check("voice", voice(1, 288, 8000), options=("--shape", "input=1,288", "--shape", "state=2,1,128"))
        self.check("voice", voice(2, 576, 16000), options=("--dim", "input.1=576"))


if __name__ == "__main__":
    main()
