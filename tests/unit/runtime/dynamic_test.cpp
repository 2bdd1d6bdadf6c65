// SPDX-License-Identifier: Apache-2.0
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::vector<int64_t> dims_of(const optima_tensor& t) { return {t.shape, t.shape + t.rank}; }

/// in [n, 2] -> mid [n, 2] (told beforehand) -> out [m], the elements over 3 (known only while executing).
struct Dynamic : Bench {
  Dynamic() {
    tensor("in", {-1, 2}).symbols[0] = "n";
    tensor("mid", {-1, 2}), tensor("out", {-1});
    package.inputs = {"in"};
    package.outputs = {"out"};
    subgraph({"in"}, {"mid"}, affine(1, 1)).output_shapes = [](Tensors in) { return std::vector<std::vector<int64_t>>{dims_of(in[0])}; };
    subgraph({"mid"}, {"out"}, pick_large);
  }
  static Status pick_large(Tensors in, Outputs out) {
    std::vector<float> kept;
    for (const float f : floats(in[0]))
      if (f > 3) kept.push_back(f);
    const int64_t dims[] = {static_cast<int64_t>(kept.size())};
    if (out[0].alloc(out[0].host_data, dims, 1) != OPTIMA_OK) return plugin_error("no buffer");
    std::copy(kept.begin(), kept.end(), floats(out[0]).begin());
    return {};
  }
};

}  // namespace

TEST_CASE("shapes told beforehand and shapes known while executing both work, at several sizes in turn") {
  Dynamic b;
  auto r = b.request();
  for (const int64_t n : {2, 50, 0, 3}) {
    REQUIRE(r->set_input(0, filled({n, 2})).ok());  // 1, 2, 3, ... -> 2, 3, 4, ...
    const Status status = r->run();
    REQUIRE_MESSAGE(status.ok(), status.message());
    const auto out = r->output(0);
    const int64_t kept = n ? 2 * n - 2 : 0;
    CHECK(out->shape == std::vector<int64_t>{kept});
    if (kept) CHECK(out->as<float>()[0] == 4);
    if (n) CHECK(r->bound_address(0, false, 0) == r->bound_address(1, true, 0));
  }
  CHECK(b.model().arena_bytes() == 0);
}

TEST_CASE("a bound buffer takes a dynamic output when it fits, and fails the run when not") {
  Dynamic b;
  auto r = b.request();
  Tensor big = *Tensor::make(OPTIMA_F32, {100});
  REQUIRE(r->bind_output(0, big.data, big.size).ok());
  REQUIRE(r->set_input(0, filled({4, 2})).ok());
  REQUIRE(r->run().ok());
  CHECK(r->output(0)->data == big.data);
  CHECK(r->output(0)->size == 24);
  CHECK(big.as<float>()[5] == 9);
  REQUIRE(r->bind_output(0, big.data, 8).ok());
  const Status status = r->run();
  CHECK_FALSE(status.ok());
  CHECK(status.message() == "subgraph 1 on X64:0: output 'out': found a bound buffer of 8 bytes, wanted 24");
}

// ONNX Runtime runs it, too, and says nothing or, where its plan of buffers relied on the name, warns.
TEST_CASE("sizes that the model calls by one name may differ: a warning, once") {
  Bench b;
  b.tensor("a", {-1}).symbols[0] = "batch";
  b.tensor("b", {-1, 2}).symbols[0] = "batch";
  b.tensor("out", {-1});
  b.package.inputs = {"a", "b"};
  b.package.outputs = {"out"};
  b.subgraph({"a", "b"}, {"out"}, affine(1, 0)).output_shapes = [](Tensors in) { return std::vector<std::vector<int64_t>>{dims_of(in[0])}; };
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({3})).ok());
  REQUIRE(r->set_input(1, filled({4, 2})).ok());
  std::vector<std::string> lines;
  set_log([&](LogLevel level, std::string_view component, std::string_view text) { lines.push_back(cat(name_of(level), " ", component, ": ", text)); });
  CHECK(r->run().message() == "");
  CHECK(r->output(0)->as<float>()[2] == 3);
  CHECK(r->run().ok());
  REQUIRE(r->set_input(1, filled({3, 2})).ok());
  CHECK(r->run().ok());
  set_log({});
  CHECK(lines == std::vector<std::string>{"warn runtime: input 'b': found batch = 4, but 3 in input 'a'; the model calls them one size, they are taken as two"});
}

