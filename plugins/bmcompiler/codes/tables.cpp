// SPDX-License-Identifier: Apache-2.0
#include "tables.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace bmcompiler_plugin {
namespace {

using top::Operation;

template <class Names>
bool among(const Names& names, const std::string& op) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

/// What they give is among what they are given.
constexpr std::string_view kMoves[] = {"Reshape", "Permute", "Transpose", "Slice",   "StridedSlice", "Split",          "Squeeze", "Unsqueeze",   "Flatten",
                                       "Tile",    "Expand",  "Pad",       "MaxPool", "Gather",       "Depth2Space",    "Reverse", "ShuffleChannel", "Unpack"};
/// Their 8 bits lose too much, on every chip: exponentials, and quotients by what is small. The tools compute normalizations in floats themselves.
constexpr std::string_view kFloats[] = {"LayerNorm", "GroupNorm", "InstanceNorm", "RMSNorm", "LRN",  "Softmax", "Exp",   "Log",  "Sqrt",     "Rsqrt", "Pow",
                                        "Div",       "Reciprocal", "GRU",     "LSTM", "Arg",     "TopK",  "Erf",  "GridSampler", "Floor"};
/// One by one, so cheap that codes win nothing.
constexpr std::string_view kOneByOne[] = {"Add", "AddConst", "Sub", "SubConst", "Mul", "MulConst"};

constexpr std::string_view kTakeBias[] = {"Conv", "MatMul", "Add", "Deconv", "Mul"};

/// Throws UNSUPPORTED for a name that a table, whose words blanks divide, cannot say.
const std::string& said(const std::string& name) {
  if (name.empty() || name.find_first_of(" \t\r\n") != name.npos)
    throw sdk::Error(OPTIMA_UNSUPPORTED, "value '" + name + "' has a blank in its name, which the tools' tables of nodes cannot say");
  return name;
}

class Maker {
 public:
  Maker(const top::Module& module, const std::map<std::string, Range>& ranges, const std::string& float_mode, const std::set<std::string>& in_f32)
      : module_(module), given_(ranges), in_f32_(in_f32), float_mode_(float_mode) {
    for (const Operation& o : module.operations()) {
      const bool folded = is_weight(o);
      for (const top::Value v : o.results) note(v, folded), makers_[v.id] = &o;
      normalizes_layers_ = normalizes_layers_ || o.op == "LayerNorm" || o.op == "RMSNorm";
    }
    for (const Operation& o : module.operations())
      for (const top::Value v : o.operands) ++reads_[v.id];
  }

  Tables operator()() {
    while (inherit()) {
    }
    const bool relus_alone = take_relus();
    if (relus_alone)
      while (inherit()) {
      }
    for (const Operation& o : module_.operations()) write(o);
    for (const auto& [id, r] : ranges_) out_.asymmetric = out_.asymmetric || !r.is_plain();
    if (!out_.calibration.empty()) out_.calibration = "# codes of the model: location threshold min max\n" + out_.calibration;
    return std::move(out_);
  }

 private:
  /// One, or made of nothing else: the tools compute it.
  bool is_weight(const Operation& o) const {
    if (o.op == "Weight" || o.op == "Input") return o.op == "Weight";
    return std::all_of(o.operands.begin(), o.operands.end(), [&](top::Value v) { return v.id == 0 || weights_.count(v.id) > 0; });
  }
  void note(top::Value v, bool folded) {
    if (v.id == 0) return;
    if (folded) weights_.insert(v.id);
    else if (const auto at = given_.find(module_.name(v)); at != given_.end()) ranges_[v.id] = at->second;
  }
  bool has(top::Value v) const { return ranges_.count(v.id) > 0; }

  bool give(top::Value to, top::Value from) {
    if (to.id == 0 || from.id == 0 || has(to) || !has(from) || weights_.count(to.id)) return false;
    ranges_[to.id] = ranges_.at(from.id);
    return true;
  }

  /// Forth, and back where nobody else reads it.
  bool inherit() {
    bool any = false;
    for (const Operation& o : module_.operations()) {
      if (!among(kMoves, o.op) || o.operands.empty()) continue;
      for (const top::Value v : o.results) any = give(v, o.operands[0]) || any;
      if (reads_[o.operands[0].id] == 1 && o.results.size() == 1) any = give(o.operands[0], o.results[0]) || any;
    }
    return any;
  }

