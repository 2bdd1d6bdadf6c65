// SPDX-License-Identifier: Apache-2.0
// Who is inside which call, as a handler or another thread reads it. The thread sanitizer looks at these.
#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "core/loader/calls.hpp"

using namespace optima::seam;

namespace {

std::string shown(const RunningCall& c) {
  return std::string(c.plugin) + " " + c.call + (c.subgraph == OPTIMA_NONE ? "" : " " + std::to_string(c.subgraph));
}
std::string here() {
  RunningCall call;
  return call_of_this_thread(call) ? shown(call) : "nobody";
}
std::string alone() {
  RunningCall call;
  return call_of_the_only_plugin(call) ? shown(call) : "nobody";
}

}  // namespace

TEST_CASE("the innermost call of a thread is known with its subgraph, and nothing is known after it") {
  record_calls(nullptr);
  CHECK(here() == "nobody");
  {
    const ForSubgraph calls_for(7);
    const InCall outer("a", "check");
    CHECK(here() == "a check 7");
    {
      const ForSubgraph another(8);
      const InCall inner("b", "submit");
      CHECK(here() == "b submit 8");
    }
    CHECK(here() == "a check 7");
    const InCall second("b", "2"), third("b", "3"), fourth("b", "4"), fifth("b", "5");
    CHECK(here() == "b 4 7");  // of those that a record has room for
  }
  CHECK(here() == "nobody");
  const InCall late(std::string(100, 'n'), std::string(100, 'c'));
  CHECK(here() == std::string(63, 'n') + " " + std::string(31, 'c'));
}

TEST_CASE("a call is known to other threads, and whether it is the only plugin's") {
  record_calls(nullptr);
  const InCall call("a", "load");
  const std::vector<SeenCall> seen = running_calls();
  REQUIRE(seen.size() == 1);
  CHECK(shown(seen[0].call) == "a load");
  WorkInPlugin work;
  std::thread([&] {
    CHECK(here() == "nobody");
    CHECK(alone() == "a load");
    const InCall same("a", "execute");
    CHECK(alone() != "nobody");
    work.begin("b", "submit");
    CHECK(alone() == "nobody");
    CHECK(running_calls().size() == 3);
  }).join();
  CHECK(alone() == "nobody");  // work goes on behind the thread that began it
  work.end();
  CHECK(alone() == "a load");
  CHECK(seen[0].is_running());
  { const InCall inner("a", "log"); }
  CHECK_FALSE(seen[0].is_running());  // what was seen is not all that has happened
}

TEST_CASE("calls of many threads are read while they come and go") {
  record_calls(nullptr);
  std::atomic<bool> over = false;
  std::thread reader([&] {
    while (!over)
      for (const SeenCall& seen : running_calls()) CHECK((seen.call.call[0] == 'e' || seen.call.call[0] == 's'));
  });
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([] {
      for (int i = 0; i < 2000; ++i) {
        const InCall call("plugin", "execute");
        WorkInPlugin work;
        work.begin("plugin", "submit");
      }
    });
  for (std::thread& t : callers) t.join();
  over = true;
  reader.join();
  CHECK(running_calls().empty());
}
