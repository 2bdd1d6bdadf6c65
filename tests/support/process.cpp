// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
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

// A file of /proc, which may be gone by now.
std::string line_of(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// The process and all that came of it, each after its parent.
std::vector<pid_t> family(pid_t first) {
  std::vector<std::pair<pid_t, pid_t>> parents;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const std::string stat = line_of(process.path() / "stat");  // "id (name) state parent ...", and the name may hold anything
    const std::size_t name_end = stat.rfind(") ");
    if (name_end != std::string::npos && name_end + 4 < stat.size()) parents.emplace_back(std::atoi(stat.c_str()), std::atoi(stat.c_str() + name_end + 4));
  }
  std::vector<pid_t> out{first};
  for (std::size_t i = 0; i < out.size(); ++i)
    for (const auto& [process, parent] : parents)
      if (parent == out[i]) out.push_back(process);
  return out;
}

// The words of a process, and what each of its threads waits for in the kernel.
std::string waits_of(pid_t process) {
  const std::filesystem::path folder = "/proc/" + std::to_string(process);
  std::string words = line_of(folder / "cmdline");
  std::replace(words.begin(), words.end(), '\0', ' ');
  std::string text = "\n  " + words + "in";
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(folder / "task", gone)) text += " " + line_of(thread.path() / "wchan");
  return text;
}

// A program that hangs fails the case that started it, by name, and not the whole test program by its time limit without a word.
constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(6);

// Waits until the program ended; kills it and all that it started after kLongest. Gives what they did until then, nothing where it ended by itself.
std::string killed_late(pid_t child) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  pollfd one{handle, POLLIN, 0};
  const bool in_time = handle < 0 || ::poll(&one, 1, static_cast<int>(kLongest.count())) != 0;
  if (handle >= 0) ::close(handle);
  if (in_time) return {};
  std::string waits = "\ntest: killed since it did not end in " + std::to_string(kLongest.count() / 1000) + " s; what waited, and where:";
  const std::vector<pid_t> all = family(child);
  for (const pid_t process : all) waits += waits_of(process);
  for (const pid_t process : all) ::kill(process, SIGKILL);
  return waits + "\n";
}

Ran wait_for(const TempFolder& folder, pid_t child) {
  Ran ran;
  int status = 0;
  const std::string hung = child > 0 ? killed_late(child) : std::string();
  if (child > 0 && ::waitpid(child, &status, 0) == child) ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = get(folder / "out");
  ran.err = get(folder / "err") + hung;
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
