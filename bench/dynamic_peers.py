#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packages of free sizes beside packages of one size, ONNX Runtime and OpenVINO (where it is installed).

    scripts/setup --with peers
    .deps/py/bin/python scripts/make_models.py build/models
    .deps/peers/bin/python bench/dynamic_peers.py build/release [sizes|first|tokens|memory ...] [--device X64:0] [--threads 1,2] [--rounds 15]

sizes   ms of a run, the smallest of blocks that take turns in one process: a package of this size alone, one package of every size, and
        the peers, which load the file with its free sizes; their times as multiples of ours, and our error beside ONNX Runtime.
first   what the first run of a size costs over the size's later runs, ms: median and largest over sizes not seen before.
tokens  ms of one more token of the decoders (greedy, a cache that grows from 16 to 16 + --tokens), the cache handed on by the caller; and of its run
        alone the median processor time of the calling thread, which other work on the machine touches less.
memory  resident MB of a process of its own, after --runs runs of random sizes: ours and ONNX Runtime's.

Detection and recognition want ../shared/models/dynamic; what is not there, and what is refused, is told.
"""
import argparse
import multiprocessing
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/dynamic")]
import cases  # noqa: E402
import decode  # noqa: E402
from optima_runtime import Model, Runtime  # noqa: E402
from peers import BLOCK, Refused, cpu_name, measure  # noqa: E402

try:
    import openvino
except ImportError:
    openvino = None

SIZES = [("ocr_det", (1, 64, 96)), ("ocr_det", (1, 320, 480)), ("ocr_det", (1, 736, 224)), ("ocr_rec", (1, 48, 192)), ("ocr_rec", (1, 48, 320)),
         ("ocr_rec", (1, 48, 641)), ("bert.ts", (1, 16)), ("bert.ts", (1, 64)), ("bert.ts", (1, 128)), ("bert.ts", (1, 384)),
         ("resnet18.ts", (1, 224, 224)), ("resnet18.ts", (8, 224, 224))]
NEW = {"ocr_det": [(1, 32 * h, 32 * w) for h, w in ((3, 5), (4, 7), (6, 6), (7, 9), (10, 8))], "ocr_rec": [(1, 48, w) for w in (90, 133, 217, 301, 350)],
       "bert.ts": [(1, t) for t in (19, 37, 53, 90, 131)], "resnet18.ts": [(1, s, s) for s in (97, 128, 160, 193, 224)]}
RANDOM = {"ocr_rec": lambda rng: (int(rng.integers(1, 3)), 48, int(rng.integers(8, 160))), "bert.ts": lambda rng: (int(rng.integers(1, 3)), int(rng.integers(1, 64)))}
MARKS = (0.01, 0.1, 0.25, 0.5, 1)


class Ours:
    def __init__(self, args, runtime, model, out, threads, inputs, fixed=False):
        words = [w for name, array in inputs.items() if fixed for w in ("--shape", f"{name}={','.join(map(str, array.shape))}")]
        ran = subprocess.run([args.build / "bin/optima-host", "compile", model, "-o", out, "--force", "--device", args.device, *words], capture_output=True, text=True)
        if ran.returncode:
            raise Refused(ran.stderr.strip().splitlines()[-1])
        try:
            self.model = Model(runtime, pathlib.Path(out) / model.stem, threads, inputs)
        except RuntimeError as why:
            raise Refused(str(why)) from None

    def bind(self, inputs):
        self.model.set_inputs(inputs)
        return self.model.run

    def answers(self):
        return [self.model.output(k) for k in range(self.model.outputs)]


class Ort:
    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def bind(self, inputs):
        def run():
            self.made = self.session.run(None, inputs)
        return run

    def answers(self):
        return self.made


class OpenVino:
    def __init__(self, model, threads):
        config = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
        self.request = openvino.Core().compile_model(str(model), "CPU", config).create_infer_request()

    def bind(self, inputs):
        return lambda: self.request.infer(inputs)

    def answers(self):
        return [np.array(t.data) for t in self.request.output_tensors]


def programs(args, runtime, case, out, threads, inputs, fixed):
    """{name: program}; those that refuse the model are told and left out."""
    makers = {"fixed": lambda: Ours(args, runtime, case.path, f"{out}/fixed", threads, inputs, True)} if fixed else {}
    makers |= {"dynamic": lambda: Ours(args, runtime, case.path, f"{out}/free", threads, inputs), "ort": lambda: Ort(case.path, threads)}
    if openvino:
        makers["ov"] = lambda: OpenVino(case.path, threads)
    made = {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except Exception as why:  # of three programs
            print(f"  {case.name}: {name} refused: {str(why).splitlines()[0][:160]}", flush=True)
    return made


def error(got, want):
    return max(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 0.01) if a.shape == b.shape else np.inf for a, b in zip(got, want))


def found(name):
    case = next(c for c in cases.CASES if c.name == name)
    if case.path.exists():
        return case
    print(f"  {case.path} is not there")
    return None


def print_sizes(args, runtime, out):
    print(f"{'model':14} {'size':>11} {'threads':>7} {'fixed':>8} {'dynamic':>8} {'ort':>8} {'openvino':>8} {'dyn/fix':>7} {'ort/dyn':>7} {'ov/dyn':>7} {'error':>8}")
    for name, size in SIZES:
        case = found(name)
        for threads in args.threads if case else ():
            inputs = case.inputs(np.random.default_rng(1), size)
            made = programs(args, runtime, case, out, threads, inputs, True)
            runs = {k: p.bind(inputs) for k, p in made.items()}
            t = {k: min(times) for k, times in measure(runs, args.rounds).items()}
            ms = lambda k: f"{t[k]:8.2f}" if k in t else f"{'-':>8}"
            over = lambda a, b: f"{t[a] / t[b]:7.2f}" if a in t and b in t else f"{'-':>7}"
            ours = made.get("dynamic") or made.get("fixed")
            apart = f"{error(ours.answers(), made['ort'].answers()):8.1e}" if ours else "-"
            print(f"{name:14} {'x'.join(map(str, size)):>11} {threads:7} {ms('fixed')} {ms('dynamic')} {ms('ort')} {ms('ov')} {over('dynamic', 'fixed')} "
                  f"{over('ort', 'dynamic')} {over('ov', 'dynamic')} {apart:>8}", flush=True)


def once(run):
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def print_first(args, runtime, out):
    print(f"{'model':14} {'program':>8} {'median':>8} {'largest':>8}   ms of a size's first run over its later ones, one thread")
    for name, sizes in NEW.items():
        case = found(name)
        if not case:
            continue
        rng = np.random.default_rng(2)
        for program, p in programs(args, runtime, case, out, 1, case.inputs(rng, case.sizes[7]), False).items():
            measure({program: p.bind(case.inputs(rng, case.sizes[7]))}, 1)
            extra = []
            for size in sizes:
                run = p.bind(case.inputs(rng, size))
                first = once(run)
                extra.append(first - min(once(run) for _ in range(BLOCK)))
            print(f"{name:14} {program:>8} {statistics.median(extra):8.2f} {max(extra):8.2f}", flush=True)


def print_tokens(args, runtime, out):
    print(f"{'model':14} {'program':>8} {'threads':>7} {'ms/token':>8} {'cpu ms':>7}   the least of {args.rounds} decodings of {args.tokens} tokens")
    for name, heads in (("llama.ts", 2), ("gpt.ts", 8)):
        case = found(name)
        for threads in args.threads if case else ():
            names = ["logits"] + [f"present.{k}.{part}" for k in range(4) for part in ("key", "value")]
            prompt = np.random.default_rng(3).integers(0, 1000, (1, 16))
            start = {f"past_key_values.{k}.{part}": np.zeros((1, heads, 0, 32), np.float32) for k in range(4) for part in ("key", "value")}
            made = programs(args, runtime, case, out, threads, {"input_ids": prompt, "attention_mask": np.ones_like(prompt), **start}, False)
            best, ids, cpu = dict.fromkeys(made, float("inf")), {}, {program: [] for program in made}
            for _ in range(args.rounds):
                for program, p in made.items():
                    def step(inputs):
                        run = p.bind(inputs)
                        begun = time.thread_time()
                        run()
                        cpu[program].append((time.thread_time() - begun) * 1e3)
                        return dict(zip(names, p.answers()))
                    begun = time.perf_counter()
                    ids[program], _ = decode.greedy(step, start, prompt, np.ones_like(prompt), args.tokens)
                    best[program] = min(best[program], (time.perf_counter() - begun) * 1e3 / args.tokens)
            for program, ms in best.items():
                same = "" if np.array_equal(ids[program], ids["ort"]) else "   other tokens than ONNX Runtime"
                print(f"{name:14} {program:>8} {threads:7} {ms:8.3f} {statistics.median(cpu[program]):7.3f}{same}", flush=True)


def resident():
    """MB of this process."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def grow(args, name, program, out):
    """Runs in a process of its own; prints its line."""
    case, rng = found(name), np.random.default_rng(4)
    try:
        p = Ort(case.path, 1) if program == "ort" else Ours(args, Runtime(args.build), case.path, out, 1, case.inputs(rng, case.sizes[0]))
    except Refused as why:
        return print(f"  {name}: {program} refused: {why}", flush=True)
    marks, seen = {max(1, int(m * args.runs)) for m in MARKS}, []
    for k in range(1, args.runs + 1):
        p.bind(case.inputs(rng, RANDOM[name](rng)))()
        if k in marks:
            seen.append(f"{k}: {resident():.1f}")
    print(f"{name:14} {program:>8}  {'  '.join(seen)}", flush=True)


def print_memory(args, _, out):
    print(f"{'model':14} {'program':>8}  resident MB after so many runs of random sizes, one thread")
    for name in RANDOM:
        for program in ("ours", "ort") if found(name) else ():
            child = multiprocessing.get_context("spawn").Process(target=grow, args=(args, name, program, out))
            child.start()
            child.join()


PARTS = {"sizes": print_sizes, "first": print_first, "tokens": print_tokens, "memory": print_memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--device", default="llvm_cpu/X64:0")
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10000)
    args = parser.parse_intermixed_args()
    runtime = Runtime(args.build)
    print(f"{cpu_name()}; {args.device}; onnxruntime {onnxruntime.__version__}; openvino {openvino.__version__ if openvino else 'not installed'}")
    with tempfile.TemporaryDirectory() as out:
        for part in args.parts or PARTS:
            PARTS[part](args, runtime, out)
            print()


if __name__ == "__main__":
    main()
