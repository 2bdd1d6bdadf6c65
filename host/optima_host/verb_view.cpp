// SPDX-License-Identifier: Apache-2.0
// host: `view`: a plan as a picture.
#include <filesystem>
#include <optional>

#include "core/plan/plan_json.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "core/view/view.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

struct Extras {
  std::vector<view::TraceEvent> trace;
  std::optional<WhatIfReport> what_if;
  std::vector<LayerFigures> layers;
};

Result<std::string> picture_of(const Plan& plan, const std::string& suffix, const Extras& extras) {
  if (suffix == ".html") return view::to_html(plan, extras.trace, extras.what_if ? &*extras.what_if : nullptr, extras.layers);
  if (suffix == ".dot") return view::to_dot(plan, extras.layers);
  if (suffix == ".svg" || suffix == ".png") return view::draw(view::to_dot(plan, extras.layers), suffix.substr(1));
  if (suffix == ".json") return to_text(view::to_model_explorer(plan));
  return usage_error(cat("-o: found suffix ", quote(suffix), ", wanted .html, .dot, .svg, .png or .json"));
}

}  // namespace

Status view_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("view", "Draws a plan: a page to explore (.html), Graphviz' language (.dot) or its drawing (.svg, .png), or node data for "
                              "Model Explorer (.json).");
  arguments.positional("PLAN", true, "a package, or a plan.json of 'plan -o'")
      .option("out,o", "FILE", "the picture; its suffix says which kind; - is stdout, as a page")
      .option("trace", "FILE", "a trace of 'run --trace': the page shows it as a timeline")
      .option("layers", "FILE", "what 'compare --layers --json' printed: nodes are coloured by the error of the layer that they make")
      .flag("what-if", "the page shows what 'explain --what-if' says");
  declare_costs(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  if (!arguments.has("out")) return usage_error("'view' wants -o FILE, e.g. -o plan.html");
  OPTIMA_ASSIGN(const std::string out, console.output_path(arguments, "out"));
  const std::string suffix = out == kStdout ? ".html" : std::filesystem::path(out).extension().string();
  for (const char* extra : {"trace", "what-if"})
    if (arguments.has(extra) && suffix != ".html")
      return usage_error(cat("--", extra, " goes into a page: wanted -o FILE.html, found ", quote(arguments.text("out"))));
  if (arguments.has("costs") && !arguments.has("what-if")) return usage_error("--costs goes with --what-if");
  OPTIMA_ASSIGN(const Plan plan, read_plan(plan_path(arguments.text("PLAN"))));
  Extras extras;
  if (arguments.has("trace")) {
    OPTIMA_ASSIGN(extras.trace, view::read_trace(expand_home(arguments.text("trace")), plan));
  }
  if (arguments.has("layers")) {
    if (suffix == ".json") return usage_error(cat("--layers colours a page or a drawing: wanted -o FILE.html, .dot, .svg or .png, found ", quote(arguments.text("out"))));
    OPTIMA_ASSIGN(extras.layers, read_layers(expand_home(arguments.text("layers"))));
  }
  if (arguments.has("what-if")) {
    OPTIMA_ASSIGN(const CostSources given, cost_sources(console, arguments));
    OPTIMA_ASSIGN(extras.what_if, what_if(plan, given));
  }
  OPTIMA_ASSIGN(const std::string picture, picture_of(plan, suffix, extras));
  OPTIMA_RETURN_IF_ERROR(write_output(out, picture));
  console.print(cat("picture: ", out, " (", human_bytes(picture.size()), ")\n"));
  console.print_json({{"file", out}, {"bytes", picture.size()}});
  return {};
}

}  // namespace optima::host
