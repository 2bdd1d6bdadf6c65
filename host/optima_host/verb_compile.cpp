// SPDX-License-Identifier: Apache-2.0
// host: `compile` and `plan`.
#include "core/support/json_value.hpp"

#include "core/compile/submodels.hpp"
#include "core/plan/plan_json.hpp"
#include "core/report/report.hpp"
#include "core/support/file.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/progress.hpp"
#include "host/optima_host/quantize_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

Json timings_json(const Timings& t) {
  Json out{{"import_ms", t.import_ms}, {"passes_ms", t.passes_ms}, {"plan_ms", t.plan_ms}, {"compile_ms", t.compile_ms}, {"package_ms", t.package_ms}};
  if (t.rewrite_ms > 0) out["quantize_ms"] = t.rewrite_ms;
  return out;
}

Json plan_document(const Planned& planned) {
  Json document = plan_to_json(planned.plan);
  document["timings"] = timings_json(planned.timings);
  return document;
}

/// `--emit submodels`: no plugin compiles, so what only makes sense for a package is refused.
Status emit(Console& console, const Arguments& arguments, const CompileRequest& request, Registry& registry, Progress& progress,
            const ProgressReport& report) {
  for (const char* option : {"self-test", "jobs", "save-calib"})
    if (arguments.has(option)) return usage_error(cat("--", option, " goes with --emit package, found --emit submodels"));
  Result<Submodels> done = emit_submodels(request, registry, report);
  progress.clear();
  if (!done.ok()) return done.status();
  console.print(placement_summary(done->planned.plan));
  console.print(cat("submodels: ", done->folder, "\n"));
  Json document = plan_document(done->planned);
  document["submodels"] = done->folder;
  console.print_json(document);
  return {};
}

/// How many samples --save-calib keeps; 0 without it.
Result<uint32_t> samples_to_keep(const Arguments& arguments) {
  constexpr int64_t kUsual = 8;
  if (!arguments.has("save-calib")) return arguments.has("save-calib-samples") ? Result<uint32_t>(usage_error("--save-calib-samples goes with --save-calib")) : 0U;
  if (!arguments.has("calib")) return usage_error("--save-calib wants --calib: samples to keep");
  OPTIMA_ASSIGN(const int64_t most, arguments.integer("save-calib-samples", kUsual, 1, UINT32_MAX));
  return static_cast<uint32_t>(most);
}

}  // namespace

Status plan_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("plan", "Reads a model, asks the plugins, splits it, and says which node goes where and why. Writes no artifact.");
  arguments.positional("MODEL", true, "an ONNX file").option("o,o", "FILE", "write the plan, same schema as placement.json; - is stdout");
  declare_import(arguments);
  declare_placement(arguments);
  declare_quantization(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const QuantizeSettings settings, quantize_settings(console, arguments));
  OPTIMA_ASSIGN(const std::string out, console.output_path(arguments, "o"));
  OPTIMA_ASSIGN(PlanRequest request, plan_request(console, arguments));
  request.plan_only = true;
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  quantize_before_placing(request, settings, *registry);
  OPTIMA_ASSIGN(const Planned planned, plan_model(request, *registry));
  if (!out.empty()) OPTIMA_RETURN_IF_ERROR(write_output(out, to_text(plan_to_json(planned.plan))));
  console.print(placement_summary(planned.plan));
  if (console.json()) console.print_json(plan_document(planned));
  return {};
}

Status compile_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("compile", "Splits a model over devices, has every piece compiled by its device's plugin, and writes one package.");
  arguments.positional("MODEL", true, "an ONNX file")
      .option("out,o", "OUT", "folder; the package becomes OUT/<name>")
      .option("emit", "WHAT", "package (default), or submodels: graph_infos.json and one ONNX file per subgraph, nothing compiled")
      .option("jobs", "N", "threads to compile with (default: all allowed)")
      .flag("self-test", "store random inputs and the reference's outputs in the package; optima-run --check uses them")
      .flag("save-calib", "keep samples of what each subgraph reads in the package: calib/<subgraph>/<tensor>.npy; goes with --calib")
      .option("save-calib-samples", "N", "of --save-calib: no more samples than N, the first ones (default: 8)")
      .flag("force", "replace an existing OUT/<name> of the same kind");
  declare_import(arguments);
  declare_placement(arguments);
  declare_quantization(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  if (!arguments.has("out")) return usage_error("'compile' wants -o OUT: the folder that gets the package");
  OPTIMA_ASSIGN(PlanRequest plan, plan_request(console, arguments));
  CompileRequest request = console.session().compile_request(std::move(plan));
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  request.out = expand_home(arguments.text("out"));
  request.replace = arguments.has("force");
  request.self_test = arguments.has("self-test");
  OPTIMA_ASSIGN(request.jobs, arguments.integer("jobs", 0, 1, 1024));
  OPTIMA_ASSIGN(request.save_samples, samples_to_keep(arguments));
  request.cancelled = &Console::cancelled();

  Progress progress(console.progress());
  OPTIMA_ASSIGN(QuantizeSettings settings, quantize_settings(console, arguments));
  double before = 0;  // how much of everything quantizing is
  settings.progress = [&](double f, std::string_view stage) { progress.report((before = 0.5) * f, stage); };
  const ProgressReport report = [&](double f, std::string_view stage) { progress.report(before + (1 - before) * f, stage); };
  if (arguments.has("calib") || arguments.has("encodings")) request.calibration = settings.calibration = std::make_shared<CalibrationSource>();
  quantize_before_placing(request.plan, settings, *registry);
  const std::string what = arguments.text("emit", "package");
  if (what == "submodels") return emit(console, arguments, request, *registry, progress, report);
  if (what != "package") return usage_error(cat("--emit: found ", quote(what), ", wanted package or submodels"));
  if (!request.plan.supports.empty()) return usage_error("--support plans only: it goes with 'plan' or --emit submodels");
  Result<Compilation> done = compile_model(request, *registry, report);
  progress.clear();
  if (!done.ok()) return done.status();
  console.print(placement_summary(done->planned.plan));
  console.print(cat("package: ", done->package.folder, "\n"));
  if (done->saved_samples) console.print(cat("samples: the first ", done->saved_samples, " in ", done->package.folder, "/calib\n"));
  Json document = plan_document(done->planned);
  document["package"] = done->package.folder;
  document["package_hash"] = done->package.hash;
  document["subgraph_ms"] = done->subgraph_ms;
  if (done->saved_samples) document["saved_samples"] = done->saved_samples;
  console.print_json(document);
  return {};
}

}  // namespace optima::host
