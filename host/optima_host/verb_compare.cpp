// SPDX-License-Identifier: Apache-2.0
// host: `compare`: two of model (run on the reference), package and output folder, on the same inputs.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/runtime/request.hpp"
#include "core/support/file.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/compare.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/save.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/run_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

/// One side of the comparison. At most one member is set; an output folder gives its tensors at once.
struct Side {
  std::string path;
  std::optional<Graph> graph;
  std::unique_ptr<LoadedModel> model;
  std::vector<Tensor> outputs;
  bool is_folder = false;
};

Result<Side> open_side(RuntimeContext& context, const Registry& registry, const Arguments& arguments, const std::string& word) {
  Side side;
  side.path = expand_home(word);
  std::error_code ignored;
  if (!std::filesystem::is_directory(side.path, ignored)) {
    OPTIMA_ASSIGN(onnx_io::ImportOptions import, import_options(arguments));
    import.infer_foreign = infer_by_plugins(registry);
    OPTIMA_ASSIGN(side.graph, onnx_io::load_model(side.path, import));
    return side;
  }
  if (std::filesystem::exists(side.path + "/model.meta", ignored)) {
    OPTIMA_ASSIGN(PackageReader reader, PackageReader::open(side.path));
    LoadOptions load;
    load.keep_cuts = arguments.has("at-cuts");
    OPTIMA_ASSIGN(load.threads, arguments.integer("threads", 0, 1, 4096));
    OPTIMA_ASSIGN(side.model, LoadedModel::load(context, std::move(reader), load));
    return side;
  }
  side.is_folder = true;
  OPTIMA_ASSIGN(side.outputs, load_outputs(side.path));
  return side;
}

std::vector<TensorInfo> inputs_of(const Side& side) { return side.graph ? input_infos(*side.graph) : side.model->inputs(); }

// A signal is heard while the request runs; it ends behind the subgraph that its plugin is in, where that cannot stop.
Status run_till_interrupted(Request& request) {
  constexpr int64_t kLookAgainMs = 50;
  if (Session::cancelled()) return cancelled();
  OPTIMA_RETURN_IF_ERROR(request.start());
  for (;;) {
    Status status = request.wait(kLookAgainMs);
    if (status.kind() != StatusKind::Timeout) return status;
    if (Session::cancelled()) request.cancel();
  }
}

