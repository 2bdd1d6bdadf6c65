// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: dense bytes of tensors.
#include "core/onnx_io/tensors.hpp"

#include <charconv>
#include <cstring>

#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 56;      // as the seam's verifier
constexpr int64_t kLargestDense = int64_t{1} << 30;      // bytes a sparse tensor may become

Status wrong(const onnx::TensorProto& t, std::string_view what) {
  return invalid_input(cat("tensor ", quote(t.name()), ": ", what));
}

Status wrong_size(const onnx::TensorProto& t, const image::Constant& c, uint64_t found, int64_t wanted) {
  image::Value v{"", c.dtype, std::vector<image::Dim>{}, OPTIMA_NONE, OPTIMA_KIND_TENSOR};
  for (int64_t d : c.dims) v.dims->push_back({d, ""});
  return wrong(t, cat(found, " bytes of data, wanted ", wanted, " for ", type_text(v)));
}

template <class To, class From>
Blob narrowed(const From& field) {
  std::vector<std::byte> bytes(static_cast<size_t>(field.size()) * sizeof(To));
  for (int k = 0; k < field.size(); ++k) {
    const To value = static_cast<To>(field.Get(k));
    std::memcpy(bytes.data() + static_cast<size_t>(k) * sizeof(To), &value, sizeof(To));
  }
  return Blob::own(std::move(bytes));
}

// onnx.proto says which typed field holds which element type.
Blob typed_bytes(const onnx::TensorProto& t) {
  switch (t.data_type()) {
    case OPTIMA_F32: case OPTIMA_C64: return narrowed<float>(t.float_data());
    case OPTIMA_F64: case OPTIMA_C128: return narrowed<double>(t.double_data());
    case OPTIMA_I64: return narrowed<int64_t>(t.int64_data());
    case OPTIMA_U64: return narrowed<uint64_t>(t.uint64_data());
    case OPTIMA_U32: return narrowed<uint32_t>(t.uint64_data());
    case OPTIMA_I32: return narrowed<int32_t>(t.int32_data());
    case OPTIMA_I16: case OPTIMA_U16: case OPTIMA_F16: case OPTIMA_BF16: return narrowed<uint16_t>(t.int32_data());
    default: return narrowed<uint8_t>(t.int32_data());
  }
}

Result<Blob> moved_bytes(const onnx::TensorProto& t, std::span<const Blob> moved) {
  for (const auto& entry : t.external_data()) {
    const std::string& value = entry.value();
    if (entry.key() != "location" || value.empty() || value[0] != kMovedMark) continue;
    size_t index = 0;
    std::from_chars(value.data() + 1, value.data() + value.size(), index);
    if (index < moved.size()) return moved[index];
  }
  return wrong(t, "external data that could not be found");
}

template <class T>
int64_t integer(const Blob& bytes, int64_t k) {
  T value;
  std::memcpy(&value, bytes.data + k * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return static_cast<int64_t>(value);
}

// Row-major position of the k-th stored element; -1 when it lies outside. Indices are [count] positions or [count, rank].
int64_t position(const Tensor& indices, int64_t k, std::span<const int64_t> dims) {
  if (indices.constant.dims.size() == 1) return integer<int64_t>(indices.bytes, k);
  int64_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t i = integer<int64_t>(indices.bytes, k * static_cast<int64_t>(dims.size()) + static_cast<int64_t>(d));
    if (i < 0 || i >= dims[d]) return -1;
    at = at * dims[d] + i;
  }
  return at;
}

}  // namespace

int64_t element_count(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(count, d, &count) || count > kMostElements) return -1;
  return count;
}

int64_t byte_count(int32_t dtype, std::span<const int64_t> dims) {
  const int64_t count = element_count(dims), bits = optima_dtype_bits(dtype);
  return count < 0 || bits == 0 ? -1 : (count * bits + 7) / 8;
}

Blob string_bytes(const std::vector<std::string>& strings) {
  std::vector<std::byte> bytes(strings.size() * 8);
  uint64_t end = 0;
  for (size_t k = 0; k < strings.size(); ++k) {
    end += strings[k].size();
    std::memcpy(bytes.data() + k * 8, &end, 8);
  }
  for (const std::string& s : strings) {
    const auto* at = reinterpret_cast<const std::byte*>(s.data());
    bytes.insert(bytes.end(), at, at + s.size());
  }
  return Blob::own(std::move(bytes));
}

