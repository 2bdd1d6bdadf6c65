// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: operators on integers: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv, DynamicQuantizeLinear.
#include <algorithm>

#include "plugins/llvm_cpu/kernels/integer.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_conv.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_matmul.hpp"
#include "plugins/llvm_cpu/lower/parts/dynamic_product.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr Types kByte = types(OPTIMA_U8, OPTIMA_I8), kSum = types(OPTIMA_I32);
constexpr uint32_t kAbsent = UINT32_MAX;

/// Where an operator has its operands; kAbsent = it has none of the kind.
struct Places {
  uint32_t x = 0, x_scale = kAbsent, x_zero, w, w_scale = kAbsent, w_zero, y_scale = kAbsent, y_zero = kAbsent, bias = kAbsent;
};
Places places_of(const NodeView& n) {
  if (n.op().starts_with("QLinear")) return {0, 1, 2, 3, 4, 5, 6, 7, 8};
  return {.x_zero = 2, .w = 1, .w_zero = 3};
}

bool is_signed(const NodeView& n, uint32_t k) { return n.in_dtype(k) == OPTIMA_I8; }
/// The operand, or a null pointer.
Operand maybe(const NodeView& n, uint32_t k, LowerContext& ctx) { return k != kAbsent && n.has_input(k) ? ctx.read(n.input(k)) : LowerContext::null(); }
/// 1 where there is one number per row, column or channel.
int64_t step(const NodeView& n, uint32_t k) { return k != kAbsent && n.has_input(k) && count(n.in_dims(k)) > 1 ? 1 : 0; }
k::IntegerEnd end_of(const NodeView& n) {
  const int32_t to = n.out_dtype(0);
  return to == OPTIMA_I32 ? k::IntegerEnd::Sums : to == OPTIMA_I8 ? k::IntegerEnd::Signed : k::IntegerEnd::Unsigned;
}

/// Matrices of a product and how far each operand moves along its batch dims.
struct Product {
  int64_t M = 1, N = 1, K = 1;
  Dims space, a, b;  ///< batch dims with the operands' steps in elements

  static Product of(const NodeView& n) {
    const Places at = places_of(n);
    Dims a = n.in_dims(at.x), b = n.in_dims(at.w);
    if (a.size() == 1) a.insert(a.begin(), 1);
    if (b.size() == 1) b.push_back(1);
    Product p;
    p.M = a[a.size() - 2], p.K = a.back(), p.N = b.back();
    const Dims ba(a.begin(), a.end() - 2), bb(b.begin(), b.end() - 2);
    p.space.assign(std::max(ba.size(), bb.size()), 1);
    for (const Dims* x : {&ba, &bb})
      for (size_t d = 1; d <= x->size(); ++d)
        if ((*x)[x->size() - d] != 1) p.space[p.space.size() - d] = (*x)[x->size() - d];
    p.a = broadcast_steps(ba, p.space), p.b = broadcast_steps(bb, p.space);
    for (int64_t& s : p.a) s *= p.M * p.K;
    for (int64_t& s : p.b) s *= p.K * p.N;
    return p;
  }
  /// Batch dims in two, where they can be: neighbours that all operands walk as one are merged.
  bool merge() {
    for (size_t d = space.size(); d-- > 1;)
      if (space[d] == 1 || (a[d - 1] == a[d] * space[d] && b[d - 1] == b[d] * space[d]) || space[d - 1] == 1) {
        const size_t keeps = space[d] == 1 ? d - 1 : d;
        space[d - 1] *= space[d], a[d - 1] = a[keeps], b[d - 1] = b[keeps];
        for (Dims* v : {&space, &a, &b}) v->erase(v->begin() + static_cast<std::ptrdiff_t>(d));
      }
    if (space.size() > 2) return false;
    for (Dims* v : {&space, &a, &b}) v->insert(v->begin(), 2 - v->size(), v == &space ? 1 : 0);
    return true;
  }
};

void lower_product(std::span<const NodeView> nodes, LowerContext& ctx) {
  if (nodes.size() > 1) return lower_dynamic_product(nodes, ctx);
  const NodeView& n = nodes[0];
  const Places at = places_of(n);
  Product p = Product::of(n);
  p.merge();
  Op op;
  op.kernel = k::IntegerProduct{.a_signed = is_signed(n, at.x), .b_signed = is_signed(n, at.w), .end = end_of(n), .az_step = step(n, at.x_zero),
                                .bz_step = step(n, at.w_zero), .ws_step = step(n, at.w_scale), .M = p.M, .N = p.N, .K = p.K, .b1 = p.space[1],
                                .sa0 = p.a[0], .sa1 = p.a[1], .sb0 = p.b[0], .sb1 = p.b[1]};
  op.args = {ctx.read(n.input(at.x)), maybe(n, at.x_zero, ctx), ctx.read(n.input(at.w)), maybe(n, at.w_zero, ctx), ctx.write(n.output(0)),
             maybe(n, at.x_scale, ctx), maybe(n, at.w_scale, ctx), maybe(n, at.y_scale, ctx), maybe(n, at.y_zero, ctx)};
  op.units = count(p.space) * p.M;
  op.scratch_per_thread = static_cast<uint64_t>(p.N) * sizeof(int32_t);
  op.work = op.units * p.N * p.K;
  op.label = "integer matmul " + std::to_string(p.M) + "x" + std::to_string(p.K) + "x" + std::to_string(p.N);
  ctx.emit(std::move(op));
}

