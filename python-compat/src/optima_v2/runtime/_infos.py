# SPDX-License-Identifier: Apache-2.0
"""What is told of tensors, devices and runs."""
from __future__ import annotations

import dataclasses

from optima import runtime as now
from optima_v2.runtime._errors import UnsupportedModelException
from optima_v2.runtime._kinds import DeviceKind, ElementType, FrameworkKind, ProfileKind

ALIGNMENT = 64  # bytes: what every plugin takes in place


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """An input or output. shape: -1 = known when running. alignment: in bytes."""
    name: str
    type: ElementType
    shape: tuple[int, ...]
    alignment: int = ALIGNMENT

    @classmethod
    def _of(cls, info: now.TensorInfo) -> TensorInfo:
        kinds = {kind.value: kind for kind in ElementType}
        if info.dtype not in kinds or info.shape is None:
            found = f"elements of {info.dtype}" if info.shape is not None else "no fixed number of dims"
            raise UnsupportedModelException(f"tensor {info.name!r} has {found}, which optima_v2.runtime has no name for, wanted optima.runtime for this model", "usage")
        return cls(info.name, kinds[info.dtype], info.shape)


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """A device. name: for people; id: its plugin's, "" where that has none."""
    framework: FrameworkKind
    kind: DeviceKind
    name: str
    id: str

    @classmethod
    def _of(cls, device: now.DeviceInfo) -> DeviceInfo:
        framework = next((kind for kind in FrameworkKind if kind.value == device.plugin), FrameworkKind.Other)
        kind = next((kind for kind in DeviceKind if kind.value == device.kind_name), DeviceKind.Other)
        return cls(framework, kind, f"{device.plugin}/{device.kind_name}:{device.ordinal}", device.id)


@dataclasses.dataclass(frozen=True)
class ProfileData:
    """One measurement. time: microseconds."""
    kind: ProfileKind
    name: str
    time: int

    @classmethod
    def _of(cls, events: list[now.ProfileEvent]) -> list[ProfileData]:
        """Without what is measured of control flow, which the earlier runtime had not."""
        return [cls(ProfileKind[event.kind.name], event.name, event.duration_ns // 1000) for event in events if event.kind.name in ProfileKind.__members__]
