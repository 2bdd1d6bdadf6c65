// SPDX-License-Identifier: Apache-2.0
// Two backends for one kind of device, seen by a user: llvm_cpu and openvino both serve X64.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

const std::string kLlvm = "llvm_cpu/X64:0", kOpenvino = "openvino/X64:0";

/// False, with the reason as a SKIP, without the openvino plugin.
bool ready() {
  if (!has_openvino()) MESSAGE("SKIP: " << kNoOpenvino);
  return has_openvino();
}

struct Made {
  std::string package;
  std::map<std::string, std::string> plugin_of;  // node -> plugin
  size_t subgraphs = 0;
};

Made compile(const TempFolder& f, const std::string& model, std::vector<std::string> words) {
  words.insert(words.begin(), {"--json", "compile", model, "-o", f / "out", "--force"});
  const Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const Result<Json> plan = parse_json(r.out, "compile --json");
  REQUIRE(plan.ok());
  Made made{(*plan)["package"], {}, (*plan)["subgraphs"].size()};
  std::map<std::string, std::string> plugins;
  for (const Json& d : (*plan)["devices"]) plugins[d["name"]] = d["plugin"];
  for (const Json& n : (*plan)["nodes"]) made.plugin_of[n["name"]] = plugins.at(n["device"]);
  return made;
}

/// Full names of the devices of a plan of the digits model.
std::set<std::string> devices(const TempFolder& f, std::vector<std::string> words) {
  words.insert(words.begin(), {"plan", digits_model(), "-o", f / "plan.json"});
  CHECK(host(words).code == 0);
  const Result<Json> plan = read_json(f / "plan.json");
  REQUIRE(plan.ok());
  std::set<std::string> out;
  for (const Json& d : (*plan)["devices"]) out.insert(d["full_name"]);
  return out;
}

size_t on(const Made& made, const std::string& plugin) {
  size_t count = 0;
  for (const auto& [node, by] : made.plugin_of) count += by == plugin;
  return count;
}

void check_same_answers(const std::string& model, const std::string& package, bool at_cuts = false) {
  std::vector<std::string> words = {"compare", model, package};
  if (at_cuts) words.push_back("--at-cuts");
  const Ran r = host(words);
  CAPTURE(r.out);
  CAPTURE(r.err);
  CHECK(r.code == 0);
}

// Constants of every sort: initializers that both backends read, a Constant node, and one that is folded away with what it feeds.
constexpr const char* kConstants = R"(<ir_version: 10, opset_import: ["" : 21]>
constants (float[2,3] x) => (float[2,3] y)
<float[3] w = {1, -2, 3}>
{
  [first] a = Add(x, w)
  [half] h = Constant<value = float {0.5}>()
  [scaled] s = Mul(w, h)
  [second] b = Mul(a, w)
  [third] y = Add(b, s)
})";

// OpenVINO's front end knows GridSample, but takes pictures only: the refusal is its own.
constexpr const char* kVolume = R"(<ir_version: 10, opset_import: ["" : 21]>
volume (float[1,2,3,3,3] x, float[1,2,2,2,3] g) => (float[1,2,2,2,2] y) {
  [before] h = Relu(x)
  [sample] y = GridSample(h, g)
})";

/// A loop, which llvm_cpu leaves to the host.
constexpr const char* kOnlyOpenvino = R"(<ir_version: 10, opset_import: ["" : 21]>
window (float[2] x) => (float[2] y) <int64 n = {3}, bool t = {1}> {
  [before] h = Relu(x)
  [only] y = Loop <body = trip (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c) w = Add(v, v) }> (n, t, h)
})";

}  // namespace

TEST_CASE("devices lists both backends, each under the name that a user types") {
  if (!ready()) return;
  const Ran r = host({"devices"});
  CAPTURE(r.out);
  CHECK(std::regex_search(r.out, std::regex("\nX64:0 +llvm_cpu ")));
  CHECK(std::regex_search(r.out, std::regex("\nopenvino/X64:0 +openvino ")));
  const Result<Json> j = parse_json(host({"--json", "devices"}).out, "devices");
  REQUIRE(j.ok());
  std::map<std::string, std::string> full;
  for (const Json& d : (*j)["devices"]) full[d["device"]] = d["full_name"];
  CHECK(full["X64:0"] == kLlvm);
  CHECK(full[kOpenvino] == kOpenvino);
}

