// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "core/onnx_io/onnx_io.hpp"
#include "reference/shapes.hpp"
#include "reference/tensor.hpp"

using namespace optima;
using reference::Dims;
using reference::ShapeWalk;
using reference::Tensor;

namespace {

/// A graph from ONNX text, and its walk.
class Walked {
 public:
  explicit Walked(const std::string& body) : graph_(read(body)), packed_(pack(graph_)), walk(packed_.raw) {}

  uint32_t value(std::string_view name) const {
    const optima_image* image = packed_.raw.image;
    for (uint32_t v = 0; v < image->values.count; ++v)
      if (sdk::view(optima_string(image, &optima_get_value(image, v)->name)) == name) return v;
    FAIL("no value " << name);
    return OPTIMA_NONE;
  }
  Walked& give(std::string_view name, const Tensor& t) { return walk.give(value(name), t), *this; }
  Walked& floats(std::string_view name, Dims dims) { return give(name, shape_of(OPTIMA_F32, std::move(dims))); }
  Dims dims(std::string_view name) const {
    REQUIRE_MESSAGE(walk.has_shape(value(name)), name);
    return walk.at(value(name)).dims;
  }
  std::string stopped_at(size_t k) const {
    return std::string(sdk::view(optima_string(packed_.raw.image, &optima_get_node(packed_.raw.image, walk.stops().at(k).node)->op_type)));
  }
  static Tensor shape_of(int32_t dtype, Dims dims) {
    Tensor t;
    t.dtype = dtype, t.dims = std::move(dims);
    return t;
  }

 private:
  static Graph read(const std::string& body) {
    Result<Graph> graph = onnx_io::load_text("<ir_version: 9, opset_import: [\"\" : 18]>\n" + body, "walked");
    REQUIRE_MESSAGE(graph, std::string(graph ? "" : graph.status().message()));
    return std::move(*graph);
  }
  Graph graph_;
  PackedGraph packed_;

 public:
  ShapeWalk walk;
};

constexpr const char* kFlat = R"(
flat (float[n, c, h, w] x) => (float[a, b] y) {
  shape = Shape(x)
  zero = Constant <value = int64 {0}> ()
  rest = Constant <value = int64[1] {-1}> ()
  axes = Constant <value = int64[1] {0}> ()
  n0 = Gather(shape, zero)
  n1 = Unsqueeze(n0, axes)
  to = Concat <axis = 0> (n1, rest)
  y = Reshape(x, to)
})";

}  // namespace

TEST_CASE("what is known of equal layers is one, and of others it is their own") {
  Walked g(R"(
layers (float[a, n] x, float[b, n] y, float[c, n] z) => (float[d, e] p, float[f, g] q, float[h, i] r, float[j, k] s, float[l, m] t) {
  p = Concat <axis = 0> (x, x)
  q = Concat <axis = 0> (y, y)
  r = Concat <axis = 1> (y, y)
  s = Concat <axis = 0> (z, z)
  t = Concat <axis = 0> (y, y, y)
})");
  const auto known = [&](std::string_view name) { return &g.walk.at(g.value(name)); };
  g.floats("x", {3, 4}).floats("y", {3, 4}).floats("z", {2, 4}).walk.advance();
  CHECK(known("x") == known("y"));
  CHECK(known("p") == known("q"));
  CHECK(g.dims("q") == Dims{6, 4});
  CHECK(g.dims("r") == Dims{3, 8});
  CHECK(g.dims("s") == Dims{4, 4});
  CHECK(g.dims("t") == Dims{9, 4});
  std::vector<ShapeWalk::Change> changed;
  REQUIRE(g.walk.again({{g.value("z"), Walked::shape_of(OPTIMA_F32, {3, 4})}, {g.value("y"), Walked::shape_of(OPTIMA_F32, {5, 4})}}, changed));
  CHECK(known("p") != known("q"));
  CHECK(g.dims("p") == Dims{6, 4});
  CHECK(g.dims("q") == Dims{10, 4});
  CHECK(g.dims("s") == Dims{6, 4});
  CHECK(g.dims("t") == Dims{15, 4});
}

