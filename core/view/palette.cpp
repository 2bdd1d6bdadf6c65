// SPDX-License-Identifier: Apache-2.0
#include "core/view/palette.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace optima::view {
namespace {

constexpr uint32_t kHues = 7;
constexpr std::array<std::string_view, kHues> kColours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"};
constexpr std::array<std::string_view, kHues> kPatterns = {"solid", "rising", "dots", "level", "falling", "grid", "upright"};

// FNV-1a, begun so that names often met together fall on different hues.
uint32_t hue_of(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325u ^ 22330;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<uint32_t>(h >> 32) % kHues;
}

std::string letter_of(uint32_t device) {
  std::string letter;
  for (uint32_t n = device + 1; n > 0; n = (n - 1) / 26) letter.insert(letter.begin(), static_cast<char>('A' + (n - 1) % 26));
  return letter;
}

}  // namespace

std::vector<Look> looks_of(const Plan& plan) {
  std::vector<uint32_t> order(plan.devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return plan.devices[a].full_name < plan.devices[b].full_name; });
  std::vector<Look> looks(order.size());
  std::array<uint32_t, kHues> uses{};  // of each hue, each time with another pattern
  const auto give = [&](uint32_t d, uint32_t hue) { looks[d] = {kColours[hue], kPatterns[(hue + uses[hue]++) % kHues], letter_of(d)}; };
  std::vector<uint32_t> displaced;
  for (const uint32_t d : order) {
    const uint32_t hue = hue_of(plan.devices[d].full_name);
    if (uses[hue] == 0) give(d, hue);
    else displaced.push_back(d);
  }
  for (const uint32_t d : displaced) {
    uint32_t hue = hue_of(plan.devices[d].full_name);
    while (uses[hue] > *std::min_element(uses.begin(), uses.end())) hue = (hue + 1) % kHues;
    give(d, hue);
  }
  return looks;
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
