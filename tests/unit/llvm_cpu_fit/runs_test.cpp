// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: one context over many runs: what it keeps, what is left in its memory, runs that are stopped, and what the log says.
#include <chrono>

#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "tests/unit/llvm_cpu_fit/alternate.hpp"

namespace optima::test {
int64_t live_allocations();  // tests/support/count_allocations.cpp
}

using namespace llvm_cpu_test;
using optima::test::live_allocations;

namespace {

/// Rows [n, length, 16]: a product, a softmax over computed sizes, a sum.
void rows_net(OpenNet& net) {
  const uint32_t x = net.input({-1, -1, 16});
  const uint32_t v = net.op("Relu", 14, {net.op("MatMul", 13, {x, net.weights({16, 24}, -0.3f, 0.3f)}, 3)}, 3);
  const uint32_t flat = net.op("Reshape", 21, {v, net.joined({net.integers({-1}), net.size(x, 1), net.integers({6})})}, 3);
  net.output(net.op("Softmax", 13, {net.op("Transpose", 21, {flat}, 3, {Net::ints("perm", {0, 2, 1})})}, 3, {Net::integer("axis", -1)}));
  net.output(net.op("ReduceSum", 13, {v, net.integers({1})}, 3));
}

/// Images [n, 3, h, w]: convolutions of three kinds, a pool, a normalization, a head.
void images_net(OpenNet& net) {
  uint32_t v = net.op("Relu", 14, {net.conv2d(net.input({-1, 3, -1, -1}), 3, 24, 3, 2)}, 4);
  v = net.op("Add", 14, {v, net.conv2d(v, 24, 24, 3, 1)}, 4);
  v = net.op("Sigmoid", 13, {net.conv2d(v, 24, 24, 3, 1, 24)}, 4);
  v = net.op("MaxPool", 12, {v}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("pads", {1, 1, 1, 1}), Net::ints("strides", {1, 1})});
  net.output(net.conv2d(v, 24, 10, 1, 1));
  net.output(net.op("GlobalAveragePool", 1, {v}, 4));
  net.output(net.op("InstanceNormalization", 6, {v, net.weights({24}), net.weights({24})}, 4));
}

/// Products before and behind NonZero: two legs.
void legs_net(OpenNet& net) {
  const uint32_t x = net.input({-1, 16});
  const uint32_t y = net.op("Relu", 14, {net.op("MatMul", 13, {x, net.weights({16, 16})}, 2)}, 2);
  const uint32_t where = net.op("NonZero", 13, {y}, 2, {}, OPTIMA_I64);
  const uint32_t found = net.op("GatherND", 13, {y, net.op("Transpose", 21, {where}, 2, {Net::ints("perm", {1, 0})}, OPTIMA_I64)}, 1);
  net.output(net.op("Sigmoid", 13, {net.op("Mul", 14, {found, found}, 1)}, 1));
  net.output(net.op("MatMul", 13, {y, net.weights({16, 5})}, 2));
}

/// A compiled net with a session of so many threads.
struct Running {
  Bench bench;
  OpenNet net;
  std::unique_ptr<Compiled> compiled;
  std::unique_ptr<OpenSession> session;
  Running(void (*fill)(OpenNet&), int64_t threads) {
    fill(net);
    compiled = compile(bench, net);
    REQUIRE_MESSAGE(compiled->code == OPTIMA_OK, compiled->status.message);
    session = std::make_unique<OpenSession>(bench, *compiled, threads);
    REQUIRE_MESSAGE(session->code == OPTIMA_OK, session->message);
  }
  Tensors inputs(const Shapes& shapes, uint32_t seed = 7) const { return random_tensors(*compiled, shapes, seed); }
  void run(const Tensors& in) {
    const Came came = session->run(in);
    CHECK_MESSAGE(came.code == OPTIMA_OK, came.message);
  }
};

}  // namespace

TEST_CASE("two thousand random sizes leave a context as large as the first few did") {
  Running r(rows_net, 1);
  std::mt19937 random(5);
  const auto up_to = [&](uint32_t most) { return static_cast<int64_t>(1 + random() % most); };
  const auto known_sizes = [&] {
    for (int64_t k = 0; k < 20; ++k)
      for (const int64_t size : {k, k + 1, k}) r.run(r.inputs({{1 + size % 4, 200 - size, 16}}));  // what comes back gets a plan that stays: all that there may be
    return live_allocations();
  };
  known_sizes();
  const int64_t before = known_sizes();
  for (int round = 0; round < 2000; ++round) {
    const Tensors in = r.inputs({{up_to(4), up_to(200), 16}}, static_cast<uint32_t>(round));
    if (round % 100) r.run(in);
    else run_and_judge(*r.session, *r.compiled, in);
  }
  CHECK(known_sizes() < before + 200);  // a tenth of an allocation for each size
}

