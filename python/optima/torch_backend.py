# SPDX-License-Identifier: Apache-2.0
"""torch.compile(module, backend="optima"): graphs that torch captures run as Optima packages. Importing this registers the backend; with the
wheel installed torch finds it by itself. Needs torch, onnx and onnxscript.

    compiled = torch.compile(module, backend="optima", options={"devices": ["X64:0"], "allocation": {"op:Softmax": "REF:0"}})
    with torch.no_grad():
        compiled(x)

Each captured graph is compiled when it is first called: for all sizes that torch leaves open in it, else, or where a device wants sizes, once for each set of
them. Parameters and buffers become constants of the package. What cannot be compiled, and what is not inference, runs as torch would run it, after one
warning with the reason.
"""
import threading
import warnings

import torch

from optima import _torch_export, run_package
from optima._exporter import quiet
from optima._torch_inputs import OpenSizes, is_item, is_weight, key_of, with_items
from optima._weights import Weights
from optima.compiler import compile
from optima.errors import Error

SIZES = 16  # sets of sizes that one graph is compiled for; more run in torch
TYPES = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")  # of inputs and results
RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")


def optima(graph_module, example_inputs, *, options=None, **more):
    """The backend: what torch.compile calls with each captured graph. options: keywords of optima.compile, and watch_weights=False (docs/compile-from-python.md)."""
    return Graph(graph_module, {**(options or {}), **more})


class Graph:
    """A captured graph with its packages. Calls may come from several threads."""

    def __init__(self, graph_module, options):
        self.module, self.options = graph_module, options
        self.made, self.lock, self.told = {}, threading.Lock(), False
        inputs = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        self.fixed = [is_weight(node) for node in inputs]
        self.items = {i for i, node in enumerate(inputs) if is_item(node)}
        self.sizes = OpenSizes.of(inputs, self.fixed)

    def __call__(self, *given):
        if torch.compiler.is_exporting():  # as a part of a module that is exported itself
            return self.module(*given)
        args = [value.item() if i in self.items else value for i, value in enumerate(given)] if self.items else given
        if torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in args):
            return self.by_torch("gradients are wanted: call it under torch.no_grad()", given)
        with self.lock:
            made = self.made_for(args)
        if isinstance(made, str):
            return self.by_torch(made, given)
        if not made.weights.are_in(args):
            return self.by_torch("weights were changed after compiling", given)
        return made.run(args)

    def by_torch(self, reason, args):
        if not self.told:
            self.told = True
            warnings.warn(f"backend optima: a graph of {sum(n.op.startswith('call') for n in self.module.graph.nodes)} calls runs in torch: {reason}", stacklevel=3)
        return self.module(*args)

    def made_for(self, args):
        """What make() gives, made once for all sizes of the open dims, else once for each set of sizes."""
        if self.sizes:
            key = self.sizes.key(args)
            if key not in self.made:
                self.made[key] = self.make(args, self.sizes)
            if not isinstance(self.made[key], str):
                return self.made[key]
            self.made, self.sizes = {}, None  # the reason may hold for open sizes alone
        key = tuple(map(key_of, args))
        if key not in self.made:
            self.made[key] = self.make(args, None)
        return self.made[key]

    def make(self, args, sizes):
        """A Compiled, or the reason why there is none."""
        if len(self.made) >= SIZES:
            return f"it was compiled for {SIZES} sets of sizes already"
        if any(isinstance(a, torch.Tensor) and a.device.type != "cpu" for a in args):
            return "tensors are not on the processor"
        try:
            return Compiled(self.module, self.fixed, args, self.options, sizes)
        except Refused as reason:
            return str(reason)
        except Error as error:
            return str(error)


class Refused(Exception):
    """Why a graph is not compiled."""


class Frozen(torch.nn.Module):
    """A captured graph as a function of its tensors alone: weights are part of it, and so are sizes, but open ones."""

    def __init__(self, module, args, given, sizes):
        super().__init__()
        self.inner, self.args, self.given, self.sizes = module, args, given, sizes
        for i, value in enumerate(args):
            if isinstance(value, torch.Tensor) and i not in given:
                self.register_buffer(f"w{i}", value.detach())

    def forward(self, *tensors):
        taken = dict(zip(self.given, tensors))
        args = [taken[i] if i in taken else getattr(self, f"w{i}", value) for i, value in enumerate(self.args)]
        for i, symbol in (self.sizes.numbers if self.sizes else {}).items():
            tensor, dim = self.sizes.places[symbol]
            args[i] = taken[tensor].shape[dim]
        return tuple(out for out in self.inner(*args) if isinstance(out, torch.Tensor))


