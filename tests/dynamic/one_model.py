# SPDX-License-Identifier: Apache-2.0
"""The lines of one model: [size, error or None, status], as JSON on stdout."""
import json
import pathlib
import tempfile
from concurrent import futures

import numpy as np

import decode
import judge


def told(size):
    return "x".join(map(str, size))


def say(size, error, status):
    print(json.dumps([told(size) if isinstance(size, tuple) else size, error, status]), flush=True)


def judged(package, peer, inputs, least):
    """(error, status), and our outputs where there are any. package: inputs -> a loaded model."""
    want = peer(inputs)
    try:
        got = judge.run(package(inputs), inputs)
        error = judge.worst(got, want, least)
    except judge.Failed as why:
        return None, f"failed: {why}", None
    return error, "ok" if error <= judge.BOUND else f"apart by more than {judge.BOUND:g}", got


def run_sizes(case, package, peer, args):
    """Every size; gives size, inputs and our outputs of the first and the last that are right."""
    ran = []
    for k in range(len(case.sizes)) if args.all else case.quick:
        size, inputs = case.sizes[k], case.inputs(np.random.default_rng(k), case.sizes[k])
        if sum(array.size for array in inputs.values()) > args.largest:
            say(size, None, f"left out: more than {args.largest} elements")
            continue
        error, status, got = judged(package, peer, inputs, case.least)
        say(size, error, status)
        if status == "ok":
            ran[1:] = [(size, inputs, got)]
    return ran


def run_impossible(case, model):
    """A size that the model cannot have is refused."""
    try:
        judge.run(model, case.inputs(np.random.default_rng(0), case.impossible))
        say(case.impossible, None, "ran, wanted a refusal")
    except judge.Failed:
        say(case.impossible, None, "ok; refused, as it must be")


def same(got, want):
    return all(np.array_equal(got[name], want[name], equal_nan=True) for name in want)


def run_again(model, size, inputs, got):
    """What was seen in between changes no bit of a size that was seen before."""
    say(f"again {told(size)}", None, "ok" if same(judge.run(model, inputs), got) else "other bits than the first time")


def run_beside(model, one, other):
    """Two threads, each a size of its own on a request of its own, change no bit for each other."""
    def run(size, inputs, got):
        return all(same(judge.run(model, inputs), got) for _ in range(3))
    with futures.ThreadPoolExecutor(2) as threads:
        good = all(threads.map(lambda ran: run(*ran), (one, other)))
    say("two sizes at a time", None, "ok" if good else f"{told(one[0])} and {told(other[0])} disturb each other")


def run_decoder(model, peer, count):
    """Greedy ids are the peer's: of one prompt, and of two whose lengths differ."""
    shapes = {i.name: i.shape for i in model.inputs}
    rng = np.random.default_rng(7)
    for batch, padding in ((1, 0), (2, 3)):
        prompt, mask = rng.integers(0, 1000, (batch, 5)), np.ones((batch, 5), np.int64)
        mask[0, :padding] = 0
        want, lead = decode.greedy(peer, decode.empty_cache(shapes, batch), prompt, mask, count)
        size = f"{batch}x{count} tokens"
        try:
            got, _ = decode.greedy(lambda inputs: judge.run(model, inputs), decode.empty_cache(shapes, batch), prompt, mask, count)
        except judge.Failed as why:
            say(size, None, f"failed: {why}")
            continue
        apart = np.nonzero((got != want).any(0))[0]
        say(size, None, f"token {apart[0]} is another one (least lead {lead:.0e})" if len(apart) else f"ok; {len(np.unique(want))} different ones")


def main(case, args, tokens):
    judge.use(args.build.resolve())
    peer = judge.peer(case.path)
    with tempfile.TemporaryDirectory() as out:
        make = lambda inputs=None: judge.loaded(judge.compiled(args.build, case.path, args.device, pathlib.Path(out), inputs))
        if args.fixed:
            run_sizes(case, make, peer, args)
            return
        try:
            model = make()
        except judge.Failed as why:
            say("compile", None, f"refused: {why}")
            return
        ran = run_sizes(case, lambda _: model, peer, args)
        if case.impossible:
            run_impossible(case, model)
        if ran:
            run_again(model, *ran[0])
        if len(ran) > 1:
            run_beside(model, *ran)
        if case.name.split(".")[0] in ("llama", "gpt"):
            run_decoder(model, peer, tokens)
