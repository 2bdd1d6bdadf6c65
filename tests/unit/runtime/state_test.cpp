// SPDX-License-Identifier: Apache-2.0
// State: outputs that live in the buffers of inputs, model outputs that feed inputs of the next run, and reset.
#include <set>
#include <thread>

#include "core/support/text.hpp"
#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::vector<float> values(const Tensor& t) { return {t.as<float>().begin(), t.as<float>().end()}; }
std::vector<float> ramp(size_t count, float first) {
  std::vector<float> out(count);
  for (float& f : out) f = first, first += 1;
  return out;
}

/// in[0] + 1, the first output in place.
Status bump(Tensors in, Outputs out) {
  if (in[0].data != out[0].data) return plugin_error("the value lies in two places");
  for (float& f : floats(out[0])) f += 1;
  return {};
}
Status copy_and_bump(Tensors in, Outputs out) { return affine(1, 1)(in, out); }

/// Subgraphs of tensors of one shape, whose first output lives in their first input where that is said.
struct StateBench : Bench {
  std::vector<int64_t> shape;
  explicit StateBench(std::vector<std::string> tensors, std::vector<int64_t> s = {16}) : shape(std::move(s)) {
    for (const std::string& name : tensors) tensor(name, shape);
  }
  FakeProgram& in_place(std::vector<std::string> inputs, std::vector<std::string> outputs, std::function<Status(Tensors, Outputs)> execute = bump) {
    const size_t first = inputs.size();
    FakeProgram& p = subgraph(std::move(inputs), std::move(outputs), std::move(execute));
    p.bindings[first].alias = 0;
    return p;
  }
  FakeProgram& plain(std::vector<std::string> inputs, std::vector<std::string> outputs) {
    return subgraph(std::move(inputs), std::move(outputs), copy_and_bump);
  }
  void ends(std::vector<std::string> inputs, std::vector<std::string> outputs) { package.inputs = std::move(inputs), package.outputs = std::move(outputs); }
  const LoadedModel& load_with_cuts() {
    auto r = reader();
    REQUIRE(r.ok());
    auto loaded = LoadedModel::load(context, std::move(*r), {.keep_cuts = true});
    REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
    cuts_ = std::move(*loaded);
    return *cuts_;
  }

 private:
  std::unique_ptr<LoadedModel> cuts_;
};

std::vector<float> ran(Request& r, size_t output = 0) {
  const Status s = r.run();
  REQUIRE_MESSAGE(s.ok(), s.message());
  return values(*r.output(output));
}

/// past -> present, which a tie makes one value that grows by one in each run.
struct Counter : StateBench {
  explicit Counter(bool is_in_place, std::vector<int64_t> s = {16}) : StateBench({"past", "present"}, std::move(s)) {
    ends({"past"}, {"present"});
    if (is_in_place) in_place({"past"}, {"present"});
    else plain({"past"}, {"present"});
  }
};

}  // namespace

TEST_CASE("cut tensors that are updated in place are one storage, in the user's buffer where the last of them is an output") {
  StateBench b({"in", "a", "b", "out"});
  b.ends({"in"}, {"out"});
  b.plain({"in"}, {"a"});
  b.in_place({"a"}, {"b"});
  b.in_place({"b"}, {"out"});
  auto r = b.request();
  CHECK(b.model().arena_bytes() == 0);
  REQUIRE(r->set_input(0, filled({16})).ok());
  CHECK(ran(*r) == ramp(16, 4));
  for (size_t k : {1, 2}) CHECK(r->bound_address(k, true, 0) == r->bound_address(0, false, 0));
  Tensor bound = *Tensor::make(OPTIMA_F32, {16});
  REQUIRE(r->bind_output(0, bound.data, bound.size).ok());
  CHECK(ran(*r) == ramp(16, 4));
  CHECK(r->bound_address(0, false, 0) == bound.data);
  REQUIRE(r->bind_output(0, bound.data + 4, bound.size).ok());  // misaligned, and not written beyond
  CHECK(r->bound_address(0, false, 0) != bound.data + 4);
}

