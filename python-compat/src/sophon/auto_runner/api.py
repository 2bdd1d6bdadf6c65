# SPDX-License-Identifier: Apache-2.0
from auto_runner.api import Runner, infer, load

__all__ = ["Runner", "infer", "load"]
