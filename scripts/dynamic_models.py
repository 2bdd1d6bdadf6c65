# SPDX-License-Identifier: Apache-2.0
"""The zoo's dynamic exports, which scripts/make_models.py writes into the folder dynamic: sizes are named and free.

NAME.ts.onnx is TorchScript's export with its defaults (constants folded, BatchNormalization in the weights), of some models there is
NAME.dynamo.onnx besides, whose dims have the names that torch.export makes. Weights are those of the fixed models of the same name; BERT's table
of positions is longer, for sequences of 384. Images have free batch, height and width where the net pools before its head; a vision
transformer's is free in the batch alone, a U-Net's sides are multiples of 8. llama and gpt are decoders (decoder_nets.py).
"""
import os
import warnings

import torch
from torch import nn

import decoder_nets

BERT_LENGTH = 384
BATCH, IMAGE, WORDS = {0: "batch"}, {0: "batch", 2: "height", 3: "width"}, {0: "batch", 1: "sequence"}
AXES = {"resnet18": IMAGE, "resnet50": IMAGE, "mobilenet_v2": IMAGE, "squeezenet": IMAGE, "shufflenet_v2": IMAGE, "efficientnet": IMAGE,
        "unet": IMAGE, "vit_tiny": BATCH, "bert": WORDS, "bilstm": WORDS}
DYNAMO = ("resnet18", "unet", "bert")
NAMES = (*AXES, *decoder_nets.DECODERS)


def seed(name):
    torch.manual_seed(sum(map(ord, name)))


def lengthened(net):
    """A Bert with BERT_LENGTH positions, of which the first are its own."""
    old = net.position.weight.data
    net.position = nn.Embedding(BERT_LENGTH, old.shape[1])
    net.position.weight.data[:len(old)] = old
    return net


def at_last(path, write):
    """A file is there when it is whole."""
    part = path.with_suffix(".part")
    write(part)
    os.replace(part, path)
    print(f"dynamic/{path.name}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


def torchscript(net, inputs, outputs, named, path):
    torch.onnx.export(net, tuple(inputs.values()), path, dynamo=False, opset_version=17, input_names=list(inputs), output_names=outputs,
                      dynamic_axes=named)


def dim_of(name, axis):
    """What torch.export is told of a dim of an input; names that it makes itself but for BERT and the U-Net, whose sizes have bounds or steps."""
    if name == "bert":
        return torch.export.Dim("sequence", max=BERT_LENGTH) if axis == 1 else torch.export.Dim("batch")
    if name == "unet" and axis > 0:
        return 8 * torch.export.Dim("rows" if axis == 2 else "columns")
    return torch.export.Dim.DYNAMIC


def by_export(name, net, inputs, outputs, path):
    shapes = [{axis: dim_of(name, axis) for axis in AXES[name]} for _ in inputs]
    torch.onnx.export(net, tuple(inputs.values()), path, dynamo=True, external_data=False, verbose=False, input_names=list(inputs),
                      output_names=outputs, dynamic_shapes=shapes)


def make_zoo(name, build, inputs, outputs, folder):
    """inputs: of batch 1, by name; they are doubled, as torch.export takes a size of 1 for a constant."""
    paths = {e: folder / f"{name}.{e}.onnx" for e in (("ts", "dynamo") if name in DYNAMO else ("ts",))}
    if all(p.exists() for p in paths.values()):
        return
    seed(name)
    net = build()
    net = lengthened(net) if name == "bert" else net
    inputs = {k: torch.cat([v, v]) for k, v in inputs.items()}
    named = dict.fromkeys(inputs, AXES[name]) | {o: WORDS if o == "hidden" else AXES[name] if name == "unet" else BATCH for o in outputs}
    at_last(paths["ts"], lambda path: torchscript(net, inputs, outputs, named, path))
    if "dynamo" in paths:
        at_last(paths["dynamo"], lambda path: by_export(name, net, inputs, outputs, path))


def make_decoder(name, folder):
    path = folder / f"{name}.ts.onnx"
    if path.exists():
        return
    seed(name)
    net = decoder_nets.DECODERS[name]().eval()
    at_last(path, lambda part: torchscript(net, decoder_nets.sample(net), decoder_nets.output_names(net), decoder_nets.axes(net), part))


def make(name, folder, zoo=None):
    """zoo: build, inputs and names of outputs of a model of the zoo."""
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in decoder_nets.DECODERS:
            make_decoder(name, folder)
        else:
            make_zoo(name, *zoo, folder)
