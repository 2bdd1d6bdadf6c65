// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: the team: every part once, steps in order, late threads harmless, many inferences.
#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <numeric>
#include <system_error>
#include <thread>

#include "plugins/llvm_cpu/runtime/cut.hpp"
#include "plugins/llvm_cpu/runtime/processors.hpp"
#include "plugins/llvm_cpu/runtime/team.hpp"

using optima::llvm_cpu::allowed_processors;
using optima::llvm_cpu::Counter;
using optima::llvm_cpu::Team;

TEST_CASE("every part of every step is done once per run, after all parts of the step before") {
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    constexpr int kParts = 12, kSteps = 5;
    std::vector<std::vector<int>> data(kSteps + 1, std::vector<int>(kParts, 0));
    std::atomic<bool> wrong{false};
    Team::List steps;  // outlives the team
    Team team(threads);
    for (size_t s = 0; s < kSteps; ++s)
      steps.add([&, s](int part, int) {
        for (const int v : data[s]) if (v != data[s][0]) wrong = true;  // the step before is whole
        data[s + 1][static_cast<size_t>(part)] = data[s][0] + 1;
      }, kParts);
    team.start();
    for (int run = 0; run < 300; ++run) {
      std::fill(data[0].begin(), data[0].end(), run);
      team.run(steps);
      for (const int v : data[kSteps]) CHECK(v == run + kSteps);
    }
    CHECK_FALSE(wrong);
  }
}

TEST_CASE("every part of every turn is done once per run, after all parts of the turn before") {
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    constexpr int kParts = 4, kTurns = 9;
    std::vector<std::vector<int>> data(2 * kTurns + 1, std::vector<int>(kParts, 0));
    std::atomic<bool> wrong{false};
    Team::List steps;  // outlives the team
    Team team(threads);
    for (const int step : {0, 1})
      steps.add([&, step](int part, int) {
        const auto turn = static_cast<size_t>(step * kTurns + part / kParts);
        for (const int v : data[turn]) if (v != data[turn][0]) wrong = true;  // the turn before is whole
        int& mine = data[turn + 1][static_cast<size_t>(part % kParts)];
        if (mine == data[turn][0] + 1) wrong = true;  // done before
        mine = data[turn][0] + 1;
      }, kParts, kTurns);
    team.start();
    for (int run = 0; run < 300; ++run) {
      std::fill(data[0].begin(), data[0].end(), 100 * run);
      team.run(steps);
      for (const int v : data[2 * kTurns]) CHECK(v == 100 * run + 2 * kTurns);
    }
    CHECK_FALSE(wrong);
  }
}

TEST_CASE("chains fewer than threads are cut in turns that are worth it, others whole; pieces are handed out once, in order") {
  using namespace optima::llvm_cpu;
  const auto cut = [](int64_t units, int64_t work_of_turn, int threads) {
    const Cutting step{.units = units, .turns = 10, .slices = 7, .work = units * 10 * work_of_turn, .grain = 1};
    const Cut c = cut_of(step, threads);
    CHECK(c.begin(0) == 0);
    CHECK(c.begin(c.turns * c.parts) == step.pieces());
    for (int p = 0; p < c.turns * c.parts; ++p) CHECK(c.begin(p) < c.begin(p + 1));
    for (int turn = 0; turn < c.turns; ++turn) CHECK(c.begin(turn * c.parts) == step.pieces() / c.turns * turn);
    return std::pair(c.turns, c.parts);
  };
  CHECK(cut(1, 1000000, 1) == std::pair(1, 1));
  CHECK(cut(1, 1000000, 2) == std::pair(10, 2));
  CHECK(cut(1, 1000000, 64) == std::pair(10, 7));  // slices
  CHECK(cut(1, 1000, 2) == std::pair(1, 1));       // too short
  CHECK(cut(2, 1000000, 2) == std::pair(1, 2));    // a chain for each thread
  CHECK(cut(2, 1000000, 3) == std::pair(20, 3));
}

