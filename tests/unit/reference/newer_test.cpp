// SPDX-License-Identifier: Apache-2.0
// Operators of which ONNX has had no more than one form yet, or that draw numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "reference/shapes.hpp"
#include "reference/tensor.hpp"
#include "tests/unit/reference/node.hpp"

using namespace optima::test;
namespace image = optima::image;
namespace reference = optima::reference;

namespace {

const Tensor kNone;

Tensor zeros_of(Ints dims) { return f32(dims, std::vector<float>(static_cast<size_t>(reference::count(dims)), 0.0f)); }

OneNode linear(const char* rule, int64_t q_heads = 1, int64_t heads = 1) {
  return OneNode("LinearAttention", 27, 2).integer("q_num_heads", q_heads).integer("kv_num_heads", heads).text("update_rule", rule).real("scale", 1);
}

}  // namespace

TEST_CASE("Col2Im adds where blocks overlap, integers too, and says how many blocks there must be") {
  const Tensor x = i64({1, 2, 2}, {1, 2, 30, 40});  // blocks of two over a line of three
  CHECK(ints(OneNode("Col2Im", 18)({x, i64({1}, {3}), i64({1}, {2})})) == Ints{1, 32, 40});
  CHECK(OneNode("Col2Im", 18).refusal({x, i64({1}, {4}), i64({1}, {2})}, OPTIMA_INVALID_GRAPH) ==
        "Col2Im node 'n': input 0 has shape [1, 2, 2], its dim 2 must be the 3 blocks of the image");
  CHECK(OneNode("Col2Im", 18).refusal({x, i64({1}, {4}), i64({1}, {3})}, OPTIMA_INVALID_GRAPH) ==
        "Col2Im node 'n': input 0 has shape [1, 2, 2], its dim 1 must be a multiple of the 3 elements of a block");
  CHECK(OneNode("Col2Im", 18).refusal({x, i64({2}, {4, 4}), i64({1}, {2})}, OPTIMA_INVALID_GRAPH).find("must be as many sizes") != std::string::npos);
  CHECK(OneNode("Col2Im", 18).refusal({x, i64({1}, {INT64_MAX}), i64({1}, {2})}, OPTIMA_MEMORY).find("more elements") != std::string::npos);
}

TEST_CASE("NonMaxSuppression of any float type takes the best boxes that share no more than the threshold with a better one") {
  const std::vector<double> boxes{0, 0, 2, 2, 0, 0, 2, 3, 5, 5, 7, 7, 2, 3, 0, 0, 0, 0, 0, 0}, scores{0.5, 0.75, 0.25, 0.75, 1};
  for (const int32_t dtype : {OPTIMA_F32, OPTIMA_F64, OPTIMA_F16, OPTIMA_BF16}) {
    CAPTURE(dtype);
    const Tensor b = reference::store<double>(dtype, {1, 5, 4}, boxes), s = reference::store<double>(dtype, {1, 1, 5}, scores);
    const auto left = [&](int64_t most, float overlap, std::vector<Tensor> least = {}) {
      std::vector<Tensor> in{b, s, i64({1}, {most}), f32({1}, {overlap})};
      in.insert(in.end(), least.begin(), least.end());
      const Ints out = ints(OneNode("NonMaxSuppression", 11)(in));
      Ints of;
      for (size_t k = 2; k < out.size(); k += 3) of.push_back(out[k]);
      return of;
    };
    CHECK(left(9, 0.5f) == Ints{4, 1, 2});        // the fourth, the second turned round, comes after it; the last has no area, and lies on none
    CHECK(left(9, 0.7f) == Ints{4, 1, 0, 2});     // two thirds are shared with the first
    CHECK(left(9, 1.0f) == Ints{4, 1, 3, 0, 2});
    CHECK(left(2, 0.7f) == Ints{4, 1});
    CHECK(left(0, 0.7f) == Ints{});
    CHECK(left(9, 0.7f, {f32({1}, {0.5f})}) == Ints{4, 1});
  }
  const std::vector<float> odd{-1, NAN, -0.0f, 0, INFINITY, -INFINITY, NAN};
  const Tensor apart = f32({1, 7, 4}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13});
  for (const int32_t dtype : {OPTIMA_F32, OPTIMA_F64}) {
    CAPTURE(dtype);
    const Tensor b = reference::store<double>(dtype, {1, 7, 4}, reference::load<double>(apart)), s = reference::store<double>(dtype, {1, 1, 7}, std::vector<double>(odd.begin(), odd.end()));
    CHECK(ints(OneNode("NonMaxSuppression", 11)({b, s, i64({1}, {9})})) == Ints{0, 0, 1, 0, 0, 6, 0, 0, 4, 0, 0, 2, 0, 0, 3, 0, 0, 0, 0, 0, 5});
  }
}

