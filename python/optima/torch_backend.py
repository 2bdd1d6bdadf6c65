# SPDX-License-Identifier: Apache-2.0
"""torch.compile(module, backend="optima"): graphs that torch captures run as Optima packages. Importing this registers the backend; with the
wheel installed torch finds it by itself. Needs torch, onnx and onnxscript.

    compiled = torch.compile(module, backend="optima", options={"devices": ["X64:0"], "allocation": {"op:Softmax": "REF:0"}})
    with torch.no_grad():
        compiled(x)

Each captured graph is compiled when it is first called, once for each set of sizes; parameters and buffers become constants of the package. What
cannot be compiled, and what is not inference, runs as torch would run it, after one warning with the reason.
"""
import threading
import warnings

import torch

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
        self.fixed = [is_weight(node) for node in graph_module.graph.nodes if node.op == "placeholder"]

    def __call__(self, *args):
        if torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in args):
            return self.by_torch("gradients are wanted: call it under torch.no_grad()", args)
        key = tuple(map(key_of, args))
        with self.lock:
            if key not in self.made:
                self.made[key] = self.make(args)
        made = self.made[key]
        if isinstance(made, str):
            return self.by_torch(made, args)
        if made.stale(args):
            return self.by_torch("weights were changed after compiling", args)
        return made.run(args)

    def by_torch(self, reason, args):
        if not self.told:
            self.told = True
            warnings.warn(f"backend optima: a graph of {sum(n.op.startswith('call') for n in self.module.graph.nodes)} calls runs in torch: {reason}", stacklevel=3)
        return self.module(*args)

    def make(self, args):
        """A Compiled, or the reason why there is none."""
        if len(self.made) >= SIZES:
            return f"it was compiled for {SIZES} sets of sizes already"
        if any(isinstance(a, torch.Tensor) and a.device.type != "cpu" for a in args):
            return "tensors are not on the processor"
        try:
            return Compiled(self.module, self.fixed, args, self.options)
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


class Frozen(torch.nn.Module):
    """A captured graph as a function of its tensors alone: weights and sizes are part of it."""

    def __init__(self, module, args, given):
        super().__init__()
        self.inner, self.args, self.given = module, args, given
        for i, value in enumerate(args):
            if isinstance(value, torch.Tensor) and i not in given:
                self.register_buffer(f"w{i}", value.detach())

    def forward(self, *tensors):
        taken = iter(tensors)
        args = [next(taken) if i in self.given else getattr(self, f"w{i}", value) for i, value in enumerate(self.args)]
        return tuple(out for out in self.inner(*args) if isinstance(out, torch.Tensor))


class Compiled:
    """One package of a graph: for these sizes and weights."""

    def __init__(self, module, fixed, args, options):
        self.given = [i for i, (value, is_fixed) in enumerate(zip(args, fixed)) if isinstance(value, torch.Tensor) and not is_fixed]
        self.weights = [(i, value, version_of(value)) for i, value in enumerate(args) if isinstance(value, torch.Tensor) and i not in self.given]
        tensors = tuple(args[i].detach().clone() for i in self.given)
        for tensor in tensors:
            check_dtype(tensor, "an input")
        if not tensors:
            raise Refused("it has no input but weights")
        proto, self.places = export(module, args, self.given, tensors)
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
        return tuple(torch.from_numpy(answers[place]) if kind == "tensor" else place for kind, place in self.places)


def check_dtype(tensor, what):
    try:
        torch.empty(0, dtype=tensor.dtype).numpy()
    except TypeError:
        raise Refused(f"{what} is {tensor.dtype}, which numpy has not") from None


def version_of(tensor):
    """A count of what was written to a tensor; those of inference mode have none."""
    return 0 if tensor.is_inference() else tensor._version


def export(module, args, given, tensors):
    """(ModelProto, what each result of the graph is: ("tensor", number of the output) or ("value", itself)). Raises Refused."""
    from optima import models
    frozen = Frozen(module, args, given).eval()
    try:
        with models.quiet(), torch.no_grad(), torch.random.fork_rng():
            results = module(*(a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args))
            exported = torch.export.export(frozen, tensors)
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
    return proto, places_of(results, proto)


def places_of(results, proto):
    places, count = [], 0
    for value in results:
        if isinstance(value, torch.Tensor):
            check_dtype(value, "a result")
        places.append(("tensor", count) if isinstance(value, torch.Tensor) else ("value", value))
        count += isinstance(value, torch.Tensor)
    if count != len(proto.graph.output):
        raise Refused(f"its model has {len(proto.graph.output)} outputs, wanted {count}")
    if len({v.name for v in proto.graph.output}) != count:
        raise Refused("an output comes twice")
    return places


if "optima" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(optima, name="optima")
