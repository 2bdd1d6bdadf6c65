// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <ctime>

#include "core/graph/graph.hpp"
#include "tests/support/seam_host.hpp"

using namespace optima;
using Indices = std::vector<uint32_t>;

namespace {

image::Value tensor(const std::string& name, const std::vector<int64_t>& dims, int32_t dtype = OPTIMA_F32) {
  image::Value v{name, dtype, std::vector<image::Dim>{}, OPTIMA_NONE, OPTIMA_KIND_TENSOR};
  for (int64_t d : dims) v.dims->push_back({d, d < 0 ? "N" : ""});
  return v;
}

void add_node(Graph& g, uint32_t graph, const std::string& name, const std::string& op, Indices inputs, Indices outputs,
              std::vector<image::Attr> attrs = {}) {
  const auto id = static_cast<uint32_t>(g.origins.size());
  g.contents.graphs[graph].nodes.push_back({name, op, "", id, 13, std::move(inputs), std::move(outputs), std::move(attrs)});
  g.origins.push_back({name, 13});
}

image::Attr body_attr(const std::string& name, uint32_t body) {
  image::Attr a;
  a.name = name, a.type = OPTIMA_ATTR_GRAPH, a.refs = {body};
  return a;
}

// x -> relu -> h -> add(h, w) -> s -> choose(cond){ then: neg(h), else: s } -> y, with y and h as outputs.
Graph sample() {
  Graph g;
  g.model_name = "sample";
  g.contents.opsets = {{"", 21}};
  g.contents.constants = {{OPTIMA_F32, {2}, 0}, {OPTIMA_I64, {}, 1}};
  const float w[] = {1.5f, -2};
  const int64_t unused = 7;
  g.blobs = {Blob::copy(w, sizeof w), Blob::copy(&unused, sizeof unused)};
  g.contents.graphs.resize(3);
  image::Graph& m = g.contents.graphs[0];
  m.name = "main";
  m.values = {tensor("x", {-1, 2}), tensor("cond", {}, OPTIMA_BOOL), tensor("w", {2}), tensor("h", {-1, 2}), tensor("s", {-1, 2}), tensor("y", {-1, 2})};
  m.values[2].constant = 0;
  m.inputs = {0, 1}, m.outputs = {5, 3};
  add_node(g, 0, "relu_1", "Relu", {0}, {3});
  add_node(g, 0, "add_1", "Add", {3, 2}, {4});
  add_node(g, 0, "if_1", "If", {1}, {5}, {body_attr("then_branch", 1), body_attr("else_branch", 2)});
  image::Graph& yes = g.contents.graphs[1];
  yes.name = "yes", yes.values = {tensor("h", {-1, 2}), tensor("r", {-1, 2})}, yes.outputs = {1}, yes.captures = {{3, 0}};
  add_node(g, 1, "if_1/then_branch/neg_1", "Neg", {0}, {1});
  image::Graph& no = g.contents.graphs[2];
  no.name = "no", no.values = {tensor("s", {-1, 2})}, no.outputs = {0}, no.captures = {{4, 0}};
  return g;
}

}  // namespace

TEST_CASE("captures of a body count as reads by the node that holds it") {
  const Uses uses = uses_of(sample());
  CHECK(uses.producer == Indices{Uses::kNone, Uses::kNone, Uses::kNone, 0, 1, 2});
  CHECK(uses.consumers[3] == Indices{1, 2});
  CHECK(uses.consumers[4] == Indices{2});
  CHECK(uses.consumers[5].empty());
}

TEST_CASE("static bytes are those of the packed elements, and 0 where the size is not known") {
  CHECK(static_bytes(tensor("a", {2, 3})) == 24);
  CHECK(static_bytes(tensor("a", {5}, OPTIMA_I4)) == 3);
  CHECK(static_bytes(tensor("a", {})) == 4);
  CHECK(static_bytes(tensor("a", {-1, 3})) == 0);
  CHECK(static_bytes(tensor("a", {2}, OPTIMA_STRING)) == 0);
  CHECK(static_bytes(tensor("a", {int64_t{1} << 40, int64_t{1} << 40})) == 0);
}

