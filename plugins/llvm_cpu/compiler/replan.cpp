// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see replan.hpp.
#include "plugins/llvm_cpu/compiler/replan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "plugins/llvm_cpu/compiler/alike.hpp"
#include "plugins/llvm_cpu/compiler/passage.hpp"
#include "plugins/llvm_cpu/plan/pack.hpp"

namespace optima::llvm_cpu {
namespace {

/// The lowering asks for something else than it did.
struct Other {};

/// But for its offset.
bool same_operand(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.index == b.index && a.written == b.written && a.scale == b.scale && a.pack == b.pack;
}

/// Contents that lowerings compute otherwise now, by number of Operand::Bytes.
using NewContents = std::map<uint32_t, std::string>;

void require(bool same) {
  if (!same) throw Other();
}

/// Sets what a call of Kind::Bytes asks for.
void set_contents(Tape::Call& call, const std::string& now, NewContents& contents) {
  if (call.contents == now) return;
  require(!call.contents.empty() && !now.empty());  // empty ones would be one constant
  contents[call.operand.index] = call.contents = now;
}

/// Of what is alike, the two latest that were looked at: what they came to holds for those whose values are known to be the same.
class Latest {
 public:
  explicit Latest(const std::vector<const void*>& known) : known_(known) {}

  /// Of `all`, by number.
  template <class T>
  const T* find(const std::vector<T>& all, const PlanMemo::Alike& alike) const {
    if (alike.number >= latest_.size()) return nullptr;
    for (const uint32_t k : latest_[alike.number])
      if (k != OPTIMA_NONE && is_same(all[k].alike.values, alike.values)) return &all[k];
    return nullptr;
  }
  void add(const PlanMemo::Alike& alike, size_t k) {
    if (alike.number == OPTIMA_NONE) return;
    if (alike.number >= latest_.size()) latest_.resize(alike.number + 1, {OPTIMA_NONE, OPTIMA_NONE});
    auto& [last, before] = latest_[alike.number];
    before = std::exchange(last, static_cast<uint32_t>(k));
  }

 private:
  bool is_same(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](uint32_t v, uint32_t w) { return known_[v] == known_[w]; });
  }

  const std::vector<const void*>& known_;
  std::vector<std::array<uint32_t, 2>> latest_;  // by number of what is alike
};

/// The values of `to` that stand where these do among those of `from`.
std::vector<uint32_t> same_places(const std::vector<uint32_t>& values, const PlanMemo::Alike& from, const PlanMemo::Alike& to) {
  std::vector<uint32_t> out;
  out.reserve(values.size());
  for (const uint32_t v : values) {
    const auto at = std::find(from.values.begin(), from.values.end(), v);
    require(at != from.values.end());
    out.push_back(to.values[static_cast<size_t>(at - from.values.begin())]);
  }
  return out;
}

/// Answers a lowering as its tape says, and puts the steps that it makes in the place of those that it made.
class Follower : public LowerContext {
 public:
  Follower(const Target& target, const PlannerOptions& options, const std::vector<NodeView>& nodes, Tape& tape, PlanMemo& memo, NewContents& contents, Moved& moved)
      : target_(target), options_(options), nodes_(nodes), tape_(tape), memo_(memo), contents_(contents), moved_(moved) {}

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
    Tape::Call& call = next(Tape::Kind::Bytes);
    require(call.pack == pack);
    set_contents(call, contents, contents_);
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
    Op& was = *memo_.steps[step];
    require(std::equal(op.args.begin(), op.args.end(), was.args.begin(), was.args.end(), same_operand) && op.node_ids == was.node_ids);
    was = std::move(op);
    moved_.steps.push_back(step);
  }

  bool at_end() const { return at_ == tape_.calls.size(); }

 private:
  Tape::Call& next(Tape::Kind kind, uint32_t value = 0, std::optional<Layout> layout = std::nullopt) const {
    require(!at_end());
    Tape::Call& call = tape_.calls[at_++];
    require(call.kind == kind && call.value == value && (!layout || call.layout == *layout));
    return call;
  }

  const Target& target_;
  const PlannerOptions& options_;
  const std::vector<NodeView>& nodes_;
  Tape& tape_;
  PlanMemo& memo_;
  NewContents& contents_;
  Moved& moved_;
  mutable size_t at_ = 0;
};

