// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see replan.hpp.
#include "plugins/llvm_cpu/compiler/replan.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/plan/pack.hpp"

namespace optima::llvm_cpu {
namespace {

/// The lowering asks for something else than it did.
struct Other {};

/// But for its offset.
bool same_operand(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.index == b.index && a.written == b.written && a.scale == b.scale && a.pack == b.pack;
}

/// Answers a lowering as its tape says, and puts the steps that it makes in the place of those that it made.
class Follower : public LowerContext {
 public:
  Follower(const Target& target, const PlannerOptions& options, const std::vector<NodeView>& nodes, const Tape& tape, PlanMemo& memo, Moved& moved)
      : target_(target), options_(options), nodes_(nodes), tape_(tape), memo_(memo), moved_(moved) {}

  const Target& target() const override { return target_; }
  bool allows_winograd() const override { return options_.winograd; }
  bool is_bad(const KernelSpec& spec) const override { return options_.is_bad && options_.is_bad(spec); }
  Layout layout(uint32_t value) const override { return next(Tape::Kind::Layout, value).layout; }
  int64_t pixel(uint32_t) const override { throw Other(); }
  bool rounded_by_readers(uint32_t value) const override { return next(Tape::Kind::Rounded, value).is_rounded; }
  Operand read(uint32_t value, Layout layout) override { return next(Tape::Kind::Read, value, layout).operand; }
  Operand write(uint32_t value, Layout layout) override { return next(Tape::Kind::Write, value, layout).operand; }
  void alias(uint32_t out, uint32_t in) override { require(next(Tape::Kind::Alias, out).other == in); }
  void rename(uint32_t out, uint32_t in) override { require(next(Tape::Kind::Rename, out).other == in); }

  Operand packed(uint32_t constant, const Pack& pack, const Operand* scale) override {
    const Tape::Call& call = next(Tape::Kind::Packed, constant);
    require(call.pack == pack && call.scale == (scale ? scale->index : UINT32_MAX));
    return call.operand;
  }

  Operand bytes(std::string contents, const Pack& pack) override {
    const Tape::Call& call = next(Tape::Kind::Bytes);
    require(call.pack == pack && call.contents == contents);
    return call.operand;
  }

  Operand temporary(uint64_t bytes) override {
    const Operand& at = next(Tape::Kind::Temporary).operand;
    memo_.buffers[at.index].bytes = bytes;
    return at;
  }

  void emit(Op op) override {
    const uint32_t step = next(Tape::Kind::Emit).step;
    complete(op, nodes_);
    require((op.units < 1) == (step == OPTIMA_NONE));
    if (step == OPTIMA_NONE) return;
    const Op& was = *memo_.steps[step];
    require(std::equal(op.args.begin(), op.args.end(), was.args.begin(), was.args.end(), same_operand) && op.node_ids == was.node_ids);
    memo_.steps[step] = std::make_shared<const Op>(std::move(op));
    moved_.steps.push_back(step);
  }

  bool at_end() const { return at_ == tape_.calls.size(); }

 private:
  static void require(bool same) {
    if (!same) throw Other();
  }
  const Tape::Call& next(Tape::Kind kind, uint32_t value = 0, std::optional<Layout> layout = std::nullopt) const {
    require(!at_end());
    const Tape::Call& call = tape_.calls[at_++];
    require(call.kind == kind && call.value == value && (!layout || call.layout == *layout));
    return call;
  }

  const Target& target_;
  const PlannerOptions& options_;
  const std::vector<NodeView>& nodes_;
  const Tape& tape_;
  PlanMemo& memo_;
  Moved& moved_;
  mutable size_t at_ = 0;
};

class Replanner {
 public:
  Replanner(const GraphView& graph, const Target& target, const PlannerOptions& options, const std::vector<bool>& changed, PlanMemo& memo, Draft& draft, Moved& moved)
      : graph_(graph), target_(target), options_(options), changed_(changed), memo_(memo), draft_(draft), moved_(moved) {}

  bool run() {
    if (!answers_hold()) return false;
    if (memo_.arguments.owners.empty()) look_at_arguments();
    for (PlanMemo::Group& g : memo_.groups)
      if (is_changed(g.tape.reads)) lower(g);
    if (!size_buffers()) return false;
    std::sort(moved_.steps.begin(), moved_.steps.end());
    for (const uint32_t s : moved_.steps) write_step(s);
    find_constants();
    write_args();
    return true;
  }

 private:
  bool is_changed(const std::vector<uint32_t>& reads) const {
    return std::any_of(reads.begin(), reads.end(), [&](uint32_t v) { return changed_[v]; });
  }

  bool answers_hold() {
    for (PlanMemo::Question& q : memo_.questions) {
      if (!is_changed(q.reads)) continue;
      reads_.clear();
      if (!q.holds({graph_.raw, &reads_})) return false;
      q.reads = distinct(reads_);  // the way to the same answer may be another one
    }
    return true;
  }

  void lower(PlanMemo::Group& g) {
    reads_.clear();
    nodes_.clear();
    for (const uint32_t n : g.nodes) nodes_.push_back({{graph_.raw, &reads_}, optima_get_node(graph_.image(), n)});
    Follower follower(target_, options_, nodes_, g.tape, memo_, moved_);
    g.lowering->lower(nodes_, follower);
    if (!follower.at_end()) throw Other();
    g.tape.reads = distinct(reads_);
  }

