// SPDX-License-Identifier: Apache-2.0
#include "build.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "batch.hpp"
#include "bmodel/bmodel.hpp"
#include "files.hpp"
#include "offenders.hpp"
#include "quantized.hpp"
#include "store.hpp"
#include "toolchain/bmneto.hpp"

namespace bmcompiler_plugin {
namespace of_build {

/// The verdicts on nodes of `made` as those on nodes of the graph that the host gave: the same names, other numbers.
std::vector<sdk::Verdict> of_request(const std::vector<sdk::Verdict>& found, const sdk::Graph& made, const sdk::Graph& given) {
  std::map<std::string, sdk::Node> by_output;
  for (uint32_t k = 0; k < given.size(); ++k)
    for (uint32_t o = 0; o < given[k].output_count(); ++o)
      if (given[k].output(o)) by_output.emplace(given[k].output(o).name(), given[k]);
  std::vector<sdk::Verdict> out;
  for (uint32_t k = 0; k < made.size(); ++k)
    for (const sdk::Verdict& v : found) {
      if (v.node != made[k].id()) continue;
      for (uint32_t o = 0; o < made[k].output_count(); ++o)
        if (const auto at = made[k].output(o) ? by_output.find(std::string(made[k].output(o).name())) : by_output.end(); at != by_output.end()) {
          out.push_back(sdk::Verdict::refused(at->second, v.reason, v.text));
          break;
        }
    }
  return out;
}

/// One compile of a request.
class Build {
 public:
  Build(const Facts& tools, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress)
      : tools_(tools), request_(request), sink_(sink), progress_(progress), chip_(chip_of(request.device(), request.options())),
        task_(host, request.options(), [this] { return progress_.cancelled(); }) {}

  void operator()() {
    const sdk::Graph given = request_.graph();
    std::vector<int64_t> batches = batches_of(request_.options(), chip_);
    const std::string batch = batches.empty() ? std::string() : batch_name(given);
    meta_ = ports_of(given, batch);
    job_.chip = &chip_;
    job_.module = kModuleFile;
    job_.result = "compilation" + std::string(chip_.suffix);
    if (batch.empty()) make(given, given, task_.bounds());
    else make_batches(given, batch, std::move(batches));
    adopt();
    store();
  }

 private:
  /// A file of a graph of fixed sizes, in the folder of `bounds`.
  void make(const sdk::Graph& fixed, const sdk::Graph& given, const Bounds& bounds) {
    progress_(0, "writing the module");
    const std::unique_ptr<Quantized> quantized = quantized_of(fixed, chip_);
    const sdk::Graph graph = quantized ? quantized->floats() : fixed;
    job_.mode = float_mode(chip_, request_.options());
    const top::Lowered made = top::lower(graph, chip_);
    write_module(made.module, bounds.work);
    job_.precisions.clear();
    keep_in_f32(made, chip_, bounds.work, job_);
    if (quantized) say_floats(quantized->describe(made, bounds.work, job_));
    compile(graph, given, bounds);
    name_ports(made);
  }

  /// One file for each size, then one of all of them.
  void make_batches(const sdk::Graph& given, const std::string& batch, std::vector<int64_t> batches) {
    for (const int64_t size : batches) {
      parts_.push_back("b" + std::to_string(size));
      Bounds bounds = task_.bounds();
      bounds.work = task_.path(parts_.back());
      std::error_code error;
      if (!std::filesystem::create_directory(bounds.work, error)) throw sdk::Error(OPTIMA_IO, "folder '" + bounds.work + "' cannot be made: " + error.message());
      const AtBatch fixed(given.raw(), batch, size);
      make(sdk::Graph(fixed.raw()), given, bounds);
    }
    progress_(0.9, "putting " + std::to_string(batches.size()) + " batches into one file");
    task_.guarded([&] { combine(tools_, results_of(job_, parts_), job_.result, task_.bounds()); });
    meta_.batches = std::move(batches);
  }

  /// When the tools do not take all of it, the host is told which nodes they leave, if they can be found.
  void compile(const sdk::Graph& graph, const sdk::Graph& given, const Bounds& bounds) {
    const std::vector<sdk::Verdict> left = task_.guarded([&] { return left_by_tools(graph, given, bounds); });
    if (!left.empty()) sink_.refuse({left.data(), left.size()});
  }

  /// Empty when it is compiled.
  std::vector<sdk::Verdict> left_by_tools(const sdk::Graph& graph, const sdk::Graph& given, const Bounds& bounds) {
    try {
      compile_stages(tools_, job_, bounds, progress_);
      return {};
    } catch (sdk::Error& e) {
      if (e.code != OPTIMA_UNSUPPORTED) throw;
      progress_(-1, "asking which nodes are left");
      std::vector<sdk::Verdict> left = of_request(offenders(tools_, graph, job_, bounds, progress_, e), graph, given);
      if (!left.empty()) return left;
      if (e.vendor_code != 0) e.code = OPTIMA_TOOL_FAILED, e.text += "; what it printed is in " + bounds.log;  // a crash that no node is the reason of
      throw;
    }
  }

