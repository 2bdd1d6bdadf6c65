// SPDX-License-Identifier: Apache-2.0
#include "query.hpp"

#include <algorithm>
#include <map>
#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <set>

#include "info.hpp"
#include "optima/plugin/cut.hpp"
#include "optima/plugin/folder.hpp"
#include "otherwise.hpp"

namespace openvino_plugin {
namespace {

using Outputs = std::map<std::string, ov::Output<ov::Node>, std::less<>>;

/// Some nodes as OpenVINO's model.
std::shared_ptr<ov::Model> translated(Engine& engine, const sdk::Host& host, const sdk::CheckRequest& request, const std::vector<sdk::Node>& nodes) {
  const sdk::Cut cut(request.graph().raw(), nodes);
  const sdk::Folder folder(host.temp_dir(), "onnx");
  host.graph_to_onnx(sdk::Graph(cut.raw()), folder.path());
  return guarded(OPTIMA_UNSUPPORTED, "OpenVINO refuses it", [&] { return engine.core().read_model(folder.path() + "/model.onnx"); });
}

/// OpenVINO's model of some nodes, and what its device said about it.
struct Answer {
  std::shared_ptr<ov::Model> model;
  ov::SupportedOpsMap supported;
  Outputs by_name;  ///< by tensor name: the names of ONNX live there, friendly names are the translator's
};

Answer query(Engine& engine, const sdk::Host& host, const sdk::CheckRequest& request, const std::string& device, const std::vector<sdk::Node>& nodes) {
  Answer a{translated(engine, host, request, nodes), {}, {}};
  a.supported = guarded(OPTIMA_UNSUPPORTED, "OpenVINO refuses it", [&] { return engine.core().query_model(a.model, device); });
  for (const std::shared_ptr<ov::Node>& op : a.model->get_ops())
    for (const ov::Output<ov::Node>& out : op->outputs())
      for (const std::string& name : out.get_names()) a.by_name.emplace(name, out);
  return a;
}

sdk::Verdict compare_type(const sdk::Node& node, uint32_t k, const ov::Output<ov::Node>& made) {
  const sdk::Value v = node.output(k);
  const std::string what = "output " + std::to_string(k);
  if (dtype_of(made.get_element_type()) != v.dtype())
    return sdk::Verdict::refused(node, OPTIMA_REASON_DTYPE, what, made.get_element_type().get_type_name() + " in OpenVINO", sdk::dtype_name(v.dtype()));
  const ov::PartialShape shape = made.get_partial_shape();
  if (shape.rank().is_static() && std::any_of(shape.begin(), shape.end(), [](const ov::Dimension& d) { return d == 0; }))
    return sdk::Verdict::refused(node, OPTIMA_REASON_OTHER, what + " has no elements by OpenVINO's own reckoning (" + shape.to_string() + "), which it does not compute as ONNX does");
  if (!v.ranked() || shape.rank().is_dynamic()) return sdk::Verdict::supported(node);
  bool same = shape.rank().get_length() == v.rank();
  for (uint32_t d = 0; same && d < static_cast<uint32_t>(v.rank()); ++d)
    same = v.dim(d) < 0 || shape[d].is_dynamic() || shape[d].get_length() == v.dim(d);
  return same ? sdk::Verdict::supported(node) : sdk::Verdict::refused(node, OPTIMA_REASON_OTHER, "shape of " + what + " is " + shape.to_string() + " in OpenVINO, the model says otherwise");
}

/// What the node reads, its bodies included.
std::set<std::string, std::less<>> names_read(const sdk::Node& node) {
  std::set<std::string, std::less<>> names;
  for (uint32_t k = 0; k < node.input_count(); ++k)
    if (node.input(k)) names.emplace(node.input(k).name());
  const auto captured = [&](const sdk::Graph& body) {
    for (uint32_t k = 0; k < body.capture_count(); ++k) names.emplace(body.captured(k).name());
  };
  for (uint32_t k = 0; k < node.attr_count(); ++k) {
    const sdk::Attr a = node.attr(k);
    if (a.type() == OPTIMA_ATTR_GRAPH) captured(a.body());
    for (uint32_t b = 0; a.type() == OPTIMA_ATTR_GRAPHS && b < a.size(); ++b) captured(a.body(b));
  }
  return names;
}

/// Everything OpenVINO made of the node, from its outputs back to its inputs, must have an implementation. Nothing when
/// query_model leaves some of it out, which it does without a reason, and for the nodes around one that it cannot take, too.
std::optional<sdk::Verdict> judge_node(const Answer& answer, const sdk::Node& node) {
  const std::set<std::string, std::less<>> stop = names_read(node);
  std::vector<ov::Output<ov::Node>> open;
  for (uint32_t k = 0; k < node.output_count(); ++k) {
    if (!node.output(k)) continue;
    const auto at = answer.by_name.find(node.output(k).name());
    if (at == answer.by_name.end()) return sdk::Verdict::refused(node, OPTIMA_REASON_OTHER, "output " + std::to_string(k) + " has no counterpart in OpenVINO's model");
    if (const sdk::Verdict v = compare_type(node, k, at->second); !v.yes()) return v;
    open.push_back(at->second);
  }
  std::set<const ov::Node*> seen;
  while (!open.empty()) {
    const ov::Output<ov::Node> out = open.back();
    open.pop_back();
    bool is_input = false;
    for (const std::string& name : out.get_names()) is_input = is_input || stop.count(name) > 0;
    const ov::Node* op = out.get_node();
    if (is_input || ov::is_type<ov::op::v0::Parameter>(op) || ov::is_type<ov::op::v0::Constant>(op) || !seen.insert(op).second) continue;
    if (!answer.supported.count(op->get_friendly_name())) return std::nullopt;
    for (const ov::Output<ov::Node>& from : op->input_values()) open.push_back(from);
  }
  return sdk::Verdict::supported(node);
}

/// Of a Clip without one of its limits OpenVINO 2026.4's translator makes that of the element type, and where it does not know the type, which is so behind every
/// node that it could not translate, it reads a null pointer.
bool needs_known_type(const sdk::Node& node) { return node.op() == "Clip" && node.domain().empty() && !(node.input_count() > 2 && node.input(1) && node.input(2)); }

struct Asking {
  Engine& engine;
  const sdk::Host& host;
  const sdk::CheckRequest& request;
  std::string device;
  std::vector<sdk::Verdict>& out;

