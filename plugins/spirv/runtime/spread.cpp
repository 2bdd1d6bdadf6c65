// SPDX-License-Identifier: Apache-2.0
#include "spread.hpp"

#include <algorithm>

namespace spirv_plugin {

std::optional<std::vector<uint64_t>> cuts_of(uint64_t bytes, std::vector<Region> regions, uint64_t most) {
  std::vector<uint64_t> out{0};
  if (bytes <= most) return out;
  std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) { return a.offset < b.offset; });
  uint64_t whole = 0, reached = 0;  // the last place where nothing is cut, and the end of all regions before
  const auto pass = [&](uint64_t end) {
    if (end - out.back() > most && whole > out.back()) out.push_back(whole);
    return end - out.back() <= most;
  };
  for (const Region& r : regions) {
    if (r.offset >= reached) whole = r.offset;
    reached = std::max(reached, r.offset + r.bytes);
    if (!pass(reached)) return std::nullopt;
  }
  return out;
}

Spread::Spread(const std::shared_ptr<Gpu>& gpu, Buffer::Where where, uint64_t bytes, std::vector<Region> regions, uint64_t most, const std::string& what) {
  uint64_t end = 0;
  for (const Region& r : regions) end = std::max(end, r.offset + r.bytes);
  bytes = std::max(std::min(bytes, end), uint64_t{4});
  const std::optional<std::vector<uint64_t>> cuts = cuts_of(bytes, std::move(regions), most);
  if (!cuts)
    throw sdk::Error(OPTIMA_MEMORY, what + " of " + std::to_string(bytes) + " bytes do not divide into buffers of " + std::to_string(most) + ", which is the most that GPU '" + gpu->info().name + "' makes");
  for (size_t k = 0; k < cuts->size(); ++k) {
    const uint64_t begin = (*cuts)[k], until = k + 1 < cuts->size() ? (*cuts)[k + 1] : bytes;
    pieces_.push_back({begin, Buffer(gpu, where, until - begin, what)});
  }
}

Spread::Place Spread::at(uint64_t offset) const {
  const auto behind = std::upper_bound(pieces_.begin(), pieces_.end(), offset, [](uint64_t at, const Piece& p) { return at < p.begin; });
  const Piece& p = *std::prev(behind);
  const uint64_t inside = offset - p.begin;
  return {p.buffer.handle(), inside, p.buffer.data() ? p.buffer.data() + inside : nullptr};
}

std::vector<Region> Spread::pieces() const {
  std::vector<Region> out;
  for (const Piece& p : pieces_) out.push_back({p.begin, p.buffer.size()});
  return out;
}

}  // namespace spirv_plugin
