// SPDX-License-Identifier: Apache-2.0
// Shapes of which some sizes are open: what follows from the others, and from no size being below zero.
#include "core/passes/partly_known.hpp"

#include <doctest/doctest.h>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "core/support/text.hpp"

using namespace optima;

namespace {

constexpr std::string_view kConstants =
    "<int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}, int64[1] at_one = {1}, int64[1] at_two = {2}, int64[3] sizes = {2, 1, 4}, int64[1] minus = {-1}>";

// What an If over (batch, 3, width) takes whose condition "c" these nodes make: "yes", "no", or "open" when that stays for the run.
std::string taken(const std::string& nodes, const std::string& more_inputs = "") {
  const std::string text = cat("<ir_version: 8, opset_import: [\"\" : 17]> g (float[batch,3,width] x", more_inputs, ") => (float[p,q,r] y) ", kConstants, " { s = Shape(x) ", nodes,
                               " y = If(c) <then_branch = t () => (float[p,q,r] a) { a = Exp(x) }, else_branch = e () => (float[p,q,r] b) { b = Abs(x) }> }");
  auto graph = onnx_io::load_text(text, "t");
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  passes::PassOptions options;
  options.verify = true;
  const auto done = passes::run_passes(std::move(*graph), options);
  REQUIRE_MESSAGE(done.ok(), done.status().message());
  const std::string& last = done->main().nodes.back().op_type;
  if (last != "If") CHECK(done->main().nodes.size() == 1);
  return last == "Exp" ? "yes" : last == "Abs" ? "no" : "open";
}

}  // namespace

TEST_CASE("a condition on a known size is known beside open ones, whichever way it is asked") {
  CHECK(taken("g = Gather(s, one) c = Equal(g, three)") == "yes");
  CHECK(taken("g = Gather(s, one) c = Equal(g, one)") == "no");
  CHECK(taken("g = Slice(s, at_one, at_two) h = Squeeze(g) c = Equal(h, three)") == "yes");
  CHECK(taken("g, h, i = Split<axis = 0>(s) j = Squeeze(h) c = Equal(j, three)") == "yes");
  CHECK(taken("g = Gather(s, at_one) h = Concat<axis = 0>(minus, g) i = Gather(h, one) c = Equal(i, three)") == "yes");
  CHECK(taken("g = Gather(s, one) h = Cast<to = 1>(g) i = Cast<to = 1>(three) j = Less(h, i) c = Not(j)") == "yes");
  CHECK(taken("e = Equal(s, sizes) c = Gather(e, one)") == "no");
  CHECK(taken("m = Mul(s, sizes) g = Gather(m, one) c = Greater(g, two)") == "yes");
  CHECK(taken("g = Gather(s, one) h = Add(g, one) i = Div(h, two) c = Equal(i, two)") == "yes");
  CHECK(taken("g = Gather(s, one) e = Equal(g, three) w = Where(e, one, zero) c = Cast<to = 9>(w)") == "yes");
}

TEST_CASE("the rank alone decides") {
  CHECK(taken("r = Size(s) c = Equal(r, three)") == "yes");
  CHECK(taken("r = Shape(s) q = Squeeze(r) c = Less(q, three)") == "no");
}

TEST_CASE("a conjunction is false where one side is, and all sizes are equal only where each may be") {
  CHECK(taken("g = Gather(s, zero) h = Gather(s, one) d = Equal(g, one) e = Equal(h, one) c = And(d, e)") == "no");
  CHECK(taken("g = Gather(s, zero) h = Gather(s, one) d = Equal(g, one) e = Equal(h, three) c = Or(d, e)") == "yes");
  CHECK(taken("g = Gather(s, zero) h = Gather(s, one) d = Equal(g, one) e = Equal(h, three) c = And(d, e)") == "open");
  CHECK(taken("e = Equal(s, sizes) i = Cast<to = 6>(e) m = ReduceMin<keepdims = 0>(i) c = Cast<to = 9>(m)") == "no");
}

TEST_CASE("no size is below zero, and more is not known of an open one") {
  CHECK(taken("g = Gather(s, two) m = Squeeze(minus) c = Equal(g, m)") == "no");
  CHECK(taken("g = Gather(s, two) c = GreaterOrEqual(g, zero)") == "yes");
  CHECK(taken("g = Gather(s, two) c = Less(g, one)") == "open");
  CHECK(taken("g = Gather(s, two) h = Mul(g, g) i = Mul(h, g) c = GreaterOrEqual(i, zero)") == "open");  // may leave 64 bits
  CHECK(taken("g = Gather(s, two) h = Mul(g, g) c = GreaterOrEqual(h, zero)") == "yes");
  CHECK(taken("g = Gather(s, zero) h = Gather(s, two) c = Equal(g, h)") == "open");
  CHECK(taken("g = Gather(s, two) h = Cast<to = 6>(g) i = Add(h, h) z = Cast<to = 6>(zero) c = GreaterOrEqual(i, z)") == "open");  // may wrap around
  CHECK(taken("g = Gather(s, two) h = Cast<to = 6>(g) z = Cast<to = 6>(zero) c = GreaterOrEqual(h, z)") == "yes");
}

TEST_CASE("more elements than are followed are left alone") {
  const auto graph = onnx_io::load_text(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[n,0,256,256,256,256,256,256,256,256] x) => (int64[k] y) <int64[1] minus = {-1}> {
    s = Shape(x) c = ConstantOfShape <value = int64[1] {2}> (s) y = Reshape(c, minus) })", "t");
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  CHECK(passes::run_passes(*graph, {}).ok());
}

TEST_CASE("a body knows of what it captures what is known outside") {
  CHECK(taken(R"(g = Gather(s, zero) h = Gather(s, at_one) i = Unsqueeze(g, minus) j = Concat<axis = 0>(i, h)
    c = If(p) <then_branch = t2 () => (bool k) { l = Gather(j, one) k = Equal(l, three) }, else_branch = e2 () => (bool m) { n = Gather(j, one) m = Equal(n, one) }>)",
              ", bool p") == "open");
  const auto graph = onnx_io::load_text(cat(R"(<ir_version: 8, opset_import: ["" : 17]> g (bool p, float[batch,3] x) => (float[b,k] y) )", kConstants, R"( {
    s = Shape(x) m = Mul(s, three)
    y = If(p) <then_branch = t () => (float[b,k] a) {
      g = Gather(m, one) h = Concat<axis = 0>(minus, minus) c = Greater(g, two)
      a = If(c) <then_branch = t2 () => (float[b,k] u) { u = Exp(x) }, else_branch = e2 () => (float[b,k] v) { v = Abs(x) }> },
      else_branch = e () => (float[b,k] w) { w = Neg(x) }> })"), "t");
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  const auto done = passes::run_passes(*graph, {});
  REQUIRE(done.ok());
  for (const image::Graph& g : done->contents.graphs)
    for (const image::Node& n : g.nodes) CHECK(n.op_type != "Abs");
}
