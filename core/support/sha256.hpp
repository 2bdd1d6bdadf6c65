// SPDX-License-Identifier: Apache-2.0
// core/support: SHA-256 (FIPS 180-4). Own code because the runtime library must cross-build without dependencies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace optima {

using Sha256 = std::array<uint8_t, 32>;

/// Incremental hash. One thread at a time.
class Sha256Hasher {
 public:
  Sha256Hasher();
  void update(const void* data, size_t size);
  /// The hash of everything so far; the hasher is spent afterwards.
  Sha256 finish();

 private:
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> block_;
  uint64_t total_ = 0;
};

Sha256 sha256(const void* data, size_t size);
/// 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256& hash);

}  // namespace optima
