// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see sampler.hpp.
#include "plugins/llvm_cpu/fit/sampler.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "optima/plugin/reads.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/fit/draws.hpp"
#include "plugins/llvm_cpu/fit/guesses.hpp"
#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "plugins/llvm_cpu/fit/kernels.hpp"
#include "plugins/llvm_cpu/fit/mentioned.hpp"
#include "plugins/llvm_cpu/fit/packed_forms.hpp"
#include "plugins/llvm_cpu/fit/whole.hpp"
#include "reference/tensor.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr size_t kMostSamples = 75, kMostLegs = 100, kGuesses = 36, kMostMentioned = 200;
/// Ranks to assume of an input without one, sets of them, and rounds over the inputs.
constexpr size_t kMostRank = 4, kMostRanks = 4;
constexpr int kRankRounds = 2;
/// Draws at most, and so many in a row that want no further kernel, after which none is expected to; fewer where the draws plan more nodes than this.
constexpr size_t kMostDraws = 600, kQuiet = 64, kLeastQuiet = 8, kManyNodes = 1 << 17;
/// What data may decide, beyond all other guesses.
constexpr int64_t kFarCount = 3000;
/// Nodes that are looked at to free dims.
constexpr int64_t kManyWalks = 1 << 16;
/// Bytes of constants that plans of draws compute, after which there are no more draws: of codes they are large, and take most of the time.
constexpr uint64_t kMostComputed = uint64_t{1} << 30;

class Sampler {
 public:
  Sampler(const optima_graph& graph, const Target& target, bool winograd, const std::vector<sdk::SizeRange>& said)
      : graph_(graph), said_(said), fitter_(graph, target, winograd), dims_(graph, said), mentioned_(mentions_of(graph, kMostMentioned)), kernels_(fitter_.target(), winograd) {
    for (uint32_t n = 0; n < graph.image->nodes.count; ++n) places_[optima_get_node(graph.image, n)->id] = n;
  }

  Sampled run() {
    for (const Ranks& ranks : likely_ranks()) look(ranks);
    for (size_t rank = kMostRank; samples_.empty() && has_open_rank() && rank > 0; --rank) look(Ranks(sdk::Graph(&graph_).input_count(), rank));
    for (const Legs& legs : samples_) kernels_.collect(legs, dims_.count() != 0 || has_stops_);
    kernels_.add_tiles();
    find_by_reference();
    find_also();
    out_.samples = samples_.size();
    samples_.clear();
    for (const Start& start : starts_) draw(start);
    out_.kernels = kernels_.take();
    if (out_.samples) find_unreached();
    return std::move(out_);
  }

 private:
  /// Where the search for samples begins.
  struct Start {
    Guess base;
    size_t legs;                 ///< as many as the rules allow at the first sizes: all, or one
    Ranks ranks;                 ///< that are assumed
    std::vector<Sizes> allowed;  ///< of those that were planned
    OpenDims dims;               ///< with what the first sizes told of them
  };

  void assume(const Ranks& ranks) {
    ranks_ = ranks;
    dims_ = OpenDims(graph_, said_, ranks);
  }

  bool has_open_rank() const {
    const sdk::Graph graph(&graph_);
    for (uint32_t k = 0; k < graph.input_count(); ++k)
      if (!graph.input(k).ranked()) return true;
    return false;
  }

  /// Ranks of inputs that have none, with which the rules come farthest, input by input; several where they come as far. One set without such inputs.
  std::vector<Ranks> likely_ranks() {
    const sdk::Graph graph(&graph_);
    std::vector<Ranks> out{Ranks(graph.input_count(), 0)};
    size_t farthest = 0;
    for (int round = 0; round < kRankRounds; ++round)
      for (uint32_t k = 0; k < graph.input_count(); ++k)
        for (size_t rank = 0; !graph.input(k).ranked() && rank <= kMostRank; ++rank) {
          Ranks ranks = out.front();
          ranks[k] = rank;
          const size_t far = reach_with(ranks);
          if (far > farthest) out = {ranks}, farthest = far;
          else if (far == farthest && out.size() < kMostRanks && std::find(out.begin(), out.end(), ranks) == out.end()) out.push_back(ranks);
        }
    return out;
  }

  size_t reach_with(const Ranks& ranks) {
    assume(ranks);
    size_t farthest = 0;
    for (const int64_t alike : {20, 1, 64}) {
      Sizes sizes(dims_.count());
      for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = dims_.likely(d, dims_.is_batch(d) ? 1 : alike);
      farthest = std::max(farthest, reach_of({{alike, 1, true}, kMostLegs, ranks, {}, dims_})(sizes));
    }
    return farthest;
  }

