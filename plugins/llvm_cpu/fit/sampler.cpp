// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see sampler.hpp.
#include "plugins/llvm_cpu/fit/sampler.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "optima/plugin/fixed.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "plugins/llvm_cpu/fit/packed_forms.hpp"
#include "plugins/llvm_cpu/fit/whole.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "reference/tensor.hpp"

namespace optima::llvm_cpu {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

/// Sizes that models are made for, likely ones first; a first dim is a batch and is 1 first.
constexpr std::array<int64_t, 20> kLikely{224, 64, 320, 128, 48, 512, 576, 288, 256, 32, 16, 8, 100, 640, 80, 400, 160, 1536, 4, 1};
/// Where plans are apt to differ: small sizes, around vectors and tiles.
constexpr std::array<int64_t, 14> kNearby{1, 2, 3, 5, 7, 9, 13, 16, 17, 31, 33, 96, 160, 480};
constexpr std::array<int64_t, 4> kBatches{2, 3, 4, 8};
constexpr size_t kMostTries = 600, kMostSamples = 75, kMostLegs = 100;
/// What stands for a size or a number that only data tells.
constexpr int64_t kGuess = 20;

/// Kernels that read all their sizes in the run: those that move and map elements, which costs nothing and makes them few, and products on codes,
/// which costs little: short rows and few rows have kernels of their own, and of these few samples tell which sizes are open.
constexpr std::string_view kOpen[] = {"k_elementwise", "k_to_blocked", "k_from_blocked", "k_to_last", "k_from_last", "k_copy_bytes",
                                      "k_join_channels", "k_move", "k_widen", "k_narrow", "k_fill", "k_trilu", "k_range", "k_one_hot", "k_gather",
                                      "k_gather_elements", "k_gather_nd", "k_scatter_elements", "k_scatter_nd", "k_arg", "k_cumsum", "k_table",
                                      "k_pick_pixels", "k_quantize_to_last", "k_dequantize_from_last", "k_quantize_blocked",
                                      "k_dequantize_to_blocked", "k_codes_conv", "k_codes_amx", "k_codes_depthwise", "k_codes_matmul",
                                      "k_codes_matmul_amx", "k_codes_pad", "k_codes_rows", "k_codes_sums", "k_pool_codes"};

/// The open dims of the inputs: one variable for each name, one for each dim without.
class Variables {
 public:
  Variables(const optima_graph& graph, const std::vector<sdk::SizeRange>& said) : graph_(&graph), said_(said) {
    std::map<std::string, size_t> named;
    for (uint32_t k = 0; k < graph_.input_count(); ++k) {
      const sdk::Value v = graph_.input(k);
      of_.emplace_back();
      for (uint32_t d = 0; v.ranked() && d < static_cast<uint32_t>(v.rank()); ++d) {
        const std::string name(v.symbol(d));
        if (v.dim(d) >= 0) of_.back().push_back(SIZE_MAX);
        else if (const auto at = named.find(name); sdk::is_named_dim(name) && at != named.end()) of_.back().push_back(at->second);
        else of_.back().push_back(add(name, named));
        if (of_.back().back() != SIZE_MAX && d > 0) is_batch_[of_.back().back()] = false;
      }
    }
  }

  size_t count() const { return is_batch_.size(); }
  bool is_batch(size_t variable) const { return is_batch_[variable]; }
  /// What the user said of it, or null.
  const sdk::SizeRange* said(size_t variable) const { return range_[variable]; }
  /// The size that the user said matters most; else `size`, or the next to it that is allowed.
  int64_t likely(size_t variable, int64_t size) const {
    const sdk::SizeRange* range = said(variable);
    return range && range->opt >= 0 ? range->opt : allowed(variable, size);
  }
  int64_t allowed(size_t variable, int64_t size) const { return said(variable) ? said(variable)->nearest_to(size) : size; }
  bool all_ranked() const {
    for (uint32_t k = 0; k < graph_.input_count(); ++k)
      if (!graph_.input(k).ranked()) return false;
    return true;
  }
  Shapes shapes(const std::vector<int64_t>& values) const {
    Shapes out;
    for (uint32_t k = 0; k < graph_.input_count(); ++k) {
      out.push_back(graph_.input(k).shape());
      for (size_t d = 0; d < out[k].size(); ++d)
        if (of_[k][d] != SIZE_MAX) out[k][d] = values[of_[k][d]];
    }
    return out;
  }

