# SPDX-License-Identifier: Apache-2.0
"""Tensors for requests: bytes that arrays of numpy, PyTorch and others share."""
from optima import _arrays, _runtime


class Tensor:
    """A dense row-major tensor in host memory.

    Tensor(dtype, shape) has zeroed bytes of its own, 64-byte aligned; Tensor.of(array) is over an array's bytes. numpy.asarray(tensor) and
    torch.from_dlpack(tensor) are over the same bytes, and keep them. dtype: an ElementType, numpy's name of a type, or a numpy dtype."""

    def __init__(self, dtype, shape):
        self._c = _runtime.Tensor(_arrays.element_type(dtype), [int(d) for d in shape])

    @classmethod
    def of(cls, array):
        """A tensor over the bytes of a dense array in host memory, which it keeps; writable where the array is. Others are refused. Elements of
        fewer than 8 bits are packed, so of those it is a copy."""
        return cls._of(_arrays.view_of(array))

    @classmethod
    def _of(cls, handle):
        tensor = cls.__new__(cls)
        tensor._c = handle
        return tensor

    type = property(lambda self: self._c.type, doc="The ElementType.")
    dtype = property(lambda self: self._c.dtype, doc="numpy's name of the element type, ml_dtypes' where numpy has none.")
    shape = property(lambda self: self._c.shape)
    nbytes = property(lambda self: self._c.nbytes)
    address = property(lambda self: self._c.address, doc="Where the bytes lie.")

    def numpy(self):
        """A numpy array over these bytes, which it keeps. Elements of fewer than 8 bits are unpacked, so that is a copy."""
        return _arrays.numpy_of(self._c)

    def copy_from(self, array):
        """Copies an array's elements in; it has to be of this type and shape."""
        self._c.copy_from_tensor(_handle(array, self.dtype))

    def copy_to(self, array):
        """Copies the elements to an array of this type and shape that may be written to."""
        _arrays.writable_tensor_of(array._c if isinstance(array, Tensor) else array).copy_from_tensor(self._c)

    def get_buffer(self):
        """The bytes themselves, as a memoryview that keeps them."""
        return self._c.get_buffer()

    @property
    def __array_interface__(self):
        return self._c.__array_interface__

    def __dlpack__(self, **how):
        return self._c.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._c.__dlpack_device__()

    def __repr__(self):
        return f"Tensor({self.dtype!r}, {self.shape})"

    copyFrom, copyTo, getBuffer = copy_from, copy_to, get_buffer


def _handle(value, dtype=None):
    """The _runtime.Tensor of a Tensor or of an array."""
    return value._c if isinstance(value, Tensor) else _arrays.tensor_of(value, dtype)
