// SPDX-License-Identifier: Apache-2.0
#include "core/session/bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/session/error_sums.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr size_t kMostAlone = 64;     // units that are quantized one at a time
constexpr size_t kLayerSamples = 4;   // that tell whose own error is large

/// One search: which units become a16w8 and which stay float.
class Search {
 public:
  Search(const Bound& bound, const QuantizePlan& plan, const Observations& seen, const QuantizeOptions& options, const std::set<uint32_t>& wide, Judge& judge,
         const ProgressReport& progress, const std::atomic<bool>* cancelled)
      : bound_(bound), plan_(plan), seen_(seen), options_(options), wide_(wide), judge_(judge), progress_(progress), cancelled_(cancelled) {}

  Result<BoundedQuantization> run() {
    OPTIMA_ASSIGN(BoundedQuantization best, leave(0, 0));
    if (kept(best.agreement)) return best;
    const Agreement all = best.agreement;
    OPTIMA_RETURN_IF_ERROR(find_units(best.quantized.graph));
    OPTIMA_RETURN_IF_ERROR(try_each());
    if (!wide_.empty()) {
      OPTIMA_ASSIGN(Found found, least(1, units_.size(), [&](size_t k) { return leave(0, k); }));
      if (kept(found.best.agreement)) return std::move(found.best);
    }
    OPTIMA_ASSIGN(Found found, least(1, units_.size(), [&](size_t k) { return leave(k, wide_.empty() ? 0 : units_.size() - k); }));
    if (!kept(found.best.agreement))
      return invalid_input(cat("--bound ", bound_.text(), ": found ", all.text(), " with all units quantized and ", found.best.agreement.text(),
                               " with the worst ", units_.size(), " of them in float"));
    if (wide_.empty() || found.count == units_.size()) return std::move(found.best);
    const size_t floats = found.count;
    OPTIMA_ASSIGN(Found fewer, least(0, units_.size() - floats, [&](size_t k) { return leave(floats, k); }));
    return std::move(fewer.best);
  }

 private:
  bool kept(const Agreement& found) const { return found.of(bound_.kind) >= bound_.least; }
  void tell(double fraction, std::string_view stage) const {
    if (progress_) progress_(fraction, stage);
  }

  struct Found {
    BoundedQuantization best;
    size_t count = 0;
  };

  /// The least count from `first` to `most` that keeps the bound, where more never is worse; `most` where none does.
  template <class Leave>
  Result<Found> least(size_t first, size_t most, const Leave& leave_some) {
    Found found;
    size_t low = first, high = std::min(first, most);  // below `low` the bound is missed
    for (;; low = high + 1, high = std::min(std::max<size_t>(high * 2, 1), most)) {
      OPTIMA_ASSIGN(found.best, leave_some(high));
      if (kept(found.best.agreement) || high == most) break;
    }
    found.count = high;
    while (kept(found.best.agreement) && low < found.count) {
      const size_t middle = low + (found.count - low) / 2;
      OPTIMA_ASSIGN(BoundedQuantization fewer, leave_some(middle));
      if (kept(fewer.agreement)) found = {std::move(fewer), middle};
      else low = middle + 1;
    }
    return found;
  }

  Result<BoundedQuantization> measure(const QuantizeOptions& options) {
    if (cancelled_ && *cancelled_) return cancelled();
    BoundedQuantization out;
    OPTIMA_ASSIGN(out.quantized, quantize_graph(plan_, seen_, options, {}, cancelled_));
    OPTIMA_ASSIGN(out.agreement, judge_.agreement(out.quantized.graph));
    return out;
  }

