// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: a damaged bmodel is read or refused as corrupt, and nothing else happens.
#include <doctest/doctest.h>

#include <random>

#include "plugins/bmcompiler/bmodel/bmodel.hpp"
#include "tests/unit/bmcompiler_bmodel/sample.hpp"

using namespace optima;
using namespace optima::test;
using namespace bmcompiler_plugin;

namespace {

/// Whether it was refused; anything but CORRUPT fails the test.
bool refused(const std::string& bytes) {
  try {
    describe(read_bmodel(bytes));
    return false;
  } catch (const sdk::Error& e) {
    REQUIRE(e.code == OPTIMA_CORRUPT);
    return true;
  }
}

}  // namespace

TEST_CASE("a bmodel that ends early is refused wherever it ends") {
  const std::string bytes = BmodelSample().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) REQUIRE(refused(bytes.substr(0, size)));
  CHECK(!refused(bytes));
}

TEST_CASE("a changed bit anywhere in a bmodel's header and table does no harm") {
  const std::string whole = BmodelSample().bytes();
  const size_t end = whole.size() - BmodelSample().blobs;
  size_t found = 0;
  for (size_t at = 0; at < end; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      found += refused(bytes);
    }
  CHECK(found > end / 4);
}

TEST_CASE("random numbers in a bmodel's table do no harm") {
  const std::string whole = BmodelSample().bytes();
  std::mt19937 random(5);
  for (int k = 0; k < 20000; ++k) {
    std::string bytes = whole;
    for (int n = 0; n < 3; ++n) {
      const size_t at = 64 + random() % (whole.size() - BmodelSample().blobs - 64 - 4);
      const uint32_t values[] = {0, 0xffffffff, 0x7fffffff, 0x80000000, static_cast<uint32_t>(random()), static_cast<uint32_t>(random() % 512)};
      BmodelSample::put<uint32_t>(bytes, at, values[random() % 6]);
    }
    refused(bytes);
  }
}

TEST_CASE("a bmodel that lies at an odd address is read as any") {
  const std::string moved = "x" + BmodelSample().bytes();
  CHECK(read_bmodel(std::string_view(moved).substr(1)).nets.size() == 1);
}
