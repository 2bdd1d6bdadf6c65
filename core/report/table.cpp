// SPDX-License-Identifier: Apache-2.0
#include "core/report/table.hpp"

#include "core/support/text.hpp"
#include "core/tensor_io/door.hpp"

namespace optima::detail {

std::string clean(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return out;
}

std::string count_of(size_t count, std::string_view thing) { return cat(count, " ", thing, count == 1 ? "" : "s"); }

std::string shortened(const std::vector<std::string>& names, size_t most) {
  if (names.empty()) return "nothing";
  if (names.size() <= most) return clean(join(names));
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most));
  return cat(clean(join(first)), ", ... (", names.size(), " in all)");
}

std::string door_of(const CutTensor& cut) {
  const uint64_t stored = cut.stored_bytes();
  const std::string bytes = stored == cut.bytes ? "" : cat(", ", human_bytes(cut.bytes), " -> ", human_bytes(stored));
  return cat(door_text(cut.door), bytes, ", no conversion at ", cut.conversions_saved(), " ends");
}

}  // namespace optima::detail
