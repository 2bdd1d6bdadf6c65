// SPDX-License-Identifier: Apache-2.0
// tests: prints the manifest of the pattern plugin.
#include "optima/plugin/manifest_writer.hpp"
#include "tests/patterns/pattern_info.hpp"

int main(int argc, char** argv) { return optima::sdk::print_manifest(pattern_plugin::kInfo, argc, argv); }
