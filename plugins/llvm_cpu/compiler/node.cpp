// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see node.hpp.
#include "plugins/llvm_cpu/compiler/node.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "optima/plugin/graph.hpp"
#include "plugins/llvm_cpu/compiler/unit.hpp"
#include "plugins/llvm_cpu/plan/half.hpp"

namespace optima::llvm_cpu {
namespace {

template <class T, class From>
std::vector<T> widened(std::string_view bytes) {
  std::vector<T> out;
  for (size_t at = 0; at + sizeof(From) <= bytes.size(); at += sizeof(From)) {
    From v;
    std::memcpy(&v, bytes.data() + at, sizeof v);
    out.push_back(static_cast<T>(v));
  }
  return out;
}

/// Two elements a byte, the first one in the low half.
std::vector<int32_t> nibbles(std::string_view bytes, int64_t count, bool is_signed) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < count && i / 2 < static_cast<int64_t>(bytes.size()); ++i) {
    const int32_t bits = static_cast<uint8_t>(bytes[static_cast<size_t>(i / 2)]) >> (i % 2 ? 4 : 0) & 15;
    out.push_back(is_signed && bits > 7 ? bits - 16 : bits);
  }
  return out;
}

const optima_attr* find(const NodeView& n, const char* name, int32_t type) {
  const optima_attr* a = optima_find_attr(n.graph.image(), n.raw, name);
  return a && a->type == type ? a : nullptr;
}

}  // namespace

int64_t count(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

std::string to_text(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? "," : "") + std::to_string(dims[i]);
  return out + "]";
}

bool broadcasts(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  for (size_t d = 0; d < from.size(); ++d) {
    const int64_t have = from[from.size() - 1 - d];
    if (have != 1 && have != to[to.size() - 1 - d]) return false;
  }
  return true;
}

