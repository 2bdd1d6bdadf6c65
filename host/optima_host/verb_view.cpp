// SPDX-License-Identifier: Apache-2.0
// host: `view`: a plan as a picture.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/placement/plan_json.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"
#include "core/view/view.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

Result<std::string> picture_of(const Plan& plan, const std::string& suffix, const std::vector<view::TraceEvent>& trace) {
  if (suffix == ".html") return view::to_html(plan, trace);
  if (suffix == ".dot") return view::to_dot(plan);
  if (suffix == ".svg" || suffix == ".png") return view::draw(view::to_dot(plan), suffix.substr(1));
  if (suffix == ".json") return to_text(view::to_model_explorer(plan));
  return usage_error(cat("-o: found suffix ", quote(suffix), ", wanted .html, .dot, .svg, .png or .json"));
}

}  // namespace

Status view_verb(Session& session, const std::vector<std::string>& words) {
  Arguments arguments("view", "Draws a plan: a page to explore (.html), Graphviz' language (.dot) or its drawing (.svg, .png), or node data for Model Explorer (.json).");
  arguments.positional("PLAN", true, "a package, or a plan.json of 'plan -o'")
      .option("out,o", "FILE", "the picture; its suffix says which kind")
      .option("trace", "FILE", "a trace of 'run --trace': the page shows it as a timeline");
  OPTIMA_ASSIGN(const bool go, start(session, arguments, words));
  if (!go) return {};
  if (!arguments.has("out")) return usage_error("'view' wants -o FILE, e.g. -o plan.html");
  const std::string out = expand_home(arguments.text("out")), suffix = std::filesystem::path(out).extension().string();
  if (arguments.has("trace") && suffix != ".html") return usage_error(cat("--trace goes into a page: wanted -o FILE.html, found ", quote(arguments.text("out"))));
  OPTIMA_ASSIGN(const Plan plan, read_plan(plan_path(arguments.text("PLAN"))));
  std::vector<view::TraceEvent> trace;
  if (arguments.has("trace")) {
    OPTIMA_ASSIGN(trace, view::read_trace(expand_home(arguments.text("trace")), plan));
  }
  OPTIMA_ASSIGN(const std::string picture, picture_of(plan, suffix, trace));
  OPTIMA_RETURN_IF_ERROR(write_file(out, picture));
  session.print(cat("picture: ", out, " (", human_bytes(picture.size()), ")\n"));
  session.print_json({{"file", out}, {"bytes", picture.size()}});
  return {};
}

}  // namespace optima::host
