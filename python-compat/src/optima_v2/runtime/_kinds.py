# SPDX-License-Identifier: Apache-2.0
"""Enumerations, by their earlier names; the values are Optima's own. What Optima has beyond them is Other, or has its name behind the others."""
from __future__ import annotations

import enum

from optima import _dtypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy


class LogLevel(enum.Enum):
    Debug = "Trace"
    Verbose = "Debug"
    Info = "Info"
    Warning = "Warn"
    Error = "Error"


class DeviceKind(enum.Enum):
    Other = ""
    x86 = "X86"
    x64 = "X64"
    ARM = "ARM"
    ARM64 = "ARM64"
    NVIDIA = "NVIDIA"
    AMDGPU = "AMDGPU"
    IntelGPU = "INTELGPU"
    Mali = "MALI"
    Adreno = "ADRENO"
    Hexagon = "HEXAGON"
    Myriad = "MYRIAD"
    ARA1 = "ARA1"
    EdgeTPU = "TPU"
    CV22 = "CV22"


class FrameworkKind(enum.Enum):
    """Plugins of Optima are told by what they stand on."""
    Other = ""
    TFLite = "tflite"
    OpenVINO = "openvino"
    SNPE = "snpe"
    DVAPI = "dvapi"
    Vulkan = "spirv"
    OpenCL = "opencl"
    Native = "llvm_cpu"


class ElementType(enum.Enum):
    """The values are numpy's names. Q8, Q16: codes without their scale; no package of Optima has tensors of them, but of I8, U8, ..."""
    I8 = "int8"
    U8 = "uint8"
    I16 = "int16"
    U16 = "uint16"
    I32 = "int32"
    U32 = "uint32"
    I64 = "int64"
    U64 = "uint64"
    F16 = "float16"
    F32 = "float32"
    F64 = "float64"
    Q8 = "codes of uint8"
    Q16 = "codes of uint16"
    BF16 = "bfloat16"
    Bool = "bool"

    def to_dtype(self) -> numpy.dtype:
        """The dtype of numpy; of BF16 that of ml_dtypes, which has to be installed."""
        return _dtypes.dtype_of(self.value.removeprefix("codes of "))


class ProfileKind(enum.Enum):
    """TransferFromInput and TransferToOutput never come."""
    ModelInit = "ModelInit"
    SubgraphInit = "SubgraphInit"
    RequestInit = "RequestInit"
    TransferFromInput = "TransferFromInput"
    TransferToOutput = "TransferToOutput"
    LayerExecute = "LayerExecute"
    Wait = "Wait"
    BufferCopy = "BufferCopy"
    ModelExecute = "ModelExecute"
    SubgraphExecute = "SubgraphExecute"


CPUS = (DeviceKind.x86, DeviceKind.x64, DeviceKind.ARM, DeviceKind.ARM64)
GPUS = (DeviceKind.NVIDIA, DeviceKind.AMDGPU, DeviceKind.IntelGPU, DeviceKind.Mali, DeviceKind.Adreno)


def get_element_size(element_type: ElementType) -> int:
    """Bytes of an element."""
    return 2 if element_type is ElementType.BF16 else element_type.to_dtype().itemsize


def is_device_cpu(kind: DeviceKind) -> bool:
    return kind in CPUS


def is_device_gpu(kind: DeviceKind) -> bool:
    return kind in GPUS


def is_device_npu(kind: DeviceKind) -> bool:
    return kind not in (*CPUS, *GPUS, DeviceKind.Other)
