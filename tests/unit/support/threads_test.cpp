// SPDX-License-Identifier: Apache-2.0
// Work on several threads, and exceptions that come to their edge.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <stdexcept>

#include "core/support/threads.hpp"

using namespace optima;

TEST_CASE("what is thrown on any of the threads is one failure, and every call has ended by then") {
  for (const int64_t threads : {1, 4}) {
    std::atomic<int> next{0}, ended{0};
    const Status status = run_on_threads(threads, [&]() -> Status {
      struct Count {
        std::atomic<int>& ended;
        ~Count() { ++ended; }
      } count{ended};
      if (next++ == 0) throw std::bad_alloc();
      return {};
    });
    CHECK(status.kind() == StatusKind::Io);
    CHECK(status.message() == "out of memory");
    CHECK(ended == next);
  }
}

TEST_CASE("a failure by status, by exception and by something else is said in its own words") {
  CHECK(run_on_threads(3, [] { return plugin_error("no"); }).message() == "no");
  CHECK(guarded([]() -> Status { throw std::runtime_error("lost"); }).message() == "unexpected failure, please report it: lost");
  CHECK(guarded([]() -> Status { throw 42; }).kind() == StatusKind::Internal);
  CHECK(guarded([] { return Status(); }).ok());
}

TEST_CASE("work is shared out over all threads and done once") {
  std::atomic<int> left{1000}, done{0};
  CHECK(run_on_threads(4, [&] {
    while (left-- > 0) ++done;
    return Status();
  }).ok());
  CHECK(done == 1000);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these need address space of their own
TEST_CASE("threads that cannot be started are done without") {
  const pid_t child = fork();
  if (child == 0) {  // no address space for another stack
    rlimit small{};
    getrlimit(RLIMIT_AS, &small);
    small.rlim_cur = 1;
    setrlimit(RLIMIT_AS, &small);
    std::atomic<int> left{10}, done{0};
    const Status status = run_on_threads(64, [&] {
      while (left-- > 0) ++done;
      return Status();
    });
    _exit(status.ok() && done == 10 ? 0 : 1);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  CHECK(how == 0);
}
#endif
