// SPDX-License-Identifier: Apache-2.0
// core/support: numbers that users type.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace optima {

/// The whole text as one number in the C locale, nothing around it; nothing when it is none, out of T's range, or not finite.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

/// "0.485,0.456,0.406"; nothing when a part is no number (an empty text has one empty part).
inline std::optional<std::vector<double>> parse_numbers(std::string_view text) {
  std::vector<double> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::optional<double> value = parse_number<double>(text.substr(at, end - at));
    if (!value) return std::nullopt;
    out.push_back(*value);
    at = end + 1;
  }
  return out;
}

/// "1048576", "512MiB", "1.5" is none: whole numbers of bytes, KiB, MiB, GiB or TiB; nothing for anything else and above 2^63.
inline std::optional<uint64_t> parse_bytes(std::string_view text) {
  constexpr std::pair<std::string_view, int> units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  uint64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string_view unit = text.substr(static_cast<size_t>(stop - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const auto& [suffix, shift] : units)
    if (error == std::errc() && unit == suffix && count <= (UINT64_MAX >> 1 >> shift)) return count << shift;
  return std::nullopt;
}

}  // namespace optima
