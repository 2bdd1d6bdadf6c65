// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

double largest(const Tensor& t, uint64_t n) {
  double out = 0;
  for (uint64_t i = 0; i < n; ++i)
    if (const double v = std::fabs(element_as_double(t, i)); std::isfinite(v)) out = std::max(out, v);
  return out;
}

struct Sums {
  double dot = 0, got = 0, wanted = 0, noise = 0;
  uint64_t within = 0;
};

void count_special(double v, uint64_t& nan, uint64_t& inf) {
  nan += std::isnan(v);
  inf += std::isinf(v);
}

void add(double g, double w, Comparison& c, Sums& s) {
  count_special(g, c.nan_got, c.inf_got);
  count_special(w, c.nan_wanted, c.inf_wanted);
  if (!std::isfinite(g) || !std::isfinite(w)) {
    s.within += (std::isnan(g) && std::isnan(w)) || g == w;
    return;
  }
  const double gap = std::fabs(g - w);
  c.max_abs = std::max(c.max_abs, gap);
  if (w != 0) c.max_rel = std::max(c.max_rel, gap / std::fabs(w));
  s.within += gap <= c.atol + c.rtol * std::fabs(w);
  s.dot += g * w, s.got += g * g, s.wanted += w * w, s.noise += gap * gap;
}

std::string short_number(double v, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

}  // namespace

Result<Comparison> compare_tensors(const Tensor& got, const Tensor& wanted, const Tolerance& tolerance) {
  if (got.dtype != wanted.dtype || got.shape != wanted.shape)
    return invalid_input(cat("tensor ", quote(wanted.name), ": found ", dtype_name(got.dtype), " ", shape_text(got.shape), ", wanted ",
                             dtype_name(wanted.dtype), " ", shape_text(wanted.shape)));
  Comparison c;
  c.count = element_count(wanted.shape).value_or(0);
  c.scale = largest(wanted, c.count);
  c.atol = tolerance.atol >= 0 ? tolerance.atol : tolerance.share * (c.scale > 0 ? c.scale : 1);
  c.rtol = tolerance.rtol;
  Sums s;
  for (uint64_t i = 0; i < c.count; ++i) add(element_as_double(got, i), element_as_double(wanted, i), c, s);
  const double norms = std::sqrt(s.got) * std::sqrt(s.wanted);
  c.cosine = norms > 0 ? std::clamp(s.dot / norms, -1.0, 1.0) : s.got == s.wanted ? 1 : 0;
  c.snr_db = s.noise > 0 ? 10 * std::log10(s.wanted / s.noise) : INFINITY;
  c.share_within = c.count ? static_cast<double>(s.within) / static_cast<double>(c.count) : 1;
  c.within = s.within == c.count;
  return c;
}

std::vector<std::string> comparison_heads() { return {"cosine", "snr (dB)", "max-abs", "max-rel", "within", "nan", "inf"}; }

std::vector<std::string> to_cells(const Comparison& c) {
  return {short_number(c.cosine, "%.6f"), short_number(c.snr_db, "%.1f"), short_number(c.max_abs, "%.3g"), short_number(c.max_rel, "%.3g"),
          short_number(100 * c.share_within, "%.6g") + " %", cat(c.nan_got, "/", c.nan_wanted), cat(c.inf_got, "/", c.inf_wanted)};
}

std::string to_line(const Comparison& c) {
  const std::vector<std::string> cells = to_cells(c);
  return cat("cosine ", cells[0], "  snr ", cells[1], " dB  max-abs ", cells[2], "  max-rel ", cells[3], "  within ", cells[4], "  nan ", cells[5], "  inf ", cells[6]);
}

}  // namespace optima
