// SPDX-License-Identifier: Apache-2.0
// sdk: some nodes as a graph of their own, as a vendor's tools are asked about them.
#include <doctest/doctest.h>

#include "optima/plugin/cut.hpp"
#include "tests/support/seam_host.hpp"

using namespace optima;
using sdk::Cut;
using sdk::Graph;
using sdk::Node;

namespace {

image::Value value(const char* name) { return {name, OPTIMA_F32, std::vector<image::Dim>{{2, ""}}}; }

/// x -> Relu a -> Neg b, Abs c.
seam::Model model() {
  image::Graph g{"g", {value("x"), value("a"), value("b"), value("c")}, {}, {0}, {2, 3}, {}};
  g.nodes.push_back({"relu", "Relu", "", 1, 14, {0}, {1}, {}});
  g.nodes.push_back({"neg", "Neg", "", 2, 13, {1}, {2}, {}});
  g.nodes.push_back({"abs", "Abs", "", 3, 13, {1}, {3}, {}});
  return seam::Model(image::pack({{g}, {}, {{"", 21}}}));
}

std::string names(const Graph& g, bool outputs) {
  std::string all;
  for (uint32_t k = 0; k < (outputs ? g.output_count() : g.input_count()); ++k) all += std::string(outputs ? g.output(k).name() : g.input(k).name()) + " ";
  return all;
}

}  // namespace

TEST_CASE("a cut's outputs are all that its nodes make, or what somebody else reads and what nobody reads") {
  const seam::Model m = model();
  const Graph g(&m.raw);
  const Cut all(&m.raw, {g[0], g[1]}), read(&m.raw, {g[0], g[1]}, sdk::CutOutputs::Read), whole(&m.raw, {g[0], g[1], g[2]}, sdk::CutOutputs::Read);
  CHECK(names(Graph(all.raw()), false) == "x ");
  CHECK(names(Graph(all.raw()), true) == "a b ");
  CHECK(names(Graph(read.raw()), true) == "a b ");
  CHECK(names(Graph(whole.raw()), true) == "b c ");
}

TEST_CASE("pieces of a cut share no value and no node, though they are of one graph") {
  const seam::Model m = model();
  const Graph g(&m.raw);
  const Cut pieces(&m.raw, std::vector<std::vector<Node>>{{g[0], g[1]}, {g[0], g[2]}, {g[1]}});
  const Graph made(pieces.raw());
  CHECK(names(made, false) == "x/0 x/1 a/2 ");
  CHECK(names(made, true) == "b/0 c/1 b/2 ");
  REQUIRE(made.size() == 5);
  CHECK(made[0].name() == "relu/0");
  CHECK(made[2].name() == "relu/1");
  for (uint32_t k = 1; k < made.size(); ++k) CHECK(made[k].id() != made[0].id());
}
