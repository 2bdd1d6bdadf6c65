// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "core/runtime/buffers.hpp"
#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace optima::test {
uint64_t allocations();  // tests/support/count_allocations.cpp
}

namespace {

/// in -> a -> b -> c -> out, each 1024 floats, each doubling and adding one.
struct Chain : Bench {
  explicit Chain(size_t cuts = 3) {
    const std::vector<int64_t> shape = {1024};
    tensor("in", shape);
    tensor("out", shape);
    package.inputs = {"in"};
    package.outputs = {"out"};
    std::string last = "in";
    for (size_t i = 0; i <= cuts; ++i) {
      const std::string next = i == cuts ? "out" : "cut_" + std::to_string(i);
      if (i < cuts) tensor(next, shape);
      subgraph({last}, {next}, affine(2, 1));
      last = next;
    }
  }
};

float chain_value(float x, size_t steps) {
  for (size_t i = 0; i < steps; ++i) x = 2 * x + 1;
  return x;
}

}  // namespace

TEST_CASE("a chain of subgraphs gives what its steps give one after another") {
  Chain b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->run().ok());
  const auto out = r->output(0);
  REQUIRE(out.ok());
  CHECK(out->name == "out");
  CHECK(out->shape == std::vector<int64_t>{1024});
  for (size_t i = 0; i < 1024; ++i) REQUIRE(out->as<float>()[i] == chain_value(1 + static_cast<float>(i), 4));
}

TEST_CASE("cut tensors are handed over without a copy: the reader's address is the writer's") {
  Chain b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->run().ok());
  for (size_t k = 0; k + 1 < 4; ++k) CHECK(r->bound_address(k, false, 0) == r->bound_address(k + 1, true, 0));
}

TEST_CASE("a run of static shapes allocates nothing") {
  Chain b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->run().ok());
  const uint64_t before = allocations();
  bool ok = true;
  for (int i = 0; i < 100; ++i) ok = r->run().ok() && ok;
  const uint64_t after = allocations();
  CHECK(ok);
  CHECK(after == before);
}

TEST_CASE("the arena is aligned and smaller than the sum of the cut tensors") {
  Chain b(6);
  auto r = b.request();
  CHECK(b.model().arena_sum() == 6 * 4096);
  CHECK(b.model().arena_bytes() == 2 * 4096);
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->run().ok());
  for (size_t k = 0; k < 6; ++k) CHECK(reinterpret_cast<uintptr_t>(r->bound_address(k, false, 0)) % 64 == 0);
}

TEST_CASE("aligned user buffers are read and written in place") {
  Chain b;
  auto r = b.request();
  Tensor in = filled({1024}), out = *Tensor::make(OPTIMA_F32, {1024});
  REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, in.data, in.size)).ok());
  REQUIRE(r->bind_output(0, out.data, out.size).ok());
  REQUIRE(r->run().ok());
  CHECK(r->bound_address(0, true, 0) == in.data);
  CHECK(r->bound_address(3, false, 0) == out.data);
  CHECK(r->output(0)->data == out.data);
  in.as<float>()[0] = 5;  // read anew at each run
  REQUIRE(r->run().ok());
  CHECK(out.as<float>()[0] == chain_value(5, 4));
}

TEST_CASE("bytes of an input or of another output are no place for an output") {
  Chain b;
  auto r = b.request();
  Tensor in = filled({1024}), out = *Tensor::make(OPTIMA_F32, {1024});
  REQUIRE(r->bind_output(0, in.data, in.size).ok());  // in any order: a run looks
  REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, in.data, in.size)).ok());
  const Status refused = r->run();
  CHECK(refused.kind() == StatusKind::Usage);
  CHECK(refused.message() == "output 'out' is bound to bytes of input 'in', wanted bytes of its own");
  CHECK(in.as<float>()[0] == filled({1024}).as<float>()[0]);
  REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, out.data, out.size)).ok());
  CHECK(r->run().ok());
  REQUIRE(r->bind_output(0, nullptr, 0).ok());
  REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, in.data, in.size)).ok());
  CHECK(r->run().ok());
}

