# SPDX-License-Identifier: Apache-2.0
from optima.manager import Manager

__all__ = ["Manager"]