  bool take_relus() {
    bool any = false;
    for (const Operation& o : module_.operations()) {
      if ((o.op != "Relu" && o.op != "Clip") || reads_[o.operands[0].id] != 1 || !give(o.operands[0], o.results[0])) continue;
      Range& r = ranges_[o.operands[0].id];
      if (r.zero == 0) r = {r.scale * 255 / 127, 128};
      any = true;
    }
    return any;
  }

  /// Of two that are computed: in a transformer the residual, whose outliers leave 8 bits nothing for the rest, and attention. A Concat puts
  /// tokens into the residual that may be far smaller than the others' steps.
  bool joins(const Operation& o) const {
    if (o.op == "Concat") return true;
    return (o.op == "Add" || o.op == "MatMul") && o.operands.size() >= 2 && !weights_.count(o.operands[0].id) && !weights_.count(o.operands[1].id);
  }
  /// The residual on its way, and attention's scores: to round them in between would lose what the sums in floats keep.
  bool follows_floats(const Operation& o) const {
    return (among(kMoves, o.op) || among(kOneByOne, o.op)) && std::any_of(o.operands.begin(), o.operands.end(), [&](top::Value v) { return in_floats_.count(v.id) > 0; });
  }
  const Operation* maker(top::Value v) const {
    const auto at = makers_.find(v.id);
    return at == makers_.end() ? nullptr : at->second;
  }

  /// What the tools make one with the operator before, under this one's name: both compute in one mode.
  const Operation* joined_to(const Operation& o) const {
    const bool bias = o.op == "Add" && o.operands.size() == 2 && (weights_.count(o.operands[0].id) || weights_.count(o.operands[1].id));
    if (o.op != "Relu" && !bias) return nullptr;
    const top::Value x = o.operands[bias && weights_.count(o.operands[0].id) ? 1 : 0];
    const Operation* from = maker(x);
    return from && (!bias || among(kTakeBias, from->op)) && reads_.at(x.id) == 1 ? from : nullptr;  // a Relu goes into any
  }

  bool on_codes(const Operation& o) const {
    if (const Operation* from = joined_to(o); from && in_floats_.count(from->results[0].id)) return false;
    if (among(kFloats, o.op) || (normalizes_layers_ && (joins(o) || follows_floats(o)))) return false;
    const auto coded = [&](top::Value v) { return v.id == 0 || weights_.count(v.id) || has(v); };
    return std::all_of(o.operands.begin(), o.operands.end(), coded) && std::all_of(o.results.begin(), o.results.end(), coded);
  }

  void write(const Operation& o) {
    if (is_weight(o)) return;
    for (const top::Value v : o.results)
      if (v.id != 0 && has(v)) out_.calibration += line(module_.name(v), ranges_.at(v.id));
    if (o.op == "Input") return;
    if (on_codes(o)) out_.any_codes = true;
    else if (!o.results.empty() && o.results[0].id != 0) leave_float(o);
  }

  void leave_float(const Operation& o) {
    const std::string& name = module_.name(o.results[0]);
    out_.precisions += said(name) + " " + (in_f32_.count(name) ? "F32" : float_mode_) + "\n";
    if (!among(kMoves, o.op)) ++out_.floats[o.op];
    for (const top::Value v : o.results) in_floats_.insert(v.id);
  }

  static std::string line(const std::string& name, const Range& r) {
    const double steps = r.zero == 0 ? 255 : 127, low = -static_cast<double>(r.zero) * r.scale, high = (255.0 - r.zero) * r.scale;
    char text[96];
    std::snprintf(text, sizeof text, " %.9g %.9g %.9g\n", steps * r.scale, low, high);
    return said(name) + text;
  }

  const top::Module& module_;
  const std::map<std::string, Range>& given_;
  const std::set<std::string>& in_f32_;
  const std::string& float_mode_;
  std::map<uint32_t, Range> ranges_;   // by value
  std::map<uint32_t, int> reads_;      // by value
  std::map<uint32_t, const Operation*> makers_;  // by value
  std::set<uint32_t> weights_;
  std::set<uint32_t> in_floats_;       // values, of operators written so far
  bool normalizes_layers_ = false;
  Tables out_;
};

}  // namespace

Tables tables_of(const top::Module& module, const std::map<std::string, Range>& ranges, const std::string& float_mode, const std::set<std::string>& in_f32) {
  return Maker(module, ranges, float_mode, in_f32)();
}

std::string f32_table(const std::set<std::string>& in_f32, const std::string& float_mode) {
  std::string out;
  if (float_mode != "F32")
    for (const std::string& name : in_f32) out += said(name) + " F32\n";
  return out;
}

}  // namespace bmcompiler_plugin
