// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: a graph of codes in floats again, as the SDK's converters want it, and the codes that it had. Knows the seam only.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "optima/image.hpp"
#include "toolchain.hpp"

namespace snpe_plugin {

namespace image = optima::image;

/// Graph 0 without its pairs of QuantizeLinear and DequantizeLinear: values keep their names, coded constants become the floats that they stand
/// for and are called like the DequantizeLinear's output. Where codes cross the border the one node that is there stays. A quantized output
/// that is its input keeps an Identity. Throws UNSUPPORTED for nodes with bodies and for codes of no known form.
class FloatGraph {
 public:
  /// `from` must outlive this, as its blobs are shared.
  explicit FloatGraph(const optima_graph* from);
  FloatGraph(const FloatGraph&) = delete;
  FloatGraph& operator=(const FloatGraph&) = delete;

  /// Made at the first call; lives as long as this.
  const optima_graph* raw();
  /// Whether any of it was codes.
  bool held_codes() const { return held_codes_; }
  /// Sorted by name. Of a value with several the first.
  std::vector<Quantized::Codes> codes() const;

 private:
  void build();
  void read_pairs();
  void read_pair(uint32_t k, const sdk::Node& dq);
  void keep_needed();
  Quantized::Codes codes_of(const sdk::Node& node) const;
  uint32_t resolve(uint32_t value) const;
  uint32_t value(uint32_t of);
  uint32_t constant(const sdk::Constant& c);
  uint32_t decoded(const sdk::Node& dq);
  image::Attr attribute(const sdk::Attr& a);
  void add(const sdk::Node& node, std::string_view op);
  void pack();

  sdk::Graph g_;
  std::set<uint32_t> inputs_, outputs_;           // values of the origin
  std::map<uint32_t, uint32_t> quantizers_;       // by value of codes: its QuantizeLinear
  std::map<uint32_t, uint32_t> instead_;          // by value: whose numbers it is
  std::map<uint32_t, uint32_t> decoders_;         // by value: the DequantizeLinear of a constant that makes it
  std::map<uint32_t, uint32_t> coded_by_;         // by value before resolve(): a QuantizeLinear that reads it
  std::set<uint32_t> gone_, identities_;          // nodes
  bool held_codes_ = false;

  image::Contents contents_;
  std::map<uint32_t, uint32_t> values_;           // ours, by value of the origin
  std::deque<std::vector<float>> floats_;         // what decoded constants hold
  std::vector<optima_blob> blobs_;
  std::optional<image::Bytes> bytes_;
  optima_graph raw_{};
};

}  // namespace snpe_plugin
