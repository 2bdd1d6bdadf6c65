// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: nodes of com.microsoft and ai.onnx.ml -> ONNX nodes. What each operator is say contributed_recipes.cpp and classical.cpp; here a
// recipe's text becomes nodes.
#include "core/onnx_io/contributed.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/names.hpp"
#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/declared.hpp"
#include "core/onnx_io/onnx_guard.hpp"
#include "core/onnx_io/tensors.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/parser.h"

namespace optima::onnx_io {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

constexpr char kRoundsToBytes[] = "optima.rounds_to_bytes";

bool is_ours(const std::string& domain) { return domain == kContributed || domain == kClassical; }

/// What is known about the values of a graph, and of those around it.
struct Scope {
  const Scope* outer = nullptr;
  std::unordered_map<std::string, onnx::TypeProto> types{};
  std::unordered_map<std::string, const onnx::TensorProto*> constants{};

  Scope(const GraphProto& g, const Scope* around) : outer(around) {
    for (const auto* list : {&g.value_info(), &g.output(), &g.input()})
      for (const auto& v : *list) types[v.name()] = v.type();
    for (const auto& t : g.initializer()) constants[t.name()] = &t;
    for (const auto& node : g.node())
      if (node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1)
        for (const auto& a : node.attribute())
          if (a.name() == "value" && a.has_t()) constants[node.output(0)] = &a.t();
  }
  const onnx::TensorProto* constant(const std::string& name) const {
    const auto at = constants.find(name);
    if (at != constants.end()) return at->second;
    return types.count(name) || !outer ? nullptr : outer->constant(name);
  }
  const onnx::TypeProto* type(const std::string& name) const {
    const auto at = types.find(name);
    if (at != types.end()) return &at->second;
    return outer ? outer->type(name) : nullptr;
  }
};

class Node : public Contributed {
 public:
  Node(const NodeProto& node, const Scope& scope, int64_t opset, std::vector<Blob>& moved, std::unordered_set<std::string>& taken)
      : node_(node), scope_(scope), opset_(opset), moved_(moved), taken_(taken) {
    const auto made = std::find_if(node.output().begin(), node.output().end(), [](const std::string& name) { return !name.empty(); });
    stem_ = made == node.output().end() ? node.name() : *made;
  }

  int64_t opset() const override { return opset_; }
  int inputs() const override { return node_.input_size(); }
  bool has(int k) const override { return k < node_.input_size() && !node_.input(k).empty(); }
  bool has_output(int k) const override { return k < node_.output_size() && !node_.output(k).empty(); }
  int32_t dtype(int k) const override {
    if (!has(k)) return 0;
    if (const auto* c = scope_.constant(node_.input(k))) return c->data_type();
    const auto* type = scope_.type(node_.input(k));
    return type ? type->tensor_type().elem_type() : 0;
  }
  void allow_bytes() override { allows_bytes_ = true; }
  void warn(const std::string& text) const override { log(LogLevel::Warn, "onnx_io", cat(node_text(node_), ": ", text)); }
  std::optional<std::vector<int64_t>> dims(int k) const override {
    if (!has(k)) return std::nullopt;
    if (const auto* c = scope_.constant(node_.input(k))) return std::vector<int64_t>(c->dims().begin(), c->dims().end());
    const auto* type = scope_.type(node_.input(k));
    if (!type || !type->tensor_type().has_shape()) return std::nullopt;
    std::vector<int64_t> out;
    for (const auto& d : type->tensor_type().shape().dim()) out.push_back(d.has_dim_value() ? d.dim_value() : -1);
    return out;
  }
  int64_t integer(const char* name, int64_t otherwise) const override {
    const AttributeProto* a = find(name);
    return a ? a->i() : otherwise;
  }
  float real(const char* name, float otherwise) const override {
    const AttributeProto* a = find(name);
    return a ? a->f() : otherwise;
  }
  std::string text(const char* name, std::string otherwise) const override {
    const AttributeProto* a = find(name);
    return a ? a->s() : std::move(otherwise);
  }
  std::vector<int64_t> integers(const char* name) const override {
    const AttributeProto* a = find(name);
    return a ? std::vector<int64_t>(a->ints().begin(), a->ints().end()) : std::vector<int64_t>();
  }
  std::vector<float> reals(const char* name) const override {
    const AttributeProto* a = find(name);
    return a ? std::vector<float>(a->floats().begin(), a->floats().end()) : std::vector<float>();
  }
  std::vector<std::string> texts(const char* name) const override {
    const AttributeProto* a = find(name);
    return a ? std::vector<std::string>(a->strings().begin(), a->strings().end()) : std::vector<std::string>();
  }
  std::optional<AttributeTensor> tensor(const char* name) const override {
    const AttributeProto* a = find(name);
    if (!a || !a->has_t()) return std::nullopt;
    AttributeTensor out{a->t().data_type(), {a->t().dims().begin(), a->t().dims().end()}, "", {}};
    if (out.dtype == onnx::TensorProto::STRING) {
      out.strings.assign(a->t().string_data().begin(), a->t().string_data().end());
      return out;
    }
    const auto decoded = decode(a->t(), moved_);
    if (!decoded.ok()) return std::nullopt;
    out.bytes.assign(reinterpret_cast<const char*>(decoded->bytes.data), decoded->bytes.size);
    return out;
  }
  bool is_constant(int k) const override { return has(k) && scope_.constant(node_.input(k)); }
  std::optional<std::string> bytes(int k) const override {
    if (!is_constant(k)) return std::nullopt;
    const auto decoded = decode(*scope_.constant(node_.input(k)), moved_);
    if (!decoded.ok()) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(decoded->bytes.data), decoded->bytes.size);
  }
  std::string constant(const char* name, int32_t dtype, std::vector<int64_t> dims, std::string bytes) override {
    onnx::TensorProto& t = made_.emplace_back();
    fill_head(t, name, dtype, dims);
    if (bytes.size() <= kLargeTensor) return t.set_raw_data(std::move(bytes)), name;
    auto& entry = *t.add_external_data();
    entry.set_key("location"), entry.set_value(kMovedMark + std::to_string(moved_.size()));
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    moved_.push_back(Blob::copy(bytes.data(), bytes.size()));
    return name;
  }
  std::string strings(const char* name, std::vector<int64_t> dims, const std::vector<std::string>& texts) override {
    onnx::TensorProto& t = made_.emplace_back();
    fill_head(t, name, onnx::TensorProto::STRING, dims);
    for (const std::string& text : texts) t.add_string_data(text);
    return name;
  }
  std::string seen_as(const char* name, int k, int32_t dtype, std::vector<int64_t> dims) override {
    const onnx::TensorProto& source = *scope_.constant(node_.input(k));
    if (source.data_location() != onnx::TensorProto::EXTERNAL) return constant(name, dtype, std::move(dims), bytes(k).value_or(""));
    onnx::TensorProto& t = made_.emplace_back(source);
    t.clear_dims();
    fill_head(t, name, dtype, dims);
    return name;
  }

