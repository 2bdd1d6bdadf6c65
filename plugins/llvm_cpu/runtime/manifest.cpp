// SPDX-License-Identifier: Apache-2.0
// llvm_cpu: prints the manifest of the runtime half. Runs while building, also when cross-building.
#include "optima/plugin/manifest_writer.hpp"

#include "plugins/llvm_cpu/info.hpp"

int main(int argc, char** argv) { return optima::sdk::print_manifest(optima::llvm_cpu::kInfo, argc, argv); }
