// SPDX-License-Identifier: Apache-2.0
#include "offenders.hpp"

#include <map>

#include "files.hpp"
#include "optima/plugin/cut.hpp"
#include "top/lower.hpp"

namespace bmcompiler_plugin {
namespace {

/// Modules that differ in names alone have one text so.
std::string without_locations(std::string text) {
  for (size_t at = text.find(" loc(\""); at != text.npos; at = text.find(" loc(\"", at)) {
    size_t end = at + 6;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    text.erase(at, std::min(end + 2, text.size()) - at);
  }
  return text;
}

/// What the tools say of one node, empty when they take it.
std::string word_on(const Facts& tools, const top::Module& module, const Job& job, const Bounds& bounds, const sdk::Progress& progress) {
  try {
    write_module(module, bounds.work);
    compile_stages(tools, job, bounds, progress);
  } catch (const sdk::Error& e) {
    if (e.code != OPTIMA_UNSUPPORTED) throw;
    return e.text;
  }
  return "";
}

}  // namespace

std::vector<sdk::Verdict> offenders(const Facts& tools, const sdk::Graph& graph, const Job& asked, const Bounds& bounds, const sdk::Progress& progress) {
  Job job = asked;
  job.calibration.clear(), job.precisions.clear();
  if (job.mode == "INT8") job.mode = asked.chip->has_mode("F32") ? "F32" : "BF16";
  std::map<std::string, std::string> said;
  std::vector<sdk::Verdict> out;
  for (uint32_t k = 0; k < graph.size(); ++k) {
    const sdk::Cut cut(graph.raw(), {graph[k]});
    const top::Lowered made = top::lower(sdk::Graph(cut.raw()), *asked.chip);
    const auto [at, is_new] = said.try_emplace(without_locations(made.module.text(kWeightFile)));
    if (is_new) at->second = word_on(tools, made.module, job, bounds, progress);
    if (!at->second.empty()) out.push_back(sdk::Verdict::refused(graph[k], OPTIMA_REASON_OTHER, at->second));
  }
  return out;
}

}  // namespace bmcompiler_plugin
