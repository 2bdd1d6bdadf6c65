// SPDX-License-Identifier: Apache-2.0
#include "core/onnx_io/mend_schemas.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"
#include "onnx/defs/tensor_proto_util.h"
#include "optima/plugin/error.hpp"
#include "reference/shapes.hpp"

namespace optima::onnx_io {
namespace {

using onnx::InferenceContext;

/// False also where there is no such dim.
bool known(InferenceContext& context, size_t input, int dim) {
  if (!onnx::hasInputShape(context, input)) return false;
  const auto& shape = onnx::getInputShape(context, input);
  return dim < shape.dim_size() && shape.dim(dim).has_dim_value();
}

void forget(InferenceContext& context, size_t output, int dim) {
  if (output >= context.getNumOutputs() || !context.hasOutput(output)) return;
  auto& type = *context.getOutputType(output)->mutable_tensor_type();
  if (type.has_shape() && dim < type.shape().dim_size()) type.mutable_shape()->mutable_dim(dim)->Clear();
}

// Value is (batch, length, heads · size) or (batch, heads, length, size), past_value the latter.
void mend_attention(InferenceContext& context) {
  if (!onnx::hasInputShape(context, 2)) return;
  const bool flat = onnx::getInputShape(context, 2).dim_size() == 3;
  if (flat && !known(context, 2, 2)) forget(context, 0, 2);  // heads · size
  const bool past = context.hasInput(5);
  if (!known(context, 2, flat ? 1 : 2) || (past && !known(context, 5, 2))) forget(context, 3, 3);  // length, with the past's
}

// [batch, frames, bins, 2]: where the operator does not say onesided the library counts the bins of both sides.
void mend_stft(InferenceContext& context) {
  auto& type = *context.getOutputType(0)->mutable_tensor_type();
  if (context.getAttribute("onesided") || !type.has_shape() || type.shape().dim_size() != 4) return;
  auto& bins = *type.mutable_shape()->mutable_dim(2);
  bins.set_dim_value(bins.dim_value() / 2 + 1);
}

/// True where the operator has sizes and nobody knows how many.
bool uncounted(InferenceContext& context) {
  constexpr size_t sizes = 3;
  return sizes < context.getNumInputs() && context.hasInput(sizes) && !context.getInputData(sizes) && !context.getSymbolicInput(sizes) && !known(context, sizes, 0);
}

void infer_rank_alone(InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasInputShape(context, 0)) return;
  auto* shape = onnx::getOutputShape(context, 0);
  for (int d = shape->dim_size(); d < onnx::getInputShape(context, 0).dim_size(); ++d) shape->add_dim();
}

std::vector<int64_t> axes_of(InferenceContext& context, int rank) {
  std::vector<int64_t> axes;
  if (const auto* given = context.getAttribute("axes")) axes.assign(given->ints().begin(), given->ints().end());
  else
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  for (int64_t& a : axes) a += a < 0 ? rank : 0;
  return axes;
}

// Sizes by scales. The library's product is of doubles, in which 10 by 0.7f is less than 7; ONNX Runtime's is of floats, as the scales are.
void mend_scaled(InferenceContext& context, size_t input) {
  const auto* scales = input < context.getNumInputs() ? context.getInputData(input) : nullptr;
  if (!scales || scales->data_type() != onnx::TensorProto::FLOAT || !onnx::hasInputShape(context, 0)) return;
  const auto& in = onnx::getInputShape(context, 0);
  auto& out = *onnx::getOutputShape(context, 0);
  const std::vector<float> factors = onnx::ParseData<float>(scales);
  const std::vector<int64_t> axes = axes_of(context, in.dim_size());
  if (factors.size() != axes.size() || out.dim_size() != in.dim_size()) return;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int d = static_cast<int>(axes[k]);
    if (d < 0 || d >= in.dim_size() || !in.dim(d).has_dim_value()) continue;
    const float size = std::floor(factors[k] * static_cast<float>(in.dim(d).dim_value()));
    if (size >= 0 && size < 0x1p62f) out.mutable_dim(d)->set_dim_value(static_cast<int64_t>(size));
  }
}

/// What a shape multiplies to: a number and names. Nothing where a dim but `open` is neither, or the number is 0 or too large.
struct Factors {
  int64_t number = 1;
  std::multiset<std::string> names;
};
std::optional<Factors> factors_but(const onnx::TensorShapeProto& shape, int open) {
  Factors out;
  for (int d = 0; d < shape.dim_size(); ++d) {
    if (d == open) continue;
    const auto& dim = shape.dim(d);
    if (dim.has_dim_param()) out.names.insert(dim.dim_param());
    else if (!dim.has_dim_value() || __builtin_mul_overflow(out.number, dim.dim_value(), &out.number)) return std::nullopt;
  }
  return out.number > 0 ? std::optional(std::move(out)) : std::nullopt;
}

/// The dim that is neither number nor name, where there is one such; -1.
int only_open(const onnx::TensorShapeProto& shape) {
  int found = -1;
  for (int d = 0; d < shape.dim_size(); ++d)
    if (!shape.dim(d).has_dim_value() && !shape.dim(d).has_dim_param() && std::exchange(found, d) >= 0) return -1;
  return found;
}

