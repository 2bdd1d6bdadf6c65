// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fuzz: whatever the node, check() answers, and what it lets through becomes a plan that its own reader takes.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/doors.hpp"
#include "plugins/llvm_cpu/compiler/planner.hpp"
#include "tests/unit/llvm_cpu/net.hpp"
#include "tests/unit/llvm_cpu_fuzz/random_node.hpp"

using namespace optima::llvm_cpu;
using namespace llvm_cpu_fuzz;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kRounds = 400;  // of every operator
#else
constexpr uint64_t kRounds = 150;
#endif

/// Of 16 floats with all that multiplies codes and 16-bit floats, of 8 with nothing of it.
Target target(int64_t vector_width) {
  Target t;
  t.triple = vector_width == 4 ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu", t.cpu = "some";
  t.vector_width = vector_width, t.registers = vector_width == 8 ? 16 : 32;
  t.dot = vector_width == 4 ? k::Dot::Signed : vector_width == 16 ? k::Dot::Vnni : k::Dot::Pairs;
  if (vector_width == 16) t.bf16 = Bf16::Tiles, t.amx = true, t.permutes_bytes = true;
  return t;
}

/// The plan, with the steps that no node answers for as a failure.
std::string written(Draft draft) {
  for (size_t k = 0; k < draft.plan.kernels.size(); ++k) draft.plan.kernels[k] = "k" + std::to_string(k) + ".so";
  draft.plan.triple = "x86_64-unknown-linux-gnu";
  parse_plan(to_bytes(draft.plan));
  for (const Plan::Step& s : draft.plan.steps)
    if (s.node_ids.empty()) return "step " + s.label + " belongs to no node: its time would be nobody's";
  return "";
}

/// Every input and output that has a blocked layout.
std::set<uint32_t> all_blocked(const GraphView& graph, const Target& target) {
  std::set<uint32_t> out;
  const optima_image_graph& entry = *optima_get_graph(graph.image(), 0);
  for (const optima_slice& slice : {entry.inputs, entry.outputs})
    for (uint32_t k = 0; k < slice.count; ++k)
      if (const uint32_t v = *optima_get_index(graph.image(), slice.first + k); blocked_door(graph, v, target)) out.insert(v);
  return out;
}

/// Empty, or what went wrong. `accepted`: check() let the node through.
std::string planned(const Built& b, int64_t vector_width, bool& accepted) {
  const GraphView graph{&b.model->raw};
  const NodeView node{graph, &b.raw()};
  try {
    const Refusal r = judge(node);
    accepted = !r;
    if (r) return r.what.empty() || r.wanted.empty() ? "a refusal without a sentence" : "";
    const Target on = target(vector_width);
    if (std::string wrong = written(plan_graph(graph, on, {true, {}})); !wrong.empty()) return wrong;
    return written(plan_graph(graph, on, {true, {}, {}, all_blocked(graph, on)}));
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("random nodes of every operator are refused with a sentence or become a plan") {
  for (const Lowering& row : all_lowerings()) {
    int64_t accepted = 0;
    for (uint64_t round = 0; round < kRounds; ++round) {
      Case c = random_case(row, 1000 * round + 17);
      const bool valid = infer_outputs(c);
      Random random(round);
      if (round % 2) damage(c, random);
      if (!valid && !(round % 2)) continue;
      const Built b = build(c);
      if (!b.model->verify().empty()) continue;  // no image: the host never hands it out
      INFO(c.text());
      bool yes = false;
      const std::string wrong = planned(b, int64_t{4} << round % 3, yes);
      CHECK_MESSAGE(wrong.empty(), c.text() << ": " << wrong);
      accepted += yes && !(round % 2);
    }
    CHECK_MESSAGE(accepted > 0, std::string(row.op) << " was never accepted");
  }
}

TEST_CASE("a product of few rows costs the reading of its matrix, and more rows their sums") {
  const auto work = [](int64_t rows) {
    llvm_cpu_test::Net net(1);
    net.output(net.node("MatMul", 13, {net.input({rows, 256}), net.weights({256, 128})}, {rows, 128}));
    const auto model = net.model();
    const Draft draft = plan_graph({&model->raw}, target(16), {true, {}});
    REQUIRE(draft.plan.steps.size() == 1);
    return draft.plan.steps[0].work;
  };
  CHECK(work(1) == 8 * 256 * 128);
  CHECK(work(5) == work(1));
  CHECK(work(64) == 64 * 256 * 128);
}
