#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the networks of the race as ONNX with a sample of their inputs: nets.py FOLDER [NAME ...]

Structure as published, random weights, narrow layers: where a graph may be cut depends on its operators, not on the width. Sizes stay
symbolic, so that shape arithmetic is in the graph as in files from the wild. Howard 2019 (MobileNetV3), Sandler 2018 (SSDlite),
Liu 2016 (SSD), He 2017 (Mask R-CNN), Lin 2017 (FPN), Liu 2021 (Swin), Dosovitskiy 2020 (ViT), Devlin 2018 (BERT)."""
import logging
import pathlib
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from make_models import Bert, Bottleneck, ViT, conv_bn


class Nms(torch.autograd.Function):
    """Indices of the boxes that stay; becomes ONNX's NonMaxSuppression. Tracing needs some answer, not the right one."""

    @staticmethod
    def forward(ctx, boxes, scores, threshold):
        return torch.arange(max(1, len(scores) // 2))

    @staticmethod
    def symbolic(g, boxes, scores, threshold):
        number = lambda value: g.op("Constant", value_t=torch.tensor(value))
        found = g.op("NonMaxSuppression", g.op("Unsqueeze", boxes, number([0])), g.op("Unsqueeze", scores, number([0, 1])),
                     number([1 << 30]), number([threshold]), number([-1e30]))
        return g.op("Squeeze", g.op("Gather", found, number([2]), axis_i=1), number([1]))


class RoiAlign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features, boxes, size, scale):
        return features.new_zeros(len(boxes), features.shape[1], size, size)

    @staticmethod
    def symbolic(g, features, boxes, size, scale):
        first = g.op("Cast", g.op("Squeeze", g.op("Gather", boxes, g.op("Constant", value_t=torch.tensor([0])), axis_i=1),
                                  g.op("Constant", value_t=torch.tensor([1]))), to_i=7)
        image = g.op("Mul", first, g.op("Constant", value_t=torch.tensor(0)))
        return g.op("RoiAlign", features, boxes, image, output_height_i=size, output_width_i=size, sampling_ratio_i=2, spatial_scale_f=scale)


def batched_nms(boxes, scores, labels, threshold):
    """One suppression for all classes: each class is moved to a place of its own."""
    return Nms.apply(boxes + (labels.to(boxes) * (boxes.max() + 1))[:, None], scores, threshold)


def clip(boxes, height, width):
    x, y = boxes[..., 0::2], boxes[..., 1::2]
    return torch.stack([x.clamp(min=0).minimum(width.to(x)), y.clamp(min=0).minimum(height.to(y))], -1).flatten(-2)


def decode(deltas, anchors):
    """Box regressions on anchors, both n x 4."""
    w, h = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    x, y = anchors[:, 0] + 0.5 * w, anchors[:, 1] + 0.5 * h
    dx, dy, dw, dh = deltas[:, 0::4] / 10, deltas[:, 1::4] / 10, (deltas[:, 2::4] / 5).clamp(max=4.1), (deltas[:, 3::4] / 5).clamp(max=4.1)
    cx, cy = dx * w[:, None] + x[:, None], dy * h[:, None] + y[:, None]
    pw, ph = dw.exp() * w[:, None] * 0.5, dh.exp() * h[:, None] * 0.5
    return torch.stack([cx - pw, cy - ph, cx + pw, cy + ph], 2).flatten(1)


def anchors_of(features, height, width, per_place):
    """Boxes at every place of a feature map, by its size."""
    rows, columns = torch.tensor(features.shape[-2]), torch.tensor(features.shape[-1])
    sy, sx = height // rows, width // columns
    y, x = torch.arange(features.shape[-2]) * sy, torch.arange(features.shape[-1]) * sx
    y, x = torch.meshgrid(y, x, indexing="ij")
    shifts = torch.stack([x.reshape(-1), y.reshape(-1), x.reshape(-1), y.reshape(-1)], 1)
    base = torch.tensor([[-8.0 * k, -8.0 * k, 8.0 * k, 8.0 * k] for k in range(1, per_place + 1)])
    return (shifts[:, None] + base[None]).reshape(-1, 4)


def size_of(image):
    shape = torch._shape_as_tensor(image)
    return shape[-2], shape[-1]


class Squeeze(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, max(8, c // 4), 1), nn.Conv2d(max(8, c // 4), c, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.b(F.relu(self.a(F.adaptive_avg_pool2d(x, 1)))))


class Mobile(nn.Module):
    """A block of MobileNetV3."""

    def __init__(self, i, k, h, o, squeeze, act, s):
        super().__init__()
        widen = [conv_bn(i, h, 1, act=act)] if h != i else []
        self.body = nn.Sequential(*widen, conv_bn(h, h, k, s, groups=h, act=act), *([Squeeze(h)] if squeeze else []), conv_bn(h, o, 1))
        self.residual = s == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


R, H = nn.ReLU, nn.Hardswish
MOBILE_LARGE = [(3, 16, 16, 0, R, 1), (3, 64, 24, 0, R, 2), (3, 72, 24, 0, R, 1), (5, 72, 40, 1, R, 2), (5, 120, 40, 1, R, 1), (5, 120, 40, 1, R, 1),
                (3, 240, 80, 0, H, 2), (3, 200, 80, 0, H, 1), (3, 184, 80, 0, H, 1), (3, 184, 80, 0, H, 1), (3, 480, 112, 1, H, 1),
                (3, 672, 112, 1, H, 1), (5, 672, 80, 1, H, 2), (5, 480, 80, 1, H, 1), (5, 480, 80, 1, H, 1)]


class SsdLite(nn.Module):
    def __init__(self, classes=91, per_place=6):
        super().__init__()
        i, blocks = 16, []
        for k, h, o, squeeze, act, s in MOBILE_LARGE:
            blocks.append(Mobile(i, k, h, o, squeeze, act, s))
            i = o
        self.first = nn.Sequential(conv_bn(3, 16, 3, 2, act=nn.Hardswish), *blocks[:13])
        self.second = nn.Sequential(*blocks[13:], conv_bn(i, 480, 1, act=nn.Hardswish))
        light = lambda a, b, s: nn.Sequential(conv_bn(a, b // 2, 1, act=nn.ReLU6), conv_bn(b // 2, b // 2, 3, s, groups=b // 2, act=nn.ReLU6),
                                              conv_bn(b // 2, b, 1, act=nn.ReLU6))
        self.extra = nn.ModuleList([light(480, 512, 2), light(512, 256, 2), light(256, 256, 2), light(256, 128, 2)])
        head = lambda c, o: nn.Sequential(conv_bn(c, c, 3, groups=c, act=nn.ReLU6), nn.Conv2d(c, o, 1))
        channels = [80, 480, 512, 256, 256, 128]
        self.classes, self.per_place = classes, per_place
        self.scores = nn.ModuleList(head(c, per_place * classes) for c in channels)
        self.boxes = nn.ModuleList(head(c, per_place * 4) for c in channels)

    def forward(self, image):
        height, width = size_of(image)
        x = F.interpolate((image - 0.45) / 0.22, size=(320, 320), mode="bilinear", align_corners=False)
        maps = [self.first(x)]
        maps.append(self.second(maps[-1]))
        for extra in self.extra:
            maps.append(extra(maps[-1]))
        flat = lambda y, last: y.view(y.shape[0], -1, last, y.shape[2], y.shape[3]).permute(0, 3, 4, 1, 2).reshape(y.shape[0], -1, last)
        scores = torch.cat([flat(head(m), self.classes) for head, m in zip(self.scores, maps)], 1)[0].softmax(-1)
        deltas = torch.cat([flat(head(m), 4) for head, m in zip(self.boxes, maps)], 1)[0]
        size = torch.tensor(320)
        anchors = torch.cat([anchors_of(m, size, size, self.per_place) for m in maps])
        boxes = clip(decode(deltas, anchors), size, size)
        kept = []
        for label in range(1, self.classes):
            score = scores[:, label]
            keep = score > 0.001
            score, box = score[keep], boxes[keep]
            best, order = score.topk(torch.minimum(torch._shape_as_tensor(score)[0], torch.tensor(300)))
            kept.append((box[order], best, torch.full_like(best, label, dtype=torch.int64)))
        boxes, scores, labels = (torch.cat(k) for k in zip(*kept))
        keep = batched_nms(boxes, scores, labels, 0.55)[:300]
        ratio = torch.stack([width, height, width, height]).to(boxes) / 320
        return boxes[keep] * ratio, scores[keep], labels[keep]


class MaskRcnn(nn.Module):
    def __init__(self, depths=(3, 4, 6, 3), width=64, classes=91, narrow=16):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, narrow, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1))
        channels, stages, self.classes = narrow, [], classes
        for stage, depth in enumerate(depths):
            blocks = []
            for k in range(depth):
                blocks.append(Bottleneck(channels, narrow << stage, 2 if stage and not k else 1))
                channels = (narrow << stage) * 4
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.ModuleList(stages)
        self.inner = nn.ModuleList(nn.Conv2d((narrow << s) * 4, width, 1) for s in range(4))
        self.layer = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(4))
        self.rpn, self.objectness, self.rpn_box = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, 3, 1), nn.Conv2d(width, 12, 1)
        self.fc1, self.fc2 = nn.Linear(width * 49, 128), nn.Linear(128, 128)
        self.score, self.box = nn.Linear(128, classes), nn.Linear(128, classes * 4)
        self.mask = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU())],
                                  nn.ConvTranspose2d(width, width, 2, 2), nn.ReLU(), nn.Conv2d(width, classes, 1))

    def pyramid(self, x):
        x, maps = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        last = self.inner[3](maps[3])
        out = [self.layer[3](last)]
        for k in (2, 1, 0):
            side = self.inner[k](maps[k])
            last = side + F.interpolate(last, size=side.shape[-2:], mode="nearest")
            out.insert(0, self.layer[k](last))
        return out + [F.max_pool2d(out[-1], 1, 2)]

    def proposals(self, maps, height, width):
        boxes, scores, levels = [], [], []
        for level, m in enumerate(maps):
            t = F.relu(self.rpn(m))
            score = self.objectness(t).permute(0, 2, 3, 1).reshape(-1)
            delta = self.rpn_box(t).view(1, 3, 4, m.shape[2], m.shape[3]).permute(0, 3, 4, 1, 2).reshape(-1, 4)
            score, order = score.topk(torch.minimum(torch._shape_as_tensor(score)[0], torch.tensor(1000)))
            box = clip(decode(delta, anchors_of(m, height, width, 3))[order], height, width)
            keep = ((box[:, 2] - box[:, 0]) >= 1) & ((box[:, 3] - box[:, 1]) >= 1)
            keep = torch.where(keep)[0]
            boxes.append(box[keep]), scores.append(score[keep].sigmoid()), levels.append(torch.full_like(score[keep], level, dtype=torch.int64))
        boxes, scores, levels = torch.cat(boxes), torch.cat(scores), torch.cat(levels)
        return boxes[batched_nms(boxes, scores, levels, 0.7)[:1000]]

    def pool(self, maps, boxes, size):
        """Every box from the level that fits its area (Lin 2017, equation 1)."""
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        level = (4 + (area.sqrt() / 224 + 1e-6).log2()).floor().clamp(2, 5).to(torch.int64) - 2
        out = boxes.new_zeros((boxes.shape[0], maps[0].shape[1], size, size))
        for k in range(4):
            at = torch.where(level == k)[0]
            part = RoiAlign.apply(maps[k], boxes[at], size, 1.0 / (4 << k))
            out = out.scatter(0, at[:, None, None, None].expand_as(part), part)
        return out

    def forward(self, image):
        height, width = size_of(image)
        x = F.interpolate((image - 0.45) / 0.22, scale_factor=1.0, mode="bilinear", align_corners=False, recompute_scale_factor=True)
        rows, columns = size_of(x)
        maps = self.pyramid(F.pad(x, (0, (-columns) % 32, 0, (-rows) % 32)))
        proposals = self.proposals(maps, rows, columns)
        t = F.relu(self.fc2(F.relu(self.fc1(self.pool(maps, proposals, 7).flatten(1)))))
        scores = self.score(t).softmax(-1)
        boxes = clip(decode(self.box(t), proposals).reshape(-1, self.classes, 4), rows, columns)
        labels = torch.arange(self.classes)[None].expand_as(scores)
        boxes, scores, labels = boxes[:, 1:].reshape(-1, 4), scores[:, 1:].reshape(-1), labels[:, 1:].reshape(-1)
        keep = torch.where(scores > 0.001)[0]
        boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
        keep = batched_nms(boxes, scores, labels, 0.5)[:100]
        boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
        masks = self.mask(self.pool(maps, boxes, 14)).sigmoid()
        masks = masks[torch.arange(labels.shape[0]), labels][:, None]
        ratio = torch.stack([width / columns, height / rows, width / columns, height / rows]).to(boxes)
        return boxes * ratio, scores, labels, masks


