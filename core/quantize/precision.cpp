// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/precision.hpp"

#include <array>
#include <utility>

#include "core/support/text.hpp"

namespace optima {
namespace {

// The names that name_of() gives come first.
constexpr std::array<std::pair<std::string_view, Precision>, 12> kNames = {{
    {"f32", Precision::F32}, {"f16", Precision::F16}, {"bf16", Precision::BF16}, {"int8", Precision::Int8}, {"a16w8", Precision::A16W8},
    {"a16w4", Precision::A16W4}, {"w8", Precision::W8}, {"w4", Precision::W4}, {"dynamic", Precision::Dynamic}, {"auto", Precision::Auto}, {"fp16", Precision::F16},
    {"int8w16a", Precision::A16W8}}};

}  // namespace

Result<Precision> precision_named(const std::string& name) {
  for (const auto& [known, precision] : kNames)
    if (known == name) return precision;
  return usage_error(cat("found precision ", quote(name), ", wanted f32, f16, bf16, int8, a16w8, a16w4, w8, w4, dynamic or auto"));
}

std::string_view name_of(Precision precision) {
  for (const auto& [name, known] : kNames)
    if (known == precision) return name;
  return "f32";
}

bool needs_data(Precision precision) {
  return precision == Precision::Int8 || precision == Precision::A16W8 || precision == Precision::A16W4 || precision == Precision::Auto;
}

}  // namespace optima