TEST_CASE("a plain name means llvm_cpu, the order of --device is the order of preference") {
  if (!ready()) return;
  const TempFolder f;
  CHECK(on(compile(f, digits_model(), {"--device", "X64:0"}), "llvm_cpu") == 16);
  CHECK(on(compile(f, digits_model(), {}), "llvm_cpu") == 16);
  CHECK(on(compile(f, digits_model(), {"--device", kOpenvino + "," + kLlvm}), "openvino") == 16);
  CHECK(on(compile(f, digits_model(), {"--device", kLlvm, "--device", kOpenvino}), "llvm_cpu") == 16);
  // A full name changes nothing of what a plain one means: here, in the config and in an allocation.
  CHECK(on(compile(f, digits_model(), {"--device", kOpenvino, "--pin", "/Softmax=X64:0"}), "llvm_cpu") == 1);
  for (const std::string& both : {"X64:0," + kOpenvino, kOpenvino + ",X64:0"}) {
    CAPTURE(both);
    CHECK(devices(f, {"--device", both}) == std::set<std::string>{kLlvm, kOpenvino});
  }
  CHECK(devices(f, {"--config", f.file("both.yaml", "devices: [X64:0, openvino/X64:0]\n")}) == std::set<std::string>{kLlvm, kOpenvino});
  CHECK(devices(f, {"--config", f.file("order.yaml", "plugins: {order: [openvino]}\n"), "--device", "X64:0"}) == std::set<std::string>{kOpenvino});
}

TEST_CASE("without --device both backends are candidates, so what llvm_cpu refuses goes to openvino") {
  if (!ready()) return;
  const TempFolder f;
  CHECK(devices(f, {}) == std::set<std::string>{kLlvm, kOpenvino});
  const std::string model = f.file("window.onnxtxt", kOnlyOpenvino);
  const Made made = compile(f, model, {});
  CHECK(made.plugin_of.at("only") == "openvino");
  check_same_answers(model, made.package);
  const Ran r = host({"plan", model, "--pin", "only=X64:0"});
  CAPTURE(r.err);
  CHECK(r.code == 4);
  CHECK(r.err.find("plugin 'llvm_cpu' refuses it: operator Loop is not in the note of plugin llvm_cpu (OP); it would run on openvino/X64:0") != std::string::npos);
  CHECK(host({"plan", model, "--pin", "only=openvino/X64:0"}).code == 0);
}

