# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy, ml_dtypes and anybody with DLPack as tensors of the runtime, and back; without a copy where the bytes lie as tensors do."""
import functools
import sys

from optima import _runtime
from optima._dtypes import array_of, dtype_of
from optima.errors import Error

ElementType = _runtime.ElementType
TYPES = {t.name: t for t in ElementType}
BY_NAME = {_runtime.Tensor(t, [0]).dtype: t for t in ElementType if t.name not in ("Undefined", "String")}
PACKED = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}  # bits
NUMPY = {name for name in BY_NAME if not name.startswith(("bfloat", "float8_")) and name not in PACKED}


def element_type(dtype):
    """An ElementType of itself, of numpy's (or ml_dtypes') name of a type, or of a numpy dtype or scalar type."""
    if isinstance(dtype, ElementType):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", str(dtype)))
    if name not in BY_NAME:
        raise Error(f"element type {name!r} is unknown, wanted one of {', '.join(BY_NAME)}", "invalid_input")
    return BY_NAME[name]


def is_array(value):
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")


def in_place(array):
    """Itself where the binding reads it; one that has __array_interface__ alone as numpy's over the same bytes, which keeps it."""
    if hasattr(array, "__dlpack__"):
        return array
    import numpy as np
    try:
        return np.asarray(array)
    except (TypeError, ValueError) as error:
        raise Error(f"an array of {_who(array)} cannot be read: {_why(error)}", "invalid_input") from error


def is_writable(array):
    return getattr(getattr(array, "flags", None), "writeable", True)


def name_of(array):
    """numpy's or ml_dtypes' name of an array's type; None where it has no such thing."""
    return getattr(getattr(array, "dtype", None), "name", None)


def tensor_of(value, dtype=None):
    """A _runtime.Tensor over an array's bytes, or over a dense copy. dtype: name of the type that things which are no arrays (lists, numbers) become."""
    if isinstance(value, _runtime.Tensor):
        return value
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray and value.dtype in _plain_types() and value.flags.c_contiguous:
        return _runtime.Tensor.of_array(value)
    if not is_array(value) or (numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))) or not hasattr(value, "__dlpack__"):
        return _of_numpy(value, dtype)
    try:
        return _runtime.Tensor.of_array(value)
    except (TypeError, RuntimeError, BufferError) as error:
        if not isinstance(error, Error):
            raise Error(f"an array of {_who(value)} cannot be read: {_why(error)}", "invalid_input") from error
        if "dense" not in str(error):
            raise
    return _runtime.Tensor.of_array(value.contiguous() if hasattr(value, "contiguous") else value.copy())


def view_of(array):
    """A _runtime.Tensor over an array's bytes, writable where the array is; packed elements are copied. Raises Error where others would have to be."""
    if not is_array(array):
        raise Error(f"found {array!r:.60}, wanted an array", "invalid_input")
    array = in_place(array)
    if name_of(array) in PACKED:
        return _of_numpy(array, None)
    if is_writable(array):
        return writable_tensor_of(array)
    tensor = tensor_of(array)
    interface = getattr(array, "__array_interface__", None)
    if interface and interface["data"][0] != tensor.address:
        raise Error("an array has gaps or another order than row-major, wanted a dense one", "invalid_input")
    return tensor


@functools.cache
def _plain_types():
    """numpy's types, of this machine's byte order, whose dense arrays are tensors as they are."""
    import numpy as np
    return frozenset(np.dtype(name) for name in NUMPY)


def _of_numpy(value, dtype):
    import numpy as np
    if value is None:
        raise Error("found None, wanted an array", "invalid_input")
    try:
        array = np.asarray(value) if dtype is None or is_array(value) else array_of(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise Error(f"found {value!r:.60}, wanted an array: {_why(error)}", "invalid_input") from error
    name = array.dtype.name
    _check_elements(name)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if name in PACKED:
        return _pack(array, name)
    array = np.ascontiguousarray(array).reshape(array.shape)  # the former makes a scalar a vector
    if name in NUMPY:
        return _runtime.Tensor.of_array(array)
    return _runtime.Tensor.of_array(array.view(f"u{array.itemsize}"), BY_NAME[name])


def writable_tensor_of(array):
    """A _runtime.Tensor over the bytes of an array that may be written to. Raises Error for one that would have to be copied."""
    if isinstance(array, _runtime.Tensor):
        return array
    if not is_array(array):
        raise Error(f"found {array!r:.60}, wanted an array", "invalid_input")
    array = in_place(array)
    if not is_writable(array):
        raise Error("an array may not be written to, wanted one that may", "invalid_input")
    name = name_of(array)
    if name in PACKED:
        raise Error(f"an array of {name} has one element in each byte, which tensors pack, wanted a Tensor", "invalid_input")
    if name is not None:
        _check_elements(name)
    try:
        if name is not None and name not in NUMPY:
            return _runtime.Tensor.of_writable_array(array.view(f"u{array.itemsize}"), BY_NAME[name])
        return _runtime.Tensor.of_writable_array(array)
    except (TypeError, BufferError) as error:
        raise Error(f"an array of {_who(array)} cannot be written to: {_why(error)}", "invalid_input") from error


def numpy_of(tensor):
    """A numpy array over the bytes of a _runtime.Tensor, which it keeps; a copy of packed elements alone."""
    import numpy as np
    name = tensor.dtype
    if name in NUMPY:
        return np.asarray(tensor)
    if name in PACKED:
        return _unpack(tensor)
    array = np.frombuffer(tensor.get_buffer(), dtype_of(name))
    array.flags.writeable = tensor.writable
    return array.reshape(tensor.shape)


def _check_elements(name):
    if name not in BY_NAME:
        raise Error(f"an array has elements of {name}, wanted one of {', '.join(BY_NAME)}", "invalid_input")


def _pack(array, name):
    """Elements of 4 or 2 bits, low bits first."""
    import numpy as np
    bits = PACKED[name]
    codes = array.astype(np.int8 if name.startswith("int") else np.uint8).view(np.uint8) if "float" not in name else array.view(np.uint8)
    codes = codes.reshape(-1) & ((1 << bits) - 1)
    each = 8 // bits
    codes = np.pad(codes, (0, -codes.size % each)).reshape(-1, each)
    packed = _runtime.Tensor(BY_NAME[name], list(array.shape))
    np.frombuffer(packed.get_buffer(), np.uint8)[:] = (codes << (np.arange(each, dtype=np.uint8) * bits)).sum(axis=1, dtype=np.uint8)
    return packed


def _unpack(tensor):
    import numpy as np
    name, bits = tensor.dtype, PACKED[tensor.dtype]
    count = int(np.prod(tensor.shape, dtype=np.int64))
    packed = np.frombuffer(tensor.get_buffer(), np.uint8)
    codes = ((packed[:, None] >> (np.arange(8 // bits, dtype=np.uint8) * bits)) & ((1 << bits) - 1)).reshape(-1)[:count].reshape(tensor.shape)
    if "float" in name:
        return codes.view(dtype_of(name))
    if name.startswith("int"):
        half = 1 << (bits - 1)
        codes = ((codes ^ half).astype(np.int8) - half).astype(np.int8)
    return codes.astype(dtype_of(name))


def _who(array):
    return type(array).__module__.partition(".")[0]


def _why(error):
    """One line. What nanobind raises tells of its own signatures; the library that refused stands behind it."""
    cause = error.__cause__ or error.__context__ or error
    text = (str(cause).splitlines() or [type(cause).__name__])[0]
    return "wanted a dense one in host memory, of this machine's byte order" if "incompatible function arguments" in text else text
