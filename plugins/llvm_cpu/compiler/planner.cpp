// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see planner.hpp. Lowers the groups, then decides which buffers are the caller's, then places the rest.
#include "plugins/llvm_cpu/compiler/planner.hpp"

#include <algorithm>
#include <optional>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/concat.hpp"
#include "plugins/llvm_cpu/compiler/passage.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/lower/parts/copy.hpp"
#include "plugins/llvm_cpu/plan/pack.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr uint64_t kAlign = 64;

class Planner : public LowerContext {
 public:
  Planner(const GraphView& graph, const Target& target, const PlannerOptions& options, PlanMemo* memo)
      : graph_(graph), target_(target), options_(options), memo_(memo), entry_(*optima_get_graph(graph.image(), 0)) {}

  Draft run() {
    const std::vector<Group> groups = group_nodes(graph_, target_, options_.by_reference, memo_);
    for (const auto& [value, piece] : concats_in_place(groups, graph_, target_)) in_place_.emplace(Key{value, Layout::Blocked}, piece);
    for (const auto& [value, piece] : codes_in_place(groups, graph_, target_)) in_place_.emplace(Key{value, Layout::Last}, piece);
    find_rounded(groups);
    take_inputs();
    for (const Group& g : groups) {
      group_ = &g;
      if (is_late(g)) late_.emplace(g.nodes[0].output(0), &g);
      else if (g.unit) g.lowering->lower_unit(*g.unit, *this);
      else if (memo_ && !memo_->groups.empty()) record(memo_->groups[static_cast<size_t>(&g - groups.data())].tape);
      else g.lowering->lower(g.nodes, *this);
    }
    group_ = nullptr;
    give_outputs();
    std::vector<uint32_t> owners;
    std::vector<Lifetime> lives = lives_of(buffers_, steps_, owners);
    places_ = place(buffers_, lives, owners);
    draft_.plan.arena_bytes = places_.arena_bytes;
    write_steps();
    if (memo_) keep(groups);
    return std::move(draft_);
  }

  const Target& target() const override { return target_; }
  bool allows_winograd() const override { return options_.winograd; }
  bool is_bad(const KernelSpec& spec) const override { return options_.is_bad && options_.is_bad(spec); }

  /// What waits for a reader can be made where its operand lies: codes of blocked floats channels last, for only floats lie blocked.
  Layout layout(uint32_t value) const override {
    if (const auto waits = late_.find(value); waits != late_.end()) {
      const Layout of_operand = layout(waits->second->nodes[0].input(0));
      return may_lie(graph_, value, of_operand) ? of_operand : Layout::Last;
    }
    const Layout at = found(value).value_or(Layout::Plain);
    return at == Layout::Narrow ? Layout::Plain : at;
  }

  int64_t pixel(uint32_t value) const override {
    for (auto at = in_place_.find({value, Layout::Last}); at != in_place_.end(); at = in_place_.find({value, Layout::Last})) value = at->second.whole;
    return last_channels(graph_.dims(value)[1]);
  }

  Operand read(uint32_t value, Layout layout) override {
    expect(value, layout);
    if (const auto at = made_.find({value, layout}); at != made_.end()) return at->second;
    if (graph_.is_constant(value)) return read_constant(value, layout);
    if (late_.count(value)) {
      make_late(value, layout);
      return read(value, layout);
    }
    if (!found(value) && graph_.is_known(value)) return read_constant(value, layout);
    return convert(value, layout);
  }

  Operand write(uint32_t value, Layout layout) override {
    expect(value, layout);
    if (made_.count({value, layout})) fail("is written twice", value);
    Operand to = buffer_for(value, layout);
    made_[{value, layout}] = to;
    to.written = true;
    return to;
  }

  void alias(uint32_t out, uint32_t in) override {
    made_[{out, Layout::Plain}] = read(in, Layout::Plain);
  }

  bool rounded_by_readers(uint32_t value) const override { return rounded_.count(value) != 0; }

