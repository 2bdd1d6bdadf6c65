// SPDX-License-Identifier: Apache-2.0
// plugins/spirv over the seam, on ONNX node tests that it takes whole, as they are or with shapes, axes and the like as constants: what check() says yes to
// compiles, loads and runs with the test's answer, and Vulkan's validation, synchronization included, says nothing.
#include <algorithm>
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

/// Cases whose makers and the operator's page differ (reference_exceptions.txt): the reference's answer counts.
bool contested(const std::string& name) { return name.rfind("test_resize_downsample_scales_", 0) == 0 && name.ends_with("_align_corners"); }

/// A model's graph and what it is run on.
struct Case {
  Graph graph;
  std::vector<reference::Tensor> inputs;
};

/// By position in the main graph: the answers that are no yes.
std::map<uint32_t, seam::Said> refusals(const seam::Instance& plugin, const Graph& graph) {
  const PackedGraph packed = pack(graph, true);
  std::vector<uint32_t> ids;
  for (const image::Node& n : graph.main().nodes) ids.push_back(n.id);
  optima_check_request r{};
  r.struct_size = sizeof r;
  r.graph = &packed.raw;
  r.nodes = ids.data(), r.node_count = static_cast<uint32_t>(ids.size());
  r.device = &spirv_test::kGpu;
  seam::Verdicts verdicts;
  seam::Status status;
  REQUIRE_MESSAGE(plugin.compiler().check(plugin.self, &r, seam::Verdicts::add, &verdicts, &status.raw) == OPTIMA_OK, status.message);
  std::map<uint32_t, seam::Said> out;
  for (uint32_t k = 0; k < ids.size(); ++k)
    if (const seam::Said& said = verdicts.by_node.at(ids[k]); said.verdict != OPTIMA_VERDICT_SUPPORTED) {
      CHECK_MESSAGE((said.reason != OPTIMA_REASON_NONE && !said.text.empty()), graph.main().nodes[k].op_type);
      out.emplace(k, said);
    }
  return out;
}

/// The model's inputs that a node has to have as constants, as most models have them, become what the test gives them. False where there is none.
bool freeze(Case& c, const std::map<uint32_t, seam::Said>& refused) {
  bool any = false;
  for (const auto& [position, said] : refused) {
    if (said.reason != OPTIMA_REASON_CONST_REQUIRED || said.what.rfind("input ", 0) != 0) continue;
    image::Graph& g = c.graph.main();
    const uint32_t value = g.nodes[position].inputs.at(std::stoul(said.what.substr(6)));
    const auto at = std::find(g.inputs.begin(), g.inputs.end(), value);
    if (at == g.inputs.end()) continue;
    const reference::Tensor t = c.inputs.at(static_cast<size_t>(at - g.inputs.begin()));
    g.values[value].constant = static_cast<uint32_t>(c.graph.contents.constants.size());
    c.graph.contents.constants.push_back({t.dtype, t.dims, static_cast<uint32_t>(c.graph.blobs.size())});
    c.graph.blobs.push_back(Blob::copy(t.data, t.size));
    c.inputs.erase(c.inputs.begin() + (at - g.inputs.begin()));
    g.inputs.erase(at);
    any = true;
  }
  return any;
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
    Case made{std::move(*folded), c.sets[0].inputs};
    std::map<uint32_t, seam::Said> why = refusals(*halves.compiler, made.graph);
    const bool whole = why.empty();
    while (!why.empty() && freeze(made, why)) {
      auto again = passes::run_passes(std::move(made.graph));
      REQUIRE_MESSAGE(again.ok(), c.name << ": " << again.status().message());
      made.graph = std::move(*again), why = refusals(*halves.compiler, made.graph);
    }
    if (!why.empty() || made.graph.main().nodes.empty()) {
      for (const auto& [node, said] : why) {
        ++by_operator[made.graph.main().nodes[node].op_type];
        if (only) std::printf("%s: %s: %s\n", c.name.c_str(), made.graph.main().nodes[node].op_type.c_str(), said.text.c_str());
      }
      ++refused;
      continue;
    }
    const PackedGraph packed = pack(made.graph, true);
    const std::vector<reference::Tensor> wanted = contested(c.name) ? reference::run(packed.raw, made.inputs) : c.sets[0].outputs;
    const auto run = [&](const std::vector<optima_option>& with) {
      std::string wrong;
      const std::vector<reference::Tensor> out = spirv_test::computed(halves, packed.raw, made.inputs, wrong, with);
      for (size_t k = 0; k < out.size() && wrong.empty(); ++k)
        if (const std::string d = difference(out[k], wanted[k], c); !d.empty()) wrong = "output " + std::to_string(k) + ": " + d;
      CHECK_MESSAGE(wrong.empty(), c.name << ": " << wrong);
      return wrong.empty();
    };
    if ((passed + frozen) % share == 0) guarded += run({spirv_test::guarded()});
    (whole ? passed : frozen) += run({});
  }
  std::string others;
  for (const auto& [op, count] : by_operator) others += " " + op + " " + std::to_string(count);
  std::printf("%d node tests passed as they are, %d with inputs as constants, %d of them looking at every index, too; %d refused:%s\n", passed, frozen, guarded, refused, others.c_str());
  CHECK(passed + frozen > 0);
  CHECK(guarded > 0);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

#endif