TEST_CASE("a thread that is held up delays nobody but the part it holds") {
  Team::List steps;  // outlives the team
  Team team(2);
  std::atomic<int> done{0};
  steps.add([&](int part, int thread) {
    if (thread == 1 && part == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++done;
  }, 4);
  team.start();
  for (int run = 0; run < 50; ++run) team.run(steps);
  CHECK(done == 200);
}

TEST_CASE("a team sleeps between runs and wakes for the next one, and for its end") {
  Team::List steps;  // outlives the team
  Team team(3);
  std::atomic<int> done{0};
  steps.add([&](int, int) { ++done; }, 6);
  team.start();
  for (int run = 0; run < 3; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    team.run(steps);
  }
  CHECK(done == 18);
}

TEST_CASE("a team ends while its helpers are still waking for the last run") {
  for (int round = 0; round < 3000; ++round) {
    Team::List steps;  // outlives the team
    Team team(3);
    std::atomic<int> done{0};
    steps.add([&](int, int) { ++done; }, 2);
    team.start();
    for (int run = 0; run <= round % 3; ++run) team.run(steps);
    CHECK(done == 2 * (round % 3 + 1));
  }
}

TEST_CASE("helpers sleep on where every step is one part, and wake where one has more") {
  Team::List alone, shared;  // outlive the team
  Team team(3);
  std::atomic<int> by_caller{0}, all{0};
  const auto work = [&](int, int thread) {
    ++all;
    by_caller += thread == 0;
    std::this_thread::yield();
  };
  for (int step = 0; step < 100; ++step) alone.add(work, 1);
  for (int step = 0; step < 100; ++step) shared.add(work, step == 50 ? 2 : 1);
  team.start();
  for (int run = 0; run < 30; ++run) team.run(alone);
  CHECK(all == 3000);
  CHECK(by_caller == 3000);
  for (int run = 0; run < 30; ++run) {
    team.run(shared);
    team.run(alone);
  }
  CHECK(all == 3000 + 30 * 201);
}

TEST_CASE("parts are kept within what a step can count") {
  Team::List steps;  // outlives the team
  Team team(1);
  int done = 0;
  steps.add([&](int, int) { ++done; }, 100000);
  team.start();
  team.run(steps);
  CHECK(done == Team::kMostParts);
}

TEST_CASE("observed steps fill the run without gaps, whoever did their parts, and each holds the work of its parts") {
  struct Interval {
    uint64_t begin, end;
  };
  constexpr size_t kSteps = 6, kParts = 8;
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    Team::List steps;  // outlives the team
    Team team(threads);
    std::vector<std::vector<Interval>> work(kSteps, std::vector<Interval>(kParts));
    for (size_t s = 0; s < kSteps; ++s)
      steps.add([&, s](int part, int thread) {
        Interval& mine = work[s][static_cast<size_t>(part)];
        mine.begin = optima::llvm_cpu::steady_ns();
        if (thread == 0 && part % 3 == 0) std::this_thread::yield();  // the caller may well be the last to come back
        mine.end = optima::llvm_cpu::steady_ns();
      }, kParts);
    team.start();
    std::vector<Interval> told;
    team.observe([&](size_t step, uint64_t begin, uint64_t ns) {
      CHECK(step == told.size());
      told.push_back({begin, begin + ns});
    });
    for (int run = 0; run < 100; ++run) {
      told.clear();
      const uint64_t before = optima::llvm_cpu::steady_ns();
      team.run(steps);
      const uint64_t after = optima::llvm_cpu::steady_ns();
      REQUIRE(told.size() == kSteps);
      CHECK(told.front().begin >= before);
      CHECK(told.back().end <= after);
      for (size_t s = 0; s < kSteps; ++s) {
        if (s) CHECK(told[s].begin == told[s - 1].end);
        for (const Interval& part : work[s]) {
          CHECK(part.begin >= told[s].begin);
          CHECK(part.end <= told[s].end);
        }
      }
    }
    team.observe({});
    told.clear();
    team.run(steps);
    CHECK(told.empty());
  }
}

TEST_CASE("a team works with the threads it gets, also with none") {
  for (const int given : {0, 1, 3}) {
    CAPTURE(given);
    int made = 0;
    Team::List steps;  // outlives the team
    Team team(8, [&](std::function<void()> body) {
      if (made == given) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
      ++made;
      return std::thread(std::move(body));
    });
    std::atomic<int> done{0};
    steps.add([&](int, int thread) { done += thread <= given; }, 16);
    team.start();
    CHECK(team.size() == given + 1);
    for (int run = 0; run < 20; ++run) team.run(steps);
    CHECK(done == 320);
  }
}

TEST_CASE("helpers stay on the processors that are asked for, and the caller where it was") {
  const std::vector<int> allowed = allowed_processors();
  const int first = allowed.front();
  REQUIRE(first < 64);
  std::vector<int> of_helper;
  std::atomic<bool> helped{false};
  Team::List steps;  // outlives the team
  Team team(2, {}, uint64_t{1} << first);
  // The caller holds its part until a helper has the other one.
  steps.add([&](int, int thread) {
    if (thread != 0) of_helper = allowed_processors(), helped = true;
    else while (!helped) std::this_thread::yield();
  }, 2);
  team.start();
  REQUIRE(team.size() == 2);
  team.run(steps);
  CHECK(of_helper == std::vector<int>{first});
  CHECK(allowed_processors() == allowed);
}

