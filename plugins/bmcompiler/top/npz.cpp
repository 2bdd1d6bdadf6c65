// SPDX-License-Identifier: Apache-2.0
// NumPy's npz: a zip without compression of .npy files. Layouts: PKWARE's APPNOTE 4.3, NumPy's format 1.0.
#include <array>
#include <cstring>

#include "module.hpp"
#include "optima/plugin/error.hpp"

namespace bmcompiler_plugin::top {
namespace {

namespace sdk = optima::sdk;

constexpr uint64_t kMost = 0xffffffffull;  // an offset or size in the zip's 32 bits; the tools' reader knows no others
constexpr uint16_t kDate = 0x21;           // the first of January 1980, the earliest that there is

std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t n = 0; n < 256; ++n) {
    uint32_t c = n;
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ (c & 1 ? 0xedb88320u : 0);
    table[n] = c;
  }
  return table;
}

uint32_t crc(std::string_view bytes, uint32_t before = 0) {
  static const std::array<uint32_t, 256> table = crc_table();
  uint32_t c = ~before;
  for (const char b : bytes) c = (c >> 8) ^ table[(c ^ static_cast<unsigned char>(b)) & 0xff];
  return ~c;
}

template <class... T>
std::string little(T... numbers) {
  std::string s;
  (s.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);  // little-endian, as every machine this runs on
  return s;
}

std::string_view descr(const std::string& type) {
  if (type == "f32") return "<f4";
  if (type == "si32") return "<i4";
  if (type == "si8") return "|i1";
  if (type == "ui8") return "|u1";
  if (type == "f16") return "<f2";
  throw sdk::Error(OPTIMA_INTERNAL, "weight has elements of type " + type + ", wanted f32, si32, si8, ui8 or f16");
}

/// What stands before an array's bytes, a multiple of 64.
std::string npy_head(const Weight& w) {
  std::string text = "{'descr': '" + std::string(descr(w.type)) + "', 'fortran_order': False, 'shape': (";
  for (const int64_t d : w.dims) text += std::to_string(d) + ",";
  text += "), }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + little(static_cast<uint16_t>(text.size())) + text;
}

}  // namespace

std::string npz(const std::deque<Weight>& weights) {
  std::string file, directory;
  for (const Weight& w : weights) {
    const std::string name = w.name + ".npy", head = npy_head(w);
    const uint64_t size = head.size() + w.bytes.size(), at = file.size();
    if (size > kMost || at + size > kMost - (uint64_t{1} << 20) || name.size() > 0xffff)
      throw sdk::Error(OPTIMA_UNSUPPORTED, "weights have 4 GiB or more, the tools' file of weights takes less");
    const uint32_t sum = crc(w.bytes, crc(head));
    // Version 2.0, names in UTF-8, stored.
    const std::string common = little(uint16_t{20}, uint16_t{0x800}, uint16_t{0}, uint16_t{0}, kDate, sum, static_cast<uint32_t>(size),
                                      static_cast<uint32_t>(size), static_cast<uint16_t>(name.size()), uint16_t{0});
    file += little(uint32_t{0x04034b50}) + common + name + head;
    file += w.bytes;
    directory += little(uint32_t{0x02014b50}, uint16_t{20}) + common + little(uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, static_cast<uint32_t>(at)) + name;
  }
  if (weights.size() > 0xffff || file.size() + directory.size() > kMost)
    throw sdk::Error(OPTIMA_UNSUPPORTED, std::to_string(weights.size()) + " weights, the tools' file of weights takes 65535");
  const auto count = static_cast<uint16_t>(weights.size());
  const auto at = static_cast<uint32_t>(file.size()), size = static_cast<uint32_t>(directory.size());
  return file + directory + little(uint32_t{0x06054b50}, uint16_t{0}, uint16_t{0}, count, count, size, at, uint16_t{0});
}

}  // namespace bmcompiler_plugin::top
