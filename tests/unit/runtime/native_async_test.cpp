// SPDX-License-Identifier: Apache-2.0
// Asynchronous runs of plugins that offer optima.async/1, alone and between plugins that do not.
#include <atomic>
#include <set>
#include <thread>

#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// in -> t0 -> t1 -> out, each times two; which subgraphs are asynchronous is given as letters.
struct Chain : Bench {
  std::mutex mutex;
  std::vector<std::thread::id> threads;  // that each subgraph ran on
  explicit Chain(const std::string& kinds) {
    const std::string names[] = {"in", "t0", "t1", "out"};
    for (size_t k = 0; k <= kinds.size(); ++k) tensor(names[k], {4});
    package.inputs = {"in"};
    package.outputs = {names[kinds.size()]};
    for (size_t k = 0; k < kinds.size(); ++k)
      subgraph({names[k]}, {names[k + 1]}, [this](Tensors in, Outputs out) {
        {
          const std::lock_guard lock(mutex);
          threads.push_back(std::this_thread::get_id());
        }
        return affine(2, 0)(in, out);
      }).is_async = kinds[k] == 'a';
  }
};

}  // namespace

TEST_CASE("asynchronous and other subgraphs follow each other in any mixture") {
  for (const std::string kinds : {"aaa", "asa", "saa", "aas", "ssa", "ass", "sas", "sss"}) {
    CAPTURE(kinds);
    Chain b(kinds);
    auto r = b.request();
    REQUIRE(r->set_input(0, filled({4})).ok());
    for (int round = 0; round < 20; ++round) {
      REQUIRE(r->start().ok());
      REQUIRE(r->wait(-1).ok());
      CHECK(r->output(0)->as<float>()[3] == 32);
    }
    CHECK(b.threads.size() == 60);
    CHECK(std::find(b.threads.begin(), b.threads.end(), std::this_thread::get_id()) == b.threads.end());
  }
}

TEST_CASE("a failing asynchronous subgraph names itself and its plugin, and the request runs again") {
  Chain b("aa");
  std::atomic<bool> fails{true};
  b.plugin.programs["subgraph_1"].execute = [&](Tensors in, Outputs out) { return fails ? plugin_error("the board is gone") : affine(3, 0)(in, out); };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->start().ok());
  const Status failed = r->wait(-1);
  CHECK(failed.kind() == StatusKind::Plugin);
  CHECK(failed.message() == "subgraph 1 on X64:0: plugin 'fake': submit: the board is gone");
  CHECK(!r->output(0).ok());
  fails = false;
  REQUIRE(r->start().ok());
  REQUIRE(r->wait(-1).ok());
  CHECK(r->output(0)->as<float>()[1] == 12);
}

TEST_CASE("cancel reaches the plugin that has the run; an input that is not set fails as elsewhere") {
  Chain b("aa");
  std::atomic<bool> stop{false}, entered{false};
  FakeProgram& first = b.plugin.programs["subgraph_0"];
  first.execute = [&](Tensors, Outputs) {
    entered = true;
    while (!stop) std::this_thread::yield();
    return cancelled();
  };
  first.on_cancel = [&] { stop = true; };
  auto r = b.request();
  REQUIRE(r->start().ok());
  CHECK(r->wait(-1).message() == "input 'in' is not set");
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->start().ok());
  while (!entered) std::this_thread::yield();
  CHECK(r->start().kind() == StatusKind::Usage);
  r->cancel();
  CHECK(r->wait(-1).kind() == StatusKind::Cancelled);
}

TEST_CASE("a callback on the plugin's thread may start the next run, and a request may go right after its wait") {
  Chain b("aaa");
  std::atomic<int> left{10}, over{0};
  for (int round = 0; round < 20; ++round) {
    auto r = b.request();
    left = 3, over = 0;
    Request* raw = r.get();
    r->set_callback([&, raw](const Status& s) {
      CHECK(s.ok());
      if (--left > 0) CHECK(raw->start().ok());
      else over = 1;
    });
    REQUIRE(r->set_input(0, filled({4})).ok());
    REQUIRE(r->start().ok());
    while (!over) std::this_thread::yield();
    CHECK(r->wait(-1).ok());
  }
}

TEST_CASE("what follows a signal is done outside the call that signalled: the next step and the callback, which may start again") {
  Gate gate;
  Chain b("aa");
  for (const char* stem : {"subgraph_0", "subgraph_1"}) b.plugin.programs[stem].gate = &gate;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  std::atomic<int> left{5}, inside{0};
  Request* raw = r.get();
  r->set_callback([&, raw](const Status& s) {
    inside += Gate::is_any_held_here();
    CHECK(s.ok());
    const Gate::Setup setting_up(gate);  // as a model that is loaded here wants it
    if (--left > 0) CHECK(raw->start().ok());
  });
  REQUIRE(r->start().ok());
  while (left > 0) CHECK(r->wait(-1).ok());
  CHECK(r->wait(-1).ok());
  CHECK(inside == 0);
  CHECK(r->output(0)->as<float>()[3] == 16);
}
