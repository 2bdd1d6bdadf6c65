# SPDX-License-Identifier: Apache-2.0
"""SOPHON's auto_runner: optima.submodels."""
from auto_runner.api import Runner, infer, load

__all__ = ["Runner", "infer", "load"]