  void look(const Ranks& ranks) {
    assume(ranks);
    for (const bool truth : {true, false})  // what branches that hang on data may take
      if (truth || has_stops_) look(truth);
  }

  /// Sizes that all rules allow, behind what is guessed of data, too; where there are none, those that the first leg's allow.
  void look(bool truth) {
    for (const size_t legs : {kMostLegs, size_t{1}})
      for (const int64_t alike : {20, 1, 64}) {
        const Start start{{alike, 1, truth}, legs, ranks_, {}, dims_};
        const Reach reach = reach_of(start);
        const auto first = find_first(dims_, mentioned_, reach, [&](const Sizes& sizes) { return !makes_empty(sizes, start); });
        if (first) return look_around(start, *first);
        if (!has_stops_ || legs == 1) break;  // a guess is not what is wrong, or none was made
      }
  }

  void look_around(Start start, Sizes first) {
    out_.trouble.clear();
    const Reach reach = reach_of(start);
    const int64_t most = std::clamp<int64_t>(kManyWalks / std::max<int64_t>(graph_.image->nodes.count, 1) / (has_stops_ ? 4 : 1), 8, 4096);
    if (const auto other = freer(dims_, first, reach, most)) first = *other;
    std::vector<Sizes> wanted = settle(start.dims, first, reach, most);
    const std::vector<Sizes> usual = around(start.dims, first);
    wanted.insert(wanted.begin(), first);
    wanted.insert(wanted.end(), usual.begin(), usual.end());
    starts_.push_back(start);
    const size_t before = samples_.size();
    tried_.clear();
    size_t k = 0;
    const auto take = [&](const Sizes& sizes) {
      const Guess how = k == 0 || !has_stops_ ? start.base : guess(k % kGuesses, sizes);
      if (samples_.size() >= before + kMostSamples || !is_new(sizes, how) || (k > 0 && reach(sizes) != kAllowed)) return;
      ++k;
      if (Legs legs = planned(sizes, how); !legs.empty()) keep(sizes, std::move(legs)), starts_.back().allowed.push_back(sizes);
    };
    for (const Sizes& sizes : wanted) take(sizes);
    for (const size_t all = samples_.size(); has_stops_ && k < kGuesses && samples_.size() < all + kGuesses; ++k)
      if (Legs legs = planned(first, guess(k, first)); !legs.empty()) keep(first, std::move(legs));
  }

