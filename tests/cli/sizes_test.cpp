// SPDX-License-Identifier: Apache-2.0
// Sizes that a model leaves open, as the user says them: to compile for, in the package, in inspect, and of random inputs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr const char* kOpen = R"(<ir_version: 10, opset_import: ["" : 21]>
open (float[batch,3,width] x, float[batch] bias) => (float[batch,3,width] y) { [relu] y = Relu(x) })";

constexpr const char* kChain = R"(<ir_version: 10, opset_import: ["" : 21]>
chain (float[n,4] x) => (float[n,4] y) { [one] a = Relu(x)  [two] y = Neg(a) })";

struct Packaged {
  TempFolder folder;
  std::string model, package;
  explicit Packaged(std::vector<std::string> words, const char* text = kOpen) : model(folder.file("open.onnxtxt", text)), package(folder / "out/open") {
    words.insert(words.begin(), {"compile", model, "-o", folder / "out", "--device", "REF:0", "--force"});
    const Ran ran = host(words);
    INFO(ran.out << ran.err);
    REQUIRE(ran.code == 0);
  }
  std::string meta() const { return get(package + "/model.meta"); }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string error_of(const std::vector<std::string>& words, int code) {
  const Ran ran = host(words);
  CHECK_MESSAGE(ran.code == code, ran.out << ran.err);
  return ran.err;
}

Json shapes(const std::vector<std::string>& words) {
  const Ran ran = run(words);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  Json out = Json::object();
  const Json document = *parse_json(ran.out, "stdout");
  for (const Json& input : document["inputs"]) out[input["name"].get<std::string>()] = input["shape"];
  return out;
}

const std::vector<std::string> kBounds = {"--dim", "batch=1,4,8", "--dim", "width=32..960:32@320"};

}  // namespace

TEST_CASE("bounds of sizes go into the package, random inputs have the sizes that matter most, and others are set by name") {
  const Packaged p(kBounds);
  CHECK(has(p.meta(), "\"format\": 4,"));
  const Json usual = {{"x", {1, 3, 320}}, {"bias", {1}}}, small = {{"x", {4, 3, 64}}, {"bias", {4}}};
  CHECK(shapes({run_program(), p.package, "--input", "random", "--json"}) == usual);
  CHECK(shapes({run_program(), p.package, "--bench", "--repeat", "2", "--json"}) == usual);
  CHECK(shapes({host_program(), "--json", "run", p.package, "--input", "random"}) == usual);
  CHECK(shapes({run_program(), p.package, "--input", "random", "--json", "--dim", "width=64", "--dim", "batch=4"}) == small);
  CHECK(shapes({host_program(), "--json", "bench", p.package, "--repeat", "2", "--dim", "width=64", "--dim", "batch=4"}) == small);
  CHECK(shapes({host_program(), "--json", "compare", p.model, p.package}) == usual);
  CHECK(has(error_of({"run", p.package, "--input", "random", "--dim", "height=3"}, 2), "--dim: no input has an open dim 'height', the model has batch, width"));
}

TEST_CASE("a size that the package was not compiled for is refused by the names of input and dim, with what was found and wanted") {
  const Packaged p(kBounds);
  CHECK(has(error_of({"run", p.package, "--input", "random", "--dim", "width=1000"}, 3), "input 'x': width = 1000, wanted 32 to 960 in steps of 32"));
  CHECK(has(error_of({"run", p.package, "--input", "random", "--dim", "batch=3"}, 3), "input 'x': batch = 3, wanted 1, 4 or 8"));
  const Ran ran = run({run_program(), p.package, "--input", "random", "--dim", "width=1000"});
  CHECK(ran.code == 3);
  CHECK_MESSAGE(has(ran.err, "input 'x': width = 1000, wanted 32 to 960 in steps of 32"), ran.err);
}

TEST_CASE("the self test of a package with bounds is of sizes that it allows") {
  std::vector<std::string> words = kBounds;
  words.push_back("--self-test");
  const Packaged p(words);
  const Ran ran = run({run_program(), p.package, "--check"});
  CHECK_MESSAGE(ran.code == 0, ran.out << ran.err);
  CHECK(shapes({host_program(), "--json", "compare", p.model, p.model, "--dim", "width=32..960:32@320"}) == Json({{"x", {1, 3, 320}}, {"bias", {1}}}));
}