TEST_CASE("misaligned user buffers are copied and give the same result") {
  Chain b;
  auto r = b.request();
  std::vector<float> in(1025, 3), out(1025, 0);
  char* odd_in = reinterpret_cast<char*>(in.data()) + (reinterpret_cast<uintptr_t>(in.data()) % 64 == 0 ? 4 : 0);
  char* odd_out = reinterpret_cast<char*>(out.data()) + (reinterpret_cast<uintptr_t>(out.data()) % 64 == 0 ? 4 : 0);
  REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, odd_in, 4096)).ok());
  REQUIRE(r->bind_output(0, odd_out, 4096).ok());
  r->set_profiling(true);
  REQUIRE(r->run().ok());
  CHECK(r->bound_address(0, true, 0) != odd_in);
  CHECK(r->output(0)->data == reinterpret_cast<std::byte*>(odd_out));
  CHECK(r->output(0)->as<float>()[7] == chain_value(3, 4));
  size_t copies = 0;
  for (const ProfileEvent& e : r->take_events()) copies += e.kind == ProfileKind::BufferCopy;
  CHECK(copies == 2);
}

TEST_CASE("user buffers are read and written in place as loosely aligned as plugins take them, and the host's own are aligned as ever") {
  Chain b;
  for (auto& [name, program] : b.plugin.programs)
    for (auto& binding : program.bindings) binding.alignment = 16;
  auto r = b.request();
  Buffer page;
  REQUIRE(page.reserve(4 * 4096, 4096));
  std::byte *const in = page.data() + 16, *const out = page.data() + 2 * 4096 + 48;
  for (size_t i = 0; i < 1024; ++i) reinterpret_cast<float*>(in)[i] = 3;
  REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, in, 4096)).ok());
  REQUIRE(r->bind_output(0, out, 4096).ok());
  REQUIRE(r->run().ok());
  CHECK(r->bound_address(0, true, 0) == in);
  CHECK(r->bound_address(3, false, 0) == out);
  CHECK(reinterpret_cast<float*>(out)[1023] == chain_value(3, 4));
  for (size_t k = 0; k < 3; ++k) CHECK(reinterpret_cast<uintptr_t>(r->bound_address(k, false, 0)) % 64 == 0);
  REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, in - 8, 4096)).ok());
  REQUIRE(r->run().ok());
  CHECK(reinterpret_cast<uintptr_t>(r->bound_address(0, true, 0)) % 64 == 0);
}

TEST_CASE("a buffer shorter than its reader wants is padded through a copy") {
  Chain b;
  FakeProgram& first = b.plugin.programs["subgraph_0"];
  first.bindings[0].min_size = 8192;
  first.execute = [](Tensors in, Outputs out) {
    for (size_t i = 0; i < 1024; ++i) floats(out[0])[i] = floats(in[0])[i] + static_cast<float*>(in[0].data)[1024 + i];
    return Status();
  };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->run().ok());
  CHECK(r->output(0)->as<float>()[9] == chain_value(10, 3));
}

TEST_CASE("wrong inputs are refused by name, found and wanted") {
  Chain b;
  auto r = b.request();
  CHECK(r->run().message() == "input 'in' is not set");
  CHECK(r->input_index("im").status().message() == "the model has no input 'im' (nearest: 'in'), wanted one of in");
  CHECK(r->output_index("nothing").status().message() == "the model has no output 'nothing', wanted one of out");
  CHECK(r->set_input(0, *Tensor::make(OPTIMA_F64, {1024})).message() == "input 'in': found type float64, wanted float32");
  CHECK(r->set_input(0, filled({1, 1024})).message() == "input 'in': found shape 1x1024, wanted 1024");
  CHECK(r->set_input(1, filled({1024})).message() == "input number 1 found, wanted 0 to 0");
  Tensor lies = filled({1024});
  lies.size = 12;
  CHECK(r->set_input(0, lies).message() == "input 'in': found 12 bytes, wanted what type and shape say");
  std::byte small[8];
  CHECK(r->bind_output(0, small, 8).message() == "output 'out': found a buffer of 8 bytes, wanted 4096");
  CHECK(r->output(0).status().message() == "the request has no outputs yet, wanted a successful run first");
  CHECK(r->set_input(0, lies).kind() == StatusKind::InvalidInput);
}

