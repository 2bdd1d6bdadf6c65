// SPDX-License-Identifier: Apache-2.0
// host: `diff`: what differs between two plans.
#include <nlohmann/json.hpp>

#include "core/placement/plan_json.hpp"
#include "core/report/diff.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

/// What is found so far, over the main graph and the bodies that both plans have plans for. A body of one plan only is told by
/// its node, which the host drives there and a device runs here.
struct Difference {
  std::string text;
  Json bodies = Json::array();
  size_t moved = 0, renumbered = 0, lonely = 0;
};

void add(const PlanDiff& found, Difference& out) {
  out.moved += found.moved;
  out.renumbered += found.changes.size() - found.moved;
  out.lonely += found.only_before.size() + found.only_after.size();
}

void add_bodies(const Plan& before, const Plan& after, Difference& out) {
  for_each_plan(before, [&](const Plan& a, const std::string& path) {
    if (path.empty()) return;
    for_each_plan(after, [&](const Plan& b, const std::string& other) {
      if (path != other) return;
      const PlanDiff found = diff(a, b);
      add(found, out);
      if (found.equal()) return;
      out.text += cat("body ", quote(path), ": ", diff_text(a, b, found));
      out.bodies.push_back({{"body", path}, {"diff", diff_json(a, b, found)}});
    });
  });
}

}  // namespace

Status diff_verb(Session& session, const std::vector<std::string>& words) {
  Arguments arguments("diff", "Says which nodes moved between two plans, from where to where, and why in each. Exit code 0 when the plans are equal, 6 when not.");
  arguments.positional("BEFORE", true, "a package, or a plan.json of 'plan -o'").positional("AFTER", true, "another");
  OPTIMA_ASSIGN(const bool go, start(session, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const Plan before, read_plan(plan_path(arguments.text("BEFORE"))));
  OPTIMA_ASSIGN(const Plan after, read_plan(plan_path(arguments.text("AFTER"))));
  const PlanDiff found = diff(before, after);
  Difference all;
  add(found, all);
  add_bodies(before, after, all);
  Json document = diff_json(before, after, found);
  if (!before.bodies.empty()) document["bodies"] = all.bodies;
  session.print(diff_text(before, after, found) + all.text);
  session.print_json(document);
  if (found.equal() && all.bodies.empty()) return {};
  return {StatusKind::Mismatch, cat("the plans differ: ", all.moved, " nodes moved, ", all.renumbered, " renumbered, ", all.lonely, " in one of them only")};
}

}  // namespace optima::host
