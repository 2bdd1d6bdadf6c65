// SPDX-License-Identifier: Apache-2.0
// core/quantize: what has to be seen before a graph can be quantized.
#include <map>

#include "core/quantize/fold_batch_norm.hpp"
#include "core/quantize/integer_wanted.hpp"
#include "core/quantize/quantize.hpp"
#include "core/quantize/second_order.hpp"
#include "core/quantize/sites.hpp"

namespace optima {
namespace {

using namespace detail;

constexpr int64_t kMostGram = 4096;  // channels: 128 MiB of doubles

class TapList {
 public:
  explicit TapList(const Graph& graph) : g_(graph.main()) {}

  Tap& of(uint32_t value) {
    const auto [it, fresh] = at_.try_emplace(value, taps_.size());
    if (fresh) taps_.push_back({g_.values[value].name, -1, false});
    return taps_[it->second];
  }
  std::vector<Tap> take() { return std::move(taps_); }

 private:
  const image::Graph& g_;
  std::map<uint32_t, size_t> at_;
  std::vector<Tap> taps_;
};

void tap_product(const Product& p, Precision precision, bool transformer, const QuantizeOptions& options, TapList& taps) {
  const bool smooth = options.smooth && transformer && !p.windowed && p.groups == 1;
  const bool gram = has_small_weights(precision) && options.second_order && may_round_second_order(p) && p.inputs <= kMostGram;
  if (p.input_axis < 0 || !(options.correct_bias || smooth || gram)) return;
  Tap& tap = taps.of(p.input);
  if (tap.channel_axis >= 0 && tap.channel_axis != p.input_axis) return;  // two readers see channels along different axes: the first has them
  tap.channel_axis = p.input_axis;
  tap.gram = tap.gram || gram;
}

}  // namespace

bool wants_wide_activations(const Graph& graph) { return is_transformer(graph, uses_of(graph)); }

Result<QuantizePlan> plan_quantization(Graph graph, const QuantizeOptions& options) {
  QuantizePlan plan{std::move(graph), {}};
  if (!integer_wanted(options)) return plan;
  fold_batch_norms(plan.graph);
  OPTIMA_RETURN_IF_ERROR(verify(plan.graph));
  const Sites sites = find_sites(plan.graph, uses_of(plan.graph), options);
  TapList taps(plan.graph);
  for (uint32_t v = 0; v < sites.coded.size(); ++v)
    if (sites.coded[v]) taps.of(sites.owner(v));
  for (const Product& p : sites.products) tap_product(p, sites.precision[p.node], sites.transformer, options, taps);
  plan.taps = taps.take();
  return plan;
}

}  // namespace optima
