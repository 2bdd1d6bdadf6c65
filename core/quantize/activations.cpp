// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/activations.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr float kLeastShare = 0.5f;  // of the output's step that an input's step must be for a Concat to be a copy

class Maker {
 public:
  Maker(const Graph& graph, Sites& sites, const Seen& seen, const QuantizeOptions& options) : g_(graph.main()), graph_(graph), sites_(sites), seen_(seen), options_(options) {}

  Result<std::map<uint32_t, Encoding>> run() {
    for (uint32_t v = 0; v < g_.values.size(); ++v)
      if (sites_.coded[v]) members_[sites_.owner(v)].push_back(v);
    for (const auto& [owner, members] : members_) {
      OPTIMA_ASSIGN(Encoding made, encode(owner, members));
      encodings_.emplace(owner, std::move(made));
    }
    for (uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (sites_.quantized[n] && !sites_.filled[n] && kind_of(graph_, g_.nodes[n]) == Kind::Concat) share(g_.nodes[n]);
    return std::move(encodings_);
  }

 private:
  const std::string& name(uint32_t v) const { return g_.values[v].name; }

  Result<Encoding> encode(uint32_t owner, const std::vector<uint32_t>& members) {
    for (uint32_t v : members)
      if (const Encoding* given = find_given(v)) {
        fixed_.insert(owner);
        if (given->axis >= 0 || given->scale.size() != 1 || given->zero_point.size() != 1)
          return invalid_input(cat("encoding of ", quote(name(v)), " has ", given->scale.size(), " scales, wanted 1: it is no weight"));
        return *given;
      }
    const int bits = sites_.wide[owner] ? 16 : 8;
    if (is_made_by(owner, "Softmax")) return encoding_of_range(0, 1 - std::ldexp(1.0, -bits), options_.scheme, bits);
    if (bits == 16 && is_made_by(owner, "Sigmoid")) return whole_range(-16, 0);
    if (bits == 16 && is_made_by(owner, "Tanh")) return whole_range(-15, 32768);
    if (const auto range = seen_.divided_range(name(owner))) return encoding_of_range(range->first, range->second, options_.scheme, bits);
    const ValueStatistics* seen = seen_.find(name(owner));
    if (!seen) return invalid_input(cat("value ", quote(name(owner)), " was not observed and has no encoding given"));
    return encode_range(name(owner), *seen, options_.range, options_.scheme, bits);
  }

  // Of Softmax, Sigmoid and Tanh the range is known beforehand, and kernels count on it: for 8-bit codes of Softmax on steps of 1/256, for 16-bit ones of
  // the others on all codes being used (onnxruntime-qnn puts these steps in place of any others).
  bool is_made_by(uint32_t owner, std::string_view op) const {
    return std::any_of(g_.nodes.begin(), g_.nodes.end(), [&](const image::Node& n) { return n.op_type == op && n.domain.empty() && n.outputs[0] == owner; });
  }

  // 16-bit codes with steps of a power of two.
  static Encoding whole_range(int exponent, int32_t zero) {
    const float step = std::ldexp(1.0F, exponent);
    return {OPTIMA_U16, {step}, {zero}, -1, 0, static_cast<float>(-zero) * step, static_cast<float>(65535 - zero) * step};
  }

  // A float type means that nothing is said of it.
  const Encoding* find_given(uint32_t v) const {
    const auto it = options_.given.activations.find(name(v));
    return it == options_.given.activations.end() || it->second.scale.empty() ? nullptr : &it->second;
  }

  void share(const image::Node& concat) {
    const uint32_t out = sites_.owner(concat.outputs[0]);
    if (!encodings_.contains(out) || !all_alike(concat, out)) return;
    for (uint32_t v : concat.inputs) {
      const uint32_t owner = sites_.owner(v);
      if (g_.values[v].constant != OPTIMA_NONE || owner == out) continue;
      sites_.root[owner] = out;
      encodings_.erase(owner);
    }
  }

  bool all_alike(const image::Node& concat, uint32_t out) const {
    const Encoding& whole = encodings_.at(out);
    return std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](uint32_t v) {
      const uint32_t owner = sites_.owner(v);
      if (g_.values[v].constant != OPTIMA_NONE || owner == out) return true;
      const auto it = encodings_.find(owner);
      return it != encodings_.end() && !fixed_.contains(owner) && it->second.dtype == whole.dtype && it->second.scale[0] >= kLeastShare * whole.scale[0];
    });
  }

  const image::Graph& g_;
  const Graph& graph_;
  Sites& sites_;
  const Seen& seen_;
  const QuantizeOptions& options_;
  std::map<uint32_t, std::vector<uint32_t>> members_;  // by owner
  std::map<uint32_t, Encoding> encodings_;             // by owner
  std::set<uint32_t> fixed_;                           // owners whose encoding was given
};

}  // namespace

Result<std::map<uint32_t, Encoding>> encode_activations(const Graph& graph, Sites& sites, const Seen& seen, const QuantizeOptions& options) {
  return Maker(graph, sites, seen, options).run();
}

}  // namespace optima::detail
