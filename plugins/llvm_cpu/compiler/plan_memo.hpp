// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: how a graph was planned, for moving the plan to other sizes (replan.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "plugins/llvm_cpu/compiler/arena.hpp"
#include "plugins/llvm_cpu/compiler/buffers.hpp"
#include "plugins/llvm_cpu/compiler/node.hpp"
#include "plugins/llvm_cpu/compiler/tape.hpp"

namespace optima::llvm_cpu {

/// Values and nodes by their numbers in the image.
struct PlanMemo {
  /// What has one number comes to the same where the same is known of its values, one by one.
  struct Alike {
    uint32_t number = OPTIMA_NONE;   ///< none: nothing is like it
    std::vector<uint32_t> values{};  ///< operands of its nodes
  };
  /// What was decided by dims or elements.
  struct Question {
    std::vector<uint32_t> reads;                  ///< values that the answer hangs on, each once
    std::function<bool(const GraphView&)> holds;  ///< whether the answer is still the same
    uint32_t node = OPTIMA_NONE;                  ///< the question is whether `row` is the one that takes this node; none: it is another one
    const Lowering* row = nullptr;
    Alike alike{};
  };
  struct Group {
    const Lowering* lowering;
    std::vector<uint32_t> nodes;
    Tape tape{};
    Alike alike{};
  };
  /// An output that is copied to the caller from a buffer that is not its own, or from elsewhere.
  struct Copied {
    uint32_t value;
    Operand from;
  };
  /// Of a value to Layout::Plain or Layout::Blocked from the other one.
  struct Passage {
    uint32_t value;
    Layout to;
    bool is_free;   ///< the bytes are the same
    uint32_t step;  ///< none: it is free, or there is nothing to carry
  };
  /// A value that lies inside another one, which a Concat makes.
  struct Piece {
    uint32_t value, whole;
    uint32_t buffer;  ///< of the outermost whole
    uint64_t offset;  ///< in `whole`, bytes
  };
  /// An argument of a step that lies in the arena, from `offset` on in its buffer.
  struct InArena {
    uint32_t step, arg, buffer;
    uint64_t offset;
  };
  /// What a plan looks like from the side of its arguments, which stays: operands are large, and going over them all takes long.
  struct Arguments {
    std::vector<InArena> in_arena;                        ///< in the order of steps
    std::vector<Lifetime> lives;                          ///< of buffers in the arena
    std::vector<uint32_t> owners;                         ///< by number of life, the buffer
    std::vector<std::pair<uint32_t, uint32_t>> constants; ///< of the graph, that steps take, and the plan's number
    std::vector<std::pair<uint32_t, uint32_t>> computed;  ///< Operand::Bytes, and the plan's number; in the order of the constants file
    std::vector<bool> is_scale;                           ///< by number of Operand::Bytes: weights are packed with it
  };
  std::vector<Question> questions;
  std::vector<Group> groups;     ///< in the order in which they are lowered; none where the graph has codes
  std::vector<Buffer> buffers;   ///< by the numbers of operands
  std::vector<Step> steps;       ///< of the plan, with operands
  std::vector<Copied> copied;
  std::vector<Passage> passages;
  std::vector<Piece> pieces;
  Arguments arguments;           ///< made by the first replan(), as what is alike is
  bool is_looked_at = false;
  bool is_whole = false;         ///< everything above is of one plan, and says all that its steps hang on
};

/// Sorted, each once.
std::vector<uint32_t> distinct(std::vector<uint32_t> values);

/// f(graph), which reads nothing of the graph that may change but dims and elements; a memo keeps the question with its answer. `still(graph, answer)`
/// says whether that is what f would give.
template <class F, class Still>
auto ask(PlanMemo* memo, const GraphView& graph, F f, Still still) {
  if (!memo) return f(graph);
  std::vector<uint32_t> reads;
  const auto answer = f(GraphView{graph.raw, &reads});
  if (!reads.empty()) memo->questions.push_back({distinct(std::move(reads)), [still, answer](const GraphView& g) { return still(g, answer); }});
  return answer;
}
template <class F>
auto ask(PlanMemo* memo, const GraphView& graph, F f) {
  return ask(memo, graph, f, [f](const GraphView& g, const auto& answer) { return f(g) == answer; });
}

}  // namespace optima::llvm_cpu
