// SPDX-License-Identifier: Apache-2.0
#include "chip.hpp"

#include <algorithm>

#include "optima/plugin/error.hpp"
#include "optima/plugin/nearest.hpp"

namespace bmcompiler_plugin {
namespace {

namespace sdk = optima::sdk;

constexpr Chip kChips[] = {
    {"bm1684x", "BM1684X", "F32 F16 BF16 INT8", Runner::Bmrt, "libcmodel_bm1684x.so"},
    {"bm1684", "BM1684", "F32 INT8", Runner::Bmrt, "libcmodel_bm1684.so", ".bmodel", true},
    {"bm1688", "BM1688", "F32 F16 BF16 INT8", Runner::Bmrt, "libcmodel_bm1688.so"},
    {"bm1690", "BM1690", "F32 F16 BF16 INT8", Runner::Tpuv7, "libtpuv7_emulator.so"},
    {"cv186x", "CV186X", "F32 F16 BF16 INT8", Runner::Bmrt, "libcmodel_bm1688.so"},
    {"bm1682", "BM1682", "F32", Runner::Bmrt, "", ".bmodel", true},
    {"cv183x", "cv183x", "BF16 INT8", Runner::Cvi, "libcvicmodel.so", ".cvimodel", true},
};

std::string_view nearest(std::string_view name) {
  return std::min_element(std::begin(kChips), std::end(kChips), [&](const Chip& a, const Chip& b) { return sdk::edit_distance(a.name, name) < sdk::edit_distance(b.name, name); })->name;
}

}  // namespace

bool Chip::has_mode(std::string_view mode) const {
  for (std::string_view rest = modes; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == mode) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

const Chip* find_chip(std::string_view name) {
  const auto at = std::find_if(std::begin(kChips), std::end(kChips), [&](const Chip& c) { return c.name == name; });
  return at == std::end(kChips) ? nullptr : at;
}

const Chip* find_emulated(std::string_view in_files) {
  const auto at = std::find_if(std::begin(kChips), std::end(kChips), [&](const Chip& c) { return c.is_emulated_bmodel() && c.in_files == in_files; });
  return at == std::end(kChips) ? nullptr : at;
}

std::string emulated_names() {
  std::string all;
  for (const Chip& c : kChips)
    if (c.is_emulated_bmodel()) all += (all.empty() ? "" : ", ") + std::string(c.in_files);
  return all;
}

std::string chip_names() {
  std::string all;
  for (const Chip& c : kChips) all += (all.empty() ? "" : ", ") + std::string(c.name);
  return all;
}

const Chip& parse_chip(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  if (const Chip* chip = find_chip(lower)) return *chip;
  throw sdk::Error(OPTIMA_INVALID_ARGUMENT,
                   "chip '" + std::string(name) + "' is not known, did you mean " + std::string(nearest(lower)) + "? wanted one of " + chip_names());
}

}  // namespace bmcompiler_plugin
