// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/top: several operators in place of one node.
#pragma once

#include "lower.hpp"

namespace bmcompiler_plugin::top {

inline constexpr const char* kHalfAway = "HalfAwayFromZero";  ///< rounding of codes: every operator that may yield them states it

inline Attributes fused() { return Attributes().flag("do_relu", false).f64("relu_limit", -1); }
inline Attributes binary() { return fused().flag("is_scalar", false); }

/// Of a MatMul of rows by columns.
inline Attributes matmul() {
  return fused()
      .flag("right_transpose", false)
      .flag("left_transpose", false)
      .flag("output_transpose", false)
      .flag("hdim_is_batch", false)
      .flag("keep_dims", true)
      .flag("is_lora", false)
      .text("dq_type", "NONE")
      .i64("q_group_size", 0);
}
inline Attributes sigmoid() { return Attributes().f64("scale", 1).f64("bias", 0).flag("log", false).text("round_mode", kHalfAway); }

/// Far below every number that exp() tells from none, and not further than cv183x's exp() goes: of -1e30 that is 1e30.
inline constexpr double kLeastPower = -1e4;

/// Writes operators one after another, each of the shape that was set last; the one after last() is the node's output.
class Chain {
 public:
  Chain(Lowering& to, const sdk::Node& node) : to_(to), node_(node), dims_(dims_of(node.output(0))) {}
  Chain& shape(std::vector<int64_t> dims) { return dims_ = std::move(dims), *this; }
  const std::vector<int64_t>& shape() const { return dims_; }
  Chain& last() { return last_ = true, *this; }
  Value op(std::string_view op, const std::vector<Value>& operands, const Attributes& attributes = {});

  Value add(Value a, Value b) { return op("Add", {a, b}, binary()); }
  Value add(Value a, double c) { return op("AddConst", {a}, binary().f64("const_val", c)); }
  Value sub(Value a, Value b) { return op("Sub", {a, b}, binary().flag("is_reverse", false)); }
  Value mul(Value a, Value b) { return op("Mul", {a, b}, binary()); }
  Value mul(Value a, double c) { return op("MulConst", {a}, binary().f64("const_val", c)); }
  Value div(Value a, Value b) { return op("Div", {a, b}, binary().flag("is_reverse", false)); }
  Value inverse(Value a) { return op("Reciprocal", {a}, fused().f64("const_val", 1)); }
  Value most(Value a, double c) { return op("MinConst", {a}, Attributes().f64("const_val", c).flag("is_scalar", false)); }
  Value least(Value a, double c) { return op("MaxConst", {a}, Attributes().f64("const_val", c).flag("is_scalar", false)); }
  /// 1 where `a` is so, else 0.
  Value compare(Value a, std::string_view mode, double c) {
    return op("CompareConst", {a}, Attributes().text("mode", mode).f64("const_val", c).flag("inversed", false).flag("is_scalar", false));
  }
  Value floor(Value a) { return op("Floor", {a}, Attributes().flag("is_scalar", false)); }
  /// `a` as a tensor of these dims, the same number of elements.
  Value reshape(Value a, const std::vector<int64_t>& dims);
  Value permute(Value a, const std::vector<int64_t>& dims, const std::vector<int64_t>& order);

 private:
  Lowering& to_;
  const sdk::Node& node_;
  std::vector<int64_t> dims_;
  bool last_ = false;
};

/// `v` with ones before its dims so that it has `rank` of them: the chips broadcast equal ranks.
Value raised(Lowering& to, const sdk::Node& node, const sdk::Value& v, size_t rank);
/// The dims that raised() gives it.
std::vector<int64_t> raised_dims(const sdk::Value& v, size_t rank);
/// `v`, of dims `from`, in dims `wide` of the same rank: repeated along those that are 1.
Value spread(Chain& c, Value v, const std::vector<int64_t>& from, const std::vector<int64_t>& wide);
/// Pads as begins then ends, of a node with auto_pad or pads; `ends` reach the last window that the output has.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  int64_t size() const;  ///< numbers in a window
};
/// Of convolutions and pools: `spatial` dims of input 0 from the third on, and of output 0.
Window window_of(const sdk::Node& node, const std::vector<int64_t>& kernel);

}  // namespace bmcompiler_plugin::top
