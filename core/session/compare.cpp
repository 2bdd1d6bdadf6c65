// SPDX-License-Identifier: Apache-2.0
#include "core/session/compare.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/passes/code_texts.hpp"
#include "core/passes/resolve_sequences.hpp"
#include "core/runtime/request.hpp"
#include "core/session/run_cancellable.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/save.hpp"

namespace optima {
namespace {

Result<std::vector<Tensor>> run_package_side(const CompareSide& side, const std::vector<Tensor>& inputs, bool cuts, std::vector<std::string>& unread,
                                             const std::atomic<bool>* flag) {
  OPTIMA_ASSIGN(std::unique_ptr<Request> request, Request::create(*side.model));
  for (const Tensor& t : inputs) {
    OPTIMA_ASSIGN(const size_t index, request->input_index(t.name));
    OPTIMA_RETURN_IF_ERROR(request->set_input(index, t));
  }
  OPTIMA_RETURN_IF_ERROR(run_till_cancelled(*request, flag));
  std::vector<Tensor> borrowed, out;
  if (cuts) {
    OPTIMA_ASSIGN(borrowed, request->cuts(&unread));
  }
  for (size_t i = 0; i < side.model->outputs().size(); ++i) {
    OPTIMA_ASSIGN(Tensor t, request->output(i));
    t.name = side.model->outputs()[i].name;
    borrowed.push_back(std::move(t));
  }
  for (const Tensor& t : borrowed) {  // they end with the request
    OPTIMA_ASSIGN(Tensor owned, Tensor::make(t.dtype, t.shape));
    std::copy_n(t.data, t.size, owned.data);
    owned.name = t.name;
    out.push_back(std::move(owned));
  }
  return out;
}

/// Names of every tensor that crosses subgraphs on either side.
std::set<std::string> cut_names(const CompareSide& a, const CompareSide& b) {
  std::set<std::string> out;
  for (const CompareSide* side : {&a, &b}) {
    if (!side->model) continue;
    for (const PackageTensor& t : side->model->package().tensors)
      if (t.attr != "input") out.insert(t.name);
  }
  return out;
}

Result<std::vector<Tensor>> tensors_of(const Registry& registry, const CompareSide& side, const std::vector<Tensor>& inputs,
                                       const std::set<std::string>& cuts, std::vector<std::string>& unread, const std::atomic<bool>* flag) {
  if (side.is_folder) return side.outputs;
  Result<std::vector<Tensor>> out = side.graph ? run_reference(*side.graph, inputs, evaluate_by_plugins(registry), cuts, flag)
                                               : run_package_side(side, inputs, !cuts.empty(), unread, flag);
  if (out.status().kind() == StatusKind::Cancelled) return out.status();
  if (!out.ok()) return out.status().within(side.path);
  return out;
}

/// Those of the main graph: tensors inside bodies have a value for every trip and are not compared.
std::span<const PackageSubgraph> main_subgraphs(const CompareSide& side) {
  const PackageVariant& v = side.model->package().variants[0];
  return {v.subgraphs.data(), v.main};
}

std::string made_by(const CompareSide& a, const CompareSide& b, const std::string& name) {
  for (const CompareSide* side : {&b, &a}) {
    if (!side->model) continue;
    for (const PackageSubgraph& s : main_subgraphs(*side))
      if (std::find(s.outputs.begin(), s.outputs.end(), name) != s.outputs.end()) return cat(s.index, " on ", s.device);
  }
  return {};
}

std::vector<std::string> order_of(const CompareSide& a, const CompareSide& b, const std::vector<Tensor>& found) {
  std::vector<std::string> out;
  for (const CompareSide* side : {&b, &a})
    if (side->model && out.empty())
      for (const PackageSubgraph& s : main_subgraphs(*side)) out.insert(out.end(), s.outputs.begin(), s.outputs.end());
  for (const Tensor& t : found)
    if (std::find(out.begin(), out.end(), t.name) == out.end()) out.push_back(t.name);
  return out;
}

const Tensor* find(const std::vector<Tensor>& tensors, const std::string& name) {
  const auto it = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

std::string left_out(const CompareSide& a, const CompareSide& b) {
  size_t inside = 0;
  for (const CompareSide* side : {&a, &b})
    if (side->model) inside += side->model->package().variants[0].subgraphs.size() - main_subgraphs(*side).size();
  return inside ? "tensors inside bodies are not compared: they have a value for every trip; a difference shows at the node that holds the body" : "";
}

std::string bad_sentence(const ComparedTensor& t) {
  const Comparison& c = t.figures;
  return cat("tensor ", quote(t.name), t.made_by.empty() ? "" : cat(" of subgraph ", t.made_by), " is out of tolerance: max-abs ", c.max_abs,
             ", wanted at most ", c.atol, c.rtol > 0 ? cat(" + ", c.rtol, " x |wanted|") : "");
}

/// What the codes of a side's inputs and outputs stand for; null of an output folder.
const TextTables* tables_of(const CompareSide& side) {
  if (side.is_folder) return nullptr;
  return side.graph ? &side.graph->texts : &side.model->package().texts;
}

/// Codes of one table as those of another, by their texts; what the other lacks is its unknown one.
Tensor recoded(const Tensor& t, const TextTable& from, const TextTable& to) {
  const std::vector<int64_t> by_code = codes_of(to, from);
  Tensor out = t;
  auto codes = std::make_shared<std::vector<int64_t>>();
  for (const int64_t code : t.as<int64_t>()) codes->push_back(code >= 0 && static_cast<uint64_t>(code) < by_code.size() ? by_code[static_cast<size_t>(code)] : static_cast<int64_t>(to.size()));
  out.data = reinterpret_cast<std::byte*>(codes->data());
  out.keeper = codes;
  return out;
}

std::vector<Tensor> recoded(const std::vector<Tensor>& tensors, const TextTables* from, const TextTables* to) {
  std::vector<Tensor> out = tensors;
  if (!from || !to) return out;
  for (Tensor& t : out) {
    const auto old = from->find(t.name), now = to->find(t.name);
    if (old != from->end() && now != to->end() && old->second != now->second) t = recoded(t, old->second, now->second);
  }
  return out;
}

}  // namespace

std::vector<TensorInfo> CompareSide::inputs() const { return graph ? input_infos(*graph) : model->inputs(); }

Result<CompareSide> open_side(RuntimeContext& context, const Registry& registry, const std::string& path, const CompareOptions& options) {
  CompareSide side;
  side.path = path;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    onnx_io::ImportOptions import = options.import;
    import.infer_foreign = infer_by_plugins(registry);
    OPTIMA_ASSIGN(Graph graph, onnx_io::load_model(path, import));
    OPTIMA_RETURN_IF_ERROR(passes::resolve_sequences(graph, own_operators(registry)));  // else as the model has it: the reference knows tensors alone
    OPTIMA_RETURN_IF_ERROR(passes::code_texts(graph, own_operators(registry)));
    side.graph = std::move(graph);
    return side;
  }
  if (std::filesystem::exists(path + "/model.meta", ignored)) {
    OPTIMA_ASSIGN(PackageReader reader, PackageReader::open(path));
    LoadOptions load;
    load.keep_cuts = options.at_cuts;
    load.threads = options.threads;
    load.cancelled = options.cancelled;
    OPTIMA_ASSIGN(side.model, LoadedModel::load(context, std::move(reader), load));
    return side;
  }
  side.is_folder = true;
  OPTIMA_ASSIGN(side.outputs, load_outputs(path));
  return side;
}

Result<std::vector<TensorInfo>> shared_inputs(const CompareSide& a, const CompareSide& b, const std::map<std::string, std::vector<int64_t>>& shapes) {
  std::vector<TensorInfo> out = (a.is_folder ? b : a).inputs();
  OPTIMA_RETURN_IF_ERROR(fix_shapes(shapes, out));
  if (a.is_folder || b.is_folder) return out;
  std::vector<TensorInfo> others = b.inputs();
  OPTIMA_RETURN_IF_ERROR(fix_shapes(shapes, others));
  for (const TensorInfo& other : others)
    for (TensorInfo& input : out) {
      if (input.name != other.name || other.unranked || (!input.unranked && input.shape.size() != other.shape.size())) continue;
      if (input.unranked) input.shape = other.shape, input.unranked = false;
      input.usual.resize(input.shape.size(), -1);
      for (size_t d = 0; d < input.shape.size(); ++d) {
        if (input.shape[d] < 0) input.shape[d] = other.shape[d];
        if (input.usual[d] < 0 && d < other.usual.size()) input.usual[d] = other.usual[d];
      }
    }
  return out;
}

Result<CompareReport> compare_sides(const Registry& registry, const CompareSide& a, const CompareSide& b, const std::vector<Tensor>& inputs,
                                    const CompareOptions& options) {
  const std::set<std::string> cuts = options.at_cuts ? cut_names(a, b) : std::set<std::string>();
  if (options.at_cuts && cuts.empty()) return usage_error("--at-cuts wants a package on one side at least");
  std::vector<std::string> not_compared;
  if (std::string inside = options.at_cuts ? left_out(a, b) : ""; !inside.empty()) not_compared.push_back(std::move(inside));
  const TextTables *of_a = tables_of(a), *of_b = tables_of(b), *of_inputs = of_a ? of_a : of_b;
  OPTIMA_ASSIGN(const std::vector<Tensor> wanted, tensors_of(registry, a, inputs, cuts, not_compared, options.cancelled));
  OPTIMA_ASSIGN(const std::vector<Tensor> own, tensors_of(registry, b, recoded(inputs, of_inputs, of_b), cuts, not_compared, options.cancelled));
  const std::vector<Tensor> got = recoded(own, of_b, of_a);
  Tolerance tolerance = options.tolerance;
  for (const CompareSide* side : {&a, &b})
    if (side->model) tolerance.share = std::max(tolerance.share, tolerance_of(side->model->package()));
  CompareReport out;
  for (const std::string& name : order_of(a, b, wanted)) {
    const Tensor *w = find(wanted, name), *g = find(got, name);
    if (!w || !g) continue;
    Result<Comparison> c = compare_tensors(*g, *w, tolerance);
    if (!c.ok()) return c.status().within(quote(name));
    out.tensors.push_back({name, made_by(a, b, name), *c});
    if (!c->within && out.first_bad.empty()) out.first_bad = bad_sentence(out.tensors.back());
  }
  if (out.tensors.empty()) return invalid_input(cat(a.path, " and ", b.path, " have no output of the same name"));
  out.not_compared = join(not_compared, "; ");
  return out;
}

}  // namespace optima
