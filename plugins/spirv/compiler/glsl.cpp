// SPDX-License-Identifier: Apache-2.0
#include "glsl.hpp"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <atomic>
#include <cstdio>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#include <sstream>
#include <thread>

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

/// What SPIRV-Tools' passes make of it; empty when they fail.
std::vector<uint32_t> optimised(const std::vector<uint32_t>& words) {
  spvtools::Optimizer passes(SPV_ENV_VULKAN_1_1);
  passes.SetMessageConsumer([](spv_message_level_t, const char*, const spv_position_t&, const char*) {});
  // Every driver does these things over again. What is done of them here makes modules a third smaller and costs little; rewriting into SSA, inlining
  // and looking for common expressions take three times as long as all else together, and no run was faster for them.
  passes.RegisterPass(spvtools::CreateStripDebugInfoPass())
      .RegisterPass(spvtools::CreateLocalSingleBlockLoadStoreElimPass())
      .RegisterPass(spvtools::CreateLocalSingleStoreElimPass())
      .RegisterPass(spvtools::CreateCompactIdsPass());
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
  Module out{optimised(plain), true};
  if (!out.words.empty()) return out;
  std::string why;
  if (!is_valid(plain, why)) failed("kernel is not valid for Vulkan 1.1", why);
  return {plain, false};
}

std::vector<Module> compile_all(const std::vector<std::string>& texts, unsigned threads, const std::function<void(size_t)>& done) {
  start();
  std::vector<Module> out(texts.size());
  std::vector<std::exception_ptr> errors(texts.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  const auto work = [&](bool tells) {
    for (size_t k; !stop && (k = next++) < texts.size();) {
      try {
        out[k] = compile_glsl(texts[k]);
      } catch (...) {
        errors[k] = std::current_exception();
      }
      if (tells) done(k);
    }
  };
  std::vector<std::thread> helpers;
  struct Joined {
    std::vector<std::thread>& all;
    std::atomic<bool>& stop;
    bool finished = false;
    ~Joined() {
      if (!finished) stop = true;
      for (std::thread& t : all) t.join();
    }
  };
  {
    Joined joined{helpers, stop};
    for (unsigned k = 1; k < std::min<size_t>(threads, texts.size()); ++k) helpers.emplace_back(work, false);
    work(true);
    joined.finished = true;
  }
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  return out;
}

}  // namespace spirv_plugin
