// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: prints the manifest. Runs while building; the plugin carries what it prints.
#include "optima/plugin/manifest_writer.hpp"

#include "info.hpp"

int main(int argc, char** argv) { return optima::sdk::print_manifest(bmcompiler_plugin::kInfo, argc, argv); }
