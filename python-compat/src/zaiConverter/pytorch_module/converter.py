# SPDX-License-Identifier: Apache-2.0
from optima.torch2nx import Torch2GraphConverter

__all__ = ["Torch2GraphConverter"]
