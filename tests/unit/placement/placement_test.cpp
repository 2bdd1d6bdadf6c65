// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/plan/plan_json.hpp"
#include "core/plan/validate.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

TEST_CASE("fewest subgraphs come before the preferred device, and the plan says so") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  const Plan plan = c.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(plan.subgraphs.size() == 1);
  CHECK(plan.exact);
  CHECK(plan.lower_bound == 1);
  CHECK(plan.nodes[0].why == Why::FewerParts);
  CHECK(plan.nodes[0].sentence == "NPU:0 takes it too, but on CPU:0 it makes fewer subgraphs");
  CHECK(plan.nodes[1].why == Why::OnlyDevice);
  CHECK(plan.nodes[1].sentence == "only CPU:0 of the candidates takes it; NPU:0: operator Exp is not in the note of plugin fastnpu");
  CHECK(plan.nodes[1].answers[0].reason == "OP");
  REQUIRE(plan.notes.size() == 1);
  CHECK(plan.notes[0] ==
        "NPU:0 takes 2 nodes that run elsewhere because that makes fewer subgraphs; to put every node on the first device that can, allocate \"*\": [\"NPU:0\", \"CPU:0\"]");
}

TEST_CASE("a list wish for every node puts each on the first device that can") {
  Chain c;
  for (const char* name : {"a", "b", "c"}) c.wish(name, {"NPU:0", "CPU:0"}, false);
  const Plan plan = c.plan();
  CHECK(devices_of(plan) == "NPU:0 CPU:0 NPU:0 ");
  CHECK(plan.nodes[0].why == Why::Preferred);
  CHECK(plan.nodes[0].as_asked);
  CHECK_FALSE(plan.nodes[1].as_asked);
  CHECK(plan.nodes[1].sentence == "CPU:0 is the first that can of those that 'b' lists; NPU:0: operator Exp is not in the note of plugin fastnpu");
  REQUIRE(plan.cuts.size() == 2);
  CHECK(plan.cuts[0].name == "a_out");
  CHECK(plan.cuts[0].bytes == 16);
  CHECK(plan.bytes == 32);
  CHECK(plan.subgraphs[1].input_names == std::vector<std::string>{"a_out"});
}

TEST_CASE("a plan survives the way through JSON unchanged") {
  Chain c;
  c.wish("a", {"NPU:0"});
  c.candidates({"CPU:0"});
  const Plan plan = c.plan();
  const std::string text = to_text(plan_to_json(plan));
  const Result<Json> parsed = parse_json(text, "plan.json");
  REQUIRE(parsed.ok());
  const Result<Plan> back = plan_from_json(*parsed, "plan.json");
  REQUIRE(back.ok());
  CHECK(to_text(plan_to_json(*back)) == text);
  CHECK(validate(*back, c.graph, c.request).ok());
}

TEST_CASE("a pin moves one node and leaves its neighbours automatic") {
  Chain c;
  c.candidates({"CPU:0"});
  c.wish("c", {"NPU:0"});
  const Plan plan = c.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 NPU:0 ");
  CHECK(plan.nodes[2].why == Why::Pinned);
  CHECK(plan.nodes[2].sentence == "pinned to NPU:0 by 'c'");
  CHECK(plan.nodes[2].asked == "NPU:0");
  CHECK(plan.nodes[2].answers[0].text == "excluded by 'c'");
  CHECK(plan.nodes[0].answers[1].yes);
  CHECK(plan.nodes[0].answers[1].text == "takes only nodes that name it");
  CHECK(plan.nodes[0].why == Why::OnlyDevice);
  CHECK(plan.nodes[0].sentence == "CPU:0 is the only candidate");
  CHECK(plan.devices[1].only_named);
}

TEST_CASE("equal numbers of subgraphs go to the first candidate") {
  Setup s;
  s.output(s.node("a", "Relu", {s.input("x")}));
  s.candidates({"NPU:0", "CPU:0"});
  const Plan plan = s.plan();
  CHECK(devices_of(plan) == "NPU:0 ");
  CHECK(plan.nodes[0].why == Why::FirstInOrder);
  CHECK(plan.nodes[0].sentence == "NPU:0 is the first that takes it");
  s.request.candidates = {*parse_device("CPU:0"), *parse_device("NPU:0")};
  CHECK(devices_of(s.plan()) == "CPU:0 ");
}