TEST_CASE("of tensors in the arena the one that is dead afterwards gives its place") {
  StateBench b({"in", "a", "b", "out"}, {1024});
  b.ends({"in"}, {"out"});
  FakeProgram& first = b.plain({"in"}, {"a"});
  first.bindings[1].alignment = 256;
  b.in_place({"a"}, {"b"}).bindings[1].min_size = 8192;
  b.plain({"b"}, {"out"});
  auto r = b.request();
  CHECK(b.model().arena_bytes() == 8192);  // as its readers want it
  REQUIRE(r->set_input(0, filled({1024})).ok());
  CHECK(ran(*r) == ramp(1024, 4));
  CHECK(r->bound_address(0, false, 0) == r->bound_address(2, true, 0));
  CHECK(reinterpret_cast<uintptr_t>(r->bound_address(1, false, 0)) % 256 == 0);
}

TEST_CASE("a storage is taken for as long as any of its tensors is alive") {
  StateBench b({"in", "a", "b", "c", "d", "out"}, {1024});
  b.ends({"in"}, {"out"});
  b.plain({"in"}, {"a"});
  b.plain({"in"}, {"c"});
  b.plain({"c"}, {"d"});
  b.in_place({"a", "d"}, {"b"});
  b.plain({"b"}, {"out"});
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({1024})).ok());
  CHECK(ran(*r) == ramp(1024, 4));
  CHECK(r->bound_address(1, false, 0) != r->bound_address(0, false, 0));
}

TEST_CASE("a value that is still needed is copied first: for a later subgraph, an output, a second input, and for cut tensors that are kept") {
  StateBench later({"in", "a", "b", "old", "out"});
  later.ends({"in"}, {"out", "old"});
  later.plain({"in"}, {"a"});
  later.in_place({"a"}, {"b"});
  later.plain({"b"}, {"out"});
  later.plain({"a"}, {"old"});
  auto r = later.request();
  REQUIRE(r->set_input(0, filled({16})).ok());
  for (int run = 0; run < 3; ++run) {
    CHECK(ran(*r) == ramp(16, 4));
    CHECK(values(*r->output(1)) == ramp(16, 3));
  }
  CHECK(r->bound_address(1, true, 0) != r->bound_address(0, false, 0));

  StateBench output({"in", "a", "b"});
  output.ends({"in"}, {"a", "b"});
  output.plain({"in"}, {"a"});
  output.in_place({"a"}, {"b"});
  r = output.request();
  REQUIRE(r->set_input(0, filled({16})).ok());
  CHECK(ran(*r) == ramp(16, 2));
  CHECK(values(*r->output(1)) == ramp(16, 3));

  StateBench twice({"in", "a", "b"});
  twice.ends({"in"}, {"b"});
  twice.plain({"in"}, {"a"});
  twice.in_place({"a", "a"}, {"b"}, [](Tensors in, Outputs out) {
    for (size_t i = 0; i < 16; ++i) floats(out[0])[15 - i] += floats(in[1])[i];
    return Status();
  });
  r = twice.request();
  REQUIRE(r->set_input(0, filled({16})).ok());
  CHECK(ran(*r) == std::vector<float>(16, 19));

  StateBench kept({"in", "a", "out"});
  kept.ends({"in"}, {"out"});
  kept.plain({"in"}, {"a"});
  kept.in_place({"a"}, {"out"});
  auto with_cuts = Request::create(kept.load_with_cuts());
  REQUIRE(with_cuts.ok());
  REQUIRE((*with_cuts)->set_input(0, filled({16})).ok());
  CHECK(ran(**with_cuts) == ramp(16, 3));
  CHECK(values((*with_cuts)->cuts()->at(0)) == ramp(16, 2));
}

TEST_CASE("a user's input is never written to, wherever it lies and wherever the output goes") {
  for (const size_t shift : {0, 1}) {
    CAPTURE(shift);
    Counter b(true);
    auto r = b.request();
    const Tensor room = filled({16 + 1}), bound = *Tensor::make(OPTIMA_F32, {16});
    const auto given = [&] { return *Tensor::borrow(OPTIMA_F32, {16}, room.data + 4 * shift, 64); };
    REQUIRE(r->set_input(0, given()).ok());
    for (int run = 0; run < 4; ++run) {
      if (run == 2) REQUIRE(r->bind_output(0, bound.data, bound.size).ok());
      CHECK(ran(*r) == ramp(16, 2 + static_cast<float>(shift)));
      CHECK(values(room) == ramp(17, 1));
    }
    CHECK(values(bound) == ramp(16, 2 + static_cast<float>(shift)));
    CHECK((r->bound_address(0, false, 0) == bound.data) == (shift == 0));
  }
}

