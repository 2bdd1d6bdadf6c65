// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the import recipe, step by step. The order is docs/onnx.md's.
#include "core/onnx_io/convert.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/graph/names.hpp"
#include "core/onnx_io/branch_errors.hpp"
#include "core/onnx_io/function_opsets.hpp"
#include "core/onnx_io/mend.hpp"
#include "core/onnx_io/mend_schemas.hpp"
#include "core/onnx_io/onnx_guard.hpp"
#include "core/onnx_io/tensors.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "onnx/checker.h"
#include "onnx/defs/schema.h"
#include "onnx/inliner/inliner.h"
#include "onnx/shape_inference/implementation.h"
#include "onnx/version_converter/convert.h"

namespace optima::onnx_io {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

constexpr int64_t kNewestIr = 14;

int64_t newest_opset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
}

template <class F>
Status for_all_nodes(GraphProto& g, F&& f) {
  for (auto& node : *g.mutable_node()) {
    OPTIMA_RETURN_IF_ERROR(f(node));
    Status status;
    for_each_body(node, [&](GraphProto& body, const std::string&, int) {
      if (status.ok()) status = for_all_nodes(body, f);
    });
    OPTIMA_RETURN_IF_ERROR(status);
  }
  return {};
}

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

bool library_knows(const std::string& domain) {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().count(domain) > 0;
}

Status unknown_operator(const NodeProto& node, int64_t opset) {
  const auto* newest = onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
  const std::string there = cat("operator ", quote(node.op_type()), " is not in opset ", opset, " of ", domain_text(node.domain()));
  if (newest) return invalid_input(cat(node_text(node), ": ", there, newest->Deprecated() ? ", it was withdrawn" : cat(", its last change is in ", newest->SinceVersion())));
  std::set<std::string> names;
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas())
    if (schema.domain() == node.domain()) names.insert(schema.Name());
  const std::vector<std::string> list(names.begin(), names.end());
  return invalid_input(cat(node_text(node), ": ", there, nearest_hint(node.op_type(), list)));
}

// "Node (x) with schema(::Conv:11) has input size 1 ..." -> "has input size 1 ...": the node is named in our form already.
std::string without_head(const std::string& message) {
  const size_t schema = message.find("schema(");
  const size_t close = schema == std::string::npos ? schema : message.find(") ", schema);
  return close == std::string::npos ? message : message.substr(close + 2);
}

Status check_schema(const NodeProto& node, int64_t opset) {
  const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), node.domain());
  if (!schema || schema->Deprecated()) return unknown_operator(node, opset);
  try {
    schema->Verify(node);
  } catch (const std::exception& e) {
    return invalid_input(cat(node_text(node), ": ", without_head(one_line(e.what()))));
  }
  return {};
}

// "Inference error(s): (op_type:Add, node name: a): [ShapeInferenceError] text" -> "node 'a' (Add): text", the first error only.
std::string inference_text(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  const std::string all = one_line(message);
  const size_t op = all.find("(op_type:"), name = all.find(", node name: "), close = all.find("): ", name);
  if (op == std::string::npos || name == std::string::npos || close == std::string::npos) return all;
  const std::string op_type = all.substr(op + 9, name - op - 9), node = all.substr(name + 13, close - name - 13);
  return cat("node ", quote(node), " (", op_type, "): ", one_line(all.substr(close + 3)));
}

void empty_moved(onnx::TensorProto& tensor) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  tensor.clear_data_location();
  tensor.clear_external_data();
  tensor.clear_dims();
  tensor.add_dims(0);
}
void empty_moved(onnx::SparseTensorProto& sparse) {
  empty_moved(*sparse.mutable_values());
  empty_moved(*sparse.mutable_indices());
}
void empty_moved(GraphProto& g) {
  for (auto& t : *g.mutable_initializer()) empty_moved(t);
  for (auto& node : *g.mutable_node())
    for (auto& a : *node.mutable_attribute()) {
      if (a.has_t()) empty_moved(*a.mutable_t());
      for (auto& t : *a.mutable_tensors()) empty_moved(t);
      if (a.has_g()) empty_moved(*a.mutable_g());
      for (auto& body : *a.mutable_graphs()) empty_moved(body);
    }
}

