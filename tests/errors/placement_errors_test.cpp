// SPDX-License-Identifier: Apache-2.0
// Placements that cannot be: the kind (and so the exit code) and the message, word for word.
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

TEST_CASE("no plugin at all") {
  Chain c;
  c.request.plugins.clear();
  CHECK(c.error(StatusKind::Plugin) == "no usable compiler plugin, wanted at least one");
}

TEST_CASE("a kind that nobody serves") {
  Chain c;
  c.candidates({"GPU:0"});
  CHECK(c.error(StatusKind::InvalidInput) == "device 'GPU:0' (asked by --device): no plugin serves kind 'GPU', found NPU (fastnpu), CPU (slowcpu)");
}

TEST_CASE("a kind that a plugin knows and cannot use here") {
  Chain c;
  c.npu.refused = {{"OLD", "npu", "the last release for it was 1.0"}, {"NPU", "npu", "no driver"}};
  const std::string why = "kind 'OLD' cannot be used: the last release for it was 1.0 (says plugin 'fastnpu')";
  c.candidates({"OLD:0"});
  CHECK(c.error(StatusKind::Plugin) == "device 'OLD:0' (asked by --device): " + why);
  c.request.candidates = {*parse_device("fastnpu/OLD:3")};
  CHECK(c.error(StatusKind::Plugin) == "device 'fastnpu/OLD:3' (asked by --device): " + why);
  c.request.candidates = {*parse_device("slowcpu/OLD:0")};
  CHECK(c.error(StatusKind::InvalidInput) == "device 'slowcpu/OLD:0' (asked by --device): plugin 'slowcpu' does not serve kind 'OLD', it serves CPU");
  c.request.candidates = {*parse_device("CPU:0")};
  c.wish("a", {"NPU:0"});
  c.npu.manifest_.devices[0] = {"NPU", "npu", false};
  CHECK(c.error(StatusKind::Plugin) == "device 'NPU:0' (asked by 'a'): kind 'NPU' cannot be used: no driver (says plugin 'fastnpu')");
}

TEST_CASE("a kind, a plugin or all plugins that would be there, had their files not been refused") {
  Chain c;
  PluginFile file;
  file.path = "/p/libfoo.so";
  file.manifest.id = "foo";
  file.manifest.devices = {{"GPU", "gpu", false}};
  file.refusal = plugin_error("speaks ABI 0.9, this program speaks 0.1");
  c.request.refused = {&file};
  c.candidates({"GPU:0"});
  const std::string reason = " and was refused: speaks ABI 0.9, this program speaks 0.1";
  CHECK(c.error(StatusKind::Plugin) ==
        "device 'GPU:0' (asked by --device): no plugin serves kind 'GPU', found NPU (fastnpu), CPU (slowcpu); '/p/libfoo.so' claims it" + reason);
  c.request.candidates = {*parse_device("CPU:0")};
  c.wish("b", {"foo/GPU:0"});
  CHECK(c.error(StatusKind::Plugin) == "device 'foo/GPU:0' (asked by 'b'): no usable plugin 'foo', found fastnpu, slowcpu; '/p/libfoo.so' is one" + reason);
  c.request.plugins.clear();
  CHECK(c.error(StatusKind::Plugin) == "no usable compiler plugin, wanted at least one; '/p/libfoo.so' is one" + reason);
}

TEST_CASE("a plain name that a plugin took which cannot serve it names the others") {
  Chain c;
  FakePlugin hog("hog", {"CPU"}, kAllOps), more("more", {"CPU"}, kAllOps);
  hog.manifest_.devices[0] = {"CPU", "gpu", false};
  c.request.plugins = {&hog, &c.npu, &c.cpu, &more};
  c.candidates({"CPU:0"});
  CHECK(c.error(StatusKind::InvalidInput) == "device 'CPU:0' (asked by --device): plugin 'hog' has no such device, found none; CPU:0 means plugin 'hog', "
                                             "what others serve is called slowcpu/CPU:0, more/CPU:0");
  c.request.candidates = {*parse_device("hog/CPU:0")};
  CHECK(c.error(StatusKind::InvalidInput) == "device 'hog/CPU:0' (asked by --device): plugin 'hog' has no such device, found none");
  c.request.candidates.clear();
  hog.manifest_.devices[0].is_virtual = true;
  hog.manifest_.operators.pop_back();
  hog.refuse(c.id_of("b"), OPTIMA_REASON_DTYPE, "no");
  c.request.require_device = *parse_device("CPU:0");
  CHECK(c.error(StatusKind::Placement).ends_with("; CPU:0 means plugin 'hog', what others serve is called slowcpu/CPU:0, more/CPU:0"));
}