TEST_CASE("a package without bounds holds nothing of them, whatever sizes are fixed") {
  CHECK(has(Packaged({}).meta(), "\"format\": 1,"));
  const Packaged fixed({"--dim", "batch=2", "--dim", "width=5"});
  CHECK(has(fixed.meta(), "\"format\": 1,"));
  CHECK(shapes({run_program(), fixed.package, "--input", "random", "--json"}) == Json({{"x", {2, 3, 5}}, {"bias", {2}}}));
  CHECK_FALSE(has(fixed.meta(), "\"sizes\""));
}

TEST_CASE("sizes that make no sense are told at once") {
  const TempFolder f;
  const std::string model = f.file("open.onnxtxt", kOpen);
  const auto said = [&](const std::string& dim, int code) { return error_of({"plan", model, "--device", "REF:0", "--dim", dim}, code); };
  CHECK(has(said("width=9..3", 2), "--dim width: found '9..3': found sizes from 9 to 3, wanted a least and a largest one from 0 to 2147483647"));
  CHECK(has(said("width=wide", 2), "--dim width: found 'wide', wanted a size as 320, sizes as 1,4,8 (the first matters most), or a range as 32..960, "
                                   "32..960:32 or 32..960:32@320"));
  CHECK(has(said("height=1..3", 3), "--dim: no input has a dim 'height', the model has batch, width"));
  CHECK(has(error_of({"plan", model, "--device", "REF:0", "--shape", "x=1,?"}, 3), "--shape 'x': 2 dims, wanted 3 as in [batch,3,width]"));
}

TEST_CASE("sizes of the config count where the command line says nothing, and are the ones of a shape that is left open") {
  const Packaged p({"--shape", "x=?,3,?"});
  const std::string config = p.folder.file("optima.yaml", "dims: {width: 10..20@15, batch: 6}\n");
  const Ran ran = host({"--config", config, "compile", p.model, "-o", p.folder / "second", "--device", "REF:0", "--dim", "batch=2"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(shapes({run_program(), p.folder / "second/open", "--input", "random", "--json"}) == Json({{"x", {2, 3, 15}}, {"bias", {2}}}));
}

TEST_CASE("inspect --shapes shows which sizes may come, and which subgraphs are planned when they do") {
  const Packaged p(kBounds);
  const Ran told = host({"inspect", p.package, "--shapes"});
  INFO(told.out << told.err);
  CHECK(told.code == 0);
  CHECK(told.out ==
        "tensor  role    type     shape            sizes\n"
        "x       input   float32  [batch,3,width]  batch: 1, 4 or 8, 1 most; width: 32 to 960 in steps of 32, 320 most\n"
        "bias    input   float32  [batch]          batch: 1, 4 or 8, 1 most\n"
        "y       output  float32  [batch,3,width]\n"
        "subgraph  device  format              sizes\n"
        "0         REF:0   optima.reference/1  come with the run, which plans them\n");
  const Json document = *parse_json(host({"--json", "inspect", p.package, "--shapes"}).out, "inspect");
  CHECK(document["sizes"]["width"] == Json({{"min", 32}, {"max", 960}, {"step", 32}, {"opt", 320}}));
  CHECK(document["tensors"][0]["shape"] == Json({"batch", 3, "width"}));
  CHECK(document["subgraphs"][0]["planned_at_run_time"] == true);
  const Ran model = host({"inspect", p.model, "--shapes", "--dim", "width=32..960"});
  CHECK_MESSAGE(has(model.out, "x       input   float32  [batch,3,width]  batch: any; width: 32 to 960\n"), model.out << model.err);
}

TEST_CASE("what a device may hold is counted at the largest sizes, and the error says which") {
  const TempFolder f;
  const std::string model = f.file("chain.onnxtxt", kChain), config = f.file("optima.yaml", "devices: [{name: REF:0, memory_limit: 1000}]\n");
  const auto planned = [&](const std::string& dim) { return host({"--config", config, "plan", model, "--dim", dim}); };
  CHECK(planned("n=1..31").code == 0);
  const Ran over = planned("n=1..1000");
  CHECK(over.code == 4);
  CHECK_MESSAGE(has(over.err, "a subgraph on REF:0 may hold at most 1000 bytes, counted at n = 1000"), over.err);
}