  /// The worst `floats` in float, the next `wides` with 16-bit activations.
  Result<BoundedQuantization> leave(size_t floats, size_t wides) {
    const size_t spent = floats + wides;
    tell(0.7, spent ? cat("judging with ", spent, " of ", units_.size(), " units in float or a16w8") : "judging");
    QuantizeOptions options = options_;
    std::vector<SpentUnit> left(units_.begin(), units_.begin() + static_cast<std::ptrdiff_t>(spent));
    for (size_t i = 0; i < spent; ++i) {
      if (i >= floats && wide_.contains(left[i].node_id)) left[i].instead = Precision::A16W8;
      options.by_node[left[i].node_id] = left[i].instead;
      options.precision_why[left[i].node_id] = cat("--bound ", bound_.text(), ": ", left[i].alone.text(), " when it alone is quantized");
    }
    OPTIMA_ASSIGN(BoundedQuantization out, measure(options));
    out.left = std::move(left);
    return out;
  }

  Status find_units(const Graph& quantized) {
    std::map<uint32_t, std::string> names;
    for (const image::Node& node : quantized.main().nodes) names[node.id] = node.name;
    for (const uint32_t id : quantized_units(quantized)) units_.push_back({id, names.at(id), {}});
    if (units_.size() <= kMostAlone) return {};
    OPTIMA_ASSIGN(const std::vector<LayerFigures> layers, judge_.layers(quantized));
    const std::map<uint32_t, double> own = own_errors(quantized, layers);
    std::stable_sort(units_.begin(), units_.end(), [&](const SpentUnit& a, const SpentUnit& b) { return own.at(a.node_id) < own.at(b.node_id); });
    units_.resize(kMostAlone);
    return {};
  }

  // dB of the layer that each unit's result becomes, maybe behind an activation.
  std::map<uint32_t, double> own_errors(const Graph& quantized, const std::vector<LayerFigures>& layers) const {
    std::map<std::string, double> by_value;
    for (const LayerFigures& layer : layers) by_value[layer.value] = layer.own->snr_db;
    const image::Graph& main = quantized.main();
    const Uses uses = uses_of(quantized);
    std::map<uint32_t, double> out;
    for (const image::Node& node : main.nodes) {
      uint32_t v = node.outputs.empty() ? OPTIMA_NONE : node.outputs[0];
      while (v != OPTIMA_NONE && !by_value.count(main.values[v].name) && uses.consumers[v].size() == 1) {
        const image::Node& reader = main.nodes[uses.consumers[v][0]];
        v = reader.outputs.empty() ? OPTIMA_NONE : reader.outputs[0];
      }
      const auto found = v == OPTIMA_NONE ? by_value.end() : by_value.find(main.values[v].name);
      out[node.id] = found == by_value.end() ? std::numeric_limits<double>::infinity() : found->second;
    }
    return out;
  }

  Status try_each() {
    for (size_t i = 0; i < units_.size(); ++i) {
      tell(0.7 + 0.2 * static_cast<double>(i) / static_cast<double>(units_.size()), cat("unit ", i + 1, " of ", units_.size(), " alone"));
      QuantizeOptions options = options_;
      const auto own = options.by_node.find(units_[i].node_id);
      const Precision precision = own == options.by_node.end() ? options.precision : own->second;
      options.precision = Precision::F32;
      options.by_node = {{units_[i].node_id, precision}};
      OPTIMA_ASSIGN(const BoundedQuantization alone, measure(options));
      units_[i].alone = alone.agreement;
    }
    std::stable_sort(units_.begin(), units_.end(),
                     [&](const SpentUnit& a, const SpentUnit& b) { return a.alone.of(bound_.kind) < b.alone.of(bound_.kind); });
    return {};
  }

  const Bound& bound_;
  const QuantizePlan& plan_;
  const Observations& seen_;
  const QuantizeOptions& options_;
  const std::set<uint32_t>& wide_;
  Judge& judge_;
  const ProgressReport& progress_;
  const std::atomic<bool>* cancelled_;
  std::vector<SpentUnit> units_;  // the worst first, once each was tried
};

}  // namespace

std::string Bound::text() const { return cat(kind == Kind::Snr ? "snr=" : "cosine=", least); }