TEST_CASE("DeformConv reads between the elements, zeros beyond them, and nowhere for an offset that is no number") {
  const Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4}), w = f32({1, 1, 1, 1}, {10});
  const auto at = [&](float down, float right) {
    std::vector<float> offset(8, 0.0f);
    offset[0] = down, offset[4] = right;  // of the first place alone
    return floats(OneNode("DeformConv", 22)({x, w, f32({1, 2, 2, 2}, offset)}))[0];
  };
  CHECK(at(0, 0) == 10);
  CHECK(at(0.5f, 0.5f) == 25);
  CHECK(at(-0.5f, 0) == 5);
  CHECK(at(-1, 0) == 0);
  CHECK(at(1.5f, 0) == 15);
  CHECK(at(NAN, 0) == 0);
  CHECK(at(INFINITY, 0) == 0);
  CHECK(OneNode("DeformConv", 22).integer("offset_group", 2).refusal({x, w, zeros_of({1, 2, 2, 2})}, OPTIMA_INVALID_GRAPH) ==
        "DeformConv node 'n': offset_group is 2, which does not divide 1 channels");
  CHECK(OneNode("DeformConv", 22).refusal({x, w, zeros_of({1, 2, 2, 1})}, OPTIMA_INVALID_GRAPH) == "DeformConv node 'n': offset has shape [1, 2, 2, 1], must be [1, 2, 2, 2]");
  CHECK(OneNode("DeformConv", 22).refusal({x, w, zeros_of({1, 2, 2, 2}), kNone, zeros_of({1, 2, 2, 2})}, OPTIMA_INVALID_GRAPH) ==
        "DeformConv node 'n': mask has shape [1, 2, 2, 2], must be [1, 1, 2, 2]");
}

TEST_CASE("samples of many axes are refused, for each of them doubles what is read") {
  Ints many(62, 1), grid(62, 1);
  grid.back() = 60;
  CHECK(OneNode("GridSample", 20).text("padding_mode", "border").refusal({zeros_of(many), zeros_of(grid)}, OPTIMA_INVALID_GRAPH) ==
        "GridSample node 'n': input 0 has 60 spatial dims, must be 8 or fewer");
}

TEST_CASE("a cubic sample beyond the border leans on elements of the border, not on those within alone") {
  const Tensor x = f32({1, 1, 1, 4}, {0, 1, 4, 9});
  const auto at = [&](float place) {
    return floats(OneNode("GridSample", 20).text("mode", "cubic").text("padding_mode", "border").integer("align_corners", 1)({x, f32({1, 1, 1, 2}, {place, -1})}))[0];
  };
  CHECK(at(-1) == 0);
  CHECK(at(-1 - 1 / 3.0f) == doctest::Approx(-0.09375f));  // half an element away: -3/32 of the step from the first to the second
  CHECK(at(-5) == 0);
  CHECK(at(1e30f) == 9);
}

