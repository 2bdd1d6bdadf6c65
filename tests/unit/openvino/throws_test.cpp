// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: whatever is thrown inside OpenVINO, in a call or on a thread of its own, becomes one error. A model with an
// operator that throws is run by OpenVINO's CPU device under the plugin's own request; no ONNX operator of OpenVINO throws
// something that is no std::exception, so this operator stands in for one.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
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
  std::atomic<uint64_t> age{0};
  int made = 0, failed = 0;
  std::optional<Request> request;
  int64_t dims[1] = {4};
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  optima_tensor in{}, out{};

  /// Four floats, or any number (-1): the output's size is then not known before.
  explicit Running(int64_t floats = 4) {
    const auto input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{floats});
    const auto op = std::make_shared<Throwing>(input);
    model = core.compile_model(std::make_shared<ov::Model>(ov::ResultVector{std::make_shared<ov::op::v0::Result>(op)}, ov::ParameterVector{input}), "CPU");
    meta.inputs = {{"x", OPTIMA_F32, true, {floats}, {""}}}, meta.outputs = {{"y", OPTIMA_F32, true, {floats}, {""}}};
    const auto* fences = static_cast<const optima_fence_host*>(optima::host_extension(OPTIMA_EXT_FENCE));
    request.emplace(Making{meta, fences, nullptr, [this](bool) { return ++made, model.create_infer_request(); }, age, [this] { ++failed, ++age; }});
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
  CHECK(r.failed == 6);
  CHECK(r.made == 7);  // the first, and one after each failure, as the program's model is another one then
}

TEST_CASE("buffers that come again are used again, others are taken, also after a failure and from another thread's run") {
  Running r;
  float x[4] = {9, 8, 7, 6}, y[4] = {};
  const auto both = [&](float* from, float* to) {
    r.in.data = from, r.out.data = to;
    for (const bool blocking : {true, false}) {
      for (float* f : {r.y, y}) std::fill(f, f + 4, 0.0f);
      from[0] += 1;  // the same buffer with other values
      CHECK((blocking ? r.execute() : r.submit()) == Said(OPTIMA_OK, ""));
      CHECK(std::equal(from, from + 4, to));
      const float* untouched = to == y ? r.y : y;
      CHECK(std::all_of(untouched, untouched + 4, [](float f) { return f == 0; }));
    }
  };
  for (int round = 0; round < 2; ++round) {
    both(r.x, r.y);
    both(r.x, y);
    both(x, y);
    both(x, r.y);
    throwing = [] { throw std::runtime_error("no"); };
    CHECK(r.execute().first == OPTIMA_DEVICE);
    throwing = nullptr;
  }
}

TEST_CASE("an output that was given a buffer and then wants one made has the shape of its own run") {
  Running r(-1);
  float long_x[6] = {1, 2, 3, 4, 5, 6};
  int64_t six[1] = {6};
  REQUIRE(r.execute() == Said(OPTIMA_OK, ""));
  CHECK(r.y[3] == 4);
  struct Made {
    optima_tensor* tensor;
    std::vector<float> floats{};
    int64_t dims[1] = {};
  } held{&r.out};
  const auto want_one = [&](float* from, int64_t* dims) {
    r.in.data = from, r.in.shape = dims, r.in.size = static_cast<uint64_t>(dims[0]) * sizeof(float);
    r.out.data = nullptr, r.out.size = 0, r.out.host_data = &held;
    r.out.alloc = [](void* p, const int64_t* d, int32_t) -> int32_t {
      auto& self = *static_cast<Made*>(p);
      self.floats.assign(static_cast<size_t>(d[0]), 0), self.dims[0] = d[0];
      self.tensor->data = self.floats.data(), self.tensor->size = self.floats.size() * sizeof(float), self.tensor->shape = self.dims;
      return OPTIMA_OK;
    };
    std::fill(r.y, r.y + 4, 0.0f);
    CHECK(r.execute() == Said(OPTIMA_OK, ""));
    CHECK(std::equal(held.floats.begin(), held.floats.end(), from, from + dims[0]));
    CHECK(r.y[3] == 0);
  };
  want_one(long_x, six);
  want_one(r.x, r.dims);
  want_one(long_x, six);
}