 private:
  size_t add(const std::string& name, std::map<std::string, size_t>& named) {
    if (sdk::is_named_dim(name)) named[name] = is_batch_.size();
    is_batch_.push_back(true);
    const auto at = std::find_if(said_.begin(), said_.end(), [&](const sdk::SizeRange& r) { return r.symbol == name; });
    range_.push_back(at == said_.end() ? nullptr : &*at);
    return is_batch_.size() - 1;
  }

  sdk::Graph graph_;
  const std::vector<sdk::SizeRange>& said_;
  std::vector<std::vector<size_t>> of_;  // per input and dim: its variable, or none
  std::vector<bool> is_batch_;           // only ever a first dim
  std::vector<const sdk::SizeRange*> range_;
};

/// A step of a plan, by what it is for.
struct Site {
  std::vector<uint32_t> node_ids;
  std::string entry;
  size_t repetition;
  bool operator<(const Site& o) const { return std::tie(node_ids, entry, repetition) < std::tie(o.node_ids, o.entry, o.repetition); }
};

/// f(site, spec) for the steps of a draft that kernels compute.
template <class F>
void each_site(const Draft& draft, F&& f) {
  std::map<std::pair<std::vector<uint32_t>, std::string>, size_t> seen;
  for (const Plan::Step& step : draft.plan.steps) {
    const KernelSpec& spec = draft.specs[step.kernel];
    if (spec.entry == kReferenceEntry) continue;
    f(Site{step.node_ids, spec.entry, seen[{step.node_ids, spec.entry}]++}, spec);
  }
}

class Sampler {
 public:
  Sampler(const optima_graph& graph, const Target& target, bool winograd, const std::vector<sdk::SizeRange>& said)
      : graph_(graph), winograd_(winograd), fitter_(graph, target, winograd), variables_(graph, said) {}

  Sampled run() {
    if (!variables_.all_ranked()) {
      out_.trouble = "the rank of an input is open";
      return std::move(out_);
    }
    for (const bool truth : {true, false}) {  // what branches that hang on data may take
      truth_ = truth;
      if (!truth && !asks_for_truth_) break;
      look();
    }
    for (const Legs& legs : samples_) collect(legs);
    add_tiles();
    for (const Legs& legs : samples_) find_by_reference(legs);
    find_also();
    for (const auto& [site, specs] : sites_)
      for (const uint32_t id : site.node_ids) out_.by_reference.erase(id);
    out_.samples = samples_.size();
    return std::move(out_);
  }

 private:
  using Legs = std::vector<std::unique_ptr<Leg>>;

  /// Sizes that all rules allow, behind what is guessed of data, too; where there are none, those that the first leg's allow.
  void look() {
    tried_.clear();
    const size_t before = samples_.size();
    for (const size_t legs : {kMostLegs, size_t{1}}) {
      legs_ = legs;
      const auto first = find_first();
      if (!first) continue;
      out_.trouble.clear();
      for (const std::vector<int64_t>& values : around(*first))
        if (samples_.size() < before + kMostSamples) learn(values);
      return;
    }
  }

  enum class Empty { Refused, Allowed };

  /// Whether the rules allow these sizes, for as many legs as are looked at; and whether something that is computed is empty.
  bool allows(const std::vector<int64_t>& values, Empty empty = Empty::Allowed) {
    try {
      const Shapes shapes = variables_.shapes(values);
      for (const std::vector<int64_t>& dims : shapes) reference::count(dims);  // no larger than a tensor may be
      reference::ShapeWalk walk = fitter_.walk(shapes);
      for (size_t leg = 1; leg < legs_ && !walk.stops().empty(); ++leg) {
        for (Fitter::Found& f : guesses(walk)) walk.give(f.value, std::move(f.tensor));
        walk.advance();
      }
      return empty == Empty::Allowed || !makes_empty(walk);
    } catch (const sdk::Error& e) {
      out_.trouble = e.text;
      return false;
    }
  }

  bool makes_empty(const reference::ShapeWalk& walk) const {
    for (uint32_t v = 0; v < graph_.image->values.count; ++v)
      if (optima_get_value(graph_.image, v)->producer != OPTIMA_NONE && walk.has_shape(v) && walk.at(v).elements() == 0) return true;
    return false;
  }

