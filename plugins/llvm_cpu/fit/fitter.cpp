// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see fitter.hpp.
#include "plugins/llvm_cpu/fit/fitter.hpp"

#include <algorithm>

#include "optima/plugin/error.hpp"
#include "optima/plugin/graph.hpp"
#include "optima/plugin/reads.hpp"
#include "plugins/llvm_cpu/fit/whole.hpp"

namespace optima::llvm_cpu {
namespace {

std::vector<uint32_t> values_at(const optima_image* image, const optima_slice& slice) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < slice.count; ++k) out.push_back(*optima_get_index(image, slice.first + k));
  return out;
}

/// Whether something computes it.
bool has(const KernelSpec& spec, const Fitter::HasKernel& has_kernel) {
  return !has_kernel || spec.entry == kReferenceEntry || is_built_in(spec) || has_kernel(spec);
}

/// What a DequantizeLinear, perhaps with a Transpose behind it, makes of a constant of the model. Though its elements are known it stays a node, as it does
/// where all sizes are fixed: kernels on codes read the codes behind it.
bool is_of_codes(const GraphView& graph, uint32_t value) {
  std::optional<NodeView> maker = graph.maker(value);
  if (maker && is_transpose(*maker)) maker = graph.maker(maker->input(0));
  return maker && is_dequantize(*maker) && graph.is_constant(maker->input(0));
}

/// Convolutions, in bodies too, whose weights are computed and have an open dim.
std::set<uint32_t> of_any_window(const optima_graph& graph) {
  std::set<uint32_t> out;
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n) {
    const sdk::Node node(&graph, optima_get_node(graph.image, n));
    if (!node.domain().empty() || (node.op() != "Conv" && node.op() != "ConvTranspose") || node.input_count() < 2) continue;
    if (const sdk::Value weights = node.input(1); weights && !weights.is_static() && !is_of_codes({&graph}, weights.index())) out.insert(node.id());
  }
  return out;
}

/// Specs of a draft that no kernel computes, by number.
std::set<uint32_t> missing(const Draft& draft, const Fitter::HasKernel& has_kernel) {
  std::set<uint32_t> out;
  for (uint32_t k = 0; k < draft.specs.size(); ++k)
    if (!has(draft.specs[k], has_kernel)) out.insert(k);
  return out;
}

}  // namespace

uint32_t Leg::resolved(uint32_t value) const {
  for (auto at = same.find(value); at != same.end() && !at_hand[value]; at = same.find(value)) value = at->second;
  return value;
}

std::set<uint32_t> nodes_by_reference(const Draft& draft) {
  std::set<uint32_t> out;
  for (const Plan::Step& step : draft.plan.steps)
    if (draft.specs[step.kernel].entry == kReferenceEntry) out.insert(step.node_ids.begin(), step.node_ids.end());
  return out;
}

std::string names_of(const optima_graph& graph, const std::set<uint32_t>& ids) {
  constexpr size_t kMostNamed = 8;
  std::string out;
  size_t named = 0;
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n) {
    const sdk::Node node(&graph, optima_get_node(graph.image, n));
    if (ids.count(node.id()) == 0 || named++ >= kMostNamed) continue;
    out += (out.empty() ? "" : ", ") + std::string(node.op()) + " '" + std::string(node.name()) + "'";
  }
  return named > kMostNamed ? out + " and " + std::to_string(named - kMostNamed) + " more" : out;
}

Fitter::Fitter(const optima_graph& graph, const Target& target, bool winograd, HasKernel has_kernel)
    : graph_(graph), target_(target), winograd_(winograd), has_kernel_(std::move(has_kernel)), start_(graph), of_any_window_(of_any_window(graph)) {
  target_.many_sizes = true;
  const optima_image_graph& entry = *optima_get_graph(graph.image, 0);
  inputs_ = values_at(graph.image, entry.inputs), outputs_ = values_at(graph.image, entry.outputs);
  start_.restart();
}

reference::ShapeWalk Fitter::walk(const std::vector<std::vector<int64_t>>& shapes) const {
  reference::ShapeWalk walk = start_;
  for (size_t k = 0; k < inputs_.size(); ++k) walk.give(inputs_[k], input(k, shapes[k]));
  walk.advance();
  return walk;
}

/// What is known of input k.
reference::Tensor Fitter::input(size_t k, const std::vector<int64_t>& dims) const {
  reference::Tensor t;
  t.dtype = optima_get_value(graph_.image, inputs_[k])->dtype, t.dims = dims;
  return t;
}