Dims permutation_of(const NodeView& transpose) {
  Dims perm(transpose.in_dims(0).size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  return transpose.integers("perm", perm);
}

Dims GraphView::dims(uint32_t v) const {
  tell(v);
  const optima_slice& slice = value(v).dims;
  Dims out(slice.count);
  for (uint32_t k = 0; k < slice.count; ++k) out[k] = optima_get_dim(image(), slice.first + k)->value;
  return out;
}

std::string_view GraphView::name(uint32_t v) const { return sdk::view(optima_string(image(), &value(v).name)); }

std::optional<std::string_view> GraphView::bytes(uint32_t v) const {
  if (!is_constant(v)) return std::nullopt;
  tell(v);
  const optima_blob& blob = *optima_get_blob(raw, optima_get_constant(image(), value(v).constant)->blob);
  if (!blob.data && blob.size) return std::nullopt;
  return std::string_view(static_cast<const char*>(blob.data), blob.size);
}

std::optional<std::vector<int64_t>> GraphView::integers(uint32_t v) const {
  const auto all = bytes(v);
  if (!all) return std::nullopt;
  if (dtype(v) == OPTIMA_I64) return widened<int64_t, int64_t>(*all);
  if (dtype(v) == OPTIMA_I32) return widened<int64_t, int32_t>(*all);
  return std::nullopt;
}

std::optional<std::vector<float>> floats_of(std::string_view bytes, int32_t dtype) {
  if (dtype == OPTIMA_F32) return widened<float, float>(bytes);
  if (!is_half(dtype)) return std::nullopt;
  std::vector<float> out;
  for (const uint16_t bits : widened<uint16_t, uint16_t>(bytes)) out.push_back(dtype == OPTIMA_F16 ? from_f16(bits) : from_bf16(bits));
  return out;
}

std::optional<std::vector<float>> GraphView::floats(uint32_t v) const {
  if (dtype(v) != OPTIMA_F32) return std::nullopt;
  const auto all = bytes(v);
  return all ? floats_of(*all, stored_dtype(v)) : dequantized(v);
}

namespace {

/// The codes of a float value that a DequantizeLinear makes of a constant, or nothing.
std::optional<Codes> known_codes(const GraphView& g, uint32_t v) {
  if (g.dtype(v) != OPTIMA_F32 || !g.is_static(v)) return std::nullopt;
  const auto node = g.maker(v);
  if (!node || !is_dequantize(*node)) return std::nullopt;
  const auto bytes = g.bytes(node->input(0));
  const Dims dims = g.dims(v);
  if (!bytes || g.dims(node->input(0)) != dims || bytes->size() * 8 < static_cast<uint64_t>(count(dims)) * optima_dtype_bits(g.dtype(node->input(0)))) return std::nullopt;
  const auto codes = codes_of(*node);
  if (!codes || codes->is_scalar()) return codes;
  if (codes->axis < 0 || codes->axis >= static_cast<int>(dims.size()) || codes->block < 0) return std::nullopt;
  const int64_t length = dims[static_cast<size_t>(codes->axis)], block = codes->block;
  const int64_t wanted = block ? count(dims) / std::max<int64_t>(1, length) * ((length + block - 1) / block) : length;
  return static_cast<int64_t>(codes->scale.size()) == wanted ? codes : std::nullopt;
}

/// The Transpose of known codes that makes a value, or nothing.
std::optional<NodeView> known_transpose(const GraphView& g, uint32_t v) {
  const auto node = g.dtype(v) == OPTIMA_F32 && g.is_static(v) ? g.maker(v) : std::nullopt;
  if (!node || !is_transpose(*node) || !known_codes(g, node->input(0))) return std::nullopt;
  const Dims from = node->in_dims(0), to = g.dims(v);
  const Dims perm = permutation_of(*node);
  if (perm.size() != from.size() || to.size() != from.size()) return std::nullopt;
  for (size_t d = 0; d < perm.size(); ++d)
    if (perm[d] < 0 || perm[d] >= static_cast<int64_t>(from.size()) || to[d] != from[static_cast<size_t>(perm[d])] || std::count(perm.begin(), perm.end(), perm[d]) != 1) return std::nullopt;
  return node;
}

template <class T>
std::vector<T> transposed(const std::vector<T>& from, const Dims& dims, const std::vector<int64_t>& perm) {
  Dims steps(dims.size(), 1), at(dims.size(), 0);
  for (size_t d = dims.size(); d-- > 1;) steps[d - 1] = steps[d] * dims[d];
  std::vector<T> out;
  while (out.size() < from.size()) {
    int64_t where = 0;
    for (size_t d = 0; d < perm.size(); ++d) where += at[d] * steps[static_cast<size_t>(perm[d])];
    out.push_back(from[static_cast<size_t>(where)]);
    for (size_t d = perm.size(); d-- > 0 && ++at[d] == dims[static_cast<size_t>(perm[d])];) at[d] = 0;
  }
  return out;
}

}  // namespace

bool GraphView::is_known(uint32_t v) const { return bytes(v) || known_codes(*this, v) || known_transpose(*this, v); }

std::optional<std::vector<float>> GraphView::dequantized(uint32_t v) const {
  if (const auto transpose = known_transpose(*this, v)) {
    const auto all = dequantized(transpose->input(0));
    return all ? std::optional(transposed(*all, transpose->in_dims(0), permutation_of(*transpose))) : std::nullopt;
  }
  const auto codes = known_codes(*this, v);
  const auto numbers = codes ? small_integers(codes->value) : std::nullopt;
  return numbers ? std::optional(real_numbers(*codes, *numbers, dims(v))) : std::nullopt;
}

std::optional<ScaledIntegers> GraphView::scaled_integers(uint32_t v) const {
  if (const auto transpose = known_transpose(*this, v)) {
    const auto all = scaled_integers(transpose->input(0));
    const Dims dims = transpose->in_dims(0), perm = permutation_of(*transpose);
    return all ? std::optional(ScaledIntegers{transposed(all->numbers, dims, perm), transposed(all->scales, dims, perm)}) : std::nullopt;
  }
  const auto codes = known_codes(*this, v);
  auto numbers = codes ? small_integers(codes->value) : std::nullopt;
  if (!numbers) return std::nullopt;
  ScaledIntegers out{std::move(*numbers), {}};
  each_step(*codes, dims(v), [&](size_t i, size_t step) {
    out.numbers[i] -= codes->zero[step];
    out.scales.push_back(codes->scale[step]);
  });
  return out;
}

std::optional<std::vector<int32_t>> GraphView::small_integers(uint32_t v) const {
  const auto all = bytes(v);
  if (!all) return std::nullopt;
  switch (dtype(v)) {
    case OPTIMA_U8: return widened<int32_t, uint8_t>(*all);
    case OPTIMA_I8: return widened<int32_t, int8_t>(*all);
    case OPTIMA_U16: return widened<int32_t, uint16_t>(*all);
    case OPTIMA_I16: return widened<int32_t, int16_t>(*all);
    case OPTIMA_I32: return widened<int32_t, int32_t>(*all);
    case OPTIMA_U4:
    case OPTIMA_I4: return nibbles(*all, count(dims(v)), dtype(v) == OPTIMA_I4);
    default: return std::nullopt;
  }
}

std::optional<NodeView> GraphView::maker(uint32_t v) const {
  const uint32_t index = value(v).producer;
  if (index == OPTIMA_NONE) return std::nullopt;
  return NodeView{*this, optima_get_node(image(), index)};
}

bool GraphView::is_static(uint32_t v) const {
  tell(v);
  const optima_value& of = value(v);
  if (of.rank < 0) return false;
  for (uint32_t k = 0; k < of.dims.count; ++k)
    if (optima_get_dim(image(), of.dims.first + k)->value < 0) return false;
  return true;
}

std::string_view NodeView::op() const { return sdk::view(optima_string(graph.image(), &raw->op_type)); }
std::string_view NodeView::domain() const { return sdk::view(optima_string(graph.image(), &raw->domain)); }
std::string_view NodeView::name() const { return sdk::view(optima_string(graph.image(), &raw->name)); }

bool NodeView::has(const char* attribute) const { return optima_find_attr(graph.image(), raw, attribute) != nullptr; }

int64_t NodeView::integer(const char* attribute, int64_t otherwise) const {
  const optima_attr* a = find(*this, attribute, OPTIMA_ATTR_INT);
  return a ? a->i : otherwise;
}

float NodeView::real(const char* attribute, float otherwise) const {
  const optima_attr* a = find(*this, attribute, OPTIMA_ATTR_FLOAT);
  return a ? static_cast<float>(a->f) : otherwise;
}

std::string_view NodeView::text(const char* attribute, std::string_view otherwise) const {
  const optima_attr* a = find(*this, attribute, OPTIMA_ATTR_STRING);
  return a ? sdk::view(optima_string(graph.image(), &a->s)) : otherwise;
}

std::vector<int64_t> NodeView::integers(const char* attribute, std::vector<int64_t> otherwise) const {
  const optima_attr* a = find(*this, attribute, OPTIMA_ATTR_INTS);
  if (!a) return otherwise;
  std::vector<int64_t> out;
  for (uint32_t k = 0; k < a->list.count; ++k) out.push_back(*optima_get_int(graph.image(), a->list.first + k));
  return out;
}

std::vector<float> NodeView::reals(const char* attribute, std::vector<float> otherwise) const {
  const optima_attr* a = find(*this, attribute, OPTIMA_ATTR_FLOATS);
  if (!a) return otherwise;
  std::vector<float> out;
  for (uint32_t k = 0; k < a->list.count; ++k) out.push_back(static_cast<float>(*optima_get_float(graph.image(), a->list.first + k)));
  return out;
}

}  // namespace optima::llvm_cpu
