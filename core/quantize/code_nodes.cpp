// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/code_nodes.hpp"

#include "core/support/text.hpp"

namespace optima::detail {
namespace {

bool same_codes(const Encoding& a, const Encoding& b) {
  return a.dtype == b.dtype && a.scale == b.scale && a.zero_point == b.zero_point && a.axis == b.axis && a.block == b.block;
}

// Of the scales: one number, one per index of the axis, or the codes' with the axis cut into blocks.
std::vector<int64_t> scale_dims(const Encoding& e, const std::vector<int64_t>& dims) {
  if (e.axis < 0) return {};
  if (e.block == 0) return {static_cast<int64_t>(e.scale.size())};
  std::vector<int64_t> out = dims;
  int64_t& along = out[static_cast<size_t>(e.axis)];
  along = (along + e.block - 1) / e.block;
  return out;
}

void describe(const Encoding& e, image::Node& node) {
  if (e.axis >= 0) node.attrs.push_back(int_attribute("axis", e.axis));
  if (e.block > 0) node.attrs.push_back(int_attribute("block_size", e.block));
}

}  // namespace

const CodeNodes::Scale& CodeNodes::scale_of(const std::string& owner, const Encoding& e, const std::vector<int64_t>& dims) {
  for (auto [it, end] = scales_.equal_range(owner); it != end; ++it)
    if (same_codes(it->second.encoding, e)) return it->second;
  const std::vector<int64_t> of = scale_dims(e, dims);
  const uint32_t scale = edit_.floats(cat(owner, "/scale"), of, e.scale);
  const bool none = e.block > 0 && e.dtype == OPTIMA_I4;  // 0, which is the default
  const uint32_t zero = none ? OPTIMA_NONE : edit_.codes(cat(owner, "/zero"), e.dtype, of, e.zero_point);
  return scales_.emplace(owner, Scale{owner, e, scale, zero})->second;
}

uint32_t CodeNodes::quantize(uint32_t value, const std::string& owner, const Encoding& e) {
  const Scale& s = scale_of(owner, e, {});
  const image::Value x = graph_.main().values[value];
  const uint32_t out = edit_.value(cat(x.name, "/q"), e.dtype, x.dims);
  to_.push_back(edit_.node(cat(x.name, "/q"), "QuantizeLinear", edit_.quantize_version(), {value, s.scale, s.zero}, {out}));
  describe(e, to_.back());
  return out;
}

uint32_t CodeNodes::dequantize(uint32_t codes, const std::string& name, const std::string& owner, const Encoding& e, uint32_t into) {
  const image::Value x = graph_.main().values[codes];
  const Scale& s = scale_of(owner, e, x.constant == OPTIMA_NONE ? std::vector<int64_t>() : graph_.contents.constants[x.constant].dims);
  const uint32_t out = into != OPTIMA_NONE ? into : edit_.value(cat(name, "/dq"), OPTIMA_F32, x.dims);
  std::vector<uint32_t> inputs{codes, s.scale};
  if (s.zero != OPTIMA_NONE) inputs.push_back(s.zero);
  to_.push_back(edit_.node(cat(name, "/dq"), "DequantizeLinear", edit_.quantize_version(), std::move(inputs), {out}));
  describe(e, to_.back());
  return out;
}

uint32_t CodeNodes::constant(const std::string& name, const std::vector<int64_t>& dims, const WeightCodes& w) {
  uint32_t codes = OPTIMA_NONE;
  for (auto [it, end] = stored_.equal_range(name); it != end; ++it)
    if (same_codes(it->second.codes.encoding, w.encoding) && it->second.codes.codes == w.codes) codes = it->second.value;
  if (codes == OPTIMA_NONE) {
    codes = edit_.codes(cat(name, "/q"), w.encoding.dtype, dims, w.codes);
    stored_.emplace(name, Stored{w, codes});
  }
  return dequantize(codes, name, name, w.encoding);
}

}  // namespace optima::detail