TEST_CASE("a tied output feeds its input, in place at one address or by turns in two, and gives what a caller gives who copies") {
  for (const bool is_async : {false, true})
    for (const bool is_in_place : {true, false}) {
      CAPTURE(is_in_place);
      Counter b(is_in_place), plain(false);
      b.plugin.programs["subgraph_0"].is_async = is_async;
      auto r = b.request(), reference = plain.request();
      REQUIRE(r->tie(0, 0).ok());
      REQUIRE(reference->set_input(0, *Tensor::make(OPTIMA_F32, {16})).ok());
      r->set_profiling(true);
      std::set<const void*> addresses;
      for (int run = 0; run < 5; ++run) {
        if (is_async) {
          REQUIRE(r->start().ok());
          REQUIRE(r->wait(-1).ok());
        } else {
          REQUIRE(r->run().ok());
        }
        const std::vector<float> wanted = ran(*reference);
        CHECK(values(*r->output(0)) == wanted);
        CHECK(wanted == std::vector<float>(16, static_cast<float>(run + 1)));
        addresses.insert(r->bound_address(0, false, 0));
        Tensor past = *Tensor::make(OPTIMA_F32, {16});
        std::copy(wanted.begin(), wanted.end(), past.as<float>().begin());
        REQUIRE(reference->set_input(0, past).ok());
      }
      CHECK(addresses.size() == (is_in_place ? 1 : 2));
      for (const ProfileEvent& e : r->take_events()) CHECK(e.kind != ProfileKind::BufferCopy);
    }
}

TEST_CASE("a state starts from what was set, again when something else is set, and from there after a reset") {
  for (const bool is_in_place : {true, false}) {
    Counter b(is_in_place);
    auto r = b.request();
    Tensor start = filled({16}, 10);
    REQUIRE(r->set_input(0, *Tensor::borrow(OPTIMA_F32, {16}, start.data, start.size)).ok());
    REQUIRE(r->tie(0, 0).ok());
    CHECK(ran(*r) == ramp(16, 11));
    CHECK(ran(*r) == ramp(16, 12));
    REQUIRE(r->reset().ok());
    CHECK(values(*r->output(0)) == ramp(16, 12));  // the last run's, still
    CHECK(ran(*r) == ramp(16, 11));
    CHECK(values(start) == ramp(16, 10));
    start.as<float>()[0] = 7;
    CHECK(ran(*r)[0] == 12);
    REQUIRE(r->reset().ok());
    CHECK(ran(*r)[0] == 8);  // read again
    REQUIRE(r->set_input(0, filled({16}, 20)).ok());
    CHECK(values(*r->output(0))[0] == 8);
    CHECK(ran(*r) == ramp(16, 21));
    CHECK(ran(*r) == ramp(16, 22));
    REQUIRE(r->set_input(0, *r->output(0)).ok());  // which is the state itself
    CHECK(ran(*r) == ramp(16, 23));
  }
}

TEST_CASE("a tied output goes to a bound buffer too, and what is done to that buffer changes no state") {
  for (const bool is_in_place : {true, false}) {
    Counter b(is_in_place);
    auto r = b.request();
    Tensor bound = *Tensor::make(OPTIMA_F32, {16});
    REQUIRE(r->bind_output(0, bound.data, bound.size).ok());
    REQUIRE(r->tie(0, 0).ok());
    for (int run = 1; run <= 3; ++run) {
      CHECK(ran(*r) == std::vector<float>(16, static_cast<float>(run)));
      CHECK(values(bound) == std::vector<float>(16, static_cast<float>(run)));
      CHECK(r->output(0)->data == bound.data);
      std::fill(bound.as<float>().begin(), bound.as<float>().end(), -1.f);
    }
    REQUIRE(r->bind_output(0, nullptr, 0).ok());
    CHECK(ran(*r)[0] == 4);
    CHECK(bound.as<float>()[0] == -1);
  }
}