TEST_CASE("without candidates the devices of this machine serve, plugins that want to be named left out") {
  Chain c;
  FakePlugin ref("refplugin", {"REF"}, kAllOps);
  ref.manifest_.only_when_named = true;
  ref.present = {{"REF", "cpu", "", "", "", 0, {}}};
  c.cpu.present = {{"CPU", "cpu", "", "", "", 0, {}}, {"CPU", "cpu", "", "", "", 1, {}}};
  c.request.plugins = {&ref, &c.npu, &c.cpu};
  const Plan plan = c.plan();
  CHECK(plan.devices.size() == 1);
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(ref.checks == 0);
  c.wish("b", {"REF:0"});
  CHECK(devices_of(c.plan()) == "CPU:0 REF:0 CPU:0 ");
}

TEST_CASE("each plugin is asked once, and only about what its note allows") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.plan();
  CHECK(c.npu.checks == 1);
  CHECK(c.npu.asked == std::vector<uint32_t>{c.id_of("a"), c.id_of("c")});
  CHECK(c.cpu.asked.size() == 3);
}

TEST_CASE("a kind served by several plugins goes to the first in order, and the reason names the rule") {
  Setup s;
  s.output(s.node("a", "Relu", {s.input("x")}));
  FakePlugin other("other", {"CPU"}, kAllOps);
  other.manifest_.priority = 10;
  s.request.plugins = {&other, &s.cpu};
  s.candidates({"CPU:0"});
  CHECK(s.plan().devices[0].full_name == "other/CPU:0");
  CHECK(s.plan().devices[0].rule == "priority 10 over slowcpu's 0");
  s.request.plugins = {&s.cpu, &other};
  s.request.plugin_order = {"slowcpu"};
  CHECK(s.plan().devices[0].full_name == "slowcpu/CPU:0");
  CHECK(s.plan().devices[0].rule == "before other in the order of plugins");
  s.request.plugin_order = {};
  other.manifest_.priority = 0;
  CHECK(s.plan().devices[0].rule == "before other by name, both of priority 0");
  s.request.candidates = {*parse_device("other/CPU:0")};
  CHECK(s.plan().devices[0].name == "other/CPU:0");  // "CPU:0" would be slowcpu's to a reader without this order
  CHECK(s.plan().devices[0].rule == "named");
}

TEST_CASE("a plain name means the same plugin whatever full names stand beside it, so a list with both has two candidates") {
  Chain c;
  FakePlugin other("other", {"CPU"}, kAllOps);
  other.manifest_.priority = -1;
  c.request.plugins = {&c.cpu, &other};
  for (const std::vector<std::string>& both : {std::vector<std::string>{"other/CPU:0", "CPU:0"}, {"CPU:0", "other/CPU:0"}}) {
    c.request.candidates.clear();
    c.candidates(both);
    const Plan plan = c.plan();
    REQUIRE(plan.devices.size() == 2);
    for (size_t d = 0; d < 2; ++d) CHECK(plan.devices[d].full_name == (both[d] == "CPU:0" ? "slowcpu/CPU:0" : both[d]));
  }
  c.request.candidates = {*parse_device("other/CPU:0")};
  c.wish("a", {"CPU:0"});
  CHECK(devices_of(c.plan()) == "slowcpu/CPU:0 other/CPU:0 other/CPU:0 ");
  c.request.plugins = {&other, &c.cpu};  // the user's order decides what the plain name means; who reads the plan without it needs the full one
  c.request.plugin_order = {"other"};
  CHECK(devices_of(c.plan()) == "other/CPU:0 other/CPU:0 other/CPU:0 ");
}

