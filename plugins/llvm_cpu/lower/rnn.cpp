// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: LSTM, GRU and RNN: one matrix product for all inputs, then the steps.
#include <algorithm>

#include "plugins/llvm_cpu/kernels/rnn.hpp"
#include "plugins/llvm_cpu/lower/parts/dense.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

using Kind = k::RnnKind;
using k::Act;

Kind kind_of(const NodeView& n) { return n.op() == "LSTM" ? Kind::Lstm : n.op() == "GRU" ? Kind::Gru : Kind::Rnn; }

/// None: the kernel has no such activation.
Act activation_of(std::string_view name) {
  constexpr Named<Act> kAll[] = {{"Tanh", Act::Tanh}, {"Sigmoid", Act::Sigmoid}, {"Relu", Act::Relu}, {"HardSigmoid", Act::HardSigmoid}};
  return find_named(kAll, name).value_or(Act::None);
}

/// The same in both directions, or None.
struct Activations {
  Act f, g, h;
};
std::vector<std::string_view> texts(const NodeView& n, const char* name) {
  std::vector<std::string_view> out;
  const optima_attr* a = optima_find_attr(n.graph.image(), n.raw, name);
  if (!a || a->type != OPTIMA_ATTR_STRINGS) return out;
  for (uint32_t i = 0; i < a->list.count; ++i) {
    const optima_str s = optima_string(n.graph.image(), optima_get_text(n.graph.image(), a->list.first + i));
    out.emplace_back(s.data, s.size);
  }
  return out;
}
Activations activations_of(const NodeView& n) {
  const Kind kind = kind_of(n);
  const size_t each = kind == Kind::Lstm ? 3 : kind == Kind::Gru ? 2 : 1;
  std::array<Act, 3> all = {kind == Kind::Rnn ? Act::Tanh : Act::Sigmoid, Act::Tanh, Act::Tanh};
  const auto given = texts(n, "activations");
  for (size_t i = 0; i < given.size(); ++i) {
    const Act act = activation_of(given[i]);
    if (i < each) all[i] = act;
    else if (act != all[i % each]) all[i % each] = Act::None;
  }
  return {all[0], all[1], all[2]};
}

struct Layer {
  Kind kind;
  int64_t seq, batch, inputs, dirs, hidden, gates, padded, width;
};
Layer layer_of(const NodeView& n, int64_t vl) {
  const Dims x = n.in_dims(0), r = n.in_dims(2);
  Layer l{kind_of(n), x[0], x[1], x[2], r[0], r[2], 0, 0, 0};
  l.gates = k::rnn_gates(l.kind);
  l.padded = divide_up(l.hidden, vl) * vl;
  l.width = l.gates * l.padded;
  return l;
}

/// W [dirs][gates * hidden][inputs] with rows of zeros after each gate.
template <class T>
std::vector<T> padded_rows(const Layer& l, const std::vector<T>& w, int64_t columns) {
  std::vector<T> out(static_cast<size_t>(l.dirs * l.width * columns), T{});
  for (int64_t d = 0; d < l.dirs; ++d)
    for (int64_t g = 0; g < l.gates; ++g) {
      const int64_t from = ((d * l.gates + g) * l.hidden) * columns, to = (d * l.width + g * l.padded) * columns;
      std::copy_n(w.begin() + from, l.hidden * columns, out.begin() + to);
    }
  return out;
}

/// R [dirs][gates * hidden][hidden] as [dirs][width / vl][hidden][vl].
template <class T>
std::vector<T> turned(const Layer& l, const std::vector<T>& r, int64_t vl) {
  const std::vector<T> rows = padded_rows(l, r, l.hidden);
  std::vector<T> out(rows.size());
  for (int64_t j = 0; j < l.dirs * l.width; ++j)
    for (int64_t k = 0; k < l.hidden; ++k)
      out[static_cast<size_t>((j / vl * l.hidden + k) * vl + j % vl)] = rows[static_cast<size_t>(j * l.hidden + k)];
  return out;
}

