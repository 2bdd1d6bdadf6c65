// SPDX-License-Identifier: Apache-2.0
// From a model to a package to answers, through the real programs and plugins.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

std::string compile(const TempFolder& folder, std::vector<std::string> words, const std::string& out = "out") {
  words.insert(words.begin(), "compile");
  words.insert(words.end(), {"-o", folder / out});
  const Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return folder / out;
}

void check_equal(const std::vector<std::string>& words) {
  const Ran r = host(words);
  CAPTURE(r.out);
  CAPTURE(r.err);
  CHECK(r.code == 0);
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// Relative name -> bytes of every file below.
std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file()) out[fs::relative(e.path(), folder).string()] = slurp(e.path());
  return out;
}

}  // namespace

TEST_CASE("the digits model, split over two devices, reads every picture right and agrees with the unsplit model") {
  const TempFolder f;
  const std::string package = compile(f, {digits_model(), "--alloc", digits_allocation()}) + "/digits";
  static constexpr const char* kLabels[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
  for (int digit = 0; digit < 10; ++digit) {
    const Ran r = host({"run", package, "--image", digit_picture(digit), "--top", "1", "--labels", OPTIMA_SOURCE_DIR "/examples/digits/labels.txt"});
    CAPTURE(r.out);
    CHECK(r.code == 0);
    CHECK(r.out.find(kLabels[digit]) != std::string::npos);
  }
  check_equal({"compare", digits_model(), package, "--image", digit_picture(4)});
  check_equal({"compare", digits_model(), package, "--at-cuts"});
  const Ran explained = host({"explain", package, "/Softmax"});
  CHECK(explained.code == 0);
  CHECK(explained.out.find("REF:0") != std::string::npos);
}

TEST_CASE("optima-run runs the same package, without the host") {
  const TempFolder f;
  const std::string package = compile(f, {digits_model(), "--alloc", digits_allocation(), "--self-test"}) + "/digits";
  const Ran r = run({run_program(), package, "--image", digit_picture(7), "--top", "1", "--labels", OPTIMA_SOURCE_DIR "/examples/digits/labels.txt"});
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CHECK(r.out.find("seven") != std::string::npos);
  const Ran check = run({run_program(), package, "--check"});
  CAPTURE(check.out);
  CAPTURE(check.err);
  CHECK(check.code == 0);
}

TEST_CASE("the self test of a model of 16-bit floats is held to what they can tell") {
  for (const std::string type : {"float16", "bfloat16"}) {
    CAPTURE(type);
    const TempFolder f;
    const std::string model = f.file("halves.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 23]> halves (" + type + "[16,64] x, " + type + "[64,64] w) => (" + type +
                                                           "[16,64] y) { a = MatMul(x, w) b = Relu(a) c = MatMul(b, w) d = Add(c, x) e = MatMul(d, w) y = Sigmoid(e) }");
    const Ran check = run({run_program(), compile(f, {model, "--device", "X64:0", "--self-test"}) + "/halves", "--check"});
    CHECK_MESSAGE(check.code == 0, check.out << check.err);
    CHECK(check.out.find("self-test output y:") != std::string::npos);
  }
}

TEST_CASE("two compilations of one model give the same bytes") {
  const TempFolder f;
  const std::vector<std::string> words = {digits_model(), "--alloc", digits_allocation()};
  const auto a = contents(compile(f, words, "a")), b = contents(compile(f, words, "b"));
  CHECK(a.size() > 4);
  for (const auto& [name, bytes] : a) {
    CAPTURE(name);
    REQUIRE(b.contains(name));
    CHECK(b.at(name) == bytes);
  }
  CHECK(a.size() == b.size());
}

TEST_CASE("the allocation written into a package gives the same split again") {
  const TempFolder f;
  const std::string first = compile(f, {digits_model(), "--alloc", digits_allocation()}, "a") + "/digits";
  const std::string second = compile(f, {digits_model(), "--alloc", first + "/alloc.json"}, "b") + "/digits";
  const auto split = [](const std::string& package) {
    Result<Json> j = read_json(package + "/placement.json");
    REQUIRE(j.ok());
    Json out = Json::array();
    for (const Json& n : (*j)["nodes"]) out.push_back({n["name"], n["device"], n["subgraph"]});
    return out;
  };
  CHECK(split(first) == split(second));
}

TEST_CASE("run -o writes npy files that compare reads back") {
  const TempFolder f;
  const std::string package = compile(f, {digits_model(), "--device", "REF:0"}) + "/digits";
  REQUIRE(host({"run", package, "--image", digit_picture(2), "-o", f / "answers"}).code == 0);
  CHECK(fs::exists(f / "answers/probability.npy"));
  CHECK(fs::exists(f / "answers/manifest.json"));
  check_equal({"compare", f / "answers", package, "--image", digit_picture(2)});
  const Ran other = host({"compare", f / "answers", package, "--image", digit_picture(5)});
  CHECK(other.code == 6);
  CHECK(other.err.find("out of tolerance") != std::string::npos);
}

TEST_CASE("outputs that are inner tensors, inputs or constants all arrive") {
  const TempFolder f;
  const std::string model = f.file("odd.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
odd (float[2,3] x) => (float[2,3] h, float[2,3] y, float[2,3] x, float[2] c)
<float[2] c = {1.5, -2}>
{
  h = Relu(x)
  y = Exp(h)
})");
  const std::string package = compile(f, {model, "--device", "REF:0"}) + "/odd";
  check_equal({"compare", model, package});
}

TEST_CASE("a model with stale declared shapes compiles with a warning and gives what it computes") {
  const TempFolder f;
  const std::string model = f.file("stale.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
stale (float[2,3] x) => (float[7] y)
<float[1,3] h>
{
  h = Relu(x)
  y = Neg(h)
})");
  const Ran r = host({"compile", model, "-o", f / "out", "--device", "REF:0"});
  CHECK(r.code == 0);
  CHECK(r.err.find("warn: onnx_io: declared shapes that do not hold are left out: value 'h' is declared [1,3], but is [2,3], value 'y' is declared [7], but is [2,3]\n") !=
        std::string::npos);
  CHECK(host({"run", f / "out/stale", "--input", "random"}).out.find("y       float32  2x3") != std::string::npos);
  check_equal({"compare", model, f / "out/stale"});
}

TEST_CASE("plan answers without writing, and explain reads its file") {
  const TempFolder f;
  const Ran r = host({"plan", digits_model(), "--alloc", digits_allocation(), "-o", f / "plan.json"});
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CHECK(r.out.find("REF:0") != std::string::npos);
  const Ran e = host({"explain", f / "plan.json"});
  CHECK(e.code == 0);
  CHECK(e.out.find("/stem/stem.0/Conv") != std::string::npos);
}

TEST_CASE("the trained digit model of another house agrees with the reference, whole and split") {
  if (shared_models().empty()) {
    MESSAGE("SKIP: ../shared/models is not here");
    return;
  }
  const TempFolder f;
  const std::string model = shared_models() + "/mnist.onnx";
  check_equal({"compare", model, compile(f, {model, "--device", "X64:0"}, "whole") + "/mnist"});
  const std::string alloc = f.file("a.json", R"({"op:Conv": "X64:0", "op:MaxPool": "REF:0"})");
  check_equal({"compare", model, compile(f, {model, "--alloc", alloc, "--device", "X64:0,REF:0"}, "split") + "/mnist", "--at-cuts"});
}

// The null plugin takes any Identity, but only one in a subgraph. The silent one does not say so before it compiles. These Identities are outputs, so they stay.
const char* const kTwice = R"(<ir_version: 10, opset_import: ["" : 21]>
twice (float[1,4] x) => (float[1,4] y, float[1,4] a, float[1,4] b) {
  a = Identity(x)
  b = Identity(a)
  y = Relu(b)
})";
std::string silent_plugins() { return OPTIMA_BINARY_DIR "/test_plugins/silent"; }