template <class T>
void complete(T& tensor) {
  if (tensor.elem_type() == onnx::TensorProto::UNDEFINED) tensor.set_elem_type(onnx::TensorProto::FLOAT);
  tensor.mutable_shape();
}
// The checker wants a type with a shape at every end of the model. Behind an operator that the library does not know, inference
// cannot find one, and the file need not have said it: this check is of structure, so anything will do.
void complete_ends(GraphProto& g) {
  for (auto* ends : {g.mutable_input(), g.mutable_output()})
    for (auto& end : *ends) {
      auto& type = *end.mutable_type();
      if (type.has_sparse_tensor_type()) complete(*type.mutable_sparse_tensor_type());
      else if (type.has_tensor_type() || type.value_case() == onnx::TypeProto::VALUE_NOT_SET) complete(*type.mutable_tensor_type());
    }
}

// The library makes these names unique per call: "twice/add_1__2".
void name_functions(ModelProto& model) {
  for (auto& f : *model.mutable_functions()) {
    std::vector<NamedOp> ops;
    for (const auto& node : f.node()) ops.push_back({node.name(), node.op_type()});
    const std::vector<std::string> names = stable_names(ops);
    for (int n = 0; n < f.node_size(); ++n) f.mutable_node(n)->set_name(cat(f.name(), "/", names[static_cast<size_t>(n)]));
  }
}

// The inliner knows nothing of a function's default attributes: calls that leave them out get them written in.
void write_function_defaults(ModelProto& model) {
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions;
  for (const auto& f : model.functions())
    if (f.attribute_proto_size() > 0) functions[{f.domain(), f.name()}] = &f;
  if (functions.empty()) return;
  const std::function<void(NodeProto&)> visit = [&](NodeProto& node) {
    if (const auto f = functions.find({node.domain(), node.op_type()}); f != functions.end())
      for (const auto& a : f->second->attribute_proto())
        if (std::none_of(node.attribute().begin(), node.attribute().end(), [&](const auto& given) { return given.name() == a.name(); })) *node.add_attribute() = a;
    for_each_body(node, [&](GraphProto& body, const std::string&, int) {
      for (auto& inner : *body.mutable_node()) visit(inner);
    });
  };
  for (auto& node : *model.mutable_graph()->mutable_node()) visit(node);
  for (auto& f : *model.mutable_functions())
    for (auto& node : *f.mutable_node()) visit(node);
}

// Of an input or output of a graph what is declared there counts, as in ONNX Runtime: converters to 16-bit floats leave another type among the values.
void declare_ends_once(GraphProto& g) {
  std::map<std::string, int32_t> ends;
  for (const auto* list : {&g.input(), &g.output()})
    for (const auto& end : *list)
      if (end.type().tensor_type().elem_type() != 0) ends[end.name()] = end.type().tensor_type().elem_type();
  auto* values = g.mutable_value_info();
  values->erase(std::remove_if(values->begin(), values->end(), [&](const auto& v) {
    const auto end = ends.find(v.name());
    return end != ends.end() && v.type().has_tensor_type() && v.type().tensor_type().elem_type() != end->second;
  }), values->end());
  for (auto& node : *g.mutable_node())
    for_each_body(node, [](GraphProto& body, const std::string&, int) { declare_ends_once(body); });
}

void warn(const std::string& text) { log(LogLevel::Warn, "onnx_io", text); }

// Later versions add fields, which the parser skips; what a model uses of them shows in its opsets.
void lower_ir(ModelProto& model) {
  if (model.ir_version() <= kNewestIr) return;
  warn(cat("ONNX IR version ", model.ir_version(), " is newer than ", kNewestIr, ", what it adds is not read"));
  model.set_ir_version(kNewestIr);
}