std::unique_ptr<Leg> Fitter::first(const std::vector<std::vector<int64_t>>& shapes, Keep keep) const {
  std::vector<bool> at_hand(value_count(), false);
  for (const uint32_t v : inputs_) at_hand[v] = true;
  return leg(walk(shapes), std::move(at_hand), keep);
}

std::vector<Fitter::Found> Fitter::inputs_of(const std::vector<std::vector<int64_t>>& shapes) const {
  std::vector<Found> out;
  for (size_t k = 0; k < inputs_.size(); ++k) out.push_back({inputs_[k], input(k, shapes[k])});
  return out;
}

std::vector<Fitter::Found> Fitter::joined(std::vector<Found> given, const std::vector<Found>& found) {
  for (const Found& f : found) {
    const auto at = std::find_if(given.begin(), given.end(), [&](const Found& g) { return g.value == f.value; });
    if (at == given.end()) given.push_back(f);
    else at->tensor = f.tensor;  // dims first, then elements
  }
  return given;
}

bool Fitter::move(Leg& leg, const std::vector<Found>& given, Moved& moved) const {
  using Change = reference::ShapeWalk::Change;
  if (!leg.can_move()) return false;
  std::vector<Change> changed;
  if (!leg.walk.again(given, changed) || std::find(changed.begin(), changed.end(), Change::Kind) != changed.end()) return false;
  if (!leg.stretch) return true;
  const Changes changes = leg.stretch->move(changed, [&](uint32_t v) -> const reference::Tensor& { return leg.walk.at(v); });
  if (!replan({&leg.stretch->graph()}, target_, options(), changes, leg.memo, leg.draft, moved)) return false;
  const auto is_there = [&](uint32_t step) { return has(leg.draft.specs[leg.draft.plan.steps[step].kernel], has_kernel_); };
  return std::all_of(moved.steps.begin(), moved.steps.end(), is_there);
}

std::unique_ptr<Leg> Fitter::next(const Leg& before, const std::vector<Found>& found, Keep keep) const {
  reference::ShapeWalk walk = before.walk;
  std::vector<bool> at_hand = before.at_hand;
  if (before.stretch)
    for (const uint32_t v : before.stretch->gives()) at_hand[v] = true;
  for (const uint32_t n : before.runs) sdk::each_output(graph_, *optima_get_node(graph_.image, n), [&](uint32_t, uint32_t v) { at_hand[v] = true; });
  for (const Found& f : found) walk.give(f.value, f.tensor);
  walk.advance();
  return leg(std::move(walk), std::move(at_hand), keep);
}

std::unique_ptr<Leg> Fitter::leg(reference::ShapeWalk walk, std::vector<bool> at_hand, Keep keep) const {
  auto out = std::make_unique<Leg>(Leg{std::move(walk), std::move(at_hand), {}, nullptr, {}, {}, {}, false, {}});
  for (const reference::ShapeWalk::Stop& stop : out->walk.stops()) {
    const uint32_t wants = stop.wants == OPTIMA_NONE ? OPTIMA_NONE : optima_input(graph_.image, optima_get_node(graph_.image, stop.node), stop.wants);
    if (wants == OPTIMA_NONE) out->runs.push_back(stop.node);
    else if (std::find(out->asks.begin(), out->asks.end(), wants) == out->asks.end()) out->asks.push_back(wants);
  }
  out->is_last = out->walk.stops().empty();
  find_same(*out);
  const std::vector<uint32_t> wanted = gives(*out);
  if (wanted.empty()) return out;
  const Leg& known = *out;
  out->stretch = std::make_unique<Stretch>(graph_, nodes(*out, wanted), wanted, [&](uint32_t v) -> const reference::Tensor& { return known.walk.at(v); },
                                           [&](uint32_t v) { return known.resolved(v); });
  plan(*out, keep);
  return out;
}

void Fitter::find_same(Leg& leg) const {
  const optima_image* image = graph_.image;
  for (const reference::ShapeWalk::Branch& branch : leg.walk.branches()) {
    const optima_node& node = *optima_get_node(image, branch.node);
    const optima_image_graph& body = *optima_get_graph(image, branch.graph);
    for (uint32_t k = 0; k < body.captures.count; ++k) {
      const optima_capture& c = *optima_get_capture(image, body.captures.first + k);
      leg.same[c.inner] = c.outer;
    }
    for (uint32_t k = 0; k < node.outputs.count && k < body.outputs.count; ++k)
      if (const uint32_t v = optima_output(image, &node, k); v != OPTIMA_NONE) leg.same[v] = *optima_get_index(image, body.outputs.first + k);
  }
}

