// SPDX-License-Identifier: Apache-2.0
#include "core/compile/subgraphs.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "core/compile/calibration.hpp"
#include "core/compile/doors.hpp"
#include "core/compile/scopes.hpp"
#include "core/loader/calls.hpp"
#include "core/placement/other_servers.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"

namespace optima::detail {
namespace {

std::vector<std::string> names_of(const image::Graph& graph, const std::vector<uint32_t>& values) {
  std::vector<std::string> out;
  for (const uint32_t v : values) out.push_back(graph.values[v].name);
  return out;
}

/// Takes subgraphs off a list until it is empty, one of them fails, or the user interrupts.
class Builder {
 public:
  Builder(const CompileRequest& request, const Planned& planned, Registry& registry, PackageWriter& writer, const ProgressReport& progress)
      : request_(request), registry_(registry), writer_(writer), progress_(progress), scopes_(scopes_of(planned)), numbered_(numbered(scopes_)) {
    const size_t count = numbered_.size();
    result_.subgraphs.resize(count);
    fractions_.resize(count);
    const int64_t threads = request.jobs > 0 ? request.jobs : allowed_threads();
    workers_ = std::clamp<int64_t>(threads, 1, static_cast<int64_t>(std::max<size_t>(count, 1)));
    threads_each_ = std::max<int64_t>(1, threads / workers_);
  }

  Result<BuildResult> run() {
    OPTIMA_RETURN_IF_ERROR(run_on_threads(workers_, [this] { return work(); }));
    std::sort(result_.refusals.begin(), result_.refusals.end(), [](const Refusal& a, const Refusal& b) { return a.node_id < b.node_id; });
    return std::move(result_);
  }

 private:
  const PlanScope& scope(uint32_t index) const { return scopes_[numbered_[index].scope]; }
  const Subgraph& subgraph(uint32_t index) const { return scope(index).plan->subgraphs[numbered_[index].position]; }
  const PlanDevice& device(uint32_t index) const { return scope(index).plan->devices[subgraph(index).device]; }

  Status work() {
    for (size_t i; (i = next_++) < result_.subgraphs.size() && !stop_;)
      if (Status s = guarded([&] { return build(static_cast<uint32_t>(i)); }); !s.ok()) {
        stop_ = true;
        return s;
      }
    return {};
  }

  Status build(uint32_t index) {
    if (request_.cancelled && *request_.cancelled) return cancelled();
    const auto begin = std::chrono::steady_clock::now();
    const PlanDevice& on = device(index);
    if (is_host(on)) return report(index, 1, "driven by the host"), Status();
    Backend* plugin = registry_.compiler(on.plugin);
    if (!plugin) return plugin_error(cat("plugin ", quote(on.plugin), " is gone"));

    const Graph piece = extract(*scope(index).graph, subgraph(index).run_nodes(), subgraph(index).inputs, subgraph(index).outputs);
    const PackedGraph packed = pack(piece, true, next_blob_id_.fetch_add(piece.blobs.size()));
    CompileJob job;
    job.graph = &packed.raw;
    job.blobs = piece.blobs;
    job.device = on.target;
    job.doors = doors_of(*scope(index).plan, numbered_[index].position, piece.main());
    job.sizes = piece.sizes;
    job.stem = cat("subgraph_", index);
    OPTIMA_ASSIGN(job.folder, writer_.subgraph_folder(index));
    job.threads = threads_each_;
    job.cancelled = request_.cancelled;
    std::optional<SubgraphCalibration> calibration;
    if (request_.calibration) job.calibration = &calibration.emplace(*request_.calibration, piece.main());
    job.progress = [&, index](double fraction, std::string_view stage) { report(index, fraction, stage); };
    const seam::ForSubgraph calls_for(index);
    std::variant<Compiled, CompileFailure> outcome = plugin->compile(job);
    if (const auto* failed = std::get_if<CompileFailure>(&outcome)) return refuse(index, *failed);

    BuiltSubgraph& built = result_.subgraphs[index];
    built.compiled = std::move(std::get<Compiled>(outcome));
    built.inputs = names_of(piece.main(), piece.main().inputs);
    built.outputs = names_of(piece.main(), piece.main().outputs);
    built.weights = used_weights(built.compiled, piece, packed);
    built.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    report(index, 1, "compiled");
    return {};
  }

