// SPDX-License-Identifier: Apache-2.0
// core/quantize: the story. Each step is a file of its own.
#include "core/quantize/quantize.hpp"

#include <map>
#include <optional>

#include "core/quantize/activations.hpp"
#include "core/quantize/code_weights.hpp"
#include "core/quantize/integer_wanted.hpp"
#include "core/quantize/low_precision.hpp"
#include "core/quantize/smooth.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using namespace detail;

constexpr uint64_t kFewSamples = 8;
constexpr double kBeforeWeights = 0.2;  // of the whole: smoothing and ranges

// Codes of 8 and 16 bits name their scales; other types are named alone.
void say_float_types(const Graph& graph, const QuantizeOptions& options, Encodings& out) {
  for (const image::Node& node : graph.main().nodes) {
    const auto given = options.by_node.find(node.id);
    const Precision precision = given == options.by_node.end() ? options.precision : given->second;
    if (precision != Precision::F16 && precision != Precision::BF16) continue;
    for (uint32_t v : node.outputs)
      if (v != OPTIMA_NONE && graph.main().values[v].dtype == OPTIMA_F32) {
        Encoding narrow;
        narrow.dtype = precision == Precision::F16 ? OPTIMA_F16 : OPTIMA_BF16;
        out.activations.try_emplace(graph.main().values[v].name, std::move(narrow));
      }
  }
}

std::string_view word(Scheme scheme) { return scheme == Scheme::Shared ? "shared" : scheme == Scheme::Asymmetric ? "asymmetric" : "symmetric"; }
std::string_view word(RangeMethod method) {
  constexpr std::string_view kWords[] = {"mse", "minmax", "ema", "percentile", "entropy"};
  return kWords[static_cast<size_t>(method)];
}

Encodings header(const QuantizePlan& plan, const Observations& seen, const QuantizeOptions& options) {
  Encodings out;
  out.model_hash = plan.graph.model_hash;
  if (seen.samples == 0) out.data_hash = options.given.data_hash;
  out.precision = name_of(options.precision);
  out.scheme = word(options.scheme);
  out.range = options.range.method == RangeMethod::Percentile ? cat("percentile=", options.range.percentile) : std::string(word(options.range.method));
  out.samples = seen.samples;
  return out;
}

// Of the graph before insertion, but for smoothed values, which have another name.
void name_encodings(const Graph& graph, const Sites& sites, const Coding& coding, Encodings& out) {
  const image::Graph& g = graph.main();
  for (uint32_t v = 0; v < sites.coded.size(); ++v)
    if (sites.coded[v]) out.activations[g.values[v].name] = coding.activations.at(sites.owner(v));
  for (const Product& p : sites.products) {
    if (const auto w = coding.weights.find(p.node); w != coding.weights.end()) out.weights.try_emplace(g.values[p.weights].name, w->second.encoding);
    if (const auto c = coding.corrected.find(p.node); c != coding.corrected.end()) out.corrected[g.values[g.nodes[p.node].outputs[0]].name] = c->second;
    if (const auto b = coding.biases.find(p.node); b != coding.biases.end() && p.bias != OPTIMA_NONE) out.weights.try_emplace(g.values[p.bias].name, b->second.encoding);
  }
  out.left_float = sites.left_float;
}

// One sentence a reason.
void note_floats(const std::vector<LeftFloat>& left, std::vector<std::string>& notes) {
  constexpr size_t kShown = 3;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const LeftFloat& one : left) by_reason[one.why].push_back(quote(one.node));
  for (auto& [why, nodes] : by_reason) {
    const size_t count = nodes.size();
    if (count > kShown) nodes.resize(kShown);
    notes.push_back(cat(count, count == 1 ? " node stays float, " : " nodes stay float, ", why, ": ", join(nodes), count > kShown ? ", ..." : ""));
  }
}

class Story {
 public:
  Story(const QuantizePlan& plan, const Observations& seen, const QuantizeOptions& options, const std::function<void(double)>& progress, const std::atomic<bool>* cancelled)
      : observed_(seen), options_(options), progress_(progress), cancelled_(cancelled), graph_(plan.graph), seen_(seen), encodings_(header(plan, seen, options)) {}

  Result<Quantized> run() {
    say_float_types(graph_, options_, encodings_);
    if (!integer_wanted(options_)) return finish();
    find();
    OPTIMA_RETURN_IF_ERROR(smooth());
    OPTIMA_ASSIGN(coding_.activations, encode_activations(graph_, sites_, seen_, options_));
    OPTIMA_RETURN_IF_ERROR(code_weights());
    name_encodings(graph_, sites_, coding_, encodings_);
    insert_codes(graph_, sites_, coding_, options_);
    return finish();
  }

 private:
  Result<Quantized> finish() {
    LowPrecision low = to_low_precision(std::move(graph_), options_);
    encodings_.left_float.insert(encodings_.left_float.end(), low.left.begin(), low.left.end());
    OPTIMA_RETURN_IF_ERROR(verify(low.graph));
    said(1);
    std::vector<std::string> said_aloud = notes();
    return Quantized{std::move(low.graph), std::move(encodings_), std::move(said_aloud)};
  }

  Status smooth() {
    if (!options_.smooth) return {};
    OPTIMA_ASSIGN(encodings_.smoothed, smooth_products(graph_, uses_, sites_, seen_, options_.given));
    if (!encodings_.smoothed.empty()) find();
    return {};
  }

  void find() {
    uses_ = uses_of(graph_);
    sites_ = find_sites(graph_, uses_, options_);
  }

  Status code_weights() {
    for (size_t k = 0; k < sites_.products.size(); ++k) {
      if (cancelled_ && *cancelled_) return cancelled();
      said(kBeforeWeights + (1 - kBeforeWeights) * static_cast<double>(k) / static_cast<double>(sites_.products.size()));
      OPTIMA_RETURN_IF_ERROR(code_product(graph_, uses_, sites_, sites_.products[k], seen_, options_, coding_));
    }
    return {};
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    if (!coding_.activations.empty() && observed_.samples > 0 && observed_.samples < kFewSamples)
      out.push_back(cat("ranges come from ", observed_.samples, observed_.samples == 1 ? " sample" : " samples", ", wanted at least ", kFewSamples));
    note_floats(encodings_.left_float, out);
    return out;
  }

  void said(double part) const {
    if (progress_) progress_(part);
  }

  const Observations& observed_;
  const QuantizeOptions& options_;
  const std::function<void(double)>& progress_;
  const std::atomic<bool>* cancelled_;
  Graph graph_;
  Seen seen_;
  Encodings encodings_;
  Uses uses_;
  Sites sites_;
  Coding coding_;
};

}  // namespace

Result<Quantized> quantize_graph(const QuantizePlan& plan, const Observations& seen, const QuantizeOptions& options, const std::function<void(double)>& progress,
                                 const std::atomic<bool>* cancelled) {
  return Story(plan, seen, options, progress, cancelled).run();
}

}  // namespace optima
