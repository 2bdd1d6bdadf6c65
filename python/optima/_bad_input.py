# SPDX-License-Identifier: Apache-2.0
"""What a caller gave and cannot be used."""
from optima.errors import Error


def bad_input(text):
    """An optima.Error of one sentence: the thing, what was found, what was wanted."""
    return Error(text, "invalid_input")
