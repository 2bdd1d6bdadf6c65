# SPDX-License-Identifier: Apache-2.0
"""Kinds of devices, as OptimaV2 names them. Which of them plugins serve here, `optima-host devices` tells."""
import enum


class DeviceEnum(enum.Enum):
    """The value is the kind, as in 'X64:0'."""
    DEVICE_KIND_X86 = "X86"
    DEVICE_KIND_X64 = "X64"
    DEVICE_KIND_ARM = "ARM"
    DEVICE_KIND_ARM64 = "ARM64"
    DEVICE_KIND_NVIDIA = "NVIDIA"
    DEVICE_KIND_AMDGPU = "AMDGPU"
    DEVICE_KIND_INTELGPU = "INTELGPU"
    DEVICE_KIND_MALI = "MALI"
    DEVICE_KIND_ADRENO = "ADRENO"
    DEVICE_KIND_HEXAGON = "HEXAGON"
    DEVICE_KIND_MYRIAD = "MYRIAD"
    DEVICE_KIND_ARA1 = "ARA1"
    DEVICE_KIND_TPU = "TPU"
    DEVICE_KIND_CV22 = "CV22"

    @property
    def kind(self) -> str:
        return self.value