TEST_CASE("types have short names") {
  CHECK(type_text(tensor("a", {1, 3, 224, 224})) == "f32[1,3,224,224]");
  CHECK(type_text(tensor("a", {-1, 3}, OPTIMA_I64)) == "i64[N,3]");
  image::Value unranked{"u", OPTIMA_F16, std::nullopt, OPTIMA_NONE, OPTIMA_KIND_SEQUENCE};
  CHECK(type_text(unranked) == "seq f16[*]");
  CHECK(short_dtype_name(99) == "dtype 99");
}

TEST_CASE("the printer shows ends, constants, nodes and bodies") {
  CHECK(print(sample()) ==
        "model 'sample'\n"
        "opset ai.onnx 21\n"
        "graph 'main' (x: f32[N,2], cond: bool[]) -> (y: f32[N,2], h: f32[N,2])\n"
        "  const w: f32[2] {1.5,-2}\n"
        "  relu_1: Relu-13(x) -> h: f32[N,2]\n"
        "  add_1: Add-13(h, w) -> s: f32[N,2]\n"
        "  if_1: If-13(cond) -> y: f32[N,2]\n"
        "    then_branch 'yes' () -> (r: f32[N,2])\n"
        "      capture h\n"
        "      if_1/then_branch/neg_1: Neg-13(h) -> r: f32[N,2]\n"
        "    else_branch 'no' () -> (s: f32[N,2])\n"
        "      capture s\n");
}

TEST_CASE("verify accepts a sound graph and names what is broken in another") {
  CHECK(verify(sample()).message() == "");
  auto broken = [](auto&& change) {
    Graph g = sample();
    change(g);
    const Status s = verify(g);
    CHECK(s.kind() == StatusKind::Internal);
    return s.message();
  };
  CHECK(broken([](Graph& g) { g.main().nodes[1].name = "relu_1"; }) == "graph: node 'relu_1' has a name that is empty or not unique");
  CHECK(broken([](Graph& g) { g.main().nodes[1].inputs[0] = 99; }) == "graph: node 'add_1' names no value");
  CHECK(broken([](Graph& g) { g.main().values[4].name = "h"; }) == "graph: two values named 'h'");
  CHECK(broken([](Graph& g) { g.main().nodes[2].attrs[1].refs[0] = 1; }) == "graph: node 'if_1' names no body");
  CHECK(broken([](Graph& g) { g.main().nodes[2].attrs.pop_back(); }) == "graph: body 2 that no node holds");
  CHECK(broken([](Graph& g) { g.contents.constants[0].blob = 9; }) == "graph: constant names no blob");
  CHECK(broken([](Graph& g) { std::swap(g.main().nodes[0], g.main().nodes[1]); }).find("input used before it is produced") != std::string::npos);
  CHECK(broken([](Graph& g) { g.origins.resize(2); }) == "graph: node 'if_1' has no origin");
}

TEST_CASE("a packed graph verifies beside its blobs and its hash depends on the bytes alone") {
  const Graph g = sample();
  const PackedGraph a = pack(g, true), b = pack(sample(), true);
  CHECK(image::verify(a.bytes.data(), a.bytes.size(), &a.raw) == "");
  CHECK(a.raw.flags == OPTIMA_GRAPH_SHA256);
  CHECK(std::memcmp(a.raw.sha256, b.raw.sha256, 32) == 0);
  CHECK(a.blobs[1].id == 2);
  CHECK(pack(g, false, 40).blobs[1].id == 41);
  Graph other = sample();
  const float w[] = {1.5f, -3};
  other.blobs[0] = Blob::copy(w, sizeof w);
  CHECK(std::memcmp(a.raw.sha256, pack(other, true).raw.sha256, 32) != 0);
}

