# SPDX-License-Identifier: Apache-2.0
"""OptimaV2's converter of torch modules: optima.torch2nx."""
