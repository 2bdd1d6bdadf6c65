// SPDX-License-Identifier: Apache-2.0
// Splits one problem: split_growth FAMILY UNITS DEVICES. Run under callgrind by growth_test.cpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/split_families.hpp"

int main(int argc, char** argv) {
  for (const optima::test::Family& family : optima::test::kFamilies) {
    if (argc != 4 || std::strcmp(argv[1], family.name) != 0) continue;
    const auto units = static_cast<uint32_t>(std::atoi(argv[2])), devices = static_cast<uint32_t>(std::atoi(argv[3]));
    optima::test::Random random(1);
    const optima::SplitProblem problem = family.make(random, units, devices).build(devices);
    std::printf("%zu\n", optima::split(problem).devices.size());
    return 0;
  }
  return 2;
}