TEST_CASE("without candidates every plugin that is here serves, two of one kind in their order") {
  Chain c;
  FakePlugin other("other", {"CPU"}, {"Relu"});
  other.manifest_.priority = 10;
  c.cpu.present = other.present = {{"CPU", "cpu", "", "", "", 0, {}}};
  c.request.plugins = {&other, &c.npu, &c.cpu};
  Plan plan = c.plan();
  REQUIRE(plan.devices.size() == 2);
  CHECK(plan.devices[0].name == "CPU:0");
  CHECK(plan.devices[0].full_name == "other/CPU:0");
  CHECK(plan.devices[0].rule == "priority 10 over slowcpu's 0");
  CHECK(plan.devices[1].name == "slowcpu/CPU:0");
  CHECK(plan.devices[1].rule == "found here, after other");
  CHECK(devices_of(plan) == "slowcpu/CPU:0 slowcpu/CPU:0 slowcpu/CPU:0 ");  // other takes no Exp
  CHECK(plan.nodes[1].sentence == "only slowcpu/CPU:0 of the candidates takes it; CPU:0: operator Exp is not in the note of plugin other");
  c.wish("a", {"slowcpu/CPU:0"});  // a pin takes it from nobody else
  plan = c.plan();
  CHECK_FALSE(plan.devices[0].only_named);
  CHECK(plan.devices.size() == 2);
}

TEST_CASE("a device that only another node names and that would take the node is named in its reason") {
  Chain c;
  FakePlugin other("other", {"CPU"}, kAllOps);
  c.request.plugins = {&c.npu, &c.cpu, &other};
  c.candidates({"NPU:0", "CPU:0"});
  c.wish("a", {"other/CPU:0"});
  const Plan plan = c.plan();
  CHECK(plan.nodes[1].sentence ==
        "only slowcpu/CPU:0 of the candidates takes it; NPU:0: operator Exp is not in the note of plugin fastnpu; other/CPU:0 would, but is no candidate");
}

TEST_CASE("two plugins of one kind are two devices, shown by their full names") {
  Chain c;
  FakePlugin other("other", {"CPU"}, kAllOps);
  c.request.plugins = {&c.cpu, &other};
  c.wish("a", {"other/CPU:0"});
  c.wish("b", {"slowcpu/CPU:0"});
  c.wish("c", {"other/CPU:0"});
  CHECK(devices_of(c.plan()) == "other/CPU:0 slowcpu/CPU:0 other/CPU:0 ");
}

TEST_CASE("a plugin that wants to be named yields its kind to one that does not") {
  Setup s;
  s.output(s.node("a", "Relu", {s.input("x")}));
  s.npu.manifest_.devices.push_back({"CPU", "cpu", true});
  s.npu.manifest_.only_when_named = true;
  s.request.plugins = {&s.npu, &s.cpu};
  s.candidates({"CPU:0"});
  CHECK(s.plan().devices[0].full_name == "slowcpu/CPU:0");
  CHECK(s.plan().devices[0].rule == "the only plugin for CPU that need not be named");
}

TEST_CASE("settings of the config reach the device of the plan") {
  Setup s;
  s.output(s.node("a", "Relu", {s.input("x")}));
  s.candidates({"CPU:0"});
  s.request.settings = {{*parse_device("slowcpu/CPU:0"), {{"arch", "v9"}}, 1000}, {*parse_device("other/CPU:0"), {{"arch", "v1"}}, 5}};
  CHECK(s.plan().devices[0].target.attributes == OptionValues{{"arch", "v9"}});
  CHECK(s.plan().devices[0].target.memory_limit == 1000);
  s.request.settings = {{*parse_device("slowcpu/CPU:0"), {{"arch", "v9"}}, 1000}, {*parse_device("CPU:0"), {{"arch", "v1"}}, 5}};
  CHECK(s.plan().devices[0].target.memory_limit == 1000);  // what is said of the full name wins
}

TEST_CASE("--require-device puts every node there") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.request.require_device = *parse_device("CPU:0");
  const Plan plan = c.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(plan.nodes[0].sentence == "pinned to CPU:0 by --require-device");
}

// ---- verdicts

