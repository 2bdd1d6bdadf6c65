// SPDX-License-Identifier: Apache-2.0
#include "chain.hpp"

#include <algorithm>

namespace bmcompiler_plugin::top {

Value Chain::op(std::string_view op, const std::vector<Value>& operands, const Attributes& attributes) {
  if (!last_) return to_.between(node_, op, dims_, op, operands, attributes);
  const Value v = to_.module().op(op, operands, attributes, Result{std::string(node_.output(0).name()), dims_});
  to_.set(node_, 0, v);
  return v;
}

Value Chain::reshape(Value a, const std::vector<int64_t>& dims) {
  dims_ = dims;
  return op("Reshape", {a}, Attributes().i64s("shape", dims).i64("flatten_start_dim", -1));
}

Value Chain::permute(Value a, const std::vector<int64_t>& dims, const std::vector<int64_t>& order) {
  dims_.clear();
  for (const int64_t k : order) dims_.push_back(dims[static_cast<size_t>(k)]);
  return op("Permute", {a}, Attributes().i64s("order", order));
}

std::vector<int64_t> raised_dims(const sdk::Value& v, size_t rank) {
  std::vector<int64_t> dims = dims_of(v);
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

Value raised(Lowering& to, const sdk::Node& node, const sdk::Value& v, size_t rank) {
  const std::vector<int64_t> dims = raised_dims(v, rank);
  if (dims == dims_of(v)) return to.read(v);
  if (!v.is_constant()) return to.reshaped(to.read(v), dims, std::string(node.output(0).name()) + "/reshape");
  return to.module().weight(to.inner(node, "constant"), dims, Lowering::floats(v));
}

Value spread(Chain& c, Value v, const std::vector<int64_t>& from, const std::vector<int64_t>& wide) {
  if (wide == from) return v;
  std::vector<int64_t> times(wide.size(), 1);
  for (size_t k = 0; k < wide.size(); ++k)
    if (from[k] != wide[k]) times[k] = wide[k];
  return c.shape(wide).op("Tile", {v}, Attributes().i64s("tile", times));
}

int64_t Window::size() const {
  int64_t n = 1;
  for (const int64_t k : kernel) n *= k;
  return n;
}

Window window_of(const sdk::Node& node, const std::vector<int64_t>& kernel) {
  Window w;
  const size_t rank = kernel.size();
  w.kernel = kernel;
  w.strides = node.integers("strides", std::vector<int64_t>(rank, 1));
  w.dilations = node.integers("dilations", std::vector<int64_t>(rank, 1));
  w.pads = node.integers("pads", std::vector<int64_t>(2 * rank, 0));
  const std::string_view automatic = node.string("auto_pad", "NOTSET");
  for (size_t k = 0; k < rank; ++k) {
    const int64_t in = node.input(0).dim(static_cast<uint32_t>(k + 2)), out = node.output(0).dim(static_cast<uint32_t>(k + 2));
    const int64_t reach = (out - 1) * w.strides[k] + (w.kernel[k] - 1) * w.dilations[k] + 1 - in;  // what both pads together must have
    if (automatic == "VALID") w.pads[k] = 0;
    if (automatic == "SAME_UPPER") w.pads[k] = std::max<int64_t>(reach, 0) / 2;
    if (automatic == "SAME_LOWER") w.pads[k] = (std::max<int64_t>(reach, 0) + 1) / 2;
    w.pads[rank + k] = std::max<int64_t>(reach - w.pads[k], 0);
  }
  return w;
}

}  // namespace bmcompiler_plugin::top