  static std::vector<UsedWeight> used_weights(const Compiled& compiled, const Graph& piece, const PackedGraph& packed) {
    std::vector<UsedWeight> out;
    for (const auto& [name, blob] : compiled.weights) {
      Sha256 hash;
      std::copy_n(packed.blobs[blob].sha256, hash.size(), hash.begin());
      out.push_back({name, piece.blobs[blob], to_hex(hash)});
    }
    return out;
  }

  // A refused node is split away from its plugin and tried again; any other failure ends the compilation.
  Status refuse(uint32_t index, const CompileFailure& failed) {
    if (failed.status.kind() == StatusKind::Cancelled) return cancelled();
    const std::vector<uint32_t>& nodes = subgraph(index).nodes;
    std::vector<std::pair<uint32_t, std::string>> blamed;
    for (const Verdict& node : failed.refused) blamed.emplace_back(node.node, node.text);
    if (blamed.empty() && nodes.size() == 1 && subgraph(index).clones.empty())
      blamed.emplace_back(scope(index).graph->main().nodes[nodes[0]].id, failed.status.message());
    if (failed.code != OPTIMA_UNSUPPORTED || blamed.empty())
      return with_others(device(index), failed.status).within(cat("subgraph ", index, " on ", device(index).full_name));
    const std::lock_guard lock(mutex_);
    for (const auto& [node, why] : blamed)
      if (!add_refusals(scope(index).graph->contents, 0, node, device(index).plugin, why))
        return internal_error(cat("subgraph ", index, ": node ", node, ", which it has, is not in its graph"));
    return writer_.drop_subgraph(index);
  }

  // With the names of the other plugins, unless the user named this one.
  Status with_others(const PlanDevice& on, const Status& why) const {
    if (on.rule == "named") return why;
    return {why.kind(), cat(why.message(), other_servers_hint(registry_.compilers(), on.plugin, {"", on.target.kind, on.target.slot}))};
  }

  // The node, and the nodes around it: one that went whole with it would be refused for it again. True when the graph has the node.
  bool add_refusals(const image::Contents& contents, uint32_t graph, uint32_t blamed, const std::string& plugin, const std::string& text) {
    for (const image::Node& node : contents.graphs[graph].nodes) {
      bool inside = false;
      for_each_body(node, [&](uint32_t body) { inside = inside || add_refusals(contents, body, blamed, plugin, text); });
      if (!inside && node.id != blamed) continue;
      result_.refusals.push_back({node.id, plugin, inside ? cat("in its body: ", text) : text});
      return true;
    }
    return false;
  }

  void report(uint32_t index, double fraction, std::string_view stage) {
    const std::lock_guard lock(mutex_);
    fractions_[index] = std::clamp(fraction, fractions_[index], 1.0);
    if (!progress_) return;
    double sum = 0;
    for (const double f : fractions_) sum += f;
    progress_(sum / static_cast<double>(fractions_.size()), cat("subgraph ", index, " on ", device(index).name, ": ", stage));
  }

  const CompileRequest& request_;
  Registry& registry_;
  PackageWriter& writer_;
  const ProgressReport& progress_;
  const std::vector<PlanScope> scopes_;
  const std::vector<Numbered> numbered_;
  int64_t workers_ = 1, threads_each_ = 1;
  std::atomic<size_t> next_ = 0;
  std::atomic<uint64_t> next_blob_id_ = 1;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  BuildResult result_;
  std::vector<double> fractions_;
};

}  // namespace

Result<BuildResult> build_subgraphs(const CompileRequest& request, const Planned& planned, Registry& registry, PackageWriter& writer,
                                    const ProgressReport& progress) {
  return Builder(request, planned, registry, writer, progress).run();
}

}  // namespace optima::detail
