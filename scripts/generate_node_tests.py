#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX node tests, which live in memory in the onnx package, as files a C++ test can read without protobuf.

    generate_node_tests.py OUT

OUT/<case>/model.onnx, OUT/<case>/free.onnx (the same model, every size of its inputs named and free), OUT/<case>/tolerance ("rtol atol"), and per data set k and tensor i
OUT/<case>/set_<k>/{input,output}_<i>.tensor: one line "dtype dim dim ...", then the bytes as a graph image's blobs hold them
(strings: uint64 end offsets, then the text). A sequence, or an optional, of tensors is a file {input,output}_<i>.list instead, one line "kind name count", and its tensors are
{input,output}_<i>_<k>.tensor. Any other value that is no tensor is written as a file of kind .other.
OUT/stamp names the package's version; with an equal stamp nothing is done.
"""
import pathlib
import shutil
import struct
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

STAMP = f"onnx {onnx.__version__}, layout 3\n"


def tensor_bytes(tensor: TensorProto) -> bytes:
    if tensor.data_type == TensorProto.STRING:
        ends = np.cumsum([len(s) for s in tensor.string_data], dtype=np.uint64)
        return ends.tobytes() + b"".join(tensor.string_data)
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    return numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data


def write_tensor(path: pathlib.Path, value) -> None:
    tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value))
    header = " ".join(str(n) for n in (tensor.data_type, *tensor.dims)) + "\n"
    path.with_suffix(".tensor").write_bytes(header.encode() + tensor_bytes(tensor))


def write_value(path: pathlib.Path, value, info) -> None:
    kind = info.type.WhichOneof("value")
    if kind == "tensor_type":
        return write_tensor(path, value)
    if kind not in ("sequence_type", "optional_type") or isinstance(value, (onnx.SequenceProto, onnx.OptionalProto)):
        path.with_suffix(".other").write_text(kind)
        return
    tensors = [] if value is None else value if isinstance(value, list) else [value]
    path.with_suffix(".list").write_text(f"{kind} {info.name} {len(tensors)}\n")
    for k, tensor in enumerate(tensors):
        write_tensor(path.with_name(f"{path.name}_{k}"), tensor)


def free(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a name for each size of its inputs and no word about the shapes of anything else."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.value_info[:]
    for i, info in enumerate(made.graph.input):
        for k, dim in enumerate(info.type.tensor_type.shape.dim):
            dim.dim_param = f"size_{i}_{k}"
    for info in made.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return made


def write_case(folder: pathlib.Path, case) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # of another layout
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "free.onnx").write_bytes(free(case.model).SerializeToString())
    (folder / "tolerance").write_text(f"{case.rtol} {case.atol}\n")
    graph = case.model.graph
    for k, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"set_{k}"
        data.mkdir(exist_ok=True)
        for side, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for i, (value, info) in enumerate(zip(values, infos, strict=True)):
                write_value(data / f"{side}_{i}", value, info)


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: generate_node_tests.py OUT", file=sys.stderr)
        return 2
    out = pathlib.Path(sys.argv[1])
    stamp = out / "stamp"
    if stamp.exists() and stamp.read_text() == STAMP:
        return 0
    warnings.simplefilter("ignore")  # the cases divide by zero on purpose
    from onnx.backend.test.loader import load_node_model_tests

    cases = load_node_model_tests()
    for case in cases:
        write_case(out / case.name, case)
    stamp.write_text(STAMP)
    print(f"{len(cases)} cases of {STAMP.strip()} in {out}")
    return 0


if __name__ == "__main__":
    assert struct.pack("=H", 1) == b"\x01\x00", "little-endian machines only"
    sys.exit(main())