  void rename(uint32_t out, uint32_t in) override {
    for (const Layout l : {Layout::Plain, Layout::Blocked, Layout::Last})
      if (const auto at = made_.find({in, l}); at != made_.end()) made_[{out, l}] = at->second;
    if (!made_.count({out, layout(out)})) alias(out, in);
  }

  Operand packed(uint32_t value, const Pack& pack, const Operand* scale) override {
    if (!graph_.is_constant(value)) {
      const auto floats = graph_.dequantized(value);
      if (!floats) fail("is packed but computed", value);
      Operand o = bytes({reinterpret_cast<const char*>(floats->data()), floats->size() * sizeof(float)}, pack);
      if (scale) o.scale = scale->index;
      return o;
    }
    Operand o;
    o.kind = Operand::Weight, o.index = graph_.value(value).constant, o.pack = pack;
    const int32_t stored = graph_.stored_dtype(value);
    o.pack.source = stored == OPTIMA_F16 ? Pack::F16 : stored == OPTIMA_BF16 ? Pack::BF16 : Pack::F32;
    if (scale) o.scale = scale->index;
    return o;
  }

  Operand bytes(std::string contents, const Pack& pack) override {
    Operand o;
    o.kind = Operand::Bytes, o.pack = pack;
    const auto at = memo_ ? computed_.end() : computed_.find(contents);  // what is equal at these sizes may not be at others
    o.index = at == computed_.end() ? static_cast<uint32_t>(by_number_.size()) : at->second;
    if (at == computed_.end()) by_number_.push_back(&computed_.emplace(std::move(contents), o.index)->first);
    return o;
  }

  Operand temporary(uint64_t bytes) override {
    Operand o;
    o.kind = Operand::Buffer, o.index = static_cast<uint32_t>(buffers_.size());
    buffers_.push_back({bytes, Buffer::Arena, 0, OPTIMA_NONE, Layout::Plain});
    return o;
  }

  void emit(Op op) override {
    if (group_) complete(op, group_->nodes);
    if (op.node_ids.empty() && giving_ != OPTIMA_NONE)  // so that its time is booked on what made the value
      if (const uint32_t maker = graph_.value(giving_).producer; maker != OPTIMA_NONE) op.node_ids.push_back(optima_get_node(graph_.image(), maker)->id);
    if (op.label.empty()) op.label = op.kernel.entry.substr(2);
    if (op.units < 1) return;  // an empty tensor: nothing to do
    steps_.push_back(std::make_shared<Op>(std::move(op)));
  }

 private:
  using Key = std::pair<uint32_t, Layout>;

  /// Lowers the group at hand, and keeps what was said.
  void record(Tape& tape) {
    std::vector<NodeView> nodes = group_->nodes;
    for (NodeView& n : nodes) n.graph.reads = &tape.reads;
    const std::function<size_t()> count = [this] { return steps_.size(); };
    Recorder recorder(*this, tape, count);
    group_->lowering->lower(nodes, recorder);
    tape.reads = distinct(std::move(tape.reads));
  }

  /// A plan is moved where its steps are those of its groups and passages between them, and every value lies plain or in blocks.
  void keep(const std::vector<Group>& groups) {
    for (const Group& g : groups)
      if (g.nodes[0].op() == "Concat") ask(memo_, graph_, [n = g.nodes[0].raw, &target = target_](const GraphView& graph) { return joins_in_place({graph, n}, target); });
    const bool own = std::all_of(memo_->groups.begin(), memo_->groups.end(), [](const PlanMemo::Group& g) { return g.tape.is_whole; });
    const bool floats = std::all_of(made_.begin(), made_.end(), [](const auto& at) { return at.first.second == Layout::Plain || at.first.second == Layout::Blocked; });
    memo_->is_whole = !memo_->groups.empty() && own && floats && !has_halves();
    memo_->buffers = buffers_, memo_->steps = steps_;
    for (const auto& [at, piece] : in_place_) keep_piece(at, piece);
  }