TEST_CASE("a state that two subgraphs update in turn stays where it is, and one that only passes through is copied") {
  StateBench b({"past", "mid", "present"});
  b.ends({"past"}, {"present"});
  b.in_place({"past"}, {"mid"});
  b.in_place({"mid"}, {"present"});
  auto r = b.request();
  REQUIRE(r->tie(0, 0).ok());
  std::set<const void*> addresses;
  for (int run = 1; run <= 5; ++run) {
    CHECK(ran(*r)[15] == static_cast<float>(2 * run));
    addresses.insert(r->bound_address(0, true, 0));
    addresses.insert(r->bound_address(1, false, 0));
  }
  CHECK(addresses.size() == 1);

  // Each of two states is what the other was, and a third is an output that feeds the first already.
  StateBench swap({"p", "q", "s", "out"});
  swap.tensor("p_next", swap.shape), swap.tensor("q_next", swap.shape);
  swap.ends({"p", "q", "s"}, {"p_next", "q_next", "out"});
  swap.package.variants[0].pass_through = {{"p_next", "q", ""}, {"q_next", "p", ""}};
  swap.plain({"s"}, {"out"});
  r = swap.request();
  REQUIRE(r->set_input(0, filled({16}, 100)).ok());
  for (const size_t k : {0, 1, 2}) REQUIRE(r->tie(k, k).ok());
  for (int run = 1; run <= 4; ++run) {
    CHECK(ran(*r, 2)[0] == static_cast<float>(run));
    CHECK(values(*r->output(0)) == (run % 2 ? std::vector<float>(16, 0) : ramp(16, 100)));
    CHECK(values(*r->output(1)) == (run % 2 ? ramp(16, 100) : std::vector<float>(16, 0)));
  }
}

TEST_CASE("ties that make no sense are refused by name") {
  StateBench b({"a", "b", "x", "y"});
  b.tensor("other", {16}, OPTIMA_I32), b.tensor("short", {4}), b.tensor("any", {-1});
  b.ends({"a", "b", "other", "short", "any"}, {"x", "y"});
  b.plain({"a", "b", "other", "short", "any"}, {"x", "y"});
  auto r = b.request();
  CHECK(r->tie(2, 0).message() == "output number 2 found, wanted 0 to 1");
  CHECK(r->tie(0, 9).message() == "input number 9 found, wanted 0 to 4");
  CHECK(r->tie(0, 2).message() == "output 'x': found type float32, wanted int32 as input 'other'");
  CHECK(r->tie(0, 3).message() == "output 'x': found shape 16, wanted 4 as input 'short'");
  CHECK(r->tie(0, 3).kind() == StatusKind::InvalidInput);
  REQUIRE(r->tie(0, 1).ok());
  CHECK(r->tie(0, 0).message() == "output 'x' is tied to input 'b' already, wanted one that is not");
  CHECK(r->tie(1, 1).message() == "input 'b' is tied to output 'x' already, wanted one that is not");
  CHECK(r->tie(1, 1).kind() == StatusKind::Usage);
  REQUIRE(r->tie(1, 4).ok());
  for (const size_t k : {0, 2, 3}) REQUIRE(r->set_input(k, *Tensor::make(b.model().inputs()[k].dtype, b.model().inputs()[k].shape)).ok());
  CHECK(r->run().message() == "input 'any': is not set, wanted what it starts from, for its shape is known only when running");
  REQUIRE(r->set_input(4, filled({3})).ok());
  CHECK(r->run().ok());
}

TEST_CASE("a tied output of another shape than its input takes fails the run, and the state stays what it was") {
  StateBench b({"in"}, {-1, 2});
  b.tensor("out", {3, -1});
  b.ends({"in"}, {"out"});
  int64_t width = 2;
  b.plain({"in"}, {"out"}).output_shapes = [&](Tensors) { return std::vector<std::vector<int64_t>>{{3, width}}; };
  auto r = b.request();
  REQUIRE(r->set_input(0, *Tensor::make(OPTIMA_F32, {3, 2})).ok());
  REQUIRE(r->tie(0, 0).ok());
  CHECK(ran(*r)[5] == 1);
  width = 4;
  CHECK(r->run().message() == "output 'out': found shape 3x4, wanted ?x2 as input 'in'");
  CHECK_FALSE(r->output(0).ok());
  width = 2;
  CHECK(ran(*r)[5] == 2);
}

