// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft, and forms of ONNX's own that its node tests leave out: what the import makes of them gives, by the reference, what
// ONNX Runtime gives.
#include <doctest/doctest.h>

#include <cmath>
#include <regex>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "reference/reference.hpp"
#include "reference/tensor.hpp"
#include "tests/conformance/node_case.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// Codes are a step apart where a half rounds the other way, which few do; floats are within the case's tolerance.
std::string far_apart(const reference::Tensor& got, const reference::Tensor& wanted, const NodeCase& c) {
  if (got.dtype != wanted.dtype || got.dims != wanted.dims) return "another type or shape";
  const bool floats = reference::is_float(got.dtype);
  const std::vector<double> a = reference::load<double>(got), b = reference::load<double>(wanted);
  size_t steps = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double most = floats ? c.atol + c.rtol * std::abs(b[i]) : 1;
    if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= most)) return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", ONNX Runtime has " + std::to_string(b[i]);
    steps += !floats && a[i] != b[i];
  }
  return steps > 1 + a.size() / 20 ? std::to_string(steps) + " of " + std::to_string(a.size()) + " codes are a step apart" : "";
}

std::string run_case(const NodeCase& c, const char* file = "model.onnx") {
  onnx_io::ImportOptions options;
  options.hash = false;
  const auto model = onnx_io::load_model((c.folder / file).string(), options);
  if (!model) return std::string(model.status().message());
  if (const Status ok = verify(*model); !ok.ok()) return std::string(ok.message());
  const auto folded = passes::run_passes(*model);
  if (!folded) return std::string(folded.status().message());
  for (const Graph* graph : {&*model, &*folded}) {
    for (const image::Node& n : graph->main().nodes)
      if (!n.domain.empty()) return n.op_type + " is still there";
    for (const image::Value& v : graph->main().values)
      if (v.dtype == OPTIMA_UNDEFINED) return "nothing is known about " + v.name;
    try {
      const PackedGraph packed = pack(*graph);
      const std::vector<reference::Tensor> out = reference::run(packed.raw, c.sets.at(0).inputs);
      for (size_t k = 0; k < out.size(); ++k)
        if (const std::string d = far_apart(out[k], c.sets[0].outputs.at(k), c); !d.empty()) return "output " + std::to_string(k) + ": " + d;
    } catch (const Error& e) {
      return e.text;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("operators of com.microsoft give what ONNX Runtime gives, before and after the passes") {
  REQUIRE_MESSAGE(std::filesystem::exists(OPTIMA_CONTRIBUTED_TESTS "/stamp"), "the cases are not generated: run scripts/generate_contributed_tests.py");
  int count = 0;
  for (const auto& path : case_folders(OPTIMA_CONTRIBUTED_TESTS)) {
    const NodeCase c = read_case(path);
    const std::string why = run_case(c);
    CHECK_MESSAGE(why.empty(), c.name << ": " << why);
    ++count;
  }
  CHECK(count > 80);
}

TEST_CASE("they give it too where the sizes of inputs are open, but for those whose nodes follow from a size") {
  // A matrix, a transform, a window.
  static const std::regex fixed("Inverse_.*|Rfft|Irfft|UnfoldTensor.*");
  for (const auto& path : case_folders(OPTIMA_CONTRIBUTED_TESTS)) {
    const NodeCase c = read_case(path);
    const std::string why = run_case(c, "open.onnx");
    CHECK_MESSAGE(why.empty() != std::regex_match(c.name, fixed), c.name << ": " << why);
  }
}

TEST_CASE("forms of ONNX's own operators that its node tests leave out give what ONNX Runtime gives, with open sizes too") {
  REQUIRE_MESSAGE(std::filesystem::exists(OPTIMA_OPERATOR_TESTS "/stamp"), "the cases are not generated: run scripts/generate_operator_tests.py");
  int count = 0;
  for (const auto& path : case_folders(OPTIMA_OPERATOR_TESTS)) {
    const NodeCase c = read_case(path);
    for (const std::string file : {"model.onnx", "open.onnx"}) {
      const std::string why = run_case(c, file.c_str());
      CHECK_MESSAGE(why.empty(), c.name << ", " << file << ": " << why);
    }
    ++count;
  }
  CHECK(count > 150);
}