TEST_CASE("a conditional yes is a no, a yes that would rather not is the last choice") {
  Setup s;
  s.output(s.node("a", "Relu", {s.input("x")}));
  s.candidates({"NPU:0", "CPU:0"});
  s.npu.verdicts[s.id_of("a")] = {s.id_of("a"), OPTIMA_VERDICT_SUPPORTED_IF, OPTIMA_REASON_DYNAMIC_SHAPE, OPTIMA_NONE, "", "", "", "if dim 0 were static"};
  Plan plan = s.plan();
  CHECK(devices_of(plan) == "CPU:0 ");
  CHECK(plan.nodes[0].sentence == "only CPU:0 of the candidates takes it; NPU:0: if dim 0 were static");
  CHECK(plan.nodes[0].answers[0].reason == "DYNAMIC_SHAPE");
  s.npu.verdicts[s.id_of("a")] = {s.id_of("a"), OPTIMA_VERDICT_PREFER_ELSEWHERE, OPTIMA_REASON_POLICY, OPTIMA_NONE, "", "", "", "slow here"};
  plan = s.plan();
  CHECK(devices_of(plan) == "CPU:0 ");
  CHECK(plan.nodes[0].why == Why::FirstInOrder);
  CHECK(plan.nodes[0].sentence == "CPU:0 is the first that takes it; NPU:0 would rather not: slow here");
  s.request.candidates = {*parse_device("NPU:0")};
  CHECK(devices_of(s.plan()) == "NPU:0 ");
}

TEST_CASE("nodes a plugin takes only as a group move as one") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.manifest_.operators.push_back(FakePlugin::row("Exp"));
  c.npu.group(7, {c.id_of("a"), c.id_of("b")});
  Plan plan = c.plan();
  CHECK(devices_of(plan) == "NPU:0 NPU:0 NPU:0 ");
  CHECK(plan.nodes[0].why == Why::FollowsGroup);
  CHECK(plan.nodes[0].sentence == "moves as one with 'b'");
  c.cpu.refuse(c.id_of("c"), OPTIMA_REASON_OP, "not here");
  c.npu.refuse(c.id_of("c"), OPTIMA_REASON_OP, "nor here");
  FakePlugin third("third", {"TPU"}, {"Relu"});
  c.request.plugins.push_back(&third);
  c.request.candidates.push_back(*parse_device("TPU:0"));
  CHECK(devices_of(c.plan()) == "NPU:0 NPU:0 TPU:0 ");
}

TEST_CASE("a pin on one member dissolves the group on that device, with a sentence") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.manifest_.operators.push_back(FakePlugin::row("Exp"));
  c.npu.group(7, {c.id_of("a"), c.id_of("b")});
  c.wish("b", {"CPU:0"});
  const Plan plan = c.plan();
  CHECK(plan.nodes[0].answers[0].text == "taken only together with 'a', 'b', but 'b' may not go there");
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
}

TEST_CASE("a group that a path leaves and comes back to is not taken") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.group(1, {c.id_of("a"), c.id_of("c")});
  const Plan plan = c.plan();
  CHECK(plan.nodes[0].answers[0].text == "taken only together with 'a', 'c', but a path leaves that group and comes back to it");
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
}

TEST_CASE("two groups that wait for each other: one is kept") {
  Setup s;  // a -> b, c -> d; groups {a, d} and {b, c}
  const uint32_t x = s.input("x");
  const uint32_t a = s.node("a", "Relu", {x}), c = s.node("c", "Relu", {x});
  s.output(s.node("b", "Relu", {a}));
  s.output(s.node("d", "Relu", {c}));
  s.npu.group(1, {s.id_of("a"), s.id_of("d")});
  s.npu.group(2, {s.id_of("b"), s.id_of("c")});
  s.candidates({"NPU:0", "CPU:0"});
  const Plan plan = s.plan();
  CHECK(plan.nodes[0].answers[0].yes);
  CHECK_FALSE(plan.nodes[1].answers[0].yes);
}

TEST_CASE("groups of two devices that overlap without being equal: the first stays") {
  Setup s;
  s.output(s.node("c", "Relu", {s.node("b", "Relu", {s.node("a", "Relu", {s.input("x")})})}));
  s.npu.group(1, {s.id_of("a"), s.id_of("b")});
  s.cpu.group(1, {s.id_of("b"), s.id_of("c")});
  FakePlugin third("third", {"TPU"}, {"Relu"});
  s.request.plugins.push_back(&third);
  s.candidates({"NPU:0", "CPU:0", "TPU:0"});
  const Plan plan = s.plan();
  CHECK(plan.nodes[0].answers[0].yes);
  CHECK(plan.nodes[1].answers[1].text == "taken only together with 'b', 'c', but 'b' belongs to another group on NPU:0");
}

