// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml, and pipelines of scikit-learn: what the import makes of them gives, by the reference, what ONNX Runtime gives. Labels
// exactly, scores within the case's tolerance.
#include <doctest/doctest.h>

#include <cmath>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "reference/reference.hpp"
#include "reference/tensor.hpp"
#include "tests/conformance/coded_texts.hpp"
#include "tests/conformance/node_case.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::string far_apart(const reference::Tensor& got, const reference::Tensor& wanted, const NodeCase& c) {
  if (got.dtype != wanted.dtype || got.dims != wanted.dims) return "is " + reference::dtype_name(got.dtype) + reference::show(got.dims) + ", ONNX Runtime has " +
                                                                   reference::dtype_name(wanted.dtype) + reference::show(wanted.dims);
  if (got.dtype == OPTIMA_STRING) return reference::strings(got) == reference::strings(wanted) ? "" : "other strings";
  const bool floats = got.dtype == OPTIMA_F32 || got.dtype == OPTIMA_F64;
  const std::vector<double> a = reference::load<double>(got), b = reference::load<double>(wanted);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!floats || !(std::abs(a[i] - b[i]) <= c.atol + c.rtol * std::abs(b[i])))
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", ONNX Runtime has " + std::to_string(b[i]);
  }
  return "";
}

std::string compared(const Graph& graph, const NodeCase& c) {
  for (const image::Node& n : graph.main().nodes)
    if (!n.domain.empty()) return n.op_type + " is still there";
  for (const image::Value& v : graph.main().values)
    if (v.dtype == OPTIMA_UNDEFINED) return "nothing is known about " + v.name;
  try {
    const PackedGraph packed = pack(graph);
    const DataSet set = coded(graph, c.sets.at(0));
    const std::vector<reference::Tensor> out = reference::run(packed.raw, set.inputs);
    for (size_t k = 0; k < out.size(); ++k)
      if (const std::string d = far_apart(out[k], set.outputs.at(k), c); !d.empty()) return "output " + std::to_string(k) + ": " + d;
  } catch (const Error& e) {
    return e.text;
  }
  return "";
}

std::string run_case(const NodeCase& c) {
  onnx_io::ImportOptions options;
  options.hash = false;
  const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
  if (!model) return std::string(model.status().message());
  if (const Status ok = verify(*model); !ok.ok()) return std::string(ok.message());
  if (const std::string before = compared(*model, c); !before.empty()) return before;
  const auto folded = passes::run_passes(*model);
  return folded ? compared(*folded, c) : std::string(folded.status().message());
}

/// How many cases have a name that begins so; all are run.
int run_all(const std::string& begin) {
  REQUIRE_MESSAGE(std::filesystem::exists(OPTIMA_CLASSICAL_TESTS "/stamp"), "the cases are not generated: run scripts/generate_classical_tests.py");
  int count = 0;
  for (const auto& path : case_folders(OPTIMA_CLASSICAL_TESTS)) {
    if ((path.filename().string().rfind("sklearn_", 0) == 0) != (begin == "sklearn_")) continue;
    const NodeCase c = read_case(path);
    const std::string why = run_case(c);
    CHECK_MESSAGE(why.empty(), c.name << ": " << why);
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("operators of ai.onnx.ml give what ONNX Runtime gives, before and after the passes") { CHECK(run_all("") > 180); }

TEST_CASE("pipelines of scikit-learn give the labels and scores that ONNX Runtime gives") {
  const int count = run_all("sklearn_");
  if (count == 0) MESSAGE("SKIP: skl2onnx is not installed; scripts/setup --with tests does that");
  else CHECK(count > 20);
}