TEST_CASE("a plugin that is not there") {
  Chain c;
  c.candidates({"CPU:0"});
  c.wish("b", {"acme/CPU:0"});
  CHECK(c.error(StatusKind::InvalidInput) == "device 'acme/CPU:0' (asked by 'b'): no plugin 'acme', found fastnpu, slowcpu");
}

TEST_CASE("a plugin that does not serve the kind") {
  Chain c;
  c.request.require_device = *parse_device("fastnpu/CPU:0");
  CHECK(c.error(StatusKind::InvalidInput) == "device 'fastnpu/CPU:0' (asked by --require-device): plugin 'fastnpu' does not serve kind 'CPU', it serves NPU");
}

TEST_CASE("a device that must be here and is not") {
  Chain c;
  c.npu.manifest_.devices[0] = {"NPU", "npu", false};
  c.npu.present = {{"NPU", "npu", "", "", "", 0, {}}};
  c.candidates({"NPU:1"});
  CHECK(c.error(StatusKind::InvalidInput) == "device 'NPU:1' (asked by --device): plugin 'fastnpu' has no such device, found NPU:0");
  c.npu.present.clear();
  CHECK(c.error(StatusKind::InvalidInput) == "device 'NPU:1' (asked by --device): plugin 'fastnpu' has no such device, found none");
}

TEST_CASE("nothing named and nothing on this machine") {
  Chain c;
  CHECK(c.error(StatusKind::InvalidInput) == "no plugin has a device on this machine, wanted one by --device or the allocation; kinds served: NPU (fastnpu), CPU (slowcpu)");
}

TEST_CASE("more devices than a placement can hold") {
  Chain c;
  for (uint32_t i = 0; i < 65; ++i) c.request.candidates.push_back({"", "CPU", i});
  CHECK(c.error(StatusKind::InvalidInput) == "device 'CPU:64' (asked by --device): is one too many, wanted at most 64 devices");
}

TEST_CASE("a pin refused by its plugin") {
  Chain c;
  c.candidates({"CPU:0"});
  c.npu.refuse(c.id_of("a"), OPTIMA_REASON_DTYPE, "input 0 is f32, must be f16");
  c.wish("a", {"NPU:0"});
  CHECK(c.error(StatusKind::Placement) ==
        "node 'a' (Relu, f32[4] -> f32[4]) is pinned to NPU:0 by 'a', but plugin 'fastnpu' refuses it: input 0 is f32, must be f16 (DTYPE); it would run on CPU:0");
  c.wish("b", {"NPU:0"});
  CHECK(c.error(StatusKind::Placement).ends_with("; it would run on CPU:0; so with 1 other node"));
}

TEST_CASE("a pin refused with nobody else asked") {
  Setup s;
  s.output(s.node("a", "Exp", {s.input("x")}));
  s.wish("a", {"NPU:0"});
  CHECK(s.error(StatusKind::Placement) ==
        "node 'a' (Exp, f32[4] -> f32[4]) is pinned to NPU:0 by 'a', but plugin 'fastnpu' refuses it: operator Exp is not in the note of plugin fastnpu (OP); "
        "no other device asked would take it");
}

TEST_CASE("a list none of which can") {
  Chain c;
  c.candidates({"CPU:0"});
  c.wish("b", {"NPU:0", "NPU:1"}, false);
  CHECK(c.error(StatusKind::Placement) ==
        "none of the devices that 'b' lists takes node 'b' (Exp, f32[4] -> f32[4]): NPU:0 (fastnpu): operator Exp is not in the note of plugin fastnpu (OP); "
        "NPU:1 (fastnpu): operator Exp is not in the note of plugin fastnpu (OP); it would run on CPU:0");
}

TEST_CASE("a node that nobody takes") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  c.cpu.refuse(c.id_of("b"), OPTIMA_REASON_SIZE_LIMIT, "4 elements, at most 2");
  CHECK(c.error(StatusKind::Placement) ==
        "no candidate device takes node 'b' (Exp, f32[4] -> f32[4]): NPU:0 (fastnpu): operator Exp is not in the note of plugin fastnpu (OP); "
        "CPU:0 (slowcpu): 4 elements, at most 2 (SIZE_LIMIT)");
}

