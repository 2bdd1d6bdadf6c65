// SPDX-License-Identifier: Apache-2.0
// host: exit(), _exit() and _Exit() of both programs. They are exported, so that a plugin that calls one of them calls ours: libc's would end
// the process with whatever code the plugin gave, 0 for one. libc itself, after main(), calls its own.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "core/loader/guard.hpp"

// A sanitizer has its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {

[[noreturn, gnu::visibility("default"), gnu::used]] void _exit(int code) {
  for (const int last = optima::ProcessGuard::on_exit_call("called _exit()", code);;) ::syscall(SYS_exit_group, last);
}

[[noreturn, gnu::visibility("default"), gnu::used]] void _Exit(int code) noexcept { _exit(code); }

[[noreturn, gnu::visibility("default"), gnu::used]] void exit(int code) noexcept {
  const int last = optima::ProcessGuard::on_exit_call("called exit()", code);
  if (auto* const libc_exit = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, "exit"))) libc_exit(last);
  _exit(last);
}

}
#endif