  /// The text's nodes, with the node's operands and attributes in them.
  Result<std::vector<NodeProto>> build(const std::string& text) {
    OPTIMA_ASSIGN(const FunctionProto f, parse(text));
    if (node_.input_size() > f.input_size() || node_.output_size() > f.output_size())
      return invalid_input(cat(node_text(node_), ": ", node_.input_size(), " inputs and ", node_.output_size(), " outputs, wanted ", f.input_size(), " and ",
                               f.output_size(), " at most"));
    for (int k = 0; k < f.input_size(); ++k) actual_[f.input(k)] = k < node_.input_size() ? node_.input(k) : "";
    for (int k = 0; k < f.output_size(); ++k)
      if (has_output(k)) actual_[f.output(k)] = node_.output(k);
    for (const auto& t : made_) (void)name_of(t.name());
    std::vector<NamedOp> ops;
    for (const NodeProto& inner : f.node()) ops.push_back({"", inner.op_type()});
    const std::vector<std::string> stable = stable_names(ops);
    std::vector<NodeProto> out;
    for (const NodeProto& inner : f.node()) {
      NodeProto& made = out.emplace_back(inner);
      made.set_name(f.node_size() == 1 ? node_.name() : cat(node_.name(), "/", stable[out.size() - 1]));
      for (auto& name : *made.mutable_input()) name = name.empty() ? "" : name_of(name);
      while (made.input_size() > 0 && made.input(made.input_size() - 1).empty()) made.mutable_input()->RemoveLast();
      for (auto& name : *made.mutable_output()) name = name_of(name);
      fill_attributes(made);
      if (allows_bytes_ && made.op_type() == "MatMul") made.add_metadata_props()->set_key(kRoundsToBytes);
    }
    return out;
  }
  /// Constants that the text names, under their names in the graph. After build().
  void add_constants(GraphProto& g) {
    for (auto& t : made_) {
      t.set_name(actual_.at(t.name()));
      g.add_initializer()->Swap(&t);
    }
  }

