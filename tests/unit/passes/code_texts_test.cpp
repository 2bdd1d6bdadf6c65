// SPDX-License-Identifier: Apache-2.0
// String tensors as codes: what becomes codes of which tables, what keeps its texts, and that the answers stay.
#include "core/passes/code_texts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "core/support/text.hpp"
#include "reference/reference.hpp"
#include "reference/tensor.hpp"

using namespace optima;

namespace {

Graph passed(const std::string& text) {
  const Result<Graph> loaded = onnx_io::load_text("<ir_version: 10, opset_import: [\"\" : 21]> " + text, "m");
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  passes::PassOptions options;
  options.verify = true;
  const Result<Graph> done = passes::run_passes(*loaded, options);
  REQUIRE_MESSAGE(done.ok(), done.status().message());
  return *done;
}

bool has_strings(const Graph& graph) {
  const auto in = [](const image::Graph& g) { return std::any_of(g.values.begin(), g.values.end(), [](const image::Value& v) { return v.dtype == OPTIMA_STRING; }); };
  return std::any_of(graph.contents.graphs.begin(), graph.contents.graphs.end(), in);
}

std::vector<reference::Tensor> run(const Graph& graph, const std::vector<reference::Tensor>& inputs) { return reference::run(pack(graph).raw, inputs); }
std::vector<int64_t> numbers(const reference::Tensor& t) { return reference::load<int64_t>(t); }

}  // namespace

TEST_CASE("constant texts that are looked up, moved and joined are codes of one table, and come out as they would") {
  const Graph g = passed(R"(m (int64[n] at, bool[n] which) => (string[n] label, string[k] all)
    <string[3] names = {"low", "mid", "high"}, string[1] none = {"none"}, string[1] mid = {"mid"}> {
    found = Gather(names, at)
    label = Where(which, found, none)
    all = Concat<axis = 0>(label, mid)
  })");
  CHECK_FALSE(has_strings(g));
  REQUIRE(g.texts.size() == 2);
  CHECK(g.texts.at("label") == g.texts.at("all"));
  CHECK(g.texts.at("label").size() == 4);
  const reference::Tensor at = reference::make_ints({3}, {2, 0, 1});
  void* to = nullptr;
  reference::Tensor which = reference::Tensor::make(OPTIMA_BOOL, {3}, &to);
  static_cast<uint8_t*>(to)[0] = 1, static_cast<uint8_t*>(to)[1] = 0, static_cast<uint8_t*>(to)[2] = 1;
  const auto out = run(g, {at, which});
  CHECK(*texts_of(g.texts.at("label"), numbers(out.at(0))) == std::vector<std::string>{"high", "none", "mid"});
  CHECK(*texts_of(g.texts.at("all"), numbers(out.at(1))) == std::vector<std::string>{"high", "none", "mid", "mid"});
}

TEST_CASE("texts of an input that are looked for among known ones are codes, and any other text is found nowhere") {
  const Graph g = passed(R"(m (string[n] color) => (float[n,3] hot)
    <string[3] cats = {"red", "green", "blue"}, int64[1] last = {-1}> {
    column = Unsqueeze(color, last)
    same = Equal(column, cats)
    hot = Cast<to = 1>(same)
  })");
  CHECK_FALSE(has_strings(g));
  REQUIRE(g.texts.count("color") == 1);
  CHECK(g.texts.count("hot") == 0);
  const std::vector<int64_t> codes = codes_of(g.texts.at("color"), std::vector<std::string>{"blue", "pink", "red"});
  const auto out = run(g, {reference::make_ints({3}, codes)});
  CHECK(reference::load<double>(out.at(0)) == std::vector<double>{0, 0, 1, 0, 0, 0, 1, 0, 0});
}

TEST_CASE("sets of texts that never meet have tables of their own") {
  const Graph g = passed(R"(m (string[n] x) => (string[n] y) <string[2] keys = {"a", "b"}, string[2] values = {"one", "two"}, int64[1] last = {-1}> {
    column = Unsqueeze(x, last)
    same = Equal(column, keys)
    number = Cast<to = 6>(same)
    at = ArgMax<axis = -1, keepdims = 0>(number)
    y = Gather(values, at)
  })");
  CHECK_FALSE(has_strings(g));
  CHECK(g.texts == TextTables{{"x", {"a", "b"}}, {"y", {"one", "two"}}});
}

TEST_CASE("n-grams of texts are n-grams of codes") {
  const Graph g = passed(R"(m (string[4] x) => (float[2] y) {
    y = TfIdfVectorizer<min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, mode = "TF", ngram_counts = [0], ngram_indexes = [1, 0],
                        pool_strings = ["be", "to"]>(x)
  })");
  CHECK_FALSE(has_strings(g));
  CHECK(g.texts.at("x") == TextTable{"be", "to"});
  const auto out = run(g, {reference::make_ints({4}, codes_of(g.texts.at("x"), std::vector<std::string>{"to", "be", "or", "to"}))});
  CHECK(reference::load<double>(out.at(0)) == std::vector<double>{2, 1});
}

TEST_CASE("constant texts go through the branches of an If as codes") {
  const Graph g = passed(R"(m (bool go) => (string[1] y) <string[1] yes = {"yes"}, string[1] no = {"no"}> {
    y = If(go) <then_branch = t () => (string[1] a) { a = Identity(yes) }, else_branch = e () => (string[1] b) { b = Identity(no) }>
  })");
  CHECK_FALSE(has_strings(g));
  for (const uint8_t go : {1, 0}) {
    void* to = nullptr;
    const reference::Tensor condition = reference::Tensor::make(OPTIMA_BOOL, {}, &to);
    *static_cast<uint8_t*>(to) = go;
    CHECK(*texts_of(g.texts.at("y"), numbers(run(g, {condition}).at(0))) == std::vector<std::string>{go ? "yes" : "no"});
  }
}

TEST_CASE("what works on texts themselves keeps them, and what never meets it does not") {
  const Graph g = passed(R"(m (string[n] x, int64[n] at) => (string[n] joined, string[n] label) <string[2] names = {"a", "b"}, string[1] dot = {"."}> {
    joined = StringConcat(x, dot)
    label = Gather(names, at)
  })");
  CHECK(has_strings(g));
  CHECK(g.texts == TextTables{{"label", {"a", "b"}}});
}

TEST_CASE("texts of an input that come out again, or are compared with each other, stay texts, for they may be any") {
  CHECK(passed("m (string[n] x) => (string[n] y) <string[1] a = {\"a\"}> { y = Concat<axis = 0>(x, a) }").texts.empty());
  CHECK(passed("m (string[n] x, string[n] z) => (bool[n] y) { y = Equal(x, z) }").texts.empty());
}

TEST_CASE("operators on constant texts alone are computed, and their texts are codes") {
  const Graph g = passed(R"(m (int64[n] at) => (string[n] y) <int64[2] years = {1999, -7}> {
    names = Cast<to = 8>(years)
    y = Gather(names, at)
  })");
  CHECK_FALSE(has_strings(g));
  CHECK(g.texts.at("y") == TextTable{"1999", "-7"});
}

TEST_CASE("texts that are no UTF-8 stay") {
  const Graph g = passed("m (int64[n] at) => (string[n] y) <string[2] names = {\"a\", \"\\xFF\"}> { y = Gather(names, at) }");
  const bool is_raw = std::any_of(g.blobs.begin(), g.blobs.end(), [](const Blob& b) {
    return std::find(b.data, b.data + b.size, std::byte{0xFF}) != b.data + b.size;
  });
  CHECK(g.texts.empty() == is_raw);
}
