// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: the built file, over the bare seam.
#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "tests/unit/openvino/sample.hpp"

#ifndef OPENVINO_PLUGIN

TEST_CASE("plugins/openvino is tested where it is built") { MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there"); }

#else

using namespace optima;
using test::compile;
using test::f32;
using test::FileSink;
using test::floats;
using test::kTarget;
using test::OnnxHost;
using test::Sample;
using test::tensor;

namespace {

seam::Said said(const seam::Instance& plugin, const seam::Model& m, uint32_t node) { return seam::said(plugin, m, node, kTarget); }

/// check_artifact's verdict and sentence, and that load() says the same.
std::pair<uint32_t, std::string> verdict(const seam::Instance& plugin, const seam::MemorySink& sink, const optima_device& device = kTarget) {
  const seam::Artifact artifact(sink, nullptr);
  const auto said = seam::compatibility(plugin, artifact, device);
  const seam::Program program(plugin, artifact, device);
  static const std::map<uint32_t, int32_t> codes = {{OPTIMA_COMPAT_OPTIMAL, OPTIMA_OK}, {OPTIMA_COMPAT_RECOMPILE, OPTIMA_RECOMPILE}, {OPTIMA_COMPAT_WRONG_DEVICE, OPTIMA_WRONG_DEVICE}, {OPTIMA_COMPAT_CORRUPT, OPTIMA_CORRUPT}};
  CHECK(program.code == codes.at(said.first));
  if (program.code != OPTIMA_OK) CHECK(program.status.message == said.second);
  return said;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("plugins/openvino compiles a graph into a blob and runs it on the caller's buffers") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Sample s(2);
  for (uint32_t node : {1, 2}) CHECK(said(plugin, s.model, node).verdict == OPTIMA_VERDICT_SUPPORTED);
  FileSink sink;
  compile(plugin, s.model, sink);
  CHECK(sink.format == "openvino.blob/1");
  CHECK(sink.files.size() == 2);
  CHECK(sink.files.count("subgraph_0.blob") == 1);
  CHECK(sink.files.count("subgraph_0.meta") == 1);
  CHECK(sink.compat_text.starts_with("OpenVINO 2"));
  {
    const seam::Artifact artifact(sink, &s.model);
    const seam::Program program(plugin, artifact, kTarget);
    REQUIRE_MESSAGE(program.raw, program.status.message);
    CHECK(program.bindings() == "in x:1 2x3;out y:1 2x3;");
    std::vector<reference::Tensor> out;
    seam::Status status;
    REQUIRE(seam::run(program, {f32({2, 3}, {0, 0, 0, -5, 5, 0.5})}, out, status) == OPTIMA_OK);
    CHECK(floats(out[0]) == std::vector<float>{1, 0, 3, 0, 3, 3.5});
    out.clear();
    CHECK(seam::run(program, {f32({1, 3}, {0, 0, 0})}, out, status) == OPTIMA_INVALID_ARGUMENT);
    CHECK(status.message == "tensor 'x' has shape [1, 3], wanted [2, 3]");
  }
  for (const auto& [id, count] : host.retained) CHECK(count == 0);
}

TEST_CASE("one artifact serves any number of rows, and outputs whose shape depends on data") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Sample s(-1, true);
  for (uint32_t node : {1, 2, 3}) CHECK(said(plugin, s.model, node).verdict == OPTIMA_VERDICT_SUPPORTED);
  FileSink sink;
  compile(plugin, s.model, sink);
  const seam::Artifact artifact(sink, &s.model);
  const seam::Program program(plugin, artifact, kTarget);
  REQUIRE_MESSAGE(program.raw, program.status.message);
  for (int64_t rows : {1, 4}) {
    std::vector<reference::Tensor> out;
    seam::Status status;
    REQUIRE_MESSAGE(seam::run(program, {f32({rows, 3}, std::vector<float>(static_cast<size_t>(rows) * 3, 0.0f))}, out, status) == OPTIMA_OK, status.message);
    CHECK(out[0].dims == std::vector<int64_t>{rows, 3});
    CHECK(out[1].dims == std::vector<int64_t>{2, rows * 2});
    CHECK(floats(out[0])[0] == 1.0f);
  }
}

TEST_CASE("requests of one program run side by side") {
  OnnxHost host;
  host.quiet = true;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Sample s(2);
  FileSink sink;
  compile(plugin, s.model, sink);
  const seam::Artifact artifact(sink, &s.model);
  const seam::Program program(plugin, artifact, kTarget);
  REQUIRE_MESSAGE(program.raw, program.status.message);
  std::vector<int> good(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      const float x = static_cast<float>(t);
      for (int k = 0; k < 20; ++k) {
        std::vector<reference::Tensor> out;
        seam::Status status;
        if (seam::run(program, {f32({2, 3}, std::vector<float>(6, x))}, out, status) == OPTIMA_OK && floats(out[0])[0] == x + 1) ++good[t];
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(good == std::vector<int>(4, 20));
}

TEST_CASE("check refuses by operator, version, element type and device, each with its sentence") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const auto verdict_on = [&](const image::Node& n, int32_t dtype = OPTIMA_F32) {
    const seam::Model m = seam::one_node(n, {tensor("x", {2, 2}, dtype), tensor("y", {}, dtype)}, {0}, {1});
    return said(plugin, m, n.id);
  };
  const seam::Said op = verdict_on({"n", "Det", "", 5, 11, {0}, {1}, {}});
  CHECK(op.reason == OPTIMA_REASON_OP);
  CHECK(op.text == "operator Det is not in the table");
  const seam::Said dtype = verdict_on({"n", "Identity", "", 5, 19, {0}, {1}, {}}, OPTIMA_F64);
  CHECK(dtype.reason == OPTIMA_REASON_DTYPE);
  CHECK(dtype.text.starts_with("input 0 is f64, must be f32 or u8"));
  const Sample s(2);
  seam::Status status;
  seam::Verdicts v;
  optima_device gpu = seam::device("INTELGPU");
  gpu.ordinal = 7;
  CHECK(seam::check(plugin, s.model, {1}, gpu, v, status) == OPTIMA_DEPENDENCY);
  CHECK(status.message.starts_with("INTELGPU:7 is not on this machine: "));
}

TEST_CASE("devices tells every kind: present, or refused with the reason") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  std::map<std::string, std::string> refused;
  std::map<std::string, int> present;
  auto both = std::pair(&refused, &present);
  const auto add = [](void* p, const optima_device* d) -> int32_t {
    auto& [no, yes] = *static_cast<decltype(both)*>(p);
    if (d->flags & OPTIMA_DEVICE_REFUSED) no->emplace(seam::text(d->kind), seam::text(d->arch));
    else ++(*yes)[seam::text(d->kind)];
    return OPTIMA_OK;
  };
  seam::Status status;
  REQUIRE(plugin.api->devices(plugin.self, add, &both, &status.raw) == OPTIMA_OK);
  CHECK(present.at("X64") == 1);
  CHECK(refused.at("MYRIAD").starts_with("OpenVINO supported it up to 2022.3, this is 2"));
  for (const char* kind : {"INTELGPU", "NPU"}) {
    CHECK(present.count(kind) + refused.count(kind) == 1);
    if (const auto why = refused.find(kind); why != refused.end()) CHECK(why->second.size() > 20);
  }
}

TEST_CASE("check_artifact and load agree on blobs of another version, another device, and damaged ones") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Sample s(2);
  FileSink good;
  compile(plugin, s.model, good);
  CHECK(verdict(plugin, good).first == OPTIMA_COMPAT_OPTIMAL);
  const auto damaged = [&](auto&& change) {
    seam::MemorySink bad;
    bad.files = good.files, bad.format = good.format, bad.compat = good.compat;
    change(bad);
    return verdict(plugin, bad);
  };
  const auto version = damaged([](auto& a) { replace(a.compat, "openvino=2", "openvino=1"); });
  CHECK(version.first == OPTIMA_COMPAT_RECOMPILE);
  CHECK(version.second.starts_with("blob was made by OpenVINO 1"));
  const auto device = damaged([](auto& a) { replace(a.compat, "device=CPU", "device=GPU"); });
  CHECK(device.first == OPTIMA_COMPAT_WRONG_DEVICE);
  CHECK(device.second == "blob was made for OpenVINO's GPU, wanted CPU");
  CHECK(damaged([](auto& a) { a.format = "openvino.blob/0"; }).second == "artifact has format openvino.blob/0, wanted openvino.blob/1");
  CHECK(damaged([](auto& a) { a.compat.clear(); }).second == "compat record has no 'openvino'");
  CHECK(damaged([](auto& a) { replace(a.compat, "precision=f32", "precision=f99"); }).first == OPTIMA_COMPAT_CORRUPT);
  CHECK(damaged([](auto& a) { a.files.erase("subgraph_0.blob"); }).second == "file 'subgraph_0.blob' is missing");
  for (const std::string file : {"subgraph_0.blob", "subgraph_0.meta"}) {
    const size_t size = good.files.at(file).size();
    const auto shorter = damaged([&](auto& a) { a.files.at(file).resize(size - 1); });
    CHECK(shorter.first == OPTIMA_COMPAT_CORRUPT);
    CHECK(shorter.second == "file '" + file + "' has " + std::to_string(size - 1) + " bytes, wanted " + std::to_string(size));
    for (size_t at = 0; at < size; at += std::max<size_t>(1, size / 97)) {
      const auto flipped = damaged([&](auto& a) { a.files.at(file)[at] = static_cast<char>(a.files.at(file)[at] ^ 4); });
      CHECK(flipped.first == OPTIMA_COMPAT_CORRUPT);
      CHECK(flipped.second.starts_with("file '" + file + "' is damaged"));
    }
  }
}