TEST_CASE("a node taken only by a device that must be named") {
  Chain c;
  c.candidates({"NPU:0"});
  c.wish("a", {"CPU:0"});
  CHECK(c.error(StatusKind::Placement) ==
        "no candidate device takes node 'b' (Exp, f32[4] -> f32[4]): NPU:0 (fastnpu): operator Exp is not in the note of plugin fastnpu (OP); "
        "CPU:0: takes only nodes that name it; CPU:0 would take it (--device NPU:0,CPU:0)");
}

TEST_CASE("a node that nobody takes names a device that would, though it is no candidate") {
  Chain c;
  c.candidates({"NPU:0"});
  const std::string nobody =
      "no candidate device takes node 'b' (Exp, f32[4] -> f32[4]): NPU:0 (fastnpu): operator Exp is not in the note of plugin fastnpu (OP)";
  CHECK(c.error(StatusKind::Placement) == nobody);  // no CPU is here
  c.cpu.present = {{"CPU", "cpu", "", "", "", 0, {}}};
  CHECK(c.error(StatusKind::Placement) == nobody + "; CPU:0 would take it (--device NPU:0,CPU:0)");
  c.cpu.manifest_.only_when_named = true;
  CHECK(c.error(StatusKind::Placement) == nobody + "; CPU:0 takes it when named (--pin 'b=CPU:0')");
  c.cpu.refuse(c.id_of("b"), OPTIMA_REASON_SIZE_LIMIT, "4 elements, at most 2");
  CHECK(c.error(StatusKind::Placement) == nobody);
  c.wish("a", {"NPU:0"});
  c.cpu.verdicts.clear();
  c.npu.refuse(c.id_of("a"), OPTIMA_REASON_DTYPE, "no");
  CHECK(c.error(StatusKind::Placement).find("; it would run on CPU:0") != std::string::npos);
}

TEST_CASE("of several devices that would help, the one that takes most of the refused nodes is named") {
  Setup s;
  uint32_t v = s.input("x");
  for (const char* op : {"Exp", "Neg", "Exp"}) v = s.node(std::string(op) + std::to_string(v), op, {v});
  s.output(v);
  FakePlugin half("half", {"HALF"}, {"Exp"});
  s.request.plugins = {&s.npu, &half, &s.cpu};
  half.present = {{"HALF", "cpu", "", "", "", 0, {}}};
  s.candidates({"NPU:0"});
  CHECK(s.error(StatusKind::Placement).ends_with("; so with 2 other nodes; HALF:0 would take it and 1 of the others (--device NPU:0,HALF:0)"));
  s.cpu.present = {{"CPU", "cpu", "", "", "", 0, {}}};
  CHECK(s.error(StatusKind::Placement).ends_with("; so with 2 other nodes; CPU:0 would take all 3 of them (--device NPU:0,CPU:0)"));
}

TEST_CASE("a refusal of dynamic shapes names the options that fix the sizes") {
  Setup s;
  const uint32_t x = s.value("x", 0, {{-1, "batch"}, {3, ""}, {-1, ""}}), y = s.value("y", 0, {{-1, "batch"}});
  s.graph.main().inputs = {x, y};
  s.output(s.node("a", "Add", {x, y}));
  s.candidates({"CPU:0"});
  s.cpu.refuse(s.id_of("a"), OPTIMA_REASON_DYNAMIC_SHAPE, "input 0 dim 0 is a dynamic dim, must be a static one");
  CHECK(s.error(StatusKind::Placement).ends_with("must be a static one (DYNAMIC_SHAPE); fixed sizes would help: --dim batch=N, --shape x=N,3,N"));
  s.cpu.refuse(s.id_of("a"), OPTIMA_REASON_DTYPE, "no");
  CHECK(s.error(StatusKind::Placement).ends_with(": no (DTYPE)"));
}

