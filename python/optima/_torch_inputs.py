# SPDX-License-Identifier: Apache-2.0
"""What the inputs of a graph that torch captured are: weights, numbers, tensors whose sizes it left open. Needs torch."""
import copy

import sympy  # torch stands on it
import torch


def is_weight(node):
    """Whether an input of a captured graph is a parameter or a buffer of the module."""
    value = node.meta.get("example_value")
    return isinstance(value, torch.nn.Parameter) or "_parameters_" in node.name or "_buffers_" in node.name


def key_of(value):
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else value


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