TEST_CASE("AffineGrid names the last axis first and wants a size for every matrix") {
  const Tensor theta = f32({1, 2, 3}, {1, 0, 0.25f, 0, 1, 0});
  CHECK(floats(OneNode("AffineGrid", 20).integer("align_corners", 1)({theta, i64({4}, {1, 1, 1, 2})})) == std::vector<float>{-0.75f, -1, 1.25f, -1});
  CHECK(OneNode("AffineGrid", 20)({theta, i64({4}, {1, 1, 0, 2})}).dims == Ints{1, 0, 2, 2});
  CHECK(OneNode("AffineGrid", 20).refusal({theta, i64({4}, {2, 1, 1, 2})}, OPTIMA_INVALID_GRAPH) == "AffineGrid node 'n': theta has shape [1, 2, 3], must be [2, 2, 3]");
  CHECK(OneNode("AffineGrid", 20).refusal({theta, i64({3}, {1, 1, 1})}, OPTIMA_INVALID_GRAPH) == "AffineGrid node 'n': size is [1, 1, 1], must have 4 or 5 numbers");
}

TEST_CASE("Det changes sign with rows that change places") {
  CHECK(floats(OneNode("Det", 22)({f32({2, 2, 2}, {0, 2, 3, 0, 3, 0, 0, 2})})) == std::vector<float>{-6, 6});
  CHECK(floats(OneNode("Det", 22)({f32({0, 0}, {})})) == std::vector<float>{1});
  CHECK(OneNode("Det", 22).refusal({zeros_of({2, 3})}, OPTIMA_INVALID_GRAPH) == "Det node 'n': input 0 has shape [2, 3], must be square matrices");
}

TEST_CASE("TfIdfVectorizer counts pairs with others between them, of strings too") {
  OneNode words("TfIdfVectorizer", 9);
  words.text("mode", "TF").integer("min_gram_length", 2).integer("max_gram_length", 2).integer("max_skip_count", 1).list("ngram_counts", {0, 0}).list("ngram_indexes", {1, 0});
  OneNode numbers = words;
  numbers.list("pool_int64s", {1, 2, 2, 1});
  CHECK(floats(OneNode(numbers)({i64({5}, {1, 2, 2, 3, 1})})) == std::vector<float>{1, 2});
  words.texts("pool_strings", {"a", "b", "b", "a"});
  CHECK(floats(OneNode(words)({reference::make_strings({2, 3}, {"a", "b", "b", "b", "c", "a"})})) == std::vector<float>{0, 2, 1, 0});
  CHECK(OneNode(words).refusal({i64({1}, {1})}, OPTIMA_INVALID_GRAPH) == "TfIdfVectorizer node 'n': input 0 is i64, the pool holds strings");
  CHECK(OneNode(numbers).list("weights", {}).refusal({i64({1, 1, 1}, {1})}, OPTIMA_INVALID_GRAPH).find("input 0 has rank 3, must be 1 or 2") != std::string::npos);
  OneNode uneven("TfIdfVectorizer", 9);
  uneven.text("mode", "TF").list("ngram_counts", {0, 1}).list("ngram_indexes", {0, 1}).list("pool_int64s", {1, 2, 3, 4});
  CHECK(OneNode(uneven).refusal({i64({1}, {1})}, OPTIMA_INVALID_GRAPH) == "TfIdfVectorizer node 'n': ngram_counts is [0, 1], which does not divide a pool of 4");
}

