# SPDX-License-Identifier: Apache-2.0
from optima.devices import DeviceEnum

__all__ = ["DeviceEnum"]
