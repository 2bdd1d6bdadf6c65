// SPDX-License-Identifier: Apache-2.0
// llvm_cpu on the ONNX node tests of quantized operators, on those of com.microsoft and ai.onnx.ml, and on forms that the node tests leave out: all of them run, but for a list of refusals.
#include <algorithm>
#include <cstdio>
#include <set>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "reference/tensor.hpp"
#include "tests/conformance/coded_texts.hpp"
#include "tests/conformance/node_case.hpp"
#include "tests/support/seam_run.hpp"
#include "tests/unit/llvm_cpu/net.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::unique_ptr<llvm_cpu_test::Compiled> compiled(llvm_cpu_test::Bench& bench, const Graph& graph) {
  auto c = std::make_unique<llvm_cpu_test::Compiled>();
  std::vector<optima_blob> blobs;
  for (const Blob& b : graph.blobs) blobs.push_back(seam::blob_of(b.data, b.size, 1000 + blobs.size()));
  c->model = std::make_unique<seam::Model>(image::pack(graph.contents), std::move(blobs));
  c->code = seam::compile(*bench.compiler, *c->model, seam::device("X64"), c->sink, c->status);
  return c;
}

bool is_float(const reference::Tensor& t) { return t.dtype == OPTIMA_F32 || t.dtype == OPTIMA_F64; }
/// Labels are exact.
int most_steps(const reference::Tensor& t) { return t.dtype == OPTIMA_I64 ? 0 : 1; }

/// Codes are a step apart where a half rounds the other way; floats as the case says, and as codes in between are a step apart.
bool near(const reference::Tensor& got, const reference::Tensor& wanted, const NodeCase& c) {
  if (got.dtype != wanted.dtype || got.dims != wanted.dims) return false;
  const std::vector<double> a = reference::load<double>(got), b = reference::load<double>(wanted);
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= (is_float(got) ? c.atol + 1e-5 + c.rtol * std::abs(b[i]) : most_steps(got)))) return false;
  return true;
}

bool is_quantized(const std::string& name) {
  return name.find("quantize") != std::string::npos || name.find("integer") != std::string::npos || name.find("qlinear") != std::string::npos;
}
/// What not even the reference's evaluators take.
bool is_refused(const std::string& /*name*/) { return false; }

bool has_strings(const Graph& graph) {
  const auto& values = graph.main().values;
  return std::any_of(values.begin(), values.end(), [](const image::Value& v) { return v.dtype == OPTIMA_STRING; });
}

void run_all(const std::string& folder, bool (*wanted)(const std::string&)) {
  llvm_cpu_test::Bench bench;
  int ran = 0, refused = 0;
  for (const auto& path : case_folders(folder)) {
    const std::string name = path.filename().string();
    if (!wanted(name)) continue;
    CAPTURE(name);
    const NodeCase c = read_case(path);
    onnx_io::ImportOptions options;
    options.hash = false;
    const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
    if (!model || c.sets.empty() || !c.not_tensors.empty()) {
      CHECK(is_refused(name));
      continue;
    }
    const auto folded = passes::run_passes(*model);
    REQUIRE(folded.ok());
    const auto made = compiled(bench, *folded);
    CHECK_MESSAGE((made->code != OPTIMA_OK) == (is_refused(name) || has_strings(*folded)), made->status.message);
    if (made->code != OPTIMA_OK) {
      ++refused;
      continue;
    }
    const seam::Artifact artifact(made->sink, made->model.get());
    bench.write_files(artifact);
    const seam::Program program(*bench.runtime, artifact, seam::device("X64"));
    REQUIRE_MESSAGE(program.raw, program.status.message);
    std::vector<reference::Tensor> got;
    seam::Status status;
    const DataSet set = coded(*folded, c.sets[0]);
    REQUIRE_MESSAGE(seam::run(program, set.inputs, got, status) == OPTIMA_OK, status.message);
    for (size_t k = 0; k < got.size(); ++k) CHECK(near(got[k], set.outputs.at(k), c));
    ++ran;
  }
  std::printf("llvm_cpu on %s: %d cases run, %d refused\n", folder.c_str(), ran, refused);
  CHECK(ran > 20);
}

}  // namespace

TEST_CASE("the ONNX node tests of quantized operators run on llvm_cpu") { run_all(OPTIMA_NODE_TESTS, is_quantized); }

TEST_CASE("operators of ai.onnx.ml and pipelines of scikit-learn run on llvm_cpu and give what ONNX Runtime gives") {
  run_all(OPTIMA_CLASSICAL_TESTS, [](const std::string&) { return true; });
}

TEST_CASE("operators of com.microsoft run on llvm_cpu and give what ONNX Runtime gives") {
  run_all(OPTIMA_CONTRIBUTED_TESTS, [](const std::string&) { return true; });
}

TEST_CASE("forms of ONNX's own operators that its node tests leave out run on llvm_cpu and give what ONNX Runtime gives") {
  run_all(OPTIMA_OPERATOR_TESTS, [](const std::string&) { return true; });
}
