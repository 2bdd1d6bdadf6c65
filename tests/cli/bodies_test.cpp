// SPDX-License-Identifier: Apache-2.0
// Bodies that the host drives in what the user reads, and limits that count over them, with the real programs.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// The host drives the If; its one branch is cut in three by the Softmax on REF.
constexpr const char* kBranch = R"(<ir_version: 10, opset_import: ["" : 21]>
branch (bool c, float[2,3] x) => (float[2,3] y) {
  h = Relu(x)
  z = If(c) <then_branch = t () => (float[2,3] a) { s = Exp(h)  u = Softmax<axis = 1>(s)  a = Relu(u) },
             else_branch = e () => (float[2,3] b) { b = Neg(h) }>
  y = Tanh(z)
})";

struct Model {
  TempFolder f;
  std::string path = f.file("branch.onnxtxt", kBranch);
  // plan or compile, with the placement above
  std::vector<std::string> words(const std::string& verb, const std::vector<std::string>& more, const std::string& softmax = "REF:0") const {
    std::vector<std::string> out = {verb, path, "--device", "llvm_cpu/X64:0", "--pin", "op:If=host", "--pin", "op:Softmax=" + softmax};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
};

std::string ok(const std::vector<std::string>& words) {
  const Ran r = host(words);
  INFO(r.out);
  INFO(r.err);
  REQUIRE(r.code == 0);
  return r.out;
}

Json json_of(const std::vector<std::string>& words) {
  const Result<Json> json = parse_json(ok(words), "stdout");
  REQUIRE(json.ok());
  return *json;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("--max-subgraphs is met, or an error that names what needs more, over the main graph and its bodies") {
  const TempFolder f;
  const std::vector<std::string> digits = {"plan", digits_model(), "--alloc", digits_allocation(), "--max-subgraphs"};
  const auto most = [&](std::vector<std::string> words, const std::string& n) {
    words.push_back(n);
    return host(words);
  };
  CHECK(most(digits, "4").code == 0);
  const Ran three = most(digits, "3");
  CHECK(three.code == 4);
  CHECK(has(three.err, "--max-subgraphs 3, but at least 4 are needed; none of these could be spared as a reason: "));
  CHECK(has(three.err, "pinned to REF:0 by '/widen/*'"));

  const Model m;
  const std::vector<std::string> branch = m.words("plan", {"--max-subgraphs"});
  CHECK(most(branch, "7").code == 0);
  const Ran six = most(branch, "6");
  CHECK(six.code == 4);
  CHECK(has(six.err, "--max-subgraphs 6, but the model with its bodies needs at least 7: the main graph 3, body 'if_1/then_branch' 3, "
                     "body 'if_1/else_branch' 1"));
}

TEST_CASE("a plan with bodies is drawn, explained, asked what if, compared and followed, bodies included") {
  const Model m;
  const std::string plan = m.f / "plan.json";
  ok(m.words("plan", {"-o", plan}));
  ok({"view", plan, "-o", m.f / "p.dot"});
  std::ifstream in(m.f / "p.dot");
  const std::string dot((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  CHECK(has(dot, "label=\"body if_1/then_branch\""));
  CHECK(has(dot, "if_1/then_branch/softmax_1"));
  CHECK(has(ok({"explain", plan, "if_1/then_branch/softmax_1"}), "in body 'if_1/then_branch'"));
  CHECK(json_of({"explain", plan, "if_1/else_branch/neg_1", "--json"})["device"] == "X64:0");

  // Followed: same devices, same reasons; then one node in a body is edited.
  ok({"compile", m.path, "--plan", plan, "-o", m.f / "out"});
  CHECK(has(ok({"diff", plan, m.f / "out/branch"}), "equal"));
  const std::string why = ok({"explain", m.f / "out/branch", "if_1/then_branch/softmax_1"});
  CHECK(has(why, "why: pinned to REF:0 by --pin 'op:Softmax' (as in '"));
  CHECK(has(ok({"explain", m.f / "out/branch", "relu_1"}), "why: X64:0 is the only candidate (as in '"));
  Json edited = *read_json(plan);
  edited["bodies"][0]["plan"]["nodes"][1]["device"] = "X64:0";
  const std::string file = m.f.file("edited.json", to_text(edited));
  ok({"plan", m.path, "--plan", file, "-o", m.f / "moved.json"});
  CHECK(has(ok({"explain", m.f / "moved.json", "if_1/then_branch/softmax_1"}), "why: pinned to X64:0 by '"));
  const Ran moved = host({"diff", plan, m.f / "moved.json"});
  CHECK(moved.code == 6);
  CHECK(has(moved.out, "plans of 'branch': 0 of 3 nodes moved (1 more in bodies); subgraphs 3 (with bodies 7 -> 5)"));
  CHECK(has(moved.out, "body 'if_1/then_branch': 1 of 3 nodes moved; subgraphs 3 -> 1"));
  CHECK(has(moved.out, "REF:0 -> X64:0"));
  ok(m.words("plan", {"--pin", "if_1=REF:0", "-o", m.f / "whole.json"}, "X64:0,REF:0"));
  CHECK(has(host({"diff", plan, m.f / "whole.json"}).out, "body 'if_1/then_branch' has a plan only in the first plan: 3 nodes in 3 subgraphs"));
}

TEST_CASE("compare --at-cuts says that tensors inside bodies are left out") {
  const Model m;
  ok(m.words("compile", {"-o", m.f / "out"}));
  const std::string said = ok({"compare", m.path, m.f / "out/branch", "--at-cuts"});
  CHECK(has(said, "note: tensors inside bodies are not compared: they have a value for every trip"));
  CHECK(json_of({"compare", m.path, m.f / "out/branch", "--at-cuts", "--json"}).contains("not_compared"));
  CHECK_FALSE(has(ok({"compare", m.path, m.f / "out/branch"}), "inside bodies"));
}

TEST_CASE("a folder of submodels has a driven node whole on the cpu, and refuses a body that is meant for another device") {
  const Model m;
  CHECK(has(ok(m.words("compile", {"--emit", "submodels", "-o", m.f / "out"})), "'if_1' is one cpu graph with its bodies"));
  const Json infos = *read_json(m.f / "out/branch/graph_infos.json");
  CHECK(infos["graph_num"] == 3);
  for (const Json& graph : infos["graphs"]) CHECK(graph["device"] == "cpu");
  const std::string npu = m.f.file("npu.json", paper_note("Softmax"));
  const Ran r = host(m.words("compile", {"--emit", "submodels", "--support", npu, "-o", m.f / "npu"}, "NPU9:0"));
  CHECK(r.code == 3);
  CHECK(has(r.err, "node 'if_1/then_branch/softmax_1' (Softmax) runs on NPU9:0 in body 'if_1/then_branch' of 'if_1' (If), which the host drives: "
                   "a folder of submodels has no bodies; "));
  CHECK_FALSE(std::ifstream(m.f / "npu/branch/graph_infos.json").good());
}