  bool is_new(const Sizes& sizes, const Guess& how) {
    if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 1; })) return false;
    const auto same = [&](const auto& other) { return other.first == sizes && other.second == how; };
    if (std::any_of(tried_.begin(), tried_.end(), same)) return false;
    tried_.emplace_back(sizes, how);
    return true;
  }

  /// The start is copied; what is wrong with sizes that are not allowed is the trouble.
  Reach reach_of(const Start& start) {
    return [this, start](const Sizes& sizes) {
      try {
        walk(sizes, start);
        return kAllowed;
      } catch (const sdk::Error& e) {
        out_.trouble = e.text;
        const auto at = places_.find(e.node);
        return at == places_.end() ? size_t{0} : size_t{at->second};
      }
    };
  }

  /// As far as the start's legs, with its guesses. Throws where the rules do not allow the sizes.
  reference::ShapeWalk walk(const Sizes& sizes, const Start& start) {
    const Shapes shapes = dims_.shapes(sizes);
    for (const std::vector<int64_t>& dims : shapes) reference::count(dims);  // no larger than a tensor may be
    reference::ShapeWalk walk = fitter_.walk(shapes);
    has_stops_ = has_stops_ || !walk.stops().empty();
    Guesses guesses(graph_, start.base);
    for (size_t leg = 1; leg < start.legs && !walk.stops().empty(); ++leg) {
      for (Fitter::Found& f : guesses.of(walk)) walk.give(f.value, std::move(f.tensor));
      walk.advance();
    }
    check_elements(walk);
    return walk;
  }

  /// What is computed is no larger than a tensor may be either.
  void check_elements(const reference::ShapeWalk& walk) {
    for (uint32_t v = 0; v < graph_.image->values.count; ++v) try {
        if (walk.has_shape(v)) reference::count(walk.at(v).dims);
      } catch (sdk::Error& e) {
        if (const uint32_t node = optima_get_value(graph_.image, v)->producer; node != OPTIMA_NONE) e.node = optima_get_node(graph_.image, node)->id;
        throw;
      }
  }

  bool makes_empty(const Sizes& sizes, const Start& start) {
    const reference::ShapeWalk walk = this->walk(sizes, start);
    for (uint32_t v = 0; v < graph_.image->values.count; ++v)
      if (optima_get_value(graph_.image, v)->producer != OPTIMA_NONE && walk.has_shape(v) && walk.at(v).elements() == 0) return true;
    return false;
  }

  /// All legs at these sizes, with guesses for what data decides: where one is wrong, those before it.
  Legs planned(const Sizes& sizes, const Guess& how) {
    Legs legs;
    Guesses guesses(graph_, how);
    try {
      legs.push_back(fitter_.first(dims_.shapes(sizes)));
      while (!legs.back()->is_last && legs.size() < kMostLegs) legs.push_back(fitter_.next(*legs.back(), guesses.of(legs.back()->walk)));
    } catch (const sdk::Error& e) {
      if (legs.empty()) out_.trouble = e.text;
    }
    for (const auto& leg : legs) {
      computed_ += leg->draft.constants.size();
      std::string().swap(leg->draft.constants);  // nobody asks for what was computed, and of many samples it is much
    }
    if (!legs.empty()) note_reached(legs.back()->walk);
    return legs;
  }

  void keep(const Sizes& sizes, Legs legs) {
    for (const auto& leg : legs) kernels_.see(*leg);
    if (samples_.empty()) out_.shapes = dims_.shapes(sizes);
    shapes_.push_back(dims_.shapes(sizes));
    samples_.push_back(std::move(legs));
  }

  void note_reached(const reference::ShapeWalk& walk) {
    reached_.resize(graph_.image->values.count);
    for (uint32_t v = 0; v < reached_.size(); ++v) reached_[v] = reached_[v] || walk.has_shape(v);
  }

  /// Random sizes, until they want no more kernels.
  void draw(const Start& start) {
    assume(start.ranks);
    if (dims_.count() == 0 && !has_stops_) return;
    computed_ = 0;
    const Reach reach = reach_of(start);
    Draws draws(start.dims, mentioned_.sizes, reach, start.allowed);
    const size_t enough = std::clamp<size_t>(kManyNodes / std::max<size_t>(graph_.image->nodes.count, 1), kLeastQuiet, kQuiet);
    for (size_t k = 0, quiet = 0; k < kMostDraws && quiet < enough && computed_ < kMostComputed; ++k) {
      const std::optional<Sizes> sizes = draws.next();
      if (!sizes) break;
      quiet = kernels_.complete(planned(*sizes, has_stops_ ? guess(k, *sizes) : start.base)) ? 0 : quiet + 1;
    }
    for (const Sizes& sizes : draws.far()) {
      if (computed_ >= kMostComputed) break;
      kernels_.complete(planned(sizes, start.base));
      if (has_stops_) kernels_.complete(planned(sizes, {kFarCount, 1, start.base.truth}));
    }
    out_.trouble.clear();
  }

  /// Nodes without a kernel at any size, and those without one at the first, of which the runtime does not tell.
  void find_by_reference() {
    for (const Legs& legs : samples_)
      for (const auto& leg : legs) {
        for (const uint32_t n : leg->runs) out_.by_reference.insert(optima_get_node(graph_.image, n)->id);
        const std::set<uint32_t> ids = nodes_by_reference(leg->draft);
        out_.by_reference.insert(ids.begin(), ids.end());
      }
    kernels_.sites().each_node([&](uint32_t id) { out_.by_reference.erase(id); });
    if (samples_.empty()) return;
    const std::set<uint32_t> ids = nodes_by_reference(samples_.front().front()->draft);
    out_.by_reference.insert(ids.begin(), ids.end());
  }

  /// Of graph 0: a body may belong to a branch that no size takes.
  void find_unreached() {
    const optima_slice& all = optima_get_graph(graph_.image, 0)->nodes;
    for (uint32_t n = all.first; n < all.first + all.count; ++n) {
      const optima_node& node = *optima_get_node(graph_.image, n);
      bool any = node.outputs.count == 0;
      sdk::each_output(graph_, node, [&](uint32_t, uint32_t v) { any = any || reached_[v]; });
      if (!any) out_.unreached.insert(node.id);
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

  const optima_graph& graph_;
  const std::vector<sdk::SizeRange>& said_;
  Fitter fitter_;
  Ranks ranks_;
  OpenDims dims_;  // with those ranks
  Mentions mentioned_;
  Kernels kernels_;
  std::map<uint32_t, uint32_t> places_;  // of nodes in the image, by id
  bool has_stops_ = false;
  std::vector<std::pair<Sizes, Guess>> tried_;
  std::vector<Start> starts_;
  std::vector<Legs> samples_;
  std::vector<Shapes> shapes_;  // of the inputs in them
  std::vector<bool> reached_;   // by value: some sample knew its dims
  uint64_t computed_ = 0;
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
