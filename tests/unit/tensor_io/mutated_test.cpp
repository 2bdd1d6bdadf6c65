// SPDX-License-Identifier: Apache-2.0
// Hostile bytes for every reader of tensors and pictures: an error or a sound result, and no memory that is not theirs (the sanitizer build looks).
#include <doctest/doctest.h>

#include <random>

#include "core/support/file.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/stb.hpp"
#include "core/tensor_io/tensor_proto.hpp"
#include "core/tensor_io/zip.hpp"
#include "tests/support/damage.hpp"

using namespace optima;
using test::damaged;

namespace {

constexpr int kRounds = OPTIMA_FUZZ_FILES;

std::span<const std::byte> bytes_of(const std::string& s) { return {reinterpret_cast<const std::byte*>(s.data()), s.size()}; }

template <size_t N>
std::string text(const char (&literal)[N]) {
  return {literal, N - 1};
}

std::string from_hex(std::string_view digits) {
  std::string out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) out += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return out;
}

/// An 8x8 grey ramp with Huffman tables of its own, in one scan and in five.
constexpr std::string_view kBaselineJpeg =
      "ffd8ffe000104a46494600010100000100010000ffdb004300281c1e231e19282321232d2b28303c64413c37373c7b585d4964918099968f808c8aa0b4e6c3a0aadaad8a8cc8"
      "ffcbdaeef5ffffff9bc1fffffffaffe6fdfff8ffc0000b080008000801011100ffc40014000100000000000000000000000000000003ffc40017100003010000000000000000"
      "000000000000030431ffda0008010100003f00091587ffd9";
constexpr std::string_view kProgressiveJpeg =
      "ffd8ffe000104a46494600010100000100010000ffdb004300281c1e231e19282321232d2b28303c64413c37373c7b585d4964918099968f808c8aa0b4e6c3a0aadaad8a8cc8"
      "ffcbdaeef5ffffff9bc1fffffffaffe6fdfff8ffc2000b080008000801011100ffc40014000100000000000000000000000000000003ffda00080101000000013fffc4001610"
      "00030000000000000000000000000000000102ffda0008010100010502947fffc40014100100000000000000000000000000000000ffda0008010100063f027fffc400141001"
      "00000000000000000000000000000000ffda0008010100013f215fffda0008010100000010ff00ffc4001510010100000000000000000000000000000031ffda000801010001"
      "3f109bffd9";

std::vector<std::string> pictures() {
  auto png = read_file(OPTIMA_SOURCE_DIR "/examples/digits/pictures/digit_3.png");
  REQUIRE(png.ok());
  return {*png, from_hex(kBaselineJpeg), from_hex(kProgressiveJpeg),
          text("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") + std::string(16, 'b'),
          text("\0\0\x0A\0\0\0\0\0\0\0\0\0\x04\0\x02\0\x18\0\x83\x01\x02\x03\x03") + std::string(12, 't'),
          text("GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xFF\xFF\xFF,\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0;"),
          text("8BPS\0\x01\0\0\0\0\0\0\0\x03\0\0\0\x02\0\0\0\x02\0\x08\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0") + std::string(12, 'd'),
          "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 2\n" + std::string(16, 'h')};
}

}  // namespace

TEST_CASE("mutated pictures of every format are refused or have the size they tell") {
  const std::vector<std::string> seeds = pictures();
  for (const std::string& seed : seeds) {
    const auto whole = stb::decode_image(bytes_of(seed), 3, "p");
    CHECK_MESSAGE(whole.ok(), seed.substr(0, 4), ": ", whole.status().message());
  }
  std::mt19937_64 random(5);
  int read = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string file = damaged(seeds[static_cast<size_t>(round) % seeds.size()], random);
    const auto got = stb::decode_image(bytes_of(file), round % 2 ? 3 : 1, "p");
    if (!got.ok()) continue;
    ++read;
    CHECK(got->data.size() == static_cast<size_t>(got->width) * static_cast<size_t>(got->height) * static_cast<size_t>(got->channels));
  }
  CHECK(read > kRounds / 20);
}

TEST_CASE("mutated deflate streams never write past their room") {
  // two arrays of a fixed-code block: literals and a match
  const std::string stream = text("\x4B\x4C\x4A\x4E\x49\x4D\x4B\x44\x23\0");
  std::mt19937_64 random(6);
  for (int round = 0; round < kRounds; ++round) {
    const std::string file = damaged(stream, random);
    std::vector<std::byte> room(1 + random() % 40);
    const uint64_t n = stb::inflate(bytes_of(file), room);
    CHECK((n == UINT64_MAX || n <= room.size()));
  }
}

TEST_CASE("mutated TensorProtos are refused or hold as many bytes as their shape says") {
  const std::string whole = text("\x08\x02\x08\x03\x10\x01\x42\x02in\x4A\x18") + std::string(24, 'f');
  const std::string packed = text("\x08\x03\x10\x07\x3A\x03\x01\x02\x03");
  const std::string single = text("\x08\x02\x10\x01\x25\0\0\x80\x3F\x25\0\0\0\x40");
  for (const std::string& seed : {whole, packed, single}) CHECK(read_tensor_proto(bytes_of(seed), "x").status().message() == "");
  std::mt19937_64 random(7);
  for (int round = 0; round < kRounds; ++round) {
    const std::string file = damaged(round % 3 == 0 ? whole : round % 3 == 1 ? packed : single, random);
    if (const auto t = read_tensor_proto(bytes_of(file), "x"); t.ok()) CHECK(byte_size(t->dtype, t->shape) == t->size);
  }
}