TEST_CASE("a state that has grown past the sizes that the package allows is refused before the run") {
  StateBench b({"present"}, {-1});
  b.tensor("past", {-1}).symbols[0] = "n";
  b.ends({"past"}, {"present"});
  b.package.sizes = {{"n", *parse_size_range("1..3")}};
  b.package.variants[0].main = 1;
  int runs = 0;
  FakeProgram& grow = b.plain({"past"}, {"present"});
  grow.output_shapes = [](Tensors in) { return std::vector<std::vector<int64_t>>{{in[0].shape[0] + 1}}; };
  grow.execute = [&runs](Tensors in, Outputs out) { return ++runs, copy_and_bump(in, out); };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({2})).ok());
  REQUIRE(r->tie(0, 0).ok());
  CHECK(r->run().ok());
  CHECK(r->run().ok());
  const Status full = r->run();
  CHECK(full.kind() == StatusKind::InvalidInput);
  CHECK(full.message() == "input 'past': n = 4, wanted 1 to 3");
  CHECK(runs == 2);
}

TEST_CASE("a state that a failed run has half overwritten is not used again; one that lies apart is") {
  for (const bool is_in_place : {true, false}) {
    Counter b(is_in_place);
    bool fails = false;
    b.plugin.programs["subgraph_0"].execute = [&, is_in_place](Tensors in, Outputs out) {
      const Status s = is_in_place ? bump(in, out) : copy_and_bump(in, out);
      return fails ? plugin_error("it broke") : s;
    };
    auto r = b.request();
    REQUIRE(r->tie(0, 0).ok());
    fails = true;
    CHECK_FALSE(r->run().ok());
    fails = false;
    CHECK(ran(*r)[0] == 1);  // nothing was lost yet: it starts from zeros again
    CHECK(ran(*r)[0] == 2);
    fails = true;
    CHECK_FALSE(r->run().ok());
    fails = false;
    if (is_in_place) {
      const Status lost = r->run();
      CHECK(lost.kind() == StatusKind::Usage);
      CHECK(lost.message() == "input 'past': a run that did not end well has overwritten its state, wanted a reset or a new input");
      REQUIRE(r->reset().ok());
      CHECK(ran(*r)[0] == 1);
    } else {
      CHECK(ran(*r)[0] == 3);
    }
  }
}

TEST_CASE("a cache of unknown size grows in place: known beforehand, or only while executing, bound or not") {
  for (const bool is_late : {false, true})
    for (const bool is_bound : {false, true}) {
      CAPTURE(is_late);
      CAPTURE(is_bound);
      StateBench b({"past", "present"}, {-1});
      b.ends({"past"}, {"present"});
      b.in_place({"past"}, {"present"}, [](Tensors in, Outputs out) {
        const uint64_t held = in[0].size / 4;
        const void* const before = in[0].data;
        const int64_t grown[] = {static_cast<int64_t>(held) + 1};
        if (!out[0].data && out[0].alloc(out[0].host_data, grown, 1) != OPTIMA_OK) return plugin_error("no buffer");
        if (held && std::memcmp(before, in[0].data, in[0].size) != 0) return plugin_error("what was there is gone");
        if (in[0].data != out[0].data || floats(out[0]).size() != held + 1) return plugin_error("the cache lies in two places");
        floats(out[0])[held] = static_cast<float>(held);
        return Status();
      }).output_shapes = [=](Tensors in) { return std::vector<std::vector<int64_t>>{{is_late ? -1 : in[0].shape[0] + 1}}; };
      auto r = b.request();
      Tensor bound = *Tensor::make(OPTIMA_F32, {20});
      if (is_bound) REQUIRE(r->bind_output(0, bound.data, bound.size).ok());
      const Tensor user = filled({3}, 0);
      REQUIRE(r->set_input(0, user).ok());
      for (int run = 0; run < 2; ++run) CHECK(ran(*r) == ramp(4, 0));  // a user's input, which stays
      CHECK(values(user) == ramp(3, 0));
      REQUIRE(r->set_input(0, *Tensor::make(OPTIMA_F32, {0})).ok());
      REQUIRE(r->tie(0, 0).ok());
      std::set<const void*> addresses;
      for (size_t run = 1; run <= 20; ++run) {
        CHECK(ran(*r) == ramp(run, 0));
        addresses.insert(r->bound_address(0, false, 0));
      }
      CHECK(addresses.size() < 12);  // it takes more room than it needs now
      if (is_bound) CHECK(values(bound) == ramp(20, 0));
      REQUIRE(r->reset().ok());
      CHECK(ran(*r) == ramp(1, 0));
    }
}