// ---- plugins that lie

TEST_CASE("a missing verdict is a no that says so, and one about nodes not asked is ignored") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.silent = {c.id_of("a")};
  c.npu.extra = {{c.id_of("b"), OPTIMA_VERDICT_SUPPORTED, 0, OPTIMA_NONE, "", "", "", ""}, {77777, OPTIMA_VERDICT_SUPPORTED, 0, OPTIMA_NONE, "", "", "", ""}};
  const Plan plan = c.plan();
  CHECK(plan.nodes[0].answers[0].text == "plugin 'fastnpu' gave no verdict for this node");
  CHECK_FALSE(plan.nodes[1].answers[0].yes);
  CHECK(plan.nodes[1].answers[0].reason == "OP");
}

TEST_CASE("of two verdicts for a node the first counts, and unknown verdicts and groups without a number are refusals") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.refuse(c.id_of("a"), OPTIMA_REASON_OTHER, "");
  c.npu.extra = {{c.id_of("a"), OPTIMA_VERDICT_SUPPORTED, 0, OPTIMA_NONE, "", "", "", ""}};
  c.npu.verdicts[c.id_of("c")] = {c.id_of("c"), 99, 0, OPTIMA_NONE, "", "", "", "what"};
  Plan plan = c.plan();
  CHECK(plan.nodes[0].answers[0].text == "plugin 'fastnpu' refused without a reason");
  CHECK_FALSE(plan.nodes[2].answers[0].yes);
  c.npu.verdicts[c.id_of("c")] = {c.id_of("c"), OPTIMA_VERDICT_ONLY_IN_GROUP, 0, OPTIMA_NONE, "", "", "", "in a group"};
  CHECK_FALSE(c.plan().nodes[2].answers[0].yes);
}

TEST_CASE("a plugin that cannot be asked takes nothing, unless only a plan is wanted") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  for (const char* name : {"a", "c"}) c.wish(name, {"NPU:0", "CPU:0"}, false);
  c.npu.failure = plugin_error("SDK not found");
  Plan plan = c.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(plan.nodes[0].answers[0].reason == "DEPENDENCY");
  CHECK(plan.notes == std::vector<std::string>{"plugin 'fastnpu' could not be asked about NPU:0, so it takes nothing: SDK not found"});
  c.request.plan_only = true;
  plan = c.plan();
  CHECK(devices_of(plan) == "NPU:0 CPU:0 NPU:0 ");
  CHECK(plan.notes == std::vector<std::string>{"plugin 'fastnpu' could not be asked about NPU:0, its note alone decided: SDK not found"});
}

TEST_CASE("a mistyped option is an error, not a placement elsewhere") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.failure = usage_error("chip 'x' is not known");
  for (const bool plan_only : {false, true}) {
    c.request.plan_only = plan_only;
    const Status s = make_plan(c.graph, c.request).status();
    CHECK(s.kind() == StatusKind::Usage);
    CHECK(s.message() == "chip 'x' is not known");
  }
}

TEST_CASE("an interrupted question interrupts the placement") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.failure = cancelled();
  CHECK(make_plan(c.graph, c.request).status().kind() == StatusKind::Cancelled);
}

