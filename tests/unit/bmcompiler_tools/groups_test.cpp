// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: which nodes are found when the tools fail at a group of nodes, each of which they take. A shell script stands in for tpuc-opt: it
// fails at modules that hold certain operators together, and counts its calls.
#include "core/onnx_io/onnx_io.hpp"
#include "plugins/bmcompiler/offenders.hpp"
#include "plugins/bmcompiler/top/lower.hpp"
#include "tools.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// "tpu" is the third stage: the script looks at the module of the first.
constexpr const char* kStandIn = R"SH(#!/bin/sh
for word in "$@"; do
  case $last in -o) product=${product:-$word} ;; esac
  case $word in --codegen=*) product=${word#*model_file=}; product=${product%% *} ;; esac
  last=$word
done
if [ "$1" = stage_tpu.mlir ]; then
  echo call >> ../calls
  if FAILS; then ENDS; fi
fi
echo made > "$product"
)SH";

constexpr const char* kFails = "grep -q top.Softmax top.mlir && grep -q top.Tanh top.mlir";

class StandIn {
 public:
  StandIn(std::string fails, const std::string& ends) {
    std::string script = kStandIn;
    script.replace(script.find("FAILS"), 5, fails);
    script.replace(script.find("ENDS"), 4, ends);
    fs::permissions(folder_.file("bin/tpuc-opt", script), fs::perms::owner_all);
    for (const char* name : {"libbackend_bm1684x.so", "libcpuop.so", "libbm1684x_kernel_module.so"}) folder_.file(std::string("lib/") + name, "");
  }
  bm::Facts facts() const { return {folder_.path(), "stand-in"}; }

 private:
  TempFolder folder_;
};

struct Asked {
  int32_t code = OPTIMA_OK;
  std::string text;                       ///< of the whole's failure
  std::vector<bm::sdk::Verdict> verdicts;
  size_t calls = 0;                       ///< of the failing stage
};

/// A chain of 24 nodes whose operators a script fails at together: n5 and n17.
Graph chain() {
  std::string text;
  for (int k = 0; k < 24; ++k) {
    const std::string op = k == 5 ? "Softmax" : k == 17 ? "Tanh" : "Relu";
    text += "[n" + std::to_string(k) + "] v" + std::to_string(k + 1) + " = " + op + "(v" + std::to_string(k) + ") ";
  }
  return *onnx_io::load_text("<ir_version: 10, opset_import: [\"\" : 21]> g (float[2,3] v0) => (float[2,3] v24) { " + text + "}", "sample");
}

Asked ask(const StandIn& tools, const Work& work, const bm::Bounds& bounds) {
  const Graph graph = chain();
  const PackedGraph packed = pack(graph);
  const bm::sdk::Graph view(&packed.raw);
  const bm::Job job = job_for("bm1684x");
  const bm::Facts facts = tools.facts();
  Asked out;
  try {
    bm::write_module(bm::top::lower(view, *job.chip).module, bounds.work);
    bm::compile_stages(facts, job, bounds, bm::sdk::Progress(nullptr));
  } catch (const bm::sdk::Error& e) {
    out.code = e.code, out.text = e.text;
    if (e.code == OPTIMA_UNSUPPORTED) out.verdicts = bm::offenders(facts, view, job, bounds, bm::sdk::Progress(nullptr), e);
  }
  const std::string calls = bm::bytes_of(work / "../calls");
  out.calls = static_cast<size_t>(std::count(calls.begin(), calls.end(), '\n'));
  return out;
}

Asked ask(const StandIn& tools) {
  const Work work;
  return ask(tools, work, work.bounds());
}

}  // namespace

TEST_CASE("a crash at a group is found: the last of its nodes, with the others by name, the signal and the last words") {
  const Asked found = ask(StandIn(kFails, "echo 'no tile of that' >&2; kill -SEGV $$"));
  CHECK(found.code == OPTIMA_UNSUPPORTED);
  CHECK(found.text == "tpuc-opt was ended by signal 11: no tile of that (stage tpu)");
  REQUIRE(found.verdicts.size() == 1);
  CHECK(found.verdicts[0].node == 17);
  CHECK(found.verdicts[0].text == found.text + R"(; only together with "n5" (Softmax))");
  CHECK(found.calls <= 1 + 3 + static_cast<size_t>(bm::kMostGroups));  // the whole, an operator of each kind, the groups
}

TEST_CASE("an abort at a group that names no node is found the same way") {
  const Asked found = ask(StandIn(kFails, "echo 'ASSERT INFO:no tile of that' >&2; kill -ABRT $$"));
  REQUIRE(found.verdicts.size() == 1);
  CHECK(found.verdicts[0].node == 17);
  CHECK(found.verdicts[0].text == R"(tpuc-opt says "no tile of that" (stage tpu); only together with "n5" (Softmax))");
}

TEST_CASE("a node that crashes the tools by itself is named alone") {
  const Asked found = ask(StandIn("grep -q top.Tanh top.mlir", "kill -SEGV $$"));
  REQUIRE(found.verdicts.size() == 1);
  CHECK(found.verdicts[0].node == 17);
  CHECK(found.verdicts[0].text == "tpuc-opt was ended by signal 11 (stage tpu)");
  CHECK(found.calls == 1 + 3);
}

TEST_CASE("a failure that comes once has no offender") {
  const Asked found = ask(StandIn("! [ -e ../once ] && touch ../once", "kill -SEGV $$"));
  CHECK(found.code == OPTIMA_UNSUPPORTED);
  CHECK(found.verdicts.empty());
}

TEST_CASE("a crash under a memory limit says that the limit may be too small, and asks no further") {
  const StandIn tools(kFails, "kill -SEGV $$");
  const Work work;
  bm::Bounds bounds = work.bounds();
  bounds.memory_limit = uint64_t{2048} << 20;
  const Asked found = ask(tools, work, bounds);
  CHECK(found.code == OPTIMA_TOOL_FAILED);
  CHECK(found.text == "tpuc-opt was ended by signal 11; its memory limit of 2048 MiB may be too small; what it printed is in " + work.log() + " (stage tpu)");
  CHECK(found.calls == 1);
}
