# SPDX-License-Identifier: Apache-2.0
"""SOPHON's auto_runner: optima.submodels."""
