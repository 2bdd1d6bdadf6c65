// SPDX-License-Identifier: Apache-2.0
// core/package: where model.meta keeps its own hash. Private to the room.
#pragma once

#include <string_view>

namespace optima {

/// Offset of the 64 digits of the root's "sha256" member, npos when the text has none in its place. The writer puts the member
/// second, indented by two spaces, so no deeper member or string can be mistaken for it.
inline size_t meta_hash_at(std::string_view text) {
  constexpr std::string_view kMember = "\n  \"sha256\": \"";
  const size_t at = text.find(kMember);
  if (at == std::string_view::npos || text.size() - at - kMember.size() < 65) return std::string_view::npos;
  return at + kMember.size();
}

}  // namespace optima
