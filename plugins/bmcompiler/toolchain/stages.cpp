// SPDX-License-Identifier: Apache-2.0
#include "toolchain/stages.hpp"

#include <filesystem>

#include "toolchain/call.hpp"
#include "toolchain/undated.hpp"

namespace bmcompiler_plugin {
namespace {

namespace fs = std::filesystem;

/// A pass with settings is one word: no shell comes between.
std::string pass(const std::string& name, const std::string& settings) { return "--" + name + "=" + settings; }
const char* said(bool on) { return on ? "True" : "False"; }

constexpr std::string_view kStageMark = " (stage ";
std::string in_stage(const Stage& stage) { return std::string(kStageMark) + stage.name + ")"; }

// With threads the writer of bm1684's files finds other memory each time where it takes memory for zero.
constexpr const char* kOneThread = "--mlir-disable-threading";

Stage top_stage(const Job& job) {
  return {"top", {job.module, kOneThread, "--shape-infer", "--canonicalize", "--extra-optimize", "-o", "stage_top.mlir"}, "stage_top.mlir"};
}

Stage lowering(const Job& job) {
  Stage s{"lowering", {"stage_top.mlir", kOneThread}, "stage_tpu.mlir"};
  s.words.push_back(pass("processor-assign", "chip=" + std::string(job.chip->name) + " mode=" + job.mode + " num_device=1 num_core=" + std::to_string(job.cores) +
                                                 " addr_mode=auto"));
  if (!job.calibration.empty()) s.words.push_back(pass("import-calibration-table", "file=" + job.calibration + " asymmetric=" + said(job.asymmetric)));
  s.words.push_back("--processor-top-optimize");
  s.words.push_back(pass("convert-top-to-tpu", (job.precisions.empty() ? "" : "qtable=" + job.precisions + " ") +
                                                   std::string("weightFileName=stage_tpu.npz asymmetric=") + said(job.asymmetric) +
                                                   (job.calibration.empty() ? "" : " matmul_perchannel=True")));
  s.words.insert(s.words.end(), {"--canonicalize", "--weight-fold", "-o", s.product});
  return s;
}

Stage tpu(const Job& job) {
  return {"tpu",
          {"stage_tpu.mlir", kOneThread, "--strip-io-quant", "--processor-tpu-optimize", "--dev-parallel", "--weight-reorder",
           job.dynamic ? pass("subnet-divide", "dynamic=True") : "--subnet-divide", "--op-reorder", "--topo-sort", pass("layer-group", "opt=2"), "--affine-opt",
           "--core-parallel", "--after-layergroup-weight-reorder", "--address-assign", "-o", "stage_final.mlir"},
          "stage_final.mlir"};
}

/// A .cvimodel's writer aborts ("version set error") unless it is told a version of its format.
Stage codegen(const Job& job) {
  const bool cvi = job.chip->runner == Runner::Cvi;
  return {"codegen",
          {"stage_final.mlir", kOneThread, pass("codegen", "model_file=" + job.result + " bmodel_only=True" + (cvi ? " model_version=latest" : "")), "-o",
           "/dev/null"},
          job.result};
}

/// What the tools open for a chip while they compile (seen); where one is not there they abort or write half a file.
std::vector<std::string_view> compilers_of(const Chip& chip) {
  if (chip.name == "bm1684x") return {"libbackend_bm1684x.so", "libcpuop.so", "libbm1684x_kernel_module.so"};
  if (chip.name == "bm1684") return {"libbackend_bm1684.so", "libcpuop.so"};
  if (chip.name == "bm1690") return {"libbackend_bm1690.so", "libcpuop.so", "libbm1690_kernel_module.so"};
  if (chip.runner == Runner::Cvi) return {"libcvikernel.so"};
  return {"libbackend_bm1688.so", "libcpuop.so", "libbmtpulv60_kernel_module.so"};
}

void require_libraries(const Facts& tools, const Chip& chip) {
  std::error_code ignored;
  for (const std::string_view name : compilers_of(chip))
    if (!fs::exists(tools.root + "/lib/" + std::string(name), ignored))
      throw sdk::Error(OPTIMA_DEPENDENCY, "folder '" + tools.root + "/lib' holds no " + std::string(name) + ", which files for " + std::string(chip.name) +
                                              " are made with: scripts/setup --with sophon installs the tools");
}

void run(const Facts& tools, const Stage& stage, const Bounds& bounds) {
  const std::string product = bounds.work + "/" + stage.product;
  std::error_code ignored;
  fs::remove(product, ignored);
  try {
    call_tool({stage.program, tools.root + "/bin/" + stage.program, stage.words, environment_of(tools.root, bounds.work), stage.program == "tpuc-opt"}, bounds);
  } catch (sdk::Error& e) {
    if (e.code == OPTIMA_UNSUPPORTED || e.code == OPTIMA_TOOL_FAILED) e.text += in_stage(stage);
    throw;
  }
  const bool there = fs::is_regular_file(product, ignored);
  if (!there || fs::file_size(product, ignored) == 0)
    throw sdk::Error(OPTIMA_TOOL_FAILED, stage.program + " ended well, but '" + stage.product + "' is " + (there ? "empty" : "not there") + "; what it printed is in " +
                                             bounds.log + in_stage(stage));
}

}  // namespace

Stage combine_stage(const std::vector<std::string>& files, const std::string& result) {
  Stage s{"combine", {"--combine"}, result, "model_tool"};
  s.words.insert(s.words.end(), files.begin(), files.end());
  s.words.insert(s.words.end(), {"-o", result});
  return s;
}

std::vector<std::string> results_of(const Job& job, const std::vector<std::string>& parts) {
  std::vector<std::string> files;
  for (const std::string& part : parts) files.push_back(part + "/" + job.result);
  return files;
}

void combine(const Facts& tools, const std::vector<std::string>& files, const std::string& result, const Bounds& bounds) {
  std::error_code ignored;
  if (!fs::exists(tools.root + "/bin/model_tool", ignored))
    throw sdk::Error(OPTIMA_DEPENDENCY, "folder '" + tools.root + "/bin' holds no model_tool, which puts several batches into one file: scripts/setup --with sophon installs the tools");
  run(tools, combine_stage(files, result), bounds);
  undate(bounds.work + "/" + result);
}

std::vector<Stage> stages_of(const Job& job) { return {top_stage(job), lowering(job), tpu(job), codegen(job)}; }

void compile_through(std::string_view last, const Facts& tools, const Job& job, const Bounds& bounds, const sdk::Progress& progress) {
  require_libraries(tools, *job.chip);
  const std::vector<Stage> stages = stages_of(job);
  for (size_t k = 0; k < stages.size(); ++k) {
    progress(static_cast<double>(k) / static_cast<double>(stages.size()), stages[k].name);
    run(tools, stages[k], bounds);
    if (stages[k].name == last) return;
  }
}

void compile_stages(const Facts& tools, const Job& job, const Bounds& bounds, const sdk::Progress& progress) {
  compile_through("codegen", tools, job, bounds, progress);
  undate(bounds.work + "/" + job.result);
}

std::string stage_of(const sdk::Error& failed) {
  const size_t at = failed.text.rfind(kStageMark);
  if (at == failed.text.npos) return {};
  const size_t begin = at + kStageMark.size();
  return failed.text.substr(begin, failed.text.find(')', begin) - begin);
}

}  // namespace bmcompiler_plugin
