// SPDX-License-Identifier: Apache-2.0
// plugins/null: the built file, over the bare seam.
#include <doctest/doctest.h>

#include <thread>

#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"

using namespace optima;

namespace {
const optima_device kTarget = seam::device("NULL");

seam::Model identity(int32_t dtype = OPTIMA_F32, std::vector<int64_t> dims = {3}) {
  return seam::Model(seam::widen(image::pack(samples::identity(std::move(dims), dtype))));
}
}  // namespace

TEST_CASE("plugins/null compiles an Identity, loads it, and copies") {
  seam::Host host;
  const seam::Instance null(NULL_PLUGIN, host);
  REQUIRE(null.code == OPTIMA_OK);
  CHECK(seam::text(null.api->id) == "null");
  const seam::Model m = identity();
  seam::Status status;
  seam::Verdicts v;
  REQUIRE(seam::check(null, m, {11}, kTarget, v, status) == OPTIMA_OK);
  CHECK(v.by_node.at(11).verdict == OPTIMA_VERDICT_SUPPORTED);

  seam::MemorySink sink;
  REQUIRE(seam::compile(null, m, kTarget, sink, status) == OPTIMA_OK);
  CHECK(sink.format == "null.copy/1");
  CHECK(sink.files.count("subgraph_0.bin") == 1);
  CHECK(host.lines == std::vector<std::string>{"null: compiled copy"});
  const seam::Artifact artifact(sink, nullptr);
  CHECK(seam::compatibility(null, artifact, kTarget).first == OPTIMA_COMPAT_OPTIMAL);
  const seam::Program program(null, artifact, kTarget);
  REQUIRE(program.raw);
  CHECK(program.bindings() == "in in:1 3;out out:1 3;");
  seam::Buffer x({1, 2, 3}), y({0, 0, 0}), tiny({0, 0});
  CHECK(seam::run(program, x, y, status) == OPTIMA_OK);
  CHECK(y.data == x.data);
  CHECK(seam::run(program, x, tiny, status) == OPTIMA_INVALID_ARGUMENT);
  CHECK(status.message == "buffers differ from the bindings");
}

TEST_CASE("plugins/null refuses with the limit and the actual value") {
  seam::Host host;
  const seam::Instance null(NULL_PLUGIN, host);
  const auto said = [&](const seam::Model& m) {
    seam::Status status;
    seam::Verdicts v;
    REQUIRE(seam::check(null, m, {11}, kTarget, v, status) == OPTIMA_OK);
    return v.by_node.at(11);
  };
  const seam::Said strings = said(identity(OPTIMA_STRING));
  CHECK(strings.reason == OPTIMA_REASON_DTYPE);
  CHECK(strings.text == "input 0 is string, must be f32 or u8 or i8 or i32 or i64 or bool or f16 or f64");
  const seam::Said dynamic = said(identity(OPTIMA_F32, {-1, 4}));
  CHECK(dynamic.reason == OPTIMA_REASON_DYNAMIC_SHAPE);
  CHECK(dynamic.text == "input 0 dim 0 is dynamic, must be static");
  const seam::Said deep = said(identity(OPTIMA_F32, {1, 1, 1, 1, 1, 1, 1, 1, 1}));
  CHECK(deep.reason == OPTIMA_REASON_RANK);
  CHECK(deep.text == "rank of input 0 is 9, must be 0..8");
  CHECK(deep.found == "9");

  seam::Status status;
  seam::MemorySink sink;
  CHECK(seam::compile(null, identity(), kTarget, sink, status, {seam::option("null.refuse", "as asked")}) == OPTIMA_UNSUPPORTED);
  CHECK(status.message == "as asked");
  CHECK(status.raw.node == 11);
  CHECK(seam::compile(null, identity(OPTIMA_STRING), kTarget, sink, status) == OPTIMA_UNSUPPORTED);
  const seam::Model many(image::pack(samples::everything()));
  CHECK(seam::compile(null, many, kTarget, sink, status) == OPTIMA_UNSUPPORTED);
  CHECK(status.message == "subgraph has 2 nodes, wanted one");
  CHECK(status.raw.node == 2);
  const seam::Model none(image::pack({{{"empty", {samples::tensor("x", {1})}, {}, {0}, {0}, {}}}, {}, {}}));
  CHECK(seam::compile(null, none, kTarget, sink, status) == OPTIMA_UNSUPPORTED);
  CHECK(status.message == "subgraph has 0 nodes, wanted one");
  CHECK(sink.files.empty());
}

TEST_CASE("plugins/null treats every damaged artifact as hostile: truncated, bit-flipped, of another format") {
  seam::Host host;
  const seam::Instance null(NULL_PLUGIN, host);
  seam::Status status;
  seam::MemorySink sink;
  REQUIRE(seam::compile(null, identity(), kTarget, sink, status) == OPTIMA_OK);
  const std::string good = sink.files.at("subgraph_0.bin");
  const auto load = [&](const std::string& bytes) {
    seam::MemorySink bad;
    bad.files["subgraph_0.bin"] = bytes;
    bad.format = sink.format;
    return seam::Program(null, seam::Artifact(bad, nullptr), kTarget).code;
  };
  for (size_t n = 0; n < good.size(); ++n) CHECK(load(good.substr(0, n)) == OPTIMA_CORRUPT);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    const int32_t code = load(bad);
    CHECK((code == OPTIMA_OK || code == OPTIMA_CORRUPT));
  }
  sink.format = "null.copy/2";
  const seam::Artifact other(sink, nullptr);
  CHECK(seam::compatibility(null, other, kTarget) == std::pair<uint32_t, std::string>(OPTIMA_COMPAT_RECOMPILE, "artifact was written by another revision"));
  CHECK(seam::Program(null, other, kTarget).code == OPTIMA_RECOMPILE);
}

TEST_CASE("functions tagged [any] run in four threads on one instance, execute on four contexts of one program") {
  seam::Host host;
  host.quiet = true;
  const seam::Instance null(NULL_PLUGIN, host);
  const seam::Model m = identity();
  seam::MemorySink first;
  seam::Status status;
  REQUIRE(seam::compile(null, m, kTarget, first, status) == OPTIMA_OK);
  const seam::Artifact artifact(first, nullptr);
  const seam::Program program(null, artifact, kTarget);
  int good[4] = {};
  std::vector<std::thread> threads;
  for (int& mine : good)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        seam::Verdicts v;
        seam::Status s;
        seam::MemorySink sink;
        seam::Buffer x({1, 2, 3}), y({0, 0, 0});
        mine += seam::check(null, m, {11}, kTarget, v, s) == OPTIMA_OK && seam::compile(null, m, kTarget, sink, s) == OPTIMA_OK &&
                sink.files == first.files && seam::compatibility(null, artifact, kTarget).first == OPTIMA_COMPAT_OPTIMAL &&
                seam::run(program, x, y, s) == OPTIMA_OK && y.data == x.data;
      }
    });
  for (std::thread& t : threads) t.join();
  for (const int n : good) CHECK(n == 50);
}

TEST_CASE("plugins/null may be started twice and again after its end") {
  seam::Host host;
  for (int k = 0; k < 3; ++k) {
    const seam::Instance a(NULL_PLUGIN, host), b(NULL_PLUGIN, host);
    CHECK(a.self != b.self);
  }
}
