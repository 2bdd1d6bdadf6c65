// SPDX-License-Identifier: Apache-2.0
// reference/shapes: what a node or a graph makes at given input shapes, in numbers, without running it. The rules are those of
// the evaluators: both ask the same functions (shapes/dims.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reference/reference.hpp"
#include "reference/shapes/found.hpp"

namespace optima::reference {

struct Type {
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> dims;
};

/// What a node makes. With `wants` or `data_decides`, `outputs` is empty.
struct Inference {
  std::vector<Type> outputs;      ///< by position; one that nobody names may be UNDEFINED
  uint32_t wants = OPTIMA_NONE;   ///< position of the input whose elements decide the shapes and are not known
  bool data_decides = false;      ///< only running the node tells: NonZero, Unique, nodes with bodies, operators without a rule
};

/// How the shapes of an operator follow; looked up once per node.
struct Rule;
/// Null when only running the node tells.
const Rule* rule_of(const optima_graph& graph, const optima_node& node);

/// By node of the image: nodes of one number have the same operator in the same version, the same attributes and as many operands, and the graph says the same
/// of what they make: types, ranks and, `with_dims`, dims that are numbers. Equal inputs then give equal results. A node with bodies, or a tensor, among its attributes is like no other.
std::vector<uint32_t> kinds_of(const optima_graph& graph, bool with_dims);

/// Inputs by position, absent optional = default Tensor; a Tensor with null `data` and size 0 has a known type and shape and
/// unknown elements. Throws optima::Error (INVALID_GRAPH, UNSUPPORTED, MEMORY) with node and sentence, "node 'Add_12': shapes
/// [4, 79] and [4, 78] do not broadcast". Shapes of more than 2^30 elements may be refused, as the evaluators do. Any thread.
Inference infer_shapes(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs, const Rule* rule);
Inference infer_shapes(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs);

/// What the equation of an Einsum means for operands of these dims. A letter per axis; an axis under "..." is a control character, counted from the right.
struct EinsumShape {
  std::vector<std::string> terms;
  std::string letters;        ///< those of the result first
  size_t out_rank = 0;
  std::vector<int64_t> size;  ///< per letter
  std::vector<int64_t> out() const { return {size.begin(), size.begin() + static_cast<std::ptrdiff_t>(out_rank)}; }
};
/// Throws optima::Error where they do not fit together, with a sentence.
EinsumShape einsum_shape(std::string equation, const std::vector<std::vector<int64_t>>& inputs);

/// Shapes of every value of a graph at given shapes of its inputs, node by node in order. Small tensors whose inputs are known
/// are computed on the way (up to 1,024 elements of any type; what Shape and Size give always), so that sizes computed from
/// shapes are numbers where they are needed. An If of known condition is walked through. Nodes of one kind that read the same are looked at once, as those of
/// equal layers are.
///
///     ShapeWalk walk(graph);                    // once
///     walk.restart();                           // per set of shapes
///     for (each input of graph 0) walk.give(input, tensor);
///     for (walk.advance(); !walk.stops().empty(); walk.advance()) … give() what the stops are about …
///
/// One thread at a time; a copy is a walk of its own.
class ShapeWalk {
 public:
  /// A node of graph 0, or of a branch that is taken, that cannot be inferred though type and shape of all its inputs are known. An If of
  /// unknown condition wants that.
  struct Stop {
    uint32_t node;   ///< of the image
    uint32_t wants;  ///< position of the input whose elements it takes; OPTIMA_NONE: only running the node tells
  };
  /// An If, of any graph, whose condition is known, and the body it takes.
  struct Branch {
    uint32_t node, graph;
  };

  /// A value, and what give() is told of it.
  struct Given {
    uint32_t value;
    Tensor tensor;
  };

  /// What becomes of what is known of a value.
  enum class Change : uint8_t {
    None,
    Numbers,  ///< other dims or elements, of the same type and rank; elements are known if they were
    Kind,     ///< anything else
  };

