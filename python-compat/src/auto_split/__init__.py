# SPDX-License-Identifier: Apache-2.0
"""SOPHON's AutoSplit: optima.auto_split."""
