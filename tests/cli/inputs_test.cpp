// SPDX-License-Identifier: Apache-2.0
// Inputs as users give them, or do not: open sizes, pictures for integers; and a signal while two sides are compared.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr const char* kOpen = R"(<ir_version: 10, opset_import: ["" : 21]>
open (float[n,3] x, float[n,3] z) => (float[n,3] y) { h = Relu(x)  y = Add(h, z) })";

constexpr const char* kBytes = R"(<ir_version: 10, opset_import: ["" : 21]>
bytes (uint8[1,1,32,32] x) => (float[1,1,32,32] y) { y = Cast<to = 1>(x) })";

std::string package_of(const TempFolder& f, const std::string& model, std::vector<std::string> words = {}) {
  words.insert(words.begin(), {"--json", "compile", model, "-o", f / "out", "--device", "REF:0", "--force"});
  const Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return (*parse_json(r.out, "compile"))["package"];
}

bool has(const Ran& r, const std::string& part) {
  CAPTURE(r.out);
  CAPTURE(r.err);
  CHECK(r.code == 0);
  return r.out.find(part) != std::string::npos;
}

Json shapes(const std::vector<std::string>& words) {
  const Ran r = run(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  Json out = Json::object();
  const Json document = *parse_json(r.out, "stdout");
  for (const Json& input : document["inputs"]) out[input["name"].get<std::string>()] = input["shape"];
  return out;
}

}  // namespace

TEST_CASE("sizes that a model leaves open are shown and can be set") {
  const TempFolder f;
  const std::string model = f.file("open.onnxtxt", kOpen), package = package_of(f, model);
  const std::string invented = "input x: float32 1x3, sizes that the model leaves open are 1 (--shape x=... sets them)\n";
  CHECK(has(host({"bench", package, "--repeat", "3"}), invented));
  CHECK(has(host({"run", package, "--input", "random"}), invented));
  CHECK(has(host({"compare", model, package}), invented));
  CHECK(has(run({run_program(), package, "--bench", "--repeat", "3"}), invented));
  // One input's size is that of the other, where the model calls them the same.
  const Json four = {{"x", {4, 3}}, {"z", {4, 3}}};
  CHECK(has(host({"bench", package, "--repeat", "3", "--shape", "x=4,3"}), "input z: float32 4x3\n"));
  CHECK(shapes({host_program(), "--json", "bench", package, "--repeat", "3", "--shape", "x=4,3"}) == four);
  CHECK(shapes({host_program(), "--json", "run", package, "--input", "random", "--shape", "x=4,3"}) == four);
  CHECK(shapes({host_program(), "--json", "compare", model, package, "--shape", "x=4,3"}) == four);
  CHECK(shapes({run_program(), package, "--json", "--bench", "--repeat", "3", "--shape", "x=4x3"}) == four);
  const Ran wrong = host({"bench", package, "--shape", "x=4,5"});
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("--shape x: found 4x5, wanted float32 ?x3") != std::string::npos);
  CHECK(host({"run", package, "--input", "random", "--shape", "q=4,3"}).err.find("the model has no input 'q'") != std::string::npos);
  CHECK(run({run_program(), package, "--input", "random", "--shape", "x=4,"}).code == 2);
}

TEST_CASE("inputs whose sizes have one name may differ, with a warning; those whose sizes nobody knows, without") {
  const TempFolder f;
  const std::string text = R"(<ir_version: 10, opset_import: ["" : 21]>
    two (float[n,4] a, float[n,4] b) => (float[n,4] y, float[n,4] z, float[n,4] s) { c = Relu(a)  y = Neg(c)  d = Exp(b)  z = Neg(d)  s = Add(y, z) })";
  for (const char* name : {"n", "unk__7", "None"}) {
    const std::string model = f.file("two.onnxtxt", std::regex_replace(text, std::regex("n,4"), cat(name, ",4"))), package = package_of(f, model);
    const Ran r = host({"compare", model, package, "--shape", "a=1,4", "--shape", "b=5,4"});
    CAPTURE(r.err);
    CHECK(r.code == 0);
    CHECK((r.err.find("warn: runtime: input 'b': found n = 5, but 1 in input 'a'") != std::string::npos) == (name == std::string("n")));
  }
}

