// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/progress.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "core/support/json_value.hpp"

namespace optima::host {
namespace {

constexpr uint64_t kLines = 10;  // of one count

std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return out;
}

/// Of "sample 7 of 100, ...", a word and a count, whether it is among the lines worth printing: the first, and one for each tenth of all.
bool worth_a_line(std::string_view stage) {
  const size_t blank = stage.find(' ');
  if (blank == stage.npos) return true;
  stage.remove_prefix(blank + 1);
  const std::optional<uint64_t> at = take_number(stage);
  if (!at || !stage.starts_with(" of ")) return true;
  stage.remove_prefix(4);
  const std::optional<uint64_t> all = take_number(stage);
  if (!all || *all <= kLines || *at <= 1) return true;
  return *at * kLines / *all != (*at - 1) * kLines / *all;
}

}  // namespace

void Progress::report(double fraction, std::string_view stage) {
  const std::lock_guard lock(mutex_);
  if (style_ == Style::Silent) return;
  if (style_ == Style::Lines) {
    const size_t colon = stage.rfind(": ");
    std::string& last = last_[std::string(stage.substr(0, colon == stage.npos ? 0 : colon))];
    if (stage != last && worth_a_line(stage)) std::fprintf(stderr, "%.*s\n", static_cast<int>(stage.size()), stage.data());
    last = stage;
    return;
  }
  if (style_ == Style::Json) {
    std::fprintf(stderr, "%s\n", to_line(Json{{"progress", std::clamp(fraction, 0.0, 1.0)}, {"stage", stage}}).c_str());
    return;
  }
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
  std::string bar(static_cast<size_t>(filled), '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r\033[K[%s] %3d %% %.*s", bar.c_str(), static_cast<int>(fraction * 100), static_cast<int>(std::min<size_t>(stage.size(), 60)), stage.data());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace optima::host
