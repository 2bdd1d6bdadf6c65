// SPDX-License-Identifier: Apache-2.0
// core/compile: what backends that quantize are told of the values of their subgraph, from what is known of the whole model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/backend/calibration.hpp"
#include "core/graph/graph.hpp"
#include "core/quantize/encodings.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// Encodings and representative data of a model, as its user gave them; either may be there without the other. The functions are called
/// from any thread, by several at once.
struct CalibrationSource {
  Encodings encodings;
  uint32_t samples = 0;
  /// The model's inputs in one sample, with their names; what Samples::read() gives. Requires sample < samples.
  std::function<Result<std::vector<Tensor>>(uint32_t sample)> inputs;
  /// Values of the unsplit float model, with their names, from its inputs; those that it cannot compute are left out. Empty: none can.
  std::function<Result<std::vector<Tensor>>(const std::vector<Tensor>& inputs, const std::set<std::string>& values)> compute;
};

namespace detail {

/// The source seen from one subgraph, whose values have the model's names. Holds one sample's tensors at a time, and computes all inputs of the
/// subgraph at once, since a backend that reads one reads the others. Any thread.
class SubgraphCalibration : public Calibration {
 public:
  /// Both outlive this.
  SubgraphCalibration(const CalibrationSource& source, const image::Graph& graph) : source_(source), graph_(graph) {}
  uint32_t samples() const override { return source_.samples; }
  Result<std::optional<SampleValue>> read(uint32_t sample, uint32_t value) const override;
  std::optional<ValueCodes> encoding(uint32_t value) const override;

 private:
  Status load(uint32_t sample) const;
  Status compute(const std::string& name) const;

  const CalibrationSource& source_;
  const image::Graph& graph_;
  mutable std::mutex mutex_;  // of all below, and while the source computes: one run of the model at a time and subgraph
  mutable std::optional<uint32_t> sample_;
  mutable std::vector<Tensor> inputs_;                        // the model's
  mutable std::map<std::string, std::optional<Tensor>> values_;  // nothing = cannot be computed
};

}  // namespace detail

}  // namespace optima