// ai.onnx is spelled "" everywhere.
void spell_domains(ModelProto& model) {
  auto plain = [](std::string* domain) { if (*domain == "ai.onnx") domain->clear(); };
  for (auto& o : *model.mutable_opset_import()) plain(o.mutable_domain());
  for (auto& f : *model.mutable_functions()) {
    plain(f.mutable_domain());
    for (auto& o : *f.mutable_opset_import()) plain(o.mutable_domain());
    for (auto& node : *f.mutable_node()) plain(node.mutable_domain());
  }
  (void)for_all_nodes(*model.mutable_graph(), [&](NodeProto& node) { return plain(node.mutable_domain()), Status(); }).ok();
}

// Of a domain that is imported twice the last version counts, as in ONNX Runtime.
void import_once(ModelProto& model) {
  std::map<std::string, int64_t> last;
  for (const auto& o : model.opset_import()) {
    const auto [it, fresh] = last.try_emplace(o.domain(), o.version());
    if (!fresh && it->second != o.version()) warn(cat("domain ", domain_text(o.domain()), " is imported twice, as ", it->second, " and ", o.version(), "; the last one counts"));
    it->second = o.version();
  }
  auto* imports = model.mutable_opset_import();
  imports->erase(std::remove_if(imports->begin(), imports->end(), [&](auto& o) {
    const auto it = last.find(o.domain());
    if (it == last.end()) return true;
    o.set_version(it->second);
    last.erase(it);
    return false;
  }), imports->end());
}

// Operators of a domain that is not imported are those of the newest version that the library knows, as in ONNX Runtime.
Status import_what_is_used(ModelProto& model) {
  std::set<std::string> domains;
  for (const auto& o : model.opset_import()) domains.insert(o.domain());
  return for_all_nodes(*model.mutable_graph(), [&](NodeProto& node) {
    if (domains.count(node.domain())) return Status();
    const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().LastReleaseVersionMap();
    const auto known = versions.find(node.domain());
    if (known == versions.end()) return invalid_input(cat(node_text(node), ": domain ", domain_text(node.domain()), " is not among the imported opsets"));
    warn(cat(node_text(node), ": domain ", domain_text(node.domain()), " is not among the imported opsets, taken for ", known->second));
    auto& import = *model.add_opset_import();
    import.set_domain(node.domain()), import.set_version(known->second);
    domains.insert(node.domain());
    return Status();
  });
}

// What says nothing about the computation, and of which the checker wants more than anybody else.
void drop_words(ModelProto& model) {
  model.clear_metadata_props();
  model.clear_training_info();
  auto& graph = *model.mutable_graph();
  if (graph.name().empty()) graph.set_name("graph");
  graph.clear_metadata_props(), graph.clear_quantization_annotation();
  for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (auto& v : *list) v.clear_metadata_props();
  (void)for_all_nodes(graph, [](NodeProto& node) {
    node.clear_metadata_props();
    for_each_body(node, [](GraphProto& body, const std::string&, int) { if (body.name().empty()) body.set_name("body"); });
    return Status();
  }).ok();
}

}  // namespace

int64_t opset_of(const ModelProto& model, const std::string& domain) {
  for (const auto& o : model.opset_import())
    if (o.domain() == domain) return o.version();
  return 0;
}

namespace {

}  // namespace

int64_t ir_of_opset(int64_t opset) { return opset <= 21 ? 10 : opset <= 23 ? 11 : opset == 24 ? 12 : opset <= 27 ? 13 : 14; }

Status check_versions(ModelProto& model) {
  if (!model.has_graph()) return invalid_input("not an ONNX model: no graph in it");
  lower_ir(model);
  spell_domains(model);
  declare_ends_once(*model.mutable_graph());
  if (model.opset_import_size() == 0) return invalid_input("no opset is imported, wanted at least one");
  import_once(model);
  OPTIMA_RETURN_IF_ERROR(import_what_is_used(model));
  for (const auto& o : model.opset_import())
    if (o.version() < 1) return invalid_input(cat("opset ", o.version(), " of ", domain_text(o.domain()), ", wanted 1 or newer"));
  if (const int64_t opset = opset_of(model, ""); opset != 0 && (opset < kOldestOpset || opset > newest_opset()))
    return invalid_input(cat("opset ", opset, " of ai.onnx, wanted ", kOldestOpset, " to ", newest_opset()));
  return {};
}

