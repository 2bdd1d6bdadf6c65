// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/zip.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/support/text.hpp"
#include "core/tensor_io/stb.hpp"

namespace optima {
namespace {

// APPNOTE.TXT 6.3.10, sections 4.3 and 4.5: little-endian records with these signatures and sizes.
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr uint64_t kMostMembers = 100000;
constexpr uint64_t kDeflateBest = 1032;  // deflate cannot shrink further than this

struct Reader {
  std::span<const std::byte> bytes;
  bool has(uint64_t at, uint64_t n) const { return at <= bytes.size() && n <= bytes.size() - at; }
  uint64_t number(uint64_t at, size_t n) const {
    uint64_t out = 0;
    for (size_t i = 0; i < n; ++i) out |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
    return out;
  }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(number(at, 4)); }
  uint64_t u64(uint64_t at) const { return number(at, 8); }
};

struct Directory {
  uint64_t offset = 0, count = 0;
};

Status damaged(std::string_view what, std::string_view where) { return invalid_input(cat(what, ": is damaged: ", where)); }

// The end record is last but for a comment of at most 65535 bytes.
Result<Directory> find_directory(const Reader& r, std::string_view what) {
  if (r.bytes.size() < kEndSize) return damaged(what, "no end of a zip archive");
  const uint64_t last = r.bytes.size() - kEndSize, first = last > 65535 ? last - 65535 : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (r.u32(at) != kEnd) continue;
    Directory d{r.u32(at + 16), r.u16(at + 10)};
    if (at >= kLocatorSize && r.u32(at - kLocatorSize) == kLocator64) {
      const uint64_t end64 = r.u64(at - kLocatorSize + 8);
      if (!r.has(end64, kEnd64Size) || r.u32(end64) != kEnd64) return damaged(what, "the zip64 end record is missing");
      d = {r.u64(end64 + 48), r.u64(end64 + 32)};
    }
    return d;
  }
  return damaged(what, "no end of a zip archive");
}

// Sizes and offsets that did not fit in 32 bits stand in extra field 1, in this order, each only if it did not fit.
void read_zip64(const Reader& r, uint64_t at, uint64_t end, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  while (at + 4 <= end) {
    const uint64_t length = r.u16(at + 2);
    uint64_t field = at + 4;
    const uint64_t stop = std::min(field + length, end);
    if (r.u16(at) == 1)
      for (uint64_t* n : {&size, &packed, &offset})
        if (*n == UINT32_MAX && field + 8 <= stop) *n = r.u64(field), field += 8;
    at += 4 + length;
  }
}

Result<ZipMember> read_member(const Reader& r, uint64_t at, uint64_t name_size, uint64_t extra_size, std::string_view what) {
  ZipMember m;
  m.name.assign(reinterpret_cast<const char*>(r.bytes.data() + at + kCentralSize), name_size);
  m.crc = r.u32(at + 16);
  uint64_t packed = r.u32(at + 20), offset = r.u32(at + 42);
  m.size = r.u32(at + 24);
  read_zip64(r, at + kCentralSize + name_size, at + kCentralSize + name_size + extra_size, m.size, packed, offset);
  const uint16_t flags = r.u16(at + 8), method = r.u16(at + 10);
  const std::string place = cat("member ", quote(m.name));
  if (flags & 1) return invalid_input(cat(what, ": ", place, " is encrypted"));
  if (method != 0 && method != 8) return invalid_input(cat(what, ": ", place, " has compression ", method, ", wanted stored or deflated"));
  m.is_deflated = method == 8;
  if (!r.has(offset, kLocalSize) || r.u32(offset) != kLocal) return damaged(what, place + " has no local header");
  const uint64_t data = offset + kLocalSize + r.u16(offset + 26) + r.u16(offset + 28);
  if (!r.has(data, packed)) return damaged(what, place + " is cut off");
  const bool plausible = m.is_deflated ? m.size / kDeflateBest <= packed : m.size == packed;
  if (!plausible) return damaged(what, cat(place, " claims ", m.size, " bytes of ", packed));
  m.packed = r.bytes.subspan(data, packed);
  return m;
}

uint32_t crc32(std::span<const std::byte> bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  uint32_t c = UINT32_MAX;
  for (const std::byte b : bytes) c = table[(c ^ static_cast<uint32_t>(b)) & 0xFF] ^ (c >> 8);
  return ~c;
}

}  // namespace

Result<std::vector<ZipMember>> list_zip(std::span<const std::byte> archive, std::string_view what) {
  const Reader r{archive};
  OPTIMA_ASSIGN(const Directory directory, find_directory(r, what));
  if (directory.count > kMostMembers) return damaged(what, cat("it claims ", directory.count, " members"));
  std::vector<ZipMember> out;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (!r.has(at, kCentralSize) || r.u32(at) != kCentral) return damaged(what, "its directory is cut off");
    const uint64_t name = r.u16(at + 28), extra = r.u16(at + 30), comment = r.u16(at + 32);
    if (!r.has(at + kCentralSize, name + extra + comment)) return damaged(what, "its directory is cut off");
    OPTIMA_ASSIGN(ZipMember member, read_member(r, at, name, extra, what));
    out.push_back(std::move(member));
    at += kCentralSize + name + extra + comment;
  }
  return out;
}

Result<std::vector<std::byte>> unpack(const ZipMember& m, std::string_view what) {
  std::vector<std::byte> out;
  OPTIMA_ASSIGN(const std::span<const std::byte> bytes, unpack(m, out, what));
  if (!m.is_deflated) out.assign(bytes.begin(), bytes.end());
  return out;
}

Result<std::span<const std::byte>> unpack(const ZipMember& m, std::vector<std::byte>& room, std::string_view what) {
  std::span<const std::byte> bytes = m.packed;
  if (m.is_deflated) {
    if (m.size > INT32_MAX || m.packed.size() > INT32_MAX)
      return invalid_input(cat(what, ": member ", quote(m.name), " is deflated and over 2 GiB, wanted it stored"));
    room.resize(m.size);
    if (stb::inflate(m.packed, room) != m.size) return damaged(what, cat("member ", quote(m.name), " does not unpack"));
    bytes = room;
  }
  if (crc32(bytes) != m.crc) return damaged(what, cat("member ", quote(m.name), " has a wrong checksum"));
  return bytes;
}

std::vector<std::byte> unpack_beginning(const ZipMember& m, uint64_t most) {
  std::vector<std::byte> out(std::min(m.size, most));
  if (!m.is_deflated) std::copy_n(m.packed.begin(), out.size(), out.begin());
  else if (m.packed.size() <= INT32_MAX) stb::inflate(m.packed, out);  // stops where `out` is full
  return out;
}

}  // namespace optima