TEST_CASE("data that finds another number of elements in every run leaves a context as large as many did") {
  Running r(legs_net, 1);
  std::mt19937 random(6);
  const auto most_of = [&](int runs) {
    int64_t most = 0;
    for (int k = 0; k < runs; ++k) {
      const Tensors in = r.inputs({{200, 16}}, static_cast<uint32_t>(random()));
      std::memset(const_cast<void*>(in[0].data), 0, random() % 200 * 16 * sizeof(float));  // rows in which nothing is found
      r.run(in);
      most = std::max(most, live_allocations());
    }
    return most;
  };
  const int64_t before = most_of(4000);  // numbers that come back get a plan that stays, until all are there that may be
  CHECK(most_of(1500) < before + before / 20);
}

TEST_CASE("a run that is cancelled anywhere says so, and the next one is right") {
  for (const int64_t threads : {1, 2}) {
    Running r(legs_net, threads);
    const Tensors in = r.inputs({{70, 16}});
    struct Asked {
      int left;
      static int32_t cancelled(void* self) { return static_cast<Asked*>(self)->left-- <= 0; }
    };
    int cancelled = 0;
    for (int at = 0; at < 1000; ++at) {
      Asked asked{at};
      const Came came = r.session->run_within(in, 0, Asked::cancelled, &asked);
      if (came.code == OPTIMA_OK) break;
      ++cancelled;
      CHECK(std::pair(came.code, came.message) == std::pair<int32_t, std::string>(OPTIMA_CANCELLED, "cancelled"));
      run_and_judge(*r.session, *r.compiled, at % 2 ? in : r.inputs({{3 + at, 16}}));
    }
    CHECK(cancelled > (threads == 1 ? 6 : 2));
    CHECK(cancelled < 1000);
  }
}

TEST_CASE("a run whose deadline passes anywhere says so, and the next one is right") {
  using Clock = std::chrono::steady_clock;
  Running r(legs_net, 1);
  const Tensors in = r.inputs({{70, 16}});
  struct Slow {
    int left;
    Clock::time_point deadline;
    static int32_t cancelled(void* self) {
      Slow& s = *static_cast<Slow*>(self);
      while (s.left == 0 && Clock::now() <= s.deadline) {}
      --s.left;
      return 0;
    }
  };
  for (int at = 0; at < 6; ++at) {
    Slow slow{at, Clock::now() + std::chrono::milliseconds(20)};
    const auto deadline_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(slow.deadline.time_since_epoch()).count();
    const Came came = r.session->run_within(in, static_cast<uint64_t>(deadline_ns), Slow::cancelled, &slow);
    CHECK(std::pair(came.code, came.message) == std::pair<int32_t, std::string>(OPTIMA_TIMEOUT, "past its deadline"));
    run_and_judge(*r.session, *r.compiled, in);
  }
}

TEST_CASE("what a run of NaN has left in a context's memory does not come into runs of other sizes") {
  const auto nan_run = [](Running& r, const Shapes& shapes) {
    Tensors in = r.inputs(shapes);
    for (auto& t : in) in[0] = optima::reference::store<double>(OPTIMA_F32, t.dims, std::vector<double>(static_cast<size_t>(t.elements()), NAN));
    r.run(in);
  };
  Running rows(rows_net, 2), images(images_net, 2);
  for (const Dims& d : std::vector<Dims>{{1, 1}, {3, 65}, {1, 7}, {2, 31}, {4, 16}, {1, 33}}) {
    nan_run(rows, {{4, 90, 16}}), nan_run(rows, {{d[0], d[1], 16}});
    run_and_judge(*rows.session, *rows.compiled, rows.inputs({{d[0], d[1], 16}}));
  }
  for (const Dims& d : std::vector<Dims>{{1, 32, 32}, {2, 13, 41}, {1, 5, 3}, {1, 31, 17}, {3, 16, 16}, {1, 1, 1}}) {
    nan_run(images, {{3, 3, 48, 48}}), nan_run(images, {{d[0], 3, d[1], d[2]}});
    run_and_judge(*images.session, *images.compiled, images.inputs({{d[0], 3, d[1], d[2]}}), {1e-4});
  }
}