class Replanner {
 public:
  Replanner(const GraphView& graph, const Target& target, const PlannerOptions& options, const Changes& changes, PlanMemo& memo, Draft& draft, Moved& moved)
      : graph_(graph), target_(target), options_(options), changed_(changes.changed), known_(changes.known), memo_(memo), draft_(draft), moved_(moved) {}

  bool run() {
    if (!std::exchange(memo_.is_looked_at, true)) find_alike(graph_, memo_), look_at_arguments();
    if (!answers_hold()) return false;
    move_pieces();
    lower_groups();
    for (const PlanMemo::Passage& p : memo_.passages) pass(p);
    if (!size_buffers()) return false;
    std::sort(moved_.steps.begin(), moved_.steps.end());
    for (const uint32_t s : moved_.steps) write_step(s);
    write_computed();
    find_constants();
    write_args();
    return true;
  }

 private:
  bool is_changed(const std::vector<uint32_t>& reads) const {
    return std::any_of(reads.begin(), reads.end(), [&](uint32_t v) { return changed_[v]; });
  }

  bool answers_hold() {
    Latest latest(known_);
    for (PlanMemo::Question& q : memo_.questions) {
      if (!is_changed(q.reads)) continue;
      if (const PlanMemo::Question* other = latest.find(memo_.questions, q.alike)) {
        q.reads = same_places(other->reads, other->alike, q.alike);
        continue;
      }
      reads_.clear();
      if (!q.holds({graph_.raw, &reads_})) return false;
      q.reads = distinct(reads_);  // the way to the same answer may be another one
      latest.add(q.alike, static_cast<size_t>(&q - memo_.questions.data()));
    }
    return true;
  }

  void lower_groups() {
    Latest latest(known_);
    for (PlanMemo::Group& g : memo_.groups) {
      const bool is_elsewhere = follow_pieces(g.tape);
      if (!is_elsewhere && !is_changed(g.tape.reads)) continue;
      if (const PlanMemo::Group* other = latest.find(memo_.groups, g.alike)) {
        repeat(*other, g);
        continue;
      }
      lower(g);
      latest.add(g.alike, static_cast<size_t>(&g - memo_.groups.data()));
    }
  }

  /// What lowering `to` would come to, as lowering `from` did.
  void repeat(const PlanMemo::Group& from, PlanMemo::Group& to) {
    for (size_t k = 0; k < to.tape.calls.size(); ++k) {
      const Tape::Call& was = from.tape.calls[k];
      Tape::Call& call = to.tape.calls[k];
      if (call.kind == Tape::Kind::Temporary) memo_.buffers[call.operand.index].bytes = memo_.buffers[was.operand.index].bytes;
      if (call.kind == Tape::Kind::Bytes) set_contents(call, was.contents, contents_);
      if (call.step != OPTIMA_NONE) repeat_step(was.step, call.step);
    }
    to.tape.reads = same_places(from.tape.reads, from.alike, to.alike);
  }

  void repeat_step(uint32_t from, uint32_t to) {
    const Op& was = *memo_.steps[from];
    Op& op = *memo_.steps[to];
    op.kernel = was.kernel, op.label = was.label;
    static_cast<Cutting&>(op) = was, op.scratch_per_thread = was.scratch_per_thread;
    for (size_t k = 0; k < op.args.size(); ++k) op.args[k].offset = was.args[k].offset;
    moved_.steps.push_back(to);
  }

