// SPDX-License-Identifier: Apache-2.0
#include "core/allocation/allocation.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/support/text.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// conv_1 -> block/conv_1 -> block/softmax_1 -> loop_3 { conv_9 } ; two source nodes called "twin"; "bias" was folded away
struct Model : GraphBuilder {
  Model() {
    uint32_t v = input("x");
    for (const auto& [name, op] : {std::pair{"conv_1", "Conv"}, {"block/conv_1", "Conv"}, {"block/softmax_1", "Softmax"}, {"loop_3", "Loop"}}) v = node(name, op, {v});
    const uint32_t inside = body("loop_3/body", {v - 1});
    node("loop_3/body/conv_9", "Conv", {0}, inside);
    output(node("add_2", "Add", {v}));
    output(node("add_3", "Add", {v}));
    graph.origins[id_of("add_2")].name = graph.origins[id_of("add_3")].name = "twin";
    graph.folded.push_back({"bias", "Add", "constant"});
  }
};

Allocation parsed(const std::string& json) {
  const Result<Json> text = parse_json(json, "alloc.json");
  REQUIRE(text.ok());
  Result<Allocation> allocation = parse_allocation(*text, "alloc.json");
  INFO(allocation.status().message());
  REQUIRE(allocation.ok());
  return *allocation;
}
std::string parse_error(const std::string& json) {
  const Result<Json> text = parse_json(json, "alloc.json");
  if (!text.ok()) return text.status().message();
  const Result<Allocation> allocation = parse_allocation(*text, "alloc.json");
  CHECK(allocation.status().kind() == StatusKind::InvalidInput);
  return allocation.status().message();
}

Resolved resolved(const Model& model, const std::string& json, const std::vector<std::string>& pins = {}) {
  std::vector<std::pair<std::string, Wish>> list;
  for (const std::string& pin : pins) list.push_back(*parse_pin(pin));
  Result<Resolved> out = resolve(parsed(json), model.graph, list);
  INFO(out.status().message());
  REQUIRE(out.ok());
  return *out;
}
std::string resolve_error(const std::string& json, const std::vector<std::string>& pins = {}) {
  const Model model;
  std::vector<std::pair<std::string, Wish>> list;
  for (const std::string& pin : pins) list.push_back(*parse_pin(pin));
  const Result<Resolved> out = resolve(parsed(json), model.graph, list);
  CHECK(out.status().kind() == StatusKind::InvalidInput);
  return out.status().message();
}
std::string wish_for(const Model& model, const Resolved& r, const std::string& node) {
  const uint32_t id = model.id_of(node);
  return id < r.by_node_id.size() ? r.by_node_id[id].text() : "auto";
}

}  // namespace

TEST_CASE("the flat form of earlier systems is valid as it stands") {
  const Allocation a = parsed(R"({"conv2d_2": "HEXAGON:0", "add_5": "X64:1"})");
  REQUIRE(a.entries.size() == 2);
  CHECK(a.entries[0].first == "conv2d_2");
  CHECK(a.entries[0].second.hard);
  CHECK(a.entries[0].second.text() == "HEXAGON:0");
  CHECK(a.entries[1].second.text() == "X64:1");
}

TEST_CASE("a value is a pin, a list of devices or auto") {
  const Allocation a = parsed(R"({"a": "acme/NPU:2", "b": ["NPU:0", "CPU:0"], "c": "auto", "d": ["CPU:0"]})");
  CHECK(a.entries[0].second.text() == "acme/NPU:2");
  CHECK(a.entries[1].second.text() == "first of NPU:0, CPU:0");
  CHECK_FALSE(a.entries[1].second.hard);
  CHECK(a.entries[2].second.text() == "auto");
  CHECK(a.entries[2].second.devices.empty());
  CHECK(a.entries[3].second.text() == "first of CPU:0");
}

