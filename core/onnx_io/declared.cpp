// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: declared shapes against inferred ones. The library itself lets a declared shape win, or stops.
#include "core/onnx_io/declared.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/flow/signature.hpp"
#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/structure.hpp"
#include "core/onnx_io/types.hpp"
#include "core/support/log.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/schema.h"

namespace optima::onnx_io {
namespace {

using onnx::GraphProto;
using onnx::TensorShapeProto;
using onnx::TypeProto;
using onnx::ValueInfoProto;

// What a sequence or an optional is of, at the bottom.
TypeProto& innermost(TypeProto& type) {
  if (type.has_sequence_type() && type.sequence_type().has_elem_type()) return innermost(*type.mutable_sequence_type()->mutable_elem_type());
  if (type.has_optional_type() && type.optional_type().has_elem_type()) return innermost(*type.mutable_optional_type()->mutable_elem_type());
  return type;
}

// Null when there is none.
TensorShapeProto* shape_of(TypeProto& type) {
  TypeProto& inner = innermost(type);
  if (inner.has_tensor_type() && inner.tensor_type().has_shape()) return inner.mutable_tensor_type()->mutable_shape();
  if (inner.has_sparse_tensor_type() && inner.sparse_tensor_type().has_shape()) return inner.mutable_sparse_tensor_type()->mutable_shape();
  return nullptr;
}
void clear_shape(TypeProto& type) {
  TypeProto& inner = innermost(type);
  if (inner.has_tensor_type()) inner.mutable_tensor_type()->clear_shape();
  if (inner.has_sparse_tensor_type()) inner.mutable_sparse_tensor_type()->clear_shape();
}
void set_shape(TypeProto& type, const TensorShapeProto& shape) {
  TypeProto& inner = innermost(type);
  if (inner.has_tensor_type()) *inner.mutable_tensor_type()->mutable_shape() = shape;
  if (inner.has_sparse_tensor_type()) *inner.mutable_sparse_tensor_type()->mutable_shape() = shape;
}

TypeProto type_of(const onnx::TensorProto& tensor) {
  TypeProto type;
  type.mutable_tensor_type()->set_elem_type(tensor.data_type());
  auto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (int64_t d : tensor.dims()) shape.add_dim()->set_dim_value(d);
  return type;
}

template <class F>
void for_each_dim(GraphProto& g, F&& f) {
  for (auto* list : {g.mutable_value_info(), g.mutable_input(), g.mutable_output()})
    for (ValueInfoProto& v : *list)
      if (TensorShapeProto* shape = v.has_type() ? shape_of(*v.mutable_type()) : nullptr)
        for (auto& d : *shape->mutable_dim()) f(d);
  for (auto& node : *g.mutable_node())
    for_each_body(node, [&](GraphProto& body, const std::string&, int) { for_each_dim(body, f); });
}

bool is_loop(const onnx::NodeProto& node) { return flow_op(node.domain(), node.op_type()) == FlowOp::Loop; }
constexpr int kOfTheLoop = static_cast<int>(kLoopInputsAhead);  // trip count or number and condition: they have no size that could be stale

// A graph's values whose shape is the file's fact: the main graph's inputs, and constants.
class Facts {
 public:
  Facts(GraphProto& g, bool is_main) {
    for (const auto& t : g.initializer()) types_[t.name()] = type_of(t);
    if (!is_main) return;
    for (ValueInfoProto& v : *g.mutable_input())
      if (v.has_type()) types_[v.name()] = v.type();
  }
  TypeProto* find(const std::string& name) {
    const auto it = types_.find(name);
    return it == types_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<std::string, TypeProto> types_;
};

// The declared shapes of one graph, in the file's order, and of the bodies of its nodes, in theirs.
struct Shapes {
  std::vector<std::pair<std::string, TensorShapeProto>> said;
  std::vector<Shapes> bodies;
};

// What the library has no inference for, or, as of MaxUnpool with output_shape, one that may say nothing.
bool is_silent(const onnx::OpSchema& schema) { return !schema.has_type_and_shape_inference_function() || schema.Name() == "MaxUnpool"; }

// Values of which only the file may know the shape: what operators make that the library does not know or infer, and what is made of that.
class Foreign {
 public:
  explicit Foreign(const onnx::ModelProto& model) : model_(model) {
    for (size_t before = SIZE_MAX; before != values_.size();) before = values_.size(), walk(model.graph());  // a loop gives to its next trip
  }
  bool holds(const std::string& name) const { return values_.count(name) > 0; }

