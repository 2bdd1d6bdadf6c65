// SPDX-License-Identifier: Apache-2.0
#include "zip.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "optima/plugin/error.hpp"

namespace snpe_plugin {
namespace {

namespace sdk = optima::sdk;

constexpr uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator = 0x07064b50;
constexpr size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20, kMostComment = 0xffff;
constexpr uint32_t kIn64 = 0xffffffff;  // the number is in the 64-bit form
constexpr uint64_t kMostParts = 65536;

[[noreturn]] void corrupt(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, what); }

/// Numbers of a file, each asked for by its place.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}
  uint16_t u16(uint64_t at) const { return get<uint16_t>(at); }
  uint32_t u32(uint64_t at) const { return get<uint32_t>(at); }
  uint64_t u64(uint64_t at) const { return get<uint64_t>(at); }
  uint64_t size() const { return bytes_.size(); }
  bool holds(uint64_t at, uint64_t size) const { return at <= bytes_.size() && size <= bytes_.size() - at; }
  std::string_view text(uint64_t at, uint64_t size) const {
    if (!holds(at, size)) corrupt("zip directory is cut off at byte " + std::to_string(at));
    return bytes_.substr(at, size);
  }

 private:
  template <class T>
  T get(uint64_t at) const {
    T n;
    std::memcpy(&n, text(at, sizeof n).data(), sizeof n);  // little-endian, as every machine this runs on
    return n;
  }
  std::string_view bytes_;
};

struct Directory {
  uint64_t at, size, parts;
};

uint64_t find_end(const Numbers& zip) {
  if (zip.size() < kEndSize) corrupt("file has " + std::to_string(zip.size()) + " bytes, too few for a zip file");
  const uint64_t last = zip.size() - kEndSize;
  for (uint64_t back = 0; back <= std::min<uint64_t>(last, kMostComment); ++back)
    if (zip.u32(last - back) == kEnd && zip.u16(last - back + 20) == back) return last - back;
  corrupt("file is no zip file, or is cut off: its end has no directory");
}

Directory find_directory(const Numbers& zip) {
  const uint64_t end = find_end(zip);
  Directory d{zip.u32(end + 16), zip.u32(end + 12), zip.u16(end + 10)};
  if (end >= kLocatorSize && zip.u32(end - kLocatorSize) == kLocator) {
    const uint64_t at = zip.u64(end - kLocatorSize + 8);
    if (!zip.holds(at, kEnd64Size) || zip.u32(at) != kEnd64) corrupt("zip file names a directory end that is not there");
    d = {zip.u64(at + 48), zip.u64(at + 40), zip.u64(at + 32)};
  }
  if (!zip.holds(d.at, d.size)) corrupt("zip directory lies outside of the file");
  if (d.parts > kMostParts || d.parts * kEntrySize > d.size) corrupt("zip directory tells of " + std::to_string(d.parts) + " parts, more than it can hold");
  return d;
}

/// The three numbers that an entry may have in its extra field 1 only, which has those of them that are needed, in this order.
struct Wide {
  uint64_t unpacked, size, local;
};

void widen(Wide& w, const Numbers& zip, uint64_t at, uint64_t end, const std::string& name) {
  for (; at + 4 <= end; at += 4 + zip.u16(at + 2)) {
    if (zip.u16(at) != 1) continue;
    uint64_t next = at + 4;
    const uint64_t stop = next + zip.u16(at + 2);
    for (uint64_t* n : {&w.unpacked, &w.size, &w.local}) {
      if (*n != kIn64) continue;
      if (next + 8 > stop || stop > end) corrupt("part '" + name + "' of the zip file has no 64-bit numbers");
      *n = zip.u64(next), next += 8;
    }
    return;
  }
}

uint64_t begin_of(const Numbers& zip, const std::string& name, uint64_t local) {
  if (!zip.holds(local, kLocalSize) || zip.u32(local) != kLocal) corrupt("part '" + name + "' of the zip file is not where its directory says");
  const uint64_t after = local + kLocalSize;
  if (zip.text(after, zip.u16(local + 26)) != name) corrupt("part '" + name + "' of the zip file has another name where it lies");
  return after + name.size() + zip.u16(local + 28);
}

Part read_entry(const Numbers& zip, uint64_t at) {
  Part p;
  p.name = zip.text(at + kEntrySize, zip.u16(at + 28));
  Wide w{zip.u32(at + 24), zip.u32(at + 20), zip.u32(at + 42)};
  const uint64_t extra = at + kEntrySize + p.name.size();
  widen(w, zip, extra, extra + zip.u16(at + 30), p.name);
  p.packed = zip.u16(at + 10) != 0 || (zip.u16(at + 8) & 1) != 0;
  if (!p.packed && w.size != w.unpacked) corrupt("part '" + p.name + "' of the zip file has two sizes");
  p.size = w.size;
  p.sum = zip.u32(at + 16);
  p.sum_in_directory = at + 16, p.sum_before = w.local + 14;
  p.at = begin_of(zip, p.name, w.local);
  if (!zip.holds(p.at, p.size)) corrupt("part '" + p.name + "' of the zip file is cut off");
  return p;
}

}  // namespace

std::vector<Part> read_directory(std::string_view bytes) {
  const Numbers zip(bytes);
  const Directory d = find_directory(zip);
  std::vector<Part> all;
  std::set<std::string> names;
  uint64_t at = d.at;
  for (uint64_t k = 0; k < d.parts; ++k) {
    if (!zip.holds(at, kEntrySize) || zip.u32(at) != kEntry) corrupt("zip directory ends after " + std::to_string(k) + " of " + std::to_string(d.parts) + " parts");
    all.push_back(read_entry(zip, at));
    if (!names.insert(all.back().name).second) corrupt("zip file has part '" + all.back().name + "' twice");
    at += kEntrySize + zip.u16(at + 28) + zip.u16(at + 30) + zip.u16(at + 32);
  }
  return all;
}

}  // namespace snpe_plugin
