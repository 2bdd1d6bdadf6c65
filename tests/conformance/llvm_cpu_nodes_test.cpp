// SPDX-License-Identifier: Apache-2.0
// llvm_cpu over the seam, on every ONNX node test: what check() says yes to, as it is or with shapes, axes and the like as constants,
// compiles, loads and gives the test's answer. What it refuses is counted by its sentence.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/conformance/refusals.hpp"
#include "tests/support/seam_run.hpp"
#include "tests/unit/llvm_cpu/net.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const optima_device kTarget = seam::device("X64");

/// "name reason" per line; '#' begins a comment.
std::map<std::string, std::string> exceptions() {
  std::ifstream in(OPTIMA_SOURCE_DIR "/tests/conformance/llvm_cpu_exceptions.txt");
  REQUIRE(in);
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  return out;
}

/// Floats are computed in other orders than the files' makers did.
NodeCase eased(NodeCase c) {
  c.rtol = std::max(c.rtol, 1e-4), c.atol = std::max(c.atol, 1e-5);
  return c;
}

/// Codes are a step apart where a half rounds the other way.
bool a_step_apart(const reference::Tensor& got, const reference::Tensor& wanted, const NodeCase& c) {
  const bool codes = c.name.find("quantize") != std::string::npos || c.name.find("qlinear") != std::string::npos;
  if (!codes || got.dtype != wanted.dtype || got.dims != wanted.dims || reference::is_float(got.dtype)) return false;
  const auto a = reference::load<int64_t>(got), b = reference::load<int64_t>(wanted);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](int64_t x, int64_t y) { return std::abs(x - y) <= 1; });
}

/// Tensors of one shape as the one that an output of them all is.
std::vector<reference::Tensor> stacked(const std::vector<reference::Tensor>& all) {
  std::vector<int64_t> dims = all[0].dims;
  dims.insert(dims.begin(), static_cast<int64_t>(all.size()));
  void* bytes = nullptr;
  const reference::Tensor out = reference::Tensor::make(all[0].dtype, dims, &bytes);
  REQUIRE(out.size == all.size() * all[0].size);
  for (size_t k = 0; k < all.size(); ++k) std::memcpy(static_cast<char*>(bytes) + k * all[0].size, all[k].data, all[0].size);
  return {out};
}

/// Compiles, loads and runs; empty, or what is wrong.
std::string wrong(llvm_cpu_test::Bench& bench, const Taken& made, std::vector<reference::Tensor> wanted, const NodeCase& c) {
  std::vector<optima_blob> blobs;
  for (const Blob& b : made.graph.blobs) blobs.push_back(seam::blob_of(b.data, b.size, 1000 + blobs.size()));
  const seam::Model model(image::pack(made.graph.contents), std::move(blobs));
  seam::MemorySink sink;
  seam::Status status;
  if (seam::compile(*bench.compiler, model, kTarget, sink, status) != OPTIMA_OK) return "compile: " + status.message;
  const seam::Artifact artifact(sink, &model);
  bench.write_files(artifact);
  const seam::Program program(*bench.runtime, artifact, kTarget);
  if (!program.raw) return "load: " + program.status.message;
  std::vector<reference::Tensor> got;
  if (seam::run(program, made.inputs, got, status) != OPTIMA_OK) return "run: " + status.message;
  if (c.in_lists && got.size() == 1 && wanted.size() > 1) wanted = stacked(wanted);
  if (got.size() != wanted.size()) return "gave " + std::to_string(got.size()) + " outputs, wanted " + std::to_string(wanted.size());
  for (size_t k = 0; k < got.size(); ++k)
    if (const std::string d = difference(got[k], wanted[k], c); !d.empty() && !a_step_apart(got[k], wanted[k], c)) return "output " + std::to_string(k) + ": " + d;
  return "";
}

/// How often each thing was said, most often first.
void print(const char* what, const std::map<std::string, int>& counts) {
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [text, n] : counts) sorted.emplace_back(n, text);
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [n, text] : sorted) std::printf("  %s %4d: %s\n", what, n, text.c_str());
}