 private:
  void walk(const GraphProto& g) {
    for (const auto& node : g.node()) {
      const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset_of(model_, node.domain())), node.domain());
      bool foreign = !schema || is_silent(*schema) || any(node.input());
      for (const auto& a : node.attribute()) {
        if (a.has_g()) foreign |= in_body(a.g(), foreign);
        for (const GraphProto& body : a.graphs()) foreign |= in_body(body, foreign);
      }
      for (const std::string& v : node.output())
        if (foreign && !v.empty()) values_.insert(v);
    }
  }
  // True when it makes such values.
  bool in_body(const GraphProto& body, bool given) {
    const auto makes = [&] { return std::any_of(body.output().begin(), body.output().end(), [&](const auto& v) { return holds(v.name()); }); };
    if (given || makes())
      for (const auto& v : body.input()) values_.insert(v.name());
    walk(body);
    return makes();
  }
  template <class Names>
  bool any(const Names& names) const { return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return holds(n); }); }

  const onnx::ModelProto& model_;
  std::unordered_set<std::string> values_;
};

// Takes the declared shapes out of a graph, but those of `kept` values.
class Taking {
 public:
  explicit Taking(std::vector<std::string>& stale, const Foreign* kept = nullptr) : stale_(stale), kept_(kept) {}

  Shapes take(GraphProto& main) { return take(main, main.input_size(), true); }

 private:
  // `kept`: the first inputs keep what is declared of them.
  Shapes take(GraphProto& g, int kept, bool is_main) {
    Shapes out;
    Facts facts(g, is_main);
    for (ValueInfoProto& v : *g.mutable_value_info())
      if (!state(facts, v)) take(v, out);
    for (int k = kept; k < g.input_size(); ++k) take(*g.mutable_input(k), out);
    const std::unordered_set<std::string> made = made_in(g);
    for (ValueInfoProto& v : *g.mutable_output())
      if (!state(facts, v) && made.count(v.name())) take(v, out);
    for (auto& node : *g.mutable_node())
      for_each_body(node, [&](GraphProto& body, const std::string&, int) { out.bodies.push_back(take(body, is_loop(node) ? kOfTheLoop : 0, false)); });
    return out;
  }
  static std::unordered_set<std::string> made_in(const GraphProto& g) {
    std::unordered_set<std::string> names;
    for (const auto& v : g.input()) names.insert(v.name());
    for (const auto& node : g.node()) names.insert(node.output().begin(), node.output().end());
    return names;
  }
  // False when the value's shape is no fact, else it is stated. Its element type stays as declared: a contradiction there is an error.
  bool state(Facts& facts, ValueInfoProto& v) {
    TypeProto* fact = facts.find(v.name());
    if (!fact) return false;
    if (!v.has_type()) *v.mutable_type() = *fact;
    const TensorShapeProto *declared = shape_of(*v.mutable_type()), *found = shape_of(*fact);
    if (declared && found && contradict(*declared, *found)) stale_.push_back(stale_text(v.name(), *declared, *found));
    if (found) set_shape(*v.mutable_type(), *found);
    else clear_shape(*v.mutable_type());
    return true;
  }
  void take(ValueInfoProto& v, Shapes& out) const {
    TensorShapeProto* shape = v.has_type() ? shape_of(*v.mutable_type()) : nullptr;
    if (!shape || (kept_ && kept_->holds(v.name()))) return;
    out.said.emplace_back(v.name(), std::move(*shape));
    clear_shape(*v.mutable_type());
  }

  std::vector<std::string>& stale_;
  const Foreign* kept_;
};

// The known shapes of the values of a graph, and of those around it.
class Known {
 public:
  Known(GraphProto& g, const Known* outer) : outer_(outer) {
    for (const auto& t : g.initializer()) shapes_[t.name()] = shape_of(constants_.emplace_back(type_of(t)));
    for (auto* list : {g.mutable_value_info(), g.mutable_input(), g.mutable_output()})
      for (ValueInfoProto& v : *list)
        if (TensorShapeProto* shape = v.has_type() ? shape_of(*v.mutable_type()) : nullptr) shapes_[v.name()] = shape;
  }
  const TensorShapeProto* find(const std::string& name) const {
    const TensorShapeProto* found = find_here(name);
    return found || !outer_ ? found : outer_->find(name);
  }
  const TensorShapeProto* find_here(const std::string& name) const {
    const auto it = shapes_.find(name);
    return it == shapes_.end() ? nullptr : it->second;
  }

