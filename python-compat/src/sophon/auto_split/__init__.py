# SPDX-License-Identifier: Apache-2.0
"""SOPHON's AutoSplit: optima.auto_split. The package above has no file of its own here: it may be SOPHON's, with sail."""
