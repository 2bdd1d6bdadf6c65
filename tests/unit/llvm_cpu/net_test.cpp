// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: whole nets through both halves of the plugin against the reference.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "optima/ext/profile.h"
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("a digit net of conv, relu, pool and gemm gives the reference's answer") {
  Bench bench;
  Net net;
  uint32_t x = net.input({1, 1, 28, 28});
  x = net.same("Relu", 14, net.conv(x, 8, 5, 1, 2));
  x = net.node("MaxPool", 12, {x}, {1, 8, 14, 14}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})});
  x = net.same("Relu", 14, net.conv(x, 16, 5, 1, 2));
  x = net.node("MaxPool", 12, {x}, {1, 16, 4, 4}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {3, 3})});
  x = net.node("Flatten", 13, {x}, {1, 256}, {Net::integer("axis", 1)});
  x = net.node("Gemm", 13, {x, net.weights({256, 10}), net.weights({10})}, {1, 10});
  net.output(x);
  matches_reference(bench, net);
}

namespace {

/// Two residual blocks with everything that is fused, and a classifier.
void small_resnet(Net& net) {
  uint32_t x = net.same("Relu", 14, net.batch_norm(net.conv(net.input({1, 3, 40, 40}), 20, 7, 2, 3, 1, false)));
  x = net.node("MaxPool", 12, {x}, {1, 20, 10, 10}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2}), Net::ints("pads", {1, 1, 1, 1})});
  for (const int64_t channels : {20, 36}) {
    const int64_t stride = channels == 36 ? 2 : 1;
    const uint32_t a = net.same("Relu", 14, net.batch_norm(net.conv(x, channels, 3, stride, 1, 1, false)));
    const uint32_t b = net.batch_norm(net.conv(a, channels, 3, 1, 1, 1, false));
    const uint32_t skip = stride == 2 ? net.batch_norm(net.conv(x, channels, 1, 2, 0, 1, false)) : x;
    x = net.same("Relu", 14, net.add(b, skip));
  }
  x = net.node("GlobalAveragePool", 1, {x}, {1, 36, 1, 1});
  x = net.node("Flatten", 13, {x}, {1, 36}, {Net::integer("axis", 1)});
  net.output(net.node("Gemm", 13, {x, net.weights({10, 36}), net.weights({10})}, {1, 10}, {Net::integer("transB", 1)}));
}

}  // namespace

TEST_CASE("a small residual net gives the reference's answer") {
  Bench bench;
  Net net;
  small_resnet(net);
  matches_reference(bench, net, 3e-5);
}

TEST_CASE("contexts of several sessions run at the same time and do not disturb each other") {
  Bench bench;
  Net net;
  small_resnet(net);
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  Session one(bench, *c, 2), two(bench, *c, 2);
  const Tensors a = random_inputs(*c, 1), b = random_inputs(*c, 2);
  const Tensors want_a = run(bench, *c, a), want_b = run(bench, *c, b);
  std::atomic<int> wrong{0};
  const auto loop = [&](Session& session, const Tensors& in, const Tensors& want) {
    for (int i = 0; i < 40; ++i)
      if (std::memcmp(session.run(in)[0].data, want[0].data, want[0].size) != 0) ++wrong;
  };
  std::thread other([&] { loop(two, b, want_b); });
  loop(one, a, want_a);
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("a profile names every step, in order, without gaps, with its node") {
  Bench bench;
  Net net;
  small_resnet(net);
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  Session session(bench, *c, 2);
  const auto* profile = bench.runtime->extension<optima_profile>(OPTIMA_EXT_PROFILE);
  seam::Status status;
  REQUIRE(profile->enable(session.context(), 1, &status.raw) == OPTIMA_OK);
  const auto now = [] { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); };
  const Tensors in = random_inputs(*c);
  const uint64_t before = now();
  session.run(in);
  const uint64_t after = now();
  struct Seen {
    std::vector<std::string> names;
    uint64_t begin = 0, end = 0;
    bool ordered = true, named = true;
  } seen;
  seen.begin = before;
  profile->read(session.context(), [](void* p, const optima_event* e, uint32_t count) -> int32_t {
    auto& s = *static_cast<Seen*>(p);
    CHECK(count == 1);
    s.names.push_back(seam::text(e->name));
    s.ordered = s.ordered && (s.end ? e->start_ns == s.end : e->start_ns >= s.begin);
    s.named = s.named && e->node >= 10;
    s.end = e->start_ns + e->duration_ns;
    return OPTIMA_OK;
  }, &seen, &status.raw);
  REQUIRE(seen.names.size() >= 9);
  CHECK(seen.names.front() == "conv 3->20 7x7 s2 @20x20");
  CHECK(seen.ordered);
  CHECK(seen.end <= after);
  CHECK(seen.named);
}

TEST_CASE("tensors of another size or type than the binding are refused") {
  Bench bench;
  Net net;
  small_resnet(net);
  const auto c = compile(bench, net);
  Session session(bench, *c, 1);
  Tensors in = random_inputs(*c);
  in[0].dtype = OPTIMA_I32;
  CHECK_THROWS_WITH(session.run(in), "execute: tensor x0 has 19200 bytes of dtype 6, wanted 19200 of dtype 1");
  in[0].dtype = OPTIMA_F32, in[0].size = 100;
  CHECK_THROWS_WITH(session.run(in), "execute: tensor x0 has 100 bytes of dtype 1, wanted 19200 of dtype 1");
}

TEST_CASE("what has no kernel runs by the reference, beside what has one") {
  Bench bench;
  Net net;
  const uint32_t weights = net.node("Relu", 14, {net.input({4, 3, 3, 3})}, {4, 3, 3, 3});
  net.output(net.node("Conv", 11, {net.input({1, 3, 8, 8}), weights}, {1, 4, 6, 6}));  // computed weights
  matches_reference(bench, net);
}

