// SPDX-License-Identifier: Apache-2.0
#include "offenders.hpp"

#include <algorithm>
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
    compile_through("codegen", tools, job, bounds, progress);
  } catch (const sdk::Error& e) {
    if (e.code != OPTIMA_UNSUPPORTED) throw;
    return e.text;
  }
  return "";
}

/// A stage that is ended in one way.
struct Failure {
  std::string stage;
  int64_t signal;  ///< 0 = an abort
};

/// The groups of a graph that still fail as the whole did.
class Groups {
 public:
  using Nodes = std::vector<sdk::Node>;

  Groups(const Facts& tools, const sdk::Graph& graph, const Job& job, const Bounds& bounds, const sdk::Progress& progress, Failure failure)
      : tools_(tools), graph_(graph), job_(job), bounds_(bounds), progress_(progress), failure_(std::move(failure)) {
    for (uint32_t k = 0; k < graph.size(); ++k) all_.push_back(graph[k]);
  }

  /// Few nodes that fail, the last of which fails with none of its followers; empty when the whole does not, cut out as groups are.
  Nodes smallest() {
    if (!fails(all_)) return {};
    Nodes nodes = all_;
    halve(nodes, [](const Nodes& from, size_t count) { return Nodes(from.begin(), from.begin() + static_cast<ptrdiff_t>(count)); });
    halve(nodes, [](const Nodes& from, size_t count) { return Nodes(from.end() - static_cast<ptrdiff_t>(count), from.end()); });
    for (size_t k = nodes.size() > 1 ? nodes.size() - 1 : 0; k-- > 0 && tries_ < kMostGroups;) {
      Nodes fewer = nodes;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(k));
      if (fails(fewer)) nodes = std::move(fewer);
    }
    return nodes;
  }

 private:
  /// The least count for which `part` of the nodes fails, if what fails does so with more around it, too.
  template <class Part>
  void halve(Nodes& nodes, Part part) {
    size_t passes = 0, fail = nodes.size();
    while (fail - passes > 1 && tries_ < kMostGroups) {
      const size_t count = (passes + fail) / 2;
      (fails(part(nodes, count)) ? fail : passes) = count;
    }
    nodes = part(nodes, fail);
  }

  bool fails(const Nodes& nodes) {
    progress_(-1, "asking about " + std::to_string(nodes.size()) + " of " + std::to_string(all_.size()) + " nodes, group " + std::to_string(++tries_) + " of at most " +
                      std::to_string(kMostGroups));
    try {
      const sdk::Cut cut(graph_.raw(), nodes, sdk::CutOutputs::Read);
      write_module(top::lower(sdk::Graph(cut.raw()), *job_.chip).module, bounds_.work);
      compile_through(failure_.stage, tools_, job_, bounds_, sdk::Progress(nullptr));
    } catch (const sdk::Error& e) {
      if (e.code == OPTIMA_CANCELLED) throw;
      return e.code == OPTIMA_UNSUPPORTED && stage_of(e) == failure_.stage && e.vendor_code == failure_.signal;
    }
    return false;
  }

  const Facts& tools_;
  const sdk::Graph& graph_;
  const Job& job_;
  const Bounds& bounds_;
  const sdk::Progress& progress_;
  const Failure failure_;
  Nodes all_;
  int tries_ = 0;
};

std::string with_others(const std::vector<sdk::Node>& nodes) {
  constexpr size_t kMostNamed = 8;
  if (nodes.size() == 1) return {};
  std::string out = "; only together with ";
  const size_t named = std::min(nodes.size() - 1, kMostNamed);
  for (size_t k = 0; k < named; ++k) out += (k ? ", \"" : "\"") + std::string(nodes[k].name()) + "\" (" + std::string(nodes[k].op()) + ")";
  return out + (named + 1 < nodes.size() ? " and " + std::to_string(nodes.size() - 1 - named) + " more" : "");
}

Job in_floats(const Job& asked) {
  Job job = asked;
  if (job.mode != "INT8") return job;
  job.calibration.clear(), job.precisions.clear();
  job.mode = asked.chip->has_mode("F32") ? "F32" : "BF16";
  return job;
}

/// First in floats, which more groups have; what fails on codes alone is asked with the tables of the whole.
std::vector<sdk::Verdict> in_group(const Facts& tools, const sdk::Graph& graph, const Job& asked, const Bounds& bounds, const sdk::Progress& progress,
                                   const sdk::Error& failed) {
  const Job floats = in_floats(asked);
  for (const Job* job : {&floats, &asked}) {
    if (job == &asked && asked.mode == floats.mode) break;
    const std::vector<sdk::Node> found = Groups(tools, graph, *job, bounds, progress, {stage_of(failed), failed.vendor_code}).smallest();
    if (!found.empty()) return {sdk::Verdict::refused(found.back(), OPTIMA_REASON_OTHER, failed.text + with_others(found))};
  }
  return {};
}

}  // namespace

std::vector<sdk::Verdict> offenders(const Facts& tools, const sdk::Graph& graph, const Job& asked, const Bounds& bounds, const sdk::Progress& progress,
                                    const sdk::Error& failed) {
  const Job job = in_floats(asked);
  std::map<std::string, std::string> said;
  std::vector<sdk::Verdict> out;
  for (uint32_t k = 0; k < graph.size(); ++k) {
    const sdk::Cut cut(graph.raw(), {graph[k]});
    const top::Lowered made = top::lower(sdk::Graph(cut.raw()), *asked.chip);
    const auto [at, is_new] = said.try_emplace(without_locations(made.module.text(kWeightFile)));
    if (is_new) at->second = word_on(tools, made.module, job, bounds, progress);
    if (!at->second.empty()) out.push_back(sdk::Verdict::refused(graph[k], OPTIMA_REASON_OTHER, at->second));
  }
  return !out.empty() || graph.size() < 2 ? out : in_group(tools, graph, asked, bounds, progress, failed);
}

}  // namespace bmcompiler_plugin
