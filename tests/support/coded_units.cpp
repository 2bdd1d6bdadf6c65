// SPDX-License-Identifier: Apache-2.0
#include "tests/support/coded_units.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "core/support/json.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"

namespace optima::test {
namespace {


const CodedUnit kUnits[] = {
    {"Conv", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(a$, conv) Y$ = QuantizeLinear(b$, s80, z128)"},
    {"Conv and Relu, from zero", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s10, z0) b$ = Conv(a$, conv) c$ = Relu(b$) Y$ = QuantizeLinear(c$, s40, z0)"},
    {"depthwise Conv", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = Conv<group = 8>(a$, depth) Y$ = QuantizeLinear(b$, s30, z128)"},
    {"Add", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = DequantizeLinear(Z$, s30, z128) c$ = Add(a$, b$) Y$ = QuantizeLinear(c$, s50, z128)"},
    {"MatMul", {1, 10, 32}, "a$ = DequantizeLinear(X$, s20, z128) b$ = MatMul(a$, rows) Y$ = QuantizeLinear(b$, s60, z128)"},
    {"MaxPool", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(a$) Y$ = QuantizeLinear(b$, s20, z128)"},
    {"AveragePool", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = AveragePool<kernel_shape = [3, 3]>(a$) Y$ = QuantizeLinear(b$, s10, z128)"},
    {"Concat", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = DequantizeLinear(Z$, s30, z128) c$ = Concat<axis = 1>(a$, b$) Y$ = QuantizeLinear(c$, s30, z128)"},
    {"Relu", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s20, z128) b$ = Relu(a$) Y$ = QuantizeLinear(b$, s10, z0)"},
    {"Sigmoid", {1, 8, 9, 9}, "a$ = DequantizeLinear(X$, s40, z128) b$ = Sigmoid(a$) Y$ = QuantizeLinear(b$, s4, z0)"},
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

}  // namespace

std::span<const CodedUnit> coded_units() { return kUnits; }
bool has_second(const CodedUnit& u) { return std::string(u.text).find("Z$") != std::string::npos; }

CodedModel coded_model_of_units(const TempFolder& f) {
  CodedModel out{f.file("units.onnxtxt", model_of_units()), {}};
  for (size_t k = 0; k < std::size(kUnits); ++k) {
    out.inputs.push_back(random_codes(f, "X" + std::to_string(k), kUnits[k].dims, static_cast<uint32_t>(2 * k + 1)));
    if (has_second(kUnits[k])) out.inputs.push_back(random_codes(f, "Z" + std::to_string(k), kUnits[k].dims, static_cast<uint32_t>(2 * k + 2)));
  }
  return out;
}

void check_coded_units(const CodedModel& model, const std::string& package, const std::string& title, std::span<const CodeBound> bounds) {
  std::vector<std::string> words{"--json", "compare", model.file, package, "--atol", "0", "--rtol", "0"};
  for (const std::string& i : model.inputs) words.insert(words.end(), {"--input", i});
  const Result<Json> compared = parse_json(host(words).out, "compare --json");
  REQUIRE(compared.ok());
  REQUIRE((*compared)["tensors"].size() == std::size(kUnits));
  REQUIRE(bounds.size() == std::size(kUnits));
  std::string table;
  for (size_t k = 0; k < std::size(kUnits); ++k) {
    const Json& t = (*compared)["tensors"][k];
    const double worst = t["max_abs"], apart = 1 - t["share_within"].get<double>();
    char line[128];
    std::snprintf(line, sizeof line, "\n%-26s %5.2f %% of %4d codes differ, worst %g", kUnits[k].what, 100 * apart, t["count"].get<int>(), worst);
    table += line;
    CAPTURE(std::string(kUnits[k].what));
    CHECK(worst <= bounds[k].steps);
    CHECK(apart <= bounds[k].share);
  }
  MESSAGE(title << table);
}

}  // namespace optima::test
