// SPDX-License-Identifier: Apache-2.0
// tests: DLCs that onnxruntime-qnn 2.7.0 made of small models of ours (samples/README.md has the models).
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "optima/plugin/error.hpp"
#include "plugins/snpe/dlc/dlc.hpp"

namespace snpe_plugin::test {

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in, path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// "float", "codes" or "four_bits".
inline std::string sample(const std::string& name) { return bytes_of(OPTIMA_SOURCE_DIR "/tests/unit/snpe_dlc/samples/" + name + ".dlc"); }

inline const DlcTensor& tensor(const DlcGraph& graph, const std::string& name) {
  for (const DlcTensor& t : graph.tensors)
    if (t.name == name) return t;
  FAIL("no tensor '" << name << "'");
  throw 0;
}

/// The sentence of what it throws; empty when it throws nothing.
template <class F>
std::string said(F&& f) {
  try {
    f();
  } catch (const optima::sdk::Error& e) {
    return e.text;
  }
  return "";
}

}  // namespace snpe_plugin::test
