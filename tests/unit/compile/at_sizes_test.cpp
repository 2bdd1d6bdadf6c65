// SPDX-License-Identifier: Apache-2.0
// At which sizes a graph of open ones is estimated, and what its values are there.
#include "core/compile/at_sizes.hpp"

#include <doctest/doctest.h>

#include "core/onnx_io/onnx_io.hpp"

using namespace optima;

namespace {

constexpr std::string_view kHalved = R"(<ir_version: 10, opset_import: ["" : 21]>
halved (float[batch,3,h,w] x) => (float[batch,3,p,q] y) {
  half = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
  y = Relu(half)
})";

// Only sizes above 500 that 64 divides fit.
constexpr std::string_view kLarge = R"(<ir_version: 10, opset_import: ["" : 21]>
large (float[k] x) => (float[64,c] y, float[d] z) <int64[2] to = {64, -1}, int64[1] from = {500}, int64[1] end = {564}, float[12] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}> {
  y = Reshape(x, to)
  part = Slice(x, from, end)
  z = Mul(part, w)
})";

Graph graph_of(std::string_view text, const std::map<std::string, std::string>& ranges = {}) {
  onnx_io::ImportOptions options;
  for (const auto& [name, range] : ranges) options.ranges[name] = *parse_size_range(range);
  Result<Graph> graph = onnx_io::load_text(text, "g", options);
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  return std::move(*graph);
}

std::string type_of(const std::shared_ptr<const Graph>& graph, std::string_view value) {
  if (!graph) return "none";
  for (const image::Value& v : graph->main().values)
    if (v.name == value) return type_text(v);
  return "no such value";
}

}  // namespace

TEST_CASE("a graph of known sizes is not estimated at others") {
  const detail::AtSizes sizes = detail::at_sizes(graph_of(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu(x) })"));
  CHECK(sizes.opt == nullptr);
  CHECK(sizes.most == nullptr);
  CHECK(sizes.note == "");
}

TEST_CASE("costs are those at the sizes that the user calls the usual ones, limits those at the largest") {
  const detail::AtSizes sizes = detail::at_sizes(graph_of(kHalved, {{"batch", "1,4,8"}, {"h", "32..960:32@64"}, {"w", "32..960:32@320"}}));
  CHECK(type_of(sizes.opt, "half") == "f32[1,3,32,160]");
  CHECK(type_of(sizes.most, "half") == "f32[8,3,480,480]");
  CHECK(sizes.note == "costs and crossing bytes are estimated at batch = 1, h = 64, w = 320");
  CHECK(sizes.limits_note == "");
}

TEST_CASE("sizes that nobody said are a batch of one and the first of the usual ones that the model takes, and the note says so") {
  const detail::AtSizes any = detail::at_sizes(graph_of(kHalved));
  CHECK(type_of(any.opt, "half") == "f32[1,3,24,24]");
  CHECK(any.most == nullptr);
  CHECK(any.note == "costs and crossing bytes are estimated at batch = 1 (assumed), h = 48 (assumed), w = 48 (assumed)");
  const detail::AtSizes bounded = detail::at_sizes(graph_of(kHalved, {{"w", "100..960:20"}}));
  CHECK(type_of(bounded.opt, "half") == "f32[1,3,24,50]");
  CHECK(type_of(bounded.most, "half") == "f32[1,3,24,480]");
  CHECK(bounded.note == "costs and crossing bytes are estimated at batch = 1 (assumed), h = 48 (assumed), w = 100 (assumed)");
  const detail::AtSizes large = detail::at_sizes(graph_of(kLarge));
  CHECK(type_of(large.opt, "y") == "f32[64,8]");
  CHECK(large.note == "costs and crossing bytes are estimated at k = 512 (assumed)");
}

TEST_CASE("where the model takes none of the sizes that are tried, nothing is estimated at them") {
  const detail::AtSizes sizes = detail::at_sizes(graph_of(kLarge, {{"k", "1..3"}}));
  CHECK(sizes.opt == nullptr);
  CHECK(sizes.most == nullptr);
  CHECK(sizes.note == "");
  CHECK(sizes.limits_note == "limits of memory do not count tensors of open sizes: the model's shapes do not follow at k = 3");
}
