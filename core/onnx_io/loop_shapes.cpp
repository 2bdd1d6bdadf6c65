// SPDX-License-Identifier: Apache-2.0
#include "core/onnx_io/loop_shapes.hpp"

#include "core/flow/signature.hpp"
#include "core/onnx_io/types.hpp"

namespace optima::onnx_io {
namespace {

using Shape = std::optional<std::vector<image::Dim>>;
constexpr int kAhead = static_cast<int>(kLoopInputsAhead), kGivenAhead = static_cast<int>(kLoopOutputsAhead);
constexpr int kRounds = 16;  // a shape that is not settled by then is not kept

onnx::GraphProto* body_of(onnx::NodeProto& loop) {
  for (onnx::AttributeProto& a : *loop.mutable_attribute())
    if (a.name() == "body" && a.has_g()) return a.mutable_g();
  return nullptr;
}

Shape shape_of(const onnx::TypeProto& type) {
  image::Value value;
  set_type(value, type);
  return value.kind == OPTIMA_KIND_TENSOR ? value.dims : std::nullopt;
}

bool is_known(const image::Dim& d) { return d.value >= 0 || !d.symbol.empty(); }
bool is_same(const image::Dim& a, const image::Dim& b) { return a.value == b.value && (a.value >= 0 || a.symbol == b.symbol); }

// What the model says of the body's input stays where nothing is assumed.
void assume(const Shape& shape, onnx::TypeProto& input) {
  if (!shape || input.value_case() != onnx::TypeProto::kTensorType) return;
  const Shape declared = shape_of(input);
  onnx::TensorShapeProto& out = *input.mutable_tensor_type()->mutable_shape();
  out.Clear();
  for (size_t d = 0; d < shape->size(); ++d) {
    const bool stays = !is_known((*shape)[d]) && declared && declared->size() == shape->size();
    const image::Dim& dim = stays ? (*declared)[d] : (*shape)[d];
    onnx::TensorShapeProto::Dimension& written = *out.add_dim();
    if (dim.value >= 0) written.set_dim_value(dim.value);
    else if (!dim.symbol.empty()) written.set_dim_param(dim.symbol);
  }
}

// Whether a trip that began with `kept` ended with it; what did not is forgotten.
bool survives(Shape& kept, const Shape& found) {
  if (!kept) return true;
  if (!found || found->size() != kept->size()) {
    kept.reset();
    return false;
  }
  bool same = true;
  for (size_t d = 0; d < kept->size(); ++d) {
    if (!is_known((*kept)[d]) || is_same((*kept)[d], (*found)[d])) continue;
    (*kept)[d] = {};
    same = false;
  }
  return same;
}

}  // namespace

std::vector<Shape> kept_shapes(const onnx::NodeProto& loop, const std::vector<onnx::TypeProto>& initial, const std::function<void(onnx::NodeProto&)>& infer) {
  std::vector<Shape> kept;
  for (size_t i = kLoopInputsAhead; i < initial.size(); ++i) kept.push_back(shape_of(initial[i]));
  for (int round = 0; round < kRounds; ++round) {
    onnx::NodeProto trip = loop;
    onnx::GraphProto* body = body_of(trip);
    const int carried = static_cast<int>(kept.size());
    if (!body || body->input_size() != kAhead + carried || body->output_size() < kGivenAhead + carried) return {};
    for (int k = 0; k < carried; ++k) assume(kept[static_cast<size_t>(k)], *body->mutable_input(kAhead + k)->mutable_type());
    infer(trip);
    bool settled = true;
    for (int k = 0; k < carried; ++k) settled &= survives(kept[static_cast<size_t>(k)], shape_of(body->output(kGivenAhead + k).type()));
    if (settled) return kept;
  }
  return {};
}

}  // namespace optima::onnx_io
