// SPDX-License-Identifier: Apache-2.0
// host/run_verbs: how long a package takes.
#include <algorithm>
#include <atomic>
#include <map>

#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"
#include "core/tensor_io/load.hpp"
#include "host/run_verbs/run_inputs.hpp"

namespace optima {
namespace {

constexpr double kWarmUpMs = 300, kMeasureMs = 3000;
constexpr int64_t kFewestRuns = 10, kMostRuns = 1000000, kProfiledRuns = 100;

Result<double> timed_run(Request& request) {
  const uint64_t start = now_ns();
  OPTIMA_RETURN_IF_ERROR(request.run());
  return static_cast<double>(now_ns() - start) / 1e6;
}

bool is_cancelled(const RunOptions& options) { return options.cancelled && *options.cancelled; }

// Runs until caches, clocks and branch predictors have settled; gives the time of one run.
Result<double> warm_up(Request& request, const RunOptions& options) {
  double spent = 0, last = 0;
  for (int64_t i = 0; (i < 3 || spent < kWarmUpMs) && i < kMostRuns; ++i) {
    if (is_cancelled(options)) return cancelled();
    OPTIMA_ASSIGN(last, timed_run(request));
    spent += last;
  }
  return last;
}

int64_t runs_for(const RunOptions& options, double one_ms) {
  if (options.repeat > 0) return options.repeat;
  return std::clamp(static_cast<int64_t>(kMeasureMs / std::max(one_ms, 1e-3)), kFewestRuns, kMostRuns);
}

Result<std::vector<double>> measure(Request& request, const RunOptions& options, int64_t runs) {
  std::vector<double> times;
  times.reserve(static_cast<size_t>(runs));
  for (int64_t i = 0; i < runs; ++i) {
    if (is_cancelled(options)) return cancelled();
    OPTIMA_ASSIGN(const double ms, timed_run(request));
    times.push_back(ms);
  }
  return times;
}

struct Parts {
  std::vector<std::vector<double>> subgraphs;  // ms per run, by position; in bodies over all trips
  std::vector<std::map<uint32_t, std::vector<double>>> nodes;  // by position: node id -> ms per run, where the plugin tells
  std::vector<std::vector<double>> outside;    // ms per run, by position: what its nodes left of the subgraph; where the plugin tells
  std::vector<double> copies, overhead;        // ms per run
  std::vector<ProfileEvent> last;              // of the last run, for --trace
};

size_t position_of(const LoadedModel& model, uint32_t index) {
  size_t at = 0;
  while (at + 1 < model.subgraphs().size() && model.subgraphs()[at].index != index) ++at;
  return at;
}

// Apart from measure(): reading clocks costs.
Result<Parts> profile(Request& request, int64_t runs) {
  Parts parts;
  parts.subgraphs.resize(request.model().subgraphs().size());
  parts.nodes.resize(parts.subgraphs.size());
  parts.outside.resize(parts.subgraphs.size());
  request.take_events();
  request.set_profiling(true);
  for (int64_t i = 0; i < std::min(runs, kProfiledRuns); ++i) {
    OPTIMA_RETURN_IF_ERROR(request.run());
    parts.last = request.take_events();
    double whole = 0, inside = 0, copies = 0;
    std::vector<double> each(parts.subgraphs.size(), 0), in_nodes(each);
    for (const ProfileEvent& e : parts.last) {
      const double ms = static_cast<double>(e.duration_ns) / 1e6;
      if (e.kind == ProfileKind::ModelExecute) whole = ms;
      if (e.kind == ProfileKind::BufferCopy) copies += ms;
      if (e.kind == ProfileKind::SubgraphExecute) inside += ms;
      if (e.kind == ProfileKind::SubgraphExecute || e.kind == ProfileKind::FlowExecute) each[e.index] += ms;
      if (e.kind == ProfileKind::LayerExecute && e.node != OPTIMA_NONE) {
        const size_t at = position_of(request.model(), e.index);
        std::vector<double>& node = parts.nodes[at][e.node];
        in_nodes[at] += ms;
        node.resize(static_cast<size_t>(i) + 1, 0);
        node.back() += ms;  // a node may run in several steps
      }
    }
    for (size_t k = 0; k < each.size(); ++k) {
      parts.subgraphs[k].push_back(each[k]);
      if (in_nodes[k] > 0) parts.outside[k].push_back(each[k] - in_nodes[k]);
    }
    parts.copies.push_back(copies);
    parts.overhead.push_back(whole - inside - copies);
  }
  request.set_profiling(false);
  return parts;
}

// Runs per second with several requests at once, each on a thread of its own.
Result<double> throughput(const LoadedModel& model, const std::vector<Tensor>& inputs, const RunOptions& options, int64_t runs) {
  const auto count = static_cast<size_t>(options.concurrency);
  std::vector<std::unique_ptr<Request>> requests;
  for (size_t i = 0; i < count; ++i) {
    OPTIMA_ASSIGN(std::unique_ptr<Request> r, request_for(model, inputs));
    OPTIMA_RETURN_IF_ERROR(r->run());
    requests.push_back(std::move(r));
  }
  std::atomic<size_t> taken{0};
  std::atomic<int64_t> left{std::max<int64_t>(runs, options.concurrency)};
  const int64_t total = left;
  const uint64_t start = now_ns();
  OPTIMA_RETURN_IF_ERROR(run_on_threads(options.concurrency, [&]() -> Status {
    Request& mine = *requests[taken++];
    while (!is_cancelled(options) && left.fetch_sub(1) > 0) OPTIMA_RETURN_IF_ERROR(mine.run());
    return {};
  }));
  if (taken < count) return io_error(cat("only ", taken.load(), " of ", count, " threads could be started"));
  const double seconds = static_cast<double>(now_ns() - start) / 1e9;
  if (is_cancelled(options)) return cancelled();
  return static_cast<double>(total) / seconds;
}

std::vector<std::string> time_row(const std::string& name, const std::vector<double>& ms) {
  return {name, milliseconds(quantile(ms, 0.5)), milliseconds(quantile(ms, 0.9)), milliseconds(quantile(ms, 0.99))};
}

// Median milliseconds of the nodes that the plugin's profile told of, and of what they leave of a run; absent without one.
void add_nodes(Json& subgraph, const std::map<uint32_t, std::vector<double>>& nodes, const std::vector<double>& outside) {
  if (!outside.empty()) subgraph["outside_nodes"] = quantile(outside, 0.5);
  for (const auto& [id, ms] : nodes) subgraph["nodes"].push_back({{"id", id}, {"milliseconds", quantile(ms, 0.5)}});
}

Json time_json(const std::vector<double>& ms) { return {{"p50", quantile(ms, 0.5)}, {"p90", quantile(ms, 0.9)}, {"p99", quantile(ms, 0.99)}}; }

struct Figures {
  std::vector<double> times;
  Parts parts;
  double per_second = 0;
};

// "X64:0 (llvm_cpu)"; a name that says its plugin already stays as it is.
std::string device_text(const SubgraphInfo& s) {
  if (s.plugin.empty()) return s.device + " (bodies included)";
  return s.device.starts_with(s.plugin + "/") ? s.device : cat(s.device, " (", s.plugin, ")");
}

void print(const LoadedModel& model, const Figures& f, const RunOptions& options, const RunPrinter& printer) {
  std::vector<std::vector<std::string>> rows = {{"", "p50", "p90", "p99"}, time_row(cat("model (", f.times.size(), " runs)"), f.times)};
  for (size_t i = 0; i < model.subgraphs().size(); ++i) {
    const SubgraphInfo& s = model.subgraphs()[i];
    rows.push_back(time_row(cat("subgraph ", s.index, " on ", device_text(s)), f.parts.subgraphs[i]));
  }
  rows.push_back(time_row("copies in and out", f.parts.copies));
  rows.push_back(time_row("run loop", f.parts.overhead));
  print_table(printer, rows);
  printer.line(cat("throughput: ", f.per_second, " runs/s with ", options.concurrency, " at once; arena ", human_bytes(model.arena_bytes()), " of ",
                   human_bytes(model.arena_sum()), " of cut tensors"));
}

Json document(const LoadedModel& model, const std::vector<Tensor>& inputs, const Figures& f, const RunOptions& options) {
  Json subgraphs = Json::array();
  for (size_t i = 0; i < model.subgraphs().size(); ++i) {
    const SubgraphInfo& s = model.subgraphs()[i];
    subgraphs.push_back({{"index", s.index}, {"device", s.device}, {"plugin", s.plugin}, {"milliseconds", time_json(f.parts.subgraphs[i])}});
    add_nodes(subgraphs.back(), f.parts.nodes[i], f.parts.outside[i]);
  }
  return {{"package", model.package().model_name}, {"package_sha256", model.package().hash}, {"inputs", inputs_json(inputs)},
          {"runs", f.times.size()},
          {"milliseconds", time_json(f.times)}, {"subgraphs", std::move(subgraphs)}, {"copies", time_json(f.parts.copies)},
          {"run_loop", time_json(f.parts.overhead)}, {"concurrency", options.concurrency}, {"runs_per_second", f.per_second},
          {"arena_bytes", model.arena_bytes()}, {"cut_tensor_bytes", model.arena_sum()}};
}

}  // namespace

Status bench_package(RuntimeContext& context, const RunOptions& options, const RunPrinter& printer) {
  OPTIMA_ASSIGN(const std::unique_ptr<LoadedModel> model, load_for(context, options));
  OPTIMA_ASSIGN(const std::vector<Tensor> inputs, inputs_for(*model, options, true, printer));
  OPTIMA_ASSIGN(const std::unique_ptr<Request> request, request_for(*model, inputs));
  OPTIMA_ASSIGN(const double one, warm_up(*request, options));
  const int64_t runs = runs_for(options, one);
  Figures f;
  OPTIMA_ASSIGN(f.times, measure(*request, options, runs));
  OPTIMA_ASSIGN(f.parts, profile(*request, runs));
  OPTIMA_ASSIGN(f.per_second, throughput(*model, inputs, options, runs));
  if (!options.trace.empty()) OPTIMA_RETURN_IF_ERROR(write_output(options.trace, chrome_trace(f.parts.last)));
  if (printer.line) print(*model, f, options, printer);
  if (printer.document) printer.document(document(*model, inputs, f, options));
  return {};
}

}  // namespace optima
