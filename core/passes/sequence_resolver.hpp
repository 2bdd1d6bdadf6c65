// SPDX-License-Identifier: Apache-2.0
// core/passes: what is known of the sequences of one graph, and what their operators are on tensors. Private to resolve_sequences.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/passes/bodies.hpp"

namespace optima::passes {

/// What a sequence or optional is made of; values are tensors of the graph that it is in.
struct Sequence {
  enum class Kind {
    List,    ///< `elements`, in order
    Slices,  ///< of `whole` along `axis`, each of size `step` there, the last one of what is left; of size 1: kept as an axis, or gone
    Tensor,  ///< an optional that has a tensor: `whole`
    Absent,  ///< an optional that has nothing
  };
  Kind kind;
  std::vector<uint32_t> elements;
  uint32_t whole;
  int64_t axis;
  bool keeps;
  int64_t step;

  static Sequence list(std::vector<uint32_t> elements) { return {Kind::List, std::move(elements), OPTIMA_NONE, 0, false, 1}; }
  static Sequence slices(uint32_t whole, int64_t axis, bool keeps, int64_t step = 1) { return {Kind::Slices, {}, whole, axis, keeps, step}; }
  static Sequence tensor(uint32_t v) { return {Kind::Tensor, {}, v, 0, false, 1}; }
  static Sequence absent() { return {Kind::Absent, {}, OPTIMA_NONE, 0, false, 1}; }
};

/// By value of one graph.
using Sequences = std::unordered_map<uint32_t, Sequence>;

/// Why nodes stay, by their names.
using Reasons = std::map<std::string, std::string>;

/// Both shapes are known, and the same.
bool same_sizes(const image::Value& a, const image::Value& b);

/// Whether the first values of these names have elements (along axis 0) of one shape in every run.
bool are_of_one_shape(const Graph& graph, const std::vector<std::string>& stacked);

/// One walk over one graph; nodes are restated on the way, each by what is known before it, and what is new is looked at in the next walk.
class SequenceResolver {
 public:
  /// All must outlive this. `known`: of values that this body captures. With `assumed`, what a Loop appends is taken to be of one shape, and the names
  /// of the stacked tensors go there: are_of_one_shape() then says whether that was so.
  SequenceResolver(Graph& graph, Bodies& bodies, uint32_t index, Sequences known, Reasons& reasons, std::vector<std::string>* assumed);

  /// True when something is another way than it was.
  bool run();

  /// After run(): of an output of the graph, by its place.
  const Sequence* output(size_t k) const;
  /// After run(): operators on sequences stayed, in bodies too.
  bool stays() const { return stays_; }

 private:
  using Nodes = std::vector<image::Node>;
  using BodyWalks = std::unordered_map<uint32_t, SequenceResolver>;

  image::Graph& here() { return graph_.contents.graphs[index_]; }
  const image::Graph& here() const { return graph_.contents.graphs[index_]; }
  const image::Value& value(uint32_t v) const { return here().values[v]; }
  std::string name_of(uint32_t v) const { return here().values[v].name; }
  const Sequence* find(uint32_t v) const;
  std::optional<int64_t> constant(uint32_t v) const;
  std::optional<size_t> rank(uint32_t v) const;

  // A walk.
  void walk_bodies(const image::Node& node, BodyWalks& walks);
  void visit(image::Node node);
  bool resolve(image::Node& node, const BodyWalks& walks);
  bool stay(const image::Node& node, std::string why);
  void put(image::Node node) { made_.push_back(std::move(node)); }
  void become(image::Node& node, std::string op, int32_t version, std::vector<uint32_t> inputs, std::vector<image::Attr> attrs = {});
  uint32_t emit(const image::Node& of, std::string op, int32_t version, std::vector<uint32_t> inputs, std::vector<image::Attr> attrs = {}, int32_t dtype = OPTIMA_UNDEFINED);
  void emit_list(const image::Node& of, std::vector<uint32_t> elements, uint32_t output);

  // Makers. True when the node is restated.
  bool split(image::Node& node);
  bool change(const image::Node& node);
  bool optional(image::Node& node);
  bool reads_elements_alone(uint32_t v) const;

  // Readers.
  bool at(image::Node& node);
  bool piece_at(image::Node& node, const Sequence& s, std::optional<int64_t> position);
  bool length(image::Node& node);
  bool concat(image::Node& node);
  bool concat_list(image::Node& node, const Sequence& s, int64_t axis, bool stacks);
  bool concat_slices(image::Node& node, const Sequence& s, int64_t axis, bool stacks);
  void concat_kept(image::Node& node, uint32_t whole, int64_t from, int64_t to, bool stacks);
  bool turn(image::Node& node, uint32_t whole, int64_t axis);
  uint32_t sizes(const image::Node& of, uint32_t v, int64_t start, int64_t end);
  uint32_t stacked(const image::Node& of, const std::vector<uint32_t>& elements, int64_t axis);
  bool alike(const std::vector<uint32_t>& elements) const;

  // Holders of bodies.
  bool map(image::Node& node);
  bool branches(image::Node& node, const BodyWalks& walks);
  bool loop(image::Node& node, const BodyWalks& walks);
  std::optional<int64_t> trips(const image::Node& node) const;
  void unroll(const image::Node& node, int64_t trips);
  bool gather_appended(image::Node& node);
  void append(image::Node& node, size_t k, uint32_t element);
  bool is_of_shape(const image::Value& v, const std::vector<uint32_t>& elements) const;
  std::string why_not_appended(const image::Node& node, size_t k, uint32_t& element);

  // Outputs of the model.
  bool expand_outputs();
  bool expand_output(uint32_t v, std::vector<uint32_t>& outputs);
  uint32_t named_output(const std::string& name, uint32_t tensor);

  Graph& graph_;
  Bodies& bodies_;
  const uint32_t index_;
  Sequences known_;
  Reasons& reasons_;
  std::vector<std::string>* assumed_;
  Uses uses_;                  // of the graph as it was before the walk
  std::vector<bool> is_output_;
  std::vector<std::string> ops_;  // by node as it was before the walk; empty for other domains' than ONNX's own
  std::vector<bool> stackers_;    // likewise: puts tensors together along a new axis
  Nodes made_;
  bool changed_ = false, stays_ = false;
};

}  // namespace optima::passes
