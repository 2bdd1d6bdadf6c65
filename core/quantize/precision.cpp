// SPDX-License-Identifier: Apache-2.0
// core/quantize: names of precisions.
#include <algorithm>
#include <array>

#include "core/quantize/quantize.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

struct Name {
  std::string_view name;
  Precision precision;
};
// The first name of each is the one we write.
constexpr std::array kNames = {Name{"f32", Precision::F32},     Name{"f16", Precision::F16},       Name{"bf16", Precision::BF16}, Name{"int8", Precision::Int8},
                               Name{"a16w8", Precision::A16W8}, Name{"w8", Precision::W8},         Name{"w4", Precision::W4},     Name{"dynamic", Precision::Dynamic},
                               Name{"auto", Precision::Auto},   Name{"fp16", Precision::F16},      Name{"int8w16a", Precision::A16W8}};

}  // namespace

Result<Precision> precision_named(const std::string& name) {
  for (const Name& known : kNames)
    if (known.name == name) return known.precision;
  std::vector<std::string> wanted;
  for (const Name& known : kNames) wanted.emplace_back(known.name);
  return usage_error(cat("no precision ", quote(name), ", wanted one of ", join(wanted)));
}

std::string_view name_of(Precision precision) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const Name& known) { return known.precision == precision; })->name;
}

bool needs_data(Precision precision) { return precision == Precision::Int8 || precision == Precision::A16W8 || precision == Precision::Auto; }

}  // namespace optima
