// SPDX-License-Identifier: Apache-2.0
// How the work of split() grows, in instructions counted by callgrind: no clock is involved.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima::test;

namespace {

bool have_valgrind() { return run({"/bin/sh", "-c", "command -v valgrind"}).code == 0; }

uint64_t instructions(const std::string& family, int units, int devices) {
  const TempFolder folder;
  const std::string counts = folder.path() + "/counts";
  const auto done = run({"valgrind", "--tool=callgrind", "--callgrind-out-file=" + counts, "--toggle-collect=optima::split(optima::SplitProblem const&)",
                         std::string(OPTIMA_BINARY_DIR) + "/bin/split_growth", family, std::to_string(units), std::to_string(devices)});
  REQUIRE(done.code == 0);
  std::ifstream file(counts);
  for (std::string line; std::getline(file, line);)
    if (line.rfind("totals: ", 0) == 0) return std::stoull(line.substr(8));
  FAIL("callgrind wrote no totals");
  return 0;
}

void check_growth(const std::string& family, int units, int devices) {
  const uint64_t once = instructions(family, units, devices), twice = instructions(family, 2 * units, devices);
  const double ratio = static_cast<double>(twice) / static_cast<double>(once);
  MESSAGE(family << ", " << devices << " devices: " << units << " units " << once << " instructions, twice as many units " << ratio << " times that");
  CHECK(once > 1000);
  CHECK(ratio <= 2.2);
}

}  // namespace

TEST_CASE("twice the units take at most 2.2 times the instructions") {
  if (!have_valgrind()) {
    MESSAGE("SKIP: no valgrind, which counts the instructions");
    return;
  }
  for (const char* family : {"window", "global", "few-pins", "series-parallel"}) check_growth(family, 8000, 2);
  check_growth("few-pins", 2000, 3);
}
