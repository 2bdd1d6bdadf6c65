// SPDX-License-Identifier: Apache-2.0
// plugins/spirv over the seam, on ONNX node tests that it takes whole, as they are or with shapes, axes and the like as constants: what check() says yes to
// compiles, loads and runs with the test's answer, and Vulkan's validation, synchronization included, says nothing.
#include <algorithm>
#include <cstdio>
#include <map>

#include "core/passes/pipeline.hpp"
#include "tests/conformance/refusals.hpp"

#ifndef SPIRV_PLUGIN

#include <doctest/doctest.h>
TEST_CASE("plugins/spirv on the ONNX node tests") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include "tests/unit/spirv/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// GPUs round otherwise than the files' makers: floats within 1e-5 of the case's bounds; codes of a quantizer a step.
NodeCase eased(NodeCase c) {
  c.rtol = std::max(c.rtol, 1e-4), c.atol = std::max(c.atol, 1e-5);
  return c;
}

}  // namespace

// A share of them once more with kernels that look at every index: OPTIMA_SPIRV_GUARD=1 all. OPTIMA_NODE_TEST=TEXT runs those with TEXT in their names,
// and says of each that is not taken why.
TEST_CASE("ONNX node tests that plugins/spirv takes compile and give the right answers, without a word of Vulkan's validation") {
  const std::string folder = OPTIMA_NODE_TESTS;
  REQUIRE_MESSAGE(std::filesystem::exists(folder + "/stamp"), "node tests are not generated: run scripts/generate_node_tests.py");
  const spirv_test::Validation validation;
  spirv_test::Halves halves;
  const char* only = std::getenv("OPTIMA_NODE_TEST");
  const int share = std::getenv("OPTIMA_SPIRV_GUARD") ? 1 : 8;
  int passed = 0, refused = 0, guarded = 0, frozen = 0;
  std::map<std::string, int> by_operator;
  for (const auto& path : case_folders(folder)) {
    if (only && path.filename().string().find(only) == std::string::npos) continue;
    const NodeCase c = eased(read_case(path));
    onnx_io::ImportOptions options;
    options.hash = false;
    const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
    if (!c.not_tensors.empty() || c.sets.empty() || !model) continue;
    auto folded = passes::run_passes(*model);
    if (!folded.ok()) continue;
    CAPTURE(c.name);
    const Taken made = taken(*halves.compiler, std::move(*folded), c.sets[0], spirv_test::kGpu);
    if (!made.refused.empty() || made.graph.main().nodes.empty()) {
      for (const auto& [node, said] : made.refused) {
        ++by_operator[made.graph.main().nodes[node].op_type];
        if (only) std::printf("%s: %s: %s\n", c.name.c_str(), made.graph.main().nodes[node].op_type.c_str(), said.text.c_str());
      }
      ++refused;
      continue;
    }
    const PackedGraph packed = pack(made.graph, true);
    const std::vector<reference::Tensor> wanted = contested(c.name) ? reference::run(packed.raw, made.inputs) : coded(made.graph, made.graph.main().outputs, c.sets[0].outputs);
    const auto run = [&](const std::vector<optima_option>& with) {
      std::string wrong;
      const std::vector<reference::Tensor> out = spirv_test::computed(halves, packed.raw, made.inputs, wrong, with);
      for (size_t k = 0; k < out.size() && wrong.empty(); ++k)
        if (const std::string d = difference(out[k], wanted[k], c); !d.empty()) wrong = "output " + std::to_string(k) + ": " + d;
      CHECK_MESSAGE(wrong.empty(), c.name << ": " << wrong);
      return wrong.empty();
    };
    if ((passed + frozen) % share == 0) guarded += run({spirv_test::guarded()});
    (made.frozen ? frozen : passed) += run({});
  }
  std::string others;
  for (const auto& [op, count] : by_operator) others += " " + op + " " + std::to_string(count);
  std::printf("%d node tests passed as they are, %d with inputs as constants, %d of them looking at every index, too; %d refused:%s\n", passed, frozen, guarded, refused, others.c_str());
  CHECK(passed + frozen > 0);
  CHECK(guarded > 0);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

#endif