TEST_CASE("a failing subgraph is named, and the request can run again") {
  Chain b;
  bool fail = true;
  b.plugin.programs["subgraph_1"].execute = [&](Tensors in, Outputs out) { return fail ? plugin_error("fake: out of luck") : affine(2, 1)(in, out); };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  const Status status = r->run();
  CHECK(status.kind() == StatusKind::Plugin);
  CHECK(status.message() == "subgraph 1 on X64:0: fake: out of luck");
  CHECK_FALSE(r->output(0).ok());
  fail = false;
  CHECK(r->run().ok());
  CHECK(r->output(0).ok());
}

TEST_CASE("an output that is a model input, and one that is a constant, are passed through") {
  Chain b;
  const std::string bytes(8, '\x3f');
  const std::string sha = to_hex(sha256(bytes.data(), bytes.size()));
  b.extra.emplace_back(weight_path(sha), Blob::copy(bytes.data(), bytes.size()));
  b.package.weights[sha] = 8;
  b.tensor("same", {1024});
  b.tensor("fixed", {2});
  b.package.outputs = {"out", "same", "fixed", "in"};
  b.package.variants[0].pass_through = {{"same", "in", ""}, {"fixed", "", sha}};
  auto r = b.request();
  const Tensor in = filled({1024});
  REQUIRE(r->set_input(0, in).ok());
  Tensor bound = *Tensor::make(OPTIMA_F32, {1024});
  REQUIRE(r->bind_output(1, bound.data, bound.size).ok());
  REQUIRE(r->run().ok());
  CHECK(bound.as<float>()[1023] == 1024);
  CHECK(r->output(1)->data == bound.data);
  CHECK(r->output(2)->shape == std::vector<int64_t>{2});
  CHECK(std::memcmp(r->output(2)->data, bytes.data(), 8) == 0);
  CHECK(r->output(3)->data == in.data);
}

TEST_CASE("an output that later subgraphs read is written once, to the user's buffer") {
  Bench b;
  b.tensor("in", {4}), b.tensor("mid", {4}), b.tensor("out", {4});
  b.package.inputs = {"in"};
  b.package.outputs = {"mid", "out"};
  b.subgraph({"in"}, {"mid"}, affine(2, 0));
  b.subgraph({"mid"}, {"out"}, affine(10, 0));
  auto r = b.request();
  Tensor mid = *Tensor::make(OPTIMA_F32, {4});
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->bind_output(0, mid.data, mid.size).ok());
  REQUIRE(r->run().ok());
  CHECK(r->bound_address(1, true, 0) == mid.data);
  CHECK(mid.as<float>()[3] == 8);
  CHECK(r->output(1)->as<float>()[3] == 80);
}

TEST_CASE("outputs can be unbound again") {
  Chain b;
  auto r = b.request();
  Tensor out = *Tensor::make(OPTIMA_F32, {1024});
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->bind_output(0, out.data, out.size).ok());
  REQUIRE(r->bind_output(0, nullptr, 0).ok());
  REQUIRE(r->run().ok());
  CHECK(r->output(0)->data != out.data);
  CHECK(r->output(0)->as<float>()[0] == chain_value(1, 4));
}

TEST_CASE("binding an output ends the outputs of the last run: nobody is handed a buffer that no run wrote") {
  Chain b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  Tensor out = *Tensor::make(OPTIMA_F32, {1024});
  REQUIRE(r->run().ok());
  REQUIRE(r->bind_output(0, out.data, out.size).ok());
  CHECK(r->output(0).status().kind() == StatusKind::Usage);
  REQUIRE(r->run().ok());
  CHECK(r->output(0)->data == out.data);
  REQUIRE(r->bind_output(0, nullptr, 0).ok());
  CHECK(r->output(0).status().kind() == StatusKind::Usage);
  std::byte small[8];
  REQUIRE(r->run().ok());
  CHECK_FALSE(r->bind_output(0, small, 8).ok());
  CHECK(r->output(0)->as<float>()[0] == chain_value(1, 4));  // what was refused changed nothing
}