Result<Bound> parse_bound(const std::string& text) {
  const size_t at = text.find('=');
  const std::string name = text.substr(0, at);
  const double least = at == std::string::npos ? NAN : parse_number<double>(text.substr(at + 1)).value_or(NAN);
  if ((name != "snr" && name != "cosine") || std::isnan(least))
    return usage_error(cat("--bound: found ", quote(text), ", wanted snr=DB or cosine=C, as in snr=30 or cosine=0.99"));
  if (name == "cosine" && std::fabs(least) > 1) return usage_error(cat("--bound: found ", quote(text), ", wanted a cosine from -1 to 1"));
  return Bound{name == "snr" ? Bound::Kind::Snr : Bound::Kind::Cosine, least};
}

std::string Agreement::text() const {
  const std::string db = std::isfinite(snr_db) ? cat(std::round(snr_db * 10) / 10, " dB") : "no difference";
  return cat(db, ", cosine ", std::round(cosine * 1e5) / 1e5);
}

Result<Judge> Judge::make(Graph graph, const Samples& samples, std::vector<uint64_t> numbers, const RunnerSettings& settings, Registry& registry) {
  const image::Graph& main = graph.main();
  if (std::none_of(main.outputs.begin(), main.outputs.end(), [&](uint32_t v) { return main.values[v].dtype == OPTIMA_F32; }))
    return invalid_input("--bound wants a model with a float32 output, found none");
  Judge out(std::move(graph), samples, std::move(numbers), settings, registry);
  OPTIMA_RETURN_IF_ERROR(out.run_float());
  return out;
}

Status Judge::run_float() {
  OPTIMA_ASSIGN(GraphRunner runner, GraphRunner::make(graph_, settings_, *registry_));
  for (const uint64_t number : numbers_) {
    OPTIMA_ASSIGN(const std::vector<Tensor> inputs, samples_->read(number));
    OPTIMA_ASSIGN(std::vector<Tensor> outputs, runner.run(inputs));
    wanted_.push_back(std::move(outputs));
  }
  return {};
}

Result<Agreement> Judge::agreement(const Graph& quantized) {
  OPTIMA_ASSIGN(GraphRunner runner, GraphRunner::make(quantized, settings_, *registry_));
  std::vector<detail::ErrorSums> sums(graph_.main().outputs.size());
  for (size_t s = 0; s < numbers_.size(); ++s) {
    OPTIMA_ASSIGN(const std::vector<Tensor> inputs, samples_->read(numbers_[s]));
    OPTIMA_ASSIGN(const std::vector<Tensor> outputs, runner.run(inputs));
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].dtype == OPTIMA_F32) sums[i].add(outputs[i].as<float>(), wanted_[s][i].as<float>());
  }
  Agreement worst{std::numeric_limits<double>::infinity(), 1};
  for (size_t i = 0; i < sums.size(); ++i) {
    if (graph_.main().values[graph_.main().outputs[i]].dtype != OPTIMA_F32) continue;
    const ErrorFigures one = sums[i].figures();
    worst = {std::min(worst.snr_db, one.snr_db), std::min(worst.cosine, one.cosine)};
  }
  return worst;
}

Result<std::vector<LayerFigures>> Judge::layers(const Graph& quantized) {
  LayersRequest request;
  request.samples = std::min(numbers_.size(), kLayerSamples);
  request.read = [this](uint64_t s) { return samples_->read(numbers_[s]); };
  request.runner = settings_;
  return compare_layers(graph_, quantized, request, *registry_);
}

Result<BoundedQuantization> quantize_within(const Bound& bound, const QuantizePlan& plan, const Observations& seen, const QuantizeOptions& options,
                                            const std::set<uint32_t>& wide, Judge& judge, const ProgressReport& progress, const std::atomic<bool>* cancelled) {
  return Search(bound, plan, seen, options, wide, judge, progress, cancelled).run();
}

}  // namespace optima
