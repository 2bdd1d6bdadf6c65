// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: whether kernels made for sample sizes do others. Plans alone; nothing is compiled or run.
#pragma once

#include <algorithm>

#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/fit/fitter.hpp"
#include "plugins/llvm_cpu/fit/sampler.hpp"
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

namespace llvm_cpu_test {

namespace cpu = optima::llvm_cpu;

/// CPUs that multiply bytes in each of the ways that x86-64 has, and an Arm. Nothing is run.
inline std::vector<cpu::Target> targets() {
  using optima::llvm_cpu::Bf16;
  const std::string x86 = "x86_64-unknown-linux-gnu";
  return {{x86, "", "", 8, 16, Bf16::None, 1, k::Dot::Pairs, false, false},
          {x86, "", "", 16, 32, Bf16::None, 1, k::Dot::Vnni, false, false},
          {x86, "", "", 16, 32, Bf16::None, 1, k::Dot::Vnni, true, true},
          {"aarch64-unknown-linux-gnu", "", "", 4, 32, Bf16::None, 1, k::Dot::Signed, false, false}};
}

/// Kernels are made for the sizes that the sampler takes; at these no node may be left to the reference.
inline void kernels_for(Net& net, const std::vector<Shapes>& sizes) {
  const auto model = net.model();
  for (const cpu::Target& target : targets()) {
    const std::vector<cpu::KernelSpec> made = cpu::sample(model->raw, target, true).kernels;
    const cpu::Fitter fitter(model->raw, target, true, [&](const cpu::KernelSpec& spec) {
      return std::any_of(made.begin(), made.end(), [&](const cpu::KernelSpec& k) { return cpu::matches(k, spec); });
    });
    CAPTURE(target.triple + " " + std::to_string(target.vector_width) + (target.amx ? " amx" : ""));
    for (const Shapes& shapes : sizes)
      for (const cpu::Fitter::Keep keep : {cpu::Fitter::Keep::Plan, cpu::Fitter::Keep::HowItWasMade}) {
        CAPTURE(told(shapes));
        const auto leg = fitter.first(shapes, keep);
        CHECK(cpu::names_of(model->raw, cpu::nodes_by_reference(leg->draft)) == "");
      }
  }
}

}  // namespace llvm_cpu_test
