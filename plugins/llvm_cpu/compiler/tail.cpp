// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see tail.hpp.
#include "plugins/llvm_cpu/compiler/tail.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {
namespace {

using k::Activation;

/// A scalar constant operand; `otherwise` when the operand is absent.
std::optional<float> scalar(const NodeView& n, uint32_t k, float otherwise) {
  if (!n.has_input(k)) return otherwise;
  const auto v = n.graph.floats(n.input(k));
  return v && v->size() == 1 ? std::optional<float>((*v)[0]) : std::nullopt;
}

std::optional<Activation> clip(const NodeView& n) {
  const float most = std::numeric_limits<float>::infinity();
  if (n.since() < 11) return Activation{k::Act::Clip, n.real("min", -most), n.real("max", most)};
  const auto lo = scalar(n, 1, -most), hi = scalar(n, 2, most);
  return lo && hi ? std::optional<Activation>({k::Act::Clip, *lo, *hi}) : std::nullopt;
}

}  // namespace

std::optional<Activation> activation_of(const NodeView& n) {
  const std::string_view op = n.op();
  if (op == "Relu") return Activation{k::Act::Relu, 0, 0};
  if (op == "Clip") return clip(n);
  if (op == "LeakyRelu") return Activation{k::Act::Leaky, n.real("alpha", 0.01f), 0};
  if (op == "Sigmoid") return Activation{k::Act::Sigmoid, 0, 0};
  if (op == "Tanh") return Activation{k::Act::Tanh, 0, 0};
  if (op == "HardSigmoid") return Activation{k::Act::HardSigmoid, n.real("alpha", 0.2f), n.real("beta", 0.5f)};
  if (op == "HardSwish") return Activation{k::Act::HardSwish, 1.f / 6, 0.5f};
  if (op == "Gelu") return Activation{n.text("approximate", "none") == "tanh" ? k::Act::GeluTanh : k::Act::Gelu, 0, 0};
  if (op == "Mish") return Activation{k::Act::Mish, 0, 0};
  return std::nullopt;
}

namespace {

/// The other operand of a binary node that reads `current` once and gives current's shape without broadcasting.
uint32_t partner(const NodeView& n, uint32_t current) {
  if (n.input_count() != 2 || n.input(0) == n.input(1)) return OPTIMA_NONE;
  const uint32_t other = n.input(0) == current ? n.input(1) : n.input(0);
  const auto& g = n.graph;
  return g.is_static(other) && g.dims(other) == g.dims(current) && g.dtype(other) == OPTIMA_F32 ? other : OPTIMA_NONE;
}

/// The other operand of an addition to `current` when it has one element per column of current.
uint32_t column_bias(const NodeView& n, uint32_t current) {
  if (n.op() != "Add" || n.input_count() != 2 || n.input(0) == n.input(1)) return OPTIMA_NONE;
  const uint32_t other = n.input(0) == current ? n.input(1) : n.input(0);
  const GraphView& g = n.graph;
  if (!g.is_static(other) || g.dtype(other) != OPTIMA_F32 || n.out_dims(0) != g.dims(current)) return OPTIMA_NONE;
  const Dims dims = g.dims(other), whole = g.dims(current);
  const bool fits = !dims.empty() && !whole.empty() && dims.back() == whole.back() && count(dims) == whole.back() && dims != whole;
  return fits ? other : OPTIMA_NONE;
}

bool normalises_by_constants(const NodeView& n) {
  if (n.op() != "BatchNormalization" || n.integer("training_mode", 0) != 0) return false;
  for (uint32_t k = 1; k < 5; ++k)
    if (!n.graph.floats(n.input(k))) return false;
  for (uint32_t k = 1; k < n.output_count(); ++k)
    if (n.has_output(k)) return false;
  return true;
}

}  // namespace