void lower_conv(std::span<const NodeView> nodes, LowerContext& ctx) {
  if (nodes.size() > 1) return lower_dynamic_conv(nodes, ctx);
  const NodeView& n = nodes[0];
  const Places at = places_of(n);
  const Dims weights = n.in_dims(at.w);
  const Window w = Window::of(n, {weights.begin() + 2, weights.end()});
  const int64_t groups = n.integer("group", 1);
  Op op;
  op.kernel = k::IntegerConv{.x_signed = is_signed(n, at.x), .w_signed = is_signed(n, at.w), .end = end_of(n), .wz_step = step(n, at.w_zero),
                             .ws_step = step(n, at.w_scale), .G = groups, .IC = weights[1], .OC = weights[0] / groups, .in = literal(w.in),
                             .out = literal(w.out), .kernel = literal(w.kernel), .stride = literal(w.stride), .dilation = literal(w.dilation),
                             .begin = literal(w.begin)};
  op.args = {ctx.read(n.input(at.x)), maybe(n, at.x_zero, ctx), ctx.read(n.input(at.w)), maybe(n, at.w_zero, ctx), maybe(n, at.bias, ctx),
             ctx.write(n.output(0)), maybe(n, at.x_scale, ctx), maybe(n, at.w_scale, ctx), maybe(n, at.y_scale, ctx), maybe(n, at.y_zero, ctx)};
  op.units = count(n.out_dims(0)) / std::max<int64_t>(1, w.out[2]);
  op.scratch_per_thread = static_cast<uint64_t>(w.out[2]) * sizeof(int32_t);
  op.work = count(n.out_dims(0)) * weights[1] * w.taps();
  op.label = "integer conv " + to_text(weights);
  ctx.emit(std::move(op));
}

void lower_dynamic(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const int64_t elements = count(n.in_dims(0)), pieces = divide_up(elements, k::kRangePiece);
  const Operand x = ctx.read(n.input(0)), pairs = ctx.temporary(static_cast<uint64_t>(pieces) * 2 * sizeof(float));
  Operand written = pairs;
  written.written = true;
  Op range;
  range.kernel = k::DynamicRange{.count = elements};
  range.args = {x, written};
  range.units = pieces, range.work = elements, range.label = "smallest and largest";
  ctx.emit(std::move(range));
  Op codes;
  codes.kernel = k::DynamicCodes{.count = elements};
  codes.args = {x, pairs, ctx.write(n.output(0)), ctx.write(n.output(1)), ctx.write(n.output(2))};
  codes.units = pieces, codes.work = elements * 2;
  ctx.emit(std::move(codes));
}

// ---- refusals

Refusal wants_elements(const NodeView& n, uint32_t k, int64_t most) {
  if (k == kAbsent || !n.has_input(k)) return {};
  const int64_t has = count(n.in_dims(k));
  return has == 1 || has == most ? Refusal() : wrong_shape(n, k, most == 1 ? "one element" : "one element or " + std::to_string(most));
}
/// Scales and zero points: of one element, or of `rows` (x) and `columns` (w).
Refusal check_numbers(const NodeView& n, int64_t rows, int64_t columns) {
  const Places at = places_of(n);
  for (const auto& [k, most] : {std::pair{at.x_scale, int64_t{1}}, {at.x_zero, rows}, {at.w_scale, columns}, {at.w_zero, columns}, {at.y_scale, int64_t{1}}, {at.y_zero, int64_t{1}}})
    if (const Refusal r = wants_elements(n, k, most)) return r;
  for (const auto& [k, like] : {std::pair{at.x_zero, at.x}, {at.w_zero, at.w}})
    if (n.has_input(k) && n.in_dtype(k) != n.in_dtype(like))
      return {OPTIMA_REASON_DTYPE, "input " + std::to_string(k), sdk::dtype_name(n.in_dtype(k)), sdk::dtype_name(n.in_dtype(like))};
  for (const uint32_t k : {at.x, at.w})
    if (!(kByte >> n.in_dtype(k) & 1)) return {OPTIMA_REASON_DTYPE, "input " + std::to_string(k), sdk::dtype_name(n.in_dtype(k)), "U8 or I8"};
  for (const uint32_t k : {at.x_scale, at.w_scale, at.y_scale})
    if (k != kAbsent && n.in_dtype(k) != OPTIMA_F32) return {OPTIMA_REASON_DTYPE, "input " + std::to_string(k), sdk::dtype_name(n.in_dtype(k)), "F32"};
  if (at.y_zero != kAbsent && n.in_dtype(at.y_zero) != n.out_dtype(0))
    return {OPTIMA_REASON_DTYPE, "output 0", sdk::dtype_name(n.out_dtype(0)), sdk::dtype_name(n.in_dtype(at.y_zero))};
  return {};
}