/// R as bytes, with one scale for each of its rows.
struct ByteRows {
  std::vector<int8_t> r;
  std::vector<float> scales;
};
/// Where R's elements are such, less their zero points.
std::optional<ByteRows> byte_rows(const Layer& l, const NodeView& n) {
  const auto all = n.graph.scaled_integers(n.input(2));
  if (!all) return std::nullopt;
  ByteRows out;
  const auto hidden = static_cast<size_t>(l.hidden);
  for (size_t i = 0; i < all->numbers.size(); ++i) {
    if (i % hidden == 0) out.scales.push_back(all->scales[i]);
    if (all->scales[i] != out.scales.back() || all->numbers[i] < INT8_MIN || all->numbers[i] > INT8_MAX) return std::nullopt;
    out.r.push_back(static_cast<int8_t>(all->numbers[i]));
  }
  return out;
}

/// Half of B: 0 the input biases, 1 the recurrent ones.
std::vector<float> half_of(const Layer& l, const std::vector<float>& b, int64_t half) {
  std::vector<float> out;
  const int64_t n = l.gates * l.hidden;
  for (int64_t d = 0; d < l.dirs; ++d) out.insert(out.end(), b.begin() + (2 * d + half) * n, b.begin() + (2 * d + half + 1) * n);
  return padded_rows(l, out, 1);
}

bool resets_late(const NodeView& n) { return kind_of(n) == Kind::Gru && n.integer("linear_before_reset", 0); }

void lower_rnn(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const int64_t vl = ctx.target().vector_width;
  const Layer l = layer_of(n, vl);
  std::vector<float> bias(static_cast<size_t>(l.dirs * l.width), 0.f), late = bias;
  if (n.has_input(3)) {
    const auto b = *n.graph.floats(n.input(3));
    bias = half_of(l, b, 0), late = half_of(l, b, 1);
    for (size_t i = 0; i < bias.size(); ++i) {
      const bool after = resets_late(n) && static_cast<int64_t>(i) % l.width >= 2 * l.padded;  // added inside the reset
      if (!after) bias[i] += late[i];
    }
  }
  Operand pre = ctx.temporary(static_cast<uint64_t>(l.seq * l.batch * l.dirs * l.width) * sizeof(float));
  pre.written = true;
  emit_dense(l.seq * l.batch, l.dirs * l.width, l.inputs, ctx.read(n.input(0)), padded_rows(l, *n.graph.floats(n.input(1)), l.inputs),
             ctx.bytes(raw_bytes(bias)), pre, ctx);
  pre.written = false;
  const auto optional = [&](uint32_t k) { return n.has_input(k) ? ctx.read(n.input(k)) : Operand(); };
  const auto result = [&](uint32_t k) { return n.has_output(k) ? ctx.write(n.output(k)) : Operand(); };
  const Activations a = activations_of(n);
  const std::string_view direction = n.text("direction", "forward");
  const int64_t reverse = direction == "bidirectional" ? 2 : direction == "reverse" ? 1 : 0;
  const bool lstm = l.kind == Kind::Lstm;
  const int64_t rows = l.batch > 1 ? 4 : 1;  // several read the recurrent weights once
  Op op;
  op.units = l.dirs * divide_up(l.batch, rows);
  op.turns = l.seq * k::rnn_phases(l.kind, resets_late(n));
  op.slices = divide_up(l.padded, k::kRnnSlice * vl);
  const auto bytes = byte_rows(l, n);
  const Operand r = ctx.bytes(bytes ? raw_bytes(turned(l, bytes->r, vl)) : raw_bytes(turned(l, *n.graph.floats(n.input(2)), vl)));
  Operand kept = ctx.temporary(static_cast<uint64_t>(op.units * k::kRnnKept * rows * l.padded) * sizeof(float));
  kept.written = true;
  op.kernel = k::Rnn{.kind = l.kind, .before = resets_late(n), .coupled = n.integer("input_forget", 0), .reverse = reverse, .rows = rows, .bytes = bytes.has_value(), .f = a.f, .g = a.g,
                     .h = a.h, .clip = n.real("clip", 0), .seq = l.seq, .batch = l.batch, .dirs = l.dirs, .hidden = l.hidden};
  op.args = {pre, r, resets_late(n) ? ctx.bytes(raw_bytes(late)) : Operand(),
             optional(5), lstm ? optional(6) : Operand(), optional(4), lstm ? optional(7) : Operand(), result(0), result(1),
             lstm ? result(2) : Operand(), kept, bytes ? ctx.bytes(raw_bytes(padded_rows(l, bytes->scales, 1))) : Operand()};
  op.scratch_per_thread = static_cast<uint64_t>(rows * (l.width + 2 * l.padded)) * sizeof(float);
  op.work = l.seq * l.batch * l.dirs * l.hidden * l.gates * l.hidden;
  op.label = std::string(n.op()) + " " + to_text(n.in_dims(0)) + " hidden " + std::to_string(l.hidden) + (bytes ? " of bytes" : "");
  ctx.emit(std::move(op));
}

