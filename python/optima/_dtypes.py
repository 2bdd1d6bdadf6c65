# SPDX-License-Identifier: Apache-2.0
"""Element types as numpy's dtypes; of those that numpy has not, ml_dtypes'."""
import functools

from optima.errors import Error


@functools.cache
def dtype_of(name):
    """The dtype of numpy's or ml_dtypes' name. Raises Error "usage" without ml_dtypes."""
    import numpy as np
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    except ImportError as error:
        raise Error(f"numpy has elements of {name} only with ml_dtypes, wanted that installed (pip install ml_dtypes) or Tensor's own functions", "usage") from error


def array_of(value, name):
    """An array of the named type of a number or lists of numbers. Raises TypeError, ValueError or OverflowError where there is none, or a number is none of the type's."""
    import numpy as np
    made = np.asarray(value, dtype=dtype_of(name))
    if made.dtype.kind in "iub" and not np.array_equal(made, np.asarray(value)):
        raise ValueError(f"some of it is no {name}")
    return made
