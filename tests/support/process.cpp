// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/support/temp_folder.hpp"

extern char** environ;

namespace optima::test {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& w : words) out.push_back(const_cast<char*>(w.c_str()));
  out.push_back(nullptr);
  return out;
}

// `out`: the file that becomes stdout; -1 = one of ours, which is read back.
Ran run_to(int out_file, const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const TempFolder folder;
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
  Ran ran;
  const int failed = ::posix_spawnp(&child, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    ran.err = words[0] + " did not start: " + std::strerror(failed);
    return ran;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = slurp(out);
  ran.err = slurp(err);
  return ran;
}

}  // namespace

Ran run(const std::vector<std::string>& words, const std::vector<std::string>& environment) { return run_to(-1, words, environment); }

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