  /// Looks up what no shape changes. `graph` is borrowed; its image must verify.
  explicit ShapeWalk(const optima_graph& graph);

  /// Forgets everything but the constants.
  void restart();
  /// What the caller knows of a value of graph 0, or of what a stop in a branch is about: type and shape, and elements when `data` is there (borrowed unless kept).
  /// An input, or what it has computed meanwhile; may be given again with elements.
  void give(uint32_t value, Tensor known);
  /// Goes on as far as what is known reaches. Throws as infer_shapes(), naming the node; the walk must be restarted then.
  void advance();

  /// What other tensors for values that were given (inputs of graph 0, what stops were about) would have come to, each given when it was wanted, in the
  /// place of what these came to: looks only at nodes behind what differs. `changed`, by value, says how much. False when there would be other stops,
  /// or when a branch was taken that is another one now or sees what differs; the walk is of no use then. Throws as advance().
  bool again(const std::vector<Given>& given, std::vector<Change>& changed);

  /// UNDEFINED when nothing is known; null `data` when the elements are not (or there are none). Those of constants of more
  /// than 1,024 elements are read only when a shape hangs on them. What is known of two values is the same
  /// where both are one Tensor here; most of what is the same is one.
  const Tensor& at(uint32_t value) const;
  bool has_shape(uint32_t value) const { return values_[value] && values_[value]->dtype != OPTIMA_UNDEFINED; }
  bool has_elements(uint32_t value) const { return has_shape(value) && (values_[value]->data || values_[value]->elements() == 0); }

  /// After advance(): in the graph's order. Nodes behind an unknown shape are not listed. Empty: every shape is known.
  const std::vector<Stop>& stops() const { return stops_; }
  const std::vector<Branch>& branches() const { return branches_; }

 private:
  enum class Kind : uint8_t { Plain, Shape, Size, If, Opaque };
  struct About {
    const Rule* rule = nullptr;
    Kind kind = Kind::Plain;
    uint32_t number = 0;  ///< of its kind, as kinds_of() has it
  };
  using Known = std::shared_ptr<const Tensor>;  // shared by copies of the walk; null: nothing is known
  enum class Outcome : uint8_t { Settled, Open, Stopped };

  void put(uint32_t value, Tensor known);
  void begin_pass();
  uint32_t done_before(uint32_t node);
  bool read_the_same(const optima_node& a, const optima_node& b) const;
  bool reads_changed(const optima_node& node, const std::vector<Change>& changed) const;
  bool give_again(const std::vector<Given>& given, std::vector<bool>& is_given, std::vector<Change>& changed);
  Outcome step_again(uint32_t node, const std::vector<bool>& is_given, uint32_t& wants, std::vector<Change>& changed);
  bool waits(const Stop& stop) const;
  bool branches_hold(const std::vector<Change>& changed) const;
  Outcome step(uint32_t node, uint32_t& wants);
  Outcome infer(uint32_t node, uint32_t& wants);
  Outcome take_branch(uint32_t node, uint32_t& wants);
  bool collect(const optima_node& node);
  bool read_constant(const optima_node& node, uint32_t k);
  bool foldable(uint32_t node, const optima_node& n) const;
  bool fold(uint32_t node, const optima_node& n);
  Tensor measure(Kind kind, const optima_node& n) const;
  bool declared(const optima_node& node);
  bool settled(const optima_node& node) const;
  bool shapes_known(const optima_node& node) const;

  const optima_graph* graph_;
  std::vector<About> about_;    // by node of the image
  std::vector<Known> values_;   // by value of the image
  std::vector<Tensor> inputs_;  // of the node at hand
  std::vector<Known> before_;   // of the node at hand, its outputs
  Found tensors_, made_;        // of the pass under way: values by what is known of them, nodes by kind and inputs
  std::vector<uint32_t> open_;  // nodes of graph 0 to look at again
  std::vector<Stop> stops_;
  std::vector<Branch> branches_;
};

}  // namespace optima::reference