Refusal check_rnn(const NodeView& n) {
  const Activations a = activations_of(n);
  if (a.f == Act::None || a.g == Act::None || a.h == Act::None) return {OPTIMA_REASON_ATTRIBUTE, "activations", "another one", "Tanh, Sigmoid, Relu or HardSigmoid, equal in both directions"};
  if (n.has("activation_alpha") || n.has("activation_beta")) return {OPTIMA_REASON_ATTRIBUTE, "activation_alpha or activation_beta", "given", "absent"};
  if (n.integer("layout", 0)) return {OPTIMA_REASON_ATTRIBUTE, "layout", "1", "0"};
  const std::string_view direction = n.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return {OPTIMA_REASON_ATTRIBUTE, "direction", std::string(direction), "forward, reverse or bidirectional"};
  if (n.in_dims(2).size() != 3) return {OPTIMA_REASON_RANK, "rank of input 2", std::to_string(n.in_dims(2).size()), "3"};
  const Layer l = layer_of(n, 1);
  if (l.dirs != (direction == "bidirectional" ? 2 : 1)) return {OPTIMA_REASON_ATTRIBUTE, "direction", std::string(direction), "as many directions as the weights have"};
  const int64_t g = l.gates * l.hidden;
  const Dims state{l.dirs, l.batch, l.hidden}, all{l.seq, l.dirs, l.batch, l.hidden};
  const Dims wanted[] = {n.in_dims(0), {l.dirs, g, l.inputs}, {l.dirs, g, l.hidden}, {l.dirs, 2 * g}, {l.batch}, state, state, {l.dirs, 3 * l.hidden}};
  for (uint32_t k = 1; k < 8; ++k) {
    if (n.has_input(k) && n.in_dims(k) != wanted[k]) return wrong_shape(n, k, to_text(wanted[k]));
    if (n.has_input(k) && (n.in_dtype(k) == OPTIMA_I32) != (k == 4)) return {OPTIMA_REASON_DTYPE, "input " + std::to_string(k), sdk::dtype_name(n.in_dtype(k)), k == 4 ? "i32" : "f32"};
  }
  for (uint32_t k = 0; k < 3; ++k)
    if (n.has_output(k) && n.out_dims(k) != (k ? state : all)) return {OPTIMA_REASON_OTHER, "output " + std::to_string(k), to_text(n.out_dims(k)), to_text(k ? state : all)};
  if (l.hidden == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 2", to_text(n.in_dims(2)), "not empty"};
  if (count(n.in_dims(0)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(n.in_dims(0)), "not empty"};
  return {};
}

constexpr std::array<Types, 4> kMixed = {kFloat, kFloat, kFloat, kFloat | types(OPTIMA_I32)};
constexpr Lowering kRnnFamily[] = {
    {"LSTM", 1, 22, kMixed, {kFloat}, 3, 3, 0b1110, {3, 8, kPair | kOutputs, 3, true}, check_rnn, lower_rnn},
    {"GRU", 7, 22, kMixed, {kFloat}, 3, 3, 0b1110, {3, 6, kPair | kOutputs, 2, true}, check_rnn, lower_rnn},
    {"RNN", 7, 22, kMixed, {kFloat}, 3, 3, 0b1110, {3, 6, kPair | kOutputs, 2, true}, check_rnn, lower_rnn},
};

}  // namespace

Family rnn_family() { return kRnnFamily; }

}  // namespace optima::llvm_cpu
