// SPDX-License-Identifier: Apache-2.0
#include "core/loader/last_words.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/support/leftovers.hpp"
#include "core/support/status.hpp"
#include "core/support/threads.hpp"

namespace optima {

namespace {

constinit Prefixes prefix = {"", ""};
constinit bool has_terminal = false;
constinit std::atomic<bool> is_exiting = false;
constinit std::atomic<long> ending_thread = 0;

void print(const char* beginning, const Line& line) {
  Line all;
  if (has_terminal) all.add("\r\033[K");  // a progress bar
  all.add(beginning).add(line.text().substr(0, 900)).add("\n");
  for (std::string_view rest = all.text(); !rest.empty();) {
    const ssize_t n = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (n <= 0) return;
    rest.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

Line& Line::add(std::string_view text) {
  const size_t n = std::min(text.size(), sizeof text_ - size_);
  std::memcpy(text_ + size_, text.data(), n);
  size_ += n;
  return *this;
}

Line& Line::add(uint64_t number) {
  char digits[20];
  size_t first = sizeof digits;
  do digits[--first] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  return add({digits + first, sizeof digits - first});
}

Line& Line::add(const seam::RunningCall& call) {
  if (call.subgraph != OPTIMA_NONE) add("subgraph ").add(uint64_t{call.subgraph}).add(": ");
  return add("plugin '").add(std::string_view(call.plugin)).add("': ").add(std::string_view(call.call));
}

void set_prefixes(const Prefixes& prefixes) {
  prefix = prefixes;
  has_terminal = ::isatty(STDERR_FILENO) == 1;
}

void print_note(const Line& line) { print(prefix.note, line); }
void print_error(const Line& line) { print(prefix.error, line); }

void begin_to_end() {
  const long here = ::syscall(SYS_gettid);
  long nobody = 0;
  if (ending_thread.compare_exchange_strong(nobody, here)) return;
  if (nobody == here) leave(exit_code(StatusKind::Plugin));  // a crash on the way out
  for (;;) ::pause();
}

void begin_to_exit() { is_exiting = true; }

void end_with(std::string_view what, std::string_view more) {
  begin_to_end();
  Line line;
  seam::RunningCall call;
  const bool late = is_exiting && seam::plugins_were_called(), inside = seam::call_of_this_thread(call);
  const bool own = !late && !inside && is_own_thread();
  if (inside) line.add(call).add(": ").add(what);
  else if (late) line.add("the library of a plugin ").add(what).add(" while the program ended");
  else if (own) line.add("the program itself ").add(what).add(", please report it");
  else if (seam::call_of_the_only_plugin(call)) line.add(call).add(": ").add(what).add(" on a thread of its own");
  else line.add("a plugin ").add(what).add(" on a thread of its own");
  print_error(line.add(more));
  remove_leftovers();
  if (!own) leave(exit_code(StatusKind::Plugin));
}

void end_interrupted(int signal) {
  begin_to_end();
  Line line;
  seam::RunningCall call;
  line.add("interrupted");
  if (seam::some_call(call)) line.add("; ").add(call).add(" did not come back");
  print_error(line);
  remove_leftovers();
  die_of(signal);
}

void die_of(int signal) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  leave(128 + signal);  // the first process of a container
}

void leave(int code) {
  for (;;) ::syscall(SYS_exit_group, code);
}

}  // namespace optima
