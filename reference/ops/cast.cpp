// SPDX-License-Identifier: Apache-2.0
// reference/ops: changes of element type.
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"

namespace optima::reference::ops {
namespace {

/// Shortest text that reads back as the same number; "NaN", "INF", "-INF" as ONNX asks.
template <class T>
std::string number_text(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  }
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
}

Tensor to_text(const Tensor& t) {
  std::vector<std::string> out;
  with_wide(t.dtype, [&](auto wide) {
    for (auto x : load<decltype(wide)>(t)) out.push_back(t.dtype == OPTIMA_F64 || !is_float(t.dtype) ? number_text(x) : number_text(static_cast<float>(x)));
  });
  return make_strings(t.dims, out);
}

double number_of(const std::string& s) {
  const char* begin = s.c_str();
  char* end = nullptr;
  const double x = std::strtod(begin, &end);
  if (end == begin || *end) invalid("'" + s + "' is not a number");
  return x;
}

Tensor from_text(const Tensor& t, int32_t to) {
  const std::vector<std::string> source = strings(t);
  if (is_float(to) || is_minifloat(to)) {
    std::vector<double> out;
    for (const std::string& s : source) out.push_back(number_of(s));
    return store(to, t.dims, out);
  }
  std::vector<int64_t> out;
  for (const std::string& s : source) {
    int64_t x = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
    if (error != std::errc() || end != s.data() + s.size()) invalid("'" + s + "' is not an integer");
    out.push_back(x);
  }
  return store(to, t.dims, out);
}

/// Powers of two, 8 bits of exponent: how to round is a choice of the node.
Tensor to_e8m0(const Tensor& t, const std::string& mode) {
  std::vector<double> x = load<double>(t);
  if (mode != "up" && mode != "down" && mode != "nearest") invalid("round_mode is '" + mode + "', must be up, down or nearest");
  for (double& v : x) {
    if (!std::isfinite(v) || v == 0 || mode == "up") continue;
    int e = 0;
    const double m = std::frexp(std::fabs(v), &e);  // m in [0.5, 1)
    v = std::ldexp(1.0, mode == "nearest" && m >= 0.75 ? e : e - 1);
  }
  return store(OPTIMA_F8E8M0, t.dims, x);
}

Tensor converted(const Call& c, const Tensor& t, int32_t to) {
  const bool saturate = c.integer("saturate", 1) != 0;
  if (t.dtype == to) return t;
  if (to == OPTIMA_STRING) return to_text(t);
  if (t.dtype == OPTIMA_STRING) return from_text(t, to);
  if (to == OPTIMA_F8E8M0) return to_e8m0(t, c.text("round_mode", "up"));
  return with_wide(t.dtype, [&](auto wide) { return store(to, t.dims, load<decltype(wide)>(t), saturate); });
}

}  // namespace

void cast(Call& c) { c.out(0, converted(c, c.in(0), static_cast<int32_t>(c.integer("to", 0)))); }
void cast_like(Call& c) { c.out(0, converted(c, c.in(0), c.in(1).dtype)); }

/// The same bits under a type of the same width.
void bit_cast(Call& c) {
  Tensor t = c.in(0);
  const auto to = static_cast<int32_t>(c.integer("to", 0));
  if (optima_dtype_bits(to) != optima_dtype_bits(t.dtype) || optima_dtype_bits(to) == 0)
    invalid("to is " + dtype_name(to) + ", must be as wide as " + dtype_name(t.dtype));
  t.dtype = to;
  c.out(0, t);
}

}  // namespace optima::reference::ops
