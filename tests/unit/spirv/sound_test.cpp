// SPDX-License-Identifier: Apache-2.0
// plugins/spirv over real models: what it says yes to compiles, loads and runs with the reference's answer, alone and in groups.
#include "tests/support/seam_groups.hpp"

#ifndef SPIRV_PLUGIN

TEST_CASE("plugins/spirv over real models") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include <cmath>

#include "tests/unit/spirv/harness.hpp"

using namespace optima;

namespace {

constexpr test::Sampling kSampling{3, 2, 12};  // per model
constexpr int64_t kMostWork = 4'000'000;       // elements of a piece's values: the reference is slow

/// Numbers about zero; small ones of whole types.
reference::Tensor random_tensor(const optima_graph& graph, uint32_t value, test::Random& random) {
  const sdk::Value v(&graph, value);
  void* data = nullptr;
  reference::Tensor t = reference::Tensor::make(v.dtype(), v.shape(), &data);
  std::normal_distribution<float> normal;
  for (int64_t k = 0; k < t.elements(); ++k) {
    if (v.dtype() == OPTIMA_F32) static_cast<float*>(data)[k] = normal(random);
    else if (v.dtype() == OPTIMA_I64) static_cast<int64_t*>(data)[k] = static_cast<int64_t>(random() % 2);
    else static_cast<uint8_t*>(data)[k * static_cast<int64_t>(t.size) / t.elements()] = random() % 2;
  }
  return t;
}

int64_t work_of(const PackedGraph& packed) {
  const sdk::Graph graph(&packed.raw);
  int64_t n = 0;
  for (uint32_t k = 0; k < graph.value_count(); ++k) n += std::max<int64_t>(0, graph.value(k).elements());
  return n;
}

/// The largest difference, as a share of the wanted tensor's scale.
double apart(const reference::Tensor& got, const reference::Tensor& wanted) {
  const std::vector<double> a = reference::load<double>(got), b = reference::load<double>(wanted);
  if (a.size() != b.size()) return HUGE_VAL;
  double most = 0, scale = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (std::isnan(a[k]) != std::isnan(b[k])) return HUGE_VAL;
    if (std::isfinite(b[k]) != std::isfinite(a[k])) return HUGE_VAL;
    if (std::isfinite(b[k])) most = std::max(most, std::abs(a[k] - b[k])), scale = std::max(scale, std::abs(b[k]));
  }
  return scale > 0 ? most / scale : most;
}

}  // namespace

TEST_CASE("what plugins/spirv says yes to computes what the reference does, alone and in connected groups") {
  const std::vector<std::string> paths = test::models_in({"/build/models", "/../shared/models"});
  if (paths.empty()) MESSAGE("SKIP: no models in build/models (scripts/make_models.py) or ../shared/models");
  const spirv_test::Validation validation;
  spirv_test::Halves halves;
  test::Random random(7);
  int ran = 0;
  for (const std::string& path : paths) {
    CAPTURE(path);
    const Graph graph = test::loaded(path);
    const Uses uses = uses_of(graph);
    const std::vector<uint32_t> yes = test::taken(*halves.compiler, graph, spirv_test::kGpu);
    if (yes.empty()) continue;
    for (const std::vector<uint32_t>& piece : test::sample(graph, uses, yes, kSampling, random)) {
      const Graph part = extract(graph, piece, uses);
      const PackedGraph packed = pack(part, true);
      if (work_of(packed) > kMostWork) continue;
      std::vector<reference::Tensor> in;
      const sdk::Graph view(&packed.raw);
      for (uint32_t k = 0; k < view.input_count(); ++k) in.push_back(random_tensor(packed.raw, view.input(k).index(), random));
      std::string wrong;
      const std::vector<reference::Tensor> out = spirv_test::computed(halves, packed.raw, in, wrong);
      CHECK_MESSAGE(wrong.empty(), wrong, " of", test::names_of(graph, piece));
      if (!wrong.empty()) continue;
      const std::vector<reference::Tensor> wanted = reference::run(packed.raw, in);
      for (size_t k = 0; k < out.size(); ++k) CHECK_MESSAGE(apart(out[k], wanted[k]) < 1e-4, "output ", k, " is ", apart(out[k], wanted[k]), " off, of", test::names_of(graph, piece));
      ++ran;
    }
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
  MESSAGE(ran, " pieces of ", paths.size(), " models ran");
}

#endif