Status check_schemas(const ModelProto& model) {
  std::set<std::pair<std::string, std::string>> functions;
  for (const auto& f : model.functions()) functions.insert({f.domain(), f.name()});
  auto& graph = const_cast<GraphProto&>(model.graph());  // for_all_nodes changes nothing here
  return for_all_nodes(graph, [&](NodeProto& node) {
    if (!library_knows(node.domain()) || functions.count({node.domain(), node.op_type()})) return Status();
    return check_schema(node, opset_of(model, node.domain()));
  });
}

Status infer_shapes(ModelProto& model, Strictness strictness) {
  mend_schemas();
  const bool strict = strictness == Strictness::Strict;
  // Without following elements of shapes: 1.23.2 keeps one object per element of any list it meets there, which a list of 2^40
  // elements in a small file turns into all the memory there is. TypeInference does it afterwards, bounded.
  const onnx::ShapeInferenceOptions options(strict, strict ? 1 : 0, false);
  try {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& e) {
    if (!strict) return {};
    if (!only_in_branches(e.what(), model.graph())) return invalid_input(cat("types and shapes do not fit: ", inference_text(e.what())));
    log(LogLevel::Warn, "onnx_io", cat("types and shapes do not fit in a branch, which may never be taken: ", inference_text(e.what())));
  }
  return {};
}

Status inline_functions(ModelProto& model, const ImportOptions& options, SourceNames& names, std::vector<Folded>& folded) {
  if (model.functions_size() == 0) return {};
  const std::set<std::pair<std::string, std::string>> kept(options.kept_functions.begin(), options.kept_functions.end());
  std::set<std::pair<std::string, std::string>> inlined;
  bool keeps = false;
  for (const auto& f : model.functions()) {
    if (kept.count({f.domain(), f.name()})) keeps = true;
    else inlined.insert({f.domain(), f.name()});
  }
  name_functions(model);
  write_function_defaults(model);
  settle_function_opsets(model);
  OPTIMA_RETURN_IF_ERROR(for_all_nodes(*model.mutable_graph(), [&](NodeProto& node) {
    if (!inlined.count({node.domain(), node.op_type()})) return Status();
    folded.push_back({node.name(), node.op_type(), "inlined function"});
    for (const std::string& value : node.output()) names.by_value.erase(value);
    return Status();
  }));
  return guarded("inlining functions", [&] {
    ModelProto copy = model;  // the library empties the graph when it throws
    if (!keeps) {
      onnx::inliner::InlineLocalFunctions(copy, true);
    } else {
      onnx::inliner::FunctionIdVector ids(inlined.begin(), inlined.end());
      onnx::inliner::InlineSelectedLocalFunctions(copy, *onnx::inliner::FunctionIdSet::Create(std::move(ids)));
    }
    model.Swap(&copy);
    return Status();
  });
}

Status raise_opset(ModelProto& model) {
  const int64_t opset = opset_of(model, "");
  if (opset == 0 || opset >= kCanonicalOpset) {
    model.set_ir_version(std::max(model.ir_version(), ir_of_opset(opset)));
    return {};
  }
  Mending mending;
  OPTIMA_RETURN_IF_ERROR(mend_before(*model.mutable_graph(), opset, mending));
  OPTIMA_RETURN_IF_ERROR(guarded(cat("converting opset ", opset, " to ", kCanonicalOpset), [&] {
    ModelProto raised = onnx::version_conversion::ConvertVersion(model, kCanonicalOpset);
    model.Swap(&raised);
    return Status();
  }));
  mend_after(*model.mutable_graph(), mending);
  model.set_ir_version(ir_of_opset(kCanonicalOpset));
  return {};
}

Status final_check(ModelProto& model) {
  drop_words(model);
  empty_moved(*model.mutable_graph());
  complete_ends(*model.mutable_graph());
  for (auto& t : *model.mutable_graph()->mutable_sparse_initializer()) empty_moved(t);
  return guarded("the ONNX checker refuses the model", [&] {
    onnx::checker::check_model(model);
    return Status();
  });
}

}  // namespace optima::onnx_io
