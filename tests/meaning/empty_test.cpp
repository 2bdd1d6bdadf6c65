// SPDX-License-Identifier: Apache-2.0
// What operators make of tensors without elements, on every backend: what is taken gives the reference's answer, also in a context
// that has just run with elements; what is refused is refused with a sentence; nothing crashes.
#include "tests/meaning/empty_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "core/passes/pipeline.hpp"
#include "tests/unit/openvino/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

using Random = std::mt19937_64;

/// The text with numbers for N and K.
std::string sized(const std::string& text, const Fill& fill) {
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    const bool alone = k > 0 && std::strchr("[,", text[k - 1]) && k + 1 < text.size() && std::strchr("],", text[k + 1]);
    if (alone && (text[k] == 'N' || text[k] == 'K')) out += std::to_string(text[k] == 'N' ? fill.n : fill.k);
    else out += text[k];
  }
  return out;
}

Graph load(const std::string& text) {
  auto graph = onnx_io::load_text("<ir_version: 10, opset_import: [\"\" : 21]> " + text, "empty");
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  auto passed = passes::run_passes(std::move(*graph));
  REQUIRE_MESSAGE(passed.ok(), passed.status().message());
  return std::move(*passed);
}

seam::Model model_of(const Graph& graph) {
  std::vector<optima_blob> blobs;
  for (const Blob& b : graph.blobs) blobs.push_back(seam::blob_of(b.data, b.size, 1000 + blobs.size()));
  return seam::Model(image::pack(graph.contents), std::move(blobs));
}

std::vector<reference::Tensor> inputs_of(const Graph& graph, const Fill& fill, Random& random) {
  std::vector<reference::Tensor> all;
  for (const uint32_t v : graph.main().inputs) {
    const image::Value& value = graph.main().values[v];
    std::vector<int64_t> dims;
    for (const image::Dim& d : *value.dims) dims.push_back(d.value >= 0 ? d.value : d.symbol == "N" ? fill.n : fill.k);
    void* p = nullptr;
    const reference::Tensor t = reference::Tensor::make(value.dtype, dims, &p);
    for (int64_t k = 0; k < t.elements(); ++k) {
      if (value.dtype == OPTIMA_F32) static_cast<float*>(p)[k] = (static_cast<float>(random() % 4001) / 1000 - 2) * fill.scale;
      if (value.dtype == OPTIMA_I64) static_cast<int64_t*>(p)[k] = fill.number;
      if (value.dtype == OPTIMA_BOOL) static_cast<bool*>(p)[k] = fill.truth;
    }
    all.push_back(t);
  }
  return all;
}

std::string shape_text(const std::vector<int64_t>& dims) {
  std::string s = "[";
  for (size_t k = 0; k < dims.size(); ++k) s += (k ? "," : "") + std::to_string(dims[k]);
  return s + "]";
}

/// Empty, or how they differ.
std::string difference(const std::vector<reference::Tensor>& got, const std::vector<reference::Tensor>& want, bool shapes_only) {
  if (got.size() != want.size()) return "other number of outputs";
  for (size_t k = 0; k < got.size(); ++k) {
    const std::string what = "output " + std::to_string(k);
    if (got[k].dtype != want[k].dtype) return what + ": other type";
    if (got[k].dims != want[k].dims) return what + ": shape " + shape_text(got[k].dims) + ", wanted " + shape_text(want[k].dims);
    if (shapes_only) continue;
    if (got[k].dtype != OPTIMA_F32) {
      if (got[k].size && std::memcmp(got[k].data, want[k].data, got[k].size) != 0) return what + ": other values";
      continue;
    }
    const auto *g = static_cast<const float*>(got[k].data), *w = static_cast<const float*>(want[k].data);
    for (int64_t i = 0; i < got[k].elements(); ++i)
      if (!(g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i])) || std::abs(g[i] - w[i]) <= 1e-4 * std::max(1.0f, std::abs(w[i]))))
        return what + ": " + std::to_string(g[i]) + ", wanted " + std::to_string(w[i]);
  }
  return "";
}

struct Counts {
  int taken = 0, refused = 0, runs = 0;
};

/// A backend: what compiles and what runs, which may be one file.
class Backend {
 public:
  Backend(const char* kind, const std::string& compiles, const std::string& runs)
      : openvino_(compiles == runs), target_(seam::device(kind, "x86_64")), compiler_(compiles, host_), runtime_(runs, host_) {
    host_.quiet = true;
  }

  /// Asks, compiles and loads the graph; runs it with each of `fills`, on one context, and compares.
  void use(const Graph& graph, const EmptyCase& c, const std::vector<Fill>& fills, Random& random, Counts& counts) {
    if (graph.main().nodes.empty()) return;  // nothing but constants
    const seam::Model model = model_of(graph);
    if (!takes(graph, model)) {
      ++counts.refused;
      return;
    }
    ++counts.taken;
    FileSink sink;
    seam::Status status;
    const int32_t code = seam::compile(compiler_, model, target_, sink, status);
    CHECK_MESSAGE(code == OPTIMA_OK, std::string(c.graph) << ": " << status.message);
    if (code != OPTIMA_OK) return;
    sink.take();
    const seam::Artifact artifact(sink, &model);
    host_.write(artifact);
    const seam::Program program(runtime_, artifact, target_);
    REQUIRE_MESSAGE(program.raw, std::string(c.graph) << ": " << program.status.message);
    optima_context* context = nullptr;
    REQUIRE(runtime_.runtime().context_create(program.raw, &context, &status.raw) == OPTIMA_OK);
    for (const Fill& fill : fills) run(graph, model, c, fill, random, program, context, counts);
    runtime_.runtime().context_destroy(context);
  }

