// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler operator by operator on the emulators: what check() says yes to is computed as the reference does, and what a chip computes
// otherwise is refused there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cases.hpp"
#include "core/support/json.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sophon_tools.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kApart = 1e-4, kApartBf16 = 5e-2;  // of an output's scale

/// One model of all of them, beside each other.
std::string model_of(const OpCase* first, size_t count) {
  std::string inputs, outputs, nodes;
  for (size_t k = 0; k < count; ++k) {
    const OpCase& c = first[k];
    const std::string number = std::to_string(k), type = c.input;
    inputs += (inputs.empty() ? "" : ", ") + type + " X" + number;
    if (std::string(c.text).find("Z$") != std::string::npos) inputs += ", " + type + " Z" + number;
    outputs += (outputs.empty() ? "" : ", ") + std::string(c.what) + " Y" + number;
    for (const char* at = c.text; *at; ++at) *at == '$' ? nodes += number : nodes += *at;
    nodes += "\n";
  }
  return "<ir_version: 11, opset_import: [\"\" : 28]>\ncases (" + inputs + ") => (" + outputs + ") {\n" + nodes + "}\n";
}

Ran good(const std::vector<std::string>& words) {
  Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r;
}

Json json_at(const std::string& path) {
  Result<Json> document = read_json(path);
  REQUIRE_MESSAGE(document.ok(), document.status().message());
  return std::move(*document);
}

bool refused_on(const OpCase& c, const std::string& chip) {
  return std::strcmp(c.refused, "all") == 0 || chip == c.refused;
}

/// How often an operator was taken, refused and wrong, by its name.
struct Tally {
  int supported = 0, refused = 0, wrong = 0;
};
using Tallies = std::map<std::string, Tally>;

void print(const std::string& chip, const Tallies& all) {
  Tally sum;
  std::printf("\n%-8s %-20s %9s %7s %5s\n", chip.c_str(), "operator", "supported", "refused", "wrong");
  const auto line = [](const std::string& name, const Tally& t) { std::printf("%-8s %-20s %9d %7d %5d\n", "", name.c_str(), t.supported, t.refused, t.wrong); };
  for (const auto& [op, t] : all) {
    line(op, t);
    sum.supported += t.supported, sum.refused += t.refused, sum.wrong += t.wrong;
  }
  line("all", sum);
}

/// `count` cases beside each other on `chip`, and on the reference what it refuses.
void ask(const OpCase* first, size_t count, const std::string& chip, Tallies& tallies, double bound = kApart) {
  const TempFolder f;
  const std::string model = f.file("cases.onnxtxt", model_of(first, count));
  good({"compile", model, "-o", f / "out", "--device", "TPU:0,REF:0", "--name", "cases", "--alloc", f.file("a.json", R"({"*": ["TPU:0", "REF:0"]})"), "--option", "bmcompiler.chip=" + chip});
  std::map<std::string, Json> answers;  // by node
  std::map<std::string, std::string> ops;
  const Json placed = json_at(f / "out/cases/placement.json");
  for (const Json& n : placed["nodes"]) answers[n["name"]] = n["answers"]["TPU:0"], ops[n["name"]] = n["op"];
  std::map<std::string, double> apart;  // by output
  const Result<Json> compared = parse_json(good({"--json", "compare", model, f / "out/cases", "--atol", "1e9"}).out, "compare --json");
  REQUIRE(compared.ok());
  for (const Json& t : (*compared)["tensors"]) apart[t["name"]] = t["max_abs"].get<double>() / std::max(t["scale"].get<double>(), 1e-6);

  for (size_t k = 0; k < count; ++k) {
    const OpCase& c = first[k];
    CAPTURE(c.text);
    const Json& answer = answers.at("case" + std::to_string(k));
    const bool yes = answer["yes"];
    const double found = apart.at("Y" + std::to_string(k));
    Tally& tally = tallies[ops.at("case" + std::to_string(k))];
    ++(!yes ? tally.refused : found <= bound ? tally.supported : tally.wrong);
    const std::string said = yes ? "" : answer.dump();
    std::printf("%-8s %-9s %9.1e  %s %s\n", chip.c_str(), !yes ? "refused" : found <= bound ? "supported" : "WRONG", found, c.text, said.c_str());
    CHECK_MESSAGE(yes == !refused_on(c, chip), said);
    CHECK(found <= bound);
  }
}

}  // namespace

TEST_CASE("operators that move, reduce, index, carry states and resize are computed on two chips as ONNX says, and what is not is refused") {
  if (!has_sophon_tools()) return;
  constexpr size_t kBeside = 28;  // a compile and a process each: more are cheaper together, until one has too many ports to say which failed
  for (const std::string chip : {"bm1684x", "bm1684"}) {
    Tallies tallies;
    for (size_t first = 0; first < std::size(kMovingCases); first += kBeside) ask(kMovingCases + first, std::min(kBeside, std::size(kMovingCases) - first), chip, tallies);
    print(chip, tallies);
  }
}

TEST_CASE("what cv183x's tools turn, bound and count otherwise than ONNX is written in another way, within the 8 bits of BF16") {
  if (!has_sophon_tools()) return;
  Tallies tallies;
  ask(kBf16Cases, std::size(kBf16Cases), "cv183x", tallies, kApartBf16);
  print("cv183x", tallies);
}
