#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the example's digit classifier and writes everything the example holds.

    .deps/py/bin/python examples/digits/train.py        # about a minute on two cores

Data: the 1,797 digit scans that scikit-learn brings along (8x8, 16 grey levels; E. Alpaydin, C. Kaynak, UCI 1998).
Each scan is enlarged to 32x32; four of five train the network, every fifth tests it. Writes digits.onnx,
accuracy.json, labels.txt and pictures/digit_<label>.png (test scans the network never saw).
"""
import json
import pathlib

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).parent
SIZE = 32


def enlarge(scan):
    """8x8 scan with values 0..16 -> 32x32 picture with values 0..255."""
    small = Image.fromarray(np.uint8(np.clip(scan * 255 / 16, 0, 255)))
    return np.asarray(small.resize((SIZE, SIZE), Image.Resampling.BICUBIC))


def block(channels_in, channels_out):
    return [torch.nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False),
            torch.nn.BatchNorm2d(channels_out), torch.nn.ReLU()]


class Digits(torch.nn.Module):
    """Three conv stages, a residual block, global pooling, one linear layer: 43 thousand parameters."""

    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Sequential(*block(1, 16), torch.nn.MaxPool2d(2), *block(16, 32), torch.nn.MaxPool2d(2))
        self.residual = torch.nn.Sequential(*block(32, 32), torch.nn.Conv2d(32, 32, 3, padding=1, bias=False),
                                            torch.nn.BatchNorm2d(32))
        self.widen = torch.nn.Sequential(*block(32, 64))
        self.classify = torch.nn.Linear(64, 10)

    def forward(self, image):
        x = self.stem(image)
        x = torch.relu(self.residual(x) + x)
        x = self.widen(x).mean(dim=(2, 3))
        return torch.softmax(self.classify(x), dim=1)


def train(net, images, labels, epochs=30, batch=64):
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)
    steps = epochs * (len(images) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=6e-3, total_steps=steps)
    for _ in range(epochs):
        order = torch.randperm(len(images))
        for i in range(len(images) // batch):
            pick = order[i * batch:(i + 1) * batch]
            shift = [int(s) for s in torch.randint(-3, 4, (2,))]
            loss = torch.nn.functional.nll_loss(torch.log(net(torch.roll(images[pick], shift, (2, 3))) + 1e-9), labels[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)  # the same sums in the same order
    data = load_digits()
    pictures = np.stack([enlarge(scan) for scan in data.images])
    images = torch.from_numpy(pictures.astype(np.float32) / 255).unsqueeze(1)
    labels = torch.from_numpy(data.target.astype(np.int64))
    test = torch.arange(len(images)) % 5 == 4
    net = Digits()
    train(net, images[~test], labels[~test])
    net.eval()
    with torch.no_grad():
        right = net(images[test]).argmax(1) == labels[test]
    accuracy = float(right.float().mean())
    torch.onnx.export(net, (images[:1],), HERE / "digits.onnx", input_names=["image"], output_names=["probability"],
                      dynamo=False, opset_version=17)
    (HERE / "accuracy.json").write_text(json.dumps(
        {"test_scans": int(test.sum()), "right": int(right.sum()), "accuracy": round(accuracy, 4)}, indent=2) + "\n")
    (HERE / "labels.txt").write_text("".join(f"{d}\n" for d in "zero one two three four five six seven eight nine".split()))
    (HERE / "pictures").mkdir(exist_ok=True)
    for digit in range(10):
        index = next(i for i in range(len(images)) if test[i] and labels[i] == digit)
        Image.fromarray(pictures[index]).save(HERE / "pictures" / f"digit_{digit}.png")
    print(f"accuracy {accuracy:.4f} on {int(test.sum())} unseen scans")


if __name__ == "__main__":
    main()