TEST_CASE("a dynamic output that is unbound after its run is no longer handed out") {
  Bench b;
  b.tensor("in", {-1}), b.tensor("out", {-1});
  b.package.inputs = {"in"};
  b.package.outputs = {"out"};
  b.subgraph({"in"}, {"out"}, affine(2, 0)).output_shapes = [](Tensors in) { return std::vector<std::vector<int64_t>>{{in[0].shape[0]}}; };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  std::vector<float> room(16 + 1);
  REQUIRE(r->bind_output(0, room.data() + (reinterpret_cast<uintptr_t>(room.data()) % 64 == 0), 16).ok());
  REQUIRE(r->run().ok());
  REQUIRE(r->bind_output(0, nullptr, 0).ok());
  CHECK(r->output(0).status().kind() == StatusKind::Usage);
  REQUIRE(r->run().ok());
  CHECK(r->output(0)->as<float>()[3] == 8);
}

TEST_CASE("a new input ends the outputs of the last run when one of them shows it, and only then") {
  Bench b;
  b.tensor("in", {-1}), b.tensor("same", {-1});
  b.package.inputs = {"in"};
  b.package.outputs = {"same"};
  b.package.variants[0].pass_through = {{"same", "in", ""}};
  auto r = b.request();
  Tensor bound = *Tensor::make(OPTIMA_F32, {4});
  REQUIRE(r->bind_output(0, bound.data, bound.size).ok());
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->run().ok());
  CHECK(r->output(0)->size == 16);
  REQUIRE(r->set_input(0, filled({1000})).ok());
  CHECK(r->output(0).status().kind() == StatusKind::Usage);  // 4000 bytes of a buffer of 16

  Chain chain;
  auto other = chain.request();
  REQUIRE(other->set_input(0, filled({1024})).ok());
  REQUIRE(other->run().ok());
  REQUIRE(other->set_input(0, filled({1024}, 7)).ok());
  CHECK(other->output(0)->as<float>()[0] == chain_value(1, 4));
}

TEST_CASE("profile data has the init kinds always, the run's kinds when asked for") {
  Chain b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->run().ok());
  auto events = r->take_events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind == ProfileKind::RequestInit);
  r->set_profiling(true);
  REQUIRE(r->run().ok());
  events = r->take_events();
  REQUIRE(events.size() == 5);
  CHECK(events[0].kind == ProfileKind::ModelExecute);
  CHECK(events[2].name == "subgraph 1 on X64:0");
  CHECK(r->take_events().empty());
  REQUIRE(b.model().events().size() == 5);
  CHECK(b.model().events()[0].kind == ProfileKind::ModelInit);
  CHECK(chrome_trace(events).find("\"name\": \"subgraph 1 on X64:0\"") != std::string::npos);
}