TEST_CASE("batches of one, eight and one: the first and the last run give the same bytes") {
  Running r(images_net, 2);
  const Tensors one = r.inputs({{1, 3, 31, 33}}, 1), eight = r.inputs({{8, 3, 31, 33}}, 2);
  const Came first = r.session->run(one);
  run_and_judge(*r.session, *r.compiled, eight, {1e-4});
  const Came last = r.session->run(one);
  REQUIRE(first.outputs.size() == last.outputs.size());
  for (size_t k = 0; k < first.outputs.size(); ++k) {
    REQUIRE(first.outputs[k].size == last.outputs[k].size);
    CHECK(std::memcmp(first.outputs[k].data, last.outputs[k].data, first.outputs[k].size) == 0);
  }
  run_and_judge(*r.session, *r.compiled, one, {1e-4});
}

TEST_CASE("two contexts with kernels, each in its thread, alternate between sizes") {
  Running r(legs_net, 2);
  std::vector<Tensors> sets;
  for (const int64_t rows : {3, 17, 1, 64, 30}) sets.push_back(r.inputs({{rows, 16}}, static_cast<uint32_t>(rows)));
  CHECK(wrong_when_alternating(*r.session, r.compiled->model->raw, sets, 60, 1e-5) == 0);
}

namespace {

using Lines = std::vector<std::string>;

/// What compiling a net logs, all of it warnings.
Lines warnings(OpenNet& net) {
  Bench bench;
  bench.host.quiet = false;
  const auto c = compile(bench, net);
  CHECK_MESSAGE(c->code == OPTIMA_OK, c->status.message);
  for (const int32_t level : bench.host.levels) CHECK(level == OPTIMA_LOG_WARN);
  return bench.host.lines;
}

}  // namespace

TEST_CASE("compiling tells which nodes have no kernels, and nothing where all have") {
  OpenNet all;
  rows_net(all);
  CHECK(warnings(all) == Lines{});
  OpenNet some;
  legs_net(some);
  CHECK(warnings(some) == Lines{"llvm_cpu: subgraph 'subgraph_0' has no kernels for 1 of its 8 nodes, and the reference, which is slow, will compute NonZero 'NonZero_2'"});
}

TEST_CASE("compiling tells when no sizes were found that all rules allow") {
  OpenNet net;
  net.output(net.op("Reshape", 21, {net.input({-1}), net.integers({-1, 61, 67, 1511})}, 4));
  const Lines told = warnings(net);
  REQUIRE(told.size() == 1);
  CHECK(told[0] == "llvm_cpu: subgraph 'subgraph_0' has open sizes for which no sample was found (node 'Reshape_0': shape [65536] does not fit into [-1, 61, 67, 1511]): it has no kernels, and the reference, which is slow, will run it");
}

TEST_CASE("sizes that rules allow and no plan can have are no sample: the artifact loads, and runs at sizes that there are") {
  Bench bench;
  OpenNet net;
  net.output(net.op("Relu", 14, {net.input(Dims(7, -1))}, 7));  // 64 to the sixth elements, to begin with
  right_at(bench, net, {{{1, 2, 3, 1, 2, 1, 5}}, {{2, 1, 1, 4, 1, 3, 1}}});
}

TEST_CASE("a kernel that an artifact lacks: the reference computes its node, which is told of once, and the others keep theirs") {
  Bench bench;
  bench.host.quiet = false;
  OpenNet net;
  rows_net(net);
  const auto c = compile(bench, net);
  REQUIRE_MESSAGE(c->code == OPTIMA_OK, c->status.message);
  optima::llvm_cpu::FitFile file = optima::llvm_cpu::parse_fit_file(c->sink.files.at("subgraph_0.meta"));
  const size_t kernels = file.kernels.size();
  std::erase_if(file.kernels, [](const auto& k) { return k.spec.entry == "k_softmax"; });
  REQUIRE(file.kernels.size() < kernels);
  file.first.clear();
  c->sink.files["subgraph_0.meta"] = optima::llvm_cpu::to_bytes(file);
  OpenSession session(bench, *c, 2);
  REQUIRE_MESSAGE(session.code == OPTIMA_OK, session.message);
  for (const int64_t length : {5, 64, 31}) run_and_judge(session, *c, random_tensors(*c, {{2, length, 16}}));
  CHECK(bench.host.lines == Lines{"llvm_cpu: subgraph 'subgraph_0' came to sizes for which it has no kernels for 1 nodes: the reference, which is slow, computes Softmax 'Softmax_7'"});
}