namespace {

std::vector<int> masked(cpu_set_t set) {
  std::vector<int> out;
  for (int p = 0; p < CPU_SETSIZE; ++p)
    if (CPU_ISSET(static_cast<size_t>(p), &set)) out.push_back(p);
  return out;
}

cpu_set_t mask_of(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(processor), &one);
  return one;
}

// Masks of the calling thread; put back at the end.
class OnProcessor {
 public:
  OnProcessor() { REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0); }
  ~OnProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  std::vector<int> all() const { return masked(before_); }
  void go(int processor) const {
    const cpu_set_t one = mask_of(processor);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }

 private:
  cpu_set_t before_;
};

}  // namespace

TEST_CASE("helpers are kept off the caller's processor, where that leaves one for each, within the mask that others gave them") {
  const OnProcessor caller;
  const std::vector<int> all = caller.all();
  if (all.size() < 2) {
    MESSAGE("skipped: one processor, so no other to keep helpers on");
    return;
  }
  const auto without = [&](int p) {
    std::vector<int> rest = all;
    std::erase(rest, p);
    return rest;
  };
  std::vector<int> of_helper;
  std::atomic<bool> helped{false};
  std::atomic<pthread_t> helper{};
  Team::List steps;  // outlives the team
  Team team(2);
  steps.add([&](int, int thread) {
    if (thread != 0) of_helper = allowed_processors(), helper = pthread_self(), helped = true;
    else while (!helped) std::this_thread::yield();
  }, 2);
  team.start();
  REQUIRE(team.size() == 2);
  const auto seen_from = [&](int processor) {
    caller.go(processor);
    helped = false;
    team.run(steps);
    return of_helper;
  };
  CHECK(seen_from(all[0]) == without(all[0]));
  CHECK(seen_from(all[1]) == without(all[1]));
  const cpu_set_t one = mask_of(all[1]);  // as taskset would: now the helper shares the caller's processor, or has one of its own
  REQUIRE(pthread_setaffinity_np(helper, sizeof one, &one) == 0);
  for (const int from : {all[1], all[0], all[1]}) CHECK(seen_from(from) == std::vector<int>{all[1]});
}

TEST_CASE("more helpers than other processors are left alone") {
  const OnProcessor caller;
  const std::vector<int> all = caller.all();
  const int size = static_cast<int>(all.size()) + 1;
  std::vector<int> of_helper;
  std::atomic<bool> taken{false}, helped{false};
  Team::List steps;  // outlives the team
  Team team(size);
  steps.add([&](int part, int thread) {
    if (thread != 0 && !taken.exchange(true)) of_helper = allowed_processors(), helped = true;
    else if (thread == 0 && part != 0) while (!helped) std::this_thread::yield();
  }, 8 * size);
  team.start();
  REQUIRE(team.size() == size);
  caller.go(all[0]);
  team.run(steps);
  CHECK(of_helper == all);
}

TEST_CASE("threads that cannot be made for want of memory are done without") {
  int made = 0;
  auto threads = optima::llvm_cpu::start_threads(4, [](int) {}, [&](std::function<void()> body) {
    if (++made == 3) throw std::bad_alloc();
    return std::thread(std::move(body));
  });
  CHECK(threads.size() == 2);
  for (std::thread& t : threads) t.join();
}

namespace {

// A clock that only its own looks move.
uint64_t looks = 0;
uint64_t slow_clock() { return ++looks * 1000; }
uint64_t stopped_clock() { return 0; }

}  // namespace

TEST_CASE("spinning ends when its time is over, however long a pause takes, and before that when there is something to see") {
  Counter counter;
  looks = 0;
  CHECK_FALSE(counter.spin(1, 5000, slow_clock));
  CHECK(looks == 6);  // the first look, and one per thousand nanoseconds
  std::thread other([&] { counter.bump(); });
  CHECK(counter.spin(1, 1, stopped_clock));
  other.join();
  looks = 0;
  CHECK(counter.spin(1, 5000, slow_clock));
  CHECK(looks == 0);
}

TEST_CASE("a team walks several lists in turn, and lists end before it when it forgets them") {
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    Team team(threads);
    team.start();
    std::atomic<int> done{0};
    int wanted = 0;
    for (int round = 0; round < 200; ++round) {
      auto one = std::make_unique<Team::List>(), other = std::make_unique<Team::List>();
      for (int s = 0; s < 3; ++s) one->add([&](int, int) { ++done; }, 4);
      other->add([&](int, int) { done += 100; }, 7);
      for (int run = 0; run < 5; ++run) {
        team.run(*one), team.run(*other);
        wanted += 12 + 700;
        CHECK(done == wanted);
      }
      team.forget(*one), team.forget(*other);
    }
  }
}