std::optional<Activation> gate_of(std::span<const NodeView> next, uint32_t current) {
  if (next.size() < 2 || next[1].op() != "Mul" || (next[0].op() != "Sigmoid" && next[0].op() != "HardSigmoid")) return std::nullopt;
  const uint32_t gate = next[0].output(0);
  const bool gates = next[1].input_count() == 2 && ((next[1].input(0) == current && next[1].input(1) == gate) ||
                                                    (next[1].input(1) == current && next[1].input(0) == gate));
  if (!gates) return std::nullopt;
  Activation a = *activation_of(next[0]);
  a.kind = a.kind == k::Act::Sigmoid ? k::Act::Silu : k::Act::HardSwish;
  return a;
}

namespace {

/// Whether the operand is this number; one that is stored in 16 bits, up to their rounding.
bool is_number(const NodeView& n, uint32_t k, double wanted) {
  if (!n.has_input(k) || !n.graph.is_constant(n.input(k))) return false;
  const auto v = scalar(n, k, 0);
  const bool is_short = n.graph.stored_dtype(n.input(k)) != OPTIMA_F32;
  return v && std::fabs(static_cast<double>(*v) - wanted) <= wanted * (is_short ? 4e-3 : 1e-6);
}

/// The operand of a node of two that is not this number, or none.
uint32_t beside(const NodeView& n, double number) {
  if (n.input_count() != 2) return OPTIMA_NONE;
  return is_number(n, 1, number) ? n.input(0) : is_number(n, 0, number) ? n.input(1) : OPTIMA_NONE;
}

/// x of erf(x / sqrt 2) + 1, of three nodes among these, which `rest` then lacks.
std::optional<uint32_t> erf_of(std::vector<NodeView>& rest, uint32_t& sum) {
  const auto out = [&](std::string_view op, uint32_t value) {
    const auto at = std::find_if(rest.begin(), rest.end(), [&](const NodeView& n) { return n.op() == op && n.domain().empty() && (value == OPTIMA_NONE || n.output(0) == value); });
    std::optional<NodeView> found;
    if (at != rest.end()) found = *at, rest.erase(at);
    return found;
  };
  const auto erf = out("Erf", OPTIMA_NONE), add = out("Add", OPTIMA_NONE);
  if (!erf || !add || beside(*add, 1) != erf->output(0)) return std::nullopt;
  sum = add->output(0);
  if (const auto div = out("Div", erf->input(0))) return is_number(*div, 1, std::sqrt(2.0)) ? std::optional(div->input(0)) : std::nullopt;
  const auto mul = out("Mul", erf->input(0));
  const uint32_t x = mul ? beside(*mul, std::sqrt(0.5)) : OPTIMA_NONE;
  return x == OPTIMA_NONE ? std::nullopt : std::optional(x);
}

}  // namespace

std::optional<uint32_t> gelu_of(std::span<const NodeView> nodes) {
  if (nodes.size() < kGeluNodes) return std::nullopt;
  std::vector<NodeView> rest(nodes.begin(), nodes.begin() + kGeluNodes);
  uint32_t sum = OPTIMA_NONE;
  const auto x = erf_of(rest, sum);
  if (!x || rest.size() != 2) return std::nullopt;
  const NodeView &first = rest[0], &last = rest[1];  // the rest multiplies x, the sum and a half
  if (first.op() != "Mul" || last.op() != "Mul" || first.input_count() != 2 || last.input_count() != 2 || last.output(0) != nodes[kGeluNodes - 1].output(0)) return std::nullopt;
  const uint32_t left = last.input(0) == first.output(0) ? last.input(1) : last.input(0);
  if (left == first.output(0) || (last.input(0) != first.output(0) && last.input(1) != first.output(0))) return std::nullopt;
  const GraphView& g = first.graph;
  if (g.dtype(*x) != OPTIMA_F32 || g.dims(*x) != g.dims(last.output(0))) return std::nullopt;
  const auto both = [&](const NodeView& n, uint32_t a, uint32_t b) { return (n.input(0) == a && n.input(1) == b) || (n.input(0) == b && n.input(1) == a); };
  const bool half_last = both(first, *x, sum) && beside(last, 0.5) == first.output(0);
  const bool half_first = (left == sum && beside(first, 0.5) == *x) || (left == *x && beside(first, 0.5) == sum);
  return half_last || half_first ? x : std::nullopt;
}

