// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: how operators become steps. Each file of lower/ is a family: a table of rows.
#pragma once

#include <optional>
#include <set>
#include <span>

#include "draft.hpp"
#include "optima/plugin/manifest.hpp"
#include "optima/plugin/request.hpp"

namespace spirv_plugin {

/// A node, and the pointwise nodes behind it that are computed in its kernel, in the graph's order. Only the last one's output is seen outside.
struct Group {
  sdk::Node root;
  std::optional<sdk::Node> scaling{};  ///< a BatchNormalization of constants behind a root that folds it into its weights
  /// By input of the root, the first three: the DequantizeLinear that makes it. Empty unless the root reads the codes of the first two.
  std::array<std::optional<sdk::Node>, 3> decoders{};
  std::vector<sdk::Node> tail{};
  /// The root is a DequantizeLinear whose readers read the codes: it is no kernel.
  bool by_readers = false;
  size_t last = 0;  ///< position in the graph of its last node: where it is computed
  const sdk::Node& end() const { return tail.empty() ? before_tail() : tail.back(); }
  /// The root sums products of codes.
  bool sums_codes() const { return decoders[0].has_value(); }
  /// Whose output the tail begins with.
  const sdk::Node& before_tail() const { return scaling ? *scaling : root; }
};

/// What a BatchNormalization of constants does to a channel: times factor, plus summand. Of the operator's formula for inference.
struct Scaling {
  std::vector<double> factor, summand;
};
Scaling scaling_of(const sdk::Node& batch_normalization);

class Lowering;

/// One operator, or one range of its versions.
struct Row {
  sdk::Op op;
  /// Why this node is not taken though the table allows it, as a sentence; empty = it is taken.
  std::string (*refuse)(const sdk::Node& node) = nullptr;
  /// Writes the steps of a group whose root the node is. Null for pointwise rows, which have a kernel in common.
  void (*lower)(Lowering& to, const Group& group) = nullptr;
  /// Of a pointwise operator: the value of one element of its output, by expressions for one element of each input ("" where one is absent).
  std::string (*expression)(const sdk::Node& node, const std::vector<std::string>& in) = nullptr;
  /// Inputs of which expression() reads an element, the first ones; 0 = all.
  uint32_t operands = 0;
  /// lower() computes the group's tail.
  bool takes_tail = false;
  /// lower() multiplies the group's scaling into its weights, where they are constants (input 1).
  bool takes_scaling = false;
  /// Whether lower() sums the products of this root exactly when it reads the codes in front of its decoders, the first two of which are there.
  bool (*sums_codes)(const Group& group) = nullptr;
  /// Storage buffers that lower() binds without a tail's, at most; 0 = one for each input that is there, and one.
  uint32_t buffers = 0;
};
using Family = sdk::Span<const Row>;

/// One per file of lower/; the build lists them.
std::span<const Family> families();
/// The rows of all of them.
const std::vector<Row>& all_rows();
/// The row that takes the node; null when none does.
const Row* row_of(const sdk::Node& node);
/// SUPPORTED, or why not. Needs no device. The same for one node wherever it stands.
sdk::Verdict verdict_of(const sdk::Node& node);

/// How elements of this type, one of kAny or f64, lie on the device.
Element element_of(int32_t dtype);
/// The elements of a constant as doubles (floats, integers, truth values). Throws UNSUPPORTED for other types.
std::vector<double> reals_of(const sdk::Constant& constant);
/// The elements of a constant of integers or truth values.
std::vector<int64_t> integers_of(const sdk::Constant& constant);

/// What families write with. One compile, one thread.
class Lowering {
 public:
  /// `floats`: what floats of the graph lie in, F32 or F16. `winograd`: convolutions may be computed by Winograd's method.
  Lowering(Draft& draft, const Limits& limits, Element floats, bool winograd = true) : draft_(draft), limits_(limits), floats_(floats), winograd_(winograd) {}

