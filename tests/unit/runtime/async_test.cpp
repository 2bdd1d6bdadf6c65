// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// in -> mid -> out; the first subgraph waits until `gate` opens.
struct Gated : Bench {
  std::atomic<bool> gate{false}, entered{false}, second{false};
  Gated() {
    tensor("in", {4}), tensor("mid", {4}), tensor("out", {4});
    package.inputs = {"in"};
    package.outputs = {"out"};
    subgraph({"in"}, {"mid"}, [this](Tensors in, Outputs out) {
      entered = true;
      while (!gate) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return affine(2, 0)(in, out);
    });
    subgraph({"mid"}, {"out"}, [this](Tensors in, Outputs out) {
      second = true;
      return affine(3, 0)(in, out);
    });
  }
  void await_entry() const {
    while (!entered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

}  // namespace

TEST_CASE("wait times out while the run goes on, and succeeds when it is over") {
  Gated b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->start().ok());
  const Status late = r->wait(20);
  CHECK(late.kind() == StatusKind::Timeout);
  CHECK(late.message() == "the request was still running after 20 ms");
  CHECK(r->wait(0).kind() == StatusKind::Timeout);
  b.gate = true;
  CHECK(r->wait(-1).ok());
  CHECK(r->wait(0).ok());
  CHECK(r->output(0)->as<float>()[3] == 24);
}

TEST_CASE("a limit that no clock can count is no limit") {
  for (const int64_t limit : {INT64_MAX, INT64_MAX / 1000, INT64_MAX / 1'000'000, INT64_MAX / 1'000'000 - 1}) {
    CAPTURE(limit);
    Gated b;
    auto r = b.request();
    REQUIRE(r->set_input(0, filled({4})).ok());
    REQUIRE(r->start().ok());
    std::atomic<bool> over{false};
    Status outcome;
    std::thread waiter([&] {
      outcome = r->wait(limit);
      over = true;
    });
    b.await_entry();
    for (int i = 0; i < 20 && !over; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // time for a wrong answer
    b.gate = true;
    waiter.join();
    CHECK(outcome.ok());
  }
}

TEST_CASE("a running request refuses a second start and a run") {
  Gated b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->start().ok());
  CHECK(r->start().message() == "the request is running, wanted an idle one");
  CHECK(r->run().kind() == StatusKind::Usage);
  b.gate = true;
  CHECK(r->wait(-1).ok());
}

TEST_CASE("wait without a start is refused") {
  Gated b;
  CHECK(b.request()->wait(0).message() == "the request was never started, wanted a start before a wait");
}

TEST_CASE("cancel stops before the next subgraph, and the request can run again") {
  Gated b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->start().ok());
  b.await_entry();
  r->cancel();
  b.gate = true;
  CHECK(r->wait(-1).kind() == StatusKind::Cancelled);
  CHECK_FALSE(b.second);
  CHECK_FALSE(r->output(0).ok());
  REQUIRE(r->start().ok());
  CHECK(r->wait(-1).ok());
  CHECK(b.second);
}

TEST_CASE("a request cancelled before its thread began does nothing") {
  Gated b;
  std::vector<std::unique_ptr<Request>> requests;
  for (int i = 0; i < 5; ++i) {  // the pool has three threads
    requests.push_back(b.request());
    REQUIRE(requests.back()->set_input(0, filled({4})).ok());
    REQUIRE(requests.back()->start().ok());
  }
  requests[4]->cancel();
  b.gate = true;
  CHECK(requests[4]->wait(-1).kind() == StatusKind::Cancelled);
  for (int i = 0; i < 4; ++i) CHECK(requests[static_cast<size_t>(i)]->wait(-1).ok());
}

TEST_CASE("destroying a running request waits for it") {
  Gated b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->start().ok());
  b.await_entry();
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    b.gate = true;
  });
  r.reset();
  CHECK(b.gate);
  CHECK_FALSE(b.second);
  opener.join();
}

TEST_CASE("the callback gets the outcome before wait returns, and may start the next run") {
  Gated b;
  b.gate = true;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  std::atomic<int> calls{0};
  std::atomic<bool> waited_inside{false};
  r->set_callback([&](const Status& status) {
    CHECK(status.ok());
    waited_inside = r->wait(-1).message() == "wait was called in the request's own callback";
    if (++calls < 10) CHECK(r->start().ok());
  });
  REQUIRE(r->start().ok());
  while (calls < 10) CHECK(r->wait(-1).ok());
  CHECK(r->wait(-1).ok());
  CHECK(calls == 10);
  CHECK(waited_inside);
}

TEST_CASE("the callback hears of a failure") {
  Gated b;
  b.plugin.programs["subgraph_0"].execute = [](Tensors, Outputs) { return plugin_error("no"); };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  Status heard;
  r->set_callback([&](const Status& status) { heard = status; });
  REQUIRE(r->start().ok());
  CHECK(r->wait(-1).kind() == StatusKind::Plugin);
  CHECK(heard.message() == "subgraph 0 on X64:0: no");
}

TEST_CASE("requests in parallel give the bits of a single run") {
  Bench b;
  const std::vector<int64_t> shape = {4096};
  b.tensor("in", shape), b.tensor("a", shape), b.tensor("b", shape), b.tensor("out", shape);
  b.package.inputs = {"in"};
  b.package.outputs = {"out"};
  b.subgraph({"in"}, {"a"}, affine(1.0009f, 0.25f));
  b.subgraph({"a"}, {"b"}, affine(0.77f, -3));
  b.subgraph({"b"}, {"out"}, affine(1.3f, 1));
  const auto expected = [&](float first) {
    auto r = b.request();
    REQUIRE(r->set_input(0, filled(shape, first)).ok());
    REQUIRE(r->run().ok());
    const Tensor t = *r->output(0);
    return std::vector<float>(t.as<float>().begin(), t.as<float>().end());
  };
  const std::vector<float> want[2] = {expected(0.1f), expected(7.7f)};
  std::atomic<int> wrong{0};
  const auto work = [&](int which, bool async) {
    auto r = Request::create(b.model());
    if (!r.ok() || !(*r)->set_input(0, filled(shape, which ? 7.7f : 0.1f)).ok()) return void(++wrong);
    for (int i = 0; i < 200; ++i) {
      const Status status = async ? (*r)->start() : (*r)->run();
      if (!status.ok() || (async && !(*r)->wait(-1).ok())) ++wrong;
      const auto got = (*r)->output(0)->as<float>();
      wrong += !std::equal(got.begin(), got.end(), want[which].begin());
    }
  };
  std::thread threads[] = {std::thread(work, 0, false), std::thread(work, 1, false), std::thread(work, 0, true), std::thread(work, 1, true)};
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("waiting is an event of its own") {
  Gated b;
  b.gate = true;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->start().ok());
  REQUIRE(r->wait(-1).ok());
  size_t waits = 0;
  for (const ProfileEvent& e : r->take_events()) waits += e.kind == ProfileKind::Wait;
  CHECK(waits == 1);
}
