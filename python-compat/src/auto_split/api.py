# SPDX-License-Identifier: Apache-2.0
from optima.auto_split import Splitter, convert, split

__all__ = ["Splitter", "convert", "split"]
