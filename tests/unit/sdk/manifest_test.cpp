// SPDX-License-Identifier: Apache-2.0
// sdk: the manifest writer, and judge(): the same table, once as data and once as answers.
#include <doctest/doctest.h>

#include <fstream>

#include "optima/plugin/manifest_writer.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

constexpr sdk::Op conv() {
  sdk::Op op;
  op.name = "Conv", op.since_min = 11, op.since_max = 22;
  op.in = {sdk::types(OPTIMA_F32, OPTIMA_F16)}, op.out = {sdk::types(OPTIMA_F32, OPTIMA_F16)};
  op.ranks = {sdk::Range{4, 4}, sdk::Range{4, 4}, sdk::Range{1, 1}};
  op.const_inputs = 0b110;
  op.note = "says \"hello\"\n";
  return op;
}
constexpr sdk::Op relu() {
  sdk::Op op;
  op.name = "Relu", op.since_min = 14, op.since_max = 14;
  op.in = {sdk::types(OPTIMA_F32)}, op.out = {sdk::types(OPTIMA_F32)};
  op.static_shape = false, op.batch_only = true, op.needs_layout = true, op.stateful = true;
  op.kinds = "X64 ARM64";
  return op;
}
constexpr sdk::DeviceKind kDevices[] = {{"X64", "cpu", true}, {"ARM64", "cpu", true}, {"NPU", "npu", false, true}};
constexpr sdk::Op kOps[] = {conv(), relu()};
constexpr sdk::OptionSpec kOptions[] = {{"full.level", "int", "compile", "2", "how hard to try", true, "", 0, 3},
                                        {"full.mode", "enum", "load", "fast", "speed or memory", false, "fast small"},
                                        {"full.trace", "bool", "init", "false", "keep events"},
                                        {"full.sizes", "list", "compile", "[1, 2]", "tile sizes", true},
                                        {"full.cache", "path", "init", "", "folder"},
                                        {"full.stream", "bool", "context", "true", "a queue of its own"},
                                        {"full.key", "string", "init", "", "licence", false, "", 0, 0, true}};
constexpr sdk::OpsetRange kOpsets[] = {{"", 7, 21}, {"com.acme", 1, 2}};

constexpr sdk::Info full() {
  sdk::Info i;
  i.id = "full", i.vendor = "Ac\\me", i.version = "1.2.3", i.build_id = "b1";
  i.devices = kDevices, i.operators = kOps, i.options = kOptions, i.opsets = kOpsets;
  i.formats = "full.a/1 full.b/2", i.domains = "com.acme";
  i.limits.max_nodes = 10, i.limits.connected_only = true, i.limits.not_first = "Relu Conv";
  i.priority = -5;
  i.single_instance = true, i.cancel_by_kill = true;
  return i;
}

/// check_manifest.py validates with a checker of its own, and with Python's jsonschema where that is installed.
void check_against_schema(const std::string& manifest, bool valid) {
  const test::TempFolder folder;
  const test::Ran ran = test::run({"python3", OPTIMA_SOURCE_DIR "/tests/unit/sdk/check_manifest.py", OPTIMA_SOURCE_DIR "/sdk/manifest.schema.json",
                                   folder.file("manifest.json", manifest)});
  INFO(ran.out << ran.err);
  CHECK(ran.code == (valid ? 0 : 7));
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

sdk::Verdict judged(const image::Contents& c, size_t node = 0) {
  const seam::Model m(image::pack(c));
  REQUIRE(m.bytes.size() > 0);
  return sdk::judge(kOps, sdk::Graph(&m.raw)[static_cast<uint32_t>(node)]);
}
image::Contents conv_model(std::vector<int64_t> x, std::vector<int64_t> w, bool constant_weight, int32_t dtype = OPTIMA_F32) {
  image::Graph g{"conv", {samples::tensor("x", std::move(x), dtype), samples::tensor("w", std::move(w), dtype), samples::tensor("y", {1, 8, 4, 4}, dtype)}, {}, {0}, {2}, {}};
  image::Contents c;
  if (constant_weight) g.values[1].constant = 0, c.constants = {{dtype, {8, 3, 3, 3}, 0}};
  else g.inputs.push_back(1);
  g.nodes.push_back({"conv", "Conv", "", 3, 11, {0, 1}, {2}, {}});
  c.graphs = {g}, c.opsets = {{"", 21}};
  return c;
}

}  // namespace

TEST_CASE("every feature of a plugin's table is in its manifest, and the manifest fits the schema") {
  const std::string manifest = sdk::ManifestWriter().write(full(), true, false);
  for (const char* part : {"\"roles\": [\"compiler\"]", "\"vendor\": \"Ac\\\\me\"", "{\"kind\": \"X64\", \"class\": \"cpu\", \"flags\": [\"virtual\"]}",
                           "{\"kind\": \"NPU\", \"class\": \"npu\", \"quantizes\": \"all\"}", "\"flags\": [\"single_instance\", \"cancel_by_kill\"]", "\"priority\": -5",
                           "\"inputs\": [[1, 10]]", "\"rank\": [4, 4], \"ranks\": [[4, 4], [4, 4], [1, 1]]", "\"const_inputs\": 6",
                           "\"note\": \"says \\\"hello\\\"\\u000a\"", "\"kinds\": [\"X64\", \"ARM64\"]", "\"flags\": [\"batch_only\", \"needs_layout\", \"stateful\"]",
                           "\"limits\": {\"max_nodes\": 10, \"connected_only\": true, \"not_first\": [\"Relu\", \"Conv\"]}",
                           "\"min\": 0, \"max\": 3, \"default\": 2", "\"values\": [\"fast\", \"small\"], \"default\": \"fast\"", "\"default\": false",
                           "\"default\": [1, 2]", "\"formats\": [\"full.a/1\", \"full.b/2\"]", "{\"domain\": \"com.acme\", \"min\": 1, \"max\": 2}",
                           "\"scope\": \"context\", \"default\": true", "\"doc\": \"licence\", \"changes_artifact\": false, \"secret\": true}"})
    CHECK_MESSAGE(manifest.find(part) != std::string::npos, part);
  CHECK(manifest.find("\"rank\": [0, 64], \"static_shape\": false") != std::string::npos);
  check_against_schema(manifest, true);
  check_against_schema(sdk::ManifestWriter().write(sdk::Info{"a", "b", "c", "d"}, false, true), true);
  CHECK(manifest == sdk::ManifestWriter().write(full(), true, false));
}

