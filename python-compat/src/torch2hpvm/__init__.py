# SPDX-License-Identifier: Apache-2.0
from optima.torch2hpvm import BinDataset, ModelExporter

__all__ = ["BinDataset", "ModelExporter"]