TEST_CASE("an image of a newer host becomes the same graph, and the same image again") {
  const PackedGraph mine = pack(sample(), true);
  const image::Bytes wide = seam::widen(mine.bytes);
  optima_graph newer = mine.raw;
  newer.image = wide.image();
  REQUIRE(image::verify(wide.data(), wide.size(), &newer) == "");
  const PackedGraph again = pack(unpack(newer), false);
  REQUIRE(again.bytes.size() == mine.bytes.size());
  CHECK(std::memcmp(again.bytes.data(), mine.bytes.data(), mine.bytes.size()) == 0);
}

TEST_CASE("a moved packed graph still points at its own image") {
  PackedGraph a = pack(sample());
  const PackedGraph b = std::move(a);
  CHECK(b.raw.image == b.bytes.image());
  CHECK(b.raw.blobs == b.blobs.data());
}

TEST_CASE("extract takes nodes with their inputs in order of use and outputs in order of production") {
  const Graph g = sample();
  const Graph part = extract(g, Indices{1, 2}, uses_of(g));
  CHECK(verify(part).message() == "");
  CHECK(print(part) ==
        "model 'sample'\n"
        "opset ai.onnx 21\n"
        "graph 'main' (h: f32[N,2], cond: bool[]) -> (y: f32[N,2])\n"
        "  const w: f32[2] {1.5,-2}\n"
        "  add_1: Add-13(h, w) -> s: f32[N,2]\n"
        "  if_1: If-13(cond) -> y: f32[N,2]\n"
        "    then_branch 'yes' () -> (r: f32[N,2])\n"
        "      capture h\n"
        "      if_1/then_branch/neg_1: Neg-13(h) -> r: f32[N,2]\n"
        "    else_branch 'no' () -> (s: f32[N,2])\n"
        "      capture s\n");
  CHECK(part.main().nodes[1].id == g.main().nodes[2].id);
  CHECK(part.origins.at(2).name == "if_1");
  CHECK(part.blobs.size() == 1);
  CHECK(part.blobs[0].data == g.blobs[0].data);
}

TEST_CASE("what is read outside a part or is a model output becomes its output") {
  const Graph g = sample();
  const Graph part = extract(g, Indices{0, 1}, uses_of(g));
  REQUIRE(part.main().outputs.size() == 2);
  CHECK(part.main().values[part.main().outputs[0]].name == "h");
  CHECK(part.main().values[part.main().outputs[1]].name == "s");
}

TEST_CASE("compact drops what nobody touches and keeps the rest as it is") {
  Graph g = sample();
  CHECK(print(compact(g, Indices{0, 1, 2})) == print(g));
  g.main().outputs = {3};
  const Graph small = compact(g, Indices{0});
  CHECK(verify(small).message() == "");
  CHECK(small.contents.graphs.size() == 1);
  CHECK(small.contents.constants.empty());
  CHECK(small.main().inputs.size() == 2);
}

TEST_CASE("inputs, constants and repeated values may be outputs") {
  Graph g = sample();
  g.main().outputs = {0, 2, 5, 5};
  CHECK(verify(g).message() == "");
  CHECK(verify(compact(g, Indices{0, 1, 2})).message() == "");
}

TEST_CASE("a graph of a hundred thousand nodes is checked, packed and cut in linear time") {
  Graph g;
  g.contents.opsets = {{"", 21}};
  g.contents.graphs.resize(1);
  constexpr uint32_t kNodes = 100000;
  g.main().values.push_back(tensor("v0", {1, 8}));
  for (uint32_t n = 0; n < kNodes; ++n) {
    g.main().values.push_back(tensor("v" + std::to_string(n + 1), {1, 8}));
    add_node(g, 0, "relu_" + std::to_string(n + 1), "Relu", {n}, {n + 1});
  }
  g.main().inputs = {0}, g.main().outputs = {kNodes};
  const std::clock_t start = std::clock();
  CHECK(verify(g).ok());
  const Uses uses = uses_of(g);
  for (uint32_t n = 0; n < kNodes; n += 1000) CHECK(extract(g, Indices{n, n + 1}, uses).main().nodes.size() == 2);
  // Generous: a quadratic step would take minutes.
  CHECK((std::clock() - start) / CLOCKS_PER_SEC < 20);
}
