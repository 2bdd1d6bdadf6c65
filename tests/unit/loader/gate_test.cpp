// SPDX-License-Identifier: Apache-2.0
#include "core/loader/gate.hpp"

#include <doctest/doctest.h>

#include <atomic>
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

}  // namespace

TEST_CASE("who sets up waits for no call, and no call waits for him") {
  Gate gate;
  Latch entered, leave;
  std::thread call([&] {
    const Gate::Pass pass(gate);
    entered.open = true;
    leave.wait();
  });
  entered.wait();
  {
    const Gate::Setup setting_up(gate);  // while the call is inside
    std::thread([&] { const Gate::Pass pass(gate); }).join();
    leave.open = true;
    call.join();
  }
  CHECK_FALSE(gate.is_held_here());
}

TEST_CASE("one sets up at a time") {
  Gate gate;
  std::atomic<int> inside{0}, beside{0};
  int sum = 0;  // no lock of its own
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const Gate::Setup setting_up(gate);
        beside += ++inside - 1;
        std::this_thread::yield();
        ++sum, --inside;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(beside == 0);
  CHECK(sum == 800);
}

TEST_CASE("a thread knows what it is inside, to any depth") {
  Gate gate;
  {
    const Gate::Setup setting_up(gate);
    const Gate::Pass outer(gate);
    {
      const Gate::Pass inner(gate);
      CHECK(gate.is_held_here());
    }
    CHECK(gate.is_held_here());
    std::thread([&] { CHECK_FALSE(Gate::is_any_held_here()); }).join();
  }
  CHECK_FALSE(gate.is_held_here());
  CHECK_FALSE(Gate::is_any_held_here());
}

TEST_CASE("gates of two plugin files know nothing of each other") {
  Gate one, two;
  const Gate::Setup in_one(one);
  CHECK(one.is_held_here());
  CHECK_FALSE(two.is_held_here());
  const Gate::Setup in_two(two);
  CHECK(two.is_held_here());
}
