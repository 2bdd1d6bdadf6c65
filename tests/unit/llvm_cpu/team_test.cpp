// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: the team: every part once, steps in order, late threads harmless, many inferences.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "plugins/llvm_cpu/runtime/team.hpp"

using optima::llvm_cpu::Team;

TEST_CASE("every part of every step is done once per run, after all parts of the step before") {
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    constexpr int kParts = 12, kSteps = 5;
    std::vector<std::vector<int>> data(kSteps + 1, std::vector<int>(kParts, 0));
    std::atomic<bool> wrong{false};
    Team team(threads);
    for (size_t s = 0; s < kSteps; ++s)
      team.add([&, s](int part, int) {
        for (const int v : data[s]) if (v != data[s][0]) wrong = true;  // the step before is whole
        data[s + 1][static_cast<size_t>(part)] = data[s][0] + 1;
      }, kParts);
    team.start();
    for (int run = 0; run < 300; ++run) {
      std::fill(data[0].begin(), data[0].end(), run);
      team.run();
      for (const int v : data[kSteps]) CHECK(v == run + kSteps);
    }
    CHECK_FALSE(wrong);
  }
}

TEST_CASE("a thread that is held up delays nobody but the part it holds") {
  Team team(2);
  std::atomic<int> done{0};
  team.add([&](int part, int thread) {
    if (thread == 1 && part == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++done;
  }, 4);
  team.start();
  for (int run = 0; run < 50; ++run) team.run();
  CHECK(done == 200);
}

TEST_CASE("a team sleeps between runs and wakes for the next one, and for its end") {
  Team team(3);
  std::atomic<int> done{0};
  team.add([&](int, int) { ++done; }, 6);
  team.start();
  for (int run = 0; run < 3; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    team.run();
  }
  CHECK(done == 18);
}

TEST_CASE("parts are kept within what a step can count") {
  Team team(1);
  int done = 0;
  team.add([&](int, int) { ++done; }, 100000);
  team.start();
  team.run();
  CHECK(done == Team::kMostParts);
}
