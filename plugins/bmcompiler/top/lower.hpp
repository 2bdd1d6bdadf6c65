// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/top: a float graph as a Top module. One row per ONNX operator, one file per family of operators (conv.cpp, pool.cpp,
// pointwise.cpp, move.cpp, reduce.cpp, index.cpp, product.cpp, norm.cpp, recurrent.cpp, resize.cpp).
#pragma once

#include <map>
#include <optional>
#include <set>

#include "module.hpp"
#include "optima/plugin/plugin.hpp"
#include "plugins/bmcompiler/chip.hpp"

namespace bmcompiler_plugin::top {

namespace sdk = optima::sdk;

/// How an input or output lies in the compiled file.
struct Port {
  std::string name;            ///< location of it in the module
  int32_t dtype;               ///< OPTIMA_F32: integers and bools are floats in a module
};

/// What a module is made of so far: values of the graph by their index. Constants become weights where they are first read.
class Lowering {
 public:
  Lowering(const sdk::Graph& graph, const Chip& chip);

  Module& module() { return module_; }
  const Chip& chip() const { return chip_; }
  /// Of an input of a node: the value that an earlier row set, or a weight made of the constant (floats; integers and bools as the floats
  /// that they are, for operators that compute with them). None for an absent input. Throws UNSUPPORTED for a type that has no form here.
  Value read(const sdk::Value& v);
  /// Input `k` of a node for an operator that on bm1684 may write over what it reads (seen of Sigmoid, Tanh, Sqrt, Log and Cos, once they
  /// stand in a group of operators): a copy where others may read it, too.
  Value own(const sdk::Node& node, uint32_t k);
  /// A copy of `v` for such an operator on bm1684; elsewhere v.
  Value copied(const sdk::Node& node, Value v, const std::vector<int64_t>& dims);
  /// The same number under another shape, as one does for operators that want a rank: a top.Reshape named after `v`.
  Value reshaped(Value v, const std::vector<int64_t>& dims, const std::string& name);
  /// A constant's numbers, whatever its type. Throws UNSUPPORTED when `v` is no constant.
  static std::vector<int64_t> integers(const sdk::Value& v);
  static std::vector<float> floats(const sdk::Value& v);
  /// Location, shape and element type of a node's output `k`: what an operator writes. A scalar has the one dim 1, for the dialect has no rank
  /// 0; numbers are floats, whatever the graph has them as. Type "none" for an output that the node leaves out.
  Result result(const sdk::Node& node, uint32_t k = 0);
  /// A location for an operator in between, not the graph's: "<first output>/<what>", unique.
  std::string inner(const sdk::Node& node, std::string_view what);
  /// Output `k` of `node` is `v`.
  void set(const sdk::Node& node, uint32_t k, Value v);

  /// Writes operator `op` with one output, which is output 0 of `node`.
  void emit(const sdk::Node& node, std::string_view op, const std::vector<Value>& operands, const Attributes& attributes);
  /// Writes an operator in between, `what` behind its name, with this shape.
  Value between(const sdk::Node& node, std::string_view what, const std::vector<int64_t>& dims, std::string_view op, const std::vector<Value>& operands,
                const Attributes& attributes);

  /// The next argument, and the next result. Integers come in as floats, for they are floats inside: the border refuses those that no float
  /// holds, which the chip would round.
  Port enter(const sdk::Value& v);
  Port leave(const sdk::Value& v);
  /// By name of a value of the graph whose location is called otherwise, as pieces of an operator are: the location.
  std::map<std::string, std::string> renamed(const sdk::Graph& graph) const;

 private:
  bool is_argument(Value v) const;

  const Chip& chip_;
  Module module_;
  std::map<uint32_t, Value> values_;
  std::map<uint32_t, int> readers_;  // of values by their index
  std::map<uint32_t, Value> copies_;  // the last one of a value that several outputs are
  std::set<uint32_t> views_;         // values that may lie where another one does
  std::set<uint32_t> left_;  // values that no further output may be: arguments, weights, outputs
};

/// Dims in a module: those of the value, 1 for a scalar.
std::vector<int64_t> dims_of(const sdk::Value& v);
/// For Row::refuses of operators that compute with floats: empty, or the sentence about the first operand or output of another type. Integers
/// would be floats in a module, right up to 16777216 only and without wrapping around.
std::string wants_floats(const sdk::Node& node);

/// How one ONNX operator is written.
struct Row {
  std::string_view op;                                              ///< "Conv", domain ai.onnx
  std::string (*refuses)(const sdk::Node& node, const Chip& chip);  ///< a sentence without the node's name, empty = taken; null = all are
  void (*write)(Lowering& to, const sdk::Node& node);
};

/// Tables of the families; each lies in its file.
sdk::Span<const Row> convolutions();  ///< Conv, ConvTranspose
sdk::Span<const Row> pools();         ///< MaxPool, AveragePool, Global*, LpPool
sdk::Span<const Row> pointwise();     ///< unary, binary, comparisons, Where, Clip, Cast, PRelu
sdk::Span<const Row> moves();         ///< Reshape, Transpose, Concat, Split, Slice, Pad, Expand, Tile, DepthToSpace, …
sdk::Span<const Row> reductions();    ///< Reduce*, ArgMax, ArgMin, Hardmax, TopK
sdk::Span<const Row> scans();         ///< CumSum, CumProd
sdk::Span<const Row> bits();          ///< Bitwise*, BitShift
sdk::Span<const Row> losses();        ///< NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
sdk::Span<const Row> positions();     ///< RotaryEmbedding, TensorScatter
sdk::Span<const Row> indexing();      ///< Gather*, Scatter*, OneHot, Trilu, NonMaxSuppression, RoiAlign, GridSample
sdk::Span<const Row> products();      ///< MatMul, Gemm, Einsum
sdk::Span<const Row> attentions();    ///< Attention
sdk::Span<const Row> norms();         ///< BatchNormalization, Layer-, Instance-, GroupNormalization, Softmax, LogSoftmax, LRN, LpNormalization
sdk::Span<const Row> recurrent();     ///< LSTM, GRU, RNN
sdk::Span<const Row> resizing();      ///< Resize, Upsample
sdk::Span<const Row> border_codes();  ///< QuantizeLinear, DequantizeLinear where codes come in or go out

/// Null when no table has it.
const Row* find_row(std::string_view domain, std::string_view op);
/// Empty, or the sentence that refuses a node: no row, its row's word, an element type or rank that no chip's form has, and what this chip's
/// emulator computes otherwise than ONNX (limits.cpp holds those, with figures).
std::string cannot_lower(const sdk::Node& node, const Chip& chip);

struct Lowered {
  Module module;
  std::vector<Port> inputs, outputs;  ///< in the graph's order
  std::map<std::string, std::string> locations = {};  ///< by value of the graph that has another name in the module: that
  std::set<std::string> integers = {};                ///< locations of operators that compute or move integers: floats of 16 bits would blur them
};
/// The node computes or moves integers; places that it counts itself (ArgMax, TopK) and those that it looks up are not among them.
bool has_integers(const sdk::Node& node);
/// In limits.cpp: empty, or what this chip's emulator computes otherwise than ONNX says, with the figure.
std::string limit_of(const sdk::Node& node, const Chip& chip);
/// The whole graph, nodes in order. Throws UNSUPPORTED naming the node, as `"conv1" (Conv): …`, for what cannot_lower() refuses.
Lowered lower(const sdk::Graph& graph, const Chip& chip);

}  // namespace bmcompiler_plugin::top