  void keep_piece(const Key& at, const Piece& piece) {
    Key root{piece.whole, at.second};
    for (auto outer = in_place_.find(root); outer != in_place_.end(); outer = in_place_.find(root)) root.first = outer->second.whole;
    if (const auto whole = wholes_.find(root); whole != wholes_.end()) memo_->pieces.push_back({at.first, piece.whole, whole->second.index, piece.offset});
  }

  /// Where it lies already.
  std::optional<Layout> found(uint32_t value) const {
    for (const Layout l : {Layout::Plain, Layout::Blocked, Layout::Last, Layout::Narrow})
      if (made_.count({value, l})) return l;
    return std::nullopt;
  }

  [[noreturn]] void fail(const std::string& what, uint32_t value) const {
    throw sdk::Error(OPTIMA_INTERNAL, "value " + std::string(graph_.name(value)) + " " + what, group_ ? group_->nodes[0].id() : OPTIMA_NONE);
  }

  /// No lowering has a value where passages and kernels would take its elements for others.
  void expect(uint32_t value, Layout layout) const {
    if (may_lie(graph_, value, layout)) return;
    constexpr const char* kNames[] = {"plain", "blocked", "with channels last", "narrow"};
    fail("of type " + sdk::dtype_name(graph_.dtype(value)) + " and dims " + to_text(graph_.dims(value)) + " cannot lie " + kNames[static_cast<size_t>(layout)], value);
  }

  bool is_late(const Group& g) const {
    return !g.unit && g.nodes.size() == 1 && g.lowering->is_late && g.lowering->is_late(g.nodes[0], target_);
  }

  /// Lowers what waited for a reader; the step is booked on the node that made it wait.
  void make_late(uint32_t value, Layout layout) {
    const Group* const reader = group_;
    group_ = late_.at(value);
    late_.erase(value);
    group_->lowering->lower_late(group_->nodes[0], layout, *this);
    group_ = reader;
  }

  void take_inputs() {
    for (uint32_t k = 0; k < entry_.inputs.count; ++k) {
      const uint32_t v = *optima_get_index(graph_.image(), entry_.inputs.first + k);
      const uint64_t size = bytes_of(graph_, v, outside(v), target_);
      Operand o = temporary(size);
      buffers_.back() = {size, Buffer::Input, k, v, outside(v)};
      made_[{v, outside(v)}] = o;
      draft_.plan.inputs.push_back(tensor_outside(v, size));
    }
  }

  Layout outside(uint32_t value) const {
    if (is_half(graph_.stored_dtype(value))) return Layout::Narrow;
    return options_.blocked_outside.count(value) ? Layout::Blocked : Layout::Plain;
  }

  /// Values of bf16 that nobody reads but products that round them by themselves.
  void find_rounded(const std::vector<Group>& groups) {
    if (target_.bf16 == Bf16::None || !has_halves()) return;
    std::set<uint32_t> others, by_reference;
    for (const Group& g : groups)
      if (g.lowering == &reference_row()) by_reference.insert(g.nodes[0].id());
    for (uint32_t k = 0; k < entry_.outputs.count; ++k) others.insert(*optima_get_index(graph_.image(), entry_.outputs.first + k));
    for (uint32_t i = 0; i < entry_.nodes.count; ++i) {
      const NodeView n{graph_, optima_get_node(graph_.image(), entry_.nodes.first + i)};
      const Lowering* row = by_reference.count(n.id()) ? nullptr : find_lowering(n);
      const bool rounds = row && row->multiplies_bf16 && row->multiplies_bf16(n, target_);
      for (uint32_t k = 0; k < n.input_count(); ++k)
        if (n.has_input(k)) (rounds && k == 0 ? rounded_ : others).insert(n.input(k));
    }
    for (const uint32_t v : others) rounded_.erase(v);
  }

  bool has_halves() const {
    bool any = false;
    for (uint32_t v = entry_.values.first; v < entry_.values.first + entry_.values.count && !any; ++v) any = is_half(graph_.stored_dtype(v));
    return any;
  }

  /// As the caller has it: kernels read past a blocked one.
  Plan::Tensor tensor_outside(uint32_t value, uint64_t size) const {
    Plan::Tensor t{std::string(graph_.name(value)), graph_.stored_dtype(value), graph_.dims(value), size};
    if (outside(value) == Layout::Blocked) t.dims = blocked_dims(t.dims, target_), t.bytes += kSlack;
    return t;
  }