class Compiled:
    """One package of a graph: for these weights, and for these sizes or all that are open."""

    def __init__(self, module, fixed, args, options, sizes):
        tensors = [i for i, value in enumerate(args) if isinstance(value, torch.Tensor)]
        self.given = [i for i in tensors if not fixed[i]]
        for i in self.given:
            check_type(args[i], "an input")
        if not self.given:
            raise Refused("it has no input but weights")
        options = {"name": "graph", **options}
        self.weights = Weights(args, [i for i in tensors if fixed[i]], options.pop("watch_weights", True))
        self.sizes = sizes
        proto, self.places, results = export(with_items(module, args), args, self.given, tuple(args[i].detach().clone() for i in self.given), sizes)
        self.package = compile(proto, **options)
        check_ports("input", self.package.inputs, [args[i] for i in self.given])
        check_ports("output", self.package.outputs, results)
        self.names = [port["name"] for port in self.package.inputs]

    def run(self, args):
        answers = self.answers({name: handed_over(args[i]) for name, i in zip(self.names, self.given)})
        if len(self.places) == len(answers):  # tensors alone
            return tuple(answers)
        return tuple(answers[of] if kind == "tensor" else self.sizes.number(of, args) if kind == "size" else of for kind, of in self.places)

    def answers(self, arrays):
        """The package's outputs, as tensors that nobody else has."""
        if run_package.runtime() is None:
            return [torch.from_numpy(array) for array in run_package.run_by_host(self.package, arrays).values()]
        return [torch.from_dlpack(tensor) for tensor in run_package.load_here(self.package).run_for_tensors(arrays)]


def handed_over(tensor):
    """What the runtime reads in place: numpy's array where that has the type, which is quicker, else the tensor."""
    dense = tensor.detach().resolve_neg().contiguous()
    return dense if dense.dtype == torch.bfloat16 else dense.numpy()


def type_name(tensor):
    """numpy's or ml_dtypes' name of a tensor's type."""
    return str(tensor.dtype).removeprefix("torch.")


def check_type(tensor, what):
    if type_name(tensor) not in TYPES or tensor.dtype == torch.bfloat16 and run_package.runtime() is None:
        raise Refused(f"{what} is {tensor.dtype}, which packages do not take from torch")
    if tensor.layout != torch.strided:
        raise Refused(f"{what} is {tensor.layout}, wanted a dense tensor")


def check_ports(what, ports, tensors):
    """Raises Refused where the package has others than the graph: an exporter may have another way to say a type."""
    if len(ports) != len(tensors):
        raise Refused(f"its model has {len(ports)} {what}s, wanted {len(tensors)}")
    for port, tensor in zip(ports, tensors):
        if port["dtype"] != type_name(tensor) or port["shape"] is not None and len(port["shape"]) != tensor.ndim:
            raise Refused(f"{what} {port['name']!r} of its model is {port['dtype']}{port['shape']}, wanted {type_name(tensor)}{list(tensor.shape)}")


def export(module, args, given, tensors, sizes):
    """(ModelProto, what each result of the graph is: ("tensor", number of the output), ("size", an expression of OpenSizes) or ("value", itself), the results
    that are tensors). Raises Refused."""
    frozen = Frozen(module, args, given, sizes).eval()
    try:
        with quiet(), torch.no_grad(), torch.random.fork_rng():
            results = module(*(a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args))
            made = [value for value in results if isinstance(value, torch.Tensor)]
            for value in made:
                check_type(value, "a result")
            exported = torch.export.export(frozen, tensors, dynamic_shapes=sizes.for_export(given) if sizes else None)
            written = exported.run_decompositions({}).graph_signature  # only there writes are told apart from results
            if written.buffers_to_mutate or written.user_inputs_to_mutate:
                raise Refused("it writes to an input or a buffer")
            proto = _torch_export.onnx_program(exported).model_proto
    except Refused:
        raise
    except Exception as error:  # torch has no common base of what an export may raise
        raise Refused(f"it cannot be exported: {_torch_export.first_line(error)}") from error
    drawn = [node.op_type for node in proto.graph.node if node.op_type in RANDOM]
    if drawn:
        raise Refused(f"{drawn[0]} draws other numbers than torch")
    if len({v.name for v in proto.graph.output}) != len(made):
        raise Refused(f"its model has {len({v.name for v in proto.graph.output})} outputs, wanted {len(made)}")
    return proto, places_of(results, symbolic_results(module) if sizes else results), made


def symbolic_results(module):
    """What torch knows of each result of a captured graph."""
    (given,) = next(node for node in module.graph.nodes if node.op == "output").args
    return [result.meta.get("example_value") if isinstance(result, torch.fx.Node) else result for result in given]


def places_of(results, known):
    places, count = [], 0
    for value, of in zip(results, known, strict=True):
        if isinstance(value, torch.Tensor):
            places.append(("tensor", count))
            count += 1
        else:
            places.append(("size", of.node.expr) if isinstance(of, torch.SymInt) else ("value", value))
    return places


torch._dynamo.config.allow_rnn = True  # without it torch runs nn.LSTM, GRU and RNN by itself and never asks a backend
if "optima" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(optima, name="optima")
