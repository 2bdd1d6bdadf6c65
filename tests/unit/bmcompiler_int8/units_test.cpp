// SPDX-License-Identifier: Apache-2.0
// Operators one by one, the same codes in: how many codes that come out differ from the reference's, and by how many steps.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/support/json.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sophon_tools.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// A '$' is the unit's number: X and Z are codes that come in, Y those that go out. `steps` and `share` are the most that may differ on
/// bm1684x and bm1684, whose products are scaled by shifts.
struct Unit {
  const char* what;
  std::vector<int64_t> dims;  ///< of X, and of Z
  const char* text;
  double steps[2], share[2];
};

const Unit kUnits[] = {
    {"Conv", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(a$, conv) Y$ = QuantizeLinear(b$, s80, z128)", {0, 0}, {0, 0}},
    {"Conv and Relu, from zero", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s10, z0) b$ = Conv(a$, conv) c$ = Relu(b$) Y$ = QuantizeLinear(c$, s40, z0)", {0, 0}, {0, 0}},
    {"depthwise Conv", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = Conv<group = 8>(a$, depth) Y$ = QuantizeLinear(b$, s30, z128)", {0, 0}, {0, 0}},
    {"Add", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = DequantizeLinear(Z$, s30, z128) c$ = Add(a$, b$) Y$ = QuantizeLinear(c$, s50, z128)", {1, 1}, {0.3, 0.3}},
    {"MatMul", {1, 10, 32}, "a$ = DequantizeLinear(X$, s20, z128) b$ = MatMul(a$, rows) Y$ = QuantizeLinear(b$, s60, z128)", {0, 0}, {0, 0}},
    {"MaxPool", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(a$) Y$ = QuantizeLinear(b$, s20, z128)", {0, 0}, {0, 0}},
    {"AveragePool", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = AveragePool<kernel_shape = [3, 3]>(a$) Y$ = QuantizeLinear(b$, s10, z128)", {1, 1}, {0.1, 0.5}},
    {"Concat", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = DequantizeLinear(Z$, s30, z128) c$ = Concat<axis = 1>(a$, b$) Y$ = QuantizeLinear(c$, s30, z128)", {0, 0}, {0, 0}},
    {"Relu", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = Relu(a$) Y$ = QuantizeLinear(b$, s10, z0)", {0, 0}, {0, 0}},
    {"Sigmoid", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s40, z128) b$ = Sigmoid(a$) Y$ = QuantizeLinear(b$, s4, z0)", {1, 1}, {0.01, 0.01}},
};

/// Normal codes of signed bytes.
std::string codes(const std::string& name, const std::vector<int64_t>& dims, uint32_t seed) {
  size_t count = 1;
  std::string sizes, all;
  for (const int64_t d : dims) count *= static_cast<size_t>(d), sizes += (sizes.empty() ? "" : ",") + std::to_string(d);
  for (const float x : normal(count, seed, 40)) all += (all.empty() ? "" : ", ") + std::to_string(std::clamp(static_cast<int>(x), -127, 127));
  return "int8[" + sizes + "] " + name + " = {" + all + "}";
}

/// Scales of `count` channels.
std::string steps(const std::string& name, size_t count) {
  std::string all;
  for (size_t k = 0; k < count; ++k) all += (k ? ", " : "") + std::to_string(0.003 + 0.0005 * static_cast<double>(k));
  return "float[" + std::to_string(count) + "] " + name + " = {" + all + "}";
}

bool has_second(const Unit& u) { return std::string(u.text).find("Z$") != std::string::npos; }

/// All units beside each other.
std::string model_of_units() {
  std::string inputs, outputs, nodes;
  for (size_t k = 0; k < std::size(kUnits); ++k) {
    std::string sizes;
    for (const int64_t d : kUnits[k].dims) sizes += (sizes.empty() ? "" : ",") + std::to_string(d);
    const std::string number = std::to_string(k), type = "uint8[" + sizes + "] ";
    inputs += (inputs.empty() ? "" : ", ") + type + "X" + number + (has_second(kUnits[k]) ? ", " + type + "Z" + number : "");
    outputs += (outputs.empty() ? "uint8[] Y" : ", uint8[] Y") + number;
    for (const char* at = kUnits[k].text; *at; ++at) *at == '$' ? nodes += number : nodes += *at;
    nodes += "\n";
  }
  std::string constants = "uint8 z0 = {0}, uint8 z128 = {128}, float s4 = {0.003921569}";
  for (const int k : {10, 20, 30, 40, 50, 60, 80}) constants += ", float s" + std::to_string(k) + " = {" + std::to_string(k / 1000.0) + "}";
  constants += ", " + codes("conv_codes", {12, 8, 3, 3}, 1) + ", " + steps("conv_steps", 12) + ", " + codes("depth_codes", {8, 1, 3, 3}, 2) + ", " + steps("depth_steps", 8) + ", " +
               codes("rows_codes", {32, 16}, 3) + ", " + steps("rows_steps", 16);
  return "<ir_version: 10, opset_import: [\"\" : 21]>\nunits (" + inputs + ") => (" + outputs + ") <" + constants +
         "> {\nconv = DequantizeLinear<axis = 0>(conv_codes, conv_steps) depth = DequantizeLinear<axis = 0>(depth_codes, depth_steps) rows = DequantizeLinear<axis = 1>(rows_codes, "
         "rows_steps)\n" +
         nodes + "}\n";
}

std::string random_codes(const TempFolder& f, const std::string& name, const std::vector<int64_t>& dims, uint32_t seed) {
  Result<Tensor> t = Tensor::make(OPTIMA_U8, dims);
  REQUIRE(t.ok());
  std::mt19937 random(seed);
  for (uint64_t k = 0; k < t->size; ++k) t->data[k] = static_cast<std::byte>(random() >> 24);
  return name + "=" + f.file(name + ".npy", write_npy(*t));
}

/// What the table leaves in floats is the border's: a and Y of a unit, and b where it is made of codes that come in, too, or is a Relu behind such.
void check_on_codes(const std::string& table) {
  std::ifstream in(table);
  for (std::string line; std::getline(in, line);) {
    CAPTURE(line);
    REQUIRE(line.size() > 1);
    REQUIRE(line[1] >= '0');
    REQUIRE(line[1] <= '9');
    const Unit& u = kUnits[static_cast<size_t>(line[1] - '0')];
    CHECK((line[0] == 'a' || line[0] == 'Y' || (line[0] == 'b' && (has_second(u) || std::string_view(u.what) == "Relu"))));
  }
}

void check_units(const TempFolder& f, const std::string& model, size_t chip, const std::vector<std::string>& inputs) {
  const char* name = chip == 0 ? "bm1684x" : "bm1684";
  good({"compile", model, "-o", f / name, "--name", "units", "--require-device", "TPU:0", "--option", std::string("bmcompiler.chip=") + name});
  check_on_codes(f / (std::string(name) + "/units/Subgraph_0/subgraph_0.qtable"));
  std::vector<std::string> words{"--json", "compare", model, f / (std::string(name) + "/units"), "--atol", "0", "--rtol", "0"};
  for (const std::string& i : inputs) words.insert(words.end(), {"--input", i});
  const Result<Json> compared = parse_json(host(words).out, "compare --json");
  REQUIRE(compared.ok());
  REQUIRE((*compared)["tensors"].size() == std::size(kUnits));
  std::string table;
  for (size_t k = 0; k < std::size(kUnits); ++k) {
    const Json& t = (*compared)["tensors"][k];
    const double worst = t["max_abs"], apart = 1 - t["share_within"].get<double>();
    char line[128];
    std::snprintf(line, sizeof line, "\n%-26s %5.2f %% of %4d codes differ, worst %g", kUnits[k].what, 100 * apart, t["count"].get<int>(), worst);
    table += line;
    CAPTURE(std::string(kUnits[k].what));
    CHECK(worst <= kUnits[k].steps[chip]);
    CHECK(apart <= kUnits[k].share[chip]);
  }
  MESSAGE("units on " << std::string(name) << table);
}

}  // namespace

TEST_CASE("operators make of the same codes nearly those that the reference makes, on two chips") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const std::string model = f.file("units.onnxtxt", model_of_units());
  std::vector<std::string> inputs;
  for (size_t k = 0; k < std::size(kUnits); ++k) {
    inputs.push_back(random_codes(f, "X" + std::to_string(k), kUnits[k].dims, static_cast<uint32_t>(2 * k + 1)));
    if (has_second(kUnits[k])) inputs.push_back(random_codes(f, "Z" + std::to_string(k), kUnits[k].dims, static_cast<uint32_t>(2 * k + 2)));
  }
  for (const size_t chip : {size_t{0}, size_t{1}}) check_units(f, model, chip, inputs);
}
