// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: types there and back.
#include "core/onnx_io/types.hpp"

#include "core/onnx_io/declared.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/data_type_utils.h"

namespace optima::onnx_io {
namespace {

template <class T>
void set_tensor(image::Value& value, const T& tensor) {
  value.dtype = tensor.elem_type();
  value.dims.reset();
  if (!tensor.has_shape()) return;
  std::vector<image::Dim>& dims = value.dims.emplace();
  for (const auto& d : tensor.shape().dim()) {
    if (d.has_dim_value() && d.dim_value() >= 0) dims.push_back({d.dim_value(), ""});
    else dims.push_back({-1, d.dim_param()});
  }
}

template <class T>
void put_tensor(const image::Value& value, T& tensor) {
  tensor.set_elem_type(value.dtype);
  if (!value.dims) return;
  auto& shape = *tensor.mutable_shape();
  for (const image::Dim& d : *value.dims) {
    auto& dim = *shape.add_dim();
    if (d.value >= 0) dim.set_dim_value(d.value);
    else if (!d.symbol.empty()) dim.set_dim_param(d.symbol);
  }
}

Status conflict(const image::Value& value, std::string_view found) {
  return invalid_input(cat("value ", quote(value.name), " is ", found, ", known as ", type_text(value)));
}

}  // namespace

Status refine(image::Value& value, const image::Value& found) {
  if (found.kind == OPTIMA_KIND_UNKNOWN || found.dtype == OPTIMA_UNDEFINED) return {};
  if (value.kind == OPTIMA_KIND_UNKNOWN || value.dtype == OPTIMA_UNDEFINED) {
    value.kind = found.kind, value.dtype = found.dtype, value.dims = found.dims;
    return {};
  }
  if (value.kind != found.kind || value.dtype != found.dtype) return conflict(value, type_text(found));
  if (!found.dims) return {};
  std::vector<image::Dim> dims = value.dims.value_or(*found.dims);
  if (dims.size() != found.dims->size()) return conflict(value, type_text(found));
  for (size_t k = 0; k < dims.size(); ++k) {
    const image::Dim& better = (*found.dims)[k];
    if (dims[k].value >= 0 && better.value >= 0 && dims[k].value != better.value) return conflict(value, type_text(found));
    const bool named = is_anonymous(dims[k].symbol) && !better.symbol.empty() && (dims[k].symbol.empty() || !is_anonymous(better.symbol));
    if (dims[k].value < 0 && (better.value >= 0 || named)) dims[k] = better;
  }
  value.dims = std::move(dims);
  return {};
}

Result<bool> correct(image::Value& value, const image::Value& found) {
  const Status status = refine(value, found);
  if (status.ok()) return false;
  if (value.kind != found.kind || value.dtype != found.dtype) return status;
  log(LogLevel::Warn, "onnx_io", cat("value ", quote(value.name), " is declared ", type_text(value), ", but is ", type_text(found)));
  value.dims = found.dims;
  return true;
}

void set_type(image::Value& value, const onnx::TypeProto& type) {
  using onnx::TypeProto;
  value.kind = static_cast<uint32_t>(type.value_case());
  switch (type.value_case()) {
    case TypeProto::kTensorType: return set_tensor(value, type.tensor_type());
    case TypeProto::kSparseTensorType: return set_tensor(value, type.sparse_tensor_type());
    case TypeProto::kSequenceType: set_type(value, type.sequence_type().elem_type()); break;
    case TypeProto::kOptionalType: set_type(value, type.optional_type().elem_type()); break;
    case TypeProto::kMapType: set_type(value, type.map_type().value_type()); break;
    default: value.kind = OPTIMA_KIND_UNKNOWN; value.dtype = OPTIMA_UNDEFINED; value.dims.reset(); return;
  }
  value.kind = static_cast<uint32_t>(type.value_case());
}

onnx::TypeProto to_type(const image::Value& value) {
  onnx::TypeProto type;
  if (value.dtype == OPTIMA_UNDEFINED) return type;
  switch (value.kind) {
    case OPTIMA_KIND_TENSOR: put_tensor(value, *type.mutable_tensor_type()); break;
    case OPTIMA_KIND_SPARSE: put_tensor(value, *type.mutable_sparse_tensor_type()); break;
    case OPTIMA_KIND_SEQUENCE: put_tensor(value, *type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()); break;
    case OPTIMA_KIND_OPTIONAL: put_tensor(value, *type.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()); break;
    default: break;
  }
  return type;
}

std::string type_attribute(const onnx::TypeProto& type) { return *onnx::Utils::DataTypeUtils::ToType(type); }

}  // namespace optima::onnx_io
