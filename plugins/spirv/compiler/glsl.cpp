// SPDX-License-Identifier: Apache-2.0
#include "glsl.hpp"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <cstdio>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#include <sstream>

#include "optima/plugin/error.hpp"

namespace spirv_plugin {
namespace {

namespace sdk = optima::sdk;

/// glslang's tables, made once: 70 ms.
void start() {
  static const bool once = glslang::InitializeProcess();
  if (!once) throw sdk::Error(OPTIMA_INTERNAL, "glslang cannot start");
}

[[noreturn]] void failed(const char* what, const std::string& log, const std::string& text = "") {
  std::string said = log.substr(0, log.find('\n'));
  int number = 0;
  if (std::sscanf(said.c_str(), "ERROR: 0:%d", &number) == 1) {  // the line it speaks of
    std::istringstream lines(text);
    std::string line;
    for (int k = 0; k < number; ++k) std::getline(lines, line);
    said += " in: " + line.substr(0, 200);
  }
  throw sdk::Error(OPTIMA_INTERNAL, std::string(what) + ": " + said);
}

std::vector<uint32_t> translated(const std::string& text) {
  glslang::TShader shader(EShLangCompute);
  const char* source = text.c_str();
  shader.setStrings(&source, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_1);
  shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_3);
  const auto rules = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  if (!shader.parse(GetDefaultResources(), 450, false, rules)) failed("kernel is refused by glslang", shader.getInfoLog(), text);
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(rules)) failed("kernel is refused by glslang's linker", program.getInfoLog());
  std::vector<uint32_t> words;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words);
  return words;
}

bool is_valid(const std::vector<uint32_t>& words, std::string& why) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_1);
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&, const char* text) { why = text; });
  spvtools::ValidatorOptions options;
  options.SetFriendlyNames(false);  // two thirds of the time
  return tools.Validate(words.data(), words.size(), options);
}

struct Pass {
  const char* name;
  spvtools::Optimizer::PassToken (*make)();
};
/// Every driver does these things over again. What is done of them here makes modules a third smaller and costs little; rewriting into SSA, inlining
/// and looking for common expressions take three times as long as all else together, and no run was faster for them.
constexpr Pass kPasses[] = {{"strip-debug", spvtools::CreateStripDebugInfoPass},
                            {"local-single-block", spvtools::CreateLocalSingleBlockLoadStoreElimPass},
                            {"local-single-store", spvtools::CreateLocalSingleStoreElimPass},
                            {"compact-ids", spvtools::CreateCompactIdsPass}};

/// What SPIRV-Tools' passes make of it; empty when they fail.
std::vector<uint32_t> optimised(const std::vector<uint32_t>& words) {
  spvtools::Optimizer passes(SPV_ENV_VULKAN_1_1);
  passes.SetMessageConsumer([](spv_message_level_t, const char*, const spv_position_t&, const char*) {});
  for (const Pass& pass : kPasses) passes.RegisterPass(pass.make());
  std::vector<uint32_t> out;
  std::string ignored;
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);  // what comes out is looked at
  if (!passes.Run(words.data(), words.size(), &out, options) || !is_valid(out, ignored)) out.clear();
  return out;
}

}  // namespace

Module compile_glsl(const std::string& text) {
  start();
  const std::vector<uint32_t> plain = translated(text);
  Module out{optimised(plain)};
  if (!out.words.empty()) return out;
  std::string why;
  if (!is_valid(plain, why)) failed("kernel is not valid for Vulkan 1.1", why);
  return {plain};
}

const std::string& tools() {
  static const std::string once = [] {
    const glslang::Version v = glslang::GetVersion();
    std::string out = "glslang " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) + v.flavor + ", " + spvSoftwareVersionDetailsString() + ", Vulkan 1.1";
    for (const Pass& pass : kPasses) out += std::string(", ") + pass.name;
    return out;
  }();
  return once;
}

}  // namespace spirv_plugin
