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
import copy
import threading
import warnings

import sympy  # torch stands on it
import torch

from optima._exporter import quiet
from optima.compiler import compile
from optima.errors import Error

SIZES = 16  # sets of sizes that one graph is compiled for; more run in torch
RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")


def optima(graph_module, example_inputs, *, options=None, **more):
    """The backend: what torch.compile calls with each captured graph. options: keywords of optima.compile."""
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
        args = [value.item() if i in self.items else value for i, value in enumerate(given)]
        if torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in args):
            return self.by_torch("gradients are wanted: call it under torch.no_grad()", given)
        with self.lock:
            made = self.made_for(args)
        if isinstance(made, str):
            return self.by_torch(made, given)
        if made.stale(args):
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


def is_weight(node):
    """Whether an input of a captured graph is a parameter or a buffer of the module."""
    value = node.meta.get("example_value")
    return isinstance(value, torch.nn.Parameter) or "_parameters_" in node.name or "_buffers_" in node.name


def key_of(value):
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else value


def is_item(node):
    """Whether an input is a number of Python that torch hands over as a tensor, of which the graph takes it out again: an epsilon where sizes are open."""
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and value.ndim == 0 and bool(node.users) and all(user.op == "call_method" and user.target == "item" for user in node.users)


def with_items(module, args):
    """A captured graph in which such inputs are the numbers among these arguments; itself where there are none."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    numbers = {node.name: value for node, value in zip(inputs, args, strict=True) if is_item(node)}
    if not numbers:
        return module
    made = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    for node in [node for node in made.graph.nodes if node.name in numbers]:
        for item in list(node.users):
            item.replace_all_uses_with(numbers[node.name])
            made.graph.erase_node(item)
    made.recompile()
    return made


class OpenSizes:
    """The sizes that torch left open in a graph. dims: input -> its open dims; places: symbol -> (input, dim) that has it; numbers: input that is such a
    size itself -> its symbol. Inputs by their numbers."""

    def __init__(self, dims, places, numbers):
        self.dims, self.places, self.numbers = dims, places, numbers

    @classmethod
    def of(cls, inputs, fixed):
        """None where there are none, or one that no dim of a tensor tells."""
        dims, places, numbers = {}, {}, {}
        for i, node in enumerate(inputs):
            value = node.meta.get("example_value")
            if isinstance(value, torch.SymInt) and not value.node.expr.is_number:
                numbers[i] = value.node.expr
            elif isinstance(value, torch.Tensor) and not fixed[i]:
                for d, size in enumerate(value.shape):
                    if isinstance(size, torch.SymInt) and not size.node.expr.is_number:  # one that turned out to be always the same is
                        dims.setdefault(i, []).append(d)
                        places.setdefault(size.node.expr, (i, d))
        return cls(dims, places, numbers) if dims and all(symbol in places for symbol in numbers.values()) else None

    def key(self, args):
        """Of all but the open sizes."""
        open_of = lambda i, value: (tuple(None if d in self.dims.get(i, ()) else size for d, size in enumerate(value.shape)), value.dtype)
        return tuple(None if i in self.numbers else open_of(i, value) if isinstance(value, torch.Tensor) else value for i, value in enumerate(args))

    def for_export(self, given):
        """torch.export's dynamic_shapes of Frozen.forward."""
        return {"tensors": tuple({d: torch.export.Dim.DYNAMIC for d in self.dims.get(i, ())} or None for i in given)}

    def number(self, expression, args):
        """An expression of the symbols, by the sizes of these arguments."""
        return int(expression.xreplace({symbol: sympy.Integer(args[i].shape[d]) for symbol, (i, d) in self.places.items()}))


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
        self.given = [i for i, (value, is_fixed) in enumerate(zip(args, fixed)) if isinstance(value, torch.Tensor) and not is_fixed]
        self.weights = [(i, value, version_of(value)) for i, value in enumerate(args) if isinstance(value, torch.Tensor) and i not in self.given]
        tensors = tuple(args[i].detach().clone() for i in self.given)
        for tensor in tensors:
            check_dtype(tensor, "an input")
        if not tensors:
            raise Refused("it has no input but weights")
        self.sizes = sizes
        proto, self.places = export(with_items(module, args), args, self.given, tensors, sizes)
        self.package = compile(proto, **{"name": "graph", **options})
        self.names = [port["name"] for port in self.package.inputs]
        if len(self.names) != len(self.given):
            raise Refused(f"its model has {len(self.names)} inputs, wanted {len(self.given)}")

    def stale(self, args):
        """Whether a weight is another tensor now, or was written to."""
        return any(args[i].data_ptr() != value.data_ptr() or version_of(value) != version for i, value, version in self.weights)

    def run(self, args):
        arrays = {name: args[i].detach().contiguous().numpy() for name, i in zip(self.names, self.given)}
        answers = list(self.package.run(arrays).values())
        given = {"tensor": lambda place: torch.from_numpy(answers[place]), "size": lambda of: self.sizes.number(of, args), "value": lambda value: value}
        return tuple(given[kind](place) for kind, place in self.places)


def check_dtype(tensor, what):
    try:
        torch.empty(0, dtype=tensor.dtype).numpy()
    except TypeError:
        raise Refused(f"{what} is {tensor.dtype}, which numpy has not") from None


def version_of(tensor):
    """A count of what was written to a tensor; those of inference mode have none."""
    return 0 if tensor.is_inference() else tensor._version


def export(module, args, given, tensors, sizes):
    """(ModelProto, what each result of the graph is: ("tensor", number of the output), ("size", an expression of OpenSizes) or ("value", itself)). Raises
    Refused."""
    from optima import models
    frozen = Frozen(module, args, given, sizes).eval()
    try:
        with quiet(), torch.no_grad(), torch.random.fork_rng():
            results = module(*(a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args))
            exported = torch.export.export(frozen, tensors, dynamic_shapes=sizes.for_export(given) if sizes else None)
            written = exported.run_decompositions({}).graph_signature  # only there writes are told apart from results
            if written.buffers_to_mutate or written.user_inputs_to_mutate:
                raise Refused("it writes to an input or a buffer")
            proto = torch.onnx.export(exported, dynamo=True, verbose=False).model_proto
    except Refused:
        raise
    except Exception as error:  # torch has no common base of what an export may raise
        raise Refused(f"it cannot be exported: {models.first_line(error)}") from error
    drawn = [node.op_type for node in proto.graph.node if node.op_type in RANDOM]
    if drawn:
        raise Refused(f"{drawn[0]} draws other numbers than torch")
    return proto, places_of(results, symbolic_results(module) if sizes else results, proto)


def symbolic_results(module):
    """What torch knows of each result of a captured graph."""
    (given,) = next(node for node in module.graph.nodes if node.op == "output").args
    return [result.meta.get("example_value") if isinstance(result, torch.fx.Node) else result for result in given]


def places_of(results, known, proto):
    places, count = [], 0
    for value, of in zip(results, known, strict=True):
        if isinstance(value, torch.Tensor):
            check_dtype(value, "a result")
            places.append(("tensor", count))
            count += 1
        else:
            places.append(("size", of.node.expr) if isinstance(of, torch.SymInt) else ("value", value))
    if count != len(proto.graph.output):
        raise Refused(f"its model has {len(proto.graph.output)} outputs, wanted {count}")
    if len({v.name for v in proto.graph.output}) != count:
        raise Refused("an output comes twice")
    return places


if "optima" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(optima, name="optima")
