# SPDX-License-Identifier: Apache-2.0
"""Compiles the TPU graphs of a folder of submodels (docs/submodels-format.md) in place, as AutoSplit's convert() does.

    from optima import auto_split
    auto_split.convert("out/model", compare=True, target="bm1684x")

Plugin bmcompiler makes the files, by the program optima-host. Needs numpy.
"""
import json
import os
import pathlib
import shutil
import tempfile
import warnings

import numpy as np

from optima.auto_split import AutoSplitError, host

DEFAULT, INSTEAD = "BM1682", "bm1684x"
REFERENCE = "REF:0"
# As the compiled file has them: the chips know no wider integers and no truth values.
FILE_DTYPES = {"int64": "int32", "bool": "float32"}
# Of an output's largest magnitude: what the chip's modes of floats are held to.
APART = {"F32": 1e-4, "F16": 1e-2, "BF16": 5e-2, "INT8": 5e-2}


def convert(folder, optimize=None, compare=False, target=None):
    """Fills graph_ir_<i> of each tpu graph: compilation.bmodel, the module it is made of (compilation.mlir, .npz),
    compile_to_graph_ir_<i>.py, which makes the same file by itself, input_ref_data.dat and output_ref_data.dat: random inputs and the
    reference's answers, raw tensors one after another.

    optimize: None or 1; the tools have no other level here. compare: also runs each file (on the chip's emulator where there is no chip) and
    compares. target: a chip; None = BM1682 where its SDK is named, else bm1684x, with a warning. Raises AutoSplitError."""
    folder = pathlib.Path(folder).expanduser()
    if optimize not in (None, 1):
        raise AutoSplitError(f"optimize is {optimize!r}, wanted None or 1")
    chip = chip_of(target)
    infos = read_infos(folder)
    for i, graph in enumerate(infos["graphs"]):
        if graph["device"] == "tpu":
            convert_graph(folder, infos, i, chip, compare)


def chip_of(target):
    """The chip, as the plugin calls it."""
    if target is not None and target.upper() != DEFAULT:
        return target.lower()
    if os.environ.get("REL_TOP") or target is not None:
        return DEFAULT.lower()  # the plugin says what it wants for it
    warnings.warn(f"target {DEFAULT} needs SOPHON's earlier SDK (REL_TOP), files are made for {INSTEAD}", stacklevel=3)
    return INSTEAD


def read_infos(folder):
    try:
        infos = json.loads((folder / "graph_infos.json").read_text())
    except (OSError, ValueError) as error:
        raise AutoSplitError(f"'{folder}' is no folder of submodels: {error}") from error
    if infos.get("platform") != "onnx":
        raise AutoSplitError(f"platform of '{folder}' is {infos.get('platform')!r}, wanted 'onnx'")
    listed = infos["tensors"]
    infos["tensors"] = listed if isinstance(listed, dict) else {t["name"]: t for t in listed}
    return infos


def convert_graph(folder, infos, i, chip, compare):
    graph = infos["graphs"][i]
    model = folder / graph["model_info"]["model_path"]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        host("compile", model, "-o", work, "--name", "tpu", "--device", "TPU:0", "--option", f"bmcompiler.chip={chip}")
        host("compile", model, "-o", work, "--name", "reference", "--device", REFERENCE)
        inputs = write_inputs(work, graph, infos["tensors"])
        want = answers(work, "reference", inputs, graph)
        if compare:
            check(i, graph, want, answers(work, "tpu", inputs, graph), meta(work)["mode"])
        context = work / "context"
        context.mkdir()
        fill(context, work, i, [np.load(path) for path in inputs.values()], want)
        place = folder / graph.get("context_dir", f"graph_ir_{i}")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(context, place)


def write_inputs(work, graph, tensors):
    """Random values, the same each time: name -> file."""
    random, files = np.random.default_rng(0), {}
    for k, name in enumerate(graph["inputs"]):
        shape, dtype = tensors[name]["shape"], np.dtype(tensors[name]["dtype"])
        if any(size < 0 for size in shape):
            raise AutoSplitError(f"tensor {name!r} has shape {shape}, wanted fixed sizes")
        values = random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 2, shape)
        files[name] = work / f"in_{k}.npy"
        np.save(files[name], values.astype(dtype))
    return files


def answers(work, package, inputs, graph):
    """Outputs of a package, in the graph's order."""
    words = [word for name, path in inputs.items() for word in ("--input", f"{name}={path}")]
    out = work / f"answers_{package}"
    host("run", work / package, *words, "-o", out)
    files = {t["name"]: t["file"] for t in json.loads((out / "manifest.json").read_text())["outputs"]}
    return [np.load(out / files[name]) for name in graph["outputs"]]


def check(i, graph, want, got, mode):
    for name, a, b in zip(graph["outputs"], want, got):
        a, b = a.astype(np.float64), b.astype(np.float64)
        apart, scale = np.abs(a - b).max(initial=0), np.abs(a).max(initial=0)
        if not apart <= APART[mode] * max(scale, 1e-30):
            raise AutoSplitError(f"graph {i}: output {name!r} of the compiled file is {apart:.3g} apart from the reference, whose largest is {scale:.3g}")


def meta(work):
    return json.loads(next((work / "tpu").glob("Subgraph_0/*.meta")).read_text())


def fill(context, work, i, inputs, outputs):
    """What belongs into graph_ir_<i>."""
    for suffix in (".bmodel", ".cvimodel", ".mlir", ".npz", ".calib", ".qtable"):
        for made in (work / "tpu").glob(f"Subgraph_0/*{suffix}"):
            shutil.copyfile(made, context / f"compilation{suffix}")
    for script in (work / "tpu").glob("Subgraph_0/*.compile.py"):  # the earlier tools' files come without one
        shutil.copyfile(script, context / f"compile_to_graph_ir_{i}.py")
    for name, values in (("input", inputs), ("output", outputs)):
        raw = b"".join(v.astype(FILE_DTYPES.get(v.dtype.name, v.dtype)).tobytes() for v in values)
        (context / f"{name}_ref_data.dat").write_bytes(raw)