TEST_CASE("--shape takes commas and x, names with colons, and says what it wants") {
  const TempFolder f;
  const std::string model = f.file("named.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,3] "in:0", float[m] b) => (float[n,3] c, float[m] d) { c = Relu("in:0")  d = Relu(b) })"), package = package_of(f, model);
  const Json wanted = {{"in:0", {4, 3}}, {"b", {7}}};
  const std::vector<std::string> sizes = {"--shape", "in:0=4x3", "--shape", "b=7"};
  const auto with = [&](std::vector<std::string> words) { return words.insert(words.end(), sizes.begin(), sizes.end()), words; };
  CHECK(shapes(with({host_program(), "--json", "run", package, "--input", "random"})) == wanted);
  CHECK(shapes(with({run_program(), package, "--json", "--input", "random"})) == wanted);
  CHECK(host(with({"compile", model, "-o", f / "fixed", "--device", "REF:0"})).code == 0);
  CHECK(shapes({host_program(), "--json", "run", f / "fixed/named", "--input", "random"}) == wanted);
  for (const char* bad : {"in:0=4x", "in:0=x3", "in:0=4,,3", "in:0=4*3", "in:0=-4x3", "in:0", "=4x3", "in:0=4 x 3"})
    for (const Ran& r : {host({"compile", model, "-o", f / "bad", "--shape", bad}), host({"run", package, "--shape", bad}), run({run_program(), package, "--shape", bad})}) {
      CHECK(r.code == 2);
      CHECK(r.err.find(cat("--shape: found '", bad, "', wanted NAME=SIZES such as image=1,3,224,224 or image=1x3x224x224")) != std::string::npos);
    }
}

TEST_CASE("compare takes sizes that only one side knows from that side") {
  const TempFolder f;
  const std::string model = f.file("open.onnxtxt", kOpen), package = package_of(f, model, {"--dim", "n=5"});
  CHECK(shapes({host_program(), "--json", "compare", model, package}) == Json{{"x", {5, 3}}, {"z", {5, 3}}});
  CHECK(has(host({"compare", model, package}), "input x: float32 5x3\n"));
}

TEST_CASE("options of pictures that nobody would apply are usage errors") {
  const TempFolder f;
  const std::string bytes = package_of(f, f.file("bytes.onnxtxt", kBytes));
  const auto refused = [](const Ran& r, const std::string& part) {
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.err.find(part) != std::string::npos);
  };
  const std::string why = "--mean and --std are for float inputs, but input 'x' is uint8 and gets the picture's bytes as they are";
  refused(host({"run", bytes, "--image", digit_picture(3), "--mean", "0.5"}), why);
  refused(host({"bench", bytes, "--image", digit_picture(3), "--std", "0.5"}), why);
  refused(run({run_program(), bytes, "--image", digit_picture(3), "--mean", "0.5"}), why);
  CHECK(host({"run", bytes, "--image", digit_picture(3)}).code == 0);
  refused(host({"run", bytes, "--input", "random", "--mean", "0.5"}), "--mean is for pictures, found no --image with it");
  refused(host({"compare", bytes, bytes, "--crop", "8"}), "--crop is for pictures, found no --image with it");
}

// The host reads its config from a FIFO, so that the signal is there before the work begins, whatever the machine is busy with.
TEST_CASE("the first signal ends compare cleanly, whatever its sides are") {
  const TempFolder f;
  const std::string model = f.file("tiny.onnxtxt", kTiny), package = package_of(f, model);
  const std::string sides[][2] = {{model, model}, {model, package}, {package, package}};
  for (const auto& [a, b] : sides)
    for (const std::string& signal : std::vector<std::string>{"TERM", "INT"}) {
      CAPTURE(a);
      CAPTURE(b);
      CAPTURE(signal);
      const Ran r = run({"sh", "-c", "cd " + f.path() + "; rm -f config; mkfifo config; \"$HOST\" --config config compare " + a + " " + b + " & exec 3> config; kill -" +
                                         signal + " $!; echo 'objective: parts' >&3; exec 3>&-; wait $!"},
                        {"HOST=" + host_program()});
      CAPTURE(r.out);
      CHECK(r.code == 130);
      CHECK(r.err == "optima-host: error: interrupted\n");
    }
}
