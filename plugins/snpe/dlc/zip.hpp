// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/dlc: the directory of a zip file. Format: PKWARE's APPNOTE.TXT, 4.3 and 4.5.3. QAIRT 2.51 writes all of it in the 64-bit form, stores
// its parts unpacked, and leaves times and sums at zero (so that tools that check sums, as unzip -t, call every part bad): no sum is asked for here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace snpe_plugin {

/// A part of a zip file.
struct Part {
  std::string name;
  uint64_t at = 0;       ///< where its bytes begin in the file
  uint64_t size = 0;     ///< bytes there
  bool packed = false;   ///< compressed or encrypted: its bytes say nothing here
  uint32_t sum = 0;      ///< CRC-32, which may be zero where nobody made one
  uint64_t sum_in_directory = 0, sum_before = 0;  ///< where the sum is written

  std::string_view bytes(std::string_view zip) const { return zip.substr(at, size); }
};

/// In the directory's order. Any bytes: throws CORRUPT with a sentence; every range that it gives lies in `zip`, and no name comes twice.
std::vector<Part> read_directory(std::string_view zip);

}  // namespace snpe_plugin
