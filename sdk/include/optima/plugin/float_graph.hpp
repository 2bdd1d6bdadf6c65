// SPDX-License-Identifier: Apache-2.0
// optima/plugin/float_graph.hpp: a graph of codes in floats again, and the codes that it had: for vendors' tools that take a float model and a
// table of scales. Not included by plugin.hpp.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "optima/plugin/repack.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// Graph 0 without its pairs of QuantizeLinear and DequantizeLinear: values keep their names, coded constants become the floats that they stand
/// for and are called like the DequantizeLinear's output. Where codes cross the border the one node that is there stays. A quantized output
/// that is its input keeps an Identity. Pairs whose scale or zero point is no constant stay. Throws UNSUPPORTED for nodes with bodies and for
/// codes of no known form. One thread.
class FloatGraph {
 public:
  /// How a value, or a constant, was coded: x = (code - zero point) * scale.
  struct Codes {
    std::string value;            ///< by name, in the float graph
    bool constant = false;
    int32_t dtype = OPTIMA_U8;    ///< OPTIMA_U8, I8, U16, I16, I4, U4, I32
    int32_t axis = -1;            ///< with several scales; -1 = one
    int64_t block = 0;            ///< elements along the axis that share a scale; 0 = one scale per index
    std::vector<float> scales;
    std::vector<int32_t> zero_points;  ///< as many as scales
  };

  /// `from` must outlive this, as its blobs are shared.
  explicit FloatGraph(const optima_graph* from) : g_(from) {
    for (uint32_t k = 0; k < g_.input_count(); ++k) inputs_.insert(g_.input(k).index());
    for (uint32_t k = 0; k < g_.output_count(); ++k) outputs_.insert(g_.output(k).index());
    read_pairs();
    keep_needed();
  }
  FloatGraph(const FloatGraph&) = delete;
  FloatGraph& operator=(const FloatGraph&) = delete;

  /// Made at the first call; lives as long as this.
  const optima_graph* raw() {
    if (!bytes_) build();
    return &raw_;
  }
  /// Whether any of it was codes.
  bool held_codes() const { return held_codes_; }
  /// Sorted by name. Of a value with several the first.
  std::vector<Codes> codes() const {
    std::map<std::string, Codes> by_name;
    const auto add = [&](uint32_t of, uint32_t node, bool is_constant) {
      Codes codes = codes_of(g_[node]);
      codes.value = std::string(Value(g_.raw(), of).name());
      codes.constant = is_constant;
      by_name.try_emplace(codes.value, codes);
    };
    for (const auto& [of, node] : decoders_) add(of, node, true);
    for (const auto& [of, node] : coded_by_) add(resolve(of), node, false);
    std::vector<Codes> out;
    for (auto& [name, codes] : by_name) out.push_back(std::move(codes));
    return out;
  }

 private:
  static bool is(const Node& n, std::string_view op) { return n.op() == op && n.domain().empty(); }

  [[noreturn]] static void unknown_form(const Node& n, const std::string& found) {
    throw Error(OPTIMA_UNSUPPORTED, std::string(n.op()) + " '" + std::string(n.name()) + "': found " + found, n.id());
  }

  /// The codes of a constant, one by one.
  static std::vector<int32_t> numbers(const Node& n, const Constant& c) {
    const size_t count = static_cast<size_t>(c.elements());
    std::vector<int32_t> out(count);
    const auto take = [&](auto type) {
      const auto elements = c.as<decltype(type)>();
      std::copy_n(elements.begin(), count, out.begin());
    };
    const auto take_halves = [&](bool is_signed) {
      const Elements<uint8_t> bytes(c.blob());
      for (size_t i = 0; i < count; ++i) {
        const int32_t half = i % 2 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15;
        out[i] = is_signed && half > 7 ? half - 16 : half;
      }
    };
    switch (c.dtype()) {
      case OPTIMA_U8: take(uint8_t{}); break;
      case OPTIMA_I8: take(int8_t{}); break;
      case OPTIMA_U16: take(uint16_t{}); break;
      case OPTIMA_I16: take(int16_t{}); break;
      case OPTIMA_I32: take(int32_t{}); break;
      case OPTIMA_I4: take_halves(true); break;
      case OPTIMA_U4: take_halves(false); break;
      default: unknown_form(n, "codes of dtype " + std::to_string(c.dtype()) + ", wanted integers of 4 to 32 bits");
    }
    return out;
  }