  /// While it compiles and in the package: never silently. Of several batches once.
  void say_floats(const std::string& floats) {
    if (floats.empty() || floats == floats_) return;
    floats_ = floats;
    progress_(0, floats);
    sink_.meta("bmcompiler.floats", floats);
  }

  void name_ports(const top::Lowered& made) {
    for (size_t k = 0; k < made.inputs.size(); ++k) meta_.inputs[k].file_name = made.inputs[k].name, meta_.inputs[k].file_dtype = made.inputs[k].dtype;
    for (size_t k = 0; k < made.outputs.size(); ++k) meta_.outputs[k].file_name = made.outputs[k].name, meta_.outputs[k].file_dtype = made.outputs[k].dtype;
  }

  /// Names and types that the tools gave the ports.
  void adopt() {
    if (chip_.runner == Runner::Cvi) return;
    const Bmodel model = read_bmodel(bytes_of(task_.path(job_.result)));
    adopt_ports(model, meta_);
    check_ports(model, meta_);
  }

  void store() {
    progress_(0.95, "storing files");
    meta_.chip = chip_.name, meta_.mode = job_.mode, meta_.tools = tools_.version, meta_.model = "*" + std::string(chip_.suffix);
    write_file(task_.path("compile.py"), compile_script(job_, tools_, parts_));
    Store files(sink_, request_.stem(), task_);
    files.add(std::string(chip_.suffix), job_.result);
    add(files, ".mlir", job_.module);
    add(files, ".npz", kWeightFile);
    if (!job_.calibration.empty()) add(files, ".calib", job_.calibration);
    if (!job_.precisions.empty()) add(files, ".qtable", job_.precisions);
    files.add(".compile.py", "compile.py");
    files.finish(meta_);
  }

  /// A file of the compile: of several, once where all are the same.
  void add(Store& files, const std::string& suffix, std::string_view name) const {
    const auto in = [&](const std::string& part) { return part + "/" + std::string(name); };
    if (parts_.empty()) return files.add(suffix, name);
    const std::string first = bytes_of(task_.path(in(parts_[0])));
    if (std::all_of(parts_.begin() + 1, parts_.end(), [&](const std::string& part) { return bytes_of(task_.path(in(part))) == first; }))
      return files.add(suffix, in(parts_[0]));
    for (const std::string& part : parts_) files.add("." + part + suffix, in(part));
  }

  const Facts& tools_;
  const sdk::CompileRequest& request_;
  const sdk::Sink& sink_;
  const sdk::Progress& progress_;
  const Chip& chip_;
  Task task_;
  Job job_;
  Meta meta_;
  std::vector<std::string> parts_;  // folders of the sizes of the batch; empty = sizes are fixed
  std::string floats_;              // said last
};

/// BM1682: the earlier compiler takes the subgraph as an ONNX file. Its bmodels have the form of today's.
void build_by_bmneto(const Bmneto& tools, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) {
  const sdk::Graph graph = request.graph();
  Meta meta = ports_of(graph);
  progress(0, "writing ONNX");
  Task task(host, request.options(), [&] { return progress.cancelled(); });
  host.graph_to_onnx(graph, task.bounds().work);
  BmnetoJob job;
  for (const Port& p : meta.inputs) job.inputs.push_back({p.name, p.dims});
  for (const Port& p : meta.outputs) job.outputs.push_back(p.name);
  progress(0.1, "bmneto");
  task.guarded([&] { compile_bmneto(tools, job, task.bounds()); });
  for (std::vector<Port>* ports : {&meta.inputs, &meta.outputs})
    for (Port& p : *ports) p.file_name = p.name, p.file_dtype = p.dtype == OPTIMA_I64 || p.dtype == OPTIMA_I32 ? OPTIMA_I32 : OPTIMA_F32;
  const Bmodel model = read_bmodel(bytes_of(task.path("compilation.bmodel")));
  adopt_ports(model, meta);
  check_ports(model, meta);
  meta.chip = chip_of(request.device(), request.options()).name, meta.mode = "F32", meta.tools = "bmneto of " + tools.root, meta.model = "*.bmodel";
  Store files(sink, request.stem(), task);
  files.add(".bmodel", "compilation.bmodel");
  files.finish(meta);
}

}  // namespace of_build

std::string float_mode(const Chip& chip, const sdk::Options& options) {
  const std::string_view wanted = options.string("bmcompiler.precision", "auto");
  if (wanted == "auto") return chip.has_mode("F32") ? "F32" : "BF16";
  const std::string mode = wanted == "f32" ? "F32" : wanted == "f16" ? "F16" : "BF16";
  if (!chip.has_mode(mode))
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "bmcompiler.precision is " + std::string(wanted) + ", " + std::string(chip.name) + " computes in " + std::string(chip.modes));
  return mode;
}

void build(const Tools& tools, const std::string& bmnet, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink,
           const sdk::Progress& progress) {
  if (!chip_of(request.device(), request.options()).is_of_bmnet()) return of_build::Build(tools.get(), host, request, sink, progress)();
  std::string why;
  const std::optional<Bmneto> earlier = find_bmneto(bmnet, why);
  if (!earlier) throw sdk::Error(OPTIMA_DEPENDENCY, why);
  of_build::build_by_bmneto(*earlier, host, request, sink, progress);
}

}  // namespace bmcompiler_plugin