  /// Where a value begins that lies in a concatenation, as its operands have it, and where it will: by buffer and offset.
  void move_pieces() {
    if (memo_.pieces.empty()) return;
    std::map<uint32_t, const PlanMemo::Piece*> by_value;
    std::map<uint32_t, uint64_t> next;
    for (const PlanMemo::Piece& p : memo_.pieces) by_value[p.value] = &p, next[p.value] = offset_of(p);
    for (const PlanMemo::Piece& p : memo_.pieces) {
      uint64_t from = 0, to = 0;
      for (auto at = by_value.find(p.value); at != by_value.end(); at = by_value.find(at->second->whole)) from += at->second->offset, to += next[at->first];
      if (from == 0 && to == 0) continue;
      const auto [at, is_new] = elsewhere_.try_emplace({p.buffer, from}, to);
      if (from == 0 || at->second != to) throw Other();  // behind an empty one, it cannot be told from what stands there, too
    }
    for (PlanMemo::Piece& p : memo_.pieces) p.offset = next[p.value];
  }

  /// Bytes of the pieces before it in its whole.
  uint64_t offset_of(const PlanMemo::Piece& p) const {
    const NodeView concat = *graph_.maker(p.whole);
    uint64_t out = 0;
    for (uint32_t k = 0; concat.input(k) != p.value; ++k) out += bytes_of(graph_, concat.input(k), Layout::Blocked, target_);
    return out;
  }

  /// Whether the operand was one of a piece that lies elsewhere now, to where it points then.
  bool follow(Operand& o) const {
    if (o.kind != Operand::Buffer || elsewhere_.empty()) return false;
    const auto at = elsewhere_.find({o.index, o.offset});
    return at != elsewhere_.end() && std::exchange(o.offset, at->second) != at->second;
  }

  bool follow_pieces(Tape& tape) const {
    bool any = false;
    if (!elsewhere_.empty())
      for (Tape::Call& call : tape.calls) any = follow(call.operand) || any;
    return any;
  }

  void pass(const PlanMemo::Passage& p) {
    const Op* const was = p.step == OPTIMA_NONE ? nullptr : memo_.steps[p.step].get();
    std::vector<Operand> args = was ? was->args : std::vector<Operand>();
    bool is_elsewhere = false;
    for (Operand& o : args) is_elsewhere = follow(o) || is_elsewhere;
    if (!changed_[p.value] && !is_elsewhere) return;
    const Dims dims = graph_.dims(p.value);
    if ((p.to == Layout::Plain && is_plain_in_blocks(dims, target_)) != p.is_free) throw Other();
    if (p.is_free) return;
    Op op = passage(dims, p.to, target_);
    if ((op.units < 1) == (was != nullptr)) throw Other();
    if (!was) return;
    op.args = std::move(args), op.node_ids = was->node_ids;
    *memo_.steps[p.step] = std::move(op);
    moved_.steps.push_back(p.step);
  }

  void lower(PlanMemo::Group& g) {
    reads_.clear();
    nodes_.clear();
    for (const uint32_t n : g.nodes) nodes_.push_back({{graph_.raw, &reads_}, optima_get_node(graph_.image(), n)});
    Follower follower(target_, options_, nodes_, g.tape, memo_, contents_, moved_);
    g.lowering->lower(nodes_, follower);
    if (!follower.at_end()) throw Other();
    g.tape.reads = distinct(reads_);
  }