  void read_pairs() {
    for (uint32_t k = 0; k < g_.size(); ++k) {
      const Node n = g_[k];
      const bool q = is(n, "QuantizeLinear"), dq = is(n, "DequantizeLinear");
      if (!q && !dq) continue;
      const bool fixed = n.input(1).is_constant() && (!n.input(2) || n.input(2).is_constant()) && n.input(1).dtype() == OPTIMA_F32;
      if (!fixed) continue;
      if (dq) read_pair(k, n);
      if (!q || n.input(0).is_constant()) continue;
      quantizers_[n.output(0).index()] = k;
      coded_by_.try_emplace(n.input(0).index(), k);
    }
  }

  void read_pair(uint32_t k, const Node& dq) {
    const uint32_t out = dq.output(0).index();
    if (dq.input(0).is_constant()) {
      decoders_[out] = k;
      gone_.insert(k);
      held_codes_ = true;
      return;
    }
    const auto quantizer = quantizers_.find(dq.input(0).index());
    if (quantizer == quantizers_.end()) return;  // codes that come in
    const uint32_t x = g_[quantizer->second].input(0).index();
    gone_.insert(k);
    held_codes_ = true;
    if (!outputs_.count(out))
      instead_[out] = x;
    else if (!inputs_.count(resolve(x)) && !outputs_.count(resolve(x)))
      instead_[resolve(x)] = out;  // who made the floats now makes the output
    else
      identities_.insert(k);
  }

  // A QuantizeLinear stays where its codes go out.
  void keep_needed() {
    std::set<uint32_t> read = outputs_;
    for (uint32_t k = 0; k < g_.size(); ++k)
      for (uint32_t i = 0; !gone_.count(k) && i < g_[k].input_count(); ++i)
        if (g_[k].input(i)) read.insert(g_[k].input(i).index());
    for (const auto& [codes, node] : quantizers_)
      if (!read.count(codes)) gone_.insert(node);
  }

  uint32_t resolve(uint32_t of) const {
    for (auto at = instead_.find(of); at != instead_.end(); at = instead_.find(of)) of = at->second;
    return of;
  }

  Codes codes_of(const Node& n) const {
    Codes out;
    const bool q = is(n, "QuantizeLinear");
    out.dtype = q ? n.output(0).dtype() : n.input(0).dtype();
    const auto scales = n.input(1).constant().as<float>();
    out.scales.assign(scales.begin(), scales.begin() + n.input(1).constant().elements());
    out.zero_points = n.input(2) ? numbers(n, n.input(2).constant()) : std::vector<int32_t>(out.scales.size());
    if (out.zero_points.size() != out.scales.size())
      unknown_form(n, std::to_string(out.zero_points.size()) + " zero points for " + std::to_string(out.scales.size()) + " scales");
    const int32_t rank = n.input(0).rank();
    const int64_t axis = n.integer("axis", 1);
    if (n.input(1).rank() > 0) out.axis = static_cast<int32_t>(axis < 0 ? axis + rank : axis);
    if (n.input(1).rank() > 0 && (out.axis < 0 || out.axis >= rank))
      unknown_form(n, "axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
    out.block = n.integer("block_size", 0);
    return out;
  }

  void build() {
    for (uint32_t k = 0; k < g_.raw()->blob_count; ++k) blobs_.push_back(known(optima_get_blob(g_.raw(), k)));
    contents_.graphs.emplace_back().name = std::string(g_.name());
    for (uint32_t k = 0; k < g_.input_count(); ++k) contents_.graphs[0].inputs.push_back(value(g_.input(k).index()));
    for (uint32_t k = 0; k < g_.size(); ++k)
      if (!gone_.count(k) || identities_.count(k)) add(g_[k], identities_.count(k) ? "Identity" : g_[k].op());
    for (uint32_t k = 0; k < g_.output_count(); ++k) contents_.graphs[0].outputs.push_back(value(g_.output(k).index()));
    pack();
  }

  uint32_t constant(const Constant& c) {
    contents_.constants.push_back({c.dtype(), c.shape(), c.blob_index()});
    return static_cast<uint32_t>(contents_.constants.size() - 1);
  }

  uint32_t decoded(const Node& dq) {
    const Constant c = dq.input(0).constant();
    const Codes codes = codes_of(dq);
    const std::vector<int32_t> from = numbers(dq, c);
    const std::vector<int64_t> dims = c.shape();
    int64_t behind = 1, along = 1;
    for (size_t d = static_cast<size_t>(std::max(codes.axis, 0)) + 1; d < dims.size(); ++d) behind *= dims[d];
    if (codes.axis >= 0) along = dims[static_cast<size_t>(codes.axis)];
    const int64_t blocks = codes.block > 0 ? (along + codes.block - 1) / codes.block : 0;
    const auto scale_of = [&](int64_t i) -> size_t {
      if (codes.axis < 0) return 0;
      const int64_t at = i / behind % along;
      return static_cast<size_t>(blocks == 0 ? at : (i / behind / along * blocks + at / codes.block) * behind + i % behind);
    };
    std::vector<float>& to = floats_.emplace_back();
    for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
      const size_t s = scale_of(i);
      if (s >= codes.scales.size()) unknown_form(dq, std::to_string(codes.scales.size()) + " scales for a tensor that wants more");
      to.push_back(static_cast<float>(from[static_cast<size_t>(i)] - codes.zero_points[s]) * codes.scales[s]);
    }
    optima_blob blob{};
    blob.struct_size = sizeof blob;
    blob.data = to.data(), blob.size = to.size() * sizeof(float);
    blob.fd = -1;
    blobs_.push_back(blob);
    contents_.constants.push_back({OPTIMA_F32, dims, static_cast<uint32_t>(blobs_.size() - 1)});
    return static_cast<uint32_t>(contents_.constants.size() - 1);
  }

