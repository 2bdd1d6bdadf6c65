// SPDX-License-Identifier: Apache-2.0
// llvm_cpu: prints the manifest of the compiler half, operators from the lowering table. Runs while building.
#include <algorithm>

#include "optima/plugin/manifest_writer.hpp"

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/fit/whole.hpp"
#include "plugins/llvm_cpu/info.hpp"

namespace {

using namespace optima;

/// What a position takes: the last one set also holds for the rest.
sdk::Types types_at(const std::array<sdk::Types, 8>& list, size_t k) {
  sdk::Types last = 0;
  for (size_t i = 0; i <= k && i < list.size() && list[i]; ++i) last = list[i];
  return last;
}

/// Whatever the first row takes, the second one does.
bool covers(const sdk::Op& row, const sdk::Op& wider) {
  if (row.name != wider.name || row.domain != wider.domain || row.since_min < wider.since_min || row.since_max > wider.since_max) return false;
  for (size_t k = 0; k < row.in.size(); ++k)
    if ((types_at(row.in, k) & ~types_at(wider.in, k)) != 0 || (types_at(row.out, k) & ~types_at(wider.out, k)) != 0) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<sdk::Op> by_reference = llvm_cpu::operators_by_reference();
  std::vector<sdk::Op> operators;
  for (const llvm_cpu::Lowering& row : llvm_cpu::all_lowerings()) {
    const sdk::Op own = llvm_cpu::tier_one(row);
    if (std::none_of(by_reference.begin(), by_reference.end(), [&](const sdk::Op& op) { return covers(own, op); })) operators.push_back(own);
  }
  operators.insert(operators.end(), by_reference.begin(), by_reference.end());
  sdk::Info info = llvm_cpu::kInfo;
  info.operators = {operators.data(), operators.size()};
  return sdk::print_manifest(info, argc, argv);
}