class Window(nn.Module):
    """Attention in shifted windows, with its feed-forward half."""

    def __init__(self, width, heads, window, shift):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads))
        self.register_buffer("place", torch.randint(0, (2 * window - 1) ** 2, (window ** 4,)))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def split(self, x):
        n, h, w, c = x.shape
        s = self.window
        return x.view(n, h // s, s, w // s, s, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, c)

    def mask(self, h, w):
        """-100 between pixels that the shift has brought together from two sides."""
        behind = lambda size, width: (torch.arange(size) >= size - width).to(torch.float32)
        side = lambda size: behind(size, self.window) + behind(size, self.shift)
        zone = self.split((side(h)[:, None] * 3 + side(w)[None])[None, :, :, None])[..., 0]
        return torch.where(zone[:, None] != zone[:, :, None], -100.0, 0.0)

    def attend(self, x):
        h, w = x.shape[1], x.shape[2]
        x = F.pad(x, (0, 0, 0, (-w) % self.window, 0, (-h) % self.window))
        n, rows, columns, c = x.shape
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        t = self.split(x)
        q, k, v = self.qkv(t).reshape(t.shape[0], t.shape[1], 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        a = a + self.bias[self.place].view(self.window ** 2, self.window ** 2, -1).permute(2, 0, 1)[None]
        if self.shift:
            m = self.mask(rows, columns)
            a = (a.view(n, -1, self.heads, t.shape[1], t.shape[1]) + m[None, :, None]).view(-1, self.heads, t.shape[1], t.shape[1])
        t = self.out((a.softmax(-1) @ v).transpose(1, 2).reshape(t.shape))
        s = self.window
        x = t.view(n, rows // s, columns // s, s, s, c).permute(0, 1, 3, 2, 4, 5).reshape(n, rows, columns, c)
        if self.shift:
            x = torch.roll(x, (self.shift, self.shift), (1, 2))
        return x[:, :h, :w]

    def forward(self, x):
        x = x + self.attend(self.n1(x))
        return x + self.mlp(self.n2(x))


class Merge(nn.Module):
    """Four neighbours become one place of twice the width."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
        return self.reduce(self.norm(torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)))


class Swin(nn.Module):
    def __init__(self, width=24, depths=(2, 2, 6, 2), window=7):
        super().__init__()
        layers = []
        for stage, depth in enumerate(depths):
            layers += [Window(width << stage, 3 << stage, window, window // 2 * (k % 2)) for k in range(depth)]
            layers += [Merge(width << stage)] if stage < 3 else []
        self.patch, self.norm0, self.layers = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width), nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(width << 3), nn.Linear(width << 3, 1000)

    def forward(self, image):
        x = self.layers(self.norm0(self.patch(image).permute(0, 2, 3, 1)))
        return self.head(self.norm(x).permute(0, 3, 1, 2).mean((2, 3)))


SIZES = {"image": {2: "height", 3: "width"}}
IMAGE = lambda side: (torch.randn(1, 3, side, side),)
NETS = {  # name: (module, inputs, input names, symbolic sizes)
    "ssdlite": (SsdLite, lambda: IMAGE(320), ["image"], SIZES),
    "mask_rcnn": (MaskRcnn, lambda: IMAGE(256), ["image"], SIZES),
    "swin": (Swin, lambda: IMAGE(224), ["image"], SIZES),
    "vit": (lambda: ViT(width=96, heads=12, depth=12), lambda: IMAGE(224), ["image"], {"image": {0: "batch"}}),
    "bert": (lambda: Bert(width=96, heads=12, depth=12), lambda: (torch.randint(0, 5000, (1, 128)), torch.ones(1, 128, dtype=torch.int64)),
             ["ids", "mask"], {name: {0: "batch"} for name in ("ids", "mask")}),
}


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETS:
        make, inputs, names, sizes = NETS[name]
        torch.manual_seed(1)
        sample = inputs()
        with torch.no_grad():
            torch.onnx.export(make().eval(), sample, str(folder / f"{name}.onnx"), input_names=names, dynamic_axes=sizes, opset_version=17,
                              dynamo=False)
        np.savez(folder / f"{name}.npz", **{key: value.numpy() for key, value in zip(names, sample)})


if __name__ == "__main__":
    main()