TEST_CASE("a partial pin leaves the rest automatic, and an allocation takes full names in every form") {
  if (!ready()) return;
  const TempFolder f;
  const Made pinned = compile(f, digits_model(), {"--device", "X64:0", "--pin", "/Softmax=" + kOpenvino});
  CHECK(pinned.plugin_of.at("/Softmax") == "openvino");
  CHECK(on(pinned, "openvino") == 1);
  CHECK(on(pinned, "llvm_cpu") == 15);
  CHECK(pinned.subgraphs == 2);
  check_same_answers(digits_model(), pinned.package, true);

  const Made mixed = compile(f, digits_model(), {"--alloc", f.file("a.json", R"({"op:Conv": "openvino/X64:0", "/widen/*": ["NULL:0", "llvm_cpu/X64:0"],
      "/classify/Gemm": "auto"})")});
  CHECK(mixed.plugin_of.at("/stem/stem.0/Conv") == "openvino");
  CHECK(mixed.plugin_of.at("/widen/widen.0/Conv") == "llvm_cpu");
  check_same_answers(digits_model(), mixed.package, true);
}

TEST_CASE("constants need no pins, and one that is pinned all the same does no harm") {
  if (!ready()) return;
  const TempFolder f;
  const std::string model = f.file("constants.onnxtxt", kConstants);
  const std::string alloc = f.file("a.json", R"({"first": "openvino/X64:0", "second": "llvm_cpu/X64:0", "third": "openvino/X64:0"})");
  const Made made = compile(f, model, {"--alloc", alloc});
  CHECK(made.subgraphs == 3);
  check_same_answers(model, made.package, true);
  const std::string folded = f.file("b.json", R"({"first": "openvino/X64:0", "half": "llvm_cpu/X64:0"})");
  const Ran r = host({"compile", model, "-o", f / "out", "--force", "--alloc", folded});
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CHECK(r.out.find("note: folded away, so a wish has no effect: 'half' (constant)\n") != std::string::npos);
}

TEST_CASE("a refused pin and a required device quote OpenVINO, and leave nothing behind") {
  if (!ready()) return;
  const TempFolder f;
  const std::string model = f.file("volume.onnxtxt", kVolume);
  const auto refused = [&](const std::vector<std::string>& option, const std::string& beginning) {
    const Ran r = host({"compile", model, "-o", f / "out", option[0], option[1]});
    CAPTURE(r.err);
    CHECK(r.code == 4);
    CHECK(r.err.find(beginning) != std::string::npos);
    CHECK(r.err.find("Got rank: 5") != std::string::npos);  // the actual value, in OpenVINO's words
    CHECK_FALSE(fs::exists(f / "out"));
  };
  refused({"--pin", "sample=openvino/X64:0"}, "node 'sample' (GridSample, f32[1,2,3,3,3] f32[1,2,2,2,3] -> f32[1,2,2,2,2]) is pinned to "
                                              "openvino/X64:0 by --pin, but plugin 'openvino' refuses it: ");
  refused({"--require-device", kOpenvino}, "--require-device openvino/X64:0: 1 of 2 nodes cannot run there: 'sample' (GridSample): ");
  const Ran table = host({"compile", f.file("det.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
det (float[1,3,3] x) => (float[1] y) { [det] y = Det(x) })"), "-o", f / "out", "--require-device", kOpenvino});
  CHECK(table.code == 4);
  CHECK(table.err.find("'det' (Det): operator Det is not in the note of plugin openvino (OP)") != std::string::npos);
}

TEST_CASE("wishes that OpenVINO cannot keep go to the next device, and the summary says why") {
  if (!ready()) return;
  const TempFolder f;
  const std::string model = f.file("volume.onnxtxt", kVolume);
  const Ran r = host({"compile", model, "-o", f / "out", "--alloc", f.file("a.json", R"({"*": ["openvino/X64:0", "REF:0"]})")});
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CHECK(r.out.find("'sample' (GridSample): asked for first of openvino/X64:0, REF:0; ") != std::string::npos);
  CHECK(r.out.find("Got rank: 5") != std::string::npos);
  check_same_answers(model, f / "out/volume");
}

TEST_CASE("the digits model reads every picture right split over llvm_cpu and openvino, as the quickstart splits it") {
  if (!ready()) return;
  const TempFolder f;
  const Made made = compile(f, digits_model(), {"--alloc", OPTIMA_SOURCE_DIR "/examples/digits/alloc.json"});
  CHECK(made.subgraphs == 4);
  CHECK(on(made, "openvino") == 3);
  static constexpr const char* kLabels[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
  for (int digit = 0; digit < 10; ++digit) {
    const Ran r = host({"run", made.package, "--image", digit_picture(digit), "--top", "1", "--labels", OPTIMA_SOURCE_DIR "/examples/digits/labels.txt"});
    CAPTURE(r.out);
    CHECK(r.code == 0);
    CHECK(r.out.find(cat("\n", kLabels[digit], " ")) != std::string::npos);
  }
  check_same_answers(digits_model(), made.package, true);
}

TEST_CASE("the allocation in a package names the backend, so it gives the same split again") {
  if (!ready()) return;
  const TempFolder f;
  const Made first = compile(f, digits_model(), {"--require-device", kOpenvino});
  fs::copy_file(first.package + "/alloc.json", f / "again.json");
  CHECK(compile(f, digits_model(), {"--alloc", f / "again.json"}).plugin_of == first.plugin_of);
}

TEST_CASE("run, compare and bench of a package with two backends name each subgraph's") {
  if (!ready()) return;
  const TempFolder f;
  const Made made = compile(f, digits_model(), {"--device", "X64:0", "--pin", "/Softmax=" + kOpenvino});
  const Ran bench = host({"bench", made.package, "--repeat", "10"});
  CHECK(bench.out.find("\nsubgraph 0 on llvm_cpu/X64:0  ") != std::string::npos);
  CHECK(bench.out.find("\nsubgraph 1 on openvino/X64:0  ") != std::string::npos);
  const Ran compared = host({"compare", digits_model(), made.package, "--at-cuts"});
  CHECK(compared.out.find("\nok  /classify/Gemm_output_0  0 on llvm_cpu/X64:0  ") != std::string::npos);
  CHECK(compared.out.find("\nok  probability              1 on openvino/X64:0  ") != std::string::npos);
  const Ran answer = run({run_program(), made.package, "--image", digit_picture(7), "--top", "1", "--labels", OPTIMA_SOURCE_DIR "/examples/digits/labels.txt"});
  CAPTURE(answer.err);
  CHECK(answer.out.find("\nseven ") != std::string::npos);
}

// The placements of openvino#35750 (one constant, or one input, read on both sides of a detour over the other device) and #36126
// (groups that feed each other in a ring although no node does), as far as their threads tell the shape. bench/openvino_split.py
// prints what HETERO makes of the same files.
TEST_CASE("placements that made cycles for OpenVINO's HETERO are cut into the fewest pieces and give the right answers") {
  if (!ready()) return;
  const std::map<std::string, size_t> fewest = {{"shared_constant", 3}, {"constant_feeds_both", 3}, {"shared_input", 4}, {"multi_hop", 3}};
  for (const auto& [name, subgraphs] : fewest) {
    CAPTURE(name);
    const TempFolder f;
    const std::string stem = OPTIMA_SOURCE_DIR "/tests/cli/cycles/" + name;
    const Made made = compile(f, stem + ".onnxtxt", {"--alloc", stem + ".json"});
    CHECK(made.subgraphs == subgraphs);
    check_same_answers(stem + ".onnxtxt", made.package, true);
  }
}

TEST_CASE("inputs whose sizes have one name may differ on openvino, and an output of that name that follows from neither has its own size") {
  if (!ready()) return;
  const TempFolder f;
  const std::string model = f.file("two.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
    two (float[n,4] a, float[n,4] b) => (float[n,4] y, float[n,4] z, float[n,4] s, int64[2,n] t) {
      c = Relu(a)  y = Neg(c)  d = Exp(b)  z = Neg(d)  s = Add(y, z)  t = NonZero(z) })");
  const Made made = compile(f, model, {"--device", kOpenvino});
  const Ran r = host({"compare", model, made.package, "--shape", "a=1,4", "--shape", "b=5,4"});
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CHECK(r.err.find("warn: runtime: input 'b': found n = 5, but 1 in input 'a'") != std::string::npos);
}
