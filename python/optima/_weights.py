# SPDX-License-Identifier: Apache-2.0
"""Whether the weights that a package was made of are still what they were, whoever writes to them and how. Needs torch."""
import ctypes
import importlib.util
import zlib


class Weights:
    """Some of a call's tensors, as they are now. Holds no tensor: a weight that is replaced may go."""

    def __init__(self, args, numbers, bytes_too=True):
        """numbers: of the tensors among args, which lie on the processor. bytes_too: False where nobody writes around torch's own functions (w.data.fill_, w.numpy()[:] = 0),
        which are counted; saves reading every weight in each call."""
        self.numbers, self.bytes_too = numbers, bytes_too
        self.state = [state_of(args[i]) for i in numbers]
        self.ranges = list(dict.fromkeys(range_of(args[i]) for i in numbers)) if bytes_too else []
        self.sum = checksum(self.ranges)

    def are_in(self, args):
        """Whether a later call's tensors are these."""
        return [state_of(args[i]) for i in self.numbers] == self.state and (not self.bytes_too or checksum(self.ranges) == self.sum)


def state_of(tensor):
    """Where a tensor lies, how, and how often torch's functions wrote to it, which is not counted of those of inference mode."""
    return tensor.data_ptr(), tensor.stride(), 0 if tensor.is_inference() else tensor._version


def range_of(tensor):
    """(address, bytes) from the first element to behind the last."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), (last + 1) * tensor.element_size() if tensor.numel() else 0


def crc(ranges):
    """For where the binding is not built."""
    sum = 0
    for address, size in ranges:
        sum = zlib.crc32((ctypes.c_char * size).from_address(address), sum)
    return sum


if importlib.util.find_spec("optima._runtime"):
    from optima._runtime import checksum
else:
    checksum = crc
