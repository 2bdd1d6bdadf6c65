# SPDX-License-Identifier: Apache-2.0
"""The module as an ONNX file, checked to hold HPVM's operators alone, and its nodes as HPVM counts them."""
import dataclasses
import io
import warnings

import onnx
import torch

from optima import _host
from optima.errors import Error

OPERATORS = ("Conv MatMul Gemm GlobalAveragePool AveragePool MaxPool BatchNormalization Relu Tanh Add Flatten Softmax Identity Pad").split()
# HPVM's words for them. What only moves values has none, and no number in a configuration.
WORDS = {"Conv": "conv", "MatMul": "mul", "Gemm": "mul", "Add": "add", "Relu": "relu", "Tanh": "tanh", "MaxPool": "pool_max", "AveragePool": "pool_mean",
         "GlobalAveragePool": "pool_mean", "BatchNormalization": "batchnorm", "Softmax": "softmax"}
MOVES = ("Flatten", "Reshape", "Identity", "Pad")
ACTIVATIONS, POOLS = ("relu", "tanh"), ("pool_max", "pool_mean")
OPSET = 17
TOLERANCE = 1e-3  # of the answers' scale: a batch and its samples one by one are summed in other orders


def export(module, samples, path, device):
    """Writes the module as ONNX for batches of the size of samples (N x C x H x W, float32) and gives the nodes that are computed on a device: those that
    optima-host does not fold, in order. The module keeps its mode; nothing is written when it is refused."""
    training = module.training
    module.eval()
    try:
        check_independent(module, samples[:4])
        written = io.BytesIO()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, (samples,), written, dynamo=False, opset_version=OPSET, input_names=["input"], output_names=["output"],
                              training=torch.onnx.TrainingMode.PRESERVE)  # which it is not in; else batch normalization goes into the convolution before it
    except Error:
        raise
    except Exception as error:  # the module's own, or one of torch's many
        raise Error(f"the module does not run, or torch does not export it: {(str(error).strip() or type(error).__name__).splitlines()[0]}", "invalid_input") from error
    finally:
        module.train(training)
    part = path.with_name(path.name + ".part")
    part.write_bytes(written.getvalue())
    try:
        alive = {node["name"] for node in _host.run_json("plan", part, "--device", device)["nodes"]}
        nodes = [node for node in onnx.load_from_string(written.getvalue()).graph.node if node.name in alive]
        check_operators(nodes)
        part.replace(path)
        return nodes
    finally:
        part.unlink(missing_ok=True)


def check_independent(module, samples):
    """A set's last batch is filled up, which is only right where the answer of a sample does not depend on the others of its batch."""
    with torch.no_grad():
        together = module(samples)
        if not isinstance(together, torch.Tensor) or together.dtype != torch.float32 or together.ndim < 2 or together.shape[0] != len(samples):
            raise Error("the module does not give one float32 tensor with an answer for each sample, wanted that", "invalid_input")
        single = torch.cat([module(samples[i : i + 1]) for i in range(len(samples))])
    scale = float(together.abs().max()) or 1.0
    if single.shape != together.shape or not float((single - together).abs().max()) <= TOLERANCE * scale:
        raise Error("the module's answer of a sample depends on the other samples of its batch, wanted one that does not", "invalid_input")


def check_operators(nodes):
    readers = {}
    for node in nodes:
        for value in node.input:
            readers.setdefault(value, []).append(node.op_type)
    for node in nodes:
        if node.op_type in OPERATORS:
            continue
        if node.op_type == "Reshape" and set(readers.get(node.output[0], [])) <= {"Gemm", "MatMul"} and readers.get(node.output[0]):
            continue
        why = "a Reshape that something else than Gemm or MatMul reads" if node.op_type == "Reshape" else f"operator {node.op_type}"
        raise Error(f"node {node.name!r} is {why}, wanted {', '.join(OPERATORS)}, or Reshape before Gemm", "invalid_input", node=node.name)


@dataclasses.dataclass(frozen=True)
class Operation:
    """One of HPVM's. node: of the ONNX file; bias: whether it is the one of that node's product; reads: places of the operations whose results it reads."""
    word: str
    node: str
    product: bool
    bias: bool
    reads: frozenset


