# SPDX-License-Identifier: Apache-2.0
"""Libraries that only some of the package stands on. Standard library alone."""
import importlib

from optima.errors import Error


def needs(who, extra, *names):
    """Raises Error "usage" where one of these modules does not load. who: what needs them, in words; extra: of the wheel, the one that has them."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing = error.name or name
            raise Error(f"{who} needs {missing}, which is not installed, wanted it by: pip install 'optima[{extra}]'", "usage") from error