  /// False when an output would lie elsewhere than it does.
  bool size_buffers() {
    for (const PlanMemo::Copied& c : memo_.copied)
      if (changed_[c.value] || (c.from.kind == Operand::Buffer && memo_.buffers[c.from.index].value != OPTIMA_NONE && changed_[memo_.buffers[c.from.index].value])) return false;
    for (Buffer& b : memo_.buffers)
      if (b.value != OPTIMA_NONE && changed_[b.value]) b.bytes = bytes_of(graph_, b.value, b.layout, target_);
    const optima_image_graph& entry = *optima_get_graph(graph_.image(), 0);
    size_tensors(draft_.plan.inputs, entry.inputs), size_tensors(draft_.plan.outputs, entry.outputs);
    return std::all_of(memo_.buffers.begin(), memo_.buffers.end(), [&](const Buffer& b) { return b.where != Buffer::Output || b.bytes == draft_.plan.outputs[b.number].bytes; });
  }

  void size_tensors(std::vector<Plan::Tensor>& tensors, const optima_slice& values) {
    for (uint32_t k = 0; k < values.count; ++k) {
      const uint32_t v = *optima_get_index(graph_.image(), values.first + k);
      if (changed_[v]) tensors[k].dims = graph_.dims(v), tensors[k].bytes = bytes_of(graph_, v, Layout::Plain, target_);
    }
  }

  void write_step(uint32_t number) {
    const Op& op = *memo_.steps[number];
    Plan::Step& step = draft_.plan.steps[number];
    step.units = op.units, step.work = op.work, step.grain = std::max<int64_t>(1, op.grain), step.label = op.label;
    draft_.specs[step.kernel] = op.kernel;
  }

  /// Constants of the graph whose elements are others: they may be of another length.
  void find_constants() {
    std::vector<bool> others(graph_.image()->constants.count);
    for (uint32_t v = 0; v < changed_.size(); ++v)
      if (changed_[v] && graph_.is_constant(v)) others[graph_.value(v).constant] = true;
    for (const auto& [constant, number] : memo_.arguments.constants)
      if (others[constant]) size_constant(constant, number);
    moved_.constants = distinct(std::move(moved_.constants));
  }

  void size_constant(uint32_t constant, uint32_t number) {
    Plan::Constant& c = draft_.plan.constants[number];
    c.size = optima_get_blob(graph_.raw, optima_get_constant(graph_.image(), constant)->blob)->size;
    c.packed_bytes = packed_bytes(c.pack, c.size);
    moved_.constants.push_back(number);
  }

  void look_at_arguments() {
    PlanMemo::Arguments& all = memo_.arguments;
    all = {};
    all.lives = lives_of(memo_.buffers, memo_.steps, all.owners);
    for (uint32_t s = 0; s < memo_.steps.size(); ++s)
      for (uint32_t k = 0; k < memo_.steps[s]->args.size(); ++k) {
        const Operand& a = memo_.steps[s]->args[k];
        const Plan::Arg& arg = draft_.plan.steps[s].args[k];
        if (arg.kind == Plan::Arg::Arena) all.in_arena.push_back({s, k, a.index, a.offset});
        if (a.kind == Operand::Weight) all.constants.emplace_back(a.index, arg.index);
      }
  }

  /// Offsets of a step that was lowered again; those in the arena are where they lie in their buffers.
  void write_offsets(uint32_t step) {
    std::vector<PlanMemo::InArena>& all = memo_.arguments.in_arena;
    auto at = std::lower_bound(all.begin(), all.end(), step, [](const PlanMemo::InArena& a, uint32_t of) { return a.step < of; });
    const std::vector<Operand>& args = memo_.steps[step]->args;
    for (uint32_t k = 0; k < args.size(); ++k) {
      draft_.plan.steps[step].args[k].offset = args[k].offset;
      if (at != all.end() && at->step == step && at->arg == k) at++->offset = args[k].offset;
    }
  }

  void write_args() {
    PlanMemo::Arguments& all = memo_.arguments;
    Plan& plan = draft_.plan;
    for (const uint32_t s : moved_.steps) write_offsets(s);
    const Places at = place(memo_.buffers, all.lives, all.owners);
    plan.arena_bytes = at.arena_bytes, plan.scratch_bytes = 0;
    for (const PlanMemo::InArena& a : all.in_arena) plan.steps[a.step].args[a.arg].offset = a.offset + at.offsets[a.buffer];
    for (const Step& s : memo_.steps) plan.scratch_bytes = std::max(plan.scratch_bytes, s->scratch_per_thread);
  }

  const GraphView graph_;
  const Target& target_;
  const PlannerOptions& options_;
  const std::vector<bool>& changed_;
  PlanMemo& memo_;
  Draft& draft_;
  Moved& moved_;
  std::vector<uint32_t> reads_;
  std::vector<NodeView> nodes_;
};

}  // namespace

bool replan(const GraphView& graph, const Target& target, const PlannerOptions& options, const std::vector<bool>& changed, PlanMemo& memo, Draft& draft, Moved& moved) {
  if (!memo.is_whole) return false;
  memo.is_whole = false;
  try {
    memo.is_whole = Replanner(graph, target, options, changed, memo, draft, moved).run();
  } catch (const Other&) {}  // this size decides something otherwise
  return memo.is_whole;
}

}  // namespace optima::llvm_cpu
