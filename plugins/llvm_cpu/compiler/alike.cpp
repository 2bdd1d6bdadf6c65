// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see alike.hpp. A lowering, and a judgement, sees of its nodes the operator and attributes, of their operands the type, the dims and the elements of
// constants, and which of them are the same value; a lowering also what the planner answers. All of that but dims and elements makes a text, and what has one text is alike.
#include "plugins/llvm_cpu/compiler/alike.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "plugins/llvm_cpu/compiler/by_reference.hpp"
#include "reference/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

class Describer {
 public:
  explicit Describer(const GraphView& graph) : graph_(graph), kinds_(reference::kinds_of(*graph.raw, false)) {}  // dims are compared as they come

  PlanMemo::Alike of(const PlanMemo::Question& q) {
    if (q.node == OPTIMA_NONE) return {};
    begin(q.row);
    add_node(q.node);
    return finish(q.reads);
  }

  PlanMemo::Alike of(const PlanMemo::Group& g, const std::vector<Step>& steps) {
    if (g.lowering == &reference_row()) return {};  // its kernel is the number of its node
    begin(g.lowering);
    for (const uint32_t n : g.nodes) add_node(n);
    return add_tape(g.tape, steps) ? finish(g.tape.reads) : PlanMemo::Alike();
  }

 private:
  void begin(const Lowering* row) {
    text_.clear(), values_.clear();
    add(static_cast<int64_t>(reinterpret_cast<intptr_t>(row)));
  }
  /// What looked farther than its operands is like nothing.
  PlanMemo::Alike finish(const std::vector<uint32_t>& reads) {
    const auto is_operand = [&](uint32_t v) { return std::find(values_.begin(), values_.end(), v) != values_.end(); };
    if (!std::all_of(reads.begin(), reads.end(), is_operand)) return {};
    const auto number = static_cast<uint32_t>(numbers_.size());
    return {numbers_.try_emplace(text_, number).first->second, values_};
  }

  void add(int64_t n) { text_.append(reinterpret_cast<const char*>(&n), sizeof n); }

  void add_value(uint32_t v) {
    const auto at = std::find(values_.begin(), values_.end(), v);
    add(v == OPTIMA_NONE ? -1 : at - values_.begin());
    if (v == OPTIMA_NONE || at != values_.end()) return;
    values_.push_back(v);
    add(graph_.is_constant(v)), add(graph_.stored_dtype(v)), add(graph_.value(v).rank);
  }

  void add_node(uint32_t number) {
    const NodeView n{graph_, optima_get_node(graph_.image(), number)};
    add(kinds_[number]);
    for (uint32_t k = 0; k < n.input_count(); ++k) add_value(n.input(k));
    for (uint32_t k = 0; k < n.output_count(); ++k) add_value(n.output(k));
  }

  void add_pack(const Pack& pack) {
    const auto at = std::find(packs_.begin(), packs_.end(), pack);
    add(at - packs_.begin());
    if (at == packs_.end()) packs_.push_back(pack);
  }

  /// False where an argument is none of the operands that the tape has, or lies inside one.
  bool add_operand(const Operand& o, const Tape& tape) {
    add(o.kind), add(o.written), add_pack(o.pack);
    if (o.kind == Operand::Null) return true;
    const auto first = std::find_if(tape.calls.begin(), tape.calls.end(), [&](const Tape::Call& c) { return c.operand.kind == o.kind && c.operand.index == o.index; });
    add(first - tape.calls.begin());
    return o.scale == UINT32_MAX && first != tape.calls.end();
  }

  bool add_tape(const Tape& tape, const std::vector<Step>& steps) {
    bool whole = true;
    for (const Tape::Call& call : tape.calls) {
      using Kind = Tape::Kind;
      add(static_cast<int64_t>(call.kind)), add(static_cast<int64_t>(call.layout)), add(call.is_rounded), add(call.step == OPTIMA_NONE), add_pack(call.pack);
      if (call.kind != Kind::Bytes && call.kind != Kind::Temporary && call.kind != Kind::Emit) add_value(call.value);
      if (call.kind == Kind::Alias || call.kind == Kind::Rename) add_value(call.other);
      whole = whole && call.scale == UINT32_MAX && call.operand.offset == 0 && add_operand(call.operand, tape);
      if (call.step == OPTIMA_NONE) continue;
      for (const Operand& o : steps[call.step]->args) whole = whole && add_operand(o, tape);
    }
    return whole;
  }

  const GraphView graph_;
  const std::vector<uint32_t> kinds_;
  std::string text_;
  std::vector<uint32_t> values_;
  std::vector<Pack> packs_;
  std::map<std::string, uint32_t> numbers_;
};

}  // namespace

void find_alike(const GraphView& graph, PlanMemo& memo) {
  Describer describer(graph);
  for (PlanMemo::Question& q : memo.questions) q.alike = describer.of(q);
  if (!memo.pieces.empty()) return;
  for (PlanMemo::Group& g : memo.groups) g.alike = describer.of(g, memo.steps);
}

}  // namespace optima::llvm_cpu