 private:
  const Known* outer_;
  std::unordered_map<std::string, const TensorShapeProto*> shapes_;
  std::deque<TypeProto> constants_;
};

// Puts declared shapes beside inferred ones: what is left of `Shapes` is what both know.
class Comparing {
 public:
  Comparing(GraphProto& main, Belief belief, std::vector<std::string>& stale) : stale_(stale) {
    if (belief == Belief::KeptWithNames) return;
    for (ValueInfoProto& v : *main.mutable_input())
      if (TensorShapeProto* shape = v.has_type() ? shape_of(*v.mutable_type()) : nullptr)
        for (const auto& d : shape->dim())
          if (d.has_dim_param()) of_inputs_.insert(d.dim_param());
  }

  void compare(GraphProto& g, Shapes& shapes, const Known* outer) {
    const Known known(g, outer);
    auto said = std::exchange(shapes.said, {});
    for (auto& [name, shape] : said) {
      const TensorShapeProto* found = known.find_here(name);
      if (!found) add(shape);
      else if (!join(name, shape, *found)) continue;
      shapes.said.emplace_back(name, std::move(shape));
    }
    size_t next = 0;
    for (auto& node : *g.mutable_node())
      for_each_body(node, [&](GraphProto& body, const std::string&, int) {
        Shapes& inside = shapes.bodies[next++];
        if (is_loop(node)) compare_carried(node, body, inside, known);
        compare(body, inside, &known);
      });
  }
  /// Something was declared that was not inferred.
  bool news() const { return news_; }

 private:
  // False when they contradict each other.
  bool join(const std::string& name, TensorShapeProto& said, const TensorShapeProto& found) {
    if (contradict(said, found)) return stale_.push_back(stale_text(name, said, found)), false;
    for (int k = 0; k < said.dim_size(); ++k) {
      const auto& better = found.dim(k);
      const bool named = better.has_dim_param() && !is_anonymous(better.dim_param());
      if (better.has_dim_value() || named) *said.mutable_dim(k) = better;
      else news_ |= add(*said.mutable_dim(k));
    }
    return true;
  }
  void add(TensorShapeProto& said) {
    news_ = true;
    for (auto& d : *said.mutable_dim()) add(d);
  }
  // True when there is something to add. An input's name on a size that is not inferred from that input is a mere claim, on which a buffer
  // would be made too small or too large.
  bool add(TensorShapeProto::Dimension& said) const {
    if (said.has_dim_param() && of_inputs_.count(said.dim_param())) said.clear_dim_param();
    return said.has_dim_value() || said.has_dim_param();
  }
  // Inference takes a carried value to change its shape from trip to trip, so it never meets what the body declares; the first trip does.
  // One that is stale says that the body was written for other sizes.
  void compare_carried(const onnx::NodeProto& loop, const GraphProto& body, Shapes& inside, const Known& known) {
    std::unordered_map<std::string, const TensorShapeProto*> first;
    for (int k = kOfTheLoop; k < std::min(loop.input_size(), body.input_size()); ++k) first[body.input(k).name()] = known.find(loop.input(k));
    for (const auto& [name, said] : inside.said) {
      const auto trip = first.find(name);
      if (trip == first.end() || !trip->second || !contradict(said, *trip->second)) continue;
      stale_.push_back(stale_text(name, said, *trip->second));
      forget(inside);
      return;
    }
  }
  static void forget(Shapes& shapes) {
    shapes.said.clear();
    for (Shapes& body : shapes.bodies) forget(body);
  }

  std::vector<std::string>& stale_;
  std::unordered_set<std::string> of_inputs_;  // names of sizes
  bool news_ = false;
};

// The shapes of a graph from which they were taken become those of `shapes`, and no others.
void give_back(GraphProto& g, const Shapes& shapes) {
  std::vector<std::string> ignored;
  Taking(ignored).take(g);
  const auto put = [](GraphProto& to, const Shapes& from, const auto& again) -> void {
    std::unordered_map<std::string, const TensorShapeProto*> said;
    for (const auto& [name, shape] : from.said) said[name] = &shape;
    for (auto* list : {to.mutable_value_info(), to.mutable_input(), to.mutable_output()})
      for (ValueInfoProto& v : *list)
        if (const auto it = said.find(v.name()); it != said.end() && v.has_type()) set_shape(*v.mutable_type(), *it->second);
    size_t next = 0;
    for (auto& node : *to.mutable_node())
      for_each_body(node, [&](GraphProto& body, const std::string&, int) { again(body, from.bodies[next++], again); });
  };
  put(g, shapes, put);
}

