# SPDX-License-Identifier: Apache-2.0
"""OptimaV2's names for what compiled a subgraph."""
import enum


class FrameworkKind(enum.Enum):
    """What a subgraph was compiled with; the values are the ids of plugins. Other: a plugin that is none of these."""

    Other = ""
    LLVM = "llvm_cpu"
    OpenVINO = "openvino"
    SNPE = "snpe"
    SPIRV = "spirv"
    BMCompiler = "bmcompiler"

    @classmethod
    def of(cls, subgraph):
        """The kind of a SubgraphInfo."""
        return next((kind for kind in cls if kind.value == subgraph.plugin), cls.Other)