  Operand buffer_for(uint32_t value, Layout layout) {
    if (const auto at = in_place_.find({value, layout}); at != in_place_.end()) {
      Operand whole = whole_of(at->second.whole, layout);
      whole.offset += at->second.offset;
      return whole;
    }
    return fresh(value, layout);
  }

  /// The buffer of a concatenation, made when its first piece is.
  Operand whole_of(uint32_t value, Layout layout) {
    const auto at = wholes_.find({value, layout});
    if (at != wholes_.end()) return at->second;
    return wholes_[{value, layout}] = buffer_for(value, layout);
  }

  Operand fresh(uint32_t value, Layout layout) {
    if (const auto at = wholes_.find({value, layout}); at != wholes_.end()) return at->second;
    Operand o = temporary(bytes_of(graph_, value, layout, target_));
    buffers_.back().value = value, buffers_.back().layout = layout;
    return o;
  }

  Operand read_constant(uint32_t value, Layout layout) {
    const Dims dims = graph_.dims(value);
    if (layout == Layout::Last) return convert_last(value, layout);
    if (layout == Layout::Narrow && !graph_.is_constant(value)) return convert_half(value, layout);  // dequantized: floats of 32 bits
    if (layout == Layout::Narrow) {
      Operand as_it_is = packed(value, {}, nullptr);
      as_it_is.pack.source = Pack::F32;
      return made_[{value, layout}] = as_it_is;
    }
    if (layout == Layout::Plain) return made_[{value, layout}] = packed(value, {}, nullptr);
    if (memo_) memo_->questions.push_back({{value}, [](const GraphView&) { return false; }});  // it would be packed otherwise
    Pack p;
    p.kind = Pack::Channels, p.vector_width = target_.vector_width;
    p.groups = dims[0], p.oc = dims[1], p.kw = count(dims) / std::max<int64_t>(1, dims[0] * dims[1]);
    p.oc_stride = p.kw, p.group_stride = p.oc * p.kw, p.kw_stride = 1;
    return made_[{value, layout}] = packed(value, p, nullptr);
  }

  /// Every passage begins or ends Plain.
  Operand convert(uint32_t value, Layout layout) {
    const auto from = found(value);
    if (!from) fail("is read before it is made", value);
    if (*from != Layout::Plain && layout != Layout::Plain) read(value, Layout::Plain);
    switch (layout == Layout::Plain ? *from : layout) {
      case Layout::Narrow: return convert_half(value, layout);
      case Layout::Last: return convert_last(value, layout);
      default: return convert_blocked(value, layout);
    }
  }

  /// From Last to Plain or back: bytes of 8-bit codes may change their sign.
  Operand convert_last(uint32_t value, Layout layout) {
    const Operand source = read(value, layout == Layout::Plain ? Layout::Last : Layout::Plain);
    const Dims dims = graph_.dims(value);
    const int64_t pixels = count(dims) / std::max<int64_t>(1, dims[0] * dims[1]), bytes = optima_dtype_bits(graph_.dtype(value)) / 8;
    const int64_t flip = flips(graph_.dtype(value), target_) ? 0x80 : 0;
    const bool alike = pixels == 1 && !flip && (dims[0] == 1 || dims[1] == pixel(value));
    if (layout == Layout::Plain && alike) return made_[{value, layout}] = source;
    Operand to = buffer_for(value, layout);  // a piece of codes goes to its place
    made_[{value, layout}] = to;
    to.written = true;
    Op op;
    if (layout == Layout::Plain) op.kernel = k::FromLast{.bytes = bytes, .C = dims[1], .P = pixels, .pixel = pixel(value), .flip = flip};
    else op.kernel = k::ToLast{.bytes = bytes, .C = dims[1], .P = pixels, .pixel = pixel(value), .flip = flip};
    op.args = {source, to};
    op.units = dims[0] * ((pixels + k::kStrip - 1) / k::kStrip);
    op.work = elements(dims, Layout::Last, target_);
    draft_.moved += elements(dims, Layout::Last, target_) * bytes / 4;
    op.label = layout == Layout::Plain ? "from channels last" : "to channels last";
    emit(std::move(op));
    return made_[{value, layout}];
  }