  /// Compiled by itself, which tells the reason when OpenVINO cannot.
  sdk::Verdict alone(const sdk::Node& node) {
    try {
      const auto model = translated(engine, host, request, {node});
      guarded(OPTIMA_UNSUPPORTED, "OpenVINO refuses it", [&] { return engine.core().compile_model(model, device); });
      return sdk::Verdict::supported(node);
    } catch (const sdk::Error& e) {
      if (e.code != OPTIMA_UNSUPPORTED) throw;
      return sdk::Verdict::refused(node, OPTIMA_REASON_OTHER, e.text);
    }
  }

  /// All at once; when OpenVINO throws, halves, down to the node that it throws about.
  void operator()(const std::vector<sdk::Node>& nodes) {
    if (nodes.empty()) return;
    try {
      const Answer answer = query(engine, host, request, device, nodes);
      for (const sdk::Node& n : nodes) {
        const std::optional<sdk::Verdict> v = judge_node(answer, n);
        out.push_back(v ? *v : alone(n));
      }
    } catch (const sdk::Error& e) {
      if (e.code != OPTIMA_UNSUPPORTED) throw;
      if (nodes.size() == 1) {
        out.push_back(sdk::Verdict::refused(nodes[0], OPTIMA_REASON_OTHER, e.text));
        return;
      }
      const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
      (*this)({nodes.begin(), middle});
      (*this)({middle, nodes.end()});
    }
  }
};

}  // namespace

std::string missing_operands(const sdk::Node& node) {
  for (const Operands& row : kOperands) {
    if (row.op != node.op() || !node.domain().empty() || node.since_version() < row.first || node.since_version() > row.last) continue;
    uint32_t has = 0;
    while (has < row.least && has < node.input_count() && node.input(has)) ++has;
    if (has < row.least) return std::string(node.op()) + " has " + std::to_string(has) + " inputs, wanted " + std::to_string(row.least) + " or more";
  }
  return "";
}

std::vector<sdk::Verdict> ask(Engine& engine, const sdk::Host& host, const sdk::CheckRequest& request) {
  std::vector<sdk::Verdict> out;
  std::vector<std::pair<const optima_node*, sdk::Node>> open;
  for (const sdk::Node& n : request.nodes()) {
    sdk::Verdict v = sdk::judge(kInfo.operators, n);
    if (v.yes() && n.raw().graph != 0) v = sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, "node is in a body, this plugin takes bodies with their node only");
    if (const std::string lacks = missing_operands(n); v.yes() && !lacks.empty()) v = sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, lacks);
    if (const std::string why = v.yes() ? computed_otherwise(n) : ""; !why.empty()) v = sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, why);
    if (v.yes()) open.emplace_back(&n.raw(), n);
    else out.push_back(std::move(v));
  }
  std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a.first < b.first; });  // the graph's order
  std::vector<sdk::Node> nodes, behind_inputs;
  for (const auto& [raw, node] : open) (needs_known_type(node) ? behind_inputs : nodes).push_back(node);
  Asking asking{engine, host, request, engine.device_name(request.device()), out};
  asking(nodes);
  asking(behind_inputs);
  return out;
}

}  // namespace openvino_plugin