std::optional<uint32_t> hard_swish_of(std::span<const NodeView> nodes) {
  if (nodes.size() < kSwishNodes) return std::nullopt;
  const NodeView &sum = nodes[0], &limited = nodes[1], &third = nodes[2], &last = nodes[3];
  const uint32_t x = sum.op() == "Add" ? beside(sum, 3) : OPTIMA_NONE;
  if (x == OPTIMA_NONE || limited.op() != "Clip" || limited.input(0) != sum.output(0)) return std::nullopt;
  const auto act = activation_of(limited);
  if (!act || act->lo != 0 || act->hi != 6) return std::nullopt;
  const auto sixth = [](const NodeView& n) {
    return n.op() == "Div" ? (is_number(n, 1, 6) ? n.input(0) : OPTIMA_NONE) : n.op() == "Mul" ? beside(n, 1.0 / 6) : OPTIMA_NONE;
  };
  const auto product = [&](const NodeView& n, uint32_t with) {
    return n.op() == "Mul" && n.input_count() == 2 && ((n.input(0) == x && n.input(1) == with) || (n.input(0) == with && n.input(1) == x));
  };
  const GraphView& g = last.graph;
  if (g.dtype(x) != OPTIMA_F32 || g.dims(x) != g.dims(last.output(0))) return std::nullopt;
  const bool divides_last = product(third, limited.output(0)) && sixth(last) == third.output(0);
  const bool divides_first = sixth(third) == limited.output(0) && product(last, third.output(0));
  return divides_last || divides_first ? std::optional(x) : std::nullopt;
}

std::optional<Affine> affine_of(const NodeView& n, uint32_t current) {
  const std::string_view op = n.op();
  const bool commutes = op == "Mul" || op == "Add";
  if ((!commutes && op != "Div" && op != "Sub") || n.input_count() != 2 || n.input(0) == n.input(1)) return std::nullopt;
  if (n.input(0) != current && !commutes) return std::nullopt;
  const uint32_t other = n.input(n.input(0) == current ? 1 : 0);
  const GraphView& g = n.graph;
  const Dims whole = g.dims(current), dims = g.dims(other);
  if (!g.is_constant(other) || g.dtype(current) != OPTIMA_F32 || n.out_dims(0) != whole || dims.size() > whole.size() || whole.size() < 3) return std::nullopt;
  const size_t channel = 1 + dims.size() - whole.size();  // wraps past the end where it has none
  const bool per_channel = dims.size() + 1 >= whole.size() && dims[channel] == whole[1] && count(dims) == whole[1];
  auto numbers = count(dims) == 1 || per_channel ? g.floats(other) : std::nullopt;
  if (!numbers || numbers->empty()) return std::nullopt;
  for (float& v : *numbers) {
    if (op == "Div") v = 1 / v;
    if (op == "Sub") v = -v;
    if (!std::isfinite(v)) return std::nullopt;
  }
  return Affine{*numbers, op == "Mul" || op == "Div"};
}

/// Batch normalisation: before the activation and after it.
bool FusedTail::take_normalisation(const NodeView& n, uint32_t current) {
  if (columns || !folds || n.input(0) != current || !normalises_by_constants(n)) return false;
  if (is_linear()) normalisations.push_back(n);
  else if (residual_after || n.graph.stored_dtype(current) != OPTIMA_F32) return false;
  else after.push_back(n);
  return true;
}