TEST_CASE("what compile refused is placed again elsewhere, and said") {
  Chain c;
  for (const char* name : {"a", "c"}) c.wish(name, {"NPU:0", "CPU:0"}, false);
  c.candidates({"NPU:0", "CPU:0"});
  CHECK(devices_of(c.plan()) == "NPU:0 CPU:0 NPU:0 ");
  c.request.compile_refusals[{c.id_of("a"), "fastnpu"}] = "kernel too large";
  Plan plan = c.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 NPU:0 ");
  CHECK(plan.notes[0] == "plugin 'fastnpu' could not compile node 'a': kernel too large; placed again");
  CHECK(plan.nodes[0].answers[0].reason == "COMPILE");
  c.request.wishes.clear();
  plan = c.plan();
  CHECK(plan.nodes[0].why == Why::CompileRefused);
  CHECK(plan.nodes[0].sentence == "NPU:0 could not compile it: kernel too large");
  c.wish("a", {"NPU:0"});
  CHECK(c.error(StatusKind::Placement) ==
        "node 'a' (Relu, f32[4] -> f32[4]) is pinned to NPU:0 by 'a', but plugin 'fastnpu' refuses it: kernel too large (COMPILE); it would run on CPU:0");
}

TEST_CASE("what plugins said holds when the graph is planned again") {
  Chain c;
  for (const char* name : {"a", "c"}) c.wish(name, {"NPU:0", "CPU:0"}, false);
  c.candidates({"NPU:0", "CPU:0"});
  c.request.answers = std::make_shared<PluginAnswers>();
  CHECK(devices_of(c.plan()) == "NPU:0 CPU:0 NPU:0 ");
  c.npu.refuse(c.id_of("c"), OPTIMA_REASON_OP, "another day");  // nobody asks
  c.request.compile_refusals[{c.id_of("a"), "fastnpu"}] = "kernel too large";
  CHECK(devices_of(c.plan()) == "CPU:0 CPU:0 NPU:0 ");
  CHECK(c.npu.checks == 1);
  CHECK(c.cpu.checks == 1);
}

TEST_CASE("a failure to answer is an answer, an interruption is none") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.request.answers = std::make_shared<PluginAnswers>();
  c.npu.failure = cancelled();
  CHECK_FALSE(make_plan(c.graph, c.request).ok());
  c.npu.failure = plugin_error("SDK not found");
  for (int i = 0; i < 2; ++i) CHECK(devices_of(c.plan()) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(c.npu.checks == 2);
}

TEST_CASE("a group that lost a node to its compiler is none") {
  Chain c;
  c.npu.manifest_.operators.push_back(FakePlugin::row("Exp"));
  c.npu.group(1, {c.id_of("a"), c.id_of("b")});
  c.candidates({"NPU:0", "CPU:0"});
  CHECK(devices_of(c.plan()) == "NPU:0 NPU:0 NPU:0 ");
  c.request.compile_refusals[{c.id_of("a"), "fastnpu"}] = "kernel too large";
  const Plan plan = c.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(plan.nodes[0].answers[0].reason == "COMPILE");
  CHECK(plan.nodes[1].answers[0].text == "taken only together with 'a', which it could not compile");
}

TEST_CASE("opsets outside a plugin's range are its reason") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.npu.manifest_.opsets = {{"", 7, 17}};
  CHECK(c.plan().nodes[0].answers[0].text == "the model is of opset 21, must be 7..17");
  CHECK(c.plan().nodes[0].answers[0].reason == "OPSET");
}

// ---- shapes of graphs

TEST_CASE("a graph without nodes has a plan without subgraphs") {
  Setup s;
  s.output(s.input("x"));
  const Plan plan = s.plan();
  CHECK(plan.subgraphs.empty());
  CHECK(plan.exact);
  CHECK(allocation_of(plan, s.graph) == "{}\n");
}

TEST_CASE("an inner tensor that is a model output leaves its subgraph, also when nobody else reads it there") {
  Setup s;
  const uint32_t a = s.node("a", "Relu", {s.input("x")}), b = s.node("b", "Relu", {a});
  s.output(a), s.output(b), s.output(a);
  s.candidates({"NPU:0"});
  const Plan plan = s.plan();
  CHECK(plan.subgraphs[0].output_names == std::vector<std::string>{"a_out", "b_out"});
  CHECK(plan.cuts.empty());
}

TEST_CASE("an input that is also an output, and one that nobody reads, leave the plan alone") {
  Setup s;
  const uint32_t x = s.input("x");
  s.input("idle");
  s.output(x);
  s.output(s.node("a", "Relu", {x}));
  s.candidates({"NPU:0"});
  CHECK(s.plan().subgraphs[0].input_names == std::vector<std::string>{"x"});
}

