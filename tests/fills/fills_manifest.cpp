// SPDX-License-Identifier: Apache-2.0
// tests: prints the manifest of the plugin whose device wants codes everywhere.
#include "optima/plugin/manifest_writer.hpp"
#include "tests/fills/fills_info.hpp"

int main(int argc, char** argv) { return optima::sdk::print_manifest(fills_plugin::kInfo, argc, argv); }