TEST_CASE("in a body the options are those of the model's inputs, whatever the body calls its own") {
  Setup s;
  const uint32_t x = s.value("x", 0, {{-1, ""}, {3, ""}}), c = s.input("c");
  s.graph.main().inputs = {x, c};
  const uint32_t h = s.node("first", "Relu", {x});
  s.graph.main().values[h].dims = {{{-1, "unk__0"}, {-1, ""}}};
  s.output(s.node("if", "If", {c}));
  std::erase_if(s.cpu.manifest_.operators, [](const OperatorRow& row) { return row.op == "If"; });
  for (const char* branch : {"then_branch", "else_branch"}) {
    const uint32_t body = s.body(branch, {h});
    s.graph.contents.graphs[body].values[0].dims = s.graph.main().values[h].dims;
    s.graph.contents.graphs[body].outputs = {s.node(std::string("in_") + branch, "Exp", {0}, body)};
    s.cpu.refuse(s.id_of(std::string("in_") + branch), OPTIMA_REASON_DYNAMIC_SHAPE, "input 0 is unknown rank, must be a static shape");
  }
  s.candidates({"CPU:0"});
  const std::string message = s.error(StatusKind::Placement);
  CAPTURE(message);
  CHECK(message.starts_with("node 'if', which the host drives (nobody takes it whole; CPU:0: operator If is not in the note"));
  CHECK(message.ends_with("must be a static shape (DYNAMIC_SHAPE); fixed sizes would help: --shape x=N,3"));
}

TEST_CASE("control flow that nobody takes whole") {
  Setup s;
  const uint32_t x = s.input("x");
  s.output(s.node("if_1", "If", {x}));
  const uint32_t body = s.body("if_1/then", {x});
  s.node("if_1/then/neg", "Neg", {0}, body);
  s.candidates({"NPU:0"});
  CHECK(s.error(StatusKind::Placement) ==
        "no candidate device takes node 'if_1' (If, f32[4] -> f32[4]): NPU:0 (fastnpu): operator If is not in the note of plugin fastnpu (OP); "
        "the host cannot drive it: it has no then_branch");
}

TEST_CASE("--require-device not met lists the nodes") {
  Setup s;
  uint32_t v = s.input("x");
  for (int i = 0; i < 7; ++i) v = s.node("e" + std::to_string(i), "Exp", {v});
  s.output(s.node("r", "Relu", {v}));
  s.request.require_device = *parse_device("NPU:0");
  const std::string begin = "--require-device NPU:0: 7 of 8 nodes cannot run there: ", no = " (Exp): operator Exp is not in the note of plugin fastnpu (OP)";
  CHECK(s.error(StatusKind::Placement) == begin + "'e0', 'e1', 'e2' and 4 more" + no);
  s.npu.manifest_.operators.push_back(FakePlugin::row("Exp"));
  for (int i = 0; i < 7; ++i) s.npu.refuse(s.id_of("e" + std::to_string(i)), OPTIMA_REASON_DTYPE, "reason " + std::to_string(i % 4));
  CHECK(s.error(StatusKind::Placement) == begin + "'e0', 'e4' (Exp): reason 0 (DTYPE); 'e1', 'e5' (Exp): reason 1 (DTYPE); 'e2', 'e6' (Exp): "
                                                  "reason 2 (DTYPE); and 1 more for other reasons");
  for (int i = 0; i < 7; ++i) s.npu.refuse(s.id_of("e" + std::to_string(i)), OPTIMA_REASON_DTYPE, "no tools");
  s.npu.refuse(s.id_of("r"), OPTIMA_REASON_DTYPE, "no tools");
  CHECK(s.error(StatusKind::Placement) == "--require-device NPU:0: 8 of 8 nodes cannot run there: 'e0', 'e1', 'e2' and 5 more: no tools (DTYPE)");
}

TEST_CASE("--require-device against a pin") {
  Chain c;
  c.request.require_device = *parse_device("CPU:0");
  c.wish("a", {"NPU:0"});
  CHECK(c.error(StatusKind::Placement) == "--require-device CPU:0: 1 of 3 nodes cannot run there: 'a' (Relu): asked to run on NPU:0 by 'a'");
}

TEST_CASE("graphs that passes never leave are bugs, not plans") {
  Chain c;
  c.candidates({"CPU:0"});
  c.node("dead", "Relu", {0});
  CHECK(c.error(StatusKind::Internal) == "placement: node 'dead' has no output that is read, wanted a graph without dead nodes");
  Chain d;
  d.candidates({"CPU:0"});
  std::swap(d.graph.main().nodes[0], d.graph.main().nodes[1]);
  CHECK(d.error(StatusKind::Internal) == "placement: the nodes of the graph are not in topological order");
}
