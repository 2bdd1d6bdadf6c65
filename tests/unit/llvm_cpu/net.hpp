// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: whether what the plugin computes is what the reference evaluators compute.
#pragma once

#include <doctest/doctest.h>

#include "tests/unit/llvm_cpu/session.hpp"

namespace llvm_cpu_test {

/// tests/unit/llvm_cpu_general: step by step, each kernel and the general one of it with all slots: the same bytes wanted.
void general_is_literal(Net& net, int64_t nan_step, const std::vector<optima_option>& options);

/// How many of so many random nets a test takes: general kernels take seconds to make.
constexpr int rounds(int all) {
#ifdef LLVM_CPU_GENERAL
  return all < 24 ? 1 : all / 12;
#else
  return all;
#endif
}

/// Loads and runs `repeat` times on one context; the outputs of the last run.
inline Tensors run(Bench& bench, const Compiled& c, const Tensors& inputs, int64_t threads = 1, int repeat = 1) {
  Session session(bench, c, threads, true);
  for (int i = 1; i < repeat; ++i) session.run(inputs);
  Tensors out;  // the session takes its memory along
  for (const auto& t : session.run(inputs)) {
    void* data = nullptr;
    out.push_back(optima::reference::Tensor::make(t.dtype, t.dims, &data));
    if (t.size) std::memcpy(data, t.data, t.size);
  }
  return out;
}

/// Largest difference over the largest magnitude of the wanted tensor; NaN counts as infinite.
inline double error(const optima::reference::Tensor& got, const optima::reference::Tensor& want) {
  const float *a = static_cast<const float*>(got.data), *b = static_cast<const float*>(want.data);
  double worst = 0, most = 1e-6;
  for (int64_t i = 0; i < want.elements(); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(b[i])));
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = d <= worst ? worst : std::isnan(d) && !(std::isnan(a[i]) && std::isnan(b[i])) ? INFINITY : std::isnan(d) ? worst : d;
  }
  return worst / most;
}

/// Compiles, runs on 1 and 3 threads (equal bytes wanted), compares every output with the reference. Every `nan_step`-th element of
/// the inputs is NaN, when given.
inline void matches_reference(Bench& bench, Net& net, double tolerance = 1e-5, const std::vector<optima_option>& options = {}, int64_t nan_step = 0) {
#ifdef LLVM_CPU_GENERAL
  static_cast<void>(bench), static_cast<void>(tolerance);
  return general_is_literal(net, nan_step, options);
#endif
  const auto c = compile(bench, net, options);
  INFO(c->status.message);
  REQUIRE(c->code == OPTIMA_OK);
  const Tensors in = random_inputs(*c);
  for (const auto& t : in)
    for (int64_t i = nan_step / 2; nan_step && i < t.elements(); i += nan_step) static_cast<float*>(const_cast<void*>(t.data))[i] = NAN;
  const Tensors want = optima::reference::run(c->model->raw, in), one = run(bench, *c, in, 1), three = run(bench, *c, in, 3, 2);
  for (size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    if (want[i].dtype == OPTIMA_F32) CHECK(error(one[i], want[i]) <= tolerance);
    else CHECK(std::memcmp(one[i].data, want[i].data, want[i].size) == 0);
    CHECK(std::memcmp(one[i].data, three[i].data, want[i].size) == 0);
  }
}

}  // namespace llvm_cpu_test
