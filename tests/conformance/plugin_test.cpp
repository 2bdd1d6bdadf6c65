// SPDX-License-Identifier: Apache-2.0
// plugins/reference over the seam, on every ONNX node test: what check() says yes to is compiled and run, whole and node by
// node, and gives what the library gives.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/conformance/node_case.hpp"
#include "tests/support/seam_run.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const optima_device kTarget = seam::device("REF");

struct Counts {
  int whole = 0, nodes = 0, refused = 0;
};

seam::Model seam_model(const Graph& graph) {
  image::Contents contents = graph.contents;
  std::vector<optima_blob> blobs;
  for (const Blob& b : graph.blobs) blobs.push_back(seam::blob_of(b.data, b.size, 1000 + blobs.size()));
  return seam::Model(image::pack(contents), std::move(blobs));
}

/// True when every node of the main graph is SUPPORTED.
bool supported(const seam::Instance& plugin, const seam::Model& m) {
  std::vector<uint32_t> ids;
  const optima_image_graph* main = optima_get_graph(m.raw.image, 0);
  for (uint32_t k = 0; k < main->nodes.count; ++k) ids.push_back(optima_get_node(m.raw.image, main->nodes.first + k)->id);
  seam::Verdicts v;
  seam::Status status;
  REQUIRE(seam::check(plugin, m, ids, kTarget, v, status) == OPTIMA_OK);
  REQUIRE(v.reports == ids.size());
  for (const auto& [id, said] : v.by_node) {
    CHECK((said.verdict == OPTIMA_VERDICT_SUPPORTED || (said.reason != OPTIMA_REASON_NONE && !said.text.empty())));
    if (said.verdict != OPTIMA_VERDICT_SUPPORTED) return false;
  }
  return !ids.empty();
}

/// Compiles, loads and runs; empty or what went wrong.
std::string run_model(const seam::Instance& plugin, const seam::Model& m, const std::vector<reference::Tensor>& inputs, std::vector<reference::Tensor>& outputs) {
  seam::MemorySink sink;
  seam::Status status;
  if (seam::compile(plugin, m, kTarget, sink, status) != OPTIMA_OK) return "compile: " + status.message;
  const seam::Artifact artifact(sink, &m);
  if (seam::compatibility(plugin, artifact, kTarget).first != OPTIMA_COMPAT_OPTIMAL) return "check_artifact: " + seam::compatibility(plugin, artifact, kTarget).second;
  const seam::Program program(plugin, artifact, kTarget);
  if (!program.raw) return "load: " + program.status.message;
  return seam::run(program, inputs, outputs, status) == OPTIMA_OK ? "" : "execute: " + status.message;
}

/// To the bit; in type and shape where the case draws random numbers.
bool same(const std::vector<reference::Tensor>& a, const std::vector<reference::Tensor>& b, const std::string& name) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].dtype != b[k].dtype || a[k].dims != b[k].dims || a[k].size != b[k].size) return false;
    if (a[k].size && !is_random(name) && std::memcmp(a[k].data, b[k].data, a[k].size) != 0) return false;
  }
  return true;
}

/// Each node alone, as the splitter would cut it out, on the values the whole run gave it.
void run_nodes(const seam::Instance& plugin, const Graph& graph, const std::vector<reference::Tensor>& inputs, const std::string& name, Counts& counts) {
  const PackedGraph packed = pack(graph);
  std::map<std::string, reference::Tensor> values;  // names are unique among a graph's values
  const auto name_of = [&](uint32_t v) { return std::string(sdk::view(optima_string(packed.raw.image, &optima_get_value(packed.raw.image, v)->name))); };
  const optima_image_graph* main = optima_get_graph(packed.raw.image, 0);
  for (uint32_t k = 0; k < main->inputs.count; ++k) values[name_of(*optima_get_index(packed.raw.image, main->inputs.first + k))] = inputs[k];
  reference::run(packed.raw, inputs, [&](uint32_t v, const reference::Tensor& t) { values[name_of(v)] = t; });
  const Uses uses = uses_of(graph);
  for (uint32_t n = 0; n < graph.main().nodes.size(); ++n) {
    const Graph piece = extract(graph, std::span<const uint32_t>(&n, 1), uses);
    if (piece.main().outputs.empty()) continue;
    const seam::Model m = seam_model(piece);
    std::vector<reference::Tensor> in, wanted, got;
    for (uint32_t v : piece.main().inputs) in.push_back(values.at(piece.main().values[v].name));
    for (uint32_t v : piece.main().outputs) wanted.push_back(values.at(piece.main().values[v].name));
    if (!supported(plugin, m)) continue;
    const std::string why = run_model(plugin, m, in, got);
    CHECK_MESSAGE(why.empty(), name << " node " << n << ": " << why);
    CHECK_MESSAGE(same(got, wanted, name), name << " node " << n << " differs");
    ++counts.nodes;
  }
}

