# SPDX-License-Identifier: Apache-2.0
from optima_v2.manager.manager import Manager

__all__ = ["Manager"]