  /// Batches of one and all other dims alike, with nothing empty, which tells little, if that can be had; then other dims apart; then any.
  std::optional<std::vector<int64_t>> find_first() {
    const size_t n = variables_.count();
    for (const Empty empty : {Empty::Refused, Empty::Allowed})
      for (const bool batch_is_one : {true, false})
        for (const int64_t size : kLikely) {
          std::vector<int64_t> values(n);
          for (size_t v = 0; v < n; ++v) values[v] = variables_.likely(v, batch_is_one && variables_.is_batch(v) ? 1 : size);
          if (allows(values, empty)) return values;
        }
    std::vector<size_t> digits(n, 0);
    for (size_t tries = 0; n != 0 && tries < kMostTries; ++tries) {
      std::vector<int64_t> values(n);
      for (size_t v = 0; v < n; ++v) values[v] = variables_.likely(v, variables_.is_batch(v) ? 1 : kLikely[digits[v]]);
      if (allows(values)) return values;
      for (size_t v = 0; v < n && ++digits[v] == kLikely.size(); ++v) digits[v] = 0;
    }
    return std::nullopt;
  }

  /// The first sizes, likely ones all alike, the ends of what the user said, small ones all alike (a single one that is small may be as a long row), batches
  /// of small and large ones, then those that differ from the first in one variable, then in all that are no batch. Each moved to what is allowed.
  std::vector<std::vector<int64_t>> around(const std::vector<int64_t>& first) const {
    std::vector<std::vector<int64_t>> out{first};
    const auto all = [&](int64_t size) {
      std::vector<int64_t> values = first;
      for (size_t v = 0; v < first.size(); ++v)
        if (!variables_.is_batch(v)) values[v] = size;
      out.push_back(values);
    };
    if (first.empty()) return out;
    for (const int64_t size : kLikely) all(size);
    for (size_t v = 0; v < first.size(); ++v)
      if (const sdk::SizeRange* range = variables_.said(v))
        for (const int64_t size : {range->max, range->min}) out.push_back(first), out.back()[v] = size;
    for (const int64_t size : kNearby) all(size);
    for (const int64_t size : {first[0] + 16, int64_t{96}, int64_t{256}, int64_t{7}, int64_t{1}, int64_t{3}, int64_t{32}}) {  // batches of other sizes
      all(size);
      for (size_t v = 0; v < first.size(); ++v)
        if (variables_.is_batch(v)) out.back()[v] = 3;
    }
    for (size_t v = 0; v < first.size(); ++v) {
      const auto one = [&](int64_t size) { out.push_back(first), out.back()[v] = size; };
      if (variables_.is_batch(v)) {
        for (const int64_t size : kBatches) one(size);
        continue;
      }
      for (const int64_t size : {first[v] * 2, first[v] / 2, first[v] + 1, first[v] + 32, first[v] * 3}) one(size);
      for (const int64_t size : kNearby) one(size);
    }
    for (std::vector<int64_t>& values : out)
      for (size_t v = 0; v < first.size(); ++v) values[v] = variables_.allowed(v, values[v]);
    return out;
  }

