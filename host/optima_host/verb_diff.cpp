// SPDX-License-Identifier: Apache-2.0
// host: `diff`: what differs between two plans.
#include "core/support/json_value.hpp"

#include "core/plan/plan_json.hpp"
#include "core/report/diff.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {

Status diff_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("diff", "Says which nodes moved between two plans, bodies included, from where to where, and why in each; and the estimated "
                              "time of both. Exit code 0 when the plans are equal, 6 when not.");
  arguments.positional("BEFORE", true, "a package, or a plan.json of 'plan -o'").positional("AFTER", true, "another");
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const Plan before, read_plan(plan_path(arguments.text("BEFORE"))));
  OPTIMA_ASSIGN(const Plan after, read_plan(plan_path(arguments.text("AFTER"))));
  const PlanDiff found = diff(before, after);
  console.print(diff_text(before, after, found));
  console.print_json(diff_json(before, after, found));
  if (found.equal()) return {};
  const PlanDiff::Counts counts = found.counts();
  return {StatusKind::Mismatch,
          cat("the plans differ: ", counts.moved, " nodes moved, ", counts.renumbered, " renumbered, ", counts.lonely, " in one of them only")};
}

}  // namespace optima::host
