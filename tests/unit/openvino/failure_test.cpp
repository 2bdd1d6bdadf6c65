// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: what fails inside OpenVINO is one clear error, and the next model compiles and runs.
#include "tests/unit/openvino/sample.hpp"

#ifdef OPENVINO_PLUGIN

#include "core/runtime/fence.hpp"

using namespace optima;
using test::FileSink;
using test::kTarget;
using test::OnnxHost;
using test::Sample;
using test::tensor;

namespace {

/// One node from input 0 and a constant of i64 to the last value.
seam::Model with_constant(const char* op, int32_t since, image::Value x, std::vector<int64_t>& c, image::Value y) {
  image::Graph g{"one", {std::move(x), tensor("c", {static_cast<int64_t>(c.size())}, OPTIMA_I64), std::move(y)}, {}, {0}, {2}, {}};
  g.values[1].constant = 0;
  g.nodes.push_back({"n", op, "", 1, since, {0, 1}, {2}, {}});
  return seam::Model(image::pack(image::Contents{{g}, {{OPTIMA_I64, {static_cast<int64_t>(c.size())}, 0}}, {{"", 21}}}), {seam::blob_of(c.data(), c.size() * 8, 7)});
}

/// Code and sentence of the first call that fails on the way from compile to run.
std::pair<int32_t, std::string> way(const seam::Instance& plugin, const seam::Model& m, const std::vector<reference::Tensor>& inputs) {
  FileSink sink;
  seam::Status status;
  if (const int32_t code = seam::compile(plugin, m, kTarget, sink, status)) return {code, "compile: " + status.message};
  sink.take();
  const seam::Artifact artifact(sink, &m);
  const seam::Program program(plugin, artifact, kTarget);
  if (!program.raw) return {program.code, "load: " + program.status.message};
  std::vector<reference::Tensor> out;
  const int32_t code = seam::run(program, inputs, out, status);
  return {code, "run: " + status.message};
}

void works(const seam::Instance& plugin) {
  const Sample s(2);
  const auto [code, text] = way(plugin, s.model, {test::f32({2, 3}, std::vector<float>(6, 1))});
  CHECK_MESSAGE(code == OPTIMA_OK, text);
}

}  // namespace

TEST_CASE("a tensor larger than any memory is out of memory, said once, and the plugin goes on") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  std::vector<int64_t> huge{1 << 16, 1 << 16, 256};  // 4 TiB
  const seam::Model m = with_constant("Expand", 13, tensor("x", {1}), huge, tensor("y", {-1, -1, -1}));
  const auto [code, text] = way(plugin, m, {test::f32({1}, {1})});
  CHECK(code == OPTIMA_MEMORY);
  CHECK_MESSAGE(text.find("out of memory") != std::string::npos, text);
  CHECK_MESSAGE(text.find('\n') == std::string::npos, text);
  works(plugin);
}

TEST_CASE("what OpenVINO throws while it runs is one line with its reason, and the plugin goes on") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  std::vector<int64_t> shape{2, 3};
  const seam::Model m = with_constant("Reshape", 21, tensor("x", {-1}), shape, tensor("y", {2, 3}));
  const auto [code, text] = way(plugin, m, {test::f32({5}, {1, 2, 3, 4, 5})});
  CHECK(code == OPTIMA_DEVICE);
  CHECK_MESSAGE(text.starts_with("run: OpenVINO cannot run this: "), text);
  CHECK_MESSAGE(text.find('\n') == std::string::npos, text);
  works(plugin);
}

TEST_CASE("what OpenVINO throws on a thread of its own ends in the fence, with the reason") {
  OnnxHost host;
  host.quiet = true;
  host.exposed.table.get_extension = [](void*, optima_str id) { return host_extension({id.data, id.size}); };
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  std::vector<int64_t> shape{2, 3};
  const seam::Model m = with_constant("Reshape", 21, tensor("x", {-1}), shape, tensor("y", {2, 3}));
  FileSink sink;
  test::compile(plugin, m, sink);
  const seam::Artifact artifact(sink, &m);
  const seam::Program program(plugin, artifact, kTarget);
  REQUIRE_MESSAGE(program.raw, program.status.message);
  seam::Status status;
  optima_context* context = nullptr;
  REQUIRE(plugin.runtime().context_create(program.raw, &context, &status.raw) == OPTIMA_OK);
  const reference::Tensor five = test::f32({5}, {1, 2, 3, 4, 5}), six = test::f32({2, 3}, std::vector<float>(6));
  optima_tensor in = seam::lend(five), out = seam::lend(six);
  Fence* fence = Fence::make();
  REQUIRE(plugin.extension<optima_async>(OPTIMA_EXT_ASYNC)->submit(context, &in, 1, &out, 1, nullptr, 0, fence->point(1), &status.raw) == OPTIMA_OK);
  CHECK(fence->wait(1, UINT64_MAX) == OPTIMA_DEVICE);
  CHECK_MESSAGE(fence->failure().starts_with("OpenVINO cannot run this: [CPU] Reshape node with name 'y'"), fence->failure());
  CHECK_MESSAGE(fence->failure().find('\n') == std::string::npos, fence->failure());
  fence->release();
  plugin.runtime().context_destroy(context);
  works(plugin);
}

TEST_CASE("a node without its operands never reaches OpenVINO") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  for (const auto& [op, since] : {std::pair("Conv", 11), std::pair("Add", 14), std::pair("Concat", 13), std::pair("Resize", 19), std::pair("Gather", 13)}) {
    CAPTURE(op);
    const bool none = std::string(op) == "Concat" || std::string(op) == "Resize";
    image::Graph g{"one", {tensor("x", {1, 3, 8, 8}), tensor("y", {1, 3, 8, 8})}, {{"n", op, "", 5, since, {}, {1}, {}}}, {0}, {1}, {}};
    if (!none) g.nodes[0].inputs = {0};
    const seam::Model m(image::pack(image::Contents{{g}, {}, {{"", 21}}}));
    seam::Verdicts verdicts;
    seam::Status status;
    REQUIRE(seam::check(plugin, m, {5}, kTarget, verdicts, status) == OPTIMA_OK);
    CHECK(verdicts.by_node.at(5).verdict == OPTIMA_VERDICT_UNSUPPORTED);
    CHECK(verdicts.by_node.at(5).text == std::string(op) + " has " + (none ? "0" : "1") + " inputs, wanted " + (none ? "1" : "2") + " or more");
    FileSink sink;
    CHECK(seam::compile(plugin, m, kTarget, sink, status) == OPTIMA_INVALID_GRAPH);
    CHECK(status.raw.node == 5);
  }
  works(plugin);
}

#endif