 private:
  bool takes(const Graph& graph, const seam::Model& model) {
    std::vector<uint32_t> ids;
    for (const image::Node& n : graph.main().nodes) ids.push_back(n.id);
    seam::Verdicts verdicts;
    seam::Status status;
    REQUIRE_MESSAGE(seam::check(compiler_, model, ids, target_, verdicts, status) == OPTIMA_OK, status.message);
    bool all = true;
    for (const auto& [id, said] : verdicts.by_node) {
      if (said.verdict == OPTIMA_VERDICT_SUPPORTED) continue;
      all = false;
      CHECK(said.reason != OPTIMA_REASON_NONE);
      CHECK(!said.text.empty());
    }
    return all;
  }

  void run(const Graph& graph, const seam::Model& model, const EmptyCase& c, const Fill& fill, Random& random, const seam::Program& program, optima_context* context,
           Counts& counts) {
    const std::vector<reference::Tensor> in = inputs_of(graph, fill, random), want = reference::run(model.raw, in);
    std::vector<reference::Tensor> got;
    seam::Status status;
    const int32_t code = seam::run_on(context, program, in, got, status);
    const bool empty = sized(c.graph, fill) != sized(c.graph, {std::max<int64_t>(fill.n, 1), std::max<int64_t>(fill.k, 1)});
    if (code != OPTIMA_OK) {
      CHECK_MESSAGE((openvino_ && c.openvino_stops && empty && !status.message.empty()), std::string(c.graph) << " with N " << fill.n << ", K " << fill.k << ": " << status.message);
      return;
    }
    ++counts.runs;
    const std::string wrong = difference(got, want, openvino_ && *c.openvino_differs && empty);
    CHECK_MESSAGE(wrong.empty(), std::string(c.graph) << " with N " << fill.n << ", K " << fill.k << ", number " << fill.number << ", " << fill.truth << ", scale " << fill.scale << ": " << wrong);
  }

  const bool openvino_;
  FileHost host_;
  const optima_device target_;
  const seam::Instance compiler_, runtime_;
};

/// Every fill in its order, then some drawn: emptiness before, between and after runs with elements.
std::vector<Fill> drawn(const EmptyCase& c, Random& random) {
  std::vector<Fill> all = c.fills;
  for (int k = 0; k < 6; ++k) all.push_back(c.fills[random() % c.fills.size()]);
  return all;
}

/// Every case with no elements, its sizes known before.
Counts with_sizes(Backend& backend, Random& random) {
  Counts counts;
  for (const EmptyCase& c : empty_cases())
    for (const Fill& fill : c.fills)
      if (fill.n == 0 || fill.k == 0) backend.use(load(sized(c.graph, fill)), c, {fill, fill}, random, counts);
  return counts;
}

void print(const char* what, const Counts& counts) { std::printf("%s: %d graphs taken, %d refused, %d runs compared\n", what, counts.taken, counts.refused, counts.runs); }

}  // namespace

TEST_CASE("the reference gives what has no elements the shape that ONNX infers") {
  Random random(1);
  int compared = 0;
  for (const EmptyCase& c : empty_cases())
    for (const Fill& fill : c.fills) {
      const Graph graph = load(sized(c.graph, fill));
      const seam::Model model = model_of(graph);
      const std::vector<reference::Tensor> got = reference::run(model.raw, inputs_of(graph, fill, random));
      for (size_t k = 0; k < got.size(); ++k) {
        const image::Value& value = graph.main().values[graph.main().outputs[k]];
        REQUIRE_MESSAGE(value.dims->size() == got[k].dims.size(), std::string(c.graph));
        for (size_t d = 0; d < got[k].dims.size(); ++d) {
          if ((*value.dims)[d].value < 0) continue;
          CHECK_MESSAGE((*value.dims)[d].value == got[k].dims[d], std::string(c.graph));
          ++compared;
        }
      }
    }
  CHECK(compared > 300);
}

#ifdef LLVM_CPU_PLUGIN
TEST_CASE("llvm_cpu takes tensors without elements and gives the reference's answer, or refuses them") {
  Backend backend("X64", LLVM_CPU_PLUGIN, LLVM_CPU_RT_PLUGIN);
  Random random(2);
  const Counts counts = with_sizes(backend, random);
  print("llvm_cpu", counts);
  CHECK(counts.taken > 20);
}
#endif

#ifdef OPENVINO_PLUGIN
TEST_CASE("openvino takes what may have no elements and gives the reference's answer whatever ran before, or refuses it") {
  Backend backend("X64", OPENVINO_PLUGIN, OPENVINO_PLUGIN);
  Random random(3);
  Counts counts;
  for (const EmptyCase& c : empty_cases()) backend.use(load(c.graph), c, drawn(c, random), random, counts);
  print("openvino, sizes known when it runs", counts);
  CHECK(counts.taken > 80);
}

TEST_CASE("openvino takes tensors without elements and gives the reference's answer, or refuses them") {
  Backend backend("X64", OPENVINO_PLUGIN, OPENVINO_PLUGIN);
  Random random(4);
  const Counts counts = with_sizes(backend, random);
  print("openvino, sizes known before", counts);
}
#else
TEST_CASE("openvino and tensors without elements") { MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there"); }
#endif