  /// Plans all legs at these sizes, with guesses for what data decides.
  void learn(const std::vector<int64_t>& values) {
    if (std::find(tried_.begin(), tried_.end(), values) != tried_.end()) return;
    tried_.push_back(values);
    if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v < 1; }) || (tried_.size() > 1 && !allows(values))) return;
    Legs legs;
    try {
      legs.push_back(fitter_.first(variables_.shapes(values)));
      while (!legs.back()->is_last && legs.size() < kMostLegs) legs.push_back(fitter_.next(*legs.back(), guesses(legs.back()->walk)));
    } catch (const sdk::Error& e) {
      if (legs.empty()) {
        out_.trouble = e.text;
        return;
      }  // a guess was wrong: the legs before it are what they are
    }
    for (const auto& leg : legs) {
      each_site(leg->draft, [&](const Site& site, const KernelSpec& spec) {
        sites_[site].push_back(spec);
        if (spec.words && !spec.words->hints.empty()) seen_.push_back(spec);
      });
      std::string().swap(leg->draft.constants);  // nobody asks for what was computed, and of many samples it is much
    }
    if (samples_.empty()) out_.shapes = variables_.shapes(values);
    shapes_.push_back(variables_.shapes(values));
    samples_.push_back(std::move(legs));
  }

  std::vector<Fitter::Found> guesses(const reference::ShapeWalk& walk) {
    std::vector<Fitter::Found> out;
    for (const reference::ShapeWalk::Stop& stop : walk.stops()) {
      const optima_node& node = *optima_get_node(graph_.image, stop.node);
      if (stop.wants != OPTIMA_NONE) {
        const uint32_t v = optima_input(graph_.image, &node, stop.wants);
        out.push_back({v, elements(sdk::Value(&graph_, v).dtype(), walk.at(v).dims)});
        continue;
      }
      for (uint32_t k = 0; k < node.outputs.count; ++k)
        if (const uint32_t v = optima_output(graph_.image, &node, k); v != OPTIMA_NONE) out.push_back({v, shape(sdk::Value(&graph_, v))});
    }
    return out;
  }

  static reference::Tensor shape(const sdk::Value& v) {
    if (!v.ranked()) throw sdk::Error(OPTIMA_UNSUPPORTED, "the rank of " + std::string(v.name()) + " is open");
    reference::Tensor t;
    t.dtype = v.dtype(), t.dims = v.shape();
    for (int64_t& d : t.dims) d = d < 0 ? kGuess : d;
    return t;
  }

  reference::Tensor elements(int32_t dtype, const std::vector<int64_t>& dims) {
    void* data = nullptr;
    reference::Tensor t = reference::Tensor::make(dtype, dims, &data);
    asks_for_truth_ = asks_for_truth_ || dtype == OPTIMA_BOOL;
    fill(dtype, t.elements(), data, truth_);
    return t;
  }

  static void fill(int32_t dtype, int64_t count, void* data, bool truth) {
    for (int64_t i = 0; i < count; ++i) {
      if (dtype == OPTIMA_I64) static_cast<int64_t*>(data)[i] = kGuess;
      if (dtype == OPTIMA_I32) static_cast<int32_t*>(data)[i] = static_cast<int32_t>(kGuess);
      if (dtype == OPTIMA_F32) static_cast<float*>(data)[i] = 1;
      if (dtype == OPTIMA_BOOL) static_cast<uint8_t*>(data)[i] = truth;
    }
  }

  /// The words that may be slots and that differ among the specs of the site, or of any site with this kernel: what is fixed here by the
  /// sizes that were tried is open there. Of products alone: whether K and N are open is a matter of the site.
  std::vector<uint32_t> slots(const Site& site, const KernelSpec& spec) const {
    if (std::find(std::begin(kOpen), std::end(kOpen), spec.entry) != std::end(kOpen)) return sizes(spec);
    const bool is_product = spec.entry.find("matmul") != std::string::npos;
    std::set<uint32_t> out;
    for (const auto& [other, all] : sites_) {
      if (other.entry != spec.entry || (is_product && other.node_ids != site.node_ids)) continue;
      for (const uint32_t word : sizes(spec)) {
        const auto differs = [&](const KernelSpec& o) { return o.literals.size() == spec.literals.size() && o.expression == all[0].expression && o.literals[word] != all[0].literals[word]; };
        if (word < all[0].literals.size() && std::any_of(all.begin(), all.end(), differs)) out.insert(word);
      }
    }
    return {out.begin(), out.end()};
  }

  /// A chain whose rows are one vector at all sizes, as in blocked images: to see in the run where a row ends takes longer than the row. So it has
  /// a kernel that knows, besides the one for rows of any length.
  bool has_rows_of_one_vector(const Site& site, const KernelSpec& spec) const {
    if (spec.expression.empty()) return false;
    const uint32_t length = row_words(spec.expression).length;
    const auto is_one = [&](const KernelSpec& s) { return s.expression != spec.expression || s.literals[length] == fitter_.target().vector_width; };
    const std::vector<KernelSpec>& all = sites_.at(site);
    return is_one(spec) && std::all_of(all.begin(), all.end(), is_one);
  }

  static std::vector<uint32_t> all_but_rows(const KernelSpec& spec) {
    const RowWords row = row_words(spec.expression);
    std::vector<uint32_t> out = sizes(spec);
    std::erase_if(out, [&](uint32_t word) { return word == row.length || word == row.chunk; });
    return out;
  }

  void add_once(const KernelSpec& kernel) {
    if (std::find(out_.kernels.begin(), out_.kernels.end(), kernel) == out_.kernels.end()) out_.kernels.push_back(kernel);
  }

  bool has(const KernelSpec& spec) const {
    return std::any_of(out_.kernels.begin(), out_.kernels.end(), [&](const KernelSpec& k) { return matches(k, spec); });
  }

  /// Plans the sample again with the kernels that there are, and adds those that it wants besides.
  void collect(const Legs& legs) {
    PlannerOptions options;
    options.winograd = winograd_;
    options.by_reference = [](const NodeView&) { return false; };
    if (!out_.kernels.empty()) options.is_bad = [&](const KernelSpec& spec) { return !has(spec); };
    for (const auto& leg : legs) {
      if (!leg->stretch) continue;
      const Draft draft = plan_graph({&leg->stretch->graph()}, fitter_.target(), options);
      each_site(draft, [&](const Site& site, const KernelSpec& spec) {
        const bool is_open = variables_.count() != 0 && sites_.count(site);
        if (is_open && has_rows_of_one_vector(site, spec)) add_once(general(spec, all_but_rows(spec))), add_once(general(spec, sizes(spec)));
        else if (!has(spec)) out_.kernels.push_back(is_open ? general(spec, slots(site, spec)) : spec);
      });
    }
  }

  /// Sizes whose plans pack weights otherwise than those before them, as far as there is room. A form of few bytes is packed in no time.
  void find_also() {
    constexpr uint64_t kWorthIt = 1 << 16;
    PackedForms forms;
    uint64_t room = 0;
    for (size_t k = 0; k < samples_.size(); ++k) {
      const Leg& leg = *samples_[k].front();
      const uint64_t bytes = forms.new_bytes(leg);
      if (k == 0) room = 2 * bytes;
      else if (bytes < kWorthIt || bytes > room || out_.also.size() == kMostAlso) continue;
      else room -= bytes, out_.also.push_back(shapes_[k]);
      forms.add(leg);
    }
  }

  /// A general kernel keeps the tile of the sizes it was made for. Where that does badly at others, a second kernel has a tile of these.
  void add_tiles() {
    std::vector<KernelSpec> more;
    for (KernelSpec& kernel : out_.kernels) {
      std::vector<KernelSpec> tiles = tiles_of(kernel);
      if (tiles.empty()) continue;
      kernel = tiles[0];
      std::erase_if(tiles, [&](const KernelSpec& tile) { return suits(kernel, tile); });
      if (!tiles.empty()) more.push_back(most_useful(tiles));
    }
    out_.kernels.insert(out_.kernels.end(), more.begin(), more.end());
  }

  /// This kernel with the tiles that samples want of it, likely samples first, without those that another one does as well and its own badly.
  std::vector<KernelSpec> tiles_of(const KernelSpec& kernel) const {
    std::vector<KernelSpec> all;
    for (const KernelSpec& spec : seen_) {
      if (!matches(kernel, spec)) continue;
      KernelSpec tile = kernel;
      for (const uint32_t hint : spec.words->hints) tile.literals[hint] = spec.literals[hint];
      if (std::find(all.begin(), all.end(), tile) == all.end()) all.push_back(tile);
    }
    const std::vector<KernelSpec> every = all;
    std::erase_if(all, [&](const KernelSpec& tile) {
      return std::any_of(every.begin(), every.end(), [&](const KernelSpec& other) { return suits(other, tile) && !suits(tile, other); });
    });
    return all;
  }

  /// The tile that suits most of them, of several the largest.
  static KernelSpec most_useful(const std::vector<KernelSpec>& tiles) {
    const auto use = [&](const KernelSpec& tile) {
      const auto suited = std::count_if(tiles.begin(), tiles.end(), [&](const KernelSpec& other) { return suits(tile, other); });
      return std::pair(suited, tile.literals[tile.words->hints[0]]);
    };
    return *std::max_element(tiles.begin(), tiles.end(), [&](const KernelSpec& a, const KernelSpec& b) { return use(a) < use(b); });
  }

  void find_by_reference(const Legs& legs) {
    for (const auto& leg : legs) {
      for (const uint32_t n : leg->runs) out_.by_reference.insert(optima_get_node(graph_.image, n)->id);
      const std::set<uint32_t> ids = nodes_by_reference(leg->draft);
      out_.by_reference.insert(ids.begin(), ids.end());
    }
  }

  const optima_graph& graph_;
  bool winograd_;
  Fitter fitter_;
  Variables variables_;
  size_t legs_ = kMostLegs;
  bool truth_ = true, asks_for_truth_ = false;
  std::vector<std::vector<int64_t>> tried_;
  std::vector<Legs> samples_;
  std::vector<Shapes> shapes_;  // of the inputs in them
  std::vector<KernelSpec> seen_;  // specs with hints, of likely samples first
  std::map<Site, std::vector<KernelSpec>> sites_;
  Sampled out_;
};

}  // namespace

bool needs_fitting(const optima_graph& graph) {
  const GraphView view{&graph};
  const optima_image_graph& entry = *optima_get_graph(graph.image, 0);
  for (uint32_t v = 0; v < entry.values.count; ++v)
    if (!view.is_static(entry.values.first + v) && view.value(entry.values.first + v).kind == OPTIMA_KIND_TENSOR) return true;
  for (uint32_t n = 0; n < entry.nodes.count; ++n)
    if (const NodeView node{view, optima_get_node(graph.image, entry.nodes.first + n)}; judge(node) || reads_outside(node)) return true;
  return false;
}

Sampled sample(const optima_graph& graph, const Target& target, bool winograd, const std::vector<sdk::SizeRange>& said) {
  return Sampler(graph, target, winograd, said).run();
}

}  // namespace optima::llvm_cpu
