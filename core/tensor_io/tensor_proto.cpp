// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/tensor_proto.hpp"

#include <cstring>

#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"
#include "core/support/wire.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

// Field numbers of onnx.proto3, message TensorProto.
enum Field : uint32_t {
  kDims = 1, kDataType = 2, kFloatData = 4, kInt32Data = 5, kStringData = 6, kInt64Data = 7, kName = 8, kRawData = 9, kDoubleData = 10,
  kUint64Data = 11, kDataLocation = 14
};

struct Parsed {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> dims;
  std::vector<uint64_t> words;  // of the typed lists: bit patterns
  std::span<const std::byte> raw;
  std::vector<std::string> texts;
  bool has_raw = false, external = false;
};

// A repeated scalar comes packed (one run of bytes) or one value at a time.
bool add_numbers(const WireField& v, size_t fixed_size, std::vector<uint64_t>& out) {
  if (v.type != WireType::Bytes) {
    out.push_back(v.value);
    return true;
  }
  WireReader wire(v.bytes);
  while (!wire.done()) {
    uint64_t n = 0;
    if (fixed_size ? !wire.fixed(n, fixed_size) : !wire.varint(n)) return false;
    out.push_back(n);
  }
  return true;
}

bool take(const WireField& v, Parsed& p) {
  switch (v.number) {
    case kDims: {
      std::vector<uint64_t> dims;
      if (!add_numbers(v, 0, dims)) return false;
      p.dims.insert(p.dims.end(), dims.begin(), dims.end());
      return p.dims.size() <= kMostDims;
    }
    case kDataType: p.dtype = static_cast<int32_t>(v.value); return v.type == WireType::Varint;
    case kFloatData: return add_numbers(v, 4, p.words);
    case kDoubleData: return add_numbers(v, 8, p.words);
    case kInt32Data: case kInt64Data: case kUint64Data: return add_numbers(v, 0, p.words);
    case kStringData: p.texts.emplace_back(reinterpret_cast<const char*>(v.bytes.data()), v.bytes.size()); return v.type == WireType::Bytes;
    case kName: p.name.assign(reinterpret_cast<const char*>(v.bytes.data()), v.bytes.size()); return v.type == WireType::Bytes;
    case kRawData: p.raw = v.bytes, p.has_raw = true; return v.type == WireType::Bytes;
    case kDataLocation: p.external = v.value == 1; return v.type == WireType::Varint;
    default: return true;
  }
}

// How many bytes of a list's value make an element: float_data holds complex64 as two, int32_data holds everything up to 32 bits.
size_t word_bytes(int32_t dtype) {
  if (dtype == OPTIMA_C64) return 4;
  if (dtype == OPTIMA_C128) return 8;
  return optima_dtype_bits(dtype) < 8 ? 1 : optima_dtype_bits(dtype) / 8;
}

Status fill(Tensor& t, const Parsed& p, std::string_view what) {
  if (p.has_raw) {
    if (p.raw.size() != t.size) return invalid_input(cat(what, ": found ", p.raw.size(), " bytes of data, wanted ", t.size));
    if (t.size) std::memcpy(t.data, p.raw.data(), t.size);
    return {};
  }
  const size_t word = word_bytes(t.dtype);
  if (p.words.size() != t.size / word) return invalid_input(cat(what, ": found ", p.words.size(), " values, wanted ", t.size / word));
  for (size_t i = 0; i < p.words.size(); ++i) std::memcpy(t.data + i * word, &p.words[i], word);
  return {};
}

Result<Parsed> parse(std::span<const std::byte> bytes, std::string_view what) {
  Parsed p;
  for (WireReader wire(bytes); !wire.done();) {
    WireField v;
    if (!wire.next(v) || !take(v, p)) return invalid_input(cat(what, ": is not a TensorProto, or is cut off"));
  }
  if (p.external) return invalid_input(cat(what, ": keeps its data in another file, wanted it inside"));
  return p;
}

}  // namespace

Result<TextArray> read_text_proto(std::span<const std::byte> bytes, std::string_view what) {
  OPTIMA_ASSIGN(Parsed p, parse(bytes, what));
  if (p.dtype != OPTIMA_STRING) return invalid_input(cat(what, ": found type ", optima_dtype_bits(p.dtype) ? dtype_name(p.dtype) : std::to_string(p.dtype), ", wanted string"));
  if (element_count(p.dims) != p.texts.size()) return invalid_input(cat(what, ": found ", p.texts.size(), " texts, wanted those of ", shape_text(p.dims)));
  return TextArray{std::move(p.dims), std::move(p.texts)};
}

Result<Tensor> read_tensor_proto(std::span<const std::byte> bytes, std::string_view what) {
  OPTIMA_ASSIGN(Parsed p, parse(bytes, what));
  if (optima_dtype_bits(p.dtype) == 0) return invalid_input(cat(what, ": found type ", p.dtype == OPTIMA_STRING ? "string" : std::to_string(p.dtype), ", wanted a number or truth value"));
  const uint64_t most = std::max<uint64_t>(p.raw.size(), p.words.size() * 8);
  const std::optional<uint64_t> size = byte_size(p.dtype, p.dims);
  if (!size || *size > most) return invalid_input(cat(what, ": is too short for ", dtype_name(p.dtype), " ", shape_text(p.dims)));
  OPTIMA_ASSIGN(Tensor t, Tensor::make(p.dtype, p.dims));
  t.name = std::move(p.name);
  OPTIMA_RETURN_IF_ERROR(fill(t, p, what));
  return t;
}

}  // namespace optima
