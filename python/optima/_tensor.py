# SPDX-License-Identifier: Apache-2.0
"""Tensors for requests: bytes that arrays of numpy, PyTorch and others share."""
from __future__ import annotations

import operator

from optima import _arrays, _runtime
from optima.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    from collections.abc import Iterable
    from typing import Any

    import numpy


class Tensor:
    """A dense row-major tensor in host memory.

    Tensor(dtype, shape) has zeroed bytes of its own, 64-byte aligned; Tensor.of(array) is over an array's bytes. numpy.asarray(tensor) and
    torch.from_dlpack(tensor) are over the same bytes, and keep them. dtype: an ElementType, numpy's name of a type, or a numpy dtype."""

    def __init__(self, dtype: Any, shape: Iterable[int]) -> None:
        try:
            sizes = [operator.index(d) for d in shape]
        except TypeError as error:
            raise Error(f"shape is {shape!r:.60}, wanted sizes", "invalid_input") from error
        try:
            self._c = _runtime.Tensor(_arrays.element_type(dtype), sizes)
        except MemoryError as error:
            raise Error(f"a tensor of shape {sizes} is larger than this machine's memory", "invalid_input") from error
        except TypeError as error:  # past 64 bits
            raise Error(f"shape is {shape!r:.60}, wanted sizes", "invalid_input") from error

    @classmethod
    def of(cls, array: Any) -> Tensor:
        """A tensor over the bytes of a dense array in host memory, which it keeps; writable where the array is. Others are refused. Elements of
        fewer than 8 bits are packed, so of those it is a copy."""
        return cls._of(_arrays.view_of(array))

    @classmethod
    def _of(cls, handle: _runtime.Tensor) -> Tensor:
        tensor = cls.__new__(cls)
        tensor._c = handle
        return tensor

    @property
    def type(self) -> _runtime.ElementType:
        """The ElementType."""
        return self._c.type

    @property
    def dtype(self) -> str:
        """numpy's name of the element type, ml_dtypes' where numpy has none."""
        return self._c.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._c.shape

    @property
    def nbytes(self) -> int:
        return self._c.nbytes

    @property
    def address(self) -> int:
        """Where the bytes lie."""
        return self._c.address

    def numpy(self) -> numpy.ndarray:
        """A numpy array over these bytes, which it keeps. Elements of fewer than 8 bits are unpacked, so that is a copy."""
        return _arrays.numpy_of(self._c)

    def copy_from(self, array: Any) -> None:
        """Copies an array's elements in; it has to be of this type and shape."""
        self._c.copy_from_tensor(_handle(array, self.dtype))

    def copy_to(self, array: Any) -> None:
        """Copies the elements to an array of this type and shape that may be written to."""
        _arrays.writable_tensor_of(array._c if isinstance(array, Tensor) else array).copy_from_tensor(self._c)

    def get_buffer(self) -> memoryview:
        """The bytes themselves, as a memoryview that keeps them."""
        return self._c.get_buffer()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._c.__array_interface__

    def __dlpack__(self, **how: Any) -> Any:
        return self._c.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._c.__dlpack_device__()

    def __repr__(self):
        return f"Tensor({self.dtype!r}, {self.shape})"

    copyFrom, copyTo, getBuffer = copy_from, copy_to, get_buffer


def _handle(value: Any, dtype: str | None = None) -> _runtime.Tensor:
    """The _runtime.Tensor of a Tensor or of an array."""
    return value._c if isinstance(value, Tensor) else _arrays.tensor_of(value, dtype)
