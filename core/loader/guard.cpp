// SPDX-License-Identifier: Apache-2.0
// core/loader: the handlers. What they do is async-signal-safe: atomics, bounded texts, system calls.
#include "core/loader/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "core/loader/seam.hpp"
#include "core/loader/secrets.hpp"
#include "core/support/leftovers.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"
#include "optima/plugin/sanitizer.hpp"

namespace optima {

namespace {

// The same signal twice within this time is one request: `timeout` and some terminals send it to the process and to its group.
constexpr int kOneRequestMs = 300;

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};

constinit std::atomic<pid_t> guarded_process = 0;
constinit std::atomic<bool> is_over = false, interrupted = false;
constinit std::atomic<int> final_code = 0, first_signal = 0;
constinit std::atomic<int64_t> first_signal_ms = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);  // set by signal handlers

struct sigaction before[std::size(kCrashes)];  // what the crashes did before
int wake[2] = {-1, -1};                        // to the watcher: one byte for the first signal, one for the end

bool is_guarded() { return guarded_process == ::getpid(); }

// ---- crashes

const char* crash_text(int signal) {
  switch (signal) {
    case SIGSEGV: return "crashed (SIGSEGV)";
    case SIGBUS: return "crashed (SIGBUS)";
    case SIGILL: return "crashed (SIGILL)";
    case SIGFPE: return "crashed (SIGFPE)";
    case SIGABRT: return "aborted (SIGABRT)";
    default: return "crashed (SIGTRAP)";
  }
}

uintptr_t stack_pointer(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uintptr_t>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return machine.sp;
#elif defined(__riscv)
  return machine.__gregs[REG_SP];
#else
#error "name this machine's stack pointer here"
#endif
}

// Nothing near the stack pointer faults but the pages below the stack.
bool is_stack_overflow(const siginfo_t& info, const void* context) {
  constexpr uintptr_t kNear = 64 << 10;
  const auto at = reinterpret_cast<uintptr_t>(info.si_addr), top = stack_pointer(context);
  return info.si_signo == SIGSEGV && info.si_code > 0 && (at < top ? top - at : at - top) < kNear;
}

// A fault of the program itself goes on as it would have gone: to a debugger, a sanitizer or a core file.
void take_usual_course(int signal, const siginfo_t& info) {
  size_t k = 0;
  while (kCrashes[k] != signal) ++k;
  ::sigaction(signal, &before[k], nullptr);
  if (info.si_code <= 0) ::raise(signal);  // it was sent; else the instruction fails once more
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (is_guarded()) end_with(is_stack_overflow(*info, context) ? "crashed (SIGSEGV, stack overflow)" : crash_text(signal));
  take_usual_course(signal, *info);
}

// A sanitizer's report says more; it needs these signals for itself.
constexpr bool kLeavesCrashesToSanitizer = sdk::kSanitizer != OPTIMA_SANITIZER_NONE;

void catch_crashes() {
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (size_t k = 0; k < std::size(kCrashes) && !kLeavesCrashesToSanitizer; ++k) ::sigaction(kCrashes[k], &action, &before[k]);
}

// ---- ends

[[noreturn]] void end_with_exit(const char* what) {
  end_with(what);
  leave(exit_code(StatusKind::Internal));
}

void on_exit_handler(int code, void*) {
  if (!is_guarded()) return;
  if (!is_over) end_with_exit("called exit()");
  if (code != final_code) leave(final_code);
}

void on_quick_exit() {
  if (is_guarded()) end_with_exit("called quick_exit()");
}

// A thread that ends inside a call: exit() destroys the caller's thread-local objects before all else.
void on_end_inside_call() {
  if (is_guarded()) end_with_exit("called exit()");
}

std::string exception_text() {
  try {
    throw;
  } catch (const std::exception& e) {
    return cat(": ", plain_line(hide_secrets(e.what())));
  } catch (...) {
    return ", of an unknown type";
  }
}

[[noreturn]] void on_terminate() {
  if (is_guarded()) std::current_exception() ? end_with("threw an exception that nobody caught", exception_text()) : end_with("called std::terminate()");
  die_of(SIGABRT);
}

// ---- interrupts

// clock_gettime may be called in a signal handler (POSIX.1-2024, 2.4.3).
int64_t now_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

void wake_watcher() { (void)!::write(wake[1], "", 1); }

void on_interrupt(int signal) {
  if (!is_guarded()) die_of(signal);
  int64_t none = 0;
  if (first_signal_ms.compare_exchange_strong(none, now_ms())) {
    first_signal = signal;
    interrupted = true;
    wake_watcher();
  } else if (now_ms() - none >= kOneRequestMs) {
    end_interrupted(signal);
  }
}

void take_interrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

// Takes one byte off the pipe. False when none came within the time.
bool woken_within(int64_t ms) {
  pollfd end{wake[0], POLLIN, 0};
  const int64_t until = now_ms() + ms;
  for (int64_t left = ms; left > 0; left = until - now_ms())
    if (char byte; ::poll(&end, 1, static_cast<int>(left)) == 1) return ::read(wake[0], &byte, 1) == 1;
  return false;
}

void tell_of(const seam::RunningCall& call) {
  Line line;
  print_note(line.add("interrupted; waiting for ").add(call).add(" (a second signal, or 5 s, end the program)"));
}

void watch() {
  constexpr int64_t kHour = 3'600'000;
  while (!woken_within(kHour)) {}
  if (is_over) return;
  const std::vector<seam::SeenCall> seen = seam::running_calls();
  if (woken_within(kOneRequestMs)) return;
  for (const seam::SeenCall& s : seen)
    if (s.is_running()) {
      tell_of(s.call);
      break;
    }
  if (!woken_within(ProcessGuard::kGraceMs - kOneRequestMs)) end_interrupted(first_signal);
}

// No signal comes to the thread before it is known for ours. Without a thread, only a second signal ends a call that does not come back.
std::thread start_watcher() {
  sigset_t all, usual;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &usual);
  std::thread watcher;
  try {
    watcher = std::thread([usual] {
      mark_own_thread();
      ::pthread_sigmask(SIG_SETMASK, &usual, nullptr);
      watch();
    });
  } catch (const std::exception&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &usual, nullptr);
  return watcher;
}

}  // namespace

ProcessGuard::ProcessGuard(const Prefixes& prefixes) {
  set_prefixes(prefixes);
  keep_leftovers();
  seam::record_calls(on_end_inside_call);
  guarded_process = ::getpid();
  catch_crashes();
  std::set_terminate(on_terminate);
  (void)::on_exit(on_exit_handler, nullptr);
  (void)std::at_quick_exit(on_quick_exit);
  if (::pipe2(wake, O_CLOEXEC | O_NONBLOCK) == 0) watcher_ = start_watcher();
  take_interrupts(on_interrupt);
}

int ProcessGuard::end(int code) {
  if (is_over) return code;
  take_interrupts(SIG_DFL);
  final_code = code;
  is_over = true;
  begin_to_exit();
  wake_watcher();
  if (watcher_.joinable()) watcher_.join();
  return code;
}

const std::atomic<bool>& ProcessGuard::interrupted() { return optima::interrupted; }

int ProcessGuard::on_exit_call(const char* what, int code) {
  if (!is_guarded()) return code;
  if (is_over) return final_code;
  end_with_exit(what);
}

}  // namespace optima