TEST_CASE("what the plugin cannot do is refused with the limit and what was found") {
  Bench bench;
  const auto refusal = [&](Net& net) {
    const auto m = net.model();
    seam::Verdicts verdicts;
    seam::Status status;
    REQUIRE(seam::check(*bench.compiler, *m, {10}, seam::device("X64"), verdicts, status) == OPTIMA_OK);
    CHECK(verdicts.by_node.at(10).verdict == OPTIMA_VERDICT_UNSUPPORTED);
    return verdicts.by_node.at(10).text;
  };
  Net pads;
  pads.output(pads.node("Conv", 11, {pads.input({1, 3, 8, 8}), pads.weights({4, 3, 3, 3})}, {1, 4, 6, 6}, {Net::ints("pads", {0, 0})}));
  CHECK(refusal(pads) == "pads is [0,0], must be 4 numbers of at least 0");
  Net group;
  group.output(group.node("Conv", 11, {group.input({1, 4, 8, 8}), group.weights({3, 2, 3, 3})}, {1, 3, 6, 6}, {Net::integer("group", 2)}));
  CHECK(refusal(group) == "group is 2, must be a divisor of 4 and 3");
  Net unknown;
  unknown.output(unknown.node("Frobnicate", 1, {unknown.input({1})}, {1}));
  CHECK(refusal(unknown) == "operator is Frobnicate, must be one of the plugin's table");
}

TEST_CASE("a load tells how far it is and ends when it is cancelled; contexts keep to the processors that they are given") {
  Bench bench;
  Net net;
  net.output(net.same("Relu", 14, net.conv(net.input({1, 3, 20, 20}), 8, 3, 1, 1)));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  seam::Artifact artifact(c->sink, c->model.get());
  bench.write_files(artifact);
  seam::Watch watch;
  artifact.raw.progress = &watch.raw;
  const seam::Program program(*bench.runtime, artifact, seam::device("X64"));
  REQUIRE(program.code == OPTIMA_OK);
  CHECK(watch.last >= 0.5);
  watch.cancel = true;
  CHECK(seam::Program(*bench.runtime, artifact, seam::device("X64")).code == OPTIMA_CANCELLED);

  const optima_runtime& rt = bench.runtime->runtime();
  const auto open = [&](int64_t cores, seam::Status& status) {
    const optima_option option = number_option(OPTIMA_OPTION_CORES, cores);
    const optima_context_request request{sizeof request, 1, &option};
    optima_context* context = nullptr;
    const int32_t code = rt.context_open(program.raw, &request, &context, &status.raw);
    if (context) rt.context_destroy(context);
    return code;
  };
  seam::Status status;
  CHECK(open(0, status) == OPTIMA_OK);
  CHECK(open(-1, status) == OPTIMA_OK);
  // This thread may run on one processor, and is asked for the next one.
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  size_t first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const int32_t code = open(int64_t{1} << ((first + 1) % 64), status);
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(code == OPTIMA_INVALID_ARGUMENT);
  CHECK(status.message == "optima.cores names no processor that this process may run on");
}

TEST_CASE("an execution ends between two parts when it is cancelled or late, and the next one is as any other") {
  Bench bench;
  Net net;
  uint32_t x = net.input({1, 8, 20, 20});
  for (int i = 0; i < 6; ++i) x = net.same("Relu", 14, net.conv(x, 8, 3, 1, 1));
  net.output(x);
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  seam::Artifact artifact(c->sink, c->model.get());
  bench.write_files(artifact);
  const seam::Program program(*bench.runtime, artifact, seam::device("X64"));
  REQUIRE(program.code == OPTIMA_OK);
  const optima_runtime& rt = bench.runtime->runtime();
  REQUIRE((rt.execute_within != nullptr));
  seam::Status status;
  optima_context* context = nullptr;
  REQUIRE(rt.context_create(program.raw, &context, &status.raw) == OPTIMA_OK);

  static constexpr int64_t dims[] = {1, 8, 20, 20};
  std::vector<float> image(8 * 20 * 20), result(image.size());
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 17) - 8;
  const auto lend = [](std::vector<float>& values) {
    optima_tensor raw{};
    raw.struct_size = sizeof raw;
    raw.dtype = OPTIMA_F32;
    raw.rank = 4, raw.shape = dims;
    raw.data = values.data(), raw.size = values.size() * sizeof(float);
    raw.fd = -1;
    return raw;
  };
  const optima_tensor in = lend(image);
  optima_tensor out = lend(result);
  REQUIRE(rt.execute(context, &in, 1, &out, 1, &status.raw) == OPTIMA_OK);
  const std::vector<float> wanted = result;

  struct Asked {
    int calls = 0, stop_at = -1;
    static int32_t cancelled(void* self) {
      auto& a = *static_cast<Asked*>(self);
      return a.stop_at >= 0 && a.calls++ >= a.stop_at;
    }
  };
  const auto run = [&](int stop_at, uint64_t deadline_ns) {
    Asked asked{0, stop_at};
    const optima_execute_request request{sizeof request, 1, 1, 0, &in, &out, deadline_ns, &asked, Asked::cancelled};
    return rt.execute_within(context, &request, &status.raw);
  };
  for (int stop_at : {0, 1}) CHECK(run(stop_at, 0) == OPTIMA_CANCELLED);
  CHECK(run(-1, 1) == OPTIMA_TIMEOUT);
  CHECK(status.message == "past its deadline");
  std::fill(result.begin(), result.end(), 0.f);
  CHECK(run(-1, 0) == OPTIMA_OK);
  CHECK(result == wanted);
  rt.context_destroy(context);
}
