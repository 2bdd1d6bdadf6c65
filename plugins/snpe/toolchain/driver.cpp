// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <algorithm>
#include <utility>

namespace snpe_plugin {
namespace {

constexpr const char* kName = "onnxruntime-qnn's process";

int32_t code_of(std::string_view name) {
  static constexpr std::pair<std::string_view, int32_t> codes[] = {{"UNSUPPORTED", OPTIMA_UNSUPPORTED}, {"DEPENDENCY", OPTIMA_DEPENDENCY},
                                                                   {"MEMORY", OPTIMA_MEMORY},           {"IO", OPTIMA_IO},
                                                                   {"CORRUPT", OPTIMA_CORRUPT},         {"TOOL_FAILED", OPTIMA_TOOL_FAILED}};
  for (const auto& [word, code] : codes)
    if (word == name) return code;
  return OPTIMA_INTERNAL;
}

/// Errors after which people want to read what the tools printed.
bool tells_of_log(int32_t code) { return code == OPTIMA_TOOL_FAILED || code == OPTIMA_TIMEOUT || code == OPTIMA_MEMORY || code == OPTIMA_INTERNAL; }

sdk::Error with_log(sdk::Error error, const Bounds& bounds) {
  if (!bounds.log.empty() && tells_of_log(error.code)) error.text += "; what it printed is in " + bounds.log;
  return error;
}

/// Ours without what would have Python load other modules, and without what moves its memory: files of the tools differ with it. Memory is
/// zero when it is had: the tools write some of it as it was, which would show what was there before (this environment, say).
std::vector<std::string> environment() {
  std::vector<std::string> all = sdk::inherited_environment({"PYTHONHASHSEED=0", "GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0"});
  std::erase_if(all, [](const std::string& e) { return (e.starts_with("PYTHON") && !e.starts_with("PYTHONHASHSEED=")) || e.starts_with("MALLOC_"); });
  return all;
}

/// Whether the last words of a process that died tell of missing memory.
bool died_of_memory(const sdk::Error& e) {
  if (e.code != OPTIMA_TOOL_FAILED) return false;
  for (const char* words : {"std::bad_alloc", "MemoryError", "Cannot allocate memory"})
    if (e.text.find(words) != std::string::npos) return true;
  return false;
}

sdk::Error out_of_memory(uint64_t limit) {
  return {OPTIMA_MEMORY, std::string(kName) + " ran out of memory" + (limit > 0 ? " within its limit of " + std::to_string(limit >> 20) + " MiB" : "")};
}

sdk::Command command_of(const Start& start) {
  sdk::Command command;
  command.program = start.python;
  command.arguments = {"-s", "-P", "-B", start.script};  // nobody's own modules, and none compiled into the installed tree
  command.environment = environment();
  command.folder = "/";
  command.memory_limit = start.memory_limit;
  return command;
}

}  // namespace

Driver::Driver(const Start& start, const std::string& log) : memory_limit_(start.memory_limit), talk_(kName, command_of(start), log) {}

Words Driver::ask(const Words& question, const Bounds& bounds) {
  Words line{bounds.log};
  line.insert(line.end(), question.begin(), question.end());
  Words answer;
  try {
    answer = sdk::words_of(talk_.ask(sdk::line_of(line), {bounds.time_limit, bounds.cancelled, bounds.log}));
  } catch (const sdk::Error& e) {
    throw with_log(died_of_memory(e) ? out_of_memory(memory_limit_) : e, bounds);
  }
  if (answer[0] == "ok") return {answer.begin() + 1, answer.end()};
  if (answer[0] != "fail" || answer.size() != 3)
    throw with_log(sdk::Error(OPTIMA_TOOL_FAILED, std::string(kName) + " answered '" + answer[0] + "', wanted ok or fail"), bounds);
  const int32_t code = code_of(answer[1]);
  throw with_log(code == OPTIMA_MEMORY ? out_of_memory(memory_limit_) : sdk::Error(code, std::move(answer[2])), bounds);
}

std::unique_ptr<Driver> Drivers::fresh(const Bounds& bounds) const {
  return std::make_unique<Driver>(Start{python_, script_, bounds.memory_limit}, bounds.log);
}

std::unique_ptr<Driver> Drivers::take(uint64_t memory_limit) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [](const Idle& i) { return !i.driver->alive(); });
  const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& i) { return i.memory_limit == memory_limit; });
  if (at == idle_.end()) return nullptr;
  std::unique_ptr<Driver> driver = std::move(at->driver);
  idle_.erase(at);
  return driver;
}

Words Drivers::ask(const Words& question, const Bounds& bounds) {
  std::unique_ptr<Driver> driver = take(bounds.memory_limit);
  if (!driver) driver = fresh(bounds);
  const auto give_back = [&] {
    const std::lock_guard lock(mutex_);
    idle_.push_back({bounds.memory_limit, std::move(driver)});
  };
  try {
    Words answer = driver->ask(question, bounds);
    give_back();
    return answer;
  } catch (const sdk::Error&) {
    if (driver->alive()) give_back();
    throw;
  }
}

}  // namespace snpe_plugin
