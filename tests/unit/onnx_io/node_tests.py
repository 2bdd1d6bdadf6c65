# SPDX-License-Identifier: Apache-2.0
"""The ONNX package's own node tests, as files, and what ONNX Runtime makes of the models that we wrote from them.

    node_tests.py dump DIR           writes DIR/<case>/model.onnx and the paths, one a line, to stdout
    node_tests.py compare DIR OURS   runs DIR/<case>/model.onnx and OURS/<case>/model.onnx on the case's inputs
"""
import os
import sys
import warnings

warnings.simplefilter("ignore")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx.backend.test.loader import load_node_model_tests  # noqa: E402


def dump(folder):
    for case in load_node_model_tests():
        path = os.path.join(folder, case.name, "model.onnx")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(case.model.SerializeToString())
        print(path)


def same(a, b):
    if isinstance(a, list) or a.dtype.kind in "OSU":
        return str(a) == str(b)
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)


def compare(folder, ours):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    equal, skipped, wrong = 0, 0, []
    for case in load_node_model_tests():
        ours_path = os.path.join(ours, case.name, "model.onnx")
        if not os.path.exists(ours_path):
            continue
        try:  # what ONNX Runtime cannot do with the source says nothing about us
            session = onnxruntime.InferenceSession(os.path.join(folder, case.name, "model.onnx"), options)
            feed = {i.name: np.asarray(v) for i, v in zip(session.get_inputs(), case.data_sets[0][0])}
            wanted = tensors(session.run(None, feed))
        except Exception:
            skipped += 1
            continue
        try:
            checked(ours_path)
            session = onnxruntime.InferenceSession(ours_path, options)
            names = {i.name for i in session.get_inputs()}
            found = tensors(session.run(None, {k: v for k, v in feed.items() if k in names}))
            good = len(found) == len(wanted) and all(same(a, b) for a, b in zip(wanted, found))
        except Exception as error:
            good = str(error)[:120]
        if good is True:
            equal += 1
        else:
            wrong.append(f"{case.name}: {good}")
    print(f"{equal} equal, {skipped} that ONNX Runtime cannot run, {len(without_quirks(wrong))} wrong")
    for line in without_quirks(wrong):
        print(line)
    return 1 if without_quirks(wrong) else 0


def tensors(outputs):
    """Those of a sequence one by one: what is written may have them as outputs of their own."""
    return [tensor for out in outputs for tensor in (out if isinstance(out, list) else [out])]


def checked(path):
    """The checker wants a shape of every output; one of unknown rank has none."""
    try:
        onnx.checker.check_model(path)
    except onnx.checker.ValidationError as error:
        if "Field 'shape' of 'type' is required" not in str(error):
            raise


# ONNX Runtime refuses Range over tensors of one element once their shape is stated; the source does not state it.
# Nor does it choose between strings by Where, into which LabelEncoder is restated.
RUNTIME_QUIRKS = ("test_affine_grid_2d_expanded", "test_affine_grid_2d_align_corners_expanded",
                  "test_ai_onnx_ml_label_encoder_tensor_mapping", "test_ai_onnx_ml_label_encoder_tensor_value_only_mapping")
# A known limit of ours: a value keeps its kind and element type, not what an optional of a sequence holds, so the body of this If
# is written back without its output's type and ONNX Runtime refuses the file.
NESTED_TYPES = ("test_if_opt",)


def without_quirks(wrong):
    return [line for line in wrong if line.split(":")[0] not in RUNTIME_QUIRKS + NESTED_TYPES]


if __name__ == "__main__":
    sys.exit(dump(sys.argv[2]) if sys.argv[1] == "dump" else compare(sys.argv[2], sys.argv[3]))
