#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random groups of operators on the emulator of a TPU, beside the reference.

    scripts/setup --with tests,sophon
    .deps/py/bin/python bench/tpu_random.py build/release [--chip bm1684x] [--graphs 200] [--seed 1]

Each graph has 3 to 10 operators over tensors of ranks 1 to 5 and sizes 1 to 17, whose values are read more than once and several of which are
its outputs. Graphs lie beside each other in one model, which is compiled whole; one that fails is halved until the graph is found. Wrong: more
than 1e-3 of an output's scale, which may be ten operators deep, or a compile that ends otherwise than by a refusal that names nodes.
Ends with 1 when there is any.
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

BESIDE = 8
UNARY = ("Abs Neg Relu Sigmoid Tanh Erf Softplus Softsign Mish HardSwish HardSigmoid LeakyRelu Elu Selu Celu Gelu Sin Cos Atan Asinh Exp Swish "
         "ThresholdedRelu Identity").split()
BINARY = "Add Sub Mul Max Min".split()


class Graph:
    """In ONNX's text form; names begin with the graph's."""

    def __init__(self, seed, name):
        self.random, self.name = random.Random(seed), name
        self.inputs, self.lines, self.values = [], [], []
        self.count = 0
        for _ in range(self.random.randint(1, 2)):
            self.input(self.dims())
        for _ in range(self.random.randint(3, 10)):
            self.random.choice(self.MAKERS)(self)
        self.read = {v for line in self.lines for v in line[1]}

    def dims(self):
        rank = self.random.randint(1, 5)
        most = (17, 17, 9, 6, 4)[rank - 1]
        return [self.random.choice((1, self.random.randint(1, most), self.random.randint(2, most))) for _ in range(rank)]

    def fresh(self):
        self.count += 1
        return f"{self.name}v{self.count}"

    def input(self, dims):
        v = self.fresh()
        self.inputs.append(f"float[{','.join(map(str, dims))}] {v}")
        self.values.append((v, dims))
        return v

    def add(self, text, operands, dims):
        v = self.fresh()
        self.lines.append((f"[{v}n] {v} = {text}", operands))
        self.values.append((v, dims))
        return v

    def ints(self, numbers):
        v = self.fresh()
        self.lines.append((f"{v} = Constant<value = int64[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>()", []))
        return v

    def floats(self, dims):
        v, count = self.fresh(), 1
        for d in dims:
            count *= d
        numbers = ", ".join(f"{self.random.uniform(-1, 1):.3f}" for _ in range(count))
        self.lines.append((f"{v} = Constant<value = float[{','.join(map(str, dims))}] {{{numbers}}}>()", []))
        return v

    def any(self):
        return self.random.choice(self.values)

    def unary(self):
        x, dims = self.any()
        self.add(f"{self.random.choice(UNARY)}({x})", [x], dims)

    def binary(self):
        x, dims = self.any()
        fits = [v for v in self.values if v[1] == dims]
        other = self.random.choice(fits)[0]
        if self.random.random() < 0.5:  # of another shape, which is broadcast
            small = [d if self.random.random() < 0.6 else 1 for d in dims][self.random.randint(0, len(dims) - 1):]
            other = self.floats(small) if self.random.random() < 0.5 else self.input(small)
        pair = [x, other] if self.random.random() < 0.5 else [other, x]
        self.add(f"{self.random.choice(BINARY)}({', '.join(pair)})", pair, dims)

    def compare(self):
        x, dims = self.any()
        y = self.random.choice([v for v in self.values if v[1] == dims])[0]
        b = self.fresh()
        self.lines.append((f"[{b}n] {b} = {self.random.choice(('Greater', 'LessOrEqual', 'Less'))}({x}, {y})", [x, y]))
        self.add(f"Where({b}, {x}, {y})", [x, y], dims)

    def reduce(self):
        x, dims = self.any()
        axis = self.random.randrange(len(dims))
        op = self.random.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1"))
        self.add(f"{op}({x}, {self.ints([axis])})", [x], [1 if k == axis else d for k, d in enumerate(dims)])

    def normal(self):
        x, dims = self.any()
        axis = self.random.randrange(len(dims))
        self.add(f"{self.random.choice(('Softmax', 'LogSoftmax'))}<axis = {axis}>({x})", [x], dims)

    def layer(self):
        x, dims = self.any()
        if dims[-1] < 3:
            return
        self.add(f"LayerNormalization<epsilon = 0.1>({x}, {self.floats(dims[-1:])}, {self.floats(dims[-1:])})", [x], dims)

    def turn(self):
        x, dims = self.any()
        order = list(range(len(dims)))
        self.random.shuffle(order)
        self.add(f"Transpose<perm = {order}>({x})", [x], [dims[k] for k in order])

    def reshape(self):
        x, dims = self.any()
        count = 1
        for d in dims:
            count *= d
        made = []
        while len(made) < 3 and count > 1:
            d = self.random.choice([n for n in range(1, count + 1) if count % n == 0])
            made.append(d)
            count //= d
        made.append(count)
        self.add(f"Reshape({x}, {self.ints(made)})", [x], made)

    def slice(self):
        x, dims = self.any()
        axis = self.random.randrange(len(dims))
        begin = self.random.randrange(dims[axis])
        end, step = self.random.randint(begin + 1, dims[axis]), self.random.randint(1, 2)
        words = ", ".join(self.ints([n]) for n in (begin, end, axis, step))
        self.add(f"Slice({x}, {words})", [x], [-((begin - end) // step) if k == axis else d for k, d in enumerate(dims)])

    def concat(self):
        x, dims = self.any()
        axis = self.random.randrange(len(dims))
        fits = [v for v in self.values if len(v[1]) == len(dims) and all(a == b for k, (a, b) in enumerate(zip(v[1], dims)) if k != axis)]
        other = self.random.choice(fits)
        self.add(f"Concat<axis = {axis}>({x}, {other[0]})", [x, other[0]], [d + other[1][k] if k == axis else d for k, d in enumerate(dims)])

    def product(self):
        x, dims = self.any()
        if len(dims) < 2 or len(dims) > 4:
            return
        n = self.random.randint(1, 9)
        self.add(f"MatMul({x}, {self.floats([dims[-1], n])})", [x], dims[:-1] + [n])

    def pad(self):
        x, dims = self.any()
        pads = [self.random.randint(0, 2) for _ in range(2 * len(dims))]
        self.add(f"Pad({x}, {self.ints(pads)})", [x], [d + pads[k] + pads[len(dims) + k] for k, d in enumerate(dims)])

    def conv(self):
        x, dims = self.any()
        if len(dims) != 4:
            return
        n = self.random.randint(1, 8)
        self.add(f"Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>({x}, {self.floats([n, dims[1], 3, 3])})", [x], [dims[0], n, dims[2], dims[3]])

    def pool(self):
        x, dims = self.any()
        if len(dims) != 4:
            return
        self.add(f"{self.random.choice(('MaxPool', 'AveragePool'))}<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>({x})", [x], dims)

    MAKERS = [unary] * 5 + [binary] * 5 + [compare, reduce, normal, layer, turn, reshape, reshape, slice, concat, product, pad, conv, pool]

    def outputs(self):
        """What nobody reads, and one more."""
        made = [v for v, _ in self.values if any(line[0].startswith(f"[{v}n]") for line in self.lines)]
        return [v for k, v in enumerate(made) if v not in self.read or k == len(made) // 2]


def text_of(graphs):
    inputs = ", ".join(i for g in graphs for i in g.inputs)
    outputs = ", ".join(f"float[] {v}" for g in graphs for v in g.outputs())
    body = "\n".join(line[0] for g in graphs for line in g.lines)
    return f'<ir_version: 10, opset_import: ["" : 24]>\nrandom ({inputs}) => ({outputs}) {{\n{body}\n}}\n'


class Race:
    def __init__(self, args, plugins):
        self.args, self.plugins = args, plugins
        self.options = ["--option", f"bmcompiler.chip={args.chip}"]
        self.parts, self.refused = 0, 0

    def host(self, *words):
        return subprocess.run([self.args.build / "bin/optima-host", "--json", "--plugins", self.plugins, *map(str, words)], capture_output=True, text=True)

    def wrong(self, graphs):
        """Sentences, one for each graph that is."""
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "random.onnxtxt"
            model.write_text(text_of(graphs))
            wish = pathlib.Path(folder) / "alloc.json"  # what TPUs take goes there, however many parts that makes
            wish.write_text('{"*": ["TPU:0", "REF:0"]}')
            made = self.host("compile", model, "-o", folder, "--name", "m", "--device", "TPU:0,REF:0", "--alloc", wish, *self.options)
            ran = self.host("compare", model, f"{folder}/m", "--atol", "1e9") if made.returncode == 0 else made
            if ran.returncode:
                if len(graphs) == 1:
                    return [f"exit code {ran.returncode}: {ran.stderr.strip()[-500:]}\n{model.read_text()}"]
                half = len(graphs) // 2
                return self.wrong(graphs[:half]) + self.wrong(graphs[half:])
            self.refused += sum(n["device"] != "TPU:0" for n in json.loads(made.stdout)["nodes"])
            self.parts += len(json.loads(made.stdout)["nodes"])
            bad = {}
            for t in json.loads(ran.stdout)["tensors"]:
                apart = t["max_abs"] / max(t["scale"], 1e-6) if t["max_abs"] is not None else float("inf")
                if not apart <= 1e-3:
                    bad.setdefault(t["name"].split("v")[0], f"{t['name']}: {apart:.1e}")
            return [f"{why}\n{text_of([g])}" for g in graphs if (why := bad.get(g.name))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--chip", default="bm1684x")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    graphs = [Graph(args.seed * 100003 + k, f"g{k}") for k in range(args.graphs)]
    graphs = [g for g in graphs if g.outputs()]
    with tempfile.TemporaryDirectory() as plugins:
        for name in ("optima_bmcompiler.so", "optima_bmcompiler_runner", "optima_reference.so"):
            shutil.copy2(args.build / "lib/optima/plugins" / name, plugins)
        race = Race(args, plugins)
        count = 0
        for k in range(0, len(graphs), BESIDE):
            for sentence in race.wrong(graphs[k : k + BESIDE]):
                count += 1
                print("WRONG " + sentence, flush=True)
    print(f"{args.chip}: {len(graphs)} graphs of {race.parts} nodes, {race.refused} of them refused, {count} graphs wrong")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
