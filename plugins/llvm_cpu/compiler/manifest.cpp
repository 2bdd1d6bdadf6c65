// SPDX-License-Identifier: Apache-2.0
// llvm_cpu: prints the manifest of the compiler half, operators from the lowering table. Runs while building.
#include "optima/plugin/manifest_writer.hpp"

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/fit/whole.hpp"
#include "plugins/llvm_cpu/info.hpp"

int main(int argc, char** argv) {
  std::vector<optima::sdk::Op> operators;
  for (const optima::llvm_cpu::Lowering& row : optima::llvm_cpu::all_lowerings()) operators.push_back(optima::llvm_cpu::tier_one(row));
  for (const optima::sdk::Op& op : optima::llvm_cpu::operators_by_reference()) operators.push_back(op);
  optima::sdk::Info info = optima::llvm_cpu::kInfo;
  info.operators = {operators.data(), operators.size()};
  return optima::sdk::print_manifest(info, argc, argv);
}
