// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/smooth.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/quantize/edit.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr double kStrengths[] = {0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9};
constexpr double kWorthwhile = 0.8;  // of the error without
constexpr double kPeakToRms = 4;     // of a channel's deviation from its mean, where only the largest magnitude is known

using Smoothed = std::map<std::string, std::vector<float>>;

// A value and the products that read it.
struct Site {
  uint32_t value;
  std::vector<const Product*> products;
};

class Smoother {
 public:
  Smoother(Graph& graph, const Uses& uses, const Sites& sites, Seen& seen, const Encodings& given)
      : graph_(graph), g_(graph.main()), uses_(uses), sites_(sites), seen_(seen), given_(given), edit_(graph) {}

  Result<Smoothed> run() {
    for (const Site& site : find()) OPTIMA_RETURN_IF_ERROR(smooth(site));
    for (const auto& [value, by] : given_.smoothed)
      if (!out_.contains(value)) return invalid_input(cat("smoothed value ", quote(value), " of the encodings given is read by no product that is quantized"));
    insert_nodes();
    return std::move(out_);
  }

 private:
  std::vector<Site> find() const {
    std::map<uint32_t, Site> by_value;
    for (const Product& p : sites_.products) {
      const image::Node& node = g_.nodes[p.node];
      if (sites_.filled[p.node]) continue;  // a Mul or a division before it would be codes, too
      const bool codes_come_in = sites_.quantized[p.node] || sites_.precision[p.node] == Precision::Dynamic;
      if (!codes_come_in || (node.op_type != "MatMul" && node.op_type != "Gemm") || p.input_axis < 0 || uses_.consumers[p.weights].size() != 1) continue;
      Site& site = by_value.try_emplace(p.input, Site{p.input, {}}).first->second;
      site.products.push_back(&p);
    }
    std::vector<Site> out;
    for (auto& [value, site] : by_value) out.push_back(std::move(site));
    return out;
  }

  Status smooth(const Site& site) {
    const std::string name = g_.values[site.value].name;
    OPTIMA_ASSIGN(std::vector<float> by, divisors_of(site, name));
    if (by.empty()) return {};
    for (const Product* p : site.products) multiply(*p, by);
    if (fold(site, by)) edit_.rename(site.value, cat(name, "/smooth"));
    else divide_by_node(site, by);
    seen_.divide(name, g_.values[g_.nodes[site.products[0]->node].inputs[0]].name, by);
    out_.emplace(name, std::move(by));
    return {};
  }

  // Empty: nothing is to be divided.
  Result<std::vector<float>> divisors_of(const Site& site, const std::string& name) {
    const Product& first = *site.products[0];
    const bool alike = std::all_of(site.products.begin(), site.products.end(),
                                   [&](const Product* p) { return p->inputs == first.inputs && p->input_axis == first.input_axis; });
    if (const auto given = given_.smoothed.find(name); given != given_.smoothed.end()) {
      if (alike && given->second.size() == static_cast<size_t>(first.inputs)) return given->second;
      return invalid_input(cat("smoothed value ", quote(name), " of the encodings given: found ", given->second.size(), " numbers, wanted ",
                               alike ? cat(first.inputs, ", one a channel") : "none: its products do not sum over one axis"));
    }
    const bool coded = given_.activations.contains(name) || std::any_of(site.products.begin(), site.products.end(), [&](const Product* p) {
      return given_.weights.contains(g_.values[p->weights].name);
    });
    if (!alike || coded) return std::vector<float>();
    codes_ = sites_.wide[sites_.owner(site.value)] ? 65535 : 255;
    largest_ = seen_.largest(name, first.inputs);
    means_ = seen_.means(name, first.inputs);
    if (largest_.empty()) return std::vector<float>();
    measure_weights(site);
    return best();
  }

  // By input channel: the largest weight, the sum of squares; by output of each product: nothing, scales follow from the largest per output.
  void measure_weights(const Site& site) {
    const auto n = static_cast<size_t>(site.products[0]->inputs);
    most_.assign(n, 0);
    columns_.clear();
    for (const Product* p : site.products) {
      const std::vector<float> w = floats_of(graph_, p->weights);
      std::vector<float>& column = columns_.emplace_back(static_cast<size_t>(p->outputs) * n);
      for (size_t e = 0; e < w.size(); ++e) {
        const auto at = static_cast<int64_t>(e);
        const auto i = static_cast<size_t>(p->input_of(at));
        float& one = column[static_cast<size_t>(p->output_of(at)) * n + i];
        one = std::max(one, std::fabs(w[e]));
        most_[i] = std::max(most_[i], std::fabs(w[e]));
      }
    }
  }

  // Empty when none is worth it.
  std::vector<float> best() const {
    std::vector<float> found, none(most_.size(), 1);
    double least = error_of(none) * kWorthwhile;
    for (double strength : kStrengths) {
      std::vector<float> by = divisors(strength);
      const double error = error_of(by);
      if (!(error < least)) continue;
      least = error;
      found = std::move(by);
    }
    return found;
  }

  std::vector<float> divisors(double strength) const {
    std::vector<float> out(most_.size());
    for (size_t c = 0; c < out.size(); ++c) {
      const double x = static_cast<double>(std::max(largest_[c], 1e-5f)), w = static_cast<double>(std::max(most_[c], 1e-5f));
      out[c] = static_cast<float>(std::clamp(std::pow(x, strength) / std::pow(w, 1 - strength), 1e-4, 1e4));
    }
    return out;
  }

