// SPDX-License-Identifier: Apache-2.0
// host: `alloc`: an allocation template in the input format.
#include "core/support/json_value.hpp"

#include "core/allocation/allocation.hpp"
#include "core/compile/own_operators.hpp"
#include "core/support/file.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/device_options.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {

namespace {

// A plan names what the passes leave.
Result<std::string> from_plan(const std::string& plan, Graph graph, const passes::OwnOperators& own) {
  OPTIMA_ASSIGN(const PlanChoice choice, read_plan_choice(plan_path(plan)));
  passes::PassOptions options;
  options.own_operators = own;
  OPTIMA_ASSIGN(graph, passes::run_passes(std::move(graph), options));
  return allocation_from(choice, graph);
}

}  // namespace

Status alloc_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("alloc", "Writes an allocation that names every node of a model, all on one device: edit it, then compile with --alloc.");
  arguments.positional("MODEL", true, "an ONNX file")
      .option("from", "PLAN", "a plan.json or a package of the model: its placement in few keys, as globs and operators where they hold")
      .option("default", "DEV", "the device of every node, e.g. X64:0; no plugin is needed for it")
      .option("out,o", "FILE", "write there instead of stdout");
  declare_import(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  if (arguments.has("default") == arguments.has("from")) return usage_error("'alloc' wants --default DEV, e.g. --default X64:0, or --from PLAN");
  if (const std::string device = arguments.text("default", "auto"); device != "auto")
    OPTIMA_RETURN_IF_ERROR(device_option(device, "--default").status());
  OPTIMA_ASSIGN(onnx_io::ImportOptions import, import_options(arguments));
  // Plugins say what their operators are, as they did when the plan was made; a template needs none.
  passes::OwnOperators own;
  if (arguments.has("from"))
    if (const Result<Registry*> registry = console.session().registry(); registry.ok()) own = own_operators(**registry);
  import.infer_foreign = own.infer;
  OPTIMA_ASSIGN(Graph graph, onnx_io::load_model(expand_home(arguments.text("MODEL")), import));
  OPTIMA_ASSIGN(const std::string text, arguments.has("from") ? from_plan(arguments.text("from"), std::move(graph), own) : allocation_template(graph, arguments.text("default")));
  return write_output(arguments.text("out", std::string(kStdout)), text);
}

}  // namespace optima::host
