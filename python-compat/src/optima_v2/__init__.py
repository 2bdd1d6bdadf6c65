# SPDX-License-Identifier: Apache-2.0
"""OptimaV2's compiler: optima.manager and optima.devices."""
