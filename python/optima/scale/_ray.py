# SPDX-License-Identifier: Apache-2.0
"""Ray, or a sentence that names its wheel."""
import importlib

from optima.errors import Error


def ray(part=""):
    """The module ray, or ray.<part>. Raises optima.Error where it is not installed."""
    name = f"ray.{part}" if part else "ray"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Error(f"{name} does not load because {error.name} is not installed, wanted the wheel by: pip install 'ray[data,serve]'", "usage") from error
