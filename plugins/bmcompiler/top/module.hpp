// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/top: the text of a module in tpu-mlir's Top dialect, and its weights. Knows no graph. Schema: the operators' definitions
// that the wheel ships (include/tpu_mlir/Dialect/Top/IR/TopOps.td). Every attribute is written: the tools' defaults are not ONNX's.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bmcompiler_plugin::top {

/// A value of the module being written. Index 0 is `none`.
struct Value {
  uint32_t id = 0;
};

/// The braces of an operator: `{axis = 1 : si32, do_relu = false}`.
class Attributes {
 public:
  Attributes& i64(std::string_view name, int64_t v);
  Attributes& i32(std::string_view name, int32_t v);    ///< `: i32`
  Attributes& si32(std::string_view name, int32_t v);
  Attributes& f64(std::string_view name, double v);     ///< infinities and NaN as bits
  Attributes& flag(std::string_view name, bool v);
  Attributes& text(std::string_view name, std::string_view v);
  Attributes& i64s(std::string_view name, const std::vector<int64_t>& v);
  Attributes& f64s(std::string_view name, const std::vector<double>& v);
  const std::string& str() const { return text_; }

 private:
  void add(std::string_view name, const std::string& value);
  std::string text_;
};

/// An output of an operator.
struct Result {
  std::string name;            ///< its location: unique in the module; errors and tables of the tools use it
  std::vector<int64_t> dims;   ///< fixed
  std::string type = "f32";    ///< element type, "f32", "si32", …; "none" = an output that is not asked for
};

/// An operator as it was written, "Input" and "Weight" among them.
struct Operation {
  std::string op;
  std::vector<Value> operands, results;  ///< a none where there is none
};

/// Arrays of weights, as NumPy's npz (zip without compression, .npy inside, times set to 1980).
struct Weight {
  std::string name;            ///< location and key
  std::vector<int64_t> dims;
  std::string type = "f32";    ///< f32, si32, si8, ui8, f16
  std::string bytes;           ///< dense, little-endian
};

/// Written from inputs to outputs. Names are made unique by who calls: names() helps.
class Module {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}
  Value none() const { return {}; }
  /// The next argument. One of integers (type si32) is floats inside of the module, as the tools' own importer has it.
  Value input(const Result& what);
  Value weight(Weight what);
  Value weight(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values);
  /// `op` without "top."; a none among `operands` is written so.
  Value op(std::string_view op, const std::vector<Value>& operands, const Attributes& attributes, const Result& result);
  std::vector<Value> op(std::string_view op, const std::vector<Value>& operands, const Attributes& attributes, const std::vector<Result>& results);
  void output(Value v);
  /// `name`, or with a number behind it where it is taken; the answer is taken then.
  std::string unique(const std::string& name);

  /// The whole module; `weight_file` is named in it.
  std::string text(std::string_view weight_file) const;
  const std::deque<Weight>& weights() const { return weights_; }
  /// The location of a value.
  const std::string& name(Value v) const { return values_.at(v.id).name; }
  /// All of it, in order.
  const std::vector<Operation>& operations() const { return operations_; }
  /// Locations of all operators and inputs, in order.
  const std::vector<std::string>& locations() const { return locations_; }

 private:
  struct Typed {
    std::string ssa, type, name;
  };
  std::string name_, body_;
  std::vector<Typed> values_{{"%none", "none", ""}};
  std::vector<std::string> arguments_;  // types of %arg0, …
  std::vector<Value> outputs_;
  std::deque<Weight> weights_;
  std::vector<Operation> operations_;
  std::vector<std::string> locations_;
  std::set<std::string> taken_;
};

/// The bytes of an npz of these weights; UNSUPPORTED from 4 GiB on.
std::string npz(const std::deque<Weight>& weights);

}  // namespace bmcompiler_plugin::top