TEST_CASE("a plugin that is asked for shapes sees the input's value, in every run") {
  StateBench b({"in", "out"}, {4});
  b.tensor("more", {-1});
  b.ends({"in"}, {"out", "more"});
  b.in_place({"in"}, {"out", "more"}).output_shapes = [](Tensors in) { return std::vector<std::vector<int64_t>>{{4}, {static_cast<int64_t>(floats(in[0])[0])}}; };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4}, 3)).ok());
  for (int run = 0; run < 3; ++run) {
    CHECK(ran(*r) == ramp(4, 4));
    CHECK(r->output(1)->shape == std::vector<int64_t>{3});
  }
}

TEST_CASE("an input that is larger than the output that lives in it has room") {
  StateBench b({"in", "mid", "out"}, {-1});
  b.ends({"in"}, {"out"});
  b.plain({"in"}, {"mid"}).output_shapes = [](Tensors in) { return std::vector<std::vector<int64_t>>{{in[0].shape[0]}}; };
  b.in_place({"mid"}, {"out"}, [](Tensors in, Outputs out) {
    floats(out[0])[0] = 0;
    for (size_t i = 1; i < floats(in[0]).size(); ++i) floats(out[0])[0] += floats(in[0])[i];
    return Status();
  }).output_shapes = [](Tensors) { return std::vector<std::vector<int64_t>>{{1}}; };
  auto r = b.request();
  Tensor bound = *Tensor::make(OPTIMA_F32, {1});
  REQUIRE(r->bind_output(0, bound.data, bound.size).ok());
  for (const int64_t n : {1000, 10}) {
    REQUIRE(r->set_input(0, *Tensor::make(OPTIMA_F32, {n})).ok());
    CHECK(ran(*r)[0] == static_cast<float>(n - 1));
    CHECK(bound.as<float>()[0] == static_cast<float>(n - 1));
    CHECK(r->bound_address(1, true, 0) == r->bound_address(0, false, 0));  // handed over, not copied
  }

  StateBench copied({"in", "out"}, {-1});
  copied.ends({"in"}, {"out"});
  copied.in_place({"in"}, {"out"}, [](Tensors in, Outputs out) {
    floats(out[0])[0] = floats(in[0]).back();
    return Status();
  }).output_shapes = [](Tensors) { return std::vector<std::vector<int64_t>>{{1}}; };
  r = copied.request();
  REQUIRE(r->bind_output(0, bound.data, bound.size).ok());
  REQUIRE(r->set_input(0, filled({1000})).ok());
  CHECK(ran(*r)[0] == 1000);
  CHECK(r->bound_address(0, false, 0) != bound.data);
}

TEST_CASE("an input that does not fit the fixed place of its output is refused, not written beyond it") {
  StateBench b({"out"}, {4});
  b.tensor("in", {-1}), b.tensor("mid", {4});
  b.ends({"in"}, {"out"});
  b.in_place({"in"}, {"mid"});
  b.plain({"mid"}, {"out"});
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  CHECK(ran(*r)[0] == 3);
  REQUIRE(r->set_input(0, filled({5})).ok());
  CHECK(r->run().message() == "subgraph 0 on X64:0: output 'mid' lives in the buffer of input 'in': found 20 bytes, wanted at most 16");
}

TEST_CASE("a backend's alias that is no input's number is refused") {
  Counter b(true);
  b.plugin.programs["subgraph_0"].bindings[1].alias = 1;
  CHECK(b.load().status().message().ends_with("subgraph 0 of plugin fake: binding 'present' lives in input number 1, wanted a number below 1"));
}

