// SPDX-License-Identifier: Apache-2.0
// core/session: how good a quantized model's answers have to be, and which units stay float for that.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/quantize/quantize.hpp"
#include "core/samples/samples.hpp"
#include "core/session/graph_runner.hpp"
#include "core/session/layers.hpp"

namespace optima {

/// A least SNR in dB, or a least cosine, of every floating-point output over all judged samples.
struct Bound {
  enum class Kind { Snr, Cosine } kind = Kind::Snr;
  double least = 0;

  std::string text() const;  ///< "snr=30"
};
/// "snr=30", "cosine=0.99". Usage.
Result<Bound> parse_bound(const std::string& text);

/// How far a model's answers are from those of the float model: of its worst output.
struct Agreement {
  double snr_db = 0, cosine = 1;
  double of(Bound::Kind kind) const { return kind == Bound::Kind::Snr ? snr_db : cosine; }
  std::string text() const;  ///< "31.2 dB, cosine 0.99962"
};

/// Runs the float model over samples once, then others of the same inputs and outputs against it. One thread at a time.
class Judge {
 public:
  /// `numbers`: of the samples to judge on, at least one. InvalidInput when the model has no float32 output.
  static Result<Judge> make(Graph graph, const Samples& samples, std::vector<uint64_t> numbers, const RunnerSettings& settings, Registry& registry);
  Result<Agreement> agreement(const Graph& quantized);
  /// compare_layers() over the first few of the samples.
  Result<std::vector<LayerFigures>> layers(const Graph& quantized);

 private:
  Judge(Graph graph, const Samples& samples, std::vector<uint64_t> numbers, const RunnerSettings& settings, Registry& registry)
      : graph_(std::move(graph)), samples_(&samples), numbers_(std::move(numbers)), settings_(settings), registry_(&registry) {}
  Status run_float();

  Graph graph_;
  const Samples* samples_;
  std::vector<uint64_t> numbers_;
  RunnerSettings settings_;
  Registry* registry_;
  std::vector<std::vector<Tensor>> wanted_;  // by sample
};

/// A unit that is not what was wanted of it, and what the answers are when it alone is quantized as wanted.
struct SpentUnit {
  uint32_t node_id = 0;
  std::string node;
  Agreement alone;
  Precision instead = Precision::F32;  ///< or A16W8
};

struct BoundedQuantization {
  Quantized quantized;
  Agreement agreement;
  std::vector<SpentUnit> left;  ///< the worst first
};

/// Quantizes within a bound. When all units together miss it, each is quantized alone (of more than 64 those whose layer's own error is largest).
/// The worst k of them become a16w8, those that `wide` (node ids) does not hold float: k doubles until the bound is kept, then the least such k below
/// is searched. Where no k keeps it, the worst become float, the others a16w8, and then as few of those as do. InvalidInput when all of them as float
/// miss it.
Result<BoundedQuantization> quantize_within(const Bound& bound, const QuantizePlan& plan, const Observations& seen, const QuantizeOptions& options,
                                            const std::set<uint32_t>& wide, Judge& judge, const ProgressReport& progress, const std::atomic<bool>* cancelled);

}  // namespace optima
