// SPDX-License-Identifier: Apache-2.0
// tests: targets of plugin spirv that have more than VULKAN, and artifacts whose steps have several ways.
#pragma once

#include "core/support/json_value.hpp"
#include "tests/unit/spirv/net.hpp"

namespace optima::spirv_test {

using Tensors = std::vector<reference::Tensor>;

/// A file of limits whose GPU has these features, written as in JSON, and what `more` says, beside what VULKAN has.
struct LimitsFile {
  test::TempFolder folder;
  std::string path = folder / "limits.json";
  explicit LimitsFile(const std::string& features, const std::string& more = "") { test::put(path, "{\"features\": [" + features + "]" + more + "}"); }
};

inline Tensors numbers_for(const optima_graph& raw, bool with_nan) {
  const sdk::Graph graph(&raw);
  Tensors out;
  for (uint32_t k = 0; k < graph.input_count(); ++k) {
    void* data = nullptr;
    const sdk::Value v = graph.input(k);
    reference::Tensor t = reference::Tensor::make(v.dtype(), v.shape(), &data);
    for (int64_t i = 0; i < t.elements(); ++i)
      if (v.dtype() == OPTIMA_F32) static_cast<float*>(data)[i] = static_cast<float>((i * 7919) % 997) / 997.0F + 0.5F;
      else static_cast<int64_t*>(data)[i] = (i * 7919) % 997 - 500;
    if (with_nan && v.dtype() == OPTIMA_F32) static_cast<float*>(data)[123] = NAN;  // in the first line
    out.push_back(std::move(t));
  }
  return out;
}

/// The largest difference by the scale of what is wanted; NaN has to be where it is wanted.
inline double off(const reference::Tensor& got, const reference::Tensor& wanted) {
  const std::vector<double> a = reference::load<double>(got), b = reference::load<double>(wanted);
  if (a.size() != b.size()) return HUGE_VAL;
  double most = 0, scale = 1e-30;
  for (size_t k = 0; k < a.size(); ++k) {
    if (std::isnan(a[k]) != std::isnan(b[k])) return HUGE_VAL;
    if (!std::isnan(b[k])) most = std::max(most, std::fabs(a[k] - b[k])), scale = std::max(scale, std::fabs(b[k]));
  }
  return most / scale;
}

/// The plan's ways of each step.
inline std::vector<size_t> ways_of(const seam::MemorySink& sink) {
  const auto meta = Json::parse(sink.files.at("subgraph_0.meta"));
  std::vector<size_t> out;
  for (const auto& step : meta.at("steps")) out.push_back(step.at("ways").size());
  return out;
}

/// Workgroups of the first step's first way, and invocations of one, as "[1,1,1]".
inline std::string groups_of(const seam::MemorySink& sink) {
  const auto meta = Json::parse(sink.files.at("subgraph_0.meta"));
  return meta.at("steps").at(0).at("ways").at(0).at("groups").dump();
}
inline std::string local_of(const seam::MemorySink& sink) {
  const auto meta = Json::parse(sink.files.at("subgraph_0.meta"));
  return meta.at("kernels").at(meta.at("steps").at(0).at("ways").at(0).at("kernel").get<size_t>()).at("needs").at("local").dump();
}

/// The artifact without the last way of each step that has several.
inline const seam::MemorySink& without_plain_ways(const seam::MemorySink& from, seam::MemorySink& out) {
  out.files = from.files, out.format = from.format;
  auto meta = Json::parse(from.files.at("subgraph_0.meta"));
  for (auto& step : meta.at("steps"))
    if (step.at("ways").size() > 1) step.at("ways").erase(step.at("ways").size() - 1);
  forge(out, meta.dump(1));
  return out;
}

inline Tensors ran(Halves& halves, const seam::MemorySink& sink, const Tensors& in, const std::vector<optima_option>& options = {}) {
  const seam::Artifact artifact(sink, nullptr);
  const seam::Program program(*halves.runtime, artifact, kGpu, options);
  REQUIRE_MESSAGE(program.raw, program.status.message);
  Tensors out;
  seam::Status status;
  REQUIRE_MESSAGE(seam::run(program, in, out, status) == OPTIMA_OK, status.message);
  return out;
}

/// The net of it, compiled; two compiles give the same.
inline seam::MemorySink& made(Halves& halves, const TextNet& net, seam::MemorySink& sink, const std::vector<optima_option>& options) {
  seam::Status status;
  seam::MemorySink again;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, options) == OPTIMA_OK, status.message);
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, again, status, options) == OPTIMA_OK, status.message);
  CHECK(sink.files == again.files);
  return sink;
}

inline constexpr double kExact = 1e-5, kHalves = 2e-3;

/// A graph, and how many ways each step of it has on a target.
struct Multiplied {
  std::string text;
  std::vector<size_t> ways;
};

inline TextNet net_of(const Multiplied& m) { return TextNet("<ir_version: 8, opset_import: [\"\" : 17]> g " + m.text); }

}  // namespace optima::spirv_test
