// SPDX-License-Identifier: Apache-2.0
// core/passes: the list of passes and their runner.
#include "core/passes/pipeline.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "core/passes/code_texts.hpp"
#include "core/passes/drop_dead_nodes.hpp"
#include "core/passes/drop_identities.hpp"
#include "core/passes/fold_constants.hpp"
#include "core/passes/fold_pads.hpp"
#include "core/passes/fold_shapes.hpp"
#include "core/passes/free_unchanged.hpp"
#include "core/passes/resolve_sequences.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

constexpr std::array kPasses = {
    Pass{"free_unchanged", free_unchanged},
    Pass{"fold_constants", fold_constants},
    Pass{"fold_shapes", fold_shapes},
    Pass{"resolve_sequences", resolve_sequences},
    Pass{"code_texts", code_texts},
    Pass{"fold_pads", fold_pads},
    Pass{"drop_identities", drop_identities},
    Pass{"drop_dead_nodes", drop_dead_nodes},
};

Status check_names(const std::vector<std::string>& off) {
  std::vector<std::string> known;
  for (const Pass& pass : kPasses) known.emplace_back(pass.name);
  for (const std::string& name : off)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return usage_error(cat("no pass ", quote(name), ", wanted one of ", join(known)));
  return {};
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

Result<Graph> run_passes(Graph graph, const PassOptions& options) {
  OPTIMA_RETURN_IF_ERROR(check_names(options.off));
  for (const Pass& pass : kPasses) {
    if (std::find(options.off.begin(), options.off.end(), pass.name) != options.off.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    if (Status status = pass.run(graph, options.own_operators); !status.ok()) return status.within(pass.name);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (options.after_pass) options.after_pass(pass.name, graph, took.count());
    if (!options.verify) continue;
    if (Status status = verify(graph); !status.ok()) return status.within(cat("after ", pass.name));
  }
  return graph;
}

}  // namespace optima::passes
