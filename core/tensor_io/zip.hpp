// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: members of a zip archive in memory (stored and deflated, zip64). Knows no arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"

namespace optima {

struct ZipMember {
  std::string name;
  std::span<const std::byte> packed;  ///< of the archive's bytes
  uint64_t size = 0;                  ///< unpacked
  uint32_t crc = 0;
  bool is_deflated = false;
};

/// The members by the central directory, in its order. InvalidInput naming `what` when the archive is damaged, encrypted or
/// uses another compression.
Result<std::vector<ZipMember>> list_zip(std::span<const std::byte> archive, std::string_view what);

/// The member's bytes, size and CRC checked.
Result<std::vector<std::byte>> unpack(const ZipMember& member, std::string_view what);

/// The same without a copy where the archive has them as they are, else in `room`.
Result<std::span<const std::byte>> unpack(const ZipMember& member, std::vector<std::byte>& room, std::string_view what);

/// The first bytes of the member, at most `most`, unchecked; of a member that is damaged or packed in large blocks maybe only zeros.
std::vector<std::byte> unpack_beginning(const ZipMember& member, uint64_t most);

}  // namespace optima
