// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "core/graph/names.hpp"

using optima::NamedOp;
using Names = std::vector<std::string>;

TEST_CASE("a name that one node has stays, the others get operator and running number") {
  const std::vector<NamedOp> nodes = {{"a", "Conv"}, {"", "Conv"}, {"twin", "Add"}, {"twin", "Relu"}, {"", "Conv"}};
  CHECK(optima::stable_names(nodes) == Names{"a", "conv_2", "add_1", "relu_1", "conv_3"});
}

TEST_CASE("a generated name steps over names that the model uses itself") {
  const std::vector<NamedOp> nodes = {{"", "Conv"}, {"conv_2", "Relu"}, {"", "Conv"}, {"", "Conv"}};
  CHECK(optima::stable_names(nodes) == Names{"conv_1", "conv_2", "conv_3", "conv_4"});
}

TEST_CASE("generated names are unique when operators differ only in case") {
  const std::vector<NamedOp> nodes = {{"", "conv"}, {"", "Conv"}};
  const Names names = optima::stable_names(nodes);
  CHECK(names[0] != names[1]);
}

TEST_CASE("a fresh name is not among those taken") {
  std::unordered_set<std::string> taken = {"cast_1"};
  CHECK(optima::fresh_name("Cast", taken) == "cast_2");
  CHECK(optima::fresh_name("Cast", taken) == "cast_3");
}