TEST_CASE("constants are no nodes, never inputs and need no pin") {
  Setup s;  // a shared constant on both sides of the cut (openvino issue 35750)
  const uint32_t w = s.constant("w");
  const uint32_t a = s.node("a", "Add", {s.input("x"), w});
  const uint32_t b = s.node("b", "Exp", {a});
  s.output(s.node("c", "Add", {s.node("d", "Add", {b, w}), w}));
  for (const char* name : {"a", "c", "d"}) s.wish(name, {"NPU:0"});
  s.candidates({"CPU:0"});
  const Plan plan = s.plan();
  CHECK(devices_of(plan) == "NPU:0 CPU:0 NPU:0 NPU:0 ");
  for (const Subgraph& subgraph : plan.subgraphs) CHECK(subgraph.inputs.size() == 1);
}

TEST_CASE("separate pieces of a graph share subgraphs") {
  Setup s;
  for (const char* n : {"1", "2", "3"}) {
    const std::string name = n;
    s.output(s.node("b" + name, "Exp", {s.node("a" + name, "Relu", {s.input("x" + name)})}));
    s.wish("a" + name, {"NPU:0"});
  }
  s.candidates({"CPU:0"});
  CHECK(s.plan().subgraphs.size() == 2);
}

TEST_CASE("pins in turn cut a chain everywhere") {
  Setup s;
  uint32_t v = s.input("x");
  for (int i = 0; i < 20; ++i) {
    const std::string name = "n" + std::to_string(i);
    v = s.node(name, "Relu", {v});
    s.wish(name, {i % 2 ? "CPU:0" : "NPU:0"});
  }
  s.output(v);
  const Plan plan = s.plan();
  CHECK(plan.subgraphs.size() == 20);
  CHECK(plan.exact);
  CHECK(plan.cuts.size() == 19);
}

TEST_CASE("tensors without a static shape cross with unknown size") {
  Chain c;
  c.graph.main().values[1].dims = std::vector<image::Dim>{{-1, "batch"}};
  c.wish("b", {"CPU:0"});
  c.candidates({"NPU:0"});
  const Plan plan = c.plan();
  CHECK(plan.cuts[0].bytes == 0);
  CHECK(plan.bytes == 16);
}

TEST_CASE("optional inputs and outputs that are absent are skipped") {
  Setup s;
  const uint32_t a = s.node("a", "Relu", {s.input("x"), OPTIMA_NONE});
  s.graph.main().nodes[0].outputs.push_back(OPTIMA_NONE);
  s.output(s.node("b", "Exp", {OPTIMA_NONE, a}));
  s.wish("a", {"NPU:0"});
  s.candidates({"CPU:0"});
  CHECK(s.plan().subgraphs.size() == 2);
}

TEST_CASE("captures of a body are read by the node that holds it") {
  Setup s;
  const uint32_t a = s.node("a", "Relu", {s.input("x")}), b = s.node("b", "Relu", {a});
  const uint32_t out = s.node("if_1", "If", {b});
  const uint32_t body = s.body("if_1/then", {a});
  s.node("if_1/then/neg", "Neg", {0}, body);
  s.output(out);
  s.wish("if_1", {"CPU:0"});
  s.candidates({"NPU:0"});
  const Plan plan = s.plan();
  CHECK(plan.subgraphs[1].input_names == std::vector<std::string>{"b_out", "a_out"});
  CHECK(plan.cuts.size() == 2);
  CHECK(allocation_of(plan, s.graph) == "{\n  \"a\": \"NPU:0\",\n  \"b\": \"NPU:0\",\n  \"if_1\": \"CPU:0\",\n  \"if_1/then/neg\": \"CPU:0\"\n}\n");
}

