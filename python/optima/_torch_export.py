# SPDX-License-Identifier: Apache-2.0
"""torch modules, exported programs and functions of tensors as ONNX files. Needs torch, onnx and onnxscript."""
import contextlib
import inspect
import warnings

import torch

from optima._bad_input import bad_input
from optima._exporter import ALONE, quiet
from optima.errors import Error
from optima.models import samples_of

BFLOAT16_OPSET = 22
EXTERNAL = 1 << 30  # bytes of weights from which they lie in a file of their own: protobuf ends at 2 GiB


def export_torch(model, example_inputs, path, dynamic=None, optimize=True):
    """Writes a torch module as ONNX: by torch.export, else, with a warning that holds the reason, by the older exporter, which traces. A function of
    tensors, too, and an ExportedProgram, which has its inputs and open dims already.
    dynamic: input -> {dim: symbol}. The module is exported as eval() leaves it, and is left in the mode it was in."""
    if isinstance(model, torch.export.ExportedProgram):
        return write_program(model, path, dynamic, optimize)
    module = module_of(model)
    args, kwargs = checked_examples(module, *samples_of(example_inputs))
    dims = open_dims(module, args, kwargs, dynamic)
    with ALONE, as_eval(module):
        try:
            with quiet():
                write_by_export(module, args, kwargs, path, dims, optimize)
        except Error:
            raise
        except Exception as error:  # torch has no common base of what an export may raise
            reason = first_line(error)
            check_results(module, args, kwargs)
            warnings.warn(f"torch.export could not take {name_of(module)} ({reason}); the older exporter, which traces one run, is used", stacklevel=4)
            write_by_trace(module, args, kwargs, path, dims, reason)


def module_of(model):
    """The module itself of one that torch.compile or a data-parallel wrapper made, whose arguments have no names; a function as a module, with the
    module that it is a method of."""
    wrappers = {"_orig_mod": torch._dynamo.OptimizedModule, "module": (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)}
    for name, kind in wrappers.items():
        if isinstance(model, kind):
            return module_of(getattr(model, name))
    if isinstance(model, torch.nn.Module):
        return model
    made = type(getattr(model, "__name__", "function"), (torch.nn.Module,), {})()
    made.forward, made.owner = model, getattr(model, "__self__", None)
    return made


def name_of(module):
    return type(module).__name__


def checked_examples(module, args, kwargs):
    """(args, kwargs) of forward, arrays of numpy as tensors."""
    if not args and not kwargs:
        raise bad_input(f"example_inputs are missing, wanted tensors for the forward of {name_of(module)}")
    if schema_of(module) is None:
        try:
            inspect.signature(module.forward).bind(*args, **kwargs)
        except TypeError as error:
            raise bad_input(f"example_inputs do not fit the forward of {name_of(module)}: {error}; wanted a tensor, a tuple in the order of "
                            f"{', '.join(inspect.signature(module.forward).parameters)}, or name -> tensor; a dict that is one argument lies in a tuple") from error
    as_tensor = lambda value: torch.from_numpy(value) if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray" else value
    return torch.utils._pytree.tree_map(as_tensor, (args, kwargs))


def schema_of(module):
    """Of what torch.jit made, which has no signature; None of others."""
    return getattr(module.forward, "schema", None)


def check_results(module, args, kwargs):
    """Raises Error where forward gives what no model has. One that raises is the older exporter's to tell of."""
    try:
        with quiet(), torch.no_grad():
            results = module(*args, **kwargs)
    except Exception:  # whatever a module raises
        return
    for result in torch.utils._pytree.tree_leaves(results):
        if result is not None and not isinstance(result, torch.Tensor):
            raise bad_input(f"the forward of {name_of(module)} gives {result!r:.60} among its results, wanted tensors alone")


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
    last_is_dict = bool(args) and isinstance(args[-1], dict)  # which torch.onnx.export would take for kwargs
    program = onnx_program(module, args + ({},) * last_is_dict, kwargs=kwargs or None, optimize=optimize, dynamic_shapes=dynamic_shapes(module, args, kwargs, dims))
    name_inputs(program.model.graph)
    check_open(program, dims)
    save(program, path)


def write_program(exported, path, dynamic, optimize):
    if dynamic is not None:
        raise bad_input(f"dynamic is {dynamic!r}, wanted none: an ExportedProgram has its open dims already")
    try:
        with quiet():
            program = onnx_program(exported, optimize=optimize)
    except Exception as error:  # torch has no common base of what an export may raise
        raise bad_input(f"the ExportedProgram cannot be exported: {first_line(error)}") from error
    name_inputs(program.model.graph)
    save(program, path)


def name_inputs(graph):
    """Gives inputs that are results as well the names of their arguments back, which the exporter gave to the results."""
    values = {value.name: value for node in graph for value in node.outputs}
    for value in graph.inputs:
        name = value.name.removesuffix("_orig")
        if name != value.name and name in values:
            taken, number = f"{name}_out", 1
            while taken in values or taken in graph.initializers:
                taken, number = f"{name}_out_{number}", number + 1
            values[taken] = values.pop(name)
            values[taken].name, value.name = taken, name


def onnx_program(module_or_exported, *args, **more):
    """What torch.onnx.export makes of it; with values of bfloat16 for the first opset in which convolutions, pools and recurrent layers have that type."""
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
    schema = schema_of(module)
    names = [argument.name for argument in schema.arguments[1:]] if schema else inspect.signature(module.forward).parameters
    return {**dict(zip(names, args)), **kwargs}


def dynamic_shapes(module, args, kwargs, dims):
    """torch.export's form of what open_dims() gives: as the example inputs are nested."""
    if dims is None:
        return None
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
    try:
        with quiet(), torch.no_grad():
            torch.onnx.export(module, args, str(path), kwargs=kwargs or None, dynamo=False, input_names=list(named_inputs(module, args, kwargs)),
                              dynamic_axes=dims or None, opset_version=18)
    except Exception as error:
        path.unlink(missing_ok=True)
        raise bad_input(f"torch module {name_of(module)} cannot be exported: torch.export says {reason!r}, the older exporter {first_line(error)!r}") from error


def first_line(error):
    """The line of an exporter's error that says most: the innermost cause's first."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
