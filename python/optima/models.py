# SPDX-License-Identifier: Apache-2.0
"""What optima.compile takes as a model, as an ONNX file: what is torch's is exported, the rest is taken as it is. Needs onnx for a ModelProto
and for open dims, torch and onnxscript for what is torch's."""
import dataclasses
import functools
import inspect
import os
import pathlib

from optima import _needs
from optima._bad_input import bad_input


@dataclasses.dataclass(frozen=True)
class Source:
    """An ONNX file, and the words of optima-host that say its open dims."""
    path: pathlib.Path
    words: tuple = ()


def is_torch_module(model):
    return any(base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module" for base in type(model).__mro__)


def is_of_torch(model):
    """Whether it is exported: a module, an ExportedProgram, or a function of tensors."""
    program = type(model).__name__ == "ExportedProgram" and type(model).__module__.startswith("torch.export")
    return program or is_torch_module(model) or inspect.isfunction(model) or inspect.ismethod(model) or isinstance(model, functools.partial)


def is_model_proto(model):
    return type(model).__name__ == "ModelProto" and hasattr(model, "SerializeToString")


def source_of(model, example_inputs, dynamic, folder, name=None):
    """A Source of what is torch's, a path, a ModelProto or a serialized model. `folder` takes a file where one is made; `name`: its stem.
    Raises optima.Error."""
    made = pathlib.Path(folder) / f"{name or 'model'}.onnx"
    if is_of_torch(model):
        _needs.needs("a model of torch", "compile", "torch", "onnx", "onnxscript")
        from optima import _torch_export
        symbols, sizes = torch_dims(dynamic)
        _torch_export.export_torch(model, example_inputs, made, symbols)
        return Source(made, tuple(size_words(sizes)))
    if isinstance(model, (str, os.PathLike)):
        path = pathlib.Path(model).expanduser()
        if not path.is_file():
            raise bad_input(f"model {str(path)!r}: {'a folder' if path.is_dir() else 'no such file'}, wanted an ONNX file")
    elif isinstance(model, (bytes, bytearray, memoryview)) or is_model_proto(model):
        path = made
        path.write_bytes(serialized(model) if is_model_proto(model) else model)
    else:
        raise bad_input(f"model is {type(model).__name__}, wanted a torch module, an ExportedProgram, a function of tensors, the path of an ONNX file, a ModelProto or its bytes")
    return Source(path, tuple(dim_words(path, example_inputs, dynamic)))


def serialized(proto):
    try:
        return proto.SerializeToString()
    except ValueError as error:  # protobuf's, past 2 GiB
        raise bad_input(f"model has {proto.ByteSize()} bytes, wanted less than 2 GiB, or the path of a file with external data") from error


def samples_of(example_inputs):
    """(positional, by name) of what a caller gives as example inputs: a tensor, several in order, or name -> tensor."""
    if example_inputs is None:
        return (), {}
    if hasattr(example_inputs, "items"):
        return (), dict(example_inputs)
    if isinstance(example_inputs, (list, tuple)):
        return tuple(example_inputs), {}
    return (example_inputs,), {}


def size_text(sizes):
    """Sizes as --dim takes them, of its own text, a number, a range, or several numbers of which the first matters most."""
    if isinstance(sizes, range):
        if len(sizes) == 0 or sizes.step < 1:
            raise bad_input(f"dynamic: found {sizes!r}, wanted a range of sizes that rises")
        return f"{sizes[0]}..{sizes[-1]}:{sizes.step}"
    return ",".join(map(str, sizes)) if isinstance(sizes, (list, tuple)) else str(sizes)


def split_dim(text):
    """("width", "32..960") of "width=32..960", ("width", None) of "width"."""
    if not isinstance(text, str):
        return text, None
    name, equals, sizes = text.rpartition("=")
    return (name, sizes) if equals else (sizes, None)


def size_words(sizes):
    for symbol, text in sizes.items():
        if text is not None:
            yield from ("--dim", f"{symbol}={text}")


def torch_dims(dynamic):
    """(input -> {dim: symbol}, symbol -> sizes or None) of a torch module's `dynamic`, whose symbols may be "width=32..960"."""
    if not hasattr(dynamic, "items") or not all(hasattr(dims, "items") for dims in dynamic.values()):
        return dynamic, {}
    sizes = {}
    for of in dynamic.values():
        for symbol, text in map(split_dim, of.values()):
            sizes[symbol] = text or sizes.get(symbol)
    return {name: {i: split_dim(symbol)[0] for i, symbol in of.items()} for name, of in dynamic.items()}, sizes


def onnx_dims(dynamic):
    """symbol -> sizes or None, of an ONNX model's `dynamic`: a list of symbols, or symbol -> sizes."""
    if hasattr(dynamic, "items") and not any(hasattr(sizes, "items") for sizes in dynamic.values()):
        return {symbol: None if sizes is None else size_text(sizes) for symbol, sizes in dynamic.items()}
    if hasattr(dynamic, "items") or isinstance(dynamic, str) or dynamic is not None and not hasattr(dynamic, "__iter__"):
        raise bad_input(f"dynamic is {dynamic!r}, wanted a list of the model's symbols, or symbol -> sizes: it is an ONNX model")
    return dict(map(split_dim, dynamic or ()))


def dim_words(path, example_inputs, dynamic):
    """Open dims of an ONNX model get the sizes of the examples, but those that `dynamic` names, which stay open, with its sizes where it has some."""
    stays = onnx_dims(dynamic)
    yield from size_words(stays)
    if example_inputs is None:
        if any(sizes is None for sizes in stays.values()):
            raise bad_input(f"dynamic is {dynamic!r} without example_inputs, wanted both: an ONNX model's open dims stay open by themselves")
        return
    _needs.needs("example_inputs of an ONNX model", "compile", "onnx")
    import onnx
    try:
        inputs = onnx.load(path, load_external_data=False).graph.input
    except Exception as error:  # protobuf's own kinds of errors
        raise bad_input(f"model {str(path)!r} is no ONNX file: {error}") from error
    by_order, by_name = samples_of(example_inputs)
    names = [value.name for value in inputs]
    if len(by_order) > len(names):
        raise bad_input(f"example_inputs has {len(by_order)} arrays, wanted at most {len(names)}: {', '.join(names)}")
    examples, sizes = {**dict(zip(names, by_order)), **by_name}, {}
    for name, value in examples.items():
        if name not in names:
            raise bad_input(f"example_inputs: no input {name!r}, found {', '.join(names)}")
        if not hasattr(value, "shape"):
            raise bad_input(f"example of input {name!r} is a {type(value).__name__}, wanted an array")
    for value in inputs:
        if value.name in examples:
            yield from input_words(value, examples[value.name].shape, stays, sizes)
    for symbol in {name for name, said in stays.items() if said is None} - {d.dim_param for value in inputs for d in value.type.tensor_type.shape.dim}:
        raise bad_input(f"dynamic: no symbol {symbol!r} among the dims of the model's inputs")
    for symbol, size in sizes.items():
        yield from ("--dim", f"{symbol}={size}")


def input_words(value, shape, stays, sizes):
    dims = value.type.tensor_type.shape.dim
    if len(dims) != len(shape):
        raise bad_input(f"example of input {value.name!r} has shape {tuple(shape)}, wanted {len(dims)} dims")
    for i, (dim, size) in enumerate(zip(dims, shape)):
        if dim.dim_param and dim.dim_param not in stays and sizes.setdefault(dim.dim_param, int(size)) != size:
            raise bad_input(f"example of input {value.name!r}: dim {i} ({dim.dim_param!r}) is {size}, and {sizes[dim.dim_param]} elsewhere")
        if dim.HasField("dim_value") and dim.dim_value != size:
            raise bad_input(f"example of input {value.name!r}: dim {i} is {size}, wanted {dim.dim_value}, which the model fixes")
    if any(not dim.dim_param and not dim.HasField("dim_value") for dim in dims):
        # What has a name is --dim's to close.
        kept = ["?" if dim.dim_param or f"{value.name}.{i}" in stays else str(int(size)) for i, (dim, size) in enumerate(zip(dims, shape))]
        yield from ("--shape", f"{value.name}={','.join(kept)}")
