#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trained sentence encoder as an ONNX file, with tokenized texts.

    make_encoder.py WEIGHTS OUT    WEIGHTS: the folder of all-MiniLM-L6-v2 (model.safetensors, vocab.txt, config.json, README.md)

Writes OUT/encoder.onnx (inputs `ids` and `mask`, int64 1 x 64; output `embedding`, f32 1 x 384 of length 1), and samples of it: OUT/texts/00.npz ...
full windows of the model's own description, then sentences, padded, so that the last quarter of the sorted files are sentences.
"""
import json
import os
import re
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LENGTH = 64
SENTENCES = [
    "The harbour was quiet before sunrise, and only two fishing boats had their lamps lit against the fog that came in from the sea.",
    "A good bread needs little more than flour, water, salt and time; most bakers who hurry find that out by the taste of the crumb.",
    "When the committee met on Tuesday, nobody could say who had approved the budget for the new bridge or why it had doubled since spring.",
    "Compilers translate programs into instructions of a processor, and the better ones also move work out of loops and keep values in registers.",
    "She had learned to play the cello late in life, yet her neighbours opened their windows in the evening to listen.",
    "Heavy rain is expected in the northern valleys until Friday, with a risk of flooding along the smaller rivers and near old dams.",
    "The museum keeps four thousand maps, of which a tenth were drawn by sailors who never came home to see them printed.",
    "In the second half the visitors pressed higher, won the ball back early and scored twice within five minutes.",
    "Vaccines train the immune system by showing it a harmless part of a germ, so that it recognises the whole one later.",
    "Prices of copper fell for the third week in a row as factories in Asia ordered less and stocks in Rotterdam grew.",
    "If you want to reset the router, hold the small button on its back for ten seconds and wait until the light turns green.",
    "The judge ruled that the contract was void, because one of the parties had signed it under a name that was not his.",
    "Bees tell each other where flowers are by dancing on the comb: the angle gives the direction, the length the distance.",
    "My grandfather repaired watches at the kitchen table, and the whole house ticked until he wound the last one down.",
    "Trains between the two capitals will run every hour from December, and the fastest take less than three hours.",
    "An eclipse of the moon can be seen with the naked eye from everywhere on the night side of the earth, clouds permitting.",
]


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    out = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        out[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])
    return out


class Graph:
    """Nodes and constants of an ONNX graph."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attributes))
        return output


