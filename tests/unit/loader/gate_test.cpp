// SPDX-License-Identifier: Apache-2.0
#include "core/loader/gate.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace optima;

namespace {

// Opened once, by whoever it takes to go on.
struct Latch {
  std::atomic<bool> open{false};
  void wait() const {
    while (!open) std::this_thread::yield();
  }
};

void await_one_waiting(const Gate& gate) {
  while (gate.waiting() == 0) std::this_thread::yield();
}

}  // namespace

TEST_CASE("who waits to be alone comes before all who came later") {
  Gate gate;
  Latch leave, entered;
  std::mutex mutex;
  std::vector<std::string> order;
  const auto note = [&](const char* what) {
    const std::lock_guard lock(mutex);
    order.emplace_back(what);
  };
  std::thread first([&] {
    const Gate::Pass pass(gate);
    entered.open = true;
    leave.wait();
    note("first");
  });
  entered.wait();
  std::thread alone([&] {
    const Gate::Alone self(gate);
    note("alone");
  });
  await_one_waiting(gate);
  std::vector<std::thread> later;
  std::atomic<int> came{0};
  for (int k = 0; k < 4; ++k)
    later.emplace_back([&] {
      ++came;
      const Gate::Pass pass(gate);
      note("later");
    });
  while (came < 4) std::this_thread::yield();
  for (int k = 0; k < 1000; ++k) std::this_thread::yield();  // time to come in, had they been let in
  leave.open = true;
  first.join();
  alone.join();
  for (std::thread& t : later) t.join();
  REQUIRE(order.size() == 6);
  CHECK(order[0] == "first");
  CHECK(order[1] == "alone");
}

TEST_CASE("steady calls that never leave the gate empty do not keep out who wants to be alone, nor he them") {
  Gate gate;
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0}, beside{0};
  std::vector<std::thread> calls;
  for (int k = 0; k < 3; ++k)
    calls.emplace_back([&] {
      while (!stop) {
        const Gate::Pass pass(gate);
        ++inside;
        std::this_thread::yield();
        --inside;
      }
    });
  for (int k = 0; k < 100; ++k) {
    const Gate::Alone alone(gate);
    beside += inside;
  }
  stop = true;
  for (std::thread& t : calls) t.join();
  CHECK(beside == 0);
}

TEST_CASE("a thread inside comes in again while somebody waits for it to go") {
  Gate gate;
  Latch again;
  std::atomic<int> depth{0};
  std::thread inside([&] {
    const Gate::Pass outer(gate);
    depth = 1;
    again.wait();
    const Gate::Pass inner(gate);
    depth = 2;
    CHECK(gate.is_held_here());
  });
  while (depth == 0) std::this_thread::yield();
  std::thread alone([&] {
    const Gate::Alone self(gate);
    CHECK(depth == 2);
    const Gate::Pass nested(gate);
    CHECK(Gate::is_any_held_here());
  });
  await_one_waiting(gate);
  again.open = true;
  inside.join();
  alone.join();
  CHECK_FALSE(gate.is_held_here());
  CHECK_FALSE(Gate::is_any_held_here());
}

TEST_CASE("gates of two plugin files know nothing of each other") {
  Gate one, two;
  const Gate::Pass in_one(one);
  CHECK(one.is_held_here());
  CHECK_FALSE(two.is_held_here());
  const Gate::Alone in_two(two);
  CHECK(two.is_held_here());
}