Refusal check_product(const NodeView& n) {
  const Places at = places_of(n);
  const Dims a = n.in_dims(at.x), b = n.in_dims(at.w);
  if (a.empty() || b.empty()) return {OPTIMA_REASON_RANK, "input " + std::to_string(at.w), "rank 0", "rank 1 or more"};
  if (a.back() != b[b.size() < 2 ? 0 : b.size() - 2]) return wrong_shape(n, at.w, std::to_string(a.back()) + " rows");
  for (size_t d = 2; d < std::min(a.size(), b.size()); ++d)
    if (const int64_t x = a[a.size() - 1 - d], y = b[b.size() - 1 - d]; x != y && x != 1 && y != 1) return wrong_shape(n, at.w, "broadcastable with " + to_text(a));
  Product p = Product::of(n);
  if (count(p.space) * p.M * p.N != count(n.out_dims(0))) return {OPTIMA_REASON_OTHER, "output 0", to_text(n.out_dims(0)), "the product's shape"};
  if (!p.merge()) return {OPTIMA_REASON_OTHER, "input " + std::to_string(at.w), to_text(b), "batches that broadcast in two steps"};
  return check_numbers(n, p.M, p.N);
}

Refusal check_conv(const NodeView& n) {
  const Places at = places_of(n);
  const Dims x = n.in_dims(at.x), w = n.in_dims(at.w);
  const int64_t groups = n.integer("group", 1);
  if (w.size() != x.size()) return {OPTIMA_REASON_RANK, "input " + std::to_string(at.w), "rank " + std::to_string(w.size()), "rank " + std::to_string(x.size())};
  if (groups < 1 || w[0] < 1 || w[0] % groups || x[1] != w[1] * groups) return wrong_shape(n, at.w, "channels that " + std::to_string(groups) + " groups divide");
  const Dims kernel(w.begin() + 2, w.end()), given = n.integers("kernel_shape");
  if (!given.empty() && given != kernel) return {OPTIMA_REASON_ATTRIBUTE, "kernel_shape", to_text(given), to_text(kernel)};
  if (const Refusal r = Window::check(n, kernel, w[0])) return r;
  if (at.bias != kAbsent && n.has_input(at.bias) && (count(n.in_dims(at.bias)) != w[0] || n.in_dtype(at.bias) != OPTIMA_I32))
    return wrong_shape(n, at.bias, "one 32-bit number per output channel");
  return check_numbers(n, 1, w[0]);
}

Refusal check_dynamic(const NodeView& n) {
  for (uint32_t k = 0; k < 3; ++k)
    if (!n.has_output(k)) return {OPTIMA_REASON_OTHER, "output " + std::to_string(k), "absent", "present"};
  if (n.in_dims(0) != n.out_dims(0)) return wrong_shape(n, 0, to_text(n.out_dims(0)));
  if (count(n.in_dims(0)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(n.in_dims(0)), "not empty"};
  for (uint32_t k = 1; k < 3; ++k)
    if (count(n.out_dims(k)) != 1) return {OPTIMA_REASON_OTHER, "output " + std::to_string(k), to_text(n.out_dims(k)), "one element"};
  return {};
}

bool takes_unit(const Unit& u, const Target& t) { return takes_codes_product(u, t) || takes_codes_matmul(u, t); }
void lower_unit(const Unit& u, LowerContext& ctx) {
  if (takes_codes_product(u, ctx.target())) lower_codes_product(u, ctx);
  else lower_codes_matmul(u, ctx);
}

constexpr Lowering kIntegerFamily[] = {
    {"DynamicQuantizeLinear", 11, 11, {kFloat}, {types(OPTIMA_U8), kFloat, types(OPTIMA_U8)}, 0, 8, 0, {1, 1, 0, 3}, check_dynamic, lower_dynamic},
    {"MatMulInteger", 10, 10, {kByte}, {kSum}, 1, 8, 0, {2, 4, 0}, check_product, lower_product, false, Tails::None, "", nullptr, nullptr,
     takes_dynamic_product},
    {"ConvInteger", 10, 10, {kByte}, {kSum}, 3, 5, 0, {2, 4, 0}, check_conv, lower_conv, false, Tails::None, "", nullptr, nullptr,
     takes_dynamic_conv},
    {"QLinearMatMul", 10, 21, {kByte, kFloat, kByte, kByte | kFloat}, {kByte}, 1, 8, 0, {8, 8, 0}, check_product, lower_product,
     false, Tails::None, "", takes_unit, lower_unit},
    {"QLinearConv", 10, 10, {kByte, kFloat, kByte, kByte | kFloat | kSum}, {kByte}, 3, 5, 0, {8, 9, 0}, check_conv, lower_conv,
     false, Tails::None, "", takes_codes_conv, lower_codes_conv},
};

}  // namespace

Family integer_family() { return kIntegerFamily; }

}  // namespace optima::llvm_cpu