// The elements stay as many, so the size that -1 stands for is what the others leave of them: a number (heads, where batch and length go on as they are), or one size by its name
// (batch by -1 behind a pool).
void mend_reshape(InferenceContext& context) {
  const auto& type = context.getOutputType(0)->tensor_type();
  if (!onnx::hasInputShape(context, 0) || !type.has_shape()) return;
  const int open = only_open(type.shape());
  if (open < 0) return;
  auto all = factors_but(onnx::getInputShape(context, 0), -1);
  const auto others = factors_but(type.shape(), open);
  if (!all || !others || all->number % others->number != 0) return;
  for (const std::string& name : others->names) {
    const auto at = all->names.find(name);
    if (at == all->names.end()) return;
    all->names.erase(at);
  }
  const int64_t number = all->number / others->number;
  auto& left = *onnx::getOutputShape(context, 0)->mutable_dim(open);
  if (all->names.empty()) left.set_dim_value(number);
  else if (all->names.size() == 1 && number == 1) left.set_dim_param(*all->names.begin());
}

/// Of axes that broadcast, by input and dim.
onnx::TensorShapeProto::Dimension broadcast(InferenceContext& context, const std::vector<std::pair<size_t, int>>& axes) {
  std::vector<onnx::TensorShapeProto> sizes(axes.size());
  std::vector<const onnx::TensorShapeProto*> all;
  for (size_t k = 0; k < axes.size(); ++k) {
    *sizes[k].add_dim() = onnx::getInputShape(context, axes[k].first).dim(axes[k].second);
    all.push_back(&sizes[k]);
  }
  onnx::TensorShapeProto out;
  onnx::multidirectionalBroadcastShapeInference(all, out);
  return out.dim(0);
}

/// What the letters of an equation are hangs on ranks alone; nothing where it is none for these, of which the library says why.
std::optional<reference::EinsumShape> letters_of(InferenceContext& context) {
  const auto* equation = context.getAttribute("equation");
  std::vector<std::vector<int64_t>> ones;
  for (size_t k = 0; k < context.getNumInputs(); ++k) {
    if (!onnx::hasInputShape(context, k)) return std::nullopt;
    ones.emplace_back(static_cast<size_t>(onnx::getInputShape(context, k).dim_size()), 1);
  }
  try {
    return equation ? std::optional(reference::einsum_shape(equation->s(), ones)) : std::nullopt;
  } catch (const sdk::Error&) {
    return std::nullopt;
  }
}

// Axes of one letter, and those under "...", broadcast; the library takes them from the first operand that has some. What it took of a letter stays where that is no 1.
void mend_einsum(InferenceContext& context) {
  auto& type = *context.getOutputType(0)->mutable_tensor_type();
  const auto axes = letters_of(context);
  if (!axes || !type.has_shape() || axes->out_rank != static_cast<size_t>(type.shape().dim_size())) return;
  for (size_t d = 0; d < axes->out_rank; ++d) {
    auto& dim = *type.mutable_shape()->mutable_dim(static_cast<int>(d));
    const char letter = axes->letters[d];
    if (letter >= ' ' && dim.dim_value() != 1) continue;
    std::vector<std::pair<size_t, int>> same;
    for (size_t k = 0; k < axes->terms.size(); ++k)
      for (size_t at = 0; at < axes->terms[k].size(); ++at)
        if (axes->terms[k][at] == letter) same.emplace_back(k, static_cast<int>(at));
    dim = broadcast(context, same);
  }
}

/// Every version of the operator gets make(what it had).
template <class Make>
void replace(const char* op, Make make) {
  std::set<const onnx::OpSchema*> seen;
  for (int version = 1; version <= onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second; ++version) {
    const auto* schema = onnx::OpSchemaRegistry::Schema(op, version, "");
    if (!schema || !seen.insert(schema).second || !schema->has_type_and_shape_inference_function()) continue;
    const_cast<onnx::OpSchema*>(schema)->TypeAndShapeInferenceFunction(make(schema->GetTypeAndShapeInferenceFunction()));
  }
}

/// The operator's result is as its first input; the library infers through its body, where a size of 0 in Reshape means another dim.
void infer_as_first(const char* op) {
  for (int version = 1; version <= onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second; ++version)
    if (const auto* schema = onnx::OpSchemaRegistry::Schema(op, version, ""); schema && !schema->has_type_and_shape_inference_function())
      const_cast<onnx::OpSchema*>(schema)->TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
}

bool mend_all() {
  infer_as_first("GroupNormalization");
  replace("Attention", [](onnx::InferenceFunction before) {
    return [before](InferenceContext& context) {
      before(context);
      mend_attention(context);
    };
  });
  replace("Einsum", [](onnx::InferenceFunction before) {
    return [before](InferenceContext& context) {
      before(context);
      mend_einsum(context);
    };
  });
  replace("Reshape", [](onnx::InferenceFunction before) {
    return [before](InferenceContext& context) {
      before(context);
      mend_reshape(context);
    };
  });
  replace("STFT", [](onnx::InferenceFunction before) {
    return [before](InferenceContext& context) {
      before(context);
      mend_stft(context);
    };
  });
  replace("Resize", [](onnx::InferenceFunction before) {
    return [before](InferenceContext& context) {
      uncounted(context) ? infer_rank_alone(context) : before(context);
      mend_scaled(context, context.getNumInputs() == 2 ? 1 : 2);  // there was no roi at first
    };
  });
  replace("Upsample", [](onnx::InferenceFunction before) {
    return [before](InferenceContext& context) {
      before(context);
      mend_scaled(context, 1);
    };
  });
  return true;
}

}  // namespace

void mend_schemas() {
  [[maybe_unused]] static const bool once = mend_all();
}

}  // namespace optima::onnx_io