TEST_CASE("sizes that the package does not allow are refused before a run, by the names of input and dim") {
  Dynamic b;
  b.package.sizes = {{"n", *parse_size_range("2..8:2@4")}};
  b.package.variants[0].main = 2;
  auto r = b.request();
  CHECK(b.model().inputs()[0].usual == std::vector<int64_t>{4, -1});
  const Status odd = r->set_input(0, filled({3, 2}));
  CHECK(odd.kind() == StatusKind::InvalidInput);
  CHECK(odd.message() == "input 'in': n = 3, wanted 2 to 8 in steps of 2");
  CHECK(r->input_buffer(0, {10, 2}).status().message() == "input 'in': n = 10, wanted 2 to 8 in steps of 2");
  REQUIRE(r->set_input(0, filled({8, 2})).ok());
  CHECK(r->run().ok());
}

TEST_CASE("a plugin that breaks the rules of dynamic outputs is named") {
  Dynamic b;
  const auto run = [&](auto execute) {
    b.plugin.programs["subgraph_1"].execute = execute;
    auto r = b.request();
    REQUIRE(r->set_input(0, filled({2, 2})).ok());
    return r->run().message();
  };
  CHECK(run([](Tensors, Outputs) { return Status(); }) == "subgraph 1 on X64:0: output 'out' was left without a shape, wanted a call of alloc");
  CHECK(run([](Tensors, Outputs out) {
          const int64_t dims[] = {1, 2};
          return out[0].alloc(out[0].host_data, dims, 2) == OPTIMA_OK ? Status() : plugin_error("refused");
        }) == "subgraph 1 on X64:0: output 'out' got shape 1x2, wanted ?");
  for (const int64_t bad : {int64_t{-1}, INT64_MAX})
    CHECK(run([bad](Tensors, Outputs out) {
            const int64_t dims[] = {bad};
            return out[0].alloc(out[0].host_data, dims, 1) == OPTIMA_OK ? Status() : plugin_error("refused");
          }).find("subgraph 1 on X64:0: ") == 0);
  CHECK(run([](Tensors, Outputs out) { return out[0].alloc(out[0].host_data, nullptr, 65) == OPTIMA_OK ? Status() : plugin_error("refused"); }) ==
        "subgraph 1 on X64:0: output 'out': the plugin asked for rank 65, wanted 0 to 64");
  b.plugin.programs["subgraph_0"].output_shapes = [](Tensors) { return std::vector<std::vector<int64_t>>{{2, 3}}; };
  CHECK(run(Dynamic::pick_large) == "subgraph 0 on X64:0: output 'mid' got shape 2x3, wanted ?x2");
}

TEST_CASE("an unranked output takes the rank of the moment") {
  Bench b;
  b.tensor("in", {4}), b.tensor("out", {}).unranked = true;
  b.package.inputs = {"in"};
  b.package.outputs = {"out"};
  b.subgraph({"in"}, {"out"}, [](Tensors in, Outputs out) {
    CHECK(out[0].rank == -1);
    CHECK(out[0].data == nullptr);
    const int64_t dims[] = {2, 2};
    if (out[0].alloc(out[0].host_data, dims, 2) != OPTIMA_OK) return plugin_error("no buffer");
    return affine(2, 0)(in, out);
  });
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  const Status status = r->run();
  REQUIRE_MESSAGE(status.ok(), status.message());
  CHECK(r->output(0)->shape == std::vector<int64_t>{2, 2});
  CHECK(r->run().ok());
}
