// SPDX-License-Identifier: Apache-2.0
// core/graph: types of values as numbers and as text. Knows no ONNX library.
#include "core/graph/graph.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr const char* kNames[] = {"undefined", "f32", "u8", "i8", "u16", "i16", "i32", "i64", "string",
                                  "bool", "f16", "f64", "u32", "u64", "c64", "c128", "bf16", "f8e4m3fn",
                                  "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4", "i4", "f4e2m1", "f8e8m0", "u2", "i2"};

std::string kind_prefix(uint32_t kind) {
  switch (kind) {
    case OPTIMA_KIND_TENSOR: return "";
    case OPTIMA_KIND_SEQUENCE: return "seq ";
    case OPTIMA_KIND_MAP: return "map ";
    case OPTIMA_KIND_SPARSE: return "sparse ";
    case OPTIMA_KIND_OPTIONAL: return "optional ";
    default: return "unknown ";
  }
}

}  // namespace

uint64_t static_bytes(const image::Value& value) {
  const uint64_t bits = optima_dtype_bits(value.dtype);
  if (!value.dims || bits == 0 || value.kind != OPTIMA_KIND_TENSOR) return 0;
  uint64_t total = bits;
  for (const image::Dim& d : *value.dims)
    if (d.value < 0 || __builtin_mul_overflow(total, static_cast<uint64_t>(d.value), &total)) return 0;
  return total / 8 + (total % 8 != 0);
}

std::string short_dtype_name(int32_t dtype) {
  if (dtype >= 0 && dtype < static_cast<int32_t>(std::size(kNames))) return kNames[dtype];
  return cat("dtype ", dtype);
}

std::string type_text(const image::Value& value) {
  std::string out = kind_prefix(value.kind) + short_dtype_name(value.dtype) + '[';
  if (!value.dims) return out + "*]";
  for (size_t k = 0; k < value.dims->size(); ++k) {
    const image::Dim& d = (*value.dims)[k];
    if (k > 0) out += ',';
    out += d.value >= 0 ? std::to_string(d.value) : d.symbol.empty() ? "?" : d.symbol;
  }
  return out + ']';
}

}  // namespace optima