TEST_CASE("a limit that a plugin declares is kept") {
  const TempFolder f;
  const std::string model = f.file("twice.onnxtxt", kTwice);
  const Ran r = host({"compile", model, "-o", f / "out", "--alloc", f.file("a.json", R"({"op:Identity": "NULL:0", "op:Relu": "REF:0"})")});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(fs::exists(f / "out/twice/Subgraph_2"));
  CHECK(r.out.find("could not compile") == std::string::npos);
  check_equal({"compare", model, f / "out/twice", "--at-cuts"});
}

TEST_CASE("a node that its plugin refuses while compiling moves on, and the report says so") {
  const TempFolder f;
  const std::string model = f.file("twice.onnxtxt", kTwice);
  const std::string allocation = f.file("a.json", R"({"op:Identity": ["NULL:0", "REF:0"], "op:Relu": "REF:0"})");
  const Ran r = host({"--plugins", silent_plugins(), "compile", model, "-o", f / "out", "--alloc", allocation});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.out.find("note: plugin 'null' could not compile node") != std::string::npos);
  CHECK(r.out.find("subgraph has 2 nodes, wanted one; placed again") != std::string::npos);
  check_equal({"compare", model, f / "out/twice", "--at-cuts"});
}

TEST_CASE("a pinned node that its plugin refuses while compiling is an error in the plugin's words") {
  const TempFolder f;
  const std::string allocation = f.file("a.json", R"({"op:Identity": "NULL:0", "op:Relu": "REF:0"})");
  const Ran r = host({"--plugins", silent_plugins(), "compile", f.file("twice.onnxtxt", kTwice), "-o", f / "out", "--alloc", allocation});
  CHECK(r.code == 4);
  CHECK(r.err.find("subgraph has 2 nodes, wanted one") != std::string::npos);
  CHECK_FALSE(fs::exists(f / "out"));
}

TEST_CASE("the face detector finds the nine faces, whole on llvm_cpu and split") {
  if (shared_models().empty()) {
    MESSAGE("SKIP: ../shared/models is not here");
    return;
  }
  const TempFolder f;
  const std::string model = shared_models() + "/version-RFB-320.onnx";
  const auto faces = [&](const std::string& package) {
    const Ran r = run({OPTIMA_BINARY_DIR "/bin/detect_faces", package, shared_models() + "/group.jpg", OPTIMA_BINARY_DIR "/lib/optima/plugins"});
    CAPTURE(r.err);
    CHECK(r.out.find("\n9 faces\n") != std::string::npos);
  };
  const std::string whole = compile(f, {model, "--require-device", "X64:0"}, "whole") + "/version-RFB-320";
  faces(whole);
  check_equal({"compare", model, whole});
  const std::string split = compile(f, {model, "--device", "X64:0", "--alloc", f.file("a.json", R"({"op:Concat": "REF:0", "op:Softmax": "REF:0"})")}, "split") + "/version-RFB-320";
  faces(split);
  check_equal({"compare", model, split, "--at-cuts"});
}