TEST_CASE("a loop updates what it carries in place from its second trip on, and leaves alone what it starts from and captures") {
  // By output: the input that it lives in. Those of "crossed" change buffers in each trip, that of "captured" is read in all of them.
  struct Places {
    const char* name;
    uint32_t p2, q2, v2;
  };
  for (const Places& at : {Places{"apart", OPTIMA_NONE, OPTIMA_NONE, OPTIMA_NONE}, {"crossed", 3, 2, 4}, {"captured", 4, 2, OPTIMA_NONE}}) {
    CAPTURE(at.name);
    Bench b;
    std::set<const void*> addresses;
    b.tensor("n", {}, OPTIMA_I64), b.tensor("a", {4}), b.tensor("w", {4}), b.tensor("y", {4}), b.tensor("z", {4});
    b.package.inputs = {"n", "a", "w"};
    b.package.outputs = {"y", "z"};
    PackageSubgraph driven;
    driven.device = "host";
    driven.inputs = b.package.inputs, driven.outputs = {"y", "z"};
    b.package.variants[0].subgraphs.push_back(driven);
    FlowBody body;
    body.name = "body";
    body.first = 1, body.count = 1;
    body.captures = {"w"};
    body.inputs = {"i", "c", "p", "q", "v"}, body.outputs = {"go", "p2", "q2"};
    const size_t outside = b.package.tensors.size();
    b.tensor("c", {}, OPTIMA_BOOL), b.tensor("go", {}, OPTIMA_BOOL), b.tensor("i", {}, OPTIMA_I64);
    for (const char* name : {"p", "p2", "q", "q2", "v"}) b.tensor(name, {4});
    b.tensor("v2", {4});
    body.tensors.assign(b.package.tensors.begin() + static_cast<std::ptrdiff_t>(outside), b.package.tensors.end());
    FakeProgram& p = b.subgraph(body.inputs, {"go", "p2", "q2", "v2"}, [&](Tensors in, Outputs out) {
      *static_cast<uint8_t*>(out[0].data) = 1;
      for (size_t i = 0; i < 4; ++i) {
        const float was_p = floats(in[2])[i], was_q = floats(in[3])[i], captured = floats(in[4])[i];
        floats(out[1])[i] = was_q + captured;
        floats(out[2])[i] = was_p;
        floats(out[3])[i] = -1;
      }
      addresses.insert(out[1].data);
      const auto apart = [&](size_t output, uint32_t input) { return input != OPTIMA_NONE && in[input].data != out[output].data; };
      return apart(1, at.p2) || apart(2, at.q2) || apart(3, at.v2) ? plugin_error("two places") : Status();
    });
    p.bindings[6].alias = at.p2, p.bindings[7].alias = at.q2, p.bindings[8].alias = at.v2;
    p.bindings[4].min_size = 64;  // what is captured is copied into the body, once for all trips
    b.package.tensors.resize(outside);
    FlowNode node;
    node.name = "node_1", node.op = "Loop";
    node.inputs = {{"n", "", OPTIMA_UNDEFINED, {}}, {}, {"a", "", OPTIMA_UNDEFINED, {}}, {"a", "", OPTIMA_UNDEFINED, {}}};
    node.outputs = {"y", "z"};
    node.bodies = {body};
    b.package.variants[0].subgraphs[0].flow = {node};
    b.package.variants[0].main = 1;
    auto r = b.request();
    const Tensor a = filled({4}), w = filled({4}, 10);
    Tensor n = *Tensor::make(OPTIMA_I64, {});
    REQUIRE(r->set_input(1, a).ok());
    REQUIRE(r->set_input(2, w).ok());
    for (const int64_t trips : {1, 2, 5, 12}) {
      *n.as<int64_t>().data() = trips;
      REQUIRE(r->set_input(0, n).ok());
      addresses.clear();
      CHECK(ran(*r)[0] == static_cast<float>(1 + (trips + 1) / 2 * 10));
      CHECK(values(*r->output(1))[0] == static_cast<float>(1 + trips / 2 * 10));
      if (at.p2 == 3) CHECK(addresses.size() <= 2);  // p and q by turns
      CHECK(values(a) == ramp(4, 1));
      CHECK(values(w) == ramp(4, 10));
    }
  }
}

TEST_CASE("reset tells every context, in bodies too, and the first failure counts; not while a run is under way") {
  StateBench b({"in", "mid", "out"});
  b.ends({"in"}, {"out"});
  int told = 0;
  bool fails = false;
  b.plain({"in"}, {"mid"}).on_reset = [&] { return ++told, fails ? plugin_error("it remembers") : Status(); };
  FakeProgram& second = b.plain({"mid"}, {"out"});
  second.on_reset = [&] { return ++told, Status(); };
  std::atomic<bool> inside{false}, go_on{false};
  second.execute = [&](Tensors in, Outputs out) {
    inside = true;
    while (!go_on) std::this_thread::yield();
    return copy_and_bump(in, out);
  };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({16})).ok());
  REQUIRE(r->reset().ok());
  CHECK(told == 2);
  REQUIRE(r->start().ok());
  while (!inside) std::this_thread::yield();
  CHECK(r->reset().message() == "the request is running, wanted an idle one");
  CHECK(r->tie(0, 0).kind() == StatusKind::Usage);
  CHECK(told == 2);
  go_on = true;
  REQUIRE(r->wait(-1).ok());
  fails = true;
  CHECK(r->reset().message() == "subgraph 0 on X64:0: it remembers");
  CHECK(told == 4);
  CHECK(ran(*r)[0] == 3);
}