TEST_CASE("exact names win over the longest glob, that over the op type, that over the star") {
  const Model m;
  const Resolved r = resolved(m, R"({"*": "CPU:0", "op:Conv": "CPU:1", "block/*": "CPU:2", "block/c*": "CPU:3", "conv_1": "CPU:4"})");
  CHECK(wish_for(m, r, "conv_1") == "CPU:4");
  CHECK(wish_for(m, r, "block/conv_1") == "CPU:3");
  CHECK(wish_for(m, r, "block/softmax_1") == "CPU:2");
  CHECK(wish_for(m, r, "loop_3/body/conv_9") == "CPU:1");
  CHECK(wish_for(m, r, "add_2") == "CPU:0");
  CHECK(r.by_node_id[m.id_of("block/conv_1")].source == "'block/c*'");
  CHECK(r.notes.empty());
}

TEST_CASE("auto takes a node out of a wider rule") {
  const Model m;
  const Resolved r = resolved(m, R"({"*": "CPU:0", "op:Softmax": "auto", "conv_1": "auto"})");
  CHECK(wish_for(m, r, "block/softmax_1") == "auto");
  CHECK(wish_for(m, r, "conv_1") == "auto");
  CHECK(wish_for(m, r, "add_2") == "CPU:0");
}

TEST_CASE("globs cross slashes, take one character for a question mark, and reach into bodies") {
  const Model m;
  const Resolved r = resolved(m, R"({"*conv_?": "CPU:1", "loop_3/body/*": "CPU:2"})");
  CHECK(wish_for(m, r, "conv_1") == "CPU:1");
  CHECK(wish_for(m, r, "block/conv_1") == "CPU:1");
  CHECK(wish_for(m, r, "loop_3/body/conv_9") == "CPU:2");
  CHECK(wish_for(m, r, "add_2") == "auto");
}

TEST_CASE("a key that is a node's name is that name even if it looks like a glob or an op type") {
  Model m;
  m.output(m.node("odd*name", "Exp", {0}));
  m.output(m.node("op:Exp", "Exp", {0}));
  const Resolved r = resolved(m, R"({"odd*name": "CPU:1", "op:Exp": "CPU:2"})");
  CHECK(wish_for(m, r, "odd*name") == "CPU:1");
  CHECK(wish_for(m, r, "op:Exp") == "CPU:2");
}

TEST_CASE("equally long globs that disagree on a node they decide are an error") {
  CHECK(resolve_error(R"({"block/c*": "CPU:0", "*k/conv*": "CPU:1"})") == "'alloc.json': globs 'block/c*' and '*k/conv*' are equally long and disagree on node 'block/conv_1': CPU:0 and CPU:1");
  const Model m;
  CHECK(wish_for(m, resolved(m, R"({"block/c*": "CPU:0", "*k/conv*": "CPU:0"})"), "block/conv_1") == "CPU:0");
  CHECK(wish_for(m, resolved(m, R"({"block/c*": "CPU:0", "*k/conv*": "CPU:1", "block/conv_1": "CPU:2"})"), "block/conv_1") == "CPU:2");
  CHECK(wish_for(m, resolved(m, R"({"block/c*": "CPU:0", "*k/conv*": "CPU:1", "block/conv*": "CPU:3"})"), "block/conv_1") == "CPU:3");
}

TEST_CASE("names absent from the model are errors with the nearest names") {
  CHECK(resolve_error(R"({"conv1": "CPU:0"})") == "'alloc.json': no node 'conv1' in the model (nearest: 'conv_1')");
  CHECK(resolve_error(R"({"zzzzzzzzz": "CPU:0"})") == "'alloc.json': no node 'zzzzzzzzz' in the model");
  CHECK(resolve_error("{}", {"conv1=CPU:0"}) == "--pin: no node 'conv1' in the model (nearest: 'conv_1')");
}

TEST_CASE("a name that several nodes of the model share is an error that lists their names here") {
  CHECK(resolve_error(R"({"twin": "CPU:0"})") == "'alloc.json': node name 'twin' is shared by 2 nodes of the model, called 'add_2', 'add_3' here");
}

TEST_CASE("nodes that were folded away may be named and are reported") {
  const Model m;
  CHECK(resolved(m, R"({"bias": "CPU:0"})").folded == std::vector<std::string>{"'bias' (constant)"});
  CHECK(resolved(m, R"({"bi*": "CPU:0"})").folded == std::vector<std::string>{"'bi*' (all that it matches)"});
  CHECK(resolved(m, "{}", {"bias=CPU:0"}).folded == std::vector<std::string>{"'bias' (constant)"});
}

TEST_CASE("a glob that matches nothing is an error with the nearest names and folders") {
  CHECK(resolve_error(R"({"blok/*": "CPU:0"})") == "'alloc.json': glob 'blok/*' matches no node (nearest: 'block/*')");
  CHECK(resolve_error(R"({"head/elsewhere/*": "CPU:0"})") == "'alloc.json': glob 'head/elsewhere/*' matches no node");
  CHECK(resolve_error("{}", {"con?_11=CPU:0"}) == "--pin: glob 'con?_11' matches no node (nearest: 'conv_1')");
  CHECK(resolved(Model(), R"({"conv_*": "CPU:0", "conv_1*": "CPU:0"})").notes.empty());  // the longer hides the shorter
}

TEST_CASE("an op type that the model lacks is an error in a pin; in a file only when nobody knows it") {
  const Model m;
  CHECK(resolve_error("{}", {"op:Sofmax=CPU:0"}) == "--pin: no node of the model is of the type in 'op:Sofmax' (nearest: 'op:Softmax')");
  CHECK(resolve_error("{}", {"op:Gelu=CPU:0"}) == "--pin: no node of the model is of the type in 'op:Gelu'");
  const std::vector<std::string> operators = {"Gelu", "Relu", "Softmax"};
  const Result<Resolved> known = resolve(parsed(R"({"op:Gelu": "CPU:0"})"), m.graph, {}, operators);
  REQUIRE(known.ok());
  CHECK(known->notes == std::vector<std::string>{"no node of the model is of the type in 'op:Gelu'"});
  const Status unknown = resolve(parsed(R"({"op:Gellu": "CPU:0"})"), m.graph, {}, operators).status();
  CHECK(unknown.kind() == StatusKind::InvalidInput);
  CHECK(unknown.message().starts_with("'alloc.json': 'op:Gellu' names no known operator (nearest: 'op:Gelu'"));
  CHECK(resolve(parsed(R"({"op:Gellu": "CPU:0"})"), m.graph).ok());  // nobody said what there is
}

TEST_CASE("--pin overrides the file, may list devices and may name nodes with an equals sign") {
  Model m;
  m.output(m.node("a=b", "Exp", {0}));
  const Resolved r = resolved(m, R"({"conv_1": "CPU:0", "*": "CPU:1"})", {"conv_1=NPU:0", "add_2=NPU:0,CPU:0", "a=b=NPU:1", "add_3=auto"});
  CHECK(wish_for(m, r, "conv_1") == "NPU:0");
  CHECK(r.by_node_id[m.id_of("conv_1")].source == "--pin");
  CHECK(wish_for(m, r, "add_2") == "first of NPU:0, CPU:0");
  CHECK(wish_for(m, r, "a=b") == "NPU:1");
  CHECK(wish_for(m, r, "add_3") == "auto");
  CHECK(resolve_error("{}", {"conv_1=NPU:0", "conv_1=CPU:0"}) == "--pin: 'conv_1' appears twice");
}

TEST_CASE("--pin has the grammar of the file: globs and operators, the more exact first, all over the file") {
  Model m;
  const Resolved r = resolved(m, R"({"conv_1": "CPU:0", "*": "CPU:1"})", {"op:Conv=NPU:0", "add*=NPU:1", "add_2=NPU:2"});
  CHECK(wish_for(m, r, "conv_1") == "NPU:0");
  CHECK(r.by_node_id[m.id_of("conv_1")].source == "--pin 'op:Conv'");
  CHECK(wish_for(m, r, "add_2") == "NPU:2");
  CHECK(wish_for(m, r, "add_3") == "NPU:1");
  CHECK(r.by_node_id[m.id_of("conv_1")].rank > Wish::kNodeRank);
  CHECK(r.by_node_id[m.id_of("add_2")].rank > r.by_node_id[m.id_of("add_3")].rank);
  CHECK(r.by_node_id[m.id_of("add_3")].rank > r.by_node_id[m.id_of("conv_1")].rank);
  CHECK(resolve_error("{}", {"add*=CPU:0", "*d_*=CPU:1"}).starts_with("--pin: globs '"));
}

TEST_CASE("malformed pins name the wanted form") {
  for (const char* text : {"conv_1", "=CPU:0", "conv_1=", "op:=CPU:0"}) {
    const auto pin = parse_pin(text);
    CHECK(pin.status().kind() == StatusKind::Usage);
    CHECK(pin.status().message() == "--pin: found '" + std::string(text) + "', wanted NODE=KIND:index, where NODE may be a glob, op:Type or *");
  }
  CHECK(parse_pin("a=cpu").status().message() == "--pin 'a': device 'cpu': wanted KIND:index or plugin/KIND:index, as in CPU:0 or acme/CPU:0");
  CHECK(parse_pin("a=CPU:0,").status().kind() == StatusKind::Usage);
}

TEST_CASE("allocations with wrong values name key, found and wanted") {
  const std::string wanted = ", wanted a device as KIND:index, a list of devices, \"host\" or \"auto\"";
  CHECK(parse_error("[]") == "'alloc.json': found array, wanted an object from node names to devices");
  CHECK(parse_error(R"({"a": 3})") == "'alloc.json': 'a': found number" + wanted);
  CHECK(parse_error(R"({"a": true})") == "'alloc.json': 'a': found boolean" + wanted);
  CHECK(parse_error(R"({"a": []})") == "'alloc.json': 'a': found an empty list" + wanted);
  CHECK(parse_error(R"({"a": [3]})") == "'alloc.json': 'a': found number in the list, wanted a device as KIND:index");
  CHECK(parse_error(R"({"a": ["CPU:0", "CPU:0"]})") == "'alloc.json': 'a': device 'CPU:0' appears twice in the list");
  CHECK(parse_error(R"({"a": "cpu"})") == "'alloc.json': 'a': device 'cpu': wanted KIND:index or plugin/KIND:index, as in CPU:0 or acme/CPU:0");
  CHECK(parse_error(R"({"a": ["auto"]})") == "'alloc.json': 'a': device 'auto': wanted KIND:index or plugin/KIND:index, as in CPU:0 or acme/CPU:0");
  CHECK(parse_error(R"({"": "CPU:0"})") == "'alloc.json': key '' names nothing, wanted a node name, a glob, op:Type or *");
  CHECK(parse_error(R"({"op:": "CPU:0"})") == "'alloc.json': key 'op:' names nothing, wanted a node name, a glob, op:Type or *");
  CHECK(parse_error(R"({"a": "CPU:0", "a": "CPU:1"})") == "alloc.json: key 'a' appears twice in one object");
}

TEST_CASE("an allocation may be YAML by its suffix, with the same grammar and duplicate keys found") {
  const std::string path = std::string(OPTIMA_BINARY_DIR) + "/allocation_test.yaml";
  std::ofstream(path) << "conv2d_2: HEXAGON:0\n'*': [NPU:0, CPU:0]\nop:Softmax: auto\n";
  Result<Allocation> a = read_allocation(path);
  REQUIRE(a.ok());
  REQUIRE(a->entries.size() == 3);
  CHECK(a->entries[0].second.text() == "HEXAGON:0");
  CHECK(a->entries[1].first == "*");
  CHECK(a->entries[2].first == "op:Softmax");
  std::ofstream(path) << "a: CPU:0\na: CPU:1\n";
  CHECK(read_allocation(path).status().message() == path + ":2:1: key 'a' appears twice, first at line 1 column 1");
  std::ofstream(path) << "a: 5\n";
  CHECK(read_allocation(path).status().message() == "'" + path + "': 'a': found number, wanted a device as KIND:index, a list of devices, \"host\" or \"auto\"");
  std::remove(path.c_str());
  CHECK(read_allocation("/nowhere/a.json").status().kind() == StatusKind::InvalidInput);
}

TEST_CASE("the template names every node of the source model and reads back") {
  const Model m;
  const Result<std::string> text = allocation_template(m.graph, "CPU:0");
  REQUIRE(text.ok());
  CHECK(*text ==
        "{\n  \"conv_1\": \"CPU:0\",\n  \"block/conv_1\": \"CPU:0\",\n  \"block/softmax_1\": \"CPU:0\",\n  \"loop_3\": \"CPU:0\",\n  \"add_2\": \"CPU:0\",\n"
        "  \"add_3\": \"CPU:0\",\n  \"loop_3/body/conv_9\": \"CPU:0\",\n  \"bias\": \"CPU:0\"\n}\n");
  const Resolved r = resolved(m, *text);
  CHECK(wish_for(m, r, "loop_3/body/conv_9") == "CPU:0");
  CHECK(allocation_template(m.graph, "auto").ok());
  CHECK(allocation_template(m.graph, "nonsense").status().kind() == StatusKind::InvalidInput);
}

TEST_CASE("damaged allocation files are refused or read, never worse") {
  const Model m;
  const std::string valid = R"({"conv_1": "CPU:0", "block/*": ["NPU:0", "acme/CPU:1"], "op:Softmax": "auto", "*": "CPU:4294967295", "*?*?": "CPU:1"})";
  std::mt19937_64 random(5);
  static constexpr std::string_view junk = "{}[]:,*?\"\\/0129opautCPU \n\x01\xff";
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = valid;
    for (uint64_t k = 1 + random() % 5; k > 0 && !text.empty(); --k) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, 1 + random() % 10);
      else text.insert(at, 1, junk[random() % junk.size()]);
    }
    const Result<Json> json = parse_json(text, "x");
    if (!json.ok()) continue;
    const Result<Allocation> allocation = parse_allocation(*json, "x");
    if (!allocation.ok()) CHECK(allocation.status().kind() == StatusKind::InvalidInput);
    if (allocation.ok() && resolve(*allocation, m.graph).ok()) ++read;
  }
  CHECK(read > 0);
}

namespace {

std::string precision_for(const Model& model, const Resolved& r, const std::string& node) {
  const PrecisionWish& wish = r.precision_by_node_id.at(model.id_of(node));
  return wish.precision ? cat(wish.text(), " by ", wish.source) : "";
}

}  // namespace

TEST_CASE("a value may be an object that says a device, a precision, or both") {
  const Allocation a = parsed(R"({"a": {"device": "HEXAGON:0", "precision": "a16w8"}, "b": {"precision": "fp16"}, "c": {"device": ["A:0", "B:0"]}})");
  REQUIRE(a.entries.size() == 2);
  CHECK(a.entries[0].first == "a");
  CHECK(a.entries[0].second.text() == "HEXAGON:0");
  CHECK(a.entries[0].second.hard);
  CHECK(a.entries[1].second.text() == "first of A:0, B:0");
  REQUIRE(a.precisions.size() == 2);
  CHECK(a.precisions[0].second.text() == "a16w8");
  CHECK(a.precisions[0].second.source == "'a'");
  CHECK(a.precisions[1].first == "b");
  CHECK(a.precisions[1].second.text() == "f16");
}

TEST_CASE("a key that says no device leaves that to a less specific one, and likewise of precisions") {
  const Model m;
  const Resolved r = resolved(m, R"({"*": {"device": "CPU:0", "precision": "int8"}, "op:Softmax": {"precision": "f32"}, "conv_1": "NPU:0", "block/*": {"device": "CPU:1"}})");
  CHECK(wish_for(m, r, "block/softmax_1") == "CPU:1");
  CHECK(precision_for(m, r, "block/softmax_1") == "f32 by 'op:Softmax'");
  CHECK(wish_for(m, r, "conv_1") == "NPU:0");
  CHECK(precision_for(m, r, "conv_1") == "int8 by '*'");
  CHECK(precision_for(m, r, "loop_3/body/conv_9") == "int8 by '*'");
  const Resolved none = resolved(m, R"({"conv_1": "NPU:0"})");
  CHECK(precision_for(m, none, "conv_1") == "");
}

TEST_CASE("what is wrong with an object of device and precision is said") {
  CHECK(parse_error(R"({"conv_1": {}})") == R"('alloc.json': 'conv_1': found an empty object, wanted "device", "precision" or both)");
  CHECK(parse_error(R"({"conv_1": {"precision": "int7"}})") ==
        "'alloc.json': 'conv_1': found precision 'int7', wanted f32, f16, bf16, int8, a16w8, a16w4, w8, w4, dynamic or auto");
  CHECK(parse_error(R"({"conv_1": {"precision": 8}})").find("precision") != std::string::npos);
  CHECK(parse_error(R"({"conv_1": {"presicion": "int8"}})") == "'alloc.json': 'conv_1': unknown member 'presicion' (nearest: 'precision')");
  CHECK(parse_error(R"({"conv_1": {"device": 3}})").find("found number, wanted a device") != std::string::npos);
}

TEST_CASE("precisions obey the rules of keys: globs match something, equally long ones agree") {
  CHECK(resolve_error(R"({"nothing*": {"precision": "int8"}})").find("glob 'nothing*' matches no node") != std::string::npos);
  CHECK(resolve_error(R"({"con*_1": {"precision": "int8"}, "conv?1": {"precision": "f32"}})")
            .find("are equally long and disagree on node 'conv_1': int8 and f32") != std::string::npos);
  CHECK(resolve_error(R"({"conv_7": {"precision": "int8"}})").find("no node 'conv_7' in the model") != std::string::npos);
}

TEST_CASE("a placement with precisions is written as objects") {
  CHECK(allocation_text({{"a", "X64:0", "int8"}, {"b", "X64:0,A:1", "f32"}, {"c", "auto"}}) ==
        "{\n  \"a\": {\n    \"device\": \"X64:0\",\n    \"precision\": \"int8\"\n  },\n  \"b\": {\n    \"device\": [\n      \"X64:0\",\n      \"A:1\"\n    ],\n"
        "    \"precision\": \"f32\"\n  },\n  \"c\": \"auto\"\n}\n");
}
