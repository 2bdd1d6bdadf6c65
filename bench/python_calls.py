#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one call of a tiny module costs in torch, through torch.compile, and through each Python door, in turns in one process.

    .deps/py/bin/python bench/python_calls.py build/release [--width 64] [--rounds 15] [--calls 400]

us of a call: the median and the least over the rounds, of the processor time of the whole process, so that threads that help or only spin count too.
"""
import argparse
import os
import pathlib
import sys
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("build", type=pathlib.Path)
for option, value in (("--width", 64), ("--rounds", 15), ("--calls", 400)):
    parser.add_argument(option, type=int, default=value)
options = parser.parse_args()
sys.path.insert(0, str(options.build / "python"))
os.environ["OPTIMA_HOST"] = str(options.build / "bin/optima-host")

import numpy as np  # noqa: E402  behind the path
import torch  # noqa: E402

import optima  # noqa: E402
import optima.torch_backend  # noqa: E402

torch.set_num_threads(1)


def calls():
    """name -> a call."""
    net, x = torch.nn.Linear(options.width, options.width).eval(), torch.rand(1, options.width)
    package = optima.compile(net, x, devices="X64:0")
    model = optima.runtime.Context().load_model(package.path)
    array, answer = x.numpy(), np.empty((1, options.width), np.float32)
    bound = model.create_request()
    bound.set_input("input", array)
    bound.set_output(model.outputs[0].name, answer)
    eager, ours = (torch.compile(net, backend=backend) for backend in ("eager", "optima"))
    return {"net(x)": lambda: net(x), 'torch.compile, backend "eager"': lambda: eager(x), 'torch.compile, backend "optima"': lambda: ours(x),
            "package.run": lambda: package.run(input=array), "model.run": lambda: model.run({"input": array}), "request.run, arrays set before": bound.run}


def microseconds(call):
    begin = time.process_time()
    for _ in range(options.calls):
        call()
    return (time.process_time() - begin) / options.calls * 1e6


def main():
    with torch.no_grad():
        of = calls()
        for call in of.values():
            microseconds(call)
        taken = {name: [] for name in of}
        for _ in range(options.rounds):
            for name, call in of.items():
                taken[name].append(microseconds(call))
    for name, times in taken.items():
        print(f"{name:32s} {np.median(times):6.1f} {min(times):6.1f}")


if __name__ == "__main__":
    main()
