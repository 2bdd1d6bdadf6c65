// SPDX-License-Identifier: Apache-2.0
// host: `compare`: two of model (run on the reference), package and output folder, on the same inputs.
#include "core/support/json_value.hpp"

#include "core/session/compare.hpp"
#include "core/support/file.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/save.hpp"
#include "host/optima_host/compare_layers.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/quantize_options.hpp"
#include "host/optima_host/run_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

Json comparison_json(const ComparedTensor& t) {
  const Comparison& c = t.figures;
  return {{"name", t.name}, {"within", c.within}, {"count", c.count}, {"cosine", c.cosine}, {"snr_db", c.snr_db}, {"max_abs", c.max_abs},
          {"max_rel", c.max_rel}, {"scale", c.scale}, {"atol", c.atol}, {"rtol", c.rtol}, {"share_within", c.share_within},
          {"nan", {c.nan_got, c.nan_wanted}}, {"inf", {c.inf_got, c.inf_wanted}}};
}

void append(std::vector<std::string>& row, const std::vector<std::string>& cells) { row.insert(row.end(), cells.begin(), cells.end()); }

void print(const Console& console, const CompareSide& a, const CompareSide& b, const std::vector<Tensor>& inputs, const CompareReport& report) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {{"", "tensor", "subgraph"}};
  append(rows[0], comparison_heads());
  for (const ComparedTensor& t : report.tensors) {
    append(rows.emplace_back(std::vector<std::string>{t.figures.within ? "ok" : "FAIL", t.name, t.made_by}), to_cells(t.figures));
    list.push_back(comparison_json(t));
  }
  console.print(cat(table(rows), report.not_compared.empty() ? "" : cat("note: ", report.not_compared, "\n")));
  Json document{{"a", a.path}, {"b", b.path}, {"equal", report.first_bad.empty()}, {"inputs", inputs_json(inputs)}, {"tensors", list}};
  if (!report.not_compared.empty()) document["not_compared"] = report.not_compared;
  console.print_json(document);
}

Result<std::vector<Tensor>> load_given(const RunOptions& options, const std::vector<TensorInfo>& infos) {
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
Result<std::vector<Tensor>> inputs_for(const Console& console, const RunOptions& options, const CompareSide& a, const CompareSide& b) {
  OPTIMA_RETURN_IF_ERROR(check_used(options.image, !options.images.empty()));
  if (a.is_folder && b.is_folder) return std::vector<Tensor>();
  const std::vector<TensorInfo> wanted = (a.is_folder ? b : a).inputs();
  OPTIMA_ASSIGN(const std::vector<TensorInfo> infos, shared_inputs(a, b, options.shapes));
  OPTIMA_ASSIGN(std::vector<Tensor> out, load_given(options, infos));
  for (size_t i = 0; i < out.size(); ++i)
    if (const std::string line = shape_line(out[i], wanted[i], infos[i], options.inputs.empty()); !line.empty()) console.print(line + "\n");
  return out;
}

Result<CompareOptions> compare_options(const Arguments& arguments) {
  CompareOptions out;
  OPTIMA_ASSIGN(out.import, import_options(arguments));
  OPTIMA_ASSIGN(out.threads, arguments.integer("threads", 0, 1, 4096));
  OPTIMA_ASSIGN(out.tolerance.atol, arguments.number("atol", -1));
  OPTIMA_ASSIGN(out.tolerance.rtol, arguments.number("rtol", 0));
  out.at_cuts = arguments.has("at-cuts");
  out.cancelled = &Console::cancelled();
  return out;
}

}  // namespace

Status compare_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("compare",
                      "Runs both sides on the same inputs (random:1 unless given) and compares what they make. A model runs on the reference; "
                      "A is what is wanted. Exit code 6 when a tensor is out of tolerance.");
  arguments.positional("A", true, "a model, a package, or a folder that 'run -o' wrote").positional("B", true, "the same");
  declare_run(arguments);
  arguments.option("atol", "X", "largest absolute error (default: 1e-4 of the output's scale, or the share that a package's least exact plugin says of itself)")
      .option("rtol", "X", "plus this share of the wanted value (default 0)")
      .flag("at-cuts", "compare every tensor between subgraphs (not those inside bodies) and name the first subgraph out of tolerance")
      .flag("layers", "A is the float model, B the QDQ model or the package made of it: the error of each quantized layer, its own and accumulated; of a "
            "package only of what crosses its subgraphs and of its answers");
  declare_data(arguments);
  declare_import(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const RunOptions given, run_options(console, arguments));
  OPTIMA_ASSIGN(const CompareOptions options, compare_options(arguments));
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  if (arguments.has("layers")) {
    const auto inputs = [&](const std::vector<TensorInfo>& wanted) { return load_given(given, wanted); };
    return compare_layers_verb(console, arguments, options, inputs, *registry);
  }
  if (arguments.has("calib")) return usage_error("--calib goes with --layers");
  RuntimeContext context(borrow_plugins(*registry));
  OPTIMA_ASSIGN(const CompareSide a, open_side(context, *registry, expand_home(arguments.text("A")), options));
  OPTIMA_ASSIGN(const CompareSide b, open_side(context, *registry, expand_home(arguments.text("B")), options));
  OPTIMA_ASSIGN(const std::vector<Tensor> inputs, inputs_for(console, given, a, b));
  OPTIMA_ASSIGN(const CompareReport report, compare_sides(*registry, a, b, inputs, options));
  print(console, a, b, inputs, report);
  if (!report.first_bad.empty()) return {StatusKind::Mismatch, report.first_bad};
  return {};
}

}  // namespace optima::host
