// SPDX-License-Identifier: Apache-2.0
#include "core/support/wire.hpp"

#include <cstring>

namespace optima {
namespace {

constexpr uint64_t kLargestNumber = (1u << 29) - 1;  // of a field
constexpr unsigned kLongest = 10;                    // bytes of a varint

}  // namespace

bool WireReader::take(uint64_t size, std::span<const std::byte>& out) {
  if (size > rest_.size()) {
    cut_short_ = true;
    return false;
  }
  out = rest_.first(size);
  rest_ = rest_.subspan(size);
  return true;
}

bool WireReader::varint(uint64_t& out) {
  out = 0;
  for (unsigned k = 0; k < kLongest; ++k) {
    if (k == rest_.size()) {
      cut_short_ = true;
      return false;
    }
    const auto byte = static_cast<uint64_t>(rest_[k]);
    out |= (byte & 0x7F) << (7 * k);
    if (byte >= 0x80) continue;
    rest_ = rest_.subspan(k + 1);
    return true;
  }
  return false;
}

bool WireReader::fixed(uint64_t& out, size_t size) {
  std::span<const std::byte> bytes;
  out = 0;
  if (!take(size, bytes)) return false;
  std::memcpy(&out, bytes.data(), size);
  return true;
}

bool WireReader::value_of(WireField& field) {
  const std::span<const std::byte> from = rest_;
  const auto number = [&](bool read) {
    field.bytes = from.first(from.size() - rest_.size());
    return read;
  };
  switch (field.type) {
    case WireType::Varint: return number(varint(field.value));
    case WireType::Fixed64: return number(fixed(field.value, 8));
    case WireType::Fixed32: return number(fixed(field.value, 4));
    case WireType::Bytes: {
      uint64_t size = 0;
      return varint(size) && take(size, field.bytes);
    }
  }
  return false;
}

bool WireReader::next(WireField& field) {
  field = {};
  field.start = rest_.data();
  uint64_t tag = 0;
  if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > kLargestNumber) return false;
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  return value_of(field);
}

}  // namespace optima
