// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: nodes with bodies are taken with them.
#include "tests/unit/openvino/sample.hpp"

#ifdef OPENVINO_PLUGIN

#include <cmath>

using namespace optima;
using test::FileSink;
using test::floats;
using test::kTarget;
using test::OnnxHost;

namespace {

/// A model from ONNX text, and what the plugin says about every node of its main graph.
struct Asked {
  std::optional<Graph> loaded;  // has the bytes of the constants
  std::optional<PackedGraph> packed;
  seam::Verdicts verdicts;

  Asked(const seam::Instance& plugin, const std::string& graph) {
    Result<Graph> read = onnx_io::load_text("<ir_version: 8, opset_import: [\"\" : 17]> " + graph, "bodies");
    REQUIRE_MESSAGE(read.ok(), read.status().message());
    loaded.emplace(std::move(*read));
    packed.emplace(pack(*loaded, true));
    seam::Status status;
    REQUIRE_MESSAGE(seam::check(plugin, packed->raw, seam::ids_of_nodes(packed->raw), kTarget, verdicts, status) == OPTIMA_OK, status.message);
  }
};

/// Compiled and loaded; every node of the main graph must be taken.
struct Compiled {
  OnnxHost host;
  const seam::Instance plugin{OPENVINO_PLUGIN, host};
  std::optional<Asked> asked;
  FileSink sink;
  std::optional<seam::Artifact> artifact;
  std::optional<seam::Program> program;

  explicit Compiled(const std::string& graph) {
    asked.emplace(plugin, graph);
    for (const auto& [id, said] : asked->verdicts.by_node) CHECK_MESSAGE(said.verdict == OPTIMA_VERDICT_SUPPORTED, said.text);
    seam::Status status;
    REQUIRE_MESSAGE(seam::compile(plugin, asked->packed->raw, kTarget, sink, status) == OPTIMA_OK, status.message);
    sink.take();
    artifact.emplace(sink, nullptr);
    program.emplace(plugin, *artifact, kTarget);
    REQUIRE_MESSAGE(program->raw, program->status.message);
  }
  std::vector<float> run(const std::vector<reference::Tensor>& inputs, size_t output = 0) const {
    std::vector<reference::Tensor> out;
    seam::Status status;
    REQUIRE_MESSAGE(seam::run(*program, inputs, out, status) == OPTIMA_OK, status.message);
    return floats(out.at(output));
  }
};

template <class T>
reference::Tensor scalar(int32_t dtype, T value) {
  void* p = nullptr;
  reference::Tensor t = reference::Tensor::make(dtype, {}, &p);
  std::memcpy(p, &value, sizeof value);
  return t;
}

}  // namespace

TEST_CASE("If is taken with both branches and what they read outside") {
  const Compiled m(R"(g (float[2] x, bool c) => (float[2] y) {
      h = Relu(x)
      z = If(c) <then_branch = t () => (float[2] a) { a = Exp(h) }, else_branch = e () => (float[2] b) { b = Neg(h) }>
      y = Add(z, x) })");
  CHECK(m.run({test::f32({2}, {0, -1}), scalar(OPTIMA_BOOL, true)}) == std::vector<float>{1, 0});
  CHECK(m.run({test::f32({2}, {3, -1}), scalar(OPTIMA_BOOL, false)}) == std::vector<float>{0, -1});
}

TEST_CASE("recurrent operators in both branches keep their own weights, whether their values share a name or not") {
  for (const std::string name : {"h", "g"}) {
    const Compiled m("g (float[1,1,1] x, bool c) => (float[1,1,1] y) <float[1,4,1] r = {0, 0, 0, 0}> { z = If(c) <"
                     "then_branch = t () => (float[1,1,1] a) { w = Constant <value = float[1,4,1] {1, 1, 1, 1}> ()  s, h = LSTM <hidden_size = 1> (x, w, r)  a = Neg(h) },"
                     "else_branch = e () => (float[1,1,1] b) { w = Constant <value = float[1,4,1] {-2, -2, -2, -2}> ()  s, " + name +
                     " = LSTM <hidden_size = 1> (x, w, r)  b = Neg(" + name + ") }>  y = Identity(z) }");
    const auto wanted = [](float w) {
      const float gate = 1 / (1 + std::exp(-w));
      return -gate * std::tanh(gate * std::tanh(w));
    };
    const reference::Tensor x = test::f32({1, 1, 1}, {1});
    CHECK(m.run({x, scalar(OPTIMA_BOOL, true)}).at(0) == doctest::Approx(wanted(1)));
    CHECK(m.run({x, scalar(OPTIMA_BOOL, false)}).at(0) == doctest::Approx(wanted(-2)));
  }
}