  /// Between f32 and the graph's 16-bit floats.
  Operand convert_half(uint32_t value, Layout layout) {
    const bool narrow = layout == Layout::Narrow;
    const Operand from = read(value, narrow ? Layout::Plain : Layout::Narrow);
    Operand to = fresh(value, layout);
    made_[{value, layout}] = to;
    to.written = true;
    Op op;
    const int64_t bf16 = graph_.stored_dtype(value) == OPTIMA_BF16, elements = count(graph_.dims(value));
    if (narrow) op.kernel = k::Narrow{.bf16 = bf16, .count = elements};
    else op.kernel = k::Widen{.bf16 = bf16, .count = elements};
    op.args = {from, to};
    op.units = (elements + k::kCopyPiece - 1) / k::kCopyPiece;
    op.work = elements;
    op.label = std::string(narrow ? "to " : "from ") + (bf16 ? "bf16" : "f16");
    emit(std::move(op));
    return made_[{value, layout}];
  }

  /// From Blocked to Plain or back.
  Operand convert_blocked(uint32_t value, Layout layout) {
    const Operand source = read(value, layout == Layout::Plain ? Layout::Blocked : Layout::Plain);
    const Dims dims = graph_.dims(value);
    const bool is_free = layout == Layout::Plain && is_plain_in_blocks(dims, target_);
    const size_t before = steps_.size();
    if (is_free) {
      made_[{value, layout}] = source;
    } else {
      Op op = passage(dims, layout, target_);
      Operand to = fresh(value, layout);
      made_[{value, layout}] = to;
      to.written = true;
      op.args = {source, to};
      draft_.moved += elements(dims, Layout::Blocked, target_);
      emit(std::move(op));
    }
    if (memo_) memo_->passages.push_back({value, layout, is_free, steps_.size() == before ? OPTIMA_NONE : static_cast<uint32_t>(before)});
    return made_[{value, layout}];
  }

  /// Every graph output in the caller's memory: the buffer becomes the caller's, or it is copied.
  void give_outputs() {
    for (uint32_t k = 0; k < entry_.outputs.count; ++k) {
      const uint32_t v = *optima_get_index(graph_.image(), entry_.outputs.first + k);
      const uint64_t size = bytes_of(graph_, v, outside(v), target_);
      giving_ = v;
      draft_.plan.outputs.push_back(tensor_outside(v, size));
      const Operand from = read(v, outside(v));
      if (from.kind == Operand::Buffer && from.offset == 0) {
        Buffer& b = buffers_[from.index];
        if (b.where == Buffer::Arena && b.bytes == size) {
          b.where = Buffer::Output, b.number = k;
          continue;
        }
      }
      if (memo_) memo_->copied.push_back({v, from});
      copy_out(from, size, k);
    }
  }

  void copy_out(const Operand& from, uint64_t size, uint32_t output) {
    Operand to = temporary(size);
    buffers_.back().where = Buffer::Output, buffers_.back().number = output;
    to.written = true;
    draft_.moved += static_cast<int64_t>(size / 4);
    emit_copy_bytes(static_cast<int64_t>(size), from, to, "copy out", *this);
  }

  void write_steps() {
    for (const Step& each : steps_) {
      const Op& op = *each;
      Plan::Step step;
      step.kernel = number_of(op.kernel);
      static_cast<Cutting&>(step) = op;
      step.node_ids = op.node_ids, step.label = op.label;
      for (const Operand& a : op.args) step.args.push_back(to_arg(a));
      draft_.plan.scratch_bytes = std::max(draft_.plan.scratch_bytes, op.scratch_per_thread);
      draft_.plan.steps.push_back(std::move(step));
    }
    draft_.plan.kernels.resize(draft_.specs.size());
  }