def operations(nodes):
    """Of the nodes of an ONNX file in their order: HPVM splits a bias off. A result that is only moved is its own."""
    out, made_by = [], {}  # value -> place of the operation that gives it; constants and the input have none
    for node in nodes:
        reads = frozenset(made_by[value] for value in node.input if value in made_by)
        if node.op_type in MOVES:
            made_by.update((value, place) for value in node.output for place in reads)
            continue
        grouped = node.op_type == "Conv" and any(a.name == "group" and a.i > 1 for a in node.attribute)
        product = node.op_type in ("Conv", "MatMul", "Gemm")
        out.append(Operation("group_conv" if grouped else WORDS[node.op_type], node.name, product, False, reads))
        if product and len(node.input) > 2:
            out.append(Operation("add", node.name, False, True, frozenset([len(out) - 1])))
        made_by.update((value, len(out) - 1) for value in node.output)
    return out


def fused(every, place):
    """Places of the operations that HPVM makes one node of, where the first is this one: a convolution with its bias, an activation and a pooling behind it, a
    product of matrices with its bias and an activation, anything else alone. Each is the only one that reads the one before, and reads no other."""
    def next_of(place, words):
        readers = [k for k, operation in enumerate(every) if place in operation.reads]
        fits = len(readers) == 1 and every[readers[0]].reads == {place} and every[readers[0]].word in words
        return readers[0] if fits else None
    group, wanted = [place], [("add",), ACTIVATIONS, POOLS] if every[place].word == "conv" else [("add",), ACTIVATIONS] if every[place].word == "mul" else []
    for words in wanted:
        found = next_of(group[-1], words)
        if found is not None:
            group.append(found)
        elif words == ("add",):
            break  # without a bias nothing is fused
    return group


def hpvm_nodes(nodes):
    """[{"id": from 1 on, "ops": HPVM's words, "nodes": of each its node's name in the ONNX file, "product": its product's name or None, "bias": the place in ops of a
    product's bias or None}], as HPVM's tuner numbers them: its pass FuseHPVMTensorNodes, and tuner_confs.txt of its benchmarks. A bias that is a node of its own is its
    first operation; the product is the node before then."""
    every, taken, found = operations(nodes), set(), []
    for place in range(len(every)):
        if place in taken:
            continue
        group = fused(every, place)
        taken.update(group)
        members = [every[k] for k in group]
        found.append({"id": len(found) + 1, "ops": [m.word for m in members], "nodes": [m.node for m in members], "product": members[0].node if members[0].product else None,
                      "bias": next((k for k, m in enumerate(members) if m.bias), None)})
    return found


def rounded(model, names):
    """The ModelProto with all that nodes of these names read and give rounded to fp16; constants stay. A Cast rounds on every device that does not take
    pairs of them away: what is in fp16 between nodes is not rounded by each."""
    out = onnx.ModelProto()
    out.CopyFrom(model)
    constants = {t.name for t in out.graph.initializer} | {v for node in out.graph.node if node.op_type == "Constant" for v in node.output}
    made, halves = [], {}  # value -> the one that holds it in fp16's numbers

    def round_to(value, result):
        half = f"{value}/in_fp16"
        made.extend((onnx.helper.make_node("Cast", [value], [half], name=f"round_{value}", to=onnx.TensorProto.FLOAT16),
                     onnx.helper.make_node("Cast", [half], [result], name=f"widen_{value}", to=onnx.TensorProto.FLOAT)))
        return result

    for node in out.graph.node:
        half = node.name in names
        for k, value in enumerate(node.input if half else ()):
            if value and value not in constants:
                halves[value] = halves.get(value) or round_to(value, f"{value}/fp16")
                node.input[k] = halves[value]
        made.append(node)
        if not half:
            continue
        result = node.output[0]
        if node.op_type not in ("Relu", "MaxPool"):  # which give what they read
            node.output[0] = f"{result}/exact"
            round_to(node.output[0], result)
        halves[result] = result
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in made]
    del out.graph.node[:]
    out.graph.node.extend(nodes)
    return out