  const Limits& limits() const { return limits_; }
  /// Halves would lose too much between its steps.
  bool allows_winograd() const { return winograd_ && floats_ == Element::F32; }
  /// The tensor of a value that is there: an input, a constant (as it is), or what an earlier group made.
  Tensor read(const sdk::Value& value);
  /// The tensor of a value that the group now makes.
  Tensor made(const sdk::Value& value);
  /// `value`, which the group now makes, lies in a tensor that is there: a weight, or scratch of the group.
  void made_as(const sdk::Value& value, const Tensor& tensor);
  /// The group's node computes nothing when the model runs: its float output has these elements.
  void knows(const sdk::Value& value, std::vector<float> elements) { known_[value.index()] = std::make_shared<const std::vector<float>>(std::move(elements)); }
  /// The elements of a float value that a constant or knows() gives; null for others.
  std::shared_ptr<const Floats> known(const sdk::Value& value) const;
  /// Pointwise kernels that read the output of this DequantizeLinear, whose scale and zero point are literals, read its codes.
  void decodes(const sdk::Node& node) { decoders_.emplace(node.output(0).index(), node); }
  /// `out` lies where `in` does: the same elements under other dims.
  void same(const sdk::Value& out, const sdk::Value& in);
  /// read(), for an output of the graph: what lies among the weights is copied out of them.
  Tensor in_arena(const sdk::Value& value);
  /// Memory of the group's own.
  Tensor scratch(const sdk::Node& node, Element element, std::vector<int64_t> dims);
  /// Constants of the group's own.
  Tensor weight(const std::string& name, std::vector<int64_t> dims, std::vector<float> values);
  Tensor weight(const std::string& name, std::vector<int64_t> dims, std::vector<int32_t> values);
  /// The same of floats that take time to make: `make` is called later, by another thread, while the graph is still there.
  Tensor weight(const std::string& name, std::vector<int64_t> dims, std::function<std::vector<float>()> make);

  /// Adds functions to the shader that compute the group's tail (their parameters are const: others are copied into variables for each call), and binds what they read. Its result: what to wrap a value of the root's output
  /// with: tail(VALUE, INDEX), where INDEX is the linear index in the output; for a group without a tail the value as it is.
  using Tail = std::function<std::string(const std::string& value, const std::string& index)>;
  Tail tail(Shader& shader, const Group& group);

  /// The step of a group whose root is pointwise.
  void pointwise(const Group& group);

  /// A step of the group. `ways`: best first; all bind the same tensors in the same order.
  void step(const Group& group, std::vector<Way> ways, Work work);
  void step(const Group& group, Shader shader, std::array<uint32_t, 3> groups, Work work);

 private:
  /// Statements that compute an element of pointwise nodes, up to the return; `names`: values that are there, by expression; `loaded`: the expression for
  /// another, by number and tensor.
  using Loaded = std::function<std::string(uint32_t value, const Tensor& tensor)>;
  std::string compute(const std::vector<sdk::Node>& nodes, std::map<uint32_t, std::string> names, const Loaded& loaded);

  Element lying(int32_t dtype) const;

  Draft& draft_;
  const Limits& limits_;
  Element floats_;
  bool winograd_;
  std::map<uint32_t, Tensor> tensors_;  // by value
  std::map<uint32_t, std::shared_ptr<const std::vector<float>>> known_;  // by value
  std::map<uint32_t, sdk::Node> decoders_;  // by value
};

/// Steps of a whole graph, and its ports. Throws UNSUPPORTED with the node that has no row.
struct Lowered {
  Draft draft;
  std::vector<PortPlan> inputs, outputs;
};
Lowered lower_graph(const sdk::Graph& graph, const Limits& limits, Element floats, bool winograd);

/// The groups of a graph, in the order in which they are computed. A group binds at most `buffers` storage buffers.
std::vector<Group> groups_of(const sdk::Graph& graph, uint32_t buffers);

/// What a group reads beside what its own nodes make, without scalar constants, which are literals.
std::set<uint32_t> read_by(const Group& group);
/// A constant of one element: its literal, by the type it has on the device. Empty for others.
std::string scalar_literal(const sdk::Value& value);

// Sets of types for rows.
inline constexpr sdk::Types kFloats = sdk::types(OPTIMA_F32, OPTIMA_F16, OPTIMA_BF16);
inline constexpr sdk::Types kIntegers = sdk::types(OPTIMA_I64, OPTIMA_I32, OPTIMA_I16, OPTIMA_I8, OPTIMA_U16, OPTIMA_U8);
inline constexpr sdk::Types kBools = sdk::types(OPTIMA_BOOL);
inline constexpr sdk::Types kNumbers = kFloats | kIntegers;
inline constexpr sdk::Types kAny = kNumbers | kBools;

/// A row of the table: versions, types of inputs and of outputs.
constexpr sdk::Op op(std::string_view name, int32_t first, int32_t last, std::array<sdk::Types, 8> in, std::array<sdk::Types, 8> out, uint32_t const_inputs = 0) {
  sdk::Op o;
  o.name = name, o.since_min = first, o.since_max = last, o.in = in, o.out = out, o.const_inputs = const_inputs;
  return o;
}

/// What Div of two whole numbers, and so on, leaves where integers are narrower than 32 bits: wrapped around as their type does.
std::string wrapped(int32_t dtype, const std::string& value);

}  // namespace spirv_plugin
