#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of one operator of ONNX's own domain each, in forms that its node tests leave out, with what ONNX Runtime makes of random inputs.

    generate_operator_tests.py OUT

Files and stamp are those of generate_contributed_tests.py.
"""
import pathlib
import sys

import numpy as np
from generate_contributed_tests import Case, Const, f32, write_all
from onnx import TensorProto

F64 = np.float64
random = np.random.default_rng(4)


def count(n, dtype=np.int64):
    return Const(dtype(n))


def own(name, op, since, operands, **more):
    return Case(name, op, [v if v is None or isinstance(v, Const) else np.asarray(v) for v in operands], since=since, domain="", **more)


def transforms():
    # lengths: one, primes small and large, powers, products, the neighbours of a power; 37 and 331 have no small factors
    for n in (1, 2, 3, 7, 16, 30, 37, 60, 63, 64, 65, 128, 331, 360):
        near = (1e-4, 2e-4) if n < 60 or n in (64, 128) else (1e-3, 3e-3)  # ONNX Runtime sums such lengths one by one in f32
        yield own(f"DFT_{n}", "DFT", 20, [f32(2, n, 2)], tolerance=near)
        yield own(f"DFT_real_{n}", "DFT", 20, [f32(2, n, 1)], tolerance=near, onesided=1)
        yield own(f"DFT_back_{n}", "DFT", 20, [f32(2, n, 2)], inverse=1)
        if n > 1:
            yield own(f"DFT_half_back_{n}", "DFT", 20, [f32(2, n, 2)], inverse=1, onesided=1)
    for length in (3, 5, 8, 11):  # a signal of 5 is cut, stays or is filled up
        yield own(f"DFT_cut_{length}", "DFT", 20, [f32(3, 5, 1), count(length)])
        if length > 5:  # of more than half a spectrum ONNX Runtime reads all, the page's function (numpy's irfft) the first half
            yield own(f"DFT_cut_half_back_{length}", "DFT", 20, [f32(3, 5, 2), count(length)], inverse=1, onesided=1)
        yield own(f"DFT_old_cut_{length}", "DFT", 17, [f32(3, 5, 4, 1), count(length, np.int32)], onesided=1)
    for axis in (0, 1, 2, -2, -3, -4):
        yield own(f"DFT_axis_{axis}", "DFT", 20, [f32(3, 4, 5, 2), None, count(axis)])
        yield own(f"DFT_old_axis_{axis}", "DFT", 17, [f32(3, 4, 5, 1)], axis=axis, inverse=1)
    yield own("DFT_none", "DFT", 20, [f32(0, 5, 1)])
    yield own("DFT_one_dim", "DFT", 20, [f32(6, 1)])
    yield own("DFT_double", "DFT", 20, [f32(2, 9, 1).astype(F64)], tolerance=(1e-12, 1e-12))
    window = Const(np.hanning(6).astype(np.float32))
    yield own("STFT", "STFT", 17, [f32(2, 20, 1), count(3), window])
    yield own("STFT_no_window", "STFT", 17, [f32(2, 20, 1), count(4, np.int32), None, count(5, np.int32)])
    yield own("STFT_both", "STFT", 17, [f32(1, 23, 1), count(1), window, count(6)], onesided=0)
    yield own("STFT_complex", "STFT", 17, [f32(2, 20, 2), count(3), window], onesided=0)
    yield own("STFT_complex_half", "STFT", 17, [f32(2, 20, 2), count(3), window])
    yield own("STFT_flat", "STFT", 17, [f32(2, 20), count(3), window])
    yield own("STFT_one_frame", "STFT", 17, [f32(2, 6, 1), count(9), window])
    yield own("STFT_prime", "STFT", 17, [f32(1, 300, 1), count(40), Const(np.hamming(101).astype(np.float32))], tolerance=(1e-4, 2e-4))


def made_of_numbers():
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for n in (0, 1, 2, 9, 16):
            yield own(f"{op}_{n}", op, 17, [np.int64(n)])
        yield own(f"{op}_symmetric", op, 17, [np.int32(8)], periodic=0)
        yield own(f"{op}_double", op, 17, [np.int64(7)], output_datatype=TensorProto.DOUBLE, tolerance=(1e-7, 1e-7))
    for name, (filters, length, rate, low, high) in {"": (8, 64, 8000, 0, 4000), "_odd": (3, 7, 100, 10, 30), "_more": (20, 16, 8000, 0, 4000)}.items():
        yield own("MelWeightMatrix" + name, "MelWeightMatrix", 17, [np.int64(filters), count(length), count(rate), count(low, np.float32), np.float32(high)])
    yield own("MelWeightMatrix_double", "MelWeightMatrix", 17, [count(5), np.int64(33), np.int64(900), count(1, np.float32), np.float32(400)], output_datatype=TensorProto.DOUBLE)
    for corners in (0, 1):
        yield own(f"AffineGrid_{corners}", "AffineGrid", 20, [f32(3, 2, 3), Const([3, 1, 5, 2])], align_corners=corners)
        yield own(f"AffineGrid_deep_{corners}", "AffineGrid", 20, [f32(2, 3, 4), np.array([2, 4, 2, 3, 5])], align_corners=corners)
    yield own("AffineGrid_point", "AffineGrid", 20, [f32(2, 2, 3), Const([2, 1, 1, 1])])


def pictures():
    shape = (2, 3, 6, 5)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                grid = (random.random((2, 4, 7, 2)) * 5 - 2.5).astype(np.float32)  # some places lie more than a picture away
                yield own(f"GridSample_{mode}_{padding}_{corners}", "GridSample", 16, [f32(*shape), grid], mode=mode, padding_mode=padding, align_corners=corners)
    for padding in ("zeros", "border", "reflection"):
        yield own(f"GridSample_deep_{padding}", "GridSample", 20, [f32(1, 2, 3, 4, 5), (random.random((1, 2, 3, 2, 3)) * 4 - 2).astype(np.float32)], mode="linear", padding_mode=padding)
    yield own("Col2Im", "Col2Im", 18, [f32(2, 18, 20), Const([5, 7]), Const([2, 3])])
    yield own("Col2Im_line", "Col2Im", 18, [f32(2, 6, 4), Const([5]), Const([2])])
    yield own("Col2Im_deep", "Col2Im", 18, [f32(1, 16, 12), Const([3, 3, 4]), Const([2, 2, 2])])
    yield own("Col2Im_all", "Col2Im", 18, [f32(2, 12, 12), Const([7, 8]), Const([2, 3])], strides=[2, 2], dilations=[2, 1], pads=[1, 0, 0, 1])
    yield own("Col2Im_none", "Col2Im", 18, [f32(0, 6, 20), Const([5, 7]), Const([2, 3])])
    offset, mask = f32(2, 2 * 3 * 2 * 2, 4, 4, scale=1.5), f32(2, 2 * 3 * 2, 4, 4)
    x, w, bias = f32(2, 4, 6, 5), f32(6, 2, 3, 2), f32(6)
    yield own("DeformConv", "DeformConv", 19, [x, w, offset, bias, mask], group=2, offset_group=2)
    yield own("DeformConv_no_mask", "DeformConv", 19, [x, w, offset], group=2, offset_group=2, kernel_shape=[3, 2])
    yield own("DeformConv_window", "DeformConv", 19, [f32(1, 2, 7, 8), f32(3, 2, 2, 3), f32(1, 12, 4, 5, scale=2), None, f32(1, 6, 4, 5)], strides=[2, 2], dilations=[2, 1], pads=[1, 2, 1, 1])
    yield own("DeformConv_far", "DeformConv", 19, [f32(1, 1, 3, 3), f32(1, 1, 1, 1), f32(1, 2, 3, 3, scale=9), f32(1)])


def the_rest():
    for n in (0, 1, 2, 5, 12):
        yield own(f"Det_{n}", "Det", 11, [f32(2, 3, n, n)], tolerance=(1e-4, 1e-4))
    yield own("Det_plain", "Det", 11, [f32(4, 4)])
    yield own("Det_singular", "Det", 11, [np.array([[[0, 1], [0, 3]], [[2, 1], [4, 2]], [[0, 2], [3, 0]]], np.float32)])
    yield own("Det_none", "Det", 11, [f32(0, 3, 3)])
    pool = dict(ngram_counts=[0, 4], ngram_indexes=[2, 0, 3, 1, 5, 6, 4], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7], weights=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    words = random.integers(1, 9, (3, 14))
    for mode in ("TF", "IDF", "TFIDF"):
        yield own(f"TfIdfVectorizer_{mode}", "TfIdfVectorizer", 9, [words], mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=2, **pool)
        yield own(f"TfIdfVectorizer_{mode}_pairs", "TfIdfVectorizer", 9, [words[0].astype(np.int32)], mode=mode, min_gram_length=2, max_gram_length=2, max_skip_count=20, **pool)
    yield own("TfIdfVectorizer_gaps", "TfIdfVectorizer", 9, [words], mode="IDF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 9, 5],
              pool_int64s=[1, 3, 8], weights=[1.0, 2.0, 3.0])
    yield own("TfIdfVectorizer_none", "TfIdfVectorizer", 9, [words[:, :0]], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1, **pool)


def boxes_of(n, batch=1, grid=None):
    """Boxes that overlap; with `grid` on few places, so that overlaps are often exactly a threshold."""
    low = random.random((batch, n, 2)) * 4 if grid is None else random.integers(0, grid, (batch, n, 2))
    size = random.random((batch, n, 2)) * 2 if grid is None else random.integers(0, grid, (batch, n, 2))
    boxes = np.concatenate([low, low + size], 2).astype(np.float32)
    flipped = random.random((batch, n)) < 0.3
    boxes[flipped] = boxes[flipped][:, [2, 3, 0, 1]]
    return boxes


def detections():
    def non_max(name, boxes, scores, most=9, overlap=0.5, least=None, **more):
        numbers = [Const(np.int64([most])), Const(np.float32([overlap]))] + ([] if least is None else [Const(np.float32([least]))])
        return own("NonMaxSuppression_" + name, "NonMaxSuppression", 11, [boxes, np.asarray(scores, np.float32), *numbers], **more)

    for n in (0, 1, 15, 16, 17, 200):
        scores = random.random((2, 3, n))
        yield non_max(f"{n}", boxes_of(n, 2), scores, most=max(n, 1), least=0.1)
        yield non_max(f"{n}_center", boxes_of(n, 2), scores, center_point_box=1)
    many = boxes_of(700)
    yield non_max("ties", many, random.integers(0, 4, (1, 2, 700)), most=700)
    yield non_max("grid", boxes_of(300, 1, 4), random.integers(0, 9, (1, 2, 300)), most=300, overlap=0.25, least=1)
    yield non_max("one_score", many, np.ones((1, 1, 700)), most=40)
    yield non_max("few", many, random.random((1, 4, 700)), most=3)
    yield non_max("no_output", many, random.random((1, 1, 700)), most=0)
    yield non_max("below", many, random.random((1, 1, 700)), least=2)
    yield non_max("all", many, random.random((1, 1, 700)), most=700, overlap=1.0)
    yield non_max("disjoint", many, random.random((1, 1, 700)), most=700, overlap=0.0)
    scores = random.random((1, 2, 60)).astype(np.float32)
    scores[:, :, ::7] = np.nan  # which are not above any threshold
    yield non_max("no_number", boxes_of(60), scores, most=60, least=-1)
    yield own("NonMaxSuppression_bare", "NonMaxSuppression", 11, [many, random.random((1, 1, 700)).astype(np.float32)])

    regions = np.concatenate([random.random((9, 2)) * 20 - 4, random.random((9, 2)) * 24], 1).astype(np.float32)
    edges = np.float32([[0, 0, 0, 0], [3, 3, 2, 1], [-50, -50, -40, -40], [90, 90, 99, 99], [-9, 2, 40, 3], [0, 0, 13, 11]])
    for name, boxes in {"": regions, "_edges": edges, "_one": regions[:1], "_none": regions[:0]}.items():
        of = random.integers(0, 2, len(boxes))
        for mode in ("avg", "max") if name else ("avg",):  # of the largest share the page and ONNX Runtime differ where all are negative
            picture = f32(2, 19, 11, 13) if mode == "avg" else np.abs(f32(2, 19, 11, 13)) + 1
            yield own(f"RoiAlign_{mode}{name}", "RoiAlign", 16, [picture, boxes, of], mode=mode, output_height=3, output_width=4, sampling_ratio=2, spatial_scale=0.5)
            upright = (boxes[:, 2:] >= boxes[:, :2]).all(1)  # as many samples as a region that is turned round has elements are none, which ONNX Runtime refuses
            yield own(f"RoiAlign_{mode}{name}_adaptive", "RoiAlign", 16, [picture, boxes[upright], of[upright]], mode=mode, output_height=2, output_width=1)
            yield own(f"RoiAlign_{mode}{name}_old", "RoiAlign", 10, [picture, boxes, of], mode=mode, output_height=2, output_width=2, sampling_ratio=9)
        with_picture = np.concatenate([of[:, None], boxes], 1).astype(np.float32)
        yield own("MaxRoiPool" + name, "MaxRoiPool", 11, [f32(2, 19, 11, 13), with_picture], pooled_shape=[3, 2], spatial_scale=0.5)
    for groups in (1, 2):  # channels that fill vectors
        offset, mask = f32(2, 2 * groups * 9, 7, 8, scale=2), f32(2, groups * 9, 7, 8)
        x, w, near = f32(2, 32, 7, 8), Const(f32(20, 32, 3, 3)), (1e-4, 1e-4)
        yield own(f"DeformConv_wide_{groups}", "DeformConv", 19, [x, w, offset, Const(f32(20)), mask], pads=[1, 1, 1, 1], offset_group=groups, tolerance=near)
        yield own(f"DeformConv_wide_{groups}_plain", "DeformConv", 19, [x, w, offset], pads=[1, 1, 1, 1], offset_group=groups, tolerance=near)
    yield own("DeformConv_wide_window", "DeformConv", 19, [f32(1, 16, 40, 33), Const(f32(5, 16, 2, 3)), f32(1, 12, 21, 17, scale=30), Const(f32(5))], strides=[2, 2], dilations=[2, 1],
              pads=[1, 2, 2, 1], tolerance=near)
    yield own("Col2Im_wide", "Col2Im", 18, [f32(2, 3 * 9, 20 * 37), Const([20, 37]), Const([3, 3])], pads=[1, 1, 1, 1])
    yield own("Col2Im_steps", "Col2Im", 18, [f32(1, 2 * 15, 9 * 18), Const([20, 37]), Const([3, 5])], pads=[0, 1, 1, 2], strides=[2, 2], dilations=[2, 1])
    yield own("Col2Im_long", "Col2Im", 18, [f32(2, 6, 41), Const([40]), Const([3])], pads=[2, 1], strides=[1])
    yield own("MaxUnpool", "MaxUnpool", 11, [f32(1, 2, 3, 4), random.permutation(96)[:24].reshape(1, 2, 3, 4)], kernel_shape=[2, 2], strides=[2, 2])
    yield own("MaxUnpool_line", "MaxUnpool", 11, [f32(2, 2, 5), random.permutation(60)[:20].reshape(2, 2, 5)], kernel_shape=[3], strides=[3])


def cases():
    for family in (transforms, made_of_numbers, pictures, the_rest, detections):
        yield from family()


def main():
    return write_all(pathlib.Path(sys.argv[1]), cases, __file__, pathlib.Path(__file__).with_name("generate_contributed_tests.py"))


if __name__ == "__main__":
    sys.exit(main())