  // Mean square of what the products lose: rounding of x times weights, rounding of weights times x; both uniform over a step.
  double error_of(const std::vector<float>& by) const {
    const size_t n = by.size();
    double most = 0;
    std::vector<double> power(n);  // of the divided channels
    for (size_t c = 0; c < n; ++c) {
      const double peak = static_cast<double>(largest_[c] / by[c]), mean = means_[c] / static_cast<double>(by[c]), spread = (peak - std::fabs(mean)) / kPeakToRms;
      most = std::max(most, peak);
      power[c] = mean * mean + spread * spread;
    }
    double total_power = 0;
    for (double p : power) total_power += p;
    const double step = 2 * most / codes_;
    double error = 0;
    for (const std::vector<float>& column : columns_)
      for (size_t o = 0; o < column.size() / n; ++o) {
        double squares = 0, largest = 0;
        for (size_t c = 0; c < n; ++c) {
          const double w = static_cast<double>(column[o * n + c] * by[c]);
          squares += w * w;
          largest = std::max(largest, w);
        }
        error += step * step * squares + largest / 127 * largest / 127 * total_power;
      }
    return error;
  }

  void multiply(const Product& p, const std::vector<float>& by) {
    std::vector<float> w = floats_of(graph_, p.weights);
    for (size_t e = 0; e < w.size(); ++e) w[e] *= by[static_cast<size_t>(p.input_of(static_cast<int64_t>(e)))];
    edit_.replace_floats(p.weights, w);
  }

  // Into the LayerNormalization before it, whose output nobody but the products reads.
  bool fold(const Site& site, const std::vector<float>& by) {
    const uint32_t maker = uses_.producer[site.value];
    if (maker == Uses::kNone || uses_.consumers[site.value].size() != site.products.size()) return false;
    if (std::find(g_.outputs.begin(), g_.outputs.end(), site.value) != g_.outputs.end()) return false;
    const image::Node& norm = g_.nodes[maker];
    const uint32_t scale = constant_input(graph_, norm, 1), bias = constant_input(graph_, norm, 2);
    const bool has_bias = norm.inputs.size() > 2 && norm.inputs[2] != OPTIMA_NONE;
    if (norm.op_type != "LayerNormalization" || !norm.domain.empty() || !divisible(scale, by) || (has_bias && !divisible(bias, by))) return false;
    divide(scale, by);
    if (has_bias) divide(bias, by);
    return true;
  }

  bool divisible(uint32_t constant, const std::vector<float>& by) const {
    return constant != OPTIMA_NONE && uses_.consumers[constant].size() == 1 && dims_of(graph_, constant) == std::vector<int64_t>{static_cast<int64_t>(by.size())} &&
           g_.values[constant].dtype == OPTIMA_F32;
  }

  void divide(uint32_t constant, const std::vector<float>& by) {
    std::vector<float> numbers = floats_of(graph_, constant);
    for (size_t c = 0; c < by.size(); ++c) numbers[c] /= by[c];
    edit_.replace_floats(constant, numbers);
  }

  void divide_by_node(const Site& site, const std::vector<float>& by) {
    const image::Value x = g_.values[site.value];
    std::vector<float> inverse(by.size());
    for (size_t c = 0; c < by.size(); ++c) inverse[c] = 1 / by[c];
    const int axis = site.products[0]->input_axis;
    std::vector<int64_t> dims(x.dims->size() - static_cast<size_t>(axis), 1);
    dims[0] = static_cast<int64_t>(by.size());
    const uint32_t factor = edit_.floats(cat(x.name, "/smooth_factor"), dims, inverse);
    const uint32_t y = edit_.value(cat(x.name, "/smooth"), x.dtype, x.dims);
    uint32_t before = OPTIMA_NONE;
    for (const Product* p : site.products) {
      g_.nodes[p->node].inputs[0] = y;
      before = std::min(before, p->node);
    }
    made_.emplace(before, edit_.node(cat(x.name, "/smooth"), "Mul", 14, {site.value, factor}, {y}));
  }

  void insert_nodes() {
    std::vector<image::Node> nodes;
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) {
      for (auto [it, end] = made_.equal_range(n); it != end; ++it) nodes.push_back(std::move(it->second));
      nodes.push_back(std::move(g_.nodes[n]));
    }
    g_.nodes = std::move(nodes);
  }

  Graph& graph_;
  image::Graph& g_;
  const Uses& uses_;
  const Sites& sites_;
  Seen& seen_;
  const Encodings& given_;
  Editor edit_;
  Smoothed out_;
  double codes_ = 255;                       // of the value being looked at
  std::vector<float> largest_;               // of that value, by channel
  std::vector<double> means_;
  std::vector<float> most_;                  // by input channel: the largest weight of all products
  std::vector<std::vector<float>> columns_;  // by product: magnitudes, outputs x inputs
  std::multimap<uint32_t, image::Node> made_;  // by the node they stand before
};

}  // namespace

Result<Smoothed> smooth_products(Graph& graph, const Uses& uses, const Sites& sites, Seen& seen, const Encodings& given) {
  if (!sites.transformer && given.smoothed.empty()) return Smoothed();
  return Smoother(graph, uses, sites, seen, given).run();
}

}  // namespace optima::detail