TEST_CASE("elements that are lent stay with the value that they were given for") {
  Walked g(R"(
two (int64[2] a, int64[2] b, float[n] x) => (float[p, q] y, float[r, s] z) {
  y = Reshape(x, a)
  z = Reshape(x, b)
})");
  const std::vector<int64_t> to_a{2, 3}, to_b{2, 3};
  const auto lent = [](const std::vector<int64_t>& of) {
    Tensor t = Walked::shape_of(OPTIMA_I64, {2});
    t.data = of.data(), t.size = of.size() * sizeof(int64_t);
    return t;
  };
  g.floats("x", {6}).give("a", lent(to_a)).give("b", lent(to_b)).walk.advance();
  CHECK(g.walk.at(g.value("a")).data == to_a.data());
  CHECK(g.walk.at(g.value("b")).data == to_b.data());
  CHECK(g.dims("y") == Dims{2, 3});
  CHECK(g.dims("z") == Dims{2, 3});
}

TEST_CASE("numbers are found by hash and by what they are, as many as there is room for") {
  reference::Found found;
  found.clear(3);
  const auto is = [](uint32_t wanted) { return [wanted](uint32_t number) { return number % 10 == wanted % 10; }; };
  CHECK(found.find_or_put(7, 1, is(1)) == 1);
  CHECK(found.find_or_put(7, 2, is(2)) == 2);    // the same hash, another thing
  CHECK(found.find_or_put(7, 11, is(11)) == 1);  // the same thing
  for (uint32_t k = 20; k < 40; ++k) CHECK(found.find_or_put(k * 8, k, [](uint32_t) { return false; }) == k);  // no room for most
  found.clear(3);
  CHECK(found.find_or_put(7, 11, is(11)) == 11);
}

TEST_CASE("sizes computed from shapes are numbers where a shape needs them, at every new shape") {
  Walked g(kFlat);
  for (const int64_t n : {1, 3, 70000}) {
    g.walk.restart();
    g.floats("x", {n, 2, 3, 5}).walk.advance();
    CHECK(g.walk.stops().empty());
    CHECK(g.dims("y") == Dims{n, 30});
    CHECK(reference::load<int64_t>(g.walk.at(g.value("to"))) == Dims{n, -1});
    CHECK(!g.walk.has_elements(g.value("y")));
  }
}

TEST_CASE("what hangs on elements stops the walk at that node alone, and goes on from there when they are given") {
  Walked g(R"(
pick (float[n] x, int64[k] at, float[m] z) => (float[a] y, float[b] u) {
  r = Relu(x)
  y0 = Reshape(r, at)
  y = Abs(y0)
  u = Neg(z)
})");
  g.floats("x", {6}).give("at", Walked::shape_of(OPTIMA_I64, {2})).floats("z", {4}).walk.advance();
  REQUIRE(g.walk.stops().size() == 1);
  CHECK(g.stopped_at(0) == "Reshape");
  CHECK(g.walk.stops()[0].wants == 1);
  CHECK(g.dims("u") == Dims{4});
  CHECK(!g.walk.has_shape(g.value("y")));
  g.give("at", reference::make_ints({2}, {2, -1})).walk.advance();
  CHECK(g.walk.stops().empty());
  CHECK(g.dims("y") == Dims{2, 3});
}