TEST_CASE("Loop is taken with its body") {
  const Compiled m(R"(g (int64 n, bool c, float[2] x, float[2] w) => (float[2] y) {
      h = Relu(w)
      y = Loop(n, c, x) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] s) { co = Identity(ci)  s = Add(a, h) }> })");
  CHECK(m.run({scalar(OPTIMA_I64, int64_t{3}), scalar(OPTIMA_BOOL, true), test::f32({2}, {1, 2}), test::f32({2}, {10, -1})}) == std::vector<float>{31, 2});
}

TEST_CASE("Scan is taken with its body: states, scanned inputs and outputs") {
  const Compiled m(R"(g (float[2] s, float[3,2] x) => (float[2] last, float[3,2] sums) {
      last, sums = Scan(s, x) <num_scan_inputs = 1, body = b (float[2] a, float[2] row) => (float[2] next, float[2] out) {
        next = Add(a, row)  out = Neg(next) }> })");
  const std::vector<reference::Tensor> in = {test::f32({2}, {1, 0}), test::f32({3, 2}, {1, 2, 3, 4, 5, 6})};
  CHECK(m.run(in) == std::vector<float>{10, 12});
  CHECK(m.run(in, 1) == std::vector<float>{-2, -2, -5, -6, -10, -12});
}

TEST_CASE("Scan whose body reads outside, which OpenVINO 2026.4 does not translate, is refused in its words") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Asked m(plugin, R"(g (float[2] s, float[3,2] x, float[2] w) => (float[2] last) {
      last = Scan(s, x) <num_scan_inputs = 1, body = b (float[2] a, float[2] row) => (float[2] next) { t = Add(a, row)  next = Add(t, w) }> })");
  REQUIRE(m.verdicts.by_node.size() == 1);
  const seam::Said& said = m.verdicts.by_node.begin()->second;
  if (said.verdict == OPTIMA_VERDICT_SUPPORTED) MESSAGE("SKIP: this OpenVINO takes it");
  else CHECK_MESSAGE(said.text == "OpenVINO refuses it: last num_scan_outputs can't be negative: body outputs (1) is less than num_initial_values (2)", said.text);
}

TEST_CASE("a Clip without a limit behind a node that OpenVINO does not translate ends nothing, and is taken") {
  for (const std::string limits : {"", ", least", ", , most", ", least, "}) {
    OnnxHost host;
    const seam::Instance plugin(OPENVINO_PLUGIN, host);
    const Asked m(plugin, "g (float[2] s, float[3,2] x, float[2] w) => (float[2] y) <float least = {0}, float most = {6}> {\n"
                          "last = Scan(s, x) <num_scan_inputs = 1, body = b (float[2] a, float[2] row) => (float[2] next) { t = Add(a, row)  next = Add(t, w) }>\n"
                          "clipped = Clip(last" + limits + ")  again = Clip(clipped" + limits + ")  y = Neg(again) }");
    REQUIRE(m.verdicts.by_node.size() == 4);
    for (auto at = std::next(m.verdicts.by_node.begin()); at != m.verdicts.by_node.end(); ++at) CHECK_MESSAGE(at->second.verdict == OPTIMA_VERDICT_SUPPORTED, limits, at->second.text);
  }
}

TEST_CASE("an input that nothing reads, and one that is an output as it is, keep their places") {
  const Compiled m(R"(g (float[2] a, float[2] like, float[2] b) => (float[2] x, float[2] y) {
      x = CastLike(a, like)
      y = Max(b) })");
  const std::vector<reference::Tensor> in = {test::f32({2}, {1, 2}), test::f32({2}, {3, 4}), test::f32({2}, {5, 6})};
  CHECK(m.run(in) == std::vector<float>{1, 2});
  CHECK(m.run(in, 1) == std::vector<float>{5, 6});
}

#endif