struct Counts {
  int whole = 0, frozen = 0, refused = 0, none = 0;
  std::map<std::string, int> unknown, reasons, unread;
  std::set<std::string> listed;
};

void run_case(llvm_cpu_test::Bench& bench, const NodeCase& c, const char* file, const std::map<std::string, std::string>& known, Counts& counts) {
  CAPTURE(c.name);
  if ((!c.not_tensors.empty() && !c.in_lists) || c.sets.empty()) return void(++counts.unread[c.not_tensors.empty() ? "no data" : c.not_tensors]);
  onnx_io::ImportOptions options;
  options.hash = false;
  options.dims = c.counts;
  const auto model = onnx_io::load_model((c.folder / file).string(), options);
  if (!model) return void(++counts.unread["not imported"]);
  const PackedGraph whole = pack(*model);
  auto folded = passes::run_passes(*model);
  if (!folded.ok()) return void(++counts.unread["folds to nothing that can be run"]);
  const Taken made = taken(*bench.compiler, std::move(*folded), c.sets[0], kTarget);
  if (!made.refused.empty()) {
    const auto& [position, said] = *made.refused.begin();
    const std::string& op = made.graph.main().nodes[position].op_type;
    const bool unknown = said.reason == OPTIMA_REASON_OP;
    ++counts.refused, ++(unknown ? counts.unknown[op] : counts.reasons[op + ": " + said.text]);
    if (std::getenv("OPTIMA_NODE_TEST")) std::printf("%s refused: %s\n", c.name.c_str(), said.text.c_str());
    return;
  }
  if (made.graph.main().nodes.empty()) return void(++counts.none);
  const std::vector<reference::Tensor> wanted = contested(c.name) ? reference::run(whole.raw, c.sets[0].inputs) : c.sets[0].outputs;
  const std::string why = wrong(bench, made, coded(made.graph, made.graph.main().outputs, wanted), c);
  if (known.count(c.name)) {
    counts.listed.insert(c.name);
    CHECK_MESSAGE(!why.empty(), c.name << " is listed as an exception and passes");
    return;
  }
  CHECK_MESSAGE(why.empty(), c.name << ": " << why);
  (made.frozen ? counts.frozen : counts.whole) += why.empty();
}

/// Every `every`-th. OPTIMA_NODE_TEST=TEXT runs all of those with TEXT in their names, and says of each that is refused why.
Counts run_all(const char* file, const std::map<std::string, std::string>& known, size_t every = 1) {
  const std::string folder = OPTIMA_NODE_TESTS;
  REQUIRE_MESSAGE(std::filesystem::exists(folder + "/stamp"), "node tests are not generated: run scripts/generate_node_tests.py");
  const char* only = std::getenv("OPTIMA_NODE_TEST");
  llvm_cpu_test::Bench bench;
  Counts counts;
  size_t number = 0;
  for (const auto& path : case_folders(folder))
    if (only ? path.filename().string().find(only) != std::string::npos : number++ % every == 0) run_case(bench, eased(read_case(path)), file, known, counts);
  if (!only) CHECK(counts.listed.size() == known.size());
  std::printf("%s: %d node tests passed as they are, %d with inputs as constants, %d refused, %d have nothing left to run, %zu listed exceptions\n", file,
              counts.whole, counts.frozen, counts.refused, counts.none, counts.listed.size());
  print("not read", counts.unread);
  print("no operator", counts.unknown);
  print("refused", counts.reasons);
  return counts;
}

}  // namespace

TEST_CASE("ONNX node tests that llvm_cpu takes compile and give the right answers") {
  const Counts counts = run_all("model.onnx", exceptions());
  CHECK(counts.whole + counts.frozen > (std::getenv("OPTIMA_NODE_TEST") ? 0 : 1600));
}

TEST_CASE("so do those that it takes with free sizes, of which every sixth is tried (OPTIMA_NODE_TEST=test: all)") {
  const Counts counts = run_all("free.onnx", {}, 6);
  CHECK(counts.whole + counts.frozen > (std::getenv("OPTIMA_NODE_TEST") ? 0 : 250));
}
