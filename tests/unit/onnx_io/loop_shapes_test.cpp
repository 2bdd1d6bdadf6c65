// SPDX-License-Identifier: Apache-2.0
// Shapes that a Loop's carried values keep from trip to trip.
#include <doctest/doctest.h>

#include <regex>

#include "core/onnx_io/onnx_io.hpp"

using namespace optima;

namespace {

// A Loop over one or two carried values; gives "types of the node's outputs; types of the body's inputs after the first two".
std::string types(const std::string& inputs, const std::string& carried, const std::string& body) {
  const std::string text = "<ir_version: 10, opset_import: [\"\" : 21]> g (int64 n, bool c, " + inputs + ") => (int64 y) { " + carried + " <body = b " + body + "> y = Size(p) }";
  const auto g = onnx_io::load_text(text, "t");
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  const image::Node& loop = g->main().nodes[0];
  std::string out;
  for (uint32_t v : loop.outputs) out += type_text(g->main().values[v]) + " ";
  const image::Graph& inner = g->contents.graphs[loop.attrs[0].refs[0]];
  for (size_t k = 2; k < inner.inputs.size(); ++k) out += "; " + type_text(inner.values[inner.inputs[k]]);
  return std::regex_replace(out, std::regex("unk__[0-9]+"), "?");  // the library names what it does not know
}

}  // namespace

TEST_CASE("a shape that the body gives back as it came is the shape after any number of trips") {
  CHECK(types("float[2,4] x, float[4,4] w", "p, every = Loop(n, c, x)",
              "(int64 i, bool ci, float[] s) => (bool co, float[] t, float[] u) { co = Identity(ci) t = MatMul(s, w) u = Relu(t) }") == "f32[2,4] f32[?,2,4] ; f32[2,4]");
  CHECK(types("float[N,4] x", "p = Loop(n, c, x)", "(int64 i, bool ci, float[] s) => (bool co, float[] t) { co = Identity(ci) t = Relu(s) }") == "f32[N,4] ; f32[N,4]");
}

TEST_CASE("a dim that grows is unknown, the others stay") {
  CHECK(types("float[0,4] x, float[1,4] row", "p = Loop(n, c, x)",
              "(int64 i, bool ci, float[] s) => (bool co, float[] t) { co = Identity(ci) t = Concat<axis = 0>(s, row) }") == "f32[?,4] ; f32[?,4]");
}

TEST_CASE("what changes in a later trip only is not kept") {
  // The second value takes the first one's shape, the first a shape of its own: two rounds until both are known to change.
  CHECK(types("float[2,3] x, float[2,3] z, float[5,3] w", "p, q = Loop(n, c, x, z)",
              "(int64 i, bool ci, float[] s, float[] r) => (bool co, float[] t, float[] v) { co = Identity(ci) t = Identity(w) v = Relu(s) }") ==
        "f32[?,3] f32[?,3] ; f32[?,3]; f32[?,3]");
}

TEST_CASE("values that change places keep what they have in common") {
  CHECK(types("float[2,3] x, float[2,5] z", "p, q = Loop(n, c, x, z)",
              "(int64 i, bool ci, float[] s, float[] r) => (bool co, float[] t, float[] v) { co = Identity(ci) t = Relu(r) v = Relu(s) }") ==
        "f32[2,?] f32[2,?] ; f32[2,?]; f32[2,?]");
}

TEST_CASE("a rank that changes is unknown") {
  CHECK(types("float[2,3] x, int64[1] axes", "p = Loop(n, c, x)",
              "(int64 i, bool ci, float[] s) => (bool co, float[] t) { co = Identity(ci) t = Unsqueeze(s, axes) }") == "f32[*] ; f32[*]");
}