/// What comes out of the leg's stretch: outputs of the graph, what nodes that are not done read, those of branches that are taken, too, and what is asked for.
std::vector<uint32_t> Fitter::gives(const Leg& leg) const {
  std::set<uint32_t> out;
  const auto want = [&](uint32_t v) {
    if (leg.walk.has_shape(v) && !leg.at_hand[v] && optima_get_value(graph_.image, v)->producer != OPTIMA_NONE) out.insert(v);
  };
  for (const uint32_t v : outputs_) want(v);
  for (const uint32_t v : leg.asks) want(v);
  if (leg.is_last) return {out.begin(), out.end()};
  const auto want_reads = [&](uint32_t graph) {
    const optima_slice& all = optima_get_graph(graph_.image, graph)->nodes;
    for (uint32_t n = all.first; n < all.first + all.count; ++n) {
      const optima_node& node = *optima_get_node(graph_.image, n);
      bool is_done = true;
      sdk::each_output(graph_, node, [&](uint32_t, uint32_t v) { is_done = is_done && leg.walk.has_shape(v); });
      if (!is_done) sdk::each_read(graph_, node, want);
    }
  };
  want_reads(0);
  for (const reference::ShapeWalk::Branch& branch : leg.walk.branches()) want_reads(branch.graph);
  return {out.begin(), out.end()};
}

/// Those that make these values, of what is not at hand and not known to its elements (but is_of_codes()); of taken branches, too. In an order in which they can run:
/// a body's nodes come behind all of the graph around it in the image, so each is put where what it reads is made.
std::vector<uint32_t> Fitter::nodes(const Leg& leg, const std::vector<uint32_t>& gives) const {
  std::vector<uint32_t> out;
  std::set<uint32_t> seen;
  const auto maker = [&](uint32_t value) {
    const uint32_t v = leg.resolved(value);
    const bool is_there = leg.at_hand[v] || (leg.walk.has_elements(v) && !is_of_codes({&graph_}, v));
    return is_there ? OPTIMA_NONE : optima_get_value(graph_.image, v)->producer;
  };
  struct Open {
    uint32_t node;
    std::vector<uint32_t> reads;
  };
  std::vector<Open> open;
  const auto enter = [&](uint32_t value) {
    const uint32_t n = maker(value);
    if (n == OPTIMA_NONE || !seen.insert(n).second) return;
    open.push_back({n, {}});
    sdk::each_read(graph_, *optima_get_node(graph_.image, n), [&](uint32_t v) { open.back().reads.push_back(v); });
  };
  for (const uint32_t v : gives)
    for (enter(v); !open.empty();) {
      if (open.back().reads.empty()) {
        out.push_back(open.back().node);
        open.pop_back();
        continue;
      }
      const uint32_t read = open.back().reads.back();
      open.back().reads.pop_back();
      enter(read);
    }
  if (leg.same.empty()) std::sort(out.begin(), out.end());
  return out;
}

/// For plans of which no node is given up but those of windows of any size, and those that would read outside, at sizes that have come: samples may be too small for an index that no
/// run has trouble with.
PlannerOptions Fitter::options() const {
  PlannerOptions out;
  out.winograd = winograd_;
  out.by_reference = [this, is_run = static_cast<bool>(has_kernel_)](const NodeView& n) { return of_any_window_.count(n.id()) != 0 || (is_run && reads_outside(n)); };
  if (has_kernel_) out.is_bad = [this](const KernelSpec& spec) { return !has_kernel_(spec); };
  return out;
}

/// Nodes whose kernels there are not go to the reference, and it is planned again. A leg can be moved where that is not so.
void Fitter::plan(Leg& leg, Keep keep) const {
  std::set<uint32_t> given_up;  // ids
  bool all = false;
  PlannerOptions options = this->options();  // without what is given up, of which there is nothing yet
  const ByReference outside = options.by_reference;
  PlanMemo* memo = keep == Keep::HowItWasMade ? &leg.memo : nullptr;
  for (;; memo = nullptr) {
    leg.memo = {};
    leg.draft = plan_graph({&leg.stretch->graph()}, target_, options, memo);
    if (!leg.memo.is_whole) leg.memo = {};
    options.by_reference = [&](const NodeView& n) { return all || given_up.count(n.id()) != 0 || outside(n); };
    if (!has_kernel_) return;
    const std::set<uint32_t> none = missing(leg.draft, has_kernel_);
    if (none.empty()) return;
    if (all) throw sdk::Error(OPTIMA_INTERNAL, "the plan wants a kernel that even the reference does not replace");
    const size_t before = given_up.size();
    for (const Plan::Step& step : leg.draft.plan.steps)
      if (none.count(step.kernel)) given_up.insert(step.node_ids.begin(), step.node_ids.end());
    all = given_up.size() == before;
  }
}

}  // namespace optima::llvm_cpu