Result<std::vector<Tensor>> run_package_side(const Side& side, const std::vector<Tensor>& inputs, bool cuts) {
  OPTIMA_ASSIGN(std::unique_ptr<Request> request, Request::create(*side.model));
  for (const Tensor& t : inputs) {
    OPTIMA_ASSIGN(const size_t index, request->input_index(t.name));
    OPTIMA_RETURN_IF_ERROR(request->set_input(index, t));
  }
  OPTIMA_RETURN_IF_ERROR(run_till_interrupted(*request));
  std::vector<Tensor> borrowed, out;
  if (cuts) {
    OPTIMA_ASSIGN(borrowed, request->cuts());
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
std::set<std::string> cut_names(const Side& a, const Side& b) {
  std::set<std::string> out;
  for (const Side* side : {&a, &b}) {
    if (!side->model) continue;
    for (const PackageTensor& t : side->model->package().tensors)
      if (t.attr != "input") out.insert(t.name);
  }
  return out;
}

Result<std::vector<Tensor>> tensors_of(const Registry& registry, const Side& side, const std::vector<Tensor>& inputs, const std::set<std::string>& cuts) {
  if (side.is_folder) return side.outputs;
  Result<std::vector<Tensor>> out = side.graph ? run_reference(*side.graph, inputs, evaluate_by_plugins(registry), cuts, &Session::cancelled())
                                               : run_package_side(side, inputs, !cuts.empty());
  if (out.status().kind() == StatusKind::Cancelled) return out.status();
  if (!out.ok()) return out.status().within(side.path);
  return out;
}

/// Those of the main graph: tensors inside bodies have a value for every trip and are not compared.
std::span<const PackageSubgraph> main_subgraphs(const Side& side) {
  const PackageVariant& v = side.model->package().variants[0];
  return {v.subgraphs.data(), v.main};
}

/// "3 on X64:0": the subgraph of a package that makes the tensor; empty when it is a plain output of a model.
std::string made_by(const Side& a, const Side& b, const std::string& name) {
  for (const Side* side : {&b, &a}) {
    if (!side->model) continue;
    for (const PackageSubgraph& s : main_subgraphs(*side))
      if (std::find(s.outputs.begin(), s.outputs.end(), name) != s.outputs.end()) return cat(s.index, " on ", s.device);
  }
  return {};
}

// The order in which the package makes its tensors, so that the first bad line names the guilty subgraph.
std::vector<std::string> order_of(const Side& a, const Side& b, const std::vector<Tensor>& found) {
  std::vector<std::string> out;
  for (const Side* side : {&b, &a})
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

Json comparison_json(const std::string& name, const Comparison& c) {
  return {{"name", name}, {"within", c.within}, {"count", c.count}, {"cosine", c.cosine}, {"snr_db", c.snr_db}, {"max_abs", c.max_abs},
          {"max_rel", c.max_rel}, {"scale", c.scale}, {"atol", c.atol}, {"rtol", c.rtol}, {"share_within", c.share_within},
          {"nan", {c.nan_got, c.nan_wanted}}, {"inf", {c.inf_got, c.inf_wanted}}};
}

/// A line about what --at-cuts leaves out; empty when that is nothing.
std::string left_out(const Side& a, const Side& b) {
  size_t inside = 0;
  for (const Side* side : {&a, &b})
    if (side->model) inside += side->model->package().variants[0].subgraphs.size() - main_subgraphs(*side).size();
  return inside ? "tensors inside bodies are not compared: they have a value for every trip; a difference shows at the node that holds the body" : "";
}

void append(std::vector<std::string>& row, const std::vector<std::string>& cells) { row.insert(row.end(), cells.begin(), cells.end()); }

Status report(Session& session, const Side& a, const Side& b, const std::vector<Tensor>& inputs, const std::vector<Tensor>& wanted,
              const std::vector<Tensor>& got, const Tolerance& tolerance, const std::string& not_compared) {
  Json list = Json::array();
  std::string first_bad;
  std::vector<std::vector<std::string>> rows = {{"", "tensor", "subgraph"}};
  append(rows[0], comparison_heads());
  for (const std::string& name : order_of(a, b, wanted)) {
    const Tensor *w = find(wanted, name), *g = find(got, name);
    if (!w || !g) continue;
    Result<Comparison> c = compare_tensors(*g, *w, tolerance);
    if (!c.ok()) return c.status().within(quote(name));
    const std::string maker = made_by(a, b, name);
    append(rows.emplace_back(std::vector<std::string>{c->within ? "ok" : "FAIL", name, maker}), to_cells(*c));
    list.push_back(comparison_json(name, *c));
    if (c->within || !first_bad.empty()) continue;
    first_bad = cat("tensor ", quote(name), maker.empty() ? "" : cat(" of subgraph ", maker), " is out of tolerance: max-abs ", c->max_abs,
                    ", wanted at most ", c->atol, c->rtol > 0 ? cat(" + ", c->rtol, " x |wanted|") : "");
  }
  if (rows.size() == 1) return invalid_input(cat(a.path, " and ", b.path, " have no output of the same name"));
  session.print(cat(table(rows), not_compared.empty() ? "" : cat("note: ", not_compared, "\n")));
  Json document{{"a", a.path}, {"b", b.path}, {"equal", first_bad.empty()}, {"inputs", inputs_json(inputs)}, {"tensors", list}};
  if (!not_compared.empty()) document["not_compared"] = not_compared;
  session.print_json(document);
  if (!first_bad.empty()) return {StatusKind::Mismatch, first_bad};
  return {};
}

/// The inputs of a side, with the sizes that --shape gives and those that only the other side knows.
Result<std::vector<TensorInfo>> known_inputs(const RunOptions& options, const Side& a, const Side& b) {
  std::vector<TensorInfo> out = inputs_of(a.is_folder ? b : a);
  OPTIMA_RETURN_IF_ERROR(fix_shapes(options.shapes, out));
  if (a.is_folder || b.is_folder) return out;
  std::vector<TensorInfo> others = inputs_of(b);
  OPTIMA_RETURN_IF_ERROR(fix_shapes(options.shapes, others));
  for (const TensorInfo& other : others)
    for (TensorInfo& input : out) {
      if (input.name != other.name || other.unranked || (!input.unranked && input.shape.size() != other.shape.size())) continue;
      if (input.unranked) input.shape = other.shape, input.unranked = false;
      for (size_t d = 0; d < input.shape.size(); ++d)
        if (input.shape[d] < 0) input.shape[d] = other.shape[d];
    }
  return out;
}

Result<std::vector<Tensor>> load_shared(const RunOptions& options, const std::vector<TensorInfo>& infos) {
  if (options.images.empty()) {
    std::vector<std::string> words = options.inputs;
    if (words.empty())
      for (const TensorInfo& i : infos) words.push_back(i.name + "=random:1");
    return load_inputs(words, infos);
  }
  if (infos.size() != 1 || options.images.size() != 1) return usage_error("--image with compare wants a model of one input and one picture");
  OPTIMA_ASSIGN(Tensor t, load_image(expand_home(options.images[0]), infos[0], options.image));
  t.name = infos[0].name;
  return std::vector<Tensor>{std::move(t)};
}

/// The same inputs for both sides; sizes that a model leaves open are told.
Result<std::vector<Tensor>> shared_inputs(const Session& session, const RunOptions& options, const Side& a, const Side& b) {
  OPTIMA_RETURN_IF_ERROR(check_used(options.image, !options.images.empty()));
  if (a.is_folder && b.is_folder) return std::vector<Tensor>();
  const std::vector<TensorInfo> wanted = inputs_of(a.is_folder ? b : a);
  OPTIMA_ASSIGN(const std::vector<TensorInfo> infos, known_inputs(options, a, b));
  OPTIMA_ASSIGN(std::vector<Tensor> out, load_shared(options, infos));
  for (size_t i = 0; i < out.size(); ++i)
    if (const std::string line = shape_line(out[i], wanted[i], infos[i], options.inputs.empty()); !line.empty()) session.print(line + "\n");
  return out;
}

}  // namespace

Status compare_verb(Session& session, const std::vector<std::string>& words) {
  Arguments arguments("compare",
                      "Runs both sides on the same inputs (random:1 unless given) and compares what they make. A model runs on the reference; "
                      "A is what is wanted. Exit code 6 when a tensor is out of tolerance.");
  arguments.positional("A", true, "a model, a package, or a folder that 'run -o' wrote").positional("B", true, "the same");
  declare_run(arguments);
  arguments.option("atol", "X", "largest absolute error (default: 1e-4 of the output's scale)")
      .option("rtol", "X", "plus this share of the wanted value (default 0)")
      .flag("at-cuts", "compare every tensor between subgraphs (not those inside bodies) and name the first subgraph out of tolerance");
  declare_import(arguments);
  OPTIMA_ASSIGN(const bool go, start(session, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const RunOptions options, run_options(session, arguments));
  Tolerance tolerance;
  OPTIMA_ASSIGN(tolerance.atol, arguments.number("atol", -1));
  OPTIMA_ASSIGN(tolerance.rtol, arguments.number("rtol", 0));
  OPTIMA_ASSIGN(Registry* registry, session.registry());
  RuntimeContext context(borrow_plugins(*registry));
  OPTIMA_ASSIGN(const Side a, open_side(context, *registry, arguments, arguments.text("A")));
  OPTIMA_ASSIGN(const Side b, open_side(context, *registry, arguments, arguments.text("B")));
  OPTIMA_ASSIGN(const std::vector<Tensor> inputs, shared_inputs(session, options, a, b));
  const std::set<std::string> cuts = arguments.has("at-cuts") ? cut_names(a, b) : std::set<std::string>();
  if (arguments.has("at-cuts") && cuts.empty()) return usage_error("--at-cuts wants a package on one side at least");
  OPTIMA_ASSIGN(const std::vector<Tensor> wanted, tensors_of(*registry, a, inputs, cuts));
  OPTIMA_ASSIGN(const std::vector<Tensor> got, tensors_of(*registry, b, inputs, cuts));
  return report(session, a, b, inputs, wanted, got, tolerance, cuts.empty() ? "" : left_out(a, b));
}

}  // namespace optima::host