def encoder(weights, config):
    heads, hidden, layers = config["num_attention_heads"], config["hidden_size"], config["num_hidden_layers"]
    size, epsilon = hidden // heads, config["layer_norm_eps"]
    g = Graph()
    number = lambda name, value: g.constant(name, np.array(value, np.float32))
    ints = lambda name, values: g.constant(name, np.array(values, np.int64))

    def dense(x, name, to):
        product = g.node("MatMul", [x, g.constant(name + ".weight", weights[name + ".weight"].T)], to + "/product")
        return g.node("Add", [product, g.constant(name + ".bias", weights[name + ".bias"])], to)

    def norm(x, name, to):
        scale, bias = (g.constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return g.node("LayerNormalization", [x, scale, bias], to, axis=-1, epsilon=epsilon)

    split, joined = ints("split", [1, LENGTH, heads, size]), ints("joined", [1, LENGTH, hidden])
    one, low, half, root = number("one", 1), number("low", -10000), number("half", 0.5), number("root", np.sqrt(2))
    shrink = number("shrink", 1 / np.sqrt(size))

    words = g.node("Gather", [g.constant("words", weights["embeddings.word_embeddings.weight"]), "ids"], "word")
    places = weights["embeddings.position_embeddings.weight"][:LENGTH] + weights["embeddings.token_type_embeddings.weight"][0]
    x = norm(g.node("Add", [words, g.constant("places", places[None])], "embedded"), "embeddings.LayerNorm", "x")
    shown = g.node("Cast", ["mask"], "shown", to=TensorProto.FLOAT)
    hidden_tokens = g.node("Mul", [g.node("Sub", [one, shown], "hidden"), low], "hidden/low")
    mask = g.node("Unsqueeze", [hidden_tokens, ints("mask_axes", [1, 2])], "mask/wide")
    for layer in range(layers):
        of, to = f"encoder.layer.{layer}.", f"layer_{layer}/"

        def part(name, order):
            rows = g.node("Reshape", [dense(x, of + "attention.self." + name, to + name), split], f"{to}{name}/split")
            return g.node("Transpose", [rows], f"{to}{name}/turned", perm=order)

        query, key, value = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1]), part("value", [0, 2, 1, 3])
        scores = g.node("Mul", [g.node("MatMul", [query, key], to + "score"), shrink], to + "score/small")
        shares = g.node("Softmax", [g.node("Add", [scores, mask], to + "score/masked")], to + "shares", axis=-1)
        seen = g.node("Transpose", [g.node("MatMul", [shares, value], to + "seen")], to + "seen/turned", perm=[0, 2, 1, 3])
        seen = g.node("Reshape", [seen, joined], to + "seen/joined")
        x = norm(g.node("Add", [dense(seen, of + "attention.output.dense", to + "attention"), x], to + "sum"), of + "attention.output.LayerNorm", to + "attended")
        wide = dense(x, of + "intermediate.dense", to + "wide")
        curve = g.node("Add", [g.node("Erf", [g.node("Div", [wide, root], to + "wide/root")], to + "wide/erf"), one], to + "wide/one")
        gelu = g.node("Mul", [g.node("Mul", [wide, curve], to + "wide/mul"), half], to + "gelu")
        x = norm(g.node("Add", [dense(gelu, of + "output.dense", to + "narrow"), x], to + "narrow/sum"), of + "output.LayerNorm", to + "out")
    column = g.node("Unsqueeze", [shown, ints("last", [2])], "shown/column")
    total = g.node("ReduceSum", [g.node("Mul", [x, column], "kept"), ints("rows", [1])], "total", keepdims=0)
    mean = g.node("Div", [total, g.node("ReduceSum", [shown, ints("row", [1])], "count", keepdims=1)], "mean")
    g.node("Div", [mean, g.node("ReduceL2", [mean, ints("columns", [1])], "length", keepdims=1)], "embedding")
    graph = helper.make_graph(g.nodes, "encoder", [helper.make_tensor_value_info(n, TensorProto.INT64, [1, LENGTH]) for n in ("ids", "mask")],
                              [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, hidden])], g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def tokens_of(text, vocabulary):
    """WordPiece: lower case, punctuation apart, each word the longest known pieces from its beginning."""
    out = []
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        pieces, begin = [], 0
        while begin < len(word):
            ends = [e for e in range(len(word), begin, -1) if ("##" if begin else "") + word[begin:e] in vocabulary]
            if not ends:
                pieces = [vocabulary["[UNK]"]]
                break
            pieces.append(vocabulary[("##" if begin else "") + word[begin:ends[0]]])
            begin = ends[0]
        out += pieces
    return out


def sample(tokens, vocabulary):
    row = [vocabulary["[CLS]"], *tokens[:LENGTH - 2], vocabulary["[SEP]"]]
    ids, mask = np.zeros((1, LENGTH), np.int64), np.zeros((1, LENGTH), np.int64)
    ids[0, :len(row)], mask[0, :len(row)] = row, 1
    return {"ids": ids, "mask": mask}


def texts(folder):
    with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
        vocabulary = {word.rstrip("\n"): i for i, word in enumerate(file)}
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        prose = tokens_of(re.sub(r"(?s)^---.*?---|```.*?```|\|.*?\n|https?://\S+", " ", file.read()), vocabulary)
    windows = [prose[k:k + LENGTH - 2] for k in range(0, len(prose) - LENGTH + 2, max(1, (len(prose) - LENGTH) // (3 * len(SENTENCES) - 1)))]
    return [sample(t, vocabulary) for t in windows[:3 * len(SENTENCES)] + [tokens_of(s, vocabulary) for s in SENTENCES]]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = sys.argv[1:]
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    os.makedirs(os.path.join(out, "texts"), exist_ok=True)
    onnx.save(encoder(read_safetensors(os.path.join(folder, "model.safetensors")), config), os.path.join(out, "encoder.onnx"))
    for k, arrays in enumerate(texts(folder)):
        np.savez(os.path.join(out, "texts", f"{k:02}.npz"), **arrays)


if __name__ == "__main__":
    main()
