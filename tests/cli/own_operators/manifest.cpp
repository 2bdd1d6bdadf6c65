// SPDX-License-Identifier: Apache-2.0
#include "optima/plugin/manifest_writer.hpp"

#include "info.hpp"

int main(int argc, char** argv) { return optima::sdk::print_manifest(own_operators::kInfo, argc, argv); }
