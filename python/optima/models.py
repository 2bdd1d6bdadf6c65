# SPDX-License-Identifier: Apache-2.0
"""What optima.compile takes as a model, as an ONNX file: torch modules are exported, the rest is taken as it is. Needs onnx for a ModelProto
and for open dims, torch and onnxscript for a torch module."""
import contextlib
import dataclasses
import os
import pathlib
import warnings

from optima._bad_input import bad_input
from optima._exporter import ALONE, quiet
from optima.errors import Error

BFLOAT16_OPSET = 22
EXTERNAL = 1 << 30  # bytes of weights from which they lie in a file of their own: protobuf ends at 2 GiB


@dataclasses.dataclass(frozen=True)
class Source:
    """An ONNX file, and the words of optima-host that say its open dims."""
    path: pathlib.Path
    words: tuple = ()


def is_torch_module(model):
    return any(base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module" for base in type(model).__mro__)


def is_model_proto(model):
    return type(model).__name__ == "ModelProto" and hasattr(model, "SerializeToString")


def source_of(model, example_inputs, dynamic, folder, name=None):
    """A Source of a torch module, a path, a ModelProto or a serialized model. `folder` takes a file where one is made; `name`: its stem.
    Raises optima.Error."""
    made = pathlib.Path(folder) / f"{name or 'model'}.onnx"
    if is_torch_module(model):
        symbols, sizes = torch_dims(dynamic)
        export_torch(model, example_inputs, made, symbols)
        return Source(made, tuple(size_words(sizes)))
    if isinstance(model, (str, os.PathLike)):
        path = pathlib.Path(model).expanduser()
        if not path.is_file():
            raise bad_input(f"model {str(path)!r}: {'a folder' if path.is_dir() else 'no such file'}, wanted an ONNX file")
    elif isinstance(model, (bytes, bytearray, memoryview)) or is_model_proto(model):
        path = made
        path.write_bytes(serialized(model) if is_model_proto(model) else model)
    else:
        raise bad_input(f"model is {type(model).__name__}, wanted a torch module, the path of an ONNX file, a ModelProto or its bytes")
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


def export_torch(module, example_inputs, path, dynamic=None, optimize=True):
    """Writes a torch module as ONNX: by torch.export, else, with a warning that holds the reason, by the older exporter, which traces.
    dynamic: input -> {dim: symbol}. The module is exported as eval() leaves it, and is left in the mode it was in."""
    args, kwargs = samples_of(example_inputs)
    if not args and not kwargs:
        raise bad_input(f"example_inputs are missing, wanted tensors for the forward of {type(module).__name__}")
    dims = open_dims(module, args, kwargs, dynamic)
    with ALONE, as_eval(module):
        try:
            with quiet():
                write_by_export(module, args, kwargs, path, dims, optimize)
        except Error:
            raise
        except Exception as error:  # torch has no common base of what an export may raise
            reason = first_line(error)
            warnings.warn(f"torch.export could not take {type(module).__name__} ({reason}); the older exporter, which traces one run, is used", stacklevel=4)
            write_by_trace(module, args, kwargs, path, dims, reason)


@contextlib.contextmanager
def as_eval(module):
    """The module as eval() leaves it; then each part in the mode that it was in."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def write_by_export(module, args, kwargs, path, dims, optimize):
    program = onnx_program(module, args, kwargs=kwargs or None, optimize=optimize, dynamic_shapes=dynamic_shapes(module, args, kwargs, dims))
    check_open(program, dims)
    save(program, path)


def onnx_program(module_or_exported, *args, **more):
    """What torch.onnx.export makes of it; with values of bfloat16 for the first opset in which convolutions, pools and recurrent layers have that type."""
    import torch
    program = torch.onnx.export(module_or_exported, *args, dynamo=True, verbose=False, **more)
    values = (value.dtype for node in program.model.graph.all_nodes() for value in node.outputs)
    if program.model.opset_imports[""] < BFLOAT16_OPSET and any(dtype is not None and dtype.name == "BFLOAT16" for dtype in values):
        return torch.onnx.export(module_or_exported, *args, dynamo=True, verbose=False, opset_version=BFLOAT16_OPSET, **more)
    return program


def save(program, path):
    """An ONNXProgram as a file, weights beside it where they are large."""
    size = sum(value.const_value.nbytes for value in program.model.graph.initializers.values() if value.const_value is not None)
    program.save(str(path), external_data=size > EXTERNAL)


def open_dims(module, args, kwargs, dynamic):
    """input -> {dim, from 0 on: symbol} of what a caller says, checked; None where he says nothing."""
    if dynamic is None:
        return None
    if not hasattr(dynamic, "items") or not all(hasattr(dims, "items") for dims in dynamic.values()):
        raise bad_input(f"dynamic is {dynamic!r}, wanted input -> {{dim: symbol}}: the model is a torch module")
    given = named_inputs(module, args, kwargs)
    made, sizes = {}, {}
    for name, dims in dynamic.items():
        if name not in given:
            raise bad_input(f"dynamic: no input {name!r}, found {', '.join(given)}")
        shape = tuple(getattr(given[name], "shape", ()))
        made[name] = dict(sorted(open_dim(name, shape, dim, symbol, sizes) for dim, symbol in dims.items()))
    return made


def open_dim(name, shape, dim, symbol, sizes):
    """(dim from 0 on, symbol). sizes: symbol -> (size, input) of those before."""
    if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
        raise bad_input(f"dynamic: input {name!r} has no dim {dim!r}, its example has {len(shape)} dims")
    if not isinstance(symbol, str) or not symbol.isidentifier():
        raise bad_input(f"dynamic: dim {dim} of input {name!r} is called {symbol!r}, wanted a name of letters, digits and _")
    dim %= len(shape)
    size, first = sizes.setdefault(symbol, (shape[dim], name))
    if size != shape[dim]:
        raise bad_input(f"dynamic: {symbol!r} is {size} in the example of input {first!r} and {shape[dim]} in that of {name!r}, wanted one size or two names")
    return dim, symbol


def named_inputs(module, args, kwargs):
    """name of forward's argument -> example."""
    import inspect
    schema = getattr(module.forward, "schema", None)  # of what torch.jit made, which has no signature
    names = [argument.name for argument in schema.arguments[1:]] if schema else inspect.signature(module.forward).parameters
    return {**dict(zip(names, args)), **kwargs}


def dynamic_shapes(module, args, kwargs, dims):
    """torch.export's form of what open_dims() gives: as the example inputs are nested."""
    if dims is None:
        return None
    import torch
    made = {symbol: torch.export.Dim(symbol) for of in dims.values() for symbol in of.values()}
    return {name: {i: made[symbol] for i, symbol in dims.get(name, {}).items()} or None for name in named_inputs(module, args, kwargs)}


def check_open(program, dims):
    """Raises Error where the exporter made a number of a dim that shall stay open: it does so where forward decides by the size."""
    made = {value.name: value.shape for value in program.model.graph.inputs}
    for name, of in (dims or {}).items():
        for i, symbol in of.items():
            if name in made and made[name] is not None and isinstance(made[name][i], int):
                raise bad_input(f"dynamic: dim {i} of input {name!r} ({symbol!r}) is always {made[name][i]} in what torch.export makes of the module, whose forward depends on that size")


def write_by_trace(module, args, kwargs, path, dims, reason):
    import torch
    try:
        with quiet(), torch.no_grad():
            torch.onnx.export(module, args, str(path), kwargs=kwargs or None, dynamo=False, input_names=list(named_inputs(module, args, kwargs)),
                              dynamic_axes=dims or None, opset_version=18)
    except Exception as error:
        path.unlink(missing_ok=True)
        raise bad_input(f"torch module {type(module).__name__} cannot be exported: torch.export says {reason!r}, the older exporter {first_line(error)!r}") from error


def first_line(error):
    """The line of an exporter's error that says most: the innermost cause's first."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
