# SPDX-License-Identifier: Apache-2.0
from auto_split.api import Splitter, convert, split

__all__ = ["Splitter", "convert", "split"]