TEST_CASE("LinearAttention fades its state, and corrects what it holds of a key already") {
  const Tensor q = f32({1, 2, 1}, {1, 1}), k = q, v = f32({1, 2, 1}, {3, 5}), half = f32({1, 2, 1}, {std::log(0.5f), std::log(0.5f)}), one = f32({1, 2, 1}, {1, 1});
  CHECK(floats(linear("linear")({q, k, v})) == std::vector<float>{3, 8});
  CHECK(floats(linear("gated")({q, k, v, kNone, half}))[1] == doctest::Approx(6.5f));
  CHECK(floats(linear("delta")({q, k, v, kNone, kNone, one})) == std::vector<float>{3, 5});
  const auto all = linear("linear").all({q, k, v, f32({1, 1, 1, 1}, {10})});
  CHECK(floats(all[0]) == std::vector<float>{13, 18});
  CHECK(floats(all[1]) == std::vector<float>{18});
  CHECK(linear("gated").refusal({q, k, v}, OPTIMA_INVALID_GRAPH) == "LinearAttention node 'n': decay is missing, which update_rule 'gated' wants");
  CHECK(linear("linear").refusal({q, k, v, kNone, half}, OPTIMA_INVALID_GRAPH) == "LinearAttention node 'n': decay is given, which update_rule 'linear' does not take");
  CHECK(linear("linear", 3, 2).refusal({q, k, v}, OPTIMA_INVALID_GRAPH) == "LinearAttention node 'n': q_num_heads is 3, must be a multiple of kv_num_heads, 2");
  CHECK(linear("other").refusal({q, k, v}, OPTIMA_INVALID_GRAPH).find("update_rule is 'other'") != std::string::npos);
}

TEST_CASE("CausalConvWithState goes on where its state left off") {
  const Tensor w = f32({1, 1, 3}, {100, 10, 1}), whole = f32({1, 1, 4}, {1, 2, 3, 4});
  const auto at_once = OneNode("CausalConvWithState", 27, 2).all({whole, w});
  CHECK(floats(at_once[0]) == std::vector<float>{1, 12, 123, 234});
  CHECK(floats(at_once[1]) == std::vector<float>{3, 4});
  const auto first = OneNode("CausalConvWithState", 27, 2).all({f32({1, 1, 1}, {1}), w});
  CHECK(floats(first[1]) == std::vector<float>{0, 1});
  const auto rest = OneNode("CausalConvWithState", 27, 2).all({f32({1, 1, 3}, {2, 3, 4}), w, kNone, first[1]});
  CHECK(floats(rest[0]) == std::vector<float>{12, 123, 234});
  CHECK(OneNode("CausalConvWithState", 27).text("activation", "gelu").refusal({whole, w}, OPTIMA_INVALID_GRAPH) ==
        "CausalConvWithState node 'n': activation is 'gelu', must be none, silu or swish");
  CHECK(OneNode("CausalConvWithState", 27).refusal({whole, f32({2, 1, 1}, {1, 2})}, OPTIMA_INVALID_GRAPH).find("do not fit together") != std::string::npos);
}

TEST_CASE("random numbers with a seed are the same in every run, and others without") {
  const auto drawn = [](bool seeded) {
    OneNode node("RandomNormal", 22);
    node.list("shape", {5});
    if (seeded) node.real("seed", 4.5);
    return floats(node({}));
  };
  CHECK(drawn(true) == drawn(true));
  CHECK(drawn(false) != drawn(false));
}

