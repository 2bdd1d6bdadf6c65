// SPDX-License-Identifier: Apache-2.0
// host: `explain`: why each node is where it is.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/placement/plan_json.hpp"
#include "core/report/report.hpp"
#include "core/support/file.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {

Status explain_verb(Session& session, const std::vector<std::string>& words) {
  Arguments arguments("explain", "Says why each node of a plan is where it is; with a node's name, everything about that node.");
  arguments.positional("PLAN", true, "a package, or a plan.json of 'plan -o'").positional("NODE", false, "a node's name");
  OPTIMA_ASSIGN(const bool go, start(session, arguments, words));
  if (!go) return {};
  std::string path = expand_home(arguments.text("PLAN"));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) path += "/placement.json";
  OPTIMA_ASSIGN(const Plan plan, read_plan(path));
  Json document = plan_to_json(plan);
  if (!arguments.has("NODE")) {
    session.print(explain_plan(plan));
    session.print_json(document);
    return {};
  }
  const std::string name = arguments.text("NODE");
  OPTIMA_ASSIGN(const std::string text, explain_node(plan, name));
  session.print(text);
  for (const Json& node : document["nodes"])
    if (node["name"] == name) session.print_json(node);
  return {};
}

}  // namespace optima::host
