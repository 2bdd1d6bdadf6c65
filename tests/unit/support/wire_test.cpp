// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers: what is read, and what is refused.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/support/wire.hpp"

using namespace optima;

namespace {

using Bytes = std::vector<uint8_t>;

std::span<const std::byte> view(const Bytes& bytes) { return std::as_bytes(std::span(bytes)); }

// What a reader says of the bytes as one message: "1=5 2:3" are field 1 with the number 5 and field 2 with three bytes.
std::string fields_of(const Bytes& bytes) {
  std::string out;
  for (WireReader reader(view(bytes)); !reader.done();) {
    WireField f;
    if (!reader.next(f)) return out + (reader.cut_short() ? "cut short" : "wrong") + " at " + std::to_string(f.start - view(bytes).data());
    const bool text = f.type == WireType::Bytes;
    out += std::to_string(f.number) + (text ? ':' : '=') + std::to_string(text ? f.bytes.size() : f.value) + " ";
  }
  return out;
}

// Of a packed list.
std::string varints_of(const Bytes& bytes) {
  std::string out;
  for (WireReader reader(view(bytes)); !reader.done();) {
    uint64_t n = 0;
    if (!reader.varint(n)) return out + (reader.cut_short() ? "cut short" : "wrong");
    out += std::to_string(n) + " ";
  }
  return out;
}

Bytes repeated(uint8_t byte, size_t count, uint8_t last) {
  Bytes out(count, byte);
  out.push_back(last);
  return out;
}

}  // namespace

TEST_CASE("fields of the four wire types are read with number, value and bytes") {
  CHECK(fields_of({}).empty());
  CHECK(fields_of({0x08, 0x96, 0x01}) == "1=150 ");
  CHECK(fields_of({0x11, 1, 2, 0, 0, 0, 0, 0, 0x80}) == "2=9223372036854776321 ");
  CHECK(fields_of({0x1D, 0, 0, 0x80, 0x3F}) == "3=1065353216 ");
  CHECK(fields_of({0x22, 3, 'a', 'b', 'c', 0x22, 0}) == "4:3 4:0 ");
  const Bytes message = {0x08, 0x96, 0x01, 0x22, 2, 'h', 'i', 0x1D, 1, 2, 3, 4};
  WireReader reader(view(message));
  WireField f;
  REQUIRE(reader.next(f));
  CHECK((f.start == view(message).data() && f.bytes.data() == f.start + 1 && f.bytes.size() == 2));
  REQUIRE(reader.next(f));
  CHECK((f.start == view(message).data() + 3 && f.bytes.data() == f.start + 2 && f.value == 0));
  CHECK(std::memcmp(f.bytes.data(), "hi", 2) == 0);
  REQUIRE(reader.next(f));
  CHECK((f.bytes.data() == f.start + 1 && f.bytes.size() == 4 && f.value == 0x04030201));
  CHECK(reader.done());
}

TEST_CASE("a varint has one to ten bytes, and of the tenth the lowest bit counts") {
  CHECK(varints_of({0, 1, 0x7F, 0x80, 0x01, 0xFF, 0x7F}) == "0 1 127 128 16383 ");
  CHECK(varints_of(repeated(0xFF, 9, 0x01)) == "18446744073709551615 ");
  CHECK(varints_of(repeated(0xFF, 9, 0x7F)) == "18446744073709551615 ");
  CHECK(varints_of(repeated(0x80, 9, 0x02)) == "0 ");
  CHECK(varints_of(repeated(0x80, 9, 0x00)) == "0 ");  // longer than it need be
  CHECK(varints_of(repeated(0x80, 10, 0x01)) == "wrong");
  CHECK(varints_of(repeated(0x80, 200, 0x01)) == "wrong");
  for (size_t n = 1; n < 10; ++n) CHECK(varints_of(Bytes(n, 0x80)) == "cut short");
  CHECK(varints_of(Bytes(10, 0x80)) == "wrong");
}