void forget_negative_dims(GraphProto& graph) {
  for_each_dim(graph, [](auto& d) {
    if (d.has_dim_value() && d.dim_value() < 0) d.clear_dim_value();
  });
}

}  // namespace

bool is_anonymous(std::string_view name) {
  std::string word;
  for (char c : name)
    if (static_cast<unsigned char>(c) > ' ') word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (word.empty() || word == "?" || word == "none" || word == "-1" || word == "unknown") return true;
  if (!word.starts_with("unk")) return false;
  const size_t digits = word.find_first_not_of('_', 3);
  return digits == std::string::npos || word.find_first_not_of("0123456789", digits) == std::string::npos;
}

void forget_anonymous_dims(GraphProto& graph) {
  for_each_dim(graph, [](auto& d) {
    if (d.has_dim_param() && is_anonymous(d.dim_param())) d.clear_dim_param();
  });
}

std::string dims_text(const TensorShapeProto& shape) {
  std::vector<std::string> parts;
  for (const auto& d : shape.dim()) parts.push_back(d.has_dim_value() ? std::to_string(d.dim_value()) : d.has_dim_param() ? d.dim_param() : "?");
  return '[' + optima::join(parts, ",") + ']';
}

bool contradict(const TensorShapeProto& a, const TensorShapeProto& b) {
  if (a.dim_size() != b.dim_size()) return true;
  for (int k = 0; k < a.dim_size(); ++k)
    if (a.dim(k).has_dim_value() && b.dim(k).has_dim_value() && a.dim(k).dim_value() != b.dim(k).dim_value()) return true;
  return false;
}

std::string stale_text(const std::string& name, const TensorShapeProto& declared, const TensorShapeProto& found) {
  return cat("value ", quote(name), " is declared ", dims_text(declared), ", but is ", dims_text(found));
}

void warn_of_stale(const std::vector<std::string>& stale) {
  if (!stale.empty()) log(LogLevel::Warn, "onnx_io", cat("declared shapes that do not hold are left out: ", join_few(stale)));
}

Status infer_over_declared(onnx::ModelProto& model, Belief belief, Claims& claims) {
  GraphProto& graph = *model.mutable_graph();
  forget_negative_dims(graph);
  std::vector<std::string> stale;
  Shapes declared = Taking(stale).take(graph);
  OPTIMA_RETURN_IF_ERROR(infer_shapes(model, Strictness::Lenient));
  if (belief == Belief::Forgotten) return {};
  Comparing comparing(graph, belief, stale);
  const auto said = declared.said;
  comparing.compare(graph, declared, nullptr);
  warn_of_stale(stale);
  if (!comparing.news()) return {};
  std::unordered_set<std::string_view> left;  // what is stale has been told
  for (const auto& [name, shape] : declared.said) left.insert(name);
  for (const auto& [name, shape] : said)
    if (left.count(name)) claims.shapes.try_emplace(name, shape);
  claims.believed = true;
  give_back(graph, declared);
  return infer_shapes(model, Strictness::Lenient);
}

Status forget_claims(onnx::ModelProto& model, const Claims& claims) {
  if (!claims.believed) return {};
  const Foreign foreign(model);
  std::vector<std::string> told;
  Taking(told, &foreign).take(*model.mutable_graph());
  return infer_shapes(model, Strictness::Lenient);
}

void warn_of_claims(const Claims& claims, const Graph& graph) {
  std::vector<std::string> stale;
  for (const image::Value& v : graph.main().values) {
    const auto claim = claims.shapes.find(v.name);
    if (claim == claims.shapes.end() || !v.dims || v.kind != OPTIMA_KIND_TENSOR) continue;
    const TypeProto found = to_type(v);
    if (contradict(claim->second, found.tensor_type().shape())) stale.push_back(stale_text(v.name, claim->second, found.tensor_type().shape()));
  }
  warn_of_stale(stale);
}

Status infer_at_last(onnx::ModelProto& model) {
  const Status first = infer_shapes(model, Strictness::Strict);
  if (first.ok()) return first;
  onnx::ModelProto bare = model;
  std::vector<std::string> stale;
  Taking(stale).take(*bare.mutable_graph());
  if (!infer_shapes(bare, Strictness::Strict).ok()) return first;
  log(LogLevel::Warn, "onnx_io", cat("declared shapes do not fit each other and are left out: ", first.message()));
  model.Swap(&bare);
  return {};
}

}  // namespace optima::onnx_io
