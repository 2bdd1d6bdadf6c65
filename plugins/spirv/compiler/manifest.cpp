// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: prints the manifest of the compiler half, operators from the table. Runs while building.
#include "optima/plugin/manifest_writer.hpp"

#include "info.hpp"
#include "lowering.hpp"

int main(int argc, char** argv) {
  std::vector<optima::sdk::Op> operators;
  for (const spirv_plugin::Row& row : spirv_plugin::all_rows()) operators.push_back(row.op);
  optima::sdk::Info info = spirv_plugin::kInfo;
  info.operators = {operators.data(), operators.size()};
  return optima::sdk::print_manifest(info, argc, argv);
}
