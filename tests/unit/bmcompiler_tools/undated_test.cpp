// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: files freed of their time; hostile ones are refused.
#include "plugins/bmcompiler/toolchain/undated.hpp"

#include <cstring>

#include "tools.hpp"

using namespace optima::test;

namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
    out += two;
  }
  return out;
}

}  // namespace

TEST_CASE("MD5 sums are those of RFC 1321") {
  CHECK(hex(bm::md5("")) == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(hex(bm::md5("abc")) == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(hex(bm::md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890")) == "57edf4a22be3c955ac49da2e2107b67a");
}

TEST_CASE("a file that is no model, or has no time, is refused and left as it is") {
  const TempFolder f;
  for (const std::string& bytes : {std::string("nothing"), std::string("CviModel"), std::string("\xEE\xAA\x55\xFF", 4) + std::string(60, '\0'),
                                   std::string("\xEE\xAA\x55\xFF", 4) + std::string(60, '\0') + std::string(64, '\xFF'),
                                   std::string("\xEE\xAA\x55\xFF", 4) + std::string(60, '\0') + std::string(200, '\x04')}) {
    const std::string path = f.file("model", bytes);
    CHECK(failure([&] { bm::undate(path); }).first == OPTIMA_TOOL_FAILED);
    CHECK(bm::bytes_of(path) == bytes);
  }
  CHECK(failure([&] { bm::undate(f.file("cut", "CviModel")); }).second == "the tools wrote a file of 8 bytes, wanted one that goes on to byte 52");
  CHECK(failure([&] { bm::undate(f.file("text", "nothing")); }).second == "the tools wrote a file that begins as neither a bmodel nor a cvimodel does");
}
