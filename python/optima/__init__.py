# SPDX-License-Identifier: Apache-2.0
"""Optima from Python. Each module stands alone: import what you need, e.g. optima.submodels."""
