// SPDX-License-Identifier: Apache-2.0
// python/binding: whether bytes are still what they were.
#pragma once

#include <cstddef>
#include <cstdint>

namespace optima::python {

/// Goes on with `seed` over bytes of this machine's memory, as fast as they are read. Any one changed word of 8 bytes changes it, several do but for once in 2^64;
/// it is no hash against people who want to deceive. Eight lanes, each x = (x + word) * odd, which is one-to-one in x and in the word.
uint64_t checksum(const void* bytes, size_t size, uint64_t seed);

}  // namespace optima::python