/// Names of free_exceptions.txt; '#' begins a comment.
std::set<std::string> free_exceptions() {
  std::ifstream in(OPTIMA_SOURCE_DIR "/tests/conformance/free_exceptions.txt");
  REQUIRE(in);
  std::set<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.insert(line.substr(0, line.find(' ')));
  return out;
}

/// The case's model with free sizes beside the one as it is, both by the reference; empty, or what is wrong. `refused`: a node is.
std::string run_free(const seam::Instance& plugin, const NodeCase& c, const Graph& fixed, bool& refused) {
  onnx_io::ImportOptions options;
  options.hash = false;
  const auto model = onnx_io::load_model((c.folder / "free.onnx").string(), options);
  if (!model) return model.status().message();
  const seam::Model m = seam_model(*model), sized = seam_model(fixed);
  if (refused = !supported(plugin, m); refused) return "";
  std::vector<reference::Tensor> wanted, got;
  try {
    wanted = reference::run(sized.raw, c.sets[0].inputs);
  } catch (const Error&) {
    return "";  // an exception of the reference's own list
  }
  const std::string why = run_model(plugin, m, c.sets[0].inputs, got);
  return !why.empty() ? why : same(got, wanted, c.name) ? "" : "differs";
}

}  // namespace

TEST_CASE("with free sizes plugins/reference gives the node tests' answers, too") {
  seam::Host host;
  host.quiet = true;
  const seam::Instance plugin(REFERENCE_PLUGIN, host);
  const std::set<std::string> known = free_exceptions();
  int passed = 0, refused = 0;
  size_t excepted = 0;
  for (const auto& path : case_folders(OPTIMA_NODE_TESTS)) {
    const NodeCase c = read_case(path);
    if (!c.not_tensors.empty() || c.sets.empty()) continue;
    onnx_io::ImportOptions options;
    options.hash = false;
    const auto fixed = onnx_io::load_model((c.folder / "model.onnx").string(), options);
    if (!fixed) continue;
    bool no = false;
    const std::string why = run_free(plugin, c, *fixed, no);
    if (known.count(c.name)) {
      ++excepted;
      CHECK_MESSAGE(!why.empty(), c.name << " is listed as an exception and passes");
      continue;
    }
    CHECK_MESSAGE(why.empty(), c.name << ": " << why);
    ++(no ? refused : passed);
  }
  CHECK(excepted == known.size());
  std::printf("plugins/reference with free sizes: %d models, %d with a refused node, %zu listed exceptions\n", passed, refused, excepted);
  CHECK(passed > 1000);
}

TEST_CASE("every node that plugins/reference says yes to compiles and runs, whole and alone") {
  seam::Host host;
  host.quiet = true;
  const seam::Instance plugin(REFERENCE_PLUGIN, host);
  REQUIRE(std::filesystem::exists(std::string(OPTIMA_NODE_TESTS) + "/stamp"));
  Counts counts;
  for (const auto& path : case_folders(OPTIMA_NODE_TESTS)) {
    const NodeCase c = read_case(path);
    if (!c.not_tensors.empty() || c.sets.empty()) continue;
    onnx_io::ImportOptions options;
    options.hash = false;
    const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
    if (!model) continue;
    const seam::Model m = seam_model(*model);
    if (!supported(plugin, m)) {
      ++counts.refused;
      continue;
    }
    std::vector<reference::Tensor> wanted, got;
    try {
      wanted = reference::run(m.raw, c.sets[0].inputs);
    } catch (const Error&) {
      continue;  // an exception of the reference's own list
    }
    const std::string why = run_model(plugin, m, c.sets[0].inputs, got);
    CHECK_MESSAGE(why.empty(), c.name << ": " << why);
    CHECK_MESSAGE(same(got, wanted, c.name), c.name << " differs");
    ++counts.whole;
    run_nodes(plugin, *model, c.sets[0].inputs, c.name, counts);
  }
  std::printf("plugins/reference: %d models whole, %d nodes alone, %d models with a refused node\n", counts.whole, counts.nodes, counts.refused);
  CHECK(counts.whole > 1000);
}
