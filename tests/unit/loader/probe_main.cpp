// SPDX-License-Identifier: Apache-2.0
// The program that the tests' registries probe with: optima-host's hidden verb and nothing else.
#include <string_view>

#include "core/loader/probe.hpp"

int main(int count, char** words) { return count == 3 && std::string_view(words[1]) == "__probe" ? optima::probe_plugin(words[2]) : 2; }
