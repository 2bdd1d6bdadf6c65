// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner: the emulators' threads poll without rest, also when nothing runs, and so take all the cores there are. Between
// runs they are held in a signal's handler.
#pragma once

#include <dirent.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <vector>

namespace runner {

/// Holds all other threads but `but` while this lives: nothing may be allocated meanwhile, they may hold the allocator's locks.
class Pause {
 public:
  explicit Pause(pid_t but) {
    static const bool installed = install();
    (void)installed;
    const std::vector<pid_t> threads = others(but);
    held() = 1;
    for (const pid_t thread : threads) ::syscall(SYS_tgkill, ::getpid(), thread, SIGUSR2);
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause() {
    held() = 0;
    ::syscall(SYS_futex, &held(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  static std::atomic<int>& held() {
    static std::atomic<int> flag{0};
    return flag;
  }
  static void hold(int) {
    while (held() != 0) ::syscall(SYS_futex, &held(), FUTEX_WAIT, 1, nullptr, nullptr, 0);
  }
  static bool install() {
    held() = 0;  // made before a handler asks for it
    struct sigaction action {};
    action.sa_handler = hold;
    action.sa_flags = SA_RESTART;
    return ::sigaction(SIGUSR2, &action, nullptr) == 0;
  }
  static std::vector<pid_t> others(pid_t but) {
    std::vector<pid_t> all;
    DIR* folder = ::opendir("/proc/self/task");
    if (!folder) return all;
    while (const dirent* entry = ::readdir(folder))
      if (const pid_t thread = std::atoi(entry->d_name); thread > 0 && thread != but && thread != static_cast<pid_t>(::syscall(SYS_gettid))) all.push_back(thread);
    ::closedir(folder);
    return all;
  }
};

}  // namespace runner
