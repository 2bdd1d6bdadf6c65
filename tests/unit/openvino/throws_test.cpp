// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: whatever is thrown inside OpenVINO, in a call or on a thread of its own, becomes one error. A model with an
// operator that throws is run by OpenVINO's CPU device under the plugin's own request; no ONNX operator of OpenVINO throws
// something that is no std::exception, so this operator stands in for one.
#include <doctest/doctest.h>

#include <openvino/op/op.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>

#include "core/runtime/fence.hpp"
#include "plugins/openvino/request.hpp"

using namespace openvino_plugin;
namespace sdk = optima::sdk;

namespace {

/// Thrown while it computes; empty: nothing, and the output is the input.
std::function<void()> throwing;

class Throwing : public ov::op::Op {
 public:
  OPENVINO_OP("OptimaThrowing")
  Throwing() = default;
  explicit Throwing(const ov::Output<ov::Node>& x) : Op({x}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override { set_output_type(0, get_input_element_type(0), get_input_partial_shape(0)); }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& in) const override { return std::make_shared<Throwing>(in.at(0)); }
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  bool has_evaluate() const override { return true; }
  bool evaluate(ov::TensorVector& out, const ov::TensorVector& in) const override {
    if (throwing) throwing();
    std::memcpy(out[0].data(), in[0].data(), in[0].get_byte_size());
    return true;
  }
};

/// One request on a compiled model of that operator, with buffers of four floats.
struct Running {
  ov::Core core;
  ov::CompiledModel model;
  Meta meta;
  std::optional<Request> request;
  int64_t dims[1] = {4};
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  optima_tensor in{}, out{};

  Running() {
    const auto input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{4});
    const auto op = std::make_shared<Throwing>(input);
    model = core.compile_model(std::make_shared<ov::Model>(ov::ResultVector{std::make_shared<ov::op::v0::Result>(op)}, ov::ParameterVector{input}), "CPU");
    meta.inputs = {{"x", OPTIMA_F32, true, {4}, {""}}}, meta.outputs = {{"y", OPTIMA_F32, true, {4}, {""}}};
    const auto* fences = static_cast<const optima_fence_host*>(optima::host_extension(OPTIMA_EXT_FENCE));
    request.emplace(Making{meta, fences, nullptr, [this](bool) { return model.create_infer_request(); }});
    for (auto [t, data] : {std::pair(&in, x), std::pair(&out, y)}) {
      t->struct_size = sizeof *t, t->dtype = OPTIMA_F32, t->fd = -1;
      t->rank = 1, t->shape = dims, t->data = data, t->size = sizeof x;
    }
  }
  ~Running() { throwing = nullptr; }

  /// Code and sentence of a blocking run.
  std::pair<int32_t, std::string> execute() {
    try {
      request->execute({&in, 1}, {&out, 1});
      return {OPTIMA_OK, ""};
    } catch (const sdk::Error& e) {
      return {e.code, e.text};
    }
  }
  /// Code and sentence that an asynchronous run leaves in its fence.
  std::pair<int32_t, std::string> submit() {
    optima::Fence* fence = optima::Fence::make();
    request->submit({&in, 1}, {&out, 1}, {}, fence->point(1));
    std::pair<int32_t, std::string> said{fence->wait(1, UINT64_MAX), ""};
    if (said.first != OPTIMA_OK) said.second = fence->failure();
    fence->release();
    return said;
  }
};

/// What guarded() makes of something thrown.
std::pair<int32_t, std::string> made_of(const std::function<void()>& thrown) {
  try {
    guarded(OPTIMA_TOOL_FAILED, "thing", thrown);
    return {OPTIMA_OK, ""};
  } catch (const sdk::Error& e) {
    return {e.code, e.text};
  }
}

using Said = std::pair<int32_t, std::string>;

}  // namespace

TEST_CASE("everything that can be thrown has its code and its sentence") {
  CHECK(made_of([] {}) == Said(OPTIMA_OK, ""));
  CHECK(made_of([] { throw 42; }) == Said(OPTIMA_TOOL_FAILED, "thing: unknown exception inside OpenVINO"));
  CHECK(made_of([] { throw std::runtime_error("Exception from src/a.cpp:1:\nthe reason\n"); }) == Said(OPTIMA_TOOL_FAILED, "thing: the reason"));
  CHECK(made_of([] { throw std::bad_alloc(); }) == Said(OPTIMA_MEMORY, "thing: out of memory"));
  CHECK(made_of([] { throw std::runtime_error("could not allocate a primitive"); }) == Said(OPTIMA_MEMORY, "thing: out of memory"));
  CHECK(made_of([] { throw sdk::Error(OPTIMA_IO, "disk"); }) == Said(OPTIMA_IO, "disk"));
}

TEST_CASE("what an operator throws inside OpenVINO is one error of a blocking and of an asynchronous run, and the next run works") {
  Running r;
  const auto works = [&] {
    throwing = nullptr;
    for (float& f : r.y) f = 0;
    CHECK(r.execute() == Said(OPTIMA_OK, ""));
    CHECK(r.y[3] == 4);
    r.y[3] = 0;
    CHECK(r.submit() == Said(OPTIMA_OK, ""));
    CHECK(r.y[3] == 4);
  };
  works();
  const auto fails = [&](const std::function<void()>& thrown, int32_t code, const std::string& blocking, const std::string& asynchronous) {
    throwing = thrown;
    const Said one = r.execute(), two = r.submit();
    CHECK(one.first == code);
    CHECK(two.first == code);
    CHECK_MESSAGE((one.second.starts_with("OpenVINO cannot run this: ") && one.second.ends_with(blocking)), one.second);
    CHECK_MESSAGE((two.second.starts_with("OpenVINO cannot run this: ") && two.second.ends_with(asynchronous)), two.second);
    works();
  };
  fails([] { throw 42; }, OPTIMA_DEVICE, "Unexpected exception", "unknown exception inside OpenVINO");  // the first is OpenVINO's word for it
  fails([] { throw std::runtime_error("the reason"); }, OPTIMA_DEVICE, " of type Reference: the reason", " of type Reference: the reason");
  fails([] { throw std::bad_alloc(); }, OPTIMA_MEMORY, "out of memory", "out of memory");
}