  /// Equal specs once; in a plan that may be moved each step has its own.
  uint32_t number_of(const KernelSpec& spec) {
    const auto at = memo_ ? draft_.specs.end() : std::find(draft_.specs.begin(), draft_.specs.end(), spec);
    const auto number = static_cast<uint32_t>(at - draft_.specs.begin());
    if (at == draft_.specs.end()) draft_.specs.push_back(spec);
    return number;
  }

  Plan::Arg to_arg(const Operand& a) {
    if (a.kind == Operand::Null) return {};
    if (a.kind != Operand::Buffer) return {Plan::Arg::Constant, constant(a), a.offset};
    const Buffer& b = buffers_[a.index];
    if (b.where == Buffer::Input) return {Plan::Arg::Input, b.number, a.offset};
    if (b.where == Buffer::Output) return {Plan::Arg::Output, b.number, a.offset};
    return {Plan::Arg::Arena, 0, places_.offsets[a.index] + a.offset};
  }

  /// The plan's constant for an operand; equal ones once. Scales stand before those that use them.
  uint32_t constant(const Operand& a) {
    Plan::Constant c;
    if (a.kind == Operand::Weight) {
      c.weight = "w" + std::to_string(a.index);
      const optima_constant& raw = *optima_get_constant(graph_.image(), a.index);
      c.size = optima_get_blob(graph_.raw, raw.blob)->size;
      const std::pair<std::string, uint32_t> use{c.weight, a.index};
      if (std::find(draft_.weights.begin(), draft_.weights.end(), use) == draft_.weights.end()) draft_.weights.push_back(use);
    } else {
      c.size = by_number_[a.index]->size();
      c.offset = stored(a.index);
    }
    c.pack = a.pack;
    if (a.scale != UINT32_MAX) {
      Operand scale;
      scale.kind = Operand::Bytes, scale.index = a.scale;
      c.scale = constant(scale);
    }
    c.packed_bytes = packed_bytes(c.pack, c.size);
    const auto same = [&](const Plan::Constant& o) {
      return o.weight == c.weight && o.offset == c.offset && o.size == c.size && o.pack == c.pack && o.scale == c.scale;
    };
    auto& all = draft_.plan.constants;
    const auto at = std::find_if(all.begin(), all.end(), same);
    if (at != all.end()) return static_cast<uint32_t>(at - all.begin());
    all.push_back(std::move(c));
    return static_cast<uint32_t>(all.size() - 1);
  }

  /// Offset in the constants file; written on first use.
  uint64_t stored(uint32_t number) {
    const auto [at, is_new] = stored_.try_emplace(number, 0);
    if (!is_new) return at->second;
    return at->second = add_constant(draft_.constants, *by_number_[number]);
  }

  GraphView graph_;
  const Target& target_;
  const PlannerOptions& options_;
  PlanMemo* memo_;
  const optima_image_graph& entry_;
  const Group* group_ = nullptr;
  std::set<uint32_t> rounded_;                     // see rounded_by_readers()
  uint32_t giving_ = OPTIMA_NONE;  // the output that is being given
  std::vector<Buffer> buffers_;
  Places places_;
  std::map<Key, Operand> made_;
  std::map<uint32_t, const Group*> late_;  // by value: made when somebody reads it
  std::map<Key, Piece> in_place_;
  std::map<Key, Operand> wholes_;
  std::multimap<std::string, uint32_t> computed_;
  std::vector<const std::string*> by_number_;
  std::map<uint32_t, uint64_t> stored_;
  std::vector<Step> steps_;
  Draft draft_;
};

}  // namespace

uint64_t add_constant(std::string& file, std::string_view bytes) {
  file.resize((file.size() + kAlign - 1) / kAlign * kAlign);
  const uint64_t offset = file.size();
  file += bytes;
  return offset;
}

Draft plan_graph(const GraphView& graph, const Target& target, const PlannerOptions& options, PlanMemo* memo) {
  return Planner(graph, target, options, memo && !has_codes(graph) ? memo : nullptr).run();
}

}  // namespace optima::llvm_cpu