Result<Tensor> decode(const onnx::TensorProto& t, std::span<const Blob> moved) {
  Tensor out{{t.data_type(), {t.dims().begin(), t.dims().end()}, 0}, {}};
  const int64_t count = element_count(out.constant.dims);
  if (count < 0) return wrong(t, "a shape that is negative or too large");
  if (t.data_type() == OPTIMA_STRING) {
    if (t.string_data_size() != count) return wrong(t, cat(t.string_data_size(), " strings, wanted ", count));
    out.bytes = string_bytes({t.string_data().begin(), t.string_data().end()});
    return out;
  }
  const int64_t wanted = byte_count(t.data_type(), out.constant.dims);
  if (wanted < 0) return wrong(t, cat("element type ", t.data_type(), ", which is not known"));
  if (t.data_location() == onnx::TensorProto::EXTERNAL) {
    OPTIMA_ASSIGN(out.bytes, moved_bytes(t, moved));
  } else if (t.has_raw_data()) {
    out.bytes = Blob::copy(t.raw_data().data(), t.raw_data().size());
  } else {
    out.bytes = typed_bytes(t);
  }
  if (out.bytes.size != static_cast<uint64_t>(wanted)) return wrong_size(t, out.constant, out.bytes.size, wanted);
  return out;
}

Result<Tensor> decode(const onnx::SparseTensorProto& sparse, std::span<const Blob> moved) {
  OPTIMA_ASSIGN(const Tensor values, decode(sparse.values(), moved));
  OPTIMA_ASSIGN(const Tensor indices, decode(sparse.indices(), moved));
  Tensor out{{values.constant.dtype, {sparse.dims().begin(), sparse.dims().end()}, 0}, {}};
  const int64_t count = element_count(out.constant.dims), bytes = byte_count(out.constant.dtype, out.constant.dims);
  const int64_t stored = element_count(values.constant.dims), step = optima_dtype_bits(out.constant.dtype) / 8;
  const auto rank = static_cast<int64_t>(out.constant.dims.size());
  if (bytes < 0 || bytes > kLargestDense || step == 0 || optima_dtype_bits(out.constant.dtype) % 8 != 0)
    return wrong(sparse.values(), "a sparse tensor that cannot be made dense");
  const int64_t per_element = indices.constant.dims.size() == 1 ? 1 : rank;
  if (indices.constant.dtype != OPTIMA_I64 || element_count(indices.constant.dims) != stored * per_element)
    return wrong(sparse.values(), "sparse indices that do not fit the values");
  std::vector<std::byte> dense(static_cast<size_t>(bytes));
  for (int64_t k = 0; k < stored; ++k) {
    const int64_t at = position(indices, k, out.constant.dims);
    if (at < 0 || at >= count) return wrong(sparse.values(), cat("sparse index ", k, " outside the shape"));
    std::memcpy(dense.data() + at * step, values.bytes.data + k * step, static_cast<size_t>(step));
  }
  out.bytes = Blob::own(std::move(dense));
  return out;
}

namespace {

Status put_dense(const onnx::SparseTensorProto& sparse, std::vector<Blob>& moved, onnx::TensorProto& out) {
  OPTIMA_ASSIGN(const Tensor dense, decode(sparse, moved));
  out.set_name(sparse.values().name());
  out.set_data_type(dense.constant.dtype);
  for (int64_t d : dense.constant.dims) out.add_dims(d);
  if (dense.bytes.size <= kLargeTensor) {
    out.set_raw_data(dense.bytes.data, dense.bytes.size);
    return {};
  }
  auto& entry = *out.add_external_data();
  entry.set_key("location"), entry.set_value(kMovedMark + std::to_string(moved.size()));
  out.set_data_location(onnx::TensorProto::EXTERNAL);
  moved.push_back(dense.bytes);
  return {};
}

}  // namespace

Status make_dense(onnx::GraphProto& graph, std::vector<Blob>& moved) {
  for (const auto& sparse : graph.sparse_initializer()) OPTIMA_RETURN_IF_ERROR(put_dense(sparse, moved, *graph.add_initializer()));
  graph.clear_sparse_initializer();
  for (auto& node : *graph.mutable_node())
    for (auto& a : *node.mutable_attribute()) {
      if (a.has_g()) OPTIMA_RETURN_IF_ERROR(make_dense(*a.mutable_g(), moved));
      for (auto& body : *a.mutable_graphs()) OPTIMA_RETURN_IF_ERROR(make_dense(body, moved));
      if (node.op_type() != "Constant" || !node.domain().empty() || !a.has_sparse_tensor()) continue;
      OPTIMA_RETURN_IF_ERROR(put_dense(a.sparse_tensor(), moved, *a.mutable_t()));
      a.clear_sparse_tensor();
      a.set_name("value");
      a.set_type(onnx::AttributeProto::TENSOR);
    }
  return {};
}

}  // namespace optima::onnx_io