 private:
  static void fill_head(onnx::TensorProto& t, const char* name, int32_t dtype, const std::vector<int64_t>& dims) {
    t.set_name(name), t.set_data_type(dtype);
    for (const int64_t d : dims) t.add_dims(d);
  }
  const AttributeProto* find(std::string_view name) const {
    for (const auto& a : node_.attribute())
      if (a.name() == name) return &a;
    return nullptr;
  }
  Result<FunctionProto> parse(const std::string& text) const {
    FunctionProto f;
    const std::string whole = cat("<opset_import: [\"\" : ", kCanonicalOpset, "], domain: \"", kContributed, "\"> ", node_.op_type(), " ", text);
    onnx::OnnxParser parser(whole);
    const auto parsed = parser.Parse(f);
    if (!parsed.IsOK()) return internal_error(cat(node_text(node_), ": its recipe does not parse: ", one_line(parsed.ErrorMessage())));
    return f;
  }
  std::string name_of(const std::string& formal) {
    const auto [at, fresh] = actual_.try_emplace(formal, "");
    if (!fresh) return at->second;
    at->second = cat(stem_, "/", formal);
    while (!taken_.insert(at->second).second) at->second += "_";
    return at->second;
  }
  void fill_attributes(NodeProto& made) const {
    auto* list = made.mutable_attribute();
    for (int k = list->size() - 1; k >= 0; --k) {
      AttributeProto& a = *list->Mutable(k);
      if (a.ref_attr_name().empty()) continue;
      const std::string name = a.name();
      const AttributeProto* given = find(a.ref_attr_name());
      if (!given) {
        list->DeleteSubrange(k, 1);
        continue;
      }
      a = *given;
      a.set_name(name);
    }
  }

  const NodeProto& node_;
  const Scope& scope_;
  int64_t opset_;
  std::vector<Blob>& moved_;
  std::unordered_set<std::string>& taken_;
  std::string stem_;
  std::vector<onnx::TensorProto> made_;
  bool allows_bytes_ = false;
  std::unordered_map<std::string, std::string> actual_;  ///< names in the text -> names in the graph
};

void collect_names(const GraphProto& g, std::unordered_set<std::string>& out) {
  for (const auto& v : g.input()) out.insert(v.name());
  for (const auto& t : g.initializer()) out.insert(t.name());
  for (const auto& node : g.node()) {
    out.insert(node.output().begin(), node.output().end());
    for (const auto& a : node.attribute()) {
      if (a.has_g()) collect_names(a.g(), out);
      for (const auto& body : a.graphs()) collect_names(body, out);
    }
  }
}

class Restater {
 public:
  Restater(onnx::ModelProto& model, const ImportOptions& options, std::vector<Blob>& moved, SourceNames& names, std::vector<Folded>& folded)
      : opset_(opset_of(model, "")), kept_(options.kept_functions.begin(), options.kept_functions.end()), moved_(moved), names_(names), folded_(folded) {
    collect_names(model.graph(), taken_);
  }

  Status walk(GraphProto& g, const Scope* outer = nullptr) {
    const Scope scope(g, outer);
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    GraphProto added;
    for (auto& node : *g.mutable_node()) {
      Status status;
      for_each_body(node, [&](GraphProto& body, const std::string&, int) {
        if (status.ok()) status = walk(body, &scope);
      });
      OPTIMA_RETURN_IF_ERROR(status);
      OPTIMA_ASSIGN(const bool gone, restate(node, scope, added, nodes));
      if (!gone) nodes.Add()->Swap(&node);
    }
    g.mutable_node()->Swap(&nodes);
    g.mutable_initializer()->MergeFrom(added.initializer());
    return {};
  }
  bool restated = false;  ///< some node went

 private:
  Result<bool> restate(const NodeProto& node, const Scope& scope, GraphProto& added, google::protobuf::RepeatedPtrField<NodeProto>& out) {
    if (!is_ours(node.domain()) || kept_.count({node.domain(), node.op_type()})) return false;
    const Recipe* recipe = node.domain() == kContributed ? recipe_of(node.op_type()) : classical_recipe_of(node.op_type());
    if (!recipe) return false;
    for (int k = 0; k < recipe->required; ++k)
      if (k >= node.input_size() || node.input(k).empty())
        return invalid_input(cat(node_text(node), ": no input ", k, ", wanted the first ", recipe->required));
    // A model without an opset of ai.onnx gets the canonical one.
    if (opset_ != 0 && opset_ < recipe->opset) return false;
    Node call(node, scope, opset_ == 0 ? kCanonicalOpset : opset_, moved_, taken_);
    const std::string text = recipe->text(call);
    if (!call.refusal().empty()) return invalid_input(cat(node_text(node), ": ", call.refusal()));
    if (text.empty()) return false;
    OPTIMA_ASSIGN(std::vector<NodeProto> made, call.build(text));
    call.add_constants(added);
    if (made.size() > 1) {
      folded_.push_back({node.name(), node.op_type(), "restated in ONNX operators"});
      for (const std::string& value : node.output()) names_.by_value.erase(value);
    }
    for (NodeProto& n : made) out.Add()->Swap(&n);
    restated = true;
    return true;
  }

  int64_t opset_;
  std::set<std::pair<std::string, std::string>> kept_;
  std::vector<Blob>& moved_;
  SourceNames& names_;
  std::vector<Folded>& folded_;
  std::unordered_set<std::string> taken_;
};