TEST_CASE("a wish for a node of a body binds the whole node") {
  Setup s;
  const uint32_t x = s.input("x");
  s.output(s.node("if_1", "If", {x}));
  const uint32_t body = s.body("if_1/then", {x});
  s.node("if_1/then/neg", "Neg", {0}, body);
  s.npu.manifest_.operators.push_back(FakePlugin::row("If"));
  s.candidates({"NPU:0"});
  s.wish("if_1/then/neg", {"CPU:0"});
  CHECK(devices_of(s.plan()) == "CPU:0 ");
  s.wish("if_1", {"NPU:0"});
  CHECK(s.error(StatusKind::Placement) ==
        "node 'if_1' (If) cannot run: its nodes are told apart: 'if_1' is asked to run on NPU:0, 'if_1/then/neg' is asked to run on CPU:0, but the host "
        "cannot drive it: it has no then_branch");
}

// ---- the allocation written back

TEST_CASE("the allocation written back says precisions and leaves out what quantizing put in") {
  Chain c;
  c.candidates({"CPU:0"});
  Plan plan = c.plan();
  plan.nodes[0].precision = "int8", plan.nodes[2].precision = "f32";
  CHECK(*parse_json(allocation_of(plan, c.graph), "x") ==
        Json({{"a", {{"device", "CPU:0"}, {"precision", "int8"}}}, {"c", {{"device", "CPU:0"}, {"precision", "f32"}}}}));
}

TEST_CASE("the allocation written back gives the same placement again") {
  Chain c;
  c.graph.folded.push_back({"gone", "Add", "constant"});
  c.candidates({"CPU:0"});
  c.wish("a", {"NPU:0"});
  const Plan plan = c.plan();
  const std::string text = allocation_of(plan, c.graph);
  CHECK(text == "{\n  \"a\": \"NPU:0\",\n  \"b\": \"CPU:0\",\n  \"c\": \"CPU:0\",\n  \"gone\": \"auto\"\n}\n");
  const Result<Allocation> allocation = parse_allocation(*parse_json(text, "x"), "x");
  REQUIRE(allocation.ok());
  const Result<Resolved> again = resolve(*allocation, c.graph);
  REQUIRE(again.ok());
  c.request.wishes = again->by_node_id;
  CHECK(devices_of(c.plan()) == devices_of(plan));
}

TEST_CASE("the same request gives the same bytes") {
  Chain one, two;
  for (Chain* c : {&one, &two}) c->candidates({"NPU:0", "CPU:0"});
  CHECK(to_text(plan_to_json(one.plan())) == to_text(plan_to_json(two.plan())));
}

TEST_CASE("refused files that might have been candidates are told of when nothing is named, or a plain name that they would have taken") {
  Chain c;
  const auto file = [](const std::string& id, const std::string& kind) {
    PluginFile f;
    f.path = "/p/" + id + ".so";
    f.manifest.id = id;
    f.manifest.devices = {{kind, "gpu", false}};
    f.refusal = plugin_error("crashes in init (SIGSEGV)");
    return f;
  };
  PluginFile gpu = file("gpus", "GPU"), cpu = file("fastcpu", "CPU"), shy = file("shy", "CPU"), unwanted = file("unwanted", "CPU");
  shy.manifest.only_when_named = true;
  unwanted.unwanted = true;
  c.request.refused = {&gpu, &cpu, &shy, &unwanted};
  std::set<std::string> told;
  c.request.warn = [&](const std::string& text) { told.insert(text); };
  c.cpu.present = {{"CPU", "cpu", "", "", "", 0, {}}};
  const std::string why = ", was refused and takes no part: crashes in init (SIGSEGV)";
  const std::string of_gpu = "'/p/gpus.so', plugin 'gpus' for GPU" + why, of_cpu = "'/p/fastcpu.so', plugin 'fastcpu' for CPU" + why;
  (void)c.plan();
  CHECK(told == std::set<std::string>{of_cpu, of_gpu});
  told.clear();
  c.candidates({"CPU:0"});
  (void)c.plan();
  CHECK(told == std::set<std::string>{of_cpu});
  told.clear();
  cpu.manifest.priority = -1;  // and so it would not have been the one
  (void)c.plan();
  CHECK(told.empty());
  cpu.manifest.priority = 1;
  c.request.candidates = {*parse_device("slowcpu/CPU:0")};
  (void)c.plan();
  CHECK(told.empty());
  c.request.warn = {};
  c.request.candidates.clear();
  (void)c.plan();
}
