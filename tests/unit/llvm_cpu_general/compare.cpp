// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_general: general kernels beside literal ones, step by step.
#include <algorithm>

#include "plugins/llvm_cpu/codegen/specialise.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "tests/unit/llvm_cpu/net.hpp"
#include "tests/unit/llvm_cpu_general/workbench.hpp"

namespace llvm_cpu_test {

std::vector<std::string> run_by_table(Net& net, const Table& table, Workbench& bench) {
  const auto model = net.model();
  const cpu::Draft draft = bench.plan(*model, [&](const cpu::KernelSpec& spec) { return !table.find(spec); });
  std::vector<cpu::KernelSpec> all = draft.specs;
  all.insert(all.end(), table.kernels().begin(), table.kernels().end());
  bench.build(all);
  const Tensors in = inputs_of(*model, 0);
  Execution want(draft, *model, in), got(draft, *model, in);
  std::string first;
  std::vector<std::string> without;
  for (size_t s = 0; s < draft.plan.steps.size(); ++s) {
    const cpu::KernelSpec& spec = draft.specs[draft.plan.steps[s].kernel];
    const cpu::KernelSpec* made = table.find(spec);
    const std::string name = draft.plan.steps[s].label + " " + cpu::to_text(spec);
    if (!made) without.push_back(name);
    want.run(s, bench.function(spec));
    if (made) got.run(s, bench.function(*made), cpu::row(*made, spec), 3);
    else got.run(s, bench.function(spec));
    if (first.empty() && !want.same_as(got)) first = name + (made ? " by " + cpu::to_text(*made) : "");
  }
  INFO("the first step that leaves other bytes: " << first);
  for (size_t i = 0; i < draft.plan.outputs.size(); ++i) {
    const std::string_view a = want.output(i), b = got.output(i);
    const auto at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
    CAPTURE(at);
    CHECK(a == b);
  }
  return without;
}

void general_is_literal(Net& net, int64_t nan_step, const std::vector<optima_option>& options) {
  std::string cpu, features;
  for (const optima_option& o : options) {
    if (seam::text(o.name) == "llvm_cpu.cpu") cpu = seam::text(o.str);
    if (seam::text(o.name) == "llvm_cpu.features") features = seam::text(o.str);
  }
  Workbench& bench = workbench(cpu, features);
  const auto model = net.model();
  const cpu::Draft draft = bench.plan(*model);
  std::vector<cpu::KernelSpec> general, all = draft.specs;
  for (const cpu::KernelSpec& spec : draft.specs) general.push_back(cpu::general(spec, cpu::sizes(spec)));
  all.insert(all.end(), general.begin(), general.end());
  bench.build(all);
  const Tensors in = inputs_of(*model, nan_step);
  Execution want(draft, *model, in), got(draft, *model, in);
  std::string first;
  for (size_t s = 0; s < draft.plan.steps.size(); ++s) {
    const cpu::KernelSpec &spec = draft.specs[draft.plan.steps[s].kernel], &made = general[draft.plan.steps[s].kernel];
    REQUIRE(cpu::matches(made, spec));
    want.run(s, bench.function(spec));
    got.run(s, bench.function(made), cpu::row(made, spec), 3);
    if (first.empty() && !want.same_as(got)) first = draft.plan.steps[s].label + " by " + cpu::to_text(made) + " for " + cpu::to_text(spec);
  }
  INFO("the first step that leaves other bytes: " << first);
  for (size_t i = 0; i < draft.plan.outputs.size(); ++i) CHECK(want.output(i) == got.output(i));
}

}  // namespace llvm_cpu_test
