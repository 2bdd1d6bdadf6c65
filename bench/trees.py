#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forests of scikit-learn beside ONNX Runtime: processor ms of a run of one thread, medians of runs in turn in one process.

    .deps/py/bin/python bench/trees.py build/release [--device X64:0] [--rows 1,10,100,2000] [--rounds 30]

Wants scikit-learn and skl2onnx, which scripts/setup installs. Our largest error is beside ONNX Runtime's answers.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
import skl2onnx
from sklearn import datasets, ensemble
from skl2onnx.common.data_types import FloatTensorType

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]
from optima_runtime import Model, Runtime  # noqa: E402
from peers import cpu_name  # noqa: E402

FEATURES = 30
FORESTS = {"random forest, 100 trees": ensemble.RandomForestClassifier(100, random_state=0),
           "random forest, 50 of 6 levels": ensemble.RandomForestClassifier(50, max_depth=6, random_state=0),
           "random forest, 200 for a number": ensemble.RandomForestRegressor(200, random_state=0),
           "gradient boosting, 300 of 3 levels": ensemble.GradientBoostingClassifier(n_estimators=100, random_state=0),
           "gradient boosting, 300 of 31 leaves": ensemble.GradientBoostingClassifier(n_estimators=100, max_depth=None, max_leaf_nodes=31, random_state=0)}


def trained(forest):
    x, y = datasets.make_classification(2000, FEATURES, n_informative=15, n_classes=3, random_state=0)
    forest.fit(x.astype(np.float32), y)
    options = {id(forest): {"zipmap": False}} if hasattr(forest, "predict_proba") else None
    return skl2onnx.convert_sklearn(forest, initial_types=[("X", FloatTensorType([None, FEATURES]))], options=options)


def package(args, model, folder):
    file = folder / "forest.onnx"
    file.write_bytes(model.SerializeToString())
    subprocess.run([args.build / "bin/optima-host", "compile", file, "--device", args.device, "-o", folder / "out"], check=True, capture_output=True)
    return next((folder / "out").glob("**/model.meta")).parent, file


def median_ms(run, rounds):
    took = []
    for _ in range(rounds):
        begin = time.thread_time()
        run()
        took.append(time.thread_time() - begin)
    return statistics.median(took) * 1e3


def compare(args, runtime, name, folder):
    out, file = package(args, trained(FORESTS[name]), folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peer = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(0)
    for rows in args.rows:
        x = (2 * draw.standard_normal((rows, FEATURES))).astype(np.float32)
        ours = Model(runtime, out, 1, {"X": x})
        ours.run(), peer.run(None, {"X": x})
        times = [(median_ms(ours.run, 3), median_ms(lambda: peer.run(None, {"X": x}), 3)) for _ in range(args.rounds)]  # in turn
        mine, theirs = (statistics.median(t) for t in zip(*times))
        error = max(float(np.abs(got.astype(np.float64) - want.astype(np.float64)).max()) for got, want in zip(map(ours.output, range(ours.outputs)), peer.run(None, {"X": x})))
        print(f"| {name} | {rows} | {mine:.3f} | {theirs:.3f} | {theirs / mine:.2f} | {error:.1e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--device", default="X64:0")
    parser.add_argument("--rows", type=lambda text: [int(n) for n in text.split(",")], default=[1, 10, 100, 2000])
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    runtime = Runtime(args.build)
    print(f"{cpu_name()}, ONNX Runtime {onnxruntime.__version__}\n\n| forest | rows | ours, ms | ONNX Runtime | ratio | error |\n|---|---|---|---|---|---|")
    for name in FORESTS:
        with tempfile.TemporaryDirectory() as folder:
            compare(args, runtime, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
