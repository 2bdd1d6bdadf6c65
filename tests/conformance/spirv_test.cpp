// SPDX-License-Identifier: Apache-2.0
// plugins/spirv over the seam, on ONNX node tests that it takes whole: what check() says yes to compiles, loads and runs with the test's answer, and
// Vulkan's validation, synchronization included, says nothing.
#include <cstdio>
#include <map>

#include "core/passes/pipeline.hpp"
#include "tests/conformance/node_case.hpp"

#ifndef SPIRV_PLUGIN

#include <doctest/doctest.h>
TEST_CASE("plugins/spirv on the ONNX node tests") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include "tests/unit/spirv/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// True when every node of the main graph is taken; the operators that are not are counted, and their reasons are printed where `name` is given.
bool taken(const seam::Instance& plugin, const PackedGraph& packed, std::map<std::string, int>& refused, const char* name) {
  std::vector<uint32_t> ids;
  std::map<uint32_t, std::string> ops;
  const optima_image_graph* main = optima_get_graph(packed.raw.image, 0);
  for (uint32_t k = 0; k < main->nodes.count; ++k) {
    const optima_node* n = optima_get_node(packed.raw.image, main->nodes.first + k);
    ids.push_back(n->id);
    ops[n->id] = seam::text(optima_string(packed.raw.image, &n->op_type));
  }
  optima_check_request r{};
  r.struct_size = sizeof r;
  r.graph = &packed.raw;
  r.nodes = ids.data(), r.node_count = static_cast<uint32_t>(ids.size());
  r.device = &spirv_test::kGpu;
  seam::Verdicts verdicts;
  seam::Status status;
  REQUIRE_MESSAGE(plugin.compiler().check(plugin.self, &r, seam::Verdicts::add, &verdicts, &status.raw) == OPTIMA_OK, status.message);
  bool all = !ids.empty();
  for (const auto& [id, said] : verdicts.by_node)
    if (said.verdict != OPTIMA_VERDICT_SUPPORTED) {
      CHECK_MESSAGE((said.reason != OPTIMA_REASON_NONE && !said.text.empty()), ops[id]);
      if (name) std::printf("%s: %s: %s\n", name, ops[id].c_str(), said.text.c_str());
      ++refused[ops[id]], all = false;
    }
  return all;
}

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
  int passed = 0, refused = 0, guarded = 0;
  std::map<std::string, int> by_operator;
  for (const auto& path : case_folders(folder)) {
    if (only && path.filename().string().find(only) == std::string::npos) continue;
    const NodeCase c = eased(read_case(path));
    onnx_io::ImportOptions options;
    options.hash = false;
    const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
    if (!c.not_tensors.empty() || c.sets.empty() || !model) continue;
    const auto folded = passes::run_passes(*model);
    if (!folded.ok()) continue;
    const PackedGraph packed = pack(*folded, true);
    if (!taken(*halves.compiler, packed, by_operator, only ? c.name.c_str() : nullptr)) {
      ++refused;
      continue;
    }
    const auto run = [&](const std::vector<optima_option>& with) {
      std::string wrong;
      const std::vector<reference::Tensor> out = spirv_test::computed(halves, packed.raw, c.sets[0].inputs, wrong, with);
      for (size_t k = 0; k < out.size() && wrong.empty(); ++k)
        if (const std::string d = difference(out[k], c.sets[0].outputs[k], c); !d.empty()) wrong = "output " + std::to_string(k) + ": " + d;
      CHECK_MESSAGE(wrong.empty(), c.name << ": " << wrong);
      return wrong.empty();
    };
    if (passed % share == 0) guarded += run({spirv_test::guarded()});
    passed += run({});
  }
  std::string others;
  for (const auto& [op, count] : by_operator) others += " " + op + " " + std::to_string(count);
  std::printf("%d node tests passed, %d of them looking at every index, too; %d refused:%s\n", passed, guarded, refused, others.c_str());
  CHECK(passed > 0);
  CHECK(guarded > 0);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

#endif
