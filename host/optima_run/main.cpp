// SPDX-License-Identifier: Apache-2.0
// host/optima_run: the small program for the target: command line -> runtime -> exit code.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/loader/guard.hpp"
#include "core/runtime/context.hpp"
#include "core/support/file.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"
#include "host/optima_run/options.hpp"

namespace {

using namespace optima;

void print_line(std::string_view line) { put_out(cat(line, "\n")); }
void tell_line(std::string_view line) { std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); }

// OPTIMA_PLUGINS, else beside the program; a privileged process does not listen to its environment.
std::vector<std::string> default_folders() {
  if (const char* named = secure_getenv("OPTIMA_PLUGINS"); named && *named) return {named};
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = program.parent_path().parent_path() / "lib" / "optima" / "plugins";
  if (!program.empty() && std::filesystem::is_directory(beside, error)) return {beside.string()};
  return {};
}

Status run_task(const run::CommandLine& line) {
  RunPrinter printer;
  const bool trace_to_stdout = names_stdout(line.options.trace);
  if (line.json && trace_to_stdout) return usage_error(cat("--trace ", line.options.trace, " and --json both want stdout, wanted one of them"));
  if (line.json) printer.document = [](const Json& document) { put_out(to_text(document)); };
  else printer.line = trace_to_stdout ? tell_line : print_line;
  PluginFolders folders;
  folders.folders = line.plugin_folders.empty() ? default_folders() : line.plugin_folders;
  for (std::string& f : folders.folders) f = expand_home(f);
  folders.options = line.plugin_options;
  folders.allow_writable = line.allow_writable;
  folders.host_name = "optima-run";
  folders.host_version = OPTIMA_VERSION;
  OPTIMA_ASSIGN(std::unique_ptr<PluginSource> plugins, scan_plugins(std::move(folders)));
  RuntimeContext context(std::move(plugins));
  RunOptions options = line.options;
  options.cancelled = &ProcessGuard::interrupted();
  switch (line.task) {
    case run::Task::Bench: return bench_package(context, options, printer);
    case run::Task::Check: return check_package(context, options, printer);
    case run::Task::Devices: return print_devices(context, printer);
    default: return run_package(context, options, printer);
  }
}

Status run_program(const std::vector<std::string>& words) {
  OPTIMA_ASSIGN(const run::CommandLine line, run::parse(words));
  if (line.task == run::Task::Help) return print_line(run::help_text().substr(0, run::help_text().size() - 1)), Status();
  if (line.task == run::Task::Version) return print_line("optima-run " OPTIMA_VERSION), Status();
  set_log([](LogLevel level, std::string_view component, std::string_view text) {
    std::fprintf(stderr, "%.*s %.*s: %.*s\n", static_cast<int>(name_of(level).size()), name_of(level).data(), static_cast<int>(component.size()),
                 component.data(), static_cast<int>(text.size()), text.data());
  }, line.log_level);
  return run_task(line);
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_files();
  std::signal(SIGPIPE, SIG_IGN);  // writes say so themselves
  std::signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it, and then nobody could tell how a child ended
  keep_stdout();
  ProcessGuard guard({"optima-run: ", "optima-run: "});
  const Status status = guarded([&] { return run_program(std::vector<std::string>(argv + 1, argv + argc)); });
  return guard.end(finish_program(status, [](const Status& why) { std::fprintf(stderr, "optima-run: %s\n", why.message().c_str()); }));
}