TEST_CASE("where only running tells, the caller's answer is taken; small known tensors are computed") {
  const char* text = R"(
found (float[n] x, int64[k] at) => (int64[1, a] y, int64[1, b] z) {
  y0 = NonZero(x)
  y = Abs(y0)
  z = NonZero(at)
})";
  Walked g(text);
  g.floats("x", {6}).give("at", reference::make_ints({3}, {1, 0, 1})).walk.advance();
  REQUIRE(g.walk.stops().size() == 1);
  CHECK(g.walk.stops()[0].wants == OPTIMA_NONE);
  CHECK(g.dims("z") == Dims{1, 2});
  g.give("y0", Walked::shape_of(OPTIMA_I64, {1, 4})).walk.advance();
  CHECK(g.walk.stops().empty());
  CHECK(g.dims("y") == Dims{1, 4});
}

TEST_CASE("an If whose condition is a size is walked through the branch it takes; another condition stops there") {
  const char* text = R"(
fork (float[h, w] x, bool data) => (float[a] y, float[b] z) {
  shape = Shape(x)
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  h0 = Gather(shape, zero)
  tall = Greater(h0, one)
  y = If (tall) <
    then_branch = yes () => (float[c, d] t) { t = Transpose(x) },
    else_branch = no () => (float[e] s) { s = Squeeze(x) }
  >
  z = If (data) <
    then_branch = yes2 () => (float[f] t2) { flat = Constant <value = int64[1] {-1}> () t2 = Reshape(x, flat) },
    else_branch = no2 () => (float[g] s2) { first = Constant <value = int64[1] {0}> () s2 = ReduceSum <keepdims = 0> (x, first) }
  >
})";
  Walked g(text);
  for (const bool tall : {true, false}) {
    g.walk.restart();
    g.floats("x", {tall ? 3 : 1, 5}).give("data", Walked::shape_of(OPTIMA_BOOL, {})).walk.advance();
    CHECK(g.dims("y") == (tall ? Dims{5, 3} : Dims{5}));
    REQUIRE(g.walk.stops().size() == 1);
    CHECK(g.stopped_at(0) == "If");
    CHECK(g.walk.branches().size() == 1);
    g.give("data", reference::scalar_bool(true)).walk.advance();
    CHECK(g.walk.stops().empty());
    CHECK(g.walk.branches().size() == 2);
    CHECK(g.dims("z") == Dims{tall ? 15 : 5});
  }
}

TEST_CASE("a large constant is read when a shape hangs on it") {
  std::string bits = "1";
  for (int k = 1; k < 1100; ++k) bits += k % 2 ? ", 1" : ", 0";
  Walked g("kept (float[n] x) => (float[m] y) {\n keep = Constant <value = bool[1100] {" + bits + "}> ()\n y = Compress <axis = 0> (x, keep)\n}");
  g.floats("x", {1100}).walk.advance();
  CHECK(g.walk.stops().empty());
  CHECK(g.dims("y") == Dims{551});
}

TEST_CASE("what cannot be computed on the way is left to who runs the node") {
  Walked g(R"(
torn (float[n] x, int64[1] by) => (float[m] y) {
  shape = Shape(x)
  to = Div(shape, by)
  y = Reshape(x, to)
})");
  g.floats("x", {6}).give("by", reference::make_ints({1}, {0})).walk.advance();
  REQUIRE(g.walk.stops().size() == 1);
  CHECK(g.stopped_at(0) == "Reshape");
  g.give("by", reference::make_ints({1}, {1})).walk.advance();
  CHECK(g.walk.stops().empty());
  CHECK(g.dims("y") == Dims{6});
}

TEST_CASE("a contradiction names the node, and a new start forgets it") {
  Walked g(R"(
joined (float[a, b] x, float[c, d] z) => (float[e, f] y) {
  y = Add(x, z)
})");
  g.floats("x", {4, 79}).floats("z", {4, 78});
  CHECK_THROWS_WITH_AS(g.walk.advance(), doctest::Contains("shapes [4, 79] and [4, 78] do not broadcast"), Error);
  g.walk.restart();
  g.floats("x", {4, 79}).floats("z", {1, 79}).walk.advance();
  CHECK(g.dims("y") == Dims{4, 79});
}
