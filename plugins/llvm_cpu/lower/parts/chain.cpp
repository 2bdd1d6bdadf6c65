// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see chain.hpp.
#include "plugins/llvm_cpu/lower/parts/chain.hpp"

#include <optional>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/of_sizes.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/table.hpp"

namespace optima::llvm_cpu {
namespace {

/// Dim k of a tensor counted as in a space of `rank` dims (aligned at the end); 1 where it has none.
int64_t aligned_dim(const Dims& dims, size_t rank, size_t k) { return k + dims.size() < rank ? 1 : dims[k + dims.size() - rank]; }

/// The only element of a constant that is the same at all sizes.
std::optional<double> number(const GraphView& g, uint32_t value) {
  if (!g.is_constant(value) || g.name(value) == kOfSizes || count(g.dims(value)) != 1) return std::nullopt;
  if (const auto f = g.floats(value)) return (*f)[0];
  if (const auto i = g.integers(value); i && (*i)[0] > -(int64_t{1} << 53) && (*i)[0] < int64_t{1} << 53) return static_cast<double>((*i)[0]);
  return std::nullopt;
}

/// The only element of a constant that is an operand all the same: codes, so that kernels do not differ by them, and what hangs on sizes.
std::optional<double> known_operand(const GraphView& g, uint32_t value) {
  if (!g.is_constant(value) || count(g.dims(value)) != 1) return std::nullopt;
  if (const auto f = g.floats(value)) return (*f)[0];
  if (const auto i = g.small_integers(value); i && element_bytes(g.dtype(value)) == 1) return (*i)[0];
  return std::nullopt;
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
  layout_ = choose();
  program_ = Program(space());
}

Layout Chain::choose() const {
  if (dims_.size() < 3 || dims_.size() > 5) return Layout::Plain;
  bool blocked = false, last = false, can_block = nodes_.back().out_dtype(0) == OPTIMA_F32, can_last = can_be_last(nodes_.back().output(0));
  for (const NodeView& n : nodes_) {
    const bool quantizes = is_quantize(n) || is_dequantize(n);
    const Lowering& row = *find_lowering(n);
    for (uint32_t k = 0; k < n.input_count(); ++k) {
      const uint32_t v = n.input(k);
      if (v == OPTIMA_NONE || produced(v) || number(graph_, v)) continue;
      if (quantizes) can_block = false;
      if (quantizes && !codes_of(n)) can_last = false;
      if (!row.loads(n, k)) continue;  // numbers that along() brings into the layout
      can_block = can_block && this->can_block(v), can_last = can_last && can_be_last(v);
      blocked = blocked || (graph_.dims(v) == dims_ && context_.layout(v) == Layout::Blocked);
      last = last || (graph_.dims(v) == dims_ && context_.layout(v) == Layout::Last);
    }
  }
  return last && can_last ? Layout::Last : blocked && can_block ? Layout::Blocked : Layout::Plain;
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

/// A constant that has nothing but channels.
bool Chain::runs_along_channels(uint32_t value) const {
  const Dims dims = graph_.dims(value);
  return aligned_dim(dims, dims_.size(), 1) == count(dims) && graph_.bytes(value);
}

/// Readable where channels come last: of full rank with all channels, a constant of channels alone, or anything without channels.
bool Chain::can_be_last(uint32_t value) const {
  const Dims dims = graph_.dims(value);
  if (element_bytes(graph_.dtype(value)) > 4) return false;
  const int64_t own = aligned_dim(dims, dims_.size(), 1);
  return own == 1 || (dims.size() == dims_.size() && own == dims_[1]) || runs_along_channels(value);
}

/// Channels last: what lies behind the last channel is computed, too, so that pixels follow each other without gaps.
Dims Chain::space() const {
  if (layout_ == Layout::Plain) return dims_.empty() ? Dims{1} : dims_;
  Dims out = dims_;
  if (layout_ == Layout::Last) {
    out.erase(out.begin() + 1);
    out.push_back(last_channels(dims_[1]));
    return out;
  }
  const int64_t vl = context_.target().vector_width;
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

/// Of a tensor of full rank with channels last, `pixel` elements from pixel to pixel, that may be repeated along n and space.
Dims Chain::last_steps(const Dims& dims, int64_t pixel) const {
  Dims own = dims;
  own.erase(own.begin() + 1);
  own.push_back(pixel);
  Dims steps = row_major(own);
  for (size_t d = 0; d + 1 < own.size(); ++d)
    if (own[d] == 1 && dims_[d == 0 ? 0 : d + 1] != 1) steps[d] = 0;
  return steps;
}

Chain::Id Chain::value(uint32_t v) {
  if (const auto at = made_.find(v); at != made_.end()) return at->second;
  const int32_t dtype = graph_.dtype(v);
  if (const auto x = number(graph_, v)) return made_[v] = program_.constant(dtype, *x);
  if (const auto x = known_operand(graph_, v)) return made_[v] = program_.load(context_.read(v, Layout::Plain), dtype, Dims(space().size(), 0), x);
  if (layout_ == Layout::Blocked) return made_[v] = blocked_value(v);
  if (layout_ == Layout::Last) return made_[v] = last_value(v);
  return made_[v] = program_.load(context_.read(v, Layout::Plain), dtype, broadcast_steps(graph_.dims(v), space()));
}

Chain::Id Chain::blocked_value(uint32_t v) {
  const int32_t dtype = graph_.dtype(v);
  const Dims dims = graph_.dims(v);
  const int64_t own = aligned_dim(dims, dims_.size(), 1);
  if (dims.size() == dims_.size() && own == dims_[1] && !(own == 1 && context_.layout(v) == Layout::Plain))
    return program_.load(context_.read(v, Layout::Blocked), dtype, blocked_steps(dims));
  if (own == 1) {  // the same in every channel: the plain tensor, without steps along channels
    Dims steps = broadcast_steps(dims, dims_);
    steps[1] = 0;
    steps.push_back(0);
    return program_.load(context_.read(v, Layout::Plain), dtype, steps);
  }
  Dims steps(dims_.size() + 1, 0);
  steps[1] = context_.target().vector_width, steps.back() = 1;
  return program_.load(context_.packed(v, channels(own, context_.target().vector_width)), dtype, steps);
}

Chain::Id Chain::last_value(uint32_t v) {
  const int32_t dtype = graph_.dtype(v);
  const Dims dims = graph_.dims(v);
  if (dims.size() == dims_.size() && dims[1] == dims_[1] && !(dims[1] == 1 && context_.layout(v) != Layout::Last) &&
      !(runs_along_channels(v) && graph_.is_constant(v))) {
    const Operand from = context_.read(v, Layout::Last);
    const Dims steps = last_steps(dims, context_.pixel(v));
    if (!flips(dtype, context_.target())) return program_.load(from, dtype, steps);
    const int32_t lying = dtype == OPTIMA_U8 ? OPTIMA_I8 : OPTIMA_U8;
    return flipped(program_.load(from, lying, steps), dtype);
  }
  if (aligned_dim(dims, dims_.size(), 1) != 1) return channel_bytes(std::string(*graph_.bytes(v)), dtype);
  Dims steps = broadcast_steps(dims, dims_);
  steps.erase(steps.begin() + 1);
  steps.push_back(0);
  return program_.load(context_.read(v, Layout::Plain), dtype, steps);
}

/// The top bit of a byte, turned, which makes a signed one unsigned and back.
Chain::Id Chain::flipped(Id id, int32_t dtype) {
  const Id other = program_.cast(dtype, id);
  return program_.apply("xor"_op, {other, program_.constant(dtype, dtype == OPTIMA_U8 ? 0x80 : -0x80)});
}

/// One element per channel where channels come last; what lies behind the last one gets the first one's.
Chain::Id Chain::channel_bytes(const std::string& bytes, int32_t dtype) {
  std::string padded = bytes;
  const auto whole = static_cast<size_t>(last_channels(dims_[1]) * element_bytes(dtype));
  while (padded.size() < whole) padded += bytes.substr(0, static_cast<size_t>(element_bytes(dtype)));
  Dims steps(space().size(), 0);
  steps.back() = 1;
  return program_.load(context_.bytes(padded), dtype, steps);
}

Chain::Id Chain::numbers(const std::vector<float>& numbers, size_t axis) {
  if (numbers.size() > 1) return along(numbers, axis);
  return program_.load(context_.bytes(raw_bytes(numbers)), OPTIMA_F32, Dims(space().size(), 0), numbers[0]);
}

Chain::Id Chain::along(const std::vector<float>& numbers, size_t axis) {
  if (numbers.size() == 1) return program_.constant(OPTIMA_F32, numbers[0]);
  const int64_t vl = context_.target().vector_width;
  if (layout_ == Layout::Last && axis == 1) return channel_bytes(raw_bytes(numbers), OPTIMA_F32);
  Dims steps(space().size(), 0);
  if (layout_ != Layout::Blocked) {
    steps[layout_ == Layout::Last && axis > 0 ? axis - 1 : axis] = 1;
    return program_.load(context_.bytes(raw_bytes(numbers)), OPTIMA_F32, steps);
  }
  if (axis != 1) throw sdk::Error(OPTIMA_INTERNAL, "blocked numbers must run along channels");
  steps[1] = vl, steps.back() = 1;
  return program_.load(context_.bytes(raw_bytes(numbers), channels(static_cast<int64_t>(numbers.size()), vl)), OPTIMA_F32, steps);
}

Chain::Id Chain::along(uint32_t v, size_t axis) {
  const Dims dims = graph_.dims(v);
  if (count(dims) == 1) return value(v);
  if (layout_ != Layout::Plain) throw sdk::Error(OPTIMA_INTERNAL, "computed numbers along an axis must be plain");
  Dims steps(space().size(), 0);
  steps[axis] = 1;
  return program_.load(context_.read(v, Layout::Plain), graph_.dtype(v), steps);
}

void Chain::finish(uint32_t v) {
  const bool narrow = layout_ == Layout::Plain && context_.rounded_by_readers(v);
  const Operand to = context_.write(v, narrow ? Layout::Narrow : layout_);
  const int32_t dtype = graph_.dtype(v);
  Id result = narrow ? program_.cast(graph_.stored_dtype(v), made_.at(v)) : made_.at(v);
  if (layout_ == Layout::Last && flips(dtype, context_.target())) result = flipped(result, dtype == OPTIMA_U8 ? OPTIMA_I8 : OPTIMA_U8);
  program_.store(to, result, layout_ == Layout::Last ? last_steps(dims_, context_.pixel(v)) : row_major(program_.dims()));
  std::string label;
  for (const NodeView& n : nodes_) label += (label.empty() ? "" : "+") + std::string(n.op());
  if (const auto map = program_.map(); map && emit_table(map->walk, map->from, map->to, map->table, "table " + label, context_)) return;
  Op op = program_.finish(context_.target());
  op.label = label;
  context_.emit(std::move(op));
}

}  // namespace optima::llvm_cpu