TEST_CASE("random numbers lie where they are asked to, with the moments that they are asked for") {
  const Ints shape{200, 100};
  const auto moments = [](const std::vector<float>& x) {
    double sum = 0, squares = 0;
    for (const float e : x) sum += e, squares += static_cast<double>(e) * e;
    const double mean = sum / static_cast<double>(x.size());
    return std::pair(mean, std::sqrt(squares / static_cast<double>(x.size()) - mean * mean));
  };
  const std::vector<float> even = floats(OneNode("RandomUniform", 22).list("shape", shape).real("seed", 1).real("low", -2).real("high", 4)({}));
  CHECK(*std::min_element(even.begin(), even.end()) >= -2);
  CHECK(*std::max_element(even.begin(), even.end()) <= 4);
  CHECK(moments(even).first == doctest::Approx(1).epsilon(0.05));
  const auto [mean, deviation] = moments(floats(OneNode("RandomNormalLike", 22).real("seed", 2).real("mean", 3).real("scale", 2)({zeros_of(shape)})));
  CHECK(mean == doctest::Approx(3).epsilon(0.02));
  CHECK(deviation == doctest::Approx(2).epsilon(0.02));
  const Tensor bits = OneNode("Bernoulli", 22).real("seed", 3).integer("dtype", OPTIMA_BOOL)({f32({20000}, std::vector<float>(20000, 0.3f))});
  CHECK(bits.dtype == OPTIMA_BOOL);
  const std::vector<uint8_t> drawn = elements<uint8_t>(bits);
  CHECK(static_cast<double>(std::count(drawn.begin(), drawn.end(), 1)) == doctest::Approx(6000).epsilon(0.05));
  const Tensor classes = OneNode("Multinomial", 22).real("seed", 4).integer("sample_size", 9000).integer("dtype", OPTIMA_I64)({f32({1, 3}, {std::log(1.0f), -INFINITY, std::log(2.0f)})});
  CHECK(classes.dims == Ints{1, 9000});
  const Ints picked = ints(classes);
  CHECK(std::count(picked.begin(), picked.end(), 1) == 0);
  CHECK(static_cast<double>(std::count(picked.begin(), picked.end(), 2)) == doctest::Approx(6000).epsilon(0.05));
  CHECK(OneNode("RandomUniform", 22).list("shape", {2}).integer("dtype", OPTIMA_I64).refusal({}, OPTIMA_INVALID_GRAPH) ==
        "RandomUniform node 'n': dtype is i64, must be a type of floats");
}

TEST_CASE("Dropout drops nothing unless it trains, which it may be told in the run; then as many as it is told, by its seed, and the others grow") {
  const Tensor x = f32({20000}, std::vector<float>(20000, 3));
  const auto kept = [&](bool trains, float ratio) { return floats(OneNode("Dropout", 22).integer("seed", 5)({x, f32({}, {ratio}), boolean({}, {trains})})); };
  CHECK(kept(false, 0.25f) == floats(x));
  CHECK(kept(true, 0) == floats(x));
  const std::vector<float> y = kept(true, 0.25f);
  CHECK(y == kept(true, 0.25f));
  const auto dropped = std::count(y.begin(), y.end(), 0.0f);
  CHECK(static_cast<double>(dropped) == doctest::Approx(5000).epsilon(0.05));
  CHECK(std::count(y.begin(), y.end(), 4.0f) == 20000 - dropped);
  CHECK(OneNode("Dropout", 22).refusal({x, f32({}, {1}), boolean({}, {true})}, OPTIMA_INVALID_GRAPH) == "Dropout node 'n': ratio is 1.000000, must be at least 0 and below 1");
}

TEST_CASE("a walk over shapes knows how many numbers a node draws, and keeps none that it would draw itself") {
  const image::Bytes bytes = OneNode("RandomNormal", 22).list("shape", {3}).build({});
  const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
  reference::ShapeWalk walk(graph);
  walk.advance();
  REQUIRE(walk.has_shape(0));
  CHECK(walk.at(0).dims == Ints{3});
  CHECK(!walk.has_elements(0));
}

TEST_CASE("a walk over shapes drops nothing itself where Dropout may train, and is through with it where nothing tells it to") {
  const auto knows = [](const std::vector<Tensor>& inputs) {
    const image::Bytes bytes = OneNode("Dropout", 22).build(inputs);
    const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
    reference::ShapeWalk walk(graph);
    for (uint32_t k = 0; k < inputs.size(); ++k) walk.give(k, inputs[k]);
    walk.advance();
    const auto result = static_cast<uint32_t>(inputs.size());
    REQUIRE(walk.has_shape(result));
    CHECK(walk.at(result).dims == Ints{3});
    return walk.has_elements(result);
  };
  const Tensor x = f32({3}, {1, 2, 3}), ratio = f32({}, {0.5f});
  CHECK(!knows({x, ratio, boolean({}, {true})}));
  CHECK(knows({x, ratio}));
}