TEST_CASE("a run that is late ends at the next subgraph, with or without threads of its own, and the request runs again") {
  for (const bool started : {false, true}) {
    CAPTURE(started);
    Chain b;
    std::atomic<bool> slow{true};
    std::atomic<int> second{0};
    b.plugin.programs["subgraph_0"].execute = [&](Tensors in, Outputs out) {
      if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the deadline is 1 ms away
      return affine(2, 1)(in, out);
    };
    b.plugin.programs["subgraph_1"].execute = [&](Tensors in, Outputs out) { return ++second, affine(2, 1)(in, out); };
    auto r = b.request();
    REQUIRE(r->set_input(0, filled({1024})).ok());
    const auto run = [&] {
      if (!started) return r->run();
      REQUIRE(r->start().ok());
      bool still_running = true;
      const Status outcome = r->wait(-1, &still_running);
      CHECK_FALSE(still_running);
      return outcome;
    };
    r->set_deadline(1);
    const Status late = run();
    CHECK(late.kind() == StatusKind::Timeout);
    CHECK(late.message() == "the run did not end before its deadline");
    CHECK(second == 0);
    CHECK_FALSE(r->output(0).ok());
    slow = false;
    for (const uint64_t ms : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {  // none, years, more than a clock can count
      r->set_deadline(ms);
      CHECK(run().ok());
    }
    CHECK(r->output(0)->as<float>()[7] == chain_value(8, 4));
  }
}

TEST_CASE("cancel and deadline reach the inside of a subgraph that can be stopped") {
  Chain b;
  std::atomic<bool> entered{false};
  std::atomic<uint64_t> deadline{1};
  b.plugin.programs["subgraph_2"].stops = [&](const RunControl& control) {
    deadline = control.deadline_ns;
    entered = true;
    while (!*control.cancelled) std::this_thread::yield();
    return cancelled();
  };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  REQUIRE(r->start().ok());
  while (!entered) std::this_thread::yield();
  r->cancel();
  CHECK(r->wait(-1).kind() == StatusKind::Cancelled);
  CHECK(deadline == 0);
  b.plugin.programs["subgraph_2"].stops = [&](const RunControl& control) {
    deadline = control.deadline_ns;
    return Status(StatusKind::Timeout, "fake: had enough");
  };
  r->set_deadline(uint64_t{1} << 30);
  const Status late = r->run();
  CHECK(late.kind() == StatusKind::Timeout);
  CHECK(late.message() == "subgraph 2 on X64:0: fake: had enough");
  CHECK(deadline > now_ns());
}

TEST_CASE("what a binding asks for holds for user buffers, coming in and going out, on whatever thread") {
  for (const bool is_async : {false, true}) {
    CAPTURE(is_async);
    Chain b;
    FakeProgram &first = b.plugin.programs["subgraph_0"], &last = b.plugin.programs["subgraph_3"];
    first.bindings[0].alignment = last.bindings[1].alignment = 4096;
    first.bindings[0].min_size = last.bindings[1].min_size = 8192;
    first.is_async = last.is_async = is_async;
    // Both touch all that they asked for.
    first.execute = [](Tensors in, Outputs out) {
      for (size_t i = 0; i < 1024; ++i) floats(out[0])[i] = floats(in[0])[i] + static_cast<float*>(in[0].data)[1024 + i];
      return Status();
    };
    last.execute = [](Tensors in, Outputs out) {
      std::memset(out[0].data, 0, 8192);
      return affine(2, 1)(in, out);
    };
    auto r = b.request();
    const auto is_good = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 4096 == 0; };
    const auto run = [&] {
      if (!is_async) return r->run();
      REQUIRE(r->start().ok());
      return r->wait(-1);
    };
    Buffer page;
    REQUIRE(page.reserve(4 * 8192, 4096));
    std::memset(page.data(), 0, 4 * 8192);
    auto* const values = reinterpret_cast<float*>(page.data());
    for (size_t i = 0; i < 8192; ++i) values[i] = i < 2048 ? 3 : 0;
    // Aligned and too short, long enough and not aligned, neither: each through a copy; and nothing behind them is touched.
    for (const auto& [at, capacity] : {std::pair<size_t, uint64_t>(0, 4096), {64, 8192}, {64, 4096}}) {
      std::byte* const user = page.data() + at;
      std::byte* const result = page.data() + 2 * 8192 + at;
      std::memset(page.data() + 2 * 8192, 0x55, 2 * 8192);
      REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {1024}, user, 4096)).ok());
      REQUIRE(r->bind_output(0, result, capacity).ok());
      REQUIRE(run().ok());
      CHECK(r->bound_address(0, true, 0) != user);
      CHECK(is_good(r->bound_address(0, true, 0)));
      CHECK(r->bound_address(3, false, 0) != result);
      CHECK(is_good(r->bound_address(3, false, 0)));
      CHECK(reinterpret_cast<float*>(result)[1023] == chain_value(3, 3));
      CHECK(result[4096] == std::byte{0x55});
    }
    REQUIRE(r->bind_output(0, page.data() + 2 * 8192, 8192).ok());
    REQUIRE(run().ok());
    CHECK(r->bound_address(3, false, 0) == page.data() + 2 * 8192);
    REQUIRE(r->bind_output(0, nullptr, 0).ok());
    REQUIRE(run().ok());
    CHECK(is_good(r->bound_address(3, false, 0)));
    CHECK(r->output(0)->as<float>()[5] == chain_value(3, 3));
  }
}