namespace {

/// A package over the real plugin: past, token -> present, sum, runs; what the artifact says decides how.
struct CachePackage {
  std::unique_ptr<RuntimeContext> context;
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Request> request;
  explicit CachePackage(const std::string& words) {
    PluginFolders folders;
    folders.folders = {CACHE_PLUGINS};
    folders.allow_writable = true;
    auto plugins = scan_plugins(std::move(folders));
    REQUIRE_MESSAGE(plugins.ok(), plugins.status().message());
    context = std::make_unique<RuntimeContext>(std::move(*plugins));
    Package p;
    p.model_name = "cache";
    p.model_hash = std::string(64, '0');
    p.inputs = {"past", "token"};
    p.outputs = {"present", "runs", "sum"};
    const std::vector<int64_t> length = {words.find("grows") != words.npos ? -1 : 64};
    for (const auto& [name, shape] : std::map<std::string, std::vector<int64_t>>{{"past", length}, {"present", length}, {"runs", {1}}, {"sum", {1}}, {"token", {1}}}) {
      PackageTensor t;
      t.name = name, t.dtype = OPTIMA_F32, t.shape = shape, t.attr = "intermediate";
      t.symbols.resize(1);
      p.tensors.push_back(t);
    }
    PackageSubgraph s;
    s.device = "CACHE:0", s.plugin = "cache", s.target.kind = "CACHE", s.format_id = "cache.words/1", s.stem = "subgraph_0";
    s.files = {{"subgraph_0.bin", to_hex(sha256(words.data(), words.size())), words.size()}};
    s.inputs = {"past", "token"}, s.outputs = {"present", "sum", "runs"};
    p.variants.resize(1);
    p.variants[0].subgraphs = {s};
    const std::string meta = write_meta(p);
    auto reader = PackageReader::open({{"model.meta", Blob::copy(meta.data(), meta.size())}, {artifact_path(0, "subgraph_0.bin"), Blob::copy(words.data(), words.size())}});
    REQUIRE_MESSAGE(reader.ok(), reader.status().message());
    auto loaded = LoadedModel::load(*context, std::move(*reader));
    REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
    model = std::move(*loaded);
    auto made = Request::create(*model);
    REQUIRE(made.ok());
    request = std::move(*made);
  }
  struct Answer {
    std::vector<float> present;
    float runs, sum;
    bool operator==(const Answer&) const = default;
  };
  Answer run(float token) const {
    Tensor t = *Tensor::make(OPTIMA_F32, {1});
    t.as<float>()[0] = token;
    REQUIRE(request->set_input(1, t).ok());
    const Status s = request->run();
    REQUIRE_MESSAGE(s.ok(), s.message());
    return {values(*request->output(0)), request->output(1)->as<float>()[0], request->output(2)->as<float>()[0]};
  }
};

}  // namespace

TEST_CASE("a plugin file appends to a cache in place over five runs, as one does that copies, and is reset with its hidden state") {
  for (const std::string kind : {"fixed", "grows", "grows, tells late"}) {
    CAPTURE(kind);
    const CachePackage cache("in place, " + kind), reference("copied, " + kind);
    for (const CachePackage* p : {&cache, &reference}) {
      if (kind != "fixed") REQUIRE(p->request->set_input(0, *Tensor::make(OPTIMA_F32, {0})).ok());
      REQUIRE(p->request->tie(0, 0).ok());
    }
    std::vector<CachePackage::Answer> first;
    std::set<const void*> addresses;
    for (int run = 1; run <= 5; ++run) {
      first.push_back(cache.run(static_cast<float>(run)));
      CHECK(first.back() == reference.run(static_cast<float>(run)));
      CHECK(first.back().sum == static_cast<float>(run * (run + 1) / 2));
      CHECK(first.back().runs == static_cast<float>(run));
      CHECK(cache.request->bound_address(0, true, 0) == cache.request->bound_address(0, false, 0));
      addresses.insert(cache.request->bound_address(0, false, 0));
    }
    if (kind == "fixed") CHECK(addresses.size() == 1);
    REQUIRE(cache.request->reset().ok());
    for (int run = 1; run <= 5; ++run) CHECK(cache.run(static_cast<float>(run)) == first[static_cast<size_t>(run - 1)]);
  }
}