/// The domains that nodes, in bodies too, are of; of ours only.
void collect_domains(const GraphProto& g, std::set<std::string>& out) {
  for (const NodeProto& node : g.node()) {
    if (is_ours(node.domain())) out.insert(node.domain());
    for (const AttributeProto& a : node.attribute()) {
      if (a.has_g()) collect_domains(a.g(), out);
      for (const GraphProto& body : a.graphs()) collect_domains(body, out);
    }
  }
}
std::set<std::string> domains_in(const GraphProto& g) {
  std::set<std::string> out;
  collect_domains(g, out);
  return out;
}

void forget_domains(onnx::ModelProto& model) {
  const std::set<std::string> used = domains_in(model.graph());
  auto* opsets = model.mutable_opset_import();
  for (int k = opsets->size() - 1; k >= 0; --k)
    if (is_ours(opsets->Get(k).domain()) && !used.count(opsets->Get(k).domain())) opsets->DeleteSubrange(k, 1);
}

/// A model of other domains alone need not import ONNX's own.
void import_plain(onnx::ModelProto& model) {
  if (opset_of(model, "") != 0) return;
  model.add_opset_import()->set_version(kCanonicalOpset);
  model.set_ir_version(std::max(model.ir_version(), ir_of_opset(kCanonicalOpset)));
}

/// The samples' maps of label to probability are another form of the tensor that ZipMap reads. True where there was one.
bool drop_zip_maps(GraphProto& g) {
  bool any = false;
  for (NodeProto& node : *g.mutable_node()) {
    if (node.domain() != kClassical || node.op_type() != "ZipMap" || node.input_size() != 1 || node.output_size() != 1) continue;
    log(LogLevel::Warn, "onnx_io", cat(node_text(node), ": maps are no tensors; value ", quote(node.output(0)), " is the tensor of probabilities that it reads"));
    node.clear_domain(), node.set_op_type("Identity"), node.clear_attribute();
    any = true;
    for (auto* list : {g.mutable_output(), g.mutable_value_info()})
      for (auto& v : *list)
        if (v.name() == node.output(0)) v.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  return any;
}

/// What ONNX Runtime takes in ONNX's own domain though ONNX has it not there, or not yet: LayerNormalization until opset 17, ThresholdedRelu until
/// 10, what its optimizer writes, and experimental operators that ONNX dropped.
bool is_stranger(const NodeProto& node, int64_t opset) {
  static const std::set<std::string> dropped{"Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh", "SimplifiedLayerNormalization"};
  constexpr int64_t kHasLayerNormalization = 17, kHasThresholdedRelu = 10;
  if (!node.domain().empty()) return false;
  if (node.op_type() == "LayerNormalization") return opset < kHasLayerNormalization;
  if (node.op_type() == "ThresholdedRelu") return opset < kHasThresholdedRelu;
  return dropped.count(node.op_type()) != 0;
}

/// True when a node was moved into the domain.
bool adopt(GraphProto& g, int64_t opset) {
  bool adopted = false;
  for (NodeProto& node : *g.mutable_node()) {
    for_each_body(node, [&](GraphProto& body, const std::string&, int) { adopted |= adopt(body, opset); });
    if (!is_stranger(node, opset)) continue;
    node.set_domain(kContributed);
    adopted = true;
  }
  return adopted;
}

}  // namespace

bool rounds_to_bytes(const NodeProto& node) {
  return std::any_of(node.metadata_props().begin(), node.metadata_props().end(), [](const auto& note) { return note.key() == kRoundsToBytes; });
}

int Contributed::rank(int input) const {
  const auto d = dims(input);
  return d ? static_cast<int>(d->size()) : -1;
}

void adopt_contributed(onnx::ModelProto& model) {
  if (drop_zip_maps(*model.mutable_graph())) import_plain(model);
  if (!adopt(*model.mutable_graph(), opset_of(model, "")) || opset_of(model, kContributed) != 0) return;
  auto* own = model.add_opset_import();
  own->set_domain(kContributed), own->set_version(1);
}

Status restate_contributed(onnx::ModelProto& model, const ImportOptions& options, std::vector<Blob>& moved, SourceNames& names, std::vector<Folded>& folded) {
  if (domains_in(model.graph()).empty()) return {};
  for (;;) {
    Restater walk(model, options, moved, names, folded);
    OPTIMA_RETURN_IF_ERROR(walk.walk(*model.mutable_graph()));
    if (!walk.restated) return {};
    import_plain(model);
    if (model.functions_size() == 0) forget_domains(model);
    OPTIMA_RETURN_IF_ERROR(infer_over_declared(model, Belief::Kept));
    if (domains_in(model.graph()).empty()) return {};
  }
}

}  // namespace optima::onnx_io
