// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: prints the manifest of the runtime half. Runs while building, also when cross-building.
#include "optima/plugin/manifest_writer.hpp"

#include "info.hpp"

int main(int argc, char** argv) { return optima::sdk::print_manifest(spirv_plugin::kInfo, argc, argv); }
