// SPDX-License-Identifier: Apache-2.0
// tests/cli: plans only. What its operators compute comes as function bodies and evaluators; the later ones of the list are wrong.
#include "optima/plugin/plugin.hpp"

#include "info.hpp"

namespace own_operators {
namespace {

/// By operator. A raw string each, so that the test can quote what the library says about it.
std::string body_of(std::string_view op) {
  const std::string head = R"(<opset_import: ["" : 21, "test.own" : 1]> )";
  if (op == "Twice") return head + "Twice <by: float = 2.0> (x) => (y) { b = Constant <value_float: float = @by> ()  y = Mul (x, b) }";
  if (op == "Ends") return head + "Ends (x, least) => (low, high) { low = Neg (x)  high = Clip (x, least) }";
  if (op == "Both") return head + "Both <by: float = 1.0> (x) => (y) { c = test.own.Cube (x)  y = test.own.Twice <by: float = @by> (c) }";
  if (op == "Garbage") return "what is this";
  if (op == "Further") return head + "Further (x) => (y) { y = Neg (x) } and more";
  if (op == "Other") return head + "Twice (x) => (y) { y = Neg (x) }";
  if (op == "Narrow") return head + "Narrow (x) => (y) { y = Neg (x) }";
  if (op == "Single") return head + "Single (x) => (y) { y = Neg (x) }";
  if (op == "Myself") return head + "Myself (x) => (y) { y = test.own.Myself (x) }";
  if (op == "Ping") return head + "Ping (x) => (y) { y = test.own.Pong (x) }";
  if (op == "Pong") return head + "Pong (x) => (y) { y = test.own.Ping (x) }";
  if (op == "Strange") return head + "Strange (x) => (y) { y = Unheard (x) }";
  if (op == "Loose") return head + "Loose (x) => (y) { y = Neg (z) }";
  if (op == "Squeezed") return head + "Squeezed (x) => (y) { y = ReduceMax <keepdims = 0> (x) }";
  if (op == "OfBare") return head + "OfBare (x) => (y) { y = test.own.Bare (x) }";
  return {};
}

class Own : public sdk::Plugin, public sdk::Compiler, public sdk::Schema {
 public:
  explicit Own(const sdk::Init&) {}
  std::vector<sdk::PresentDevice> devices(std::string&) override { return {}; }
  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Node& node : request.nodes()) report(sdk::judge(kInfo.operators, node));
  }
  void compile(const sdk::CompileRequest&, const sdk::Sink&, const sdk::Progress&) override { throw sdk::Error(OPTIMA_DEPENDENCY, "plans only"); }

  /// Every output is like input 0.
  void infer(const sdk::Node& node, const sdk::TypeSink& set) override {
    const sdk::Value x = node.input(0);
    sdk::OutputType t;
    t.dtype = x.dtype(), t.unranked = !x.ranked(), t.kind = x.dtype() == OPTIMA_UNDEFINED ? uint32_t{OPTIMA_KIND_UNKNOWN} : uint32_t{OPTIMA_KIND_TENSOR};
    for (int32_t d = 0; d < x.rank(); ++d) t.dims.push_back(x.dim(static_cast<uint32_t>(d)));
    for (uint32_t k = 0; k < node.output_count(); ++k) set(k, t);
  }

  std::string function_body(const sdk::Node& node) override { return body_of(node.op()); }

  void evaluate(const sdk::Node& node, const sdk::Tensors& in, const sdk::OutTensors& out) override {
    const std::string_view op = node.op();
    const sdk::Tensor x = in[0];
    std::vector<int64_t> dims(x.shape().begin(), x.shape().end());
    if (op == "Faulty") throw sdk::Error(OPTIMA_DEVICE, "the simulator is gone");
    if (op == "Mute") return;
    if (op == "Liar") dims.back() += 1;
    if (op == "Negative") dims.back() = -1;
    if (op != "Cube" && op != "Counter" && op != "Liar" && op != "Eager" && op != "Negative") throw sdk::Error(OPTIMA_NOT_FOUND, "no evaluator");
    out[0].alloc({dims.data(), dims.size()});
    if (op == "Eager") out[0].alloc({dims.data(), dims.size()});
    const float* from = x.data<float>();
    float* to = out[0].data<float>();
    for (int64_t k = 0; k < x.elements(); ++k) to[k] = from[k] * from[k] * from[k];
  }
};

}  // namespace
}  // namespace own_operators

OPTIMA_PLUGIN(own_operators::Own, own_operators::kInfo)
