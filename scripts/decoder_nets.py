# SPDX-License-Identifier: Apache-2.0
"""Two small decoders with growing caches, of seeded random weights, shaped as exports of language models are.

Both take input_ids i64[batch, seq], attention_mask i64[batch, past + seq] (0 = padding, on the left) and of each layer a key and a
value f32[batch, heads, past, dim]; past may be 0. They give logits f32[batch, seq, words] and of each layer key and value
f32[batch, heads, past + seq, dim]. Positions follow from the mask.

Llama: Touvron 2023, with the grouped queries of Ainslie 2023. Gpt: Radford 2019.
"""
import torch
from torch import nn

LEAST = torch.finfo(torch.float32).min


def positions_of(mask, count):
    """i64[batch, count] of the last `count` tokens: how many tokens that are no padding lie before each."""
    place = mask.cumsum(-1) - 1
    return place.masked_fill(mask == 0, 1)[:, -count:]


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width).uniform_(0.8, 1.2))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


def repeated(x, times):
    """Each head of f32[batch, heads, t, dim], `times` times in a row."""
    n, heads, t, dim = x.shape
    return x[:, :, None].expand(n, heads, times, t, dim).reshape(n, heads * times, t, dim)


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.dim = heads, groups, width // heads
        line = lambda i, o: nn.Linear(i, o, bias=False)
        self.q, self.k, self.v, self.o = line(width, width), line(width, groups * self.dim), line(width, groups * self.dim), line(width, width)
        self.gate, self.up, self.down = line(width, hidden), line(width, hidden), line(hidden, width)
        self.n1, self.n2 = RMSNorm(width), RMSNorm(width)

    def attend(self, x, rotary, bias, key, value):
        n, t, width = x.shape
        split = lambda y, heads: y.view(n, t, heads, self.dim).transpose(1, 2)
        q, k, v = split(self.q(x), self.heads), split(self.k(x), self.groups), split(self.v(x), self.groups)
        cos, sin = rotary
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        key, value = torch.cat([key, k], 2), torch.cat([value, v], 2)
        times = self.heads // self.groups
        score = q @ repeated(key, times).transpose(2, 3) * self.dim ** -0.5 + bias
        y = score.softmax(-1) @ repeated(value, times)
        return self.o(y.transpose(1, 2).reshape(n, t, width)), key, value

    def forward(self, x, rotary, bias, key, value):
        y, key, value = self.attend(self.n1(x), rotary, bias, key, value)
        x = x + y
        y = self.n2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y)), key, value


class Llama(nn.Module):
    cache_heads, cache_dim, depth, words = 2, 32, 4, 1000

    def __init__(self, width=256, heads=8, hidden=688):
        super().__init__()
        self.word, self.head = nn.Embedding(self.words, width), nn.Linear(width, self.words, bias=False)
        self.layers = nn.ModuleList(LlamaLayer(width, heads, self.cache_heads, hidden) for _ in range(self.depth))
        self.norm = RMSNorm(width)
        self.register_buffer("turns", 10000.0 ** (-torch.arange(0, self.cache_dim, 2) / self.cache_dim))

    def rotary(self, place):
        """Cosines and sines f32[batch, 1, seq, dim] of the positions."""
        angle = place[:, :, None].float() * self.turns
        angle = torch.cat([angle, angle], -1)[:, None]
        return angle.cos(), angle.sin()

    def bias(self, mask, count):
        """f32[batch, 1, seq, past + seq]: LEAST where a token may not look."""
        total = mask.shape[1]
        seen = torch.arange(total)[None] <= torch.arange(total - count, total)[:, None]
        seen = seen[None, None] & (mask[:, None, None] != 0)
        return torch.zeros(seen.shape).masked_fill(~seen, LEAST)

    def forward(self, ids, mask, *cache):
        count = ids.shape[1]
        rotary, bias = self.rotary(positions_of(mask, count)), self.bias(mask, count)
        x, present = self.word(ids), []
        for k, layer in enumerate(self.layers):
            x, key, value = layer(x, rotary, bias, *cache[2 * k:2 * k + 2])
            present += [key, value]
        return self.head(self.norm(x)), *present


class Conv1D(nn.Module):
    """A linear layer over flattened rows, its weight as [in, out]."""

    def __init__(self, i, o):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(i, o) * i ** -0.5), nn.Parameter(torch.randn(o) * 0.02)

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(x.size()[:-1] + (self.bias.shape[0],))


class GptLayer(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.width = heads, width
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.project = Conv1D(width, 3 * width), Conv1D(width, width)
        self.widen, self.narrow = Conv1D(width, 4 * width), Conv1D(4 * width, width)
        self.register_buffer("causal", torch.ones(length, length, dtype=torch.bool).tril()[None, None])

    def attend(self, x, bias, key, value):
        split = lambda y: y.view(y.size()[:-1] + (self.heads, self.width // self.heads)).permute(0, 2, 1, 3)
        q, k, v = map(split, self.attention(x).split(self.width, 2))
        key, value = torch.cat([key, k], 2), torch.cat([value, v], 2)
        score = q @ key.transpose(-1, -2) / (value.size(-1) ** 0.5)
        total, count = key.size(2), q.size(2)
        score = torch.where(self.causal[:, :, total - count:total, :total], score, torch.tensor(LEAST)) + bias
        y = (score.softmax(-1) @ value).permute(0, 2, 1, 3).contiguous()
        return self.project(y.view(y.size()[:-2] + (self.width,))), key, value

    def forward(self, x, bias, key, value):
        y, key, value = self.attend(self.n1(x), bias, key, value)
        x = x + y
        return x + self.narrow(nn.functional.gelu(self.widen(self.n2(x)), approximate="tanh")), key, value


class Gpt(nn.Module):
    cache_heads, cache_dim, depth, words = 8, 32, 4, 1000

    def __init__(self, width=256, length=512):
        super().__init__()
        self.word, self.place = nn.Embedding(self.words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(GptLayer(width, self.cache_heads, length) for _ in range(self.depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, self.words, bias=False)

    def forward(self, ids, mask, *cache):
        x = self.word(ids) + self.place(positions_of(mask, ids.shape[1]))
        bias, present = (1.0 - mask[:, None, None].float()) * LEAST, []
        for k, layer in enumerate(self.layers):
            x, key, value = layer(x, bias, *cache[2 * k:2 * k + 2])
            present += [key, value]
        return self.head(self.norm(x)), *present


DECODERS = {"llama": Llama, "gpt": Gpt}


def sample(net, batch=2, past=3, seq=2):
    """Inputs by name, for an export."""
    inputs = {"input_ids": torch.randint(0, net.words, (batch, seq)), "attention_mask": torch.ones(batch, past + seq, dtype=torch.int64)}
    for k in range(net.depth):
        for part in ("key", "value"):
            inputs[f"past_key_values.{k}.{part}"] = torch.randn(batch, net.cache_heads, past, net.cache_dim)
    return inputs


def output_names(net):
    return ["logits"] + [f"present.{k}.{part}" for k in range(net.depth) for part in ("key", "value")]


def axes(net):
    """Names of dims by input or output and axis."""
    named = {"input_ids": {0: "batch_size", 1: "sequence_length"}, "attention_mask": {0: "batch_size", 1: "total_sequence_length"},
             "logits": {0: "batch_size", 1: "sequence_length"}}
    for k in range(net.depth):
        for part in ("key", "value"):
            named[f"past_key_values.{k}.{part}"] = {0: "batch_size", 2: "past_sequence_length"}
            named[f"present.{k}.{part}"] = {0: "batch_size", 2: "total_sequence_length"}
    return named
