// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

extern char** environ;

namespace optima::test {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& w : words) out.push_back(const_cast<char*>(w.c_str()));
  out.push_back(nullptr);
  return out;
}

// `out_file`: the file that becomes stdout; -1 = "out" in the folder, where stderr becomes "err". Gives 0 and the reason in "err" when the
// program does not start.
pid_t start_in(const TempFolder& folder, int out_file, const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const std::string out = folder / "out", err = folder / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (out_file < 0) posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  else posix_spawn_file_actions_adddup2(&actions, out_file, 1);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<std::string> variables = environment;
  for (char** e = environ; *e; ++e) variables.emplace_back(*e);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (!failed) return child;
  put(err, words[0] + " did not start: " + std::strerror(failed));
  return 0;
}

Ran wait_for(const TempFolder& folder, pid_t child) {
  Ran ran;
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) == child) ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = get(folder / "out");
  ran.err = get(folder / "err");
  return ran;
}

Ran run_to(int out_file, const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const TempFolder folder;
  return wait_for(folder, start_in(folder, out_file, words, environment));
}

}  // namespace

Ran run(const std::vector<std::string>& words, const std::vector<std::string>& environment) { return run_to(-1, words, environment); }

Started::Started(const std::vector<std::string>& words, const std::vector<std::string>& environment)
    : child_(start_in(folder_, -1, words, environment)) {}

Started::~Started() {
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  (void)wait_for(folder_, child_);
}

template <class F>
bool Started::comes_to(F&& reached) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < until) {
    if (reached()) return true;
    siginfo_t ended{};
    if (child_ <= 0 || (::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0)) return reached();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

bool Started::comes_to_file(const std::string& path) const {
  return comes_to([&] { return std::filesystem::exists(path); });
}
bool Started::says(const std::string& text) const {
  return comes_to([&] { return get(folder_ / "err").find(text) != std::string::npos; });
}
void Started::signal(int number) const {
  if (child_ > 0) ::kill(child_, number);
}
Ran Started::finish() { return wait_for(folder_, std::exchange(child_, 0)); }

Ran run_unread(const std::vector<std::string>& words) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  ::close(ends[0]);
  Ran ran = run_to(ends[1], words, {});
  ::close(ends[1]);
  return ran;
}

std::string host_program() { return OPTIMA_BINARY_DIR "/bin/optima-host"; }
std::string run_program() { return OPTIMA_BINARY_DIR "/bin/optima-run"; }

Ran host(std::vector<std::string> words) {
  words.insert(words.begin(), host_program());
  return run(words);
}

}  // namespace optima::test
