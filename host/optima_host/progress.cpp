// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/progress.hpp"

#include <algorithm>
#include <cstdio>

namespace optima::host {

void Progress::report(double fraction, std::string_view stage) {
  const std::lock_guard lock(mutex_);
  if (style_ == Style::Silent) return;
  if (style_ == Style::Lines) {
    const size_t colon = stage.rfind(": ");
    std::string& last = last_[std::string(stage.substr(0, colon == stage.npos ? 0 : colon))];
    if (stage != last) std::fprintf(stderr, "%.*s\n", static_cast<int>(stage.size()), stage.data());
    last = stage;
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
