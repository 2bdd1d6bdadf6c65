// SPDX-License-Identifier: Apache-2.0
#include "core/compile/self_test.hpp"

#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/npy.hpp"

namespace optima::detail {
namespace {

constexpr uint64_t kSeed = 1;

Status add_tensors(PackageWriter& writer, std::string_view what, const std::vector<Tensor>& tensors) {
  for (size_t k = 0; k < tensors.size(); ++k)
    OPTIMA_RETURN_IF_ERROR(writer.add_file(cat("self_test/", what, "_", k, ".npy"), write_npy(tensors[k])));
  return {};
}

}  // namespace

Status add_self_test(const Graph& graph, const Registry& registry, PackageWriter& writer, const std::atomic<bool>* cancelled) {
  std::vector<Tensor> inputs;
  for (const TensorInfo& wanted : input_infos(graph)) {
    OPTIMA_ASSIGN(Tensor t, random_tensor(wanted, kSeed));
    inputs.push_back(std::move(t));
  }
  Result<std::vector<Tensor>> outputs = run_reference(graph, inputs, evaluate_by_plugins(registry), {}, cancelled);
  if (outputs.status().kind() == StatusKind::Cancelled) return outputs.status();
  if (!outputs.ok()) return outputs.status().within("self test");
  OPTIMA_RETURN_IF_ERROR(add_tensors(writer, "input", inputs));
  return add_tensors(writer, "output", *outputs);
}

}  // namespace optima::detail