TEST_CASE("the precision is part of the artifact") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Sample s(2);
  FileSink f16;
  compile(plugin, s.model, f16, {seam::option("openvino.precision", "f16")});
  CHECK(f16.compat.find("precision=f16\n") != std::string::npos);
  CHECK(verdict(plugin, f16).first == OPTIMA_COMPAT_OPTIMAL);
}

TEST_CASE("a subgraph compiled again, after another one, gives the same bytes") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Sample s(-1, true), other(2);
  FileSink first, between, second;
  compile(plugin, s.model, first);
  compile(plugin, other.model, between);
  compile(plugin, s.model, second);
  CHECK(first.files == second.files);
  CHECK(first.compat == second.compat);
  CHECK(first.files != between.files);
}

TEST_CASE("a cancelled load ends as cancelled") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  const Sample s(2);
  FileSink sink;
  compile(plugin, s.model, sink);
  seam::Artifact artifact(sink, nullptr);
  seam::Watch watch;
  artifact.raw.progress = &watch.raw;
  CHECK(seam::Program(plugin, artifact, kTarget).code == OPTIMA_OK);
  CHECK(watch.last > 0);
  watch.cancel = true;
  CHECK(seam::Program(plugin, artifact, kTarget).code == OPTIMA_CANCELLED);
}

TEST_CASE("a cancelled compile ends as cancelled") {
  OnnxHost host;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  FileSink sink;
  seam::Status status;
  CHECK(seam::compile(plugin, Sample(2).model, kTarget, sink, status, {}, true) == OPTIMA_CANCELLED);
}

#endif
