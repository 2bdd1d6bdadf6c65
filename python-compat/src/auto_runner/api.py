# SPDX-License-Identifier: Apache-2.0
from optima.submodels import Runner, load

infer = Runner.infer  # infer(load(folder), {name: array})

__all__ = ["Runner", "infer", "load"]