TEST_CASE("an option's name is its plugin's id, a dot and a key, in the schema as in the guide and the host") {
  const std::string manifest = sdk::ManifestWriter().write(full(), true, true);
  const auto named = [&](const std::string& name) {
    std::string m = manifest;
    return m.replace(m.find("\"full.level\""), 12, "\"" + name + "\"");
  };
  check_against_schema(named("com.acme-2.scale_shift.tile-size"), true);
  check_against_schema(named("level"), false);
  check_against_schema(named("full.Level"), false);
}

TEST_CASE("the bundled manifests fit the schema, and the schema refuses what it does not know") {
  check_against_schema(text_of(NULL_MANIFEST), true);
  const std::string vendor = text_of(OPTIMA_SOURCE_DIR "/examples/vendor_plugin/manifest.json");
  check_against_schema(vendor, true);
  std::string bad = vendor;
  bad.replace(bad.find("\"priority\""), 10, "\"precedence\"");
  check_against_schema(bad, false);
  bad = vendor;
  bad.replace(bad.find("[[1, 8], [1, 1]]"), 16, "[[1, 8, 9]]");
  check_against_schema(bad, false);
  bad = vendor;
  bad.replace(bad.find("com.acme.scale_shift"), 20, "Com Acme Scale Shift");
  check_against_schema(bad, false);
}

TEST_CASE("judge covers a node that the row covers") { CHECK(judged(conv_model({1, 3, 6, 6}, {8, 3, 3, 3}, true)).yes()); }

TEST_CASE("judge names the operand, what it is and what it must be") {
  CHECK(judged(conv_model({1, 3, 6, 6}, {8, 3, 3, 3}, false)).text == "input 1 is computed, must be a constant");
  CHECK(judged(conv_model({1, 3, 6, 6}, {8, 3, 3, 3}, true, OPTIMA_F64)).text == "input 0 is f64, must be f32 or f16");
  const sdk::Verdict flat = judged(conv_model({1, 3, 6}, {8, 3, 3, 3}, true));
  CHECK(flat.text == "rank of input 0 is 3, must be 4");
  CHECK(flat.reason == OPTIMA_REASON_RANK);
  CHECK(flat.node == 3);
  CHECK(judged(conv_model({1, 3, 6, 6}, {8, 3, 3}, true)).text == "rank of input 1 is 3, must be 4");
  CHECK(judged(conv_model({-1, 3, 6, 6}, {8, 3, 3, 3}, true)).text == "input 0 dim 0 is dynamic, must be static");
  image::Contents old = conv_model({1, 3, 6, 6}, {8, 3, 3, 3}, true);
  old.graphs[0].nodes[0].since_version = 1;
  CHECK(judged(old).text == "since_version is 1, must be 11..22");
  CHECK(judged(old).reason == OPTIMA_REASON_OPSET);
  image::Contents unranked = conv_model({1, 3, 6, 6}, {8, 3, 3, 3}, true);
  unranked.graphs[0].values[0].dims.reset();
  CHECK(judged(unranked).text == "shape of input 0 is unranked, must be static");
  image::Contents sequence = conv_model({1, 3, 6, 6}, {8, 3, 3, 3}, true);
  sequence.graphs[0].values[0].kind = OPTIMA_KIND_SEQUENCE;
  CHECK(judged(sequence).text == "input 0 is no tensor, must be a tensor");
  const sdk::Verdict foreign = judged(samples::identity({3}));
  CHECK(foreign.text == "operator Identity is not in the table");
  CHECK(foreign.reason == OPTIMA_REASON_OP);
}

TEST_CASE("judge lets only the batch vary where the row says so") {
  image::Contents c = samples::identity({-1, 3});
  c.graphs[0].nodes[0].op_type = "Relu", c.graphs[0].nodes[0].since_version = 14;
  CHECK(judged(c).yes());
  c.graphs[0].values[0].dims->at(1).value = -1;
  CHECK(judged(c).text == "input 0 dim 1 is dynamic, must be static");
}

TEST_CASE("dtype names are the ones used everywhere") {
  CHECK(sdk::dtype_name(OPTIMA_F32) == "f32");
  CHECK(sdk::dtype_name(OPTIMA_BF16) == "bf16");
  CHECK(sdk::dtype_name(OPTIMA_I2) == "i2");
  CHECK(sdk::dtype_name(99) == "dtype 99");
  CHECK(sdk::dtype_name(-1) == "dtype -1");
}
