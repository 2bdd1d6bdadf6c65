// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see chain.hpp.
#include "plugins/llvm_cpu/lower/parts/chain.hpp"

#include <optional>

#include "optima/plugin/error.hpp"

namespace optima::llvm_cpu {
namespace {

/// Dim k of a tensor counted as in a space of `rank` dims (aligned at the end); 1 where it has none.
int64_t aligned_dim(const Dims& dims, size_t rank, size_t k) { return k + dims.size() < rank ? 1 : dims[k + dims.size() - rank]; }

/// The only element of a constant.
std::optional<double> number(const GraphView& g, uint32_t value) {
  if (!g.is_constant(value) || count(g.dims(value)) != 1) return std::nullopt;
  if (const auto f = g.floats(value)) return (*f)[0];
  if (const auto i = g.integers(value); i && (*i)[0] > -(int64_t{1} << 53) && (*i)[0] < int64_t{1} << 53) return static_cast<double>((*i)[0]);
  return std::nullopt;
}

std::string bytes_of(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

/// One number per channel, padded to whole vectors.
Pack channels(int64_t count, int64_t vector_width) {
  Pack p;
  p.kind = Pack::Channels, p.vector_width = vector_width, p.oc = count, p.oc_stride = 1;
  return p;
}

}  // namespace

Chain::Chain(std::span<const NodeView> nodes, LowerContext& context)
    : nodes_(nodes), context_(context), graph_(nodes[0].graph), dims_(nodes.back().out_dims(0)), program_({}) {
  bool any = false, all = dims_.size() >= 3 && dims_.size() <= 5 && nodes.back().out_dtype(0) == OPTIMA_F32;
  for (const NodeView& n : nodes)
    for (uint32_t k = 0; k < n.input_count(); ++k) {
      const uint32_t v = n.input(k);
      if (v == OPTIMA_NONE || produced(v) || number(graph_, v)) continue;
      const bool per_axis = n.op() == "BatchNormalization" && k > 0;
      if (n.op() == "QuantizeLinear" || n.op() == "DequantizeLinear") all = false;
      if (!per_axis) all = all && can_block(v);
      any = any || (graph_.dims(v) == dims_ && context.layout(v) == Layout::Blocked);
    }
  blocked_ = any && all;
  program_ = Program(space());
}

bool Chain::produced(uint32_t value) const {
  for (const NodeView& n : nodes_)
    for (uint32_t k = 0; k < n.output_count(); ++k)
      if (n.output(k) == value) return true;
  return false;
}

/// Readable in a blocked kernel: [n][C][spatial] itself, a constant of channels alone, or anything without channels.
bool Chain::can_block(uint32_t value) const {
  const Dims dims = graph_.dims(value);
  if (graph_.dtype(value) != OPTIMA_F32) return false;
  const int64_t own = aligned_dim(dims, dims_.size(), 1);
  if (own == 1 || (dims.size() == dims_.size() && own == dims_[1])) return true;
  return graph_.is_constant(value) && count(dims) == own;
}

Dims Chain::space() const {
  if (!blocked_) return dims_.empty() ? Dims{1} : dims_;
  const int64_t vl = context_.target().vector_width;
  Dims out = dims_;
  out[1] = (dims_[1] + vl - 1) / vl;
  out.push_back(vl);
  return out;
}

/// Of a blocked tensor [n][CB][spatial][VL] that may be repeated along n and space.
Dims Chain::blocked_steps(const Dims& dims) const {
  const int64_t vl = context_.target().vector_width;
  Dims blocked = dims;
  blocked[1] = (dims[1] + vl - 1) / vl;
  blocked.push_back(vl);
  Dims steps = row_major(blocked);
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] == 1 && dims_[d] != 1) steps[d] = 0;
  return steps;
}

Chain::Id Chain::value(uint32_t v) {
  if (const auto at = made_.find(v); at != made_.end()) return at->second;
  const int32_t dtype = graph_.dtype(v);
  if (const auto x = number(graph_, v)) return made_[v] = program_.constant(dtype, *x);
  const Dims dims = graph_.dims(v);
  if (!blocked_) return made_[v] = program_.load(context_.read(v, Layout::Plain), dtype, broadcast_steps(dims, space()));
  const int64_t own = aligned_dim(dims, dims_.size(), 1);
  if (dims.size() == dims_.size() && own == dims_[1] && !(own == 1 && context_.layout(v) == Layout::Plain))
    return made_[v] = program_.load(context_.read(v, Layout::Blocked), dtype, blocked_steps(dims));
  if (own == 1) {  // the same in every channel: the plain tensor, without steps along channels
    Dims steps = broadcast_steps(dims, dims_);
    steps[1] = 0;
    steps.push_back(0);
    return made_[v] = program_.load(context_.read(v, Layout::Plain), dtype, steps);
  }
  Dims steps(dims_.size() + 1, 0);
  steps[1] = context_.target().vector_width, steps.back() = 1;
  return made_[v] = program_.load(context_.packed(v, channels(own, context_.target().vector_width)), dtype, steps);
}

Chain::Id Chain::along(const std::vector<float>& numbers, size_t axis) {
  if (numbers.size() == 1) return program_.constant(OPTIMA_F32, numbers[0]);
  const int64_t vl = context_.target().vector_width;
  Dims steps(space().size(), 0);
  if (!blocked_) {
    steps[axis] = 1;
    return program_.load(context_.bytes(bytes_of(numbers)), OPTIMA_F32, steps);
  }
  if (axis != 1) throw sdk::Error(OPTIMA_INTERNAL, "blocked numbers must run along channels");
  steps[1] = vl, steps.back() = 1;
  return program_.load(context_.bytes(bytes_of(numbers), channels(static_cast<int64_t>(numbers.size()), vl)), OPTIMA_F32, steps);
}

Chain::Id Chain::along(uint32_t v, size_t axis) {
  const Dims dims = graph_.dims(v);
  if (count(dims) == 1) return value(v);
  Dims steps(space().size(), 0);
  steps[axis] = 1;
  return program_.load(context_.read(v, Layout::Plain), graph_.dtype(v), steps);
}

void Chain::finish(uint32_t v) {
  const Operand to = context_.write(v, blocked_ ? Layout::Blocked : Layout::Plain);
  program_.store(to, made_.at(v), row_major(program_.dims()));
  Op op = program_.finish(context_.target());
  for (const NodeView& n : nodes_) op.label += (op.label.empty() ? "" : "+") + std::string(n.op());
  context_.emit(std::move(op));
}

}  // namespace optima::llvm_cpu
