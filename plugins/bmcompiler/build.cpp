// SPDX-License-Identifier: Apache-2.0
#include "build.hpp"

#include <map>

#include "artifact.hpp"
#include "bmodel/bmodel.hpp"
#include "files.hpp"
#include "offenders.hpp"
#include "optima/plugin/meta_keys.hpp"
#include "quantized.hpp"
#include "task.hpp"

namespace bmcompiler_plugin {
namespace {

Port port_of(const sdk::Value& v, const std::string& what) {
  if (!v.ranked()) throw sdk::Error(OPTIMA_UNSUPPORTED, what + " '" + std::string(v.name()) + "' has no known rank, wanted fixed sizes (--shape)");
  for (uint32_t k = 0; k < static_cast<uint32_t>(v.rank()); ++k)
    if (v.dim(k) < 0)
      throw sdk::Error(OPTIMA_UNSUPPORTED, what + " '" + std::string(v.name()) + "' has open dim " + std::to_string(k) +
                                               (v.symbol(k).empty() ? ", wanted fixed sizes (--shape)" : ", wanted fixed sizes (--dim " + std::string(v.symbol(k)) + "=N)"));
  Port p;
  p.name = v.name(), p.dtype = v.dtype(), p.dims = v.shape();
  return p;
}

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
    for (uint32_t k = 0; k < given.input_count(); ++k) meta_.inputs.push_back(port_of(given.input(k), "input"));
    for (uint32_t k = 0; k < given.output_count(); ++k) meta_.outputs.push_back(port_of(given.output(k), "output"));
    progress_(0, "writing the module");
    const std::unique_ptr<Quantized> quantized = quantized_of(request_, chip_);
    const sdk::Graph graph = quantized ? quantized->floats() : given;
    job_.chip = &chip_;
    job_.mode = float_mode(chip_, request_.options());
    job_.module = kModuleFile;
    job_.result = "compilation" + std::string(chip_.suffix);
    const top::Lowered made = top::lower(graph, chip_);
    write_module(made.module, task_.bounds().work);
    if (quantized) quantized->describe(made, task_.bounds().work, job_);
    compile(graph, given);
    name_ports(made);
    store();
  }

 private:
  /// When the tools do not take all of it, the host is told which nodes they leave, if they can be found.
  void compile(const sdk::Graph& graph, const sdk::Graph& given) {
    std::vector<sdk::Verdict> left;
    try {
      return task_.guarded([&] { compile_stages(tools_, job_, task_.bounds(), progress_); });
    } catch (const sdk::Error& e) {
      if (e.code != OPTIMA_UNSUPPORTED) throw;
      progress_(-1, "asking which nodes are left");
      left = of_request(task_.guarded([&] { return offenders(tools_, graph, job_, task_.bounds(), progress_); }), graph, given);
      if (left.empty()) throw;
    }
    sink_.refuse({left.data(), left.size()});
  }

  void name_ports(const top::Lowered& made) {
    for (size_t k = 0; k < made.inputs.size(); ++k) meta_.inputs[k].file_name = made.inputs[k].name, meta_.inputs[k].file_dtype = made.inputs[k].dtype;
    for (size_t k = 0; k < made.outputs.size(); ++k) meta_.outputs[k].file_name = made.outputs[k].name, meta_.outputs[k].file_dtype = made.outputs[k].dtype;
    if (chip_.runner == Runner::Cvi) return;
    const Bmodel model = read_bmodel(bytes_of(task_.path(job_.result)));
    adopt_ports(model, meta_);
    check_ports(model, meta_);
  }

  void add(const std::string& suffix, const std::string& file) {
    const std::string bytes = bytes_of(task_.path(file));
    sink_.file(std::string(request_.stem()) + suffix, bytes);
    record_.files.push_back(record_bytes("*" + suffix, bytes));
  }

  void store() {
    progress_(0.95, "storing files");
    meta_.chip = chip_.name, meta_.mode = job_.mode, meta_.tools = tools_.version, meta_.model = "*" + std::string(chip_.suffix);
    add(std::string(chip_.suffix), job_.result);
    add(".mlir", job_.module);
    add(".npz", std::string(kWeightFile));
    if (!job_.calibration.empty()) add(".calib", job_.calibration);
    if (!job_.precisions.empty()) add(".qtable", job_.precisions);
    write_file(task_.path("compile.py"), compile_script(job_, tools_));
    add(".compile.py", "compile.py");
    write_file(task_.path("meta"), meta_.write());
    add(".meta", "meta");
    record_.chip = meta_.chip, record_.mode = meta_.mode, record_.tools = meta_.tools;
    // 11 and 8 bits of mantissa: errors add up over layers
    if (meta_.mode == "F16") sink_.meta(sdk::kMetaTolerance, "0.01");
    if (meta_.mode == "BF16") sink_.meta(sdk::kMetaTolerance, "0.05");
    sink_.format(kFormat);
    sink_.compat(record_.write(), meta_.chip + " " + meta_.mode + " by " + meta_.tools);
  }

  const Facts& tools_;
  const sdk::CompileRequest& request_;
  const sdk::Sink& sink_;
  const sdk::Progress& progress_;
  const Chip& chip_;
  Task task_;
  Job job_;
  Meta meta_;
  Record record_;
};

}  // namespace

std::string float_mode(const Chip& chip, const sdk::Options& options) {
  const std::string_view wanted = options.string("bmcompiler.precision", "auto");
  if (wanted == "auto") return chip.has_mode("F32") ? "F32" : "BF16";
  const std::string mode = wanted == "f32" ? "F32" : wanted == "f16" ? "F16" : "BF16";
  if (!chip.has_mode(mode))
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "bmcompiler.precision is " + std::string(wanted) + ", " + std::string(chip.name) + " computes in " + std::string(chip.modes));
  return mode;
}

void build(const Tools& tools, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) {
  Build(tools.get(), host, request, sink, progress)();
}

}  // namespace bmcompiler_plugin