  uint32_t value(uint32_t of) {
    const uint32_t origin = resolve(of);
    const auto [at, fresh] = values_.try_emplace(origin, static_cast<uint32_t>(contents_.graphs[0].values.size()));
    if (!fresh) return at->second;
    const Value v(g_.raw(), origin);
    image::Value out = repacked(v);
    if (v.is_constant()) out.constant = constant(v.constant());
    if (const auto dq = decoders_.find(origin); dq != decoders_.end()) out.constant = decoded(g_[dq->second]);
    contents_.graphs[0].values.push_back(std::move(out));
    return at->second;
  }

  void add(const Node& n, std::string_view op) {
    const bool same = op == n.op();
    image::Node out{std::string(n.name()), std::string(op), std::string(n.domain()), n.id(), same ? n.since_version() : 1, {}, {}, {}, n.raw().flags};
    // An Identity of a pair reads what the QuantizeLinear before it read.
    const auto input = [&](uint32_t k) { return same ? n.input(k) : g_[quantizers_.at(n.input(0).index())].input(0); };
    for (uint32_t k = 0; k < (same ? n.input_count() : 1); ++k) out.inputs.push_back(input(k) ? value(input(k).index()) : OPTIMA_NONE);
    for (uint32_t k = 0; k < n.output_count(); ++k) out.outputs.push_back(n.output(k) ? value(n.output(k).index()) : OPTIMA_NONE);
    for (uint32_t k = 0; same && k < n.attr_count(); ++k) {
      const Attr a = n.attr(k);
      if (a.type() == OPTIMA_ATTR_GRAPH || a.type() == OPTIMA_ATTR_GRAPHS)
        throw Error(OPTIMA_UNSUPPORTED, std::string(n.op()) + " '" + std::string(n.name()) + "' has a body", n.id());
      out.attrs.push_back(repacked(a, [this](const Constant& c) { return constant(c); }));
    }
    contents_.graphs[0].nodes.push_back(std::move(out));
  }

  void pack() {
    repack_opsets(g_.image(), contents_);
    bytes_.emplace(image::pack(contents_));
    raw_ = {sizeof raw_, 0, bytes_->image(), blobs_.data(), static_cast<uint32_t>(blobs_.size()), 0, {}};
  }

  Graph g_;
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

}  // namespace v0_1
}  // namespace optima::sdk
