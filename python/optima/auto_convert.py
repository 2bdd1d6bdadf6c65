# SPDX-License-Identifier: Apache-2.0
"""Compiles the TPU graphs of a folder of submodels (docs/submodels-format.md) in place, as AutoSplit's convert() does.

    from optima import auto_split
    auto_split.convert("out/model", compare=True, target="bm1684x")
    auto_split.convert("out/model", batches=(1, 4))     # of a folder that was split with dynamic=True

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
# Of the compiled file, as its meta file names them.
FILE_DTYPES = {"f32": "float32", "f16": "float16", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32"}
# Of an output's largest magnitude: what the chip's modes of floats are held to.
APART = {"F32": 1e-4, "F16": 1e-2, "BF16": 5e-2, "INT8": 5e-2}


def convert(folder, optimize=None, compare=False, target=None, *, batches=(1,)):
    """Fills graph_ir_<i> of each tpu graph: compilation.bmodel, the module it is made of (compilation.mlir, .npz),
    compile_to_graph_ir_<i>.py, which makes the same file by itself, input_ref_data.dat and output_ref_data.dat: random inputs and the
    reference's answers, raw tensors one after another; of an open batch the largest size.

    optimize: None or 1; the tools have no other level here. compare: also runs each file (on the chip's emulator where there is no chip) and
    compares. target: a chip; None = BM1682 where its SDK is named, else bm1684x, with a warning. batches: sizes that a graph whose batch is
    open is compiled for, each a stage of its file; runs may have no others. Raises AutoSplitError."""
    folder = pathlib.Path(folder).expanduser()
    if optimize not in (None, 1):
        raise AutoSplitError(f"optimize is {optimize!r}, wanted None or 1")
    if compare not in (False, True):
        raise AutoSplitError(f"compare is {compare!r}, wanted True or False")
    if target is not None and not isinstance(target, str):
        raise AutoSplitError(f"target is {target!r}, wanted the name of a chip")
    batches = sizes_of(batches)
    chip = chip_of(target)
    infos = read_infos(folder)
    for i, graph in enumerate(infos["graphs"]):
        if graph["device"] == "tpu":
            convert_graph(folder, infos, i, chip, compare, batches)


def sizes_of(batches):
    try:
        sizes = sorted(set(batches))
    except TypeError:
        sizes = []
    if not sizes or any(type(size) is not int or size < 1 for size in sizes):
        raise AutoSplitError(f"batches is {batches!r}, wanted sizes from 1 on")
    return sizes


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


def is_open(infos, graph):
    return any(infos["tensors"][name]["shape"][:1] == [-1] for name in graph["inputs"])


def convert_graph(folder, infos, i, chip, compare, batches):
    graph = infos["graphs"][i]
    model = folder / graph["model_info"]["model_path"]
    sizes = batches if is_open(infos, graph) else [1]
    several = ["--option", f"bmcompiler.batches={','.join(map(str, sizes))}"] if is_open(infos, graph) else []
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        host("compile", model, "-o", work, "--name", "tpu", "--device", "TPU:0", "--option", f"bmcompiler.chip={chip}", *several)
        host("compile", model, "-o", work, "--name", "reference", "--device", REFERENCE)
        for size in sizes:
            inputs = write_inputs(work, graph, infos["tensors"], size)
            want = answers(work, "reference", inputs, graph)
            if compare:
                check(i, graph, want, answers(work, "tpu", inputs, graph), meta(work)["mode"])
        context = work / "context"
        context.mkdir()
        fill(context, work, i, [np.load(path) for path in inputs.values()], want)
        place = folder / graph.get("context_dir", f"graph_ir_{i}")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(context, place)


def write_inputs(work, graph, tensors, batch):
    """Random values, the same each time: name -> file."""
    random, files = np.random.default_rng(0), {}
    for k, name in enumerate(graph["inputs"]):
        shape, dtype = tensors[name]["shape"], np.dtype(tensors[name]["dtype"])
        if any(size < 0 for size in shape[1:]):
            raise AutoSplitError(f"tensor {name!r} has shape {shape}, wanted fixed sizes behind the batch")
        shape = [batch if size < 0 else size for size in shape]
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


def meta_file(work):
    return next((work / "tpu").glob("Subgraph_0/*.meta"))


def meta(work):
    return json.loads(meta_file(work).read_text())


def fill(context, work, i, inputs, outputs):
    """What belongs into graph_ir_<i>."""
    stem = meta_file(work).stem
    for suffix in (".bmodel", ".cvimodel", ".mlir", ".npz", ".calib", ".qtable"):
        for made in (work / "tpu").glob(f"Subgraph_0/{stem}*{suffix}"):
            shutil.copyfile(made, context / f"compilation{made.name[len(stem):]}")
    for script in (work / "tpu").glob("Subgraph_0/*.compile.py"):  # the earlier tools' files come without one
        shutil.copyfile(script, context / f"compile_to_graph_ir_{i}.py")
    for name, values in (("input", inputs), ("output", outputs)):
        types = [FILE_DTYPES.get(port["file_type"], port["file_type"]) for port in meta(work)[name + "s"]]
        raw = b"".join(v.astype(dtype).tobytes() for v, dtype in zip(values, types))
        (context / f"{name}_ref_data.dat").write_bytes(raw)
