// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see guesses.hpp.
#include "plugins/llvm_cpu/fit/guesses.hpp"

#include <array>

#include "optima/plugin/error.hpp"
#include "reference/tensor.hpp"

namespace optima::llvm_cpu {
namespace {

using reference::Tensor;

constexpr std::array<int64_t, 16> kAlike{20, 1, 0, 7, 64, 3, 2, 100, 33, 256, 5, 16, 13, 48, 400, 31};
/// Of those that are each their own: small ones, around vectors and tiles, large ones.
constexpr std::array<int64_t, 20> kApart{20, 1, 2, 3, 5, 7, 8, 10, 13, 16, 17, 24, 31, 32, 50, 64, 100, 160, 300, 0};
constexpr std::array<double, 4> kReals{1, 2, 0.5, 3};
/// Elements of a tensor that numbers are followed through.
constexpr int64_t kFew = 16;

bool is_whole(int32_t dtype) { return dtype == OPTIMA_I64 || dtype == OPTIMA_I32 || dtype == OPTIMA_BOOL; }

}  // namespace

Guess guess(size_t k, const std::vector<int64_t>& sizes) {
  const size_t turn = k / 3;
  const bool truth = turn % 3 != 1;
  if (k % 3 == 1) return {-1, static_cast<uint32_t>(turn + 1), truth};
  if (k % 3 == 2 && !sizes.empty()) return {sizes[turn % sizes.size()], 1, truth};
  return {kAlike[turn % kAlike.size()], 1, truth};
}

std::vector<Fitter::Found> Guesses::of(const reference::ShapeWalk& walk) {
  std::vector<Fitter::Found> out;
  for (const reference::ShapeWalk::Stop& stop : walk.stops()) {
    const optima_node& node = *optima_get_node(graph_.image, stop.node);
    if (stop.wants != OPTIMA_NONE) {
      const uint32_t v = optima_input(graph_.image, &node, stop.wants);
      out.push_back({v, elements(walk, v)});
      continue;
    }
    for (uint32_t k = 0; k < node.outputs.count; ++k)
      if (const uint32_t v = optima_output(graph_.image, &node, k); v != OPTIMA_NONE) out.push_back({v, shape(node, k)});
  }
  return out;
}

int64_t Guesses::number() { return how_.alike >= 0 ? how_.alike : kApart[random_() % kApart.size()]; }

/// Of a value whose dims are known.
const Tensor& Guesses::elements(const reference::ShapeWalk& walk, uint32_t value) {
  if (walk.has_elements(value)) return walk.at(value);
  const auto at = elements_.find(value);
  if (at != elements_.end()) return at->second;
  if (!compute(walk, value)) elements_[value] = drawn(walk.at(value).dtype, walk.at(value).dims);
  return elements_[value];
}

/// From its operands, where these are few whole numbers. A condition of these would nearly always be the same: no guess is just the number that it asks for.
bool Guesses::compute(const reference::ShapeWalk& walk, uint32_t value) {
  const optima_value& raw = *optima_get_value(graph_.image, value);
  if (raw.producer == OPTIMA_NONE || (raw.dtype == OPTIMA_BOOL && how_.alike >= 0)) return false;
  const optima_node& node = *optima_get_node(graph_.image, raw.producer);
  bool any = false;
  for (uint32_t k = 0; k < node.inputs.count; ++k) {
    const uint32_t v = optima_input(graph_.image, &node, k);
    if (v == OPTIMA_NONE || walk.has_elements(v)) continue;
    any = true;
    if (!walk.has_shape(v) || !is_whole(walk.at(v).dtype) || walk.at(v).elements() > kFew) return false;
  }
  if (!any) return false;  // of what it is computed is not known: it draws numbers
  std::vector<Tensor> inputs;
  for (uint32_t k = 0; k < node.inputs.count; ++k) {
    const uint32_t v = optima_input(graph_.image, &node, k);
    inputs.push_back(v == OPTIMA_NONE ? Tensor() : elements(walk, v));
  }
  try {
    const std::vector<Tensor> made = reference::evaluate(graph_, node, inputs);
    for (uint32_t k = 0; k < node.outputs.count; ++k)
      if (const uint32_t v = optima_output(graph_.image, &node, k); v != OPTIMA_NONE) elements_[v] = made.at(k);
    return elements_.at(value).dims == walk.at(value).dims;
  } catch (const sdk::Error&) {
    return false;
  }
}

Tensor Guesses::drawn(int32_t dtype, const std::vector<int64_t>& dims) {
  const auto count = static_cast<size_t>(reference::count(dims));
  if (dtype == OPTIMA_BOOL) return reference::store<int64_t>(dtype, dims, std::vector<int64_t>(count, how_.alike >= 0 ? how_.truth : random_() % 2));
  if (reference::is_float(dtype)) return reference::store<double>(dtype, dims, std::vector<double>(count, how_.alike >= 0 ? 1 : kReals[random_() % kReals.size()]));
  std::vector<int64_t> out(count);
  for (int64_t& x : out) x = number();
  return reference::store<int64_t>(dtype, dims, out);
}

Tensor Guesses::shape(const optima_node& node, uint32_t output) {
  const sdk::Value v(&graph_, optima_output(graph_.image, &node, output));
  if (!v.ranked()) throw sdk::Error(OPTIMA_UNSUPPORTED, "the rank of " + std::string(v.name()) + " is open");
  std::string maker(sdk::Node(&graph_, &node).op());
  for (uint32_t k = 0; k < node.inputs.count; ++k) maker += " " + std::to_string(optima_input(graph_.image, &node, k));
  Tensor t;
  t.dtype = v.dtype(), t.dims = v.shape();
  for (size_t d = 0; d < t.dims.size(); ++d) {
    if (t.dims[d] >= 0) continue;
    const auto [at, is_new] = sizes_.try_emplace(maker + "." + std::to_string(output) + "." + std::to_string(d), 0);
    if (is_new) at->second = number();
    t.dims[d] = at->second;
  }
  return t;
}

}  // namespace optima::llvm_cpu
