// SPDX-License-Identifier: Apache-2.0
#include "core/view/palette.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace optima::view {
namespace {
constexpr std::array<std::string_view, 7> kColours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"};
constexpr std::array<std::string_view, 7> kPatterns = {"solid", "rising", "dots", "level", "falling", "grid", "upright"};
}  // namespace

Look look_of(uint32_t device) {
  std::string letter;
  for (uint32_t n = device + 1; n > 0; n = (n - 1) / 26) letter.insert(letter.begin(), static_cast<char>('A' + (n - 1) % 26));
  return {kColours[device % 7], kPatterns[(device + device / 7) % 7], letter};
}

std::string tint(std::string_view colour, double part) {
  std::array<char, 8> out{};
  std::array<int, 3> mixed{};
  for (size_t i = 0; i < 3; ++i) {
    const long channel = std::strtol(std::string(colour.substr(1 + 2 * i, 2)).c_str(), nullptr, 16);
    mixed[i] = static_cast<int>(static_cast<double>(channel) * part + 255 * (1 - part) + 0.5);
  }
  std::snprintf(out.data(), out.size(), "#%02x%02x%02x", mixed[0] & 0xFF, mixed[1] & 0xFF, mixed[2] & 0xFF);
  return out.data();
}

}  // namespace optima::view
