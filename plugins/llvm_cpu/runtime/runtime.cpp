// SPDX-License-Identifier: Apache-2.0
// llvm_cpu: the runtime half: which artifacts run here, and loading them.
#include "optima/plugin/plugin.hpp"
#include "plugins/llvm_cpu/info.hpp"
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"
#include "plugins/llvm_cpu/runtime/files.hpp"
#include "plugins/llvm_cpu/runtime/fitted_program.hpp"
#include "plugins/llvm_cpu/runtime/present.hpp"
#include "plugins/llvm_cpu/runtime/processors.hpp"
#include "plugins/llvm_cpu/runtime/program.hpp"

namespace optima::llvm_cpu {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == ' ') out.emplace_back();
    else out.back() += c;
  return out;
}

/// Why code for this triple with these features does not run here; empty = it does.
std::string wrong_device(const std::string& triple, const std::vector<std::string>& features) {
  const std::string arch = triple.substr(0, triple.find('-'));
  if (arch != running_arch()) return "artifact is for " + arch + ", this machine is " + running_arch();
  std::string missing;
  for (const std::string& f : missing_features(features)) missing += (missing.empty() ? "" : ", ") + f;
  return missing.empty() ? "" : "artifact needs a processor with " + missing + ", which this one has not";
}

/// What `parse` makes of the .meta file of the artifact.
template <class F>
auto meta_of(const sdk::Artifact& artifact, F&& parse) {
  return read_file(artifact, ".meta", [&](const optima_blob& file) {
    const sdk::Elements<char> bytes(file);
    return parse(std::string_view(bytes.data(), bytes.size()));
  });
}

void check_device(const std::string& triple, const std::vector<std::string>& features) {
  if (const std::string why = wrong_device(triple, features); !why.empty()) throw sdk::Error(OPTIMA_WRONG_DEVICE, why);
}

class LlvmCpuRuntime : public sdk::Plugin, public sdk::Runtime, public sdk::Profiler, public sdk::ContextOptions, public sdk::Stoppable {
 public:
  explicit LlvmCpuRuntime(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string&) override { return present_processors(); }

  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device&) override {
    if (artifact.format() != kFormat && artifact.format() != kFittedFormat)
      return {OPTIMA_COMPAT_RECOMPILE, "artifact has format " + std::string(artifact.format()) + ", wanted " + kFormat + " or " + kFittedFormat};
    std::vector<std::string> record = words(artifact.compat());
    const std::string triple = record.front();
    record.erase(record.begin());
    if (triple.empty()) return {OPTIMA_COMPAT_CORRUPT, "artifact does not say what it was compiled for"};
    const std::string why = wrong_device(triple, record);
    if (!why.empty()) return {OPTIMA_COMPAT_WRONG_DEVICE, why};
    return {OPTIMA_COMPAT_OPTIMAL, ""};
  }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device& device, const sdk::Options& options) override {
    const sdk::Compatibility c = check_artifact(artifact, device);
    if (c.verdict == OPTIMA_COMPAT_RECOMPILE) throw sdk::Error(OPTIMA_RECOMPILE, c.text);
    if (c.verdict == OPTIMA_COMPAT_WRONG_DEVICE) throw sdk::Error(OPTIMA_WRONG_DEVICE, c.text);
    if (c.verdict != OPTIMA_COMPAT_OPTIMAL) throw sdk::Error(OPTIMA_CORRUPT, c.text);
    const int threads = thread_count(options.integer(OPTIMA_OPTION_THREADS, 0), useful_processors(allowed_processors()));
    if (artifact.format() == kFittedFormat) {
      FitFile file = meta_of(artifact, parse_fit_file);
      check_device(file.target.triple, file.features);
      return std::make_unique<FittedProgram>(std::move(file), artifact, host_, threads);
    }
    Plan plan = meta_of(artifact, parse_plan);
    check_device(plan.triple, plan.features);
    return std::make_unique<LoadedProgram>(std::move(plan), artifact, host_, threads);
  }

 private:
  sdk::Host host_;
};

}  // namespace
}  // namespace optima::llvm_cpu

OPTIMA_PLUGIN(optima::llvm_cpu::LlvmCpuRuntime, optima::llvm_cpu::kInfo)