/// Before the activation constants go into weights and bias; behind it a number is a literal, and others are operands.
bool FusedTail::take_constant(const NodeView& n, uint32_t current) {
  const auto a = columns || n.graph.stored_dtype(current) != OPTIMA_F32 ? std::nullopt : affine_of(n, current);
  if (!a) return false;
  if (is_linear()) {
    if (folds) normalisations.push_back(n);
    return folds;
  }
  if (residual_after) return false;
  if (a->numbers.size() != 1 || !after.empty()) {
    if (folds) after.push_back(n);
    return folds;
  }
  const double number = static_cast<double>(a->numbers[0]);
  scaled = true;
  if (a->multiplies) scale *= number, shift *= number;
  else shift += number;
  return true;
}

/// As attention scales its scores: by a number before anything is added.
bool FusedTail::take_factor(const NodeView& n, uint32_t current) {
  const bool first = act.kind == k::Act::None && residual == OPTIMA_NONE && bias == OPTIMA_NONE;
  const auto a = multiplies && first && n.graph.stored_dtype(current) == OPTIMA_F32 ? affine_of(n, current) : std::nullopt;
  if (!a || !a->multiplies || a->numbers.size() != 1) return false;
  factor *= static_cast<double>(a->numbers[0]);
  return true;
}

size_t FusedTail::take(std::span<const NodeView> next, uint32_t current) {
  if (next.empty() || !next[0].domain().empty() || !next[0].has_input(0)) return 0;
  const NodeView& n = next[0];
  const bool may_act = act.kind == k::Act::None && !scaled && after.empty(), plain = is_linear();
  if (take_normalisation(n, current)) return 1;
  if (n.op() == "Identity") return 1;
  if (n.op() == "Cast" && n.in_dtype(0) == OPTIMA_F32 && n.graph.stored_dtype(n.output(0)) == OPTIMA_F32) return 1;  // of a 16-bit float, which is f32 here
  if (const auto gate = gate_of(next, current); gate && may_act) {
    act = *gate;
    return 2;
  }
  if (columns && may_act && gelu_of(next) == current) {
    act = {k::Act::Gelu, 0, 0};
    return kGeluNodes;
  }
  if (may_act && hard_swish_of(next) == current) {
    act = {k::Act::HardSwish, 1.f / 6, 0.5f};
    return kSwishNodes;
  }
  if (take_constant(n, current) || take_factor(n, current)) return 1;
  if (const auto a = activation_of(n); a && may_act && n.input(0) == current && (columns || a->kind < k::Act::Gelu)) {
    act = *a;
    return 1;
  }
  if (columns && plain && bias == OPTIMA_NONE && column_bias(n, current) != OPTIMA_NONE) {
    bias = column_bias(n, current);
    return 1;
  }
  if (n.op() == "Add" && residual == OPTIMA_NONE) {
    residual = partner(n, current);
    residual_after = act.kind != k::Act::None || scaled || !after.empty();
    return residual != OPTIMA_NONE;
  }
  return 0;
}

k::Tail FusedTail::literals(bool biased) const {
  const int64_t added = residual == OPTIMA_NONE ? 0 : residual_after ? k::kResidualAfter : k::kResidual;
  return {added | (biased ? k::kBias : 0) | (scaled ? k::kScaled : 0) | (after.empty() ? 0 : k::kNormalised), act, scale, shift};
}

FusedTail empty_tail(const NodeView& n) {
  FusedTail tail;
  tail.columns = find_lowering(n)->tail == Tails::Columns;
  tail.folds = !tail.columns && n.graph.is_known(n.input(1)) && (!n.has_input(2) || n.graph.is_known(n.input(2)));
  tail.multiplies = tail.columns && n.op() == "MatMul";
  return tail;
}

FusedTail tail_of(std::span<const NodeView> nodes) {
  FusedTail tail = empty_tail(nodes[0]);
  uint32_t current = nodes[0].output(0);
  for (size_t at = 1; at < nodes.size();) {
    const size_t taken = tail.take(nodes.subspan(at), current);
    if (!taken) throw sdk::Error(OPTIMA_INTERNAL, "node does not belong to the tail of its group", nodes[at].id());
    at += taken;
    current = nodes[at - 1].output(0);
  }
  return tail;
}

}  // namespace optima::llvm_cpu
