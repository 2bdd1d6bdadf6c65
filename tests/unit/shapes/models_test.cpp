// SPDX-License-Identifier: Apache-2.0
// Walks of trained models of any size against what the reference makes of them.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "reference/tensor.hpp"
#include "tests/conformance/shape_judge.hpp"

using namespace optima;
using namespace optima::test;
using reference::Dims;
using reference::Tensor;

namespace {

Tensor ramp(Dims dims) {
  void* p = nullptr;
  Tensor t = Tensor::make(OPTIMA_F32, std::move(dims), &p);
  for (int64_t i = 0; i < t.elements(); ++i) static_cast<float*>(p)[i] = static_cast<float>(i * 37 % 101) / 101;
  return t;
}

/// The first value that the walk has otherwise than `values`, or does not have; empty when there is none.
std::string misfit(const optima_graph& graph, const reference::ShapeWalk& walk, const std::vector<Tensor>& values, int& compared) {
  for (uint32_t v = 0; v < graph.image->values.count; ++v) {
    const Tensor &made = values[v], &said = walk.at(v);
    if (made.dtype == OPTIMA_UNDEFINED) continue;
    ++compared;
    const std::string name(sdk::view(optima_string(graph.image, &optima_get_value(graph.image, v)->name)));
    if (said.dtype != made.dtype || said.dims != made.dims) return "'" + name + "' is " + reference::show(made.dims) + ", inferred " + reference::show(said.dims);
    if (said.data && (said.size != made.size || std::memcmp(said.data, made.data, said.size) != 0)) return "'" + name + "' has other elements";
  }
  return {};
}

struct Model {
  const char* file;
  std::vector<std::vector<Tensor>> inputs;
};

std::vector<Model> models() {
  const Tensor fast = reference::make_ints({}, {16000}), slow = reference::make_ints({}, {8000});
  return {
      {"mnist.onnx", {{ramp({1, 1, 28, 28})}}},
      {"version-RFB-320.onnx", {{ramp({1, 3, 240, 320})}}},
      {"dynamic/ocr_det.onnx", {{ramp({1, 3, 32, 64})}, {ramp({2, 3, 64, 32})}, {ramp({1, 3, 32, 96})}}},
      {"dynamic/ocr_rec.onnx", {{ramp({1, 3, 48, 32})}, {ramp({2, 3, 48, 57})}}},
      {"dynamic/ocr_cls.onnx", {{ramp({1, 3, 48, 192})}, {ramp({2, 3, 48, 65})}}},
      {"dynamic/voice_16k.onnx", {{ramp({1, 576}), ramp({2, 1, 128}), fast}, {ramp({3, 576}), ramp({2, 3, 128}), fast}}},
      {"dynamic/voice.onnx", {{ramp({1, 576}), ramp({2, 1, 128}), fast}, {ramp({1, 288}), ramp({2, 1, 128}), slow}, {ramp({2, 288}), ramp({2, 2, 128}), slow}}},
  };
}

/// The graph as a device may have it: without its weights.
struct Weightless {
  explicit Weightless(const optima_graph& from) : graph(from) {
    for (uint32_t k = 0; k < from.blob_count; ++k) {
      blobs.push_back(*optima_get_blob(&from, k));
      if (blobs.back().size > 8192) blobs.back().data = nullptr;  // 1,024 elements of 8 bytes
    }
    for (optima_blob& b : blobs) b.struct_size = sizeof(optima_blob);
    graph.blobs = blobs.data();
  }
  std::vector<optima_blob> blobs;
  optima_graph graph;
};

void judge(const Model& model, const PackedGraph& packed, const char* how, std::map<std::string, ShapeCount>& counts) {
  const optima_image_graph& g = *optima_get_graph(packed.raw.image, 0);
  const Weightless light(packed.raw);
  reference::ShapeWalk walk(light.graph);
  for (const std::vector<Tensor>& inputs : model.inputs) {
    walk.restart();
    for (uint32_t k = 0; k < g.inputs.count; ++k)  // shapes of all, elements of the sample rate
      walk.give(*optima_get_index(packed.raw.image, g.inputs.first + k), inputs[k].dtype == OPTIMA_I64 ? inputs[k] : without_elements(inputs[k]));
    walk.advance();
    CHECK_MESSAGE(walk.stops().empty(), model.file << " " << how << ": " << walk.stops().size() << " nodes stop");
    const std::vector<Tensor> values = all_values(packed.raw, inputs);
    int compared = 0;
    CHECK_MESSAGE(misfit(packed.raw, walk, values, compared) == "", model.file << " " << how << " at " << reference::show(inputs[0].dims));
    CHECK_MESSAGE(judge_shapes(packed.raw, values, counts) == "", model.file);
    std::printf("%-23s %-8s at %-16s: %u nodes, %zu branches taken, %d values compared\n", model.file, how, reference::show(inputs[0].dims).c_str(), g.nodes.count,
                walk.branches().size(), compared);
  }
}

}  // namespace

TEST_CASE("every shape of trained models follows from those of their inputs") {
  const std::string folder = std::string(OPTIMA_SOURCE_DIR) + "/../shared/models/";
  std::map<std::string, ShapeCount> counts;
  for (const Model& model : models()) {
    if (!std::filesystem::exists(folder + model.file)) {
      MESSAGE("SKIP: ../shared/models/" << model.file << " is not there");
      continue;
    }
    const Result<Graph> graph = onnx_io::load_model(folder + model.file);
    REQUIRE_MESSAGE(graph, std::string(graph ? "" : graph.status().message()));
    judge(model, pack(*graph), "imported", counts);
    const Result<Graph> passed = passes::run_passes(*graph);
    REQUIRE(passed);
    judge(model, pack(*passed), "passed", counts);
  }
}