  /// False when an output would lie elsewhere than it does.
  bool size_buffers() {
    for (PlanMemo::Copied& c : memo_.copied)
      if (follow(c.from) || changed_[c.value] || (c.from.kind == Operand::Buffer && memo_.buffers[c.from.index].value != OPTIMA_NONE && changed_[memo_.buffers[c.from.index].value])) return false;
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
    static_cast<Cutting&>(step) = op;
    step.label = op.label;
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

  /// The constants file with what was computed otherwise.
  void write_computed() {
    if (contents_.empty()) return;
    const PlanMemo::Arguments& all = memo_.arguments;
    const std::string before = std::exchange(draft_.constants, std::string());
    std::map<uint32_t, std::string_view> file;
    for (const auto& [number, constant] : all.computed) {
      const Plan::Constant& c = draft_.plan.constants[constant];
      const auto other = contents_.find(number);
      file[number] = other == contents_.end() ? std::string_view(before).substr(c.offset, c.size) : std::string_view(other->second);
    }
    for (const auto& [number, now] : contents_)
      if (number < all.is_scale.size() && all.is_scale[number]) throw Other();
    std::map<uint32_t, uint64_t> offsets;
    for (const auto& [number, constant] : all.computed) {
      const auto [at, is_new] = offsets.try_emplace(number, 0);
      if (is_new) at->second = add_constant(draft_.constants, file[number]);
      Plan::Constant& c = draft_.plan.constants[constant];
      c.offset = at->second, c.size = file[number].size(), c.packed_bytes = packed_bytes(c.pack, c.size);
      if (contents_.count(number)) moved_.constants.push_back(constant);
    }
  }

  void look_at_arguments() {
    PlanMemo::Arguments& all = memo_.arguments;
    all = {};
    look_at_computed(all);
    all.lives = lives_of(memo_.buffers, memo_.steps, all.owners);
    for (uint32_t s = 0; s < memo_.steps.size(); ++s)
      for (uint32_t k = 0; k < memo_.steps[s]->args.size(); ++k) {
        const Operand& a = memo_.steps[s]->args[k];
        const Plan::Arg& arg = draft_.plan.steps[s].args[k];
        if (arg.kind == Plan::Arg::Arena) all.in_arena.push_back({s, k, a.index, a.offset});
        if (a.kind == Operand::Weight) all.constants.emplace_back(a.index, arg.index);
      }
  }

  void look_at_computed(PlanMemo::Arguments& all) const {
    const std::vector<Plan::Constant>& constants = draft_.plan.constants;
    std::map<uint32_t, uint32_t> by_constant;
    for (uint32_t s = 0; s < memo_.steps.size(); ++s)
      for (uint32_t k = 0; k < memo_.steps[s]->args.size(); ++k) {
        const Operand& a = memo_.steps[s]->args[k];
        const uint32_t constant = draft_.plan.steps[s].args[k].index;
        if (a.kind == Operand::Bytes) by_constant[constant] = a.index;
        if ((a.kind == Operand::Bytes || a.kind == Operand::Weight) && a.scale != UINT32_MAX) by_constant[constants[constant].scale] = a.scale;
      }
    for (const auto& [constant, number] : by_constant) all.computed.emplace_back(number, constant);
    std::stable_sort(all.computed.begin(), all.computed.end(), [&](const auto& a, const auto& b) { return constants[a.second].offset < constants[b.second].offset; });
    for (const PlanMemo::Group& g : memo_.groups)
      for (const Tape::Call& call : g.tape.calls)
        if (call.scale != UINT32_MAX) {
          all.is_scale.resize(std::max<size_t>(all.is_scale.size(), call.scale + 1));
          all.is_scale[call.scale] = true;
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
  const std::vector<const void*>& known_;
  PlanMemo& memo_;
  Draft& draft_;
  Moved& moved_;
  NewContents contents_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> elsewhere_;  // by buffer and offset: the new offset
  std::vector<uint32_t> reads_;
  std::vector<NodeView> nodes_;
};

}  // namespace

bool replan(const GraphView& graph, const Target& target, const PlannerOptions& options, const Changes& changes, PlanMemo& memo, Draft& draft, Moved& moved) {
  if (!memo.is_whole) return false;
  memo.is_whole = false;
  try {
    memo.is_whole = Replanner(graph, target, options, changes, memo, draft, moved).run();
  } catch (const Other&) {}  // this size decides something otherwise
  return memo.is_whole;
}

}  // namespace optima::llvm_cpu