TEST_CASE("numbers of fixed size are whole or refused") {
  const Bytes bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  WireReader reader(view(bytes));
  uint64_t n = 0;
  CHECK((reader.fixed(n, 4) && n == 0x04030201));
  CHECK((reader.fixed(n, 0) && n == 0));
  CHECK_FALSE(reader.fixed(n, 8));
  CHECK(reader.cut_short());
}

TEST_CASE("groups, unknown wire types and field numbers that there are not are refused") {
  for (const uint8_t type : {3, 4, 6, 7}) CHECK(fields_of({0x08, 0x01, static_cast<uint8_t>(0x08 | type), 0x01}) == "1=1 wrong at 2");
  CHECK(fields_of({0x00, 0x01}) == "wrong at 0");
  CHECK(fields_of({0xF8, 0xFF, 0xFF, 0xFF, 0x0F, 0x01}) == "536870911=1 ");
  CHECK(fields_of({0x80, 0x80, 0x80, 0x80, 0x10, 0x01}) == "wrong at 0");  // 2^29
  Bytes wrapped = repeated(0xFF, 9, 0x01);                                 // 2^61 - 1, of which the low 32 bits would be a number
  wrapped[0] = 0xF8;
  wrapped.push_back(1);
  CHECK(fields_of(wrapped) == "wrong at 0");
  CHECK(fields_of(repeated(0x88, 10, 0x01)) == "wrong at 0");
}

TEST_CASE("a length goes no further than the message, however large it is") {
  CHECK(fields_of({0x0A, 3, 'a', 'b'}) == "cut short at 0");
  for (const uint8_t last : {0x01, 0x00}) {  // 2^64 - 1, and 2^63 - 1: added to any address they wrap around or go to the other end
    Bytes bytes = {0x0A};
    const Bytes length = repeated(0xFF, 9, last);
    bytes.insert(bytes.end(), length.begin(), length.end());
    bytes.push_back('a');
    CHECK(fields_of(bytes) == "cut short at 0");
  }
  Bytes endless = {0x0A};
  endless.insert(endless.end(), 11, 0x80);
  CHECK(fields_of(endless) == "wrong at 0");
}

TEST_CASE("a message that is cut anywhere but between its fields is cut short, and says where") {
  const Bytes message = {0x08, 0x96, 0x01, 0x22, 2, 'h', 'i', 0x1D, 1, 2, 3, 4, 0x91, 0x01, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<size_t> ends = {0, 3, 7, 12, 22};
  REQUIRE(fields_of(message) == "1=150 4:2 3=67305985 18=578437695752307201 ");
  for (size_t size = 0, field = 0; size < message.size(); ++size) {
    while (field + 1 < ends.size() && ends[field + 1] <= size) ++field;
    const Bytes cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));  // of this size: a read behind it is one behind its memory
    const std::string found = fields_of(cut);
    CHECK_MESSAGE((found.find("wrong") == std::string::npos), found);
    CHECK_MESSAGE((found.find("cut short") == std::string::npos) == (size == ends[field]), found);
    if (size != ends[field]) CHECK_MESSAGE(found.ends_with("cut short at " + std::to_string(ends[field])), found);
  }
}

TEST_CASE("no bytes make a reader go on for ever or out of them") {
  uint64_t random = 11;
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes;
    for (size_t k = 0, size = static_cast<size_t>(round % 40); k < size; ++k) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      bytes.push_back(static_cast<uint8_t>(random >> 56));
    }
    WireReader reader(view(bytes));
    const std::byte* at = view(bytes).data();
    WireField f;
    while (!reader.done() && reader.next(f)) {
      REQUIRE((f.start == at && f.bytes.data() > at));
      at = f.bytes.data() + f.bytes.size();
      REQUIRE(at <= view(bytes).data() + bytes.size());
    }
  }
}
