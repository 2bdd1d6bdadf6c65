// SPDX-License-Identifier: Apache-2.0
// core/support: the wire format of protocol buffers (protobuf.dev/programming-guides/encoding), field by field, without protobuf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace optima {

/// How a field's value is written. The format's groups (3 and 4) are none: nothing that is read here has any.
enum class WireType : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field of a message; its views borrow the message's bytes.
struct WireField {
  uint32_t number = 0;               ///< 1 to 2^29 - 1
  WireType type = WireType::Varint;
  uint64_t value = 0;                ///< the number; of Bytes: 0
  std::span<const std::byte> bytes;  ///< the value as it is written; of Bytes: what is behind the length
  const std::byte* start = nullptr;  ///< of the tag
};

/// Steps through the bytes of one message, or of a packed list of numbers. Never reads outside them, whatever they say. A reader
/// that gave a `false` is spent.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }
  /// The next field, whole. False when there is none: no field number, a group, an unknown wire type, or one that is cut short.
  /// `field.start` is set in any case.
  bool next(WireField& field);
  /// A number of 7 bits a byte, lowest first. False when it is cut short or longer than ten bytes. Of the tenth byte the lowest bit
  /// counts, as in protobuf.
  bool varint(uint64_t& out);
  /// A little-endian number of `size` bytes, at most 8.
  bool fixed(uint64_t& out, size_t size);
  /// Whether what was refused goes past the end of the bytes, and is not wrong in itself.
  bool cut_short() const { return cut_short_; }

 private:
  bool take(uint64_t size, std::span<const std::byte>& out);
  bool value_of(WireField& field);

  std::span<const std::byte> rest_;
  bool cut_short_ = false;
};

}  // namespace optima
