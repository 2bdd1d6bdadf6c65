# SPDX-License-Identifier: Apache-2.0
"""The models with free sizes that every device has to run: the zoo's dynamic exports and trained models of others, each with ten sizes
from the smallest that it takes over primes and the neighbours of tiles (7, 8, 9) to large ones."""
import dataclasses
import pathlib
from collections.abc import Callable

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE = ROOT / "build/models/dynamic"
GIVEN = ROOT.parent / "shared/models/dynamic"


@dataclasses.dataclass
class Case:
    """quick: the sizes, by index, that the suite runs; none: the model is left to --all. impossible: a size that has to be refused. least:
    the scale of outputs that are all smaller, such as probabilities near 0."""
    path: pathlib.Path
    inputs: Callable  # (rng, size) -> arrays by name
    sizes: list
    quick: tuple = ()
    impossible: tuple | None = None
    least: float = 1e-30

    @property
    def name(self):
        return self.path.stem


def floats(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


def image(name):
    return lambda rng, size: {name: floats(rng, size[0], 3, size[1], size[2])}


def page(rng, size):
    """Dark strokes on a bright page, which readers of text answer to."""
    batch, rows, columns = size
    made = 1 + 0.05 * floats(rng, batch, 3, rows, columns)
    for picture in made:
        for _ in range(1 + rows * columns // 60):
            y, x, long = rng.integers(rows), rng.integers(columns), rng.integers(3, 9)
            tall = rng.random() < 0.5
            picture[:, y:y + (long if tall else 2), x:x + (2 if tall else long)] -= 2
    return {"x": made}


def words(count, mask):
    def inputs(rng, size):
        made = {"ids": rng.integers(0, count, size)}
        if mask:  # each row keeps at least its first word
            made["mask"] = (np.arange(size[1])[None] < rng.integers(1, size[1] + 1, (size[0], 1))).astype(np.int64)
        return made
    return inputs


def voice(rng, size):
    batch, rate = size
    return {"input": floats(rng, batch, 576 if rate == 16000 else 288) * 0.1, "state": floats(rng, 2, batch, 128), "sr": np.array(rate)}


def decoder(heads):
    def inputs(rng, size):
        batch, seq, past = size
        mask = np.ones((batch, past + seq), np.int64)
        mask[0, :min(2, past)] = 0  # padding is on the left
        cache = {f"past_key_values.{k}.{part}": floats(rng, batch, heads, past, 32) for k in range(4) for part in ("key", "value")}
        return {"input_ids": rng.integers(0, 1000, (batch, seq)), "attention_mask": mask, **cache}
    return inputs


# batch, height, width; at 21 SqueezeNet's last pooling has a window larger than its picture
ANY = [(1, 1, 1), (1, 2, 3), (2, 5, 7), (1, 8, 8), (3, 9, 7), (1, 31, 33), (8, 17, 19), (1, 64, 64), (1, 224, 224), (2, 256, 320)]
SQUEEZED = [(1, 25, 25), (1, 29, 43), (2, 31, 37), (1, 21, 21), (3, 41, 39), (1, 64, 64), (8, 32, 32), (1, 97, 61), (1, 224, 224), (2, 256, 320)]
EIGHTS = [(1, 8, 8), (1, 16, 24), (2, 24, 8), (1, 40, 56), (3, 56, 40), (1, 64, 64), (8, 16, 16), (1, 104, 88), (1, 128, 128), (2, 256, 320)]
TEXTS = [(1, 1), (1, 2), (2, 7), (1, 8), (3, 9), (1, 31), (8, 16), (2, 61), (1, 128), (4, 200)]
BERT = TEXTS[:8] + [(2, 128), (1, 384)]
BATCHES = [(b, 224, 224) for b in (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)]
DETECT = [(1, 32, 32), (1, 32, 64), (2, 64, 32), (1, 96, 160), (3, 64, 64), (1, 224, 224), (6, 64, 96), (1, 320, 480), (1, 736, 224), (1, 640, 640)]
READ = [(1, 48, w) for w in (5, 7, 8, 9)] + [(2, 48, 31), (1, 48, 97), (3, 48, 64), (6, 48, 192), (1, 48, 320), (1, 48, 641)]
SORT = [(1, 48, 9), (1, 48, 11), (1, 48, 16), (2, 48, 17), (3, 48, 23), (1, 48, 31), (7, 48, 97), (8, 48, 192), (1, 48, 192), (1, 48, 320)]
RATES = [(1, 16000), (1, 8000), (2, 16000), (3, 16000), (3, 8000), (7, 16000), (8, 16000), (9, 8000), (16, 16000), (64, 16000)]
RATE = [(b, 16000) for b in (1, 2, 3, 5, 7, 8, 9, 16, 31, 64)]
# batch, sequence, past
STEPS = [(1, 1, 0), (1, 7, 0), (1, 1, 7), (2, 1, 8), (3, 2, 5), (1, 8, 9), (2, 31, 0), (4, 1, 63), (1, 128, 0), (1, 1, 300)]

CASES = [
    Case(MADE / "resnet18.ts.onnx", image("image"), ANY, (0, 4)),
    Case(MADE / "resnet18.dynamo.onnx", image("image"), ANY),
    Case(MADE / "resnet50.ts.onnx", image("image"), ANY),
    Case(MADE / "mobilenet_v2.ts.onnx", image("image"), ANY, (0, 4, 5)),
    Case(MADE / "squeezenet.ts.onnx", image("image"), SQUEEZED, (0, 2, 3), impossible=(1, 2, 2)),
    Case(MADE / "shufflenet_v2.ts.onnx", image("image"), ANY, (0, 4, 5)),
    Case(MADE / "efficientnet.ts.onnx", image("image"), ANY, (2,)),
    Case(MADE / "unet.ts.onnx", image("image"), EIGHTS, (0, 2)),
    Case(MADE / "unet.dynamo.onnx", image("image"), EIGHTS),
    Case(MADE / "vit_tiny.ts.onnx", image("image"), BATCHES),
    Case(MADE / "bert.ts.onnx", words(5000, True), BERT, (0, 2, 5), impossible=(1, 385)),
    Case(MADE / "bert.dynamo.onnx", words(5000, True), BERT, (4,)),
    Case(MADE / "bilstm.ts.onnx", words(2000, False), TEXTS, (0, 2, 4)),
    Case(MADE / "llama.ts.onnx", decoder(2), STEPS, (0, 4, 5)),
    Case(MADE / "gpt.ts.onnx", decoder(8), STEPS, (0, 4, 5)),
    Case(GIVEN / "ocr_det.onnx", page, DETECT, (1, 4), least=0.01),
    Case(GIVEN / "ocr_rec.onnx", page, READ, (0, 4)),
    Case(GIVEN / "ocr_cls.onnx", page, SORT, (0, 4)),
    Case(GIVEN / "voice.onnx", voice, RATES, (0, 1, 3), least=0.01),
    Case(GIVEN / "voice_16k.onnx", voice, RATE, (0, 2), least=0.01),
]
