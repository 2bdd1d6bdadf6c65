// SPDX-License-Identifier: Apache-2.0
// Operators one by one, the same codes in: how many codes that come out differ from the reference's, and by how many steps.
#include <doctest/doctest.h>

#include <fstream>
#include <string_view>

#include "tests/support/coded_units.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sophon_tools.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// By unit: Conv, Conv and Relu, depthwise, Add, MatMul, MaxPool, AveragePool, Concat, Relu, Sigmoid. Products are scaled by shifts.
constexpr CodeBound kBm1684x[] = {{0, 0}, {0, 0}, {0, 0}, {1, 0.3}, {0, 0}, {0, 0}, {1, 0.1}, {0, 0}, {0, 0}, {1, 0.01}};
constexpr CodeBound kBm1684[] = {{0, 0}, {0, 0}, {0, 0}, {1, 0.3}, {0, 0}, {0, 0}, {1, 0.5}, {0, 0}, {0, 0}, {1, 0.01}};

/// What the table leaves in floats is the border's: a and Y of a unit, and b where it is made of codes that come in, too, or is a Relu behind such.
void check_on_codes(const std::string& table) {
  std::ifstream in(table);
  for (std::string line; std::getline(in, line);) {
    CAPTURE(line);
    REQUIRE(line.size() > 1);
    REQUIRE(line[1] >= '0');
    REQUIRE(line[1] <= '9');
    const CodedUnit& u = coded_units()[static_cast<size_t>(line[1] - '0')];
    CHECK((line[0] == 'a' || line[0] == 'Y' || (line[0] == 'b' && (has_second(u) || std::string_view(u.what) == "Relu"))));
  }
}

}  // namespace

TEST_CASE("operators make of the same codes nearly those that the reference makes, on two chips") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const CodedModel model = coded_model_of_units(f);
  for (const std::string chip : {"bm1684x", "bm1684"}) {
    good({"compile", model.file, "-o", f / chip, "--name", "units", "--require-device", "TPU:0", "--option", "bmcompiler.chip=" + chip});
    check_on_codes(f / (chip + "/units/Subgraph_0/subgraph_0.qtable"));
    check_coded_units(model, f / (chip + "/units"), "units on " + chip, chip == "bm1684x" ? std::span<const CodeBound>(kBm1684x) : kBm1684);
  }
}
