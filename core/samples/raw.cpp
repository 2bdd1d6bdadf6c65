// SPDX-License-Identifier: Apache-2.0
#include "core/samples/raw.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/samples/source.hpp"
#include "core/support/blob.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/half.hpp"

namespace optima::samples {
namespace {

constexpr uint64_t kFloat = sizeof(float);

float float_at(std::span<const std::byte> bytes, uint64_t i) {
  float out;
  std::memcpy(&out, bytes.data() + i * kFloat, kFloat);
  return out;
}

/// Calls f(float) for each value and stores what it gives; the position of the first value of which it gives nothing.
template <class T, class F>
std::optional<uint64_t> fill(Tensor& to, std::span<const std::byte> from, F&& f) {
  const std::span<T> values = to.as<T>();
  for (uint64_t i = 0; i < values.size(); ++i) {
    const std::optional<T> value = f(float_at(from, i));
    if (!value) return i;
    values[i] = *value;
  }
  return std::nullopt;
}

template <class T>
std::optional<uint64_t> fill_whole(Tensor& to, std::span<const std::byte> from) {
  const auto low = static_cast<float>(std::numeric_limits<T>::min()), past = std::ldexp(1.0f, std::numeric_limits<T>::digits);
  return fill<T>(to, from, [=](float x) { return x >= low && x < past && x == std::trunc(x) ? std::optional(static_cast<T>(x)) : std::nullopt; });
}

/// As fill(); nullopt in the outer one for types that are not read.
std::optional<std::optional<uint64_t>> fill_any(Tensor& to, std::span<const std::byte> from) {
  switch (to.dtype) {
    case OPTIMA_F32: return fill<float>(to, from, [](float x) { return std::optional(x); });
    case OPTIMA_F64: return fill<double>(to, from, [](float x) { return std::optional<double>(x); });
    case OPTIMA_F16: return fill<uint16_t>(to, from, [](float x) { return std::optional(half_of(x)); });
    case OPTIMA_BF16: return fill<uint16_t>(to, from, [](float x) { return std::optional(bfloat_of(x)); });
    case OPTIMA_BOOL: return fill<uint8_t>(to, from, [](float x) { return x == 0 || x == 1 ? std::optional<uint8_t>(x != 0) : std::nullopt; });
    case OPTIMA_I8: return fill_whole<int8_t>(to, from);
    case OPTIMA_U8: return fill_whole<uint8_t>(to, from);
    case OPTIMA_I16: return fill_whole<int16_t>(to, from);
    case OPTIMA_U16: return fill_whole<uint16_t>(to, from);
    case OPTIMA_I32: return fill_whole<int32_t>(to, from);
    case OPTIMA_U32: return fill_whole<uint32_t>(to, from);
    case OPTIMA_I64: return fill_whole<int64_t>(to, from);
    case OPTIMA_U64: return fill_whole<uint64_t>(to, from);
    default: return std::nullopt;
  }
}

/// HPVM's BinDataset: one input, its samples one behind the other in one file.
class BinDataset : public Samples::Source {
 public:
  BinDataset(const std::string& path, Blob file, std::vector<int64_t> shape, uint64_t row, uint64_t count)
      : path_(path), name_(path.substr(path.rfind('/') + 1)), file_(std::move(file)), shape_(std::move(shape)), row_(row), count_(count) {}

  uint64_t count() const override { return count_; }
  std::string name(uint64_t sample) const override { return cat(name_, "[", sample, "]"); }
  std::string form() const override { return "BinDataset"; }
  bool alike() const override { return true; }
  Result<TensorInfo> describe(uint64_t, size_t input) const override {
    TensorInfo out = inputs[input];
    out.shape = shape_;
    return out;
  }
  Result<Tensor> read(uint64_t sample, size_t input) const override {
    return from_floats({file_.data + sample * row_, row_}, inputs[input], shape_, quote(path_));
  }

 private:
  const std::string path_, name_;
  const Blob file_;
  const std::vector<int64_t> shape_;
  const uint64_t row_, count_;
};

}  // namespace

Result<std::vector<int64_t>> shape_of_floats(uint64_t bytes, const TensorInfo& wanted, std::string_view what) {
  std::vector<int64_t> shape = wanted.shape;
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    *open = 1;
    const uint64_t step = byte_size(OPTIMA_F32, shape).value_or(0);
    if (step && bytes % step == 0) *open = static_cast<int64_t>(bytes / step);
  }
  const std::optional<uint64_t> size = byte_size(OPTIMA_F32, shape);
  if (wanted.unranked || !size || *size != bytes)
    return invalid_input(cat(what, ": input ", quote(wanted.name), ": found ", bytes, " bytes, wanted ",
                             size && !wanted.unranked ? std::to_string(*size) : "a number that fits",
                             " of float32 ", wanted.unranked ? "of any shape" : shape_text(wanted.shape)));
  return shape;
}

Result<Tensor> from_floats(std::span<const std::byte> bytes, const TensorInfo& wanted, std::vector<int64_t> shape, std::string_view what) {
  if (byte_size(OPTIMA_F32, shape) != bytes.size())
    return invalid_input(cat(what, ": found ", bytes.size(), " bytes, wanted as many as when it was opened"));
  OPTIMA_ASSIGN(Tensor out, Tensor::make(wanted.dtype, std::move(shape)));
  const auto bad = fill_any(out, bytes);
  const std::string about = cat(what, ": input ", quote(wanted.name));
  if (!bad) return invalid_input(cat(about, ": found raw float32, wanted ", dtype_name(wanted.dtype), ", which it is not turned into"));
  if (*bad) return invalid_input(cat(about, ": found ", static_cast<double>(float_at(bytes, **bad)), " at position ", **bad, ", wanted ",
                                     dtype_name(wanted.dtype)));
  return out;
}

Result<SourcePtr> open_bin_dataset(const std::string& path, const Wanted& wanted) {
  const std::string what = quote(path);
  if (wanted.inputs.size() != 1) return invalid_input(cat(what, ": is a BinDataset, of one input, found a model of ", names_of(wanted.inputs)));
  const TensorInfo& input = wanted.inputs[0];
  std::vector<int64_t> shape = input.shape;
  if (!shape.empty() && shape[0] < 0) shape[0] = 1;
  const uint64_t row = byte_size(OPTIMA_F32, shape).value_or(0);
  if (input.unranked || row == 0)
    return invalid_input(cat(what, ": raw float32 for input ", quote(input.name), " of shape ", input.unranked ? "?" : shape_text(input.shape),
                             ", wanted a model of fixed sizes (--shape)"));
  OPTIMA_ASSIGN(Blob file, map_file(path));
  if (file.size % row != 0)
    return invalid_input(cat(what, ": input ", quote(input.name), ": found ", file.size, " bytes, wanted a multiple of ", row, " (float32 ",
                             shape_text(shape), ")"));
  const uint64_t count = wanted.at_most(file.size / row);
  return SourcePtr(std::make_shared<BinDataset>(path, std::move(file), std::move(shape), row, count));
}

}  // namespace optima::samples
