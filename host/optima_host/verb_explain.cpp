// SPDX-License-Identifier: Apache-2.0
// host: `explain`: why each node is where it is.
#include <filesystem>

#include "core/plan/plan_json.hpp"
#include "core/report/report.hpp"
#include "core/report/what_if.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {

std::string plan_path(const std::string& package_or_plan) {
  std::string path = expand_home(package_or_plan);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) path += "/placement.json";
  return path;
}

namespace {

// Of the main graph, or of a body inside.
void print_node(Console& console, const Json& plan, const std::string& name) {
  for (const Json& node : plan["nodes"])
    if (node["name"] == name) console.print_json(node);
  if (plan.contains("bodies"))
    for (const Json& body : plan["bodies"]) print_node(console, body["plan"], name);
}

Status print_what_if(Console& console, const Plan& plan, const CostSources& given) {
  OPTIMA_ASSIGN(const WhatIfReport report, what_if(plan, given));
  console.print(what_if_text(plan, report));
  console.print_json(what_if_json(plan, report));
  return {};
}

}  // namespace

Status explain_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("explain", "Says why each node of a plan is where it is; with a node's name, everything about that node.");
  arguments.positional("PLAN", true, "a package, or a plan.json of 'plan -o'")
      .positional("NODE", false, "a node's name")
      .flag("what-if", "rank what devices refuse by the subgraphs, time and bytes that taking it would save");
  declare_costs(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  if (arguments.has("what-if") && arguments.has("NODE")) return usage_error("--what-if is about the whole plan, found a node's name with it");
  if (arguments.has("costs") && !arguments.has("what-if")) return usage_error("--costs goes with --what-if");
  OPTIMA_ASSIGN(const Plan plan, read_plan(plan_path(arguments.text("PLAN"))));
  if (arguments.has("what-if")) {
    OPTIMA_ASSIGN(const CostSources given, cost_sources(console, arguments));
    return print_what_if(console, plan, given);
  }
  Json document = plan_to_json(plan);
  if (!arguments.has("NODE")) {
    console.print(explain_plan(plan));
    console.print_json(document);
    return {};
  }
  const std::string name = arguments.text("NODE");
  OPTIMA_ASSIGN(const std::string text, explain_node(plan, name));
  console.print(text);
  print_node(console, document, name);
  return {};
}

}  // namespace optima::host
