// SPDX-License-Identifier: Apache-2.0
// tests/install: a vendor's plugin in C, built outside the tree against the installed SDK alone, and used over the bare seam.
#include <doctest/doctest.h>

#include <elf.h>

#include "optima/ext/schema.h"
#include "tests/support/elf_note.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

const optima_device kChip = seam::device("ACME", "acme-1");
const float kShift[4] = {0, 10, 20, 30};

/// Built once for all cases below.
const std::string& vendor_plugin() {
  static const test::TempFolder work;
  static const std::string path = [] {
    const test::Ran built = test::run({OPTIMA_SOURCE_DIR "/tests/install/build_vendor_plugin.sh", OPTIMA_BINARY_DIR, work.path()});
    INFO(built.out << built.err);
    REQUIRE(built.code == 0);
    return work / "plugins/optima_acme_scale_shift.so";
  }();
  return path;
}

seam::Model scale_shift(std::vector<int64_t> dims, optima_blob shift) {
  return seam::Model(seam::widen(image::pack(samples::scale_shift(std::move(dims)))), {shift});
}

}  // namespace

TEST_CASE("the installed SDK alone builds a C plugin with one export, no unique symbols, and a readable note") {
  const test::Ran symbols = test::run({"nm", "-D", "--defined-only", vendor_plugin()});
  REQUIRE(symbols.code == 0);
  CHECK(std::count(symbols.out.begin(), symbols.out.end(), '\n') == 1);
  CHECK(symbols.out.find(" T optima_plugin_query\n") != std::string::npos);
  const test::Ran dynamic = test::run({"readelf", "-d", vendor_plugin()});
  CHECK(dynamic.out.find("Library runpath: [$ORIGIN]") != std::string::npos);
  CHECK(dynamic.out.find("Library soname: [optima_acme_scale_shift.so]") != std::string::npos);
  const test::ElfNote note = test::read_note(vendor_plugin());
  CHECK(note.machine == EM_X86_64);
  std::ifstream in(OPTIMA_SOURCE_DIR "/examples/vendor_plugin/manifest.json");
  CHECK(note.manifest == std::string{std::istreambuf_iterator<char>(in), {}});
}

TEST_CASE("stripping the vendor's plugin keeps its note") {
  const test::TempFolder folder;
  REQUIRE(test::run({"strip", "-o", folder / "stripped.so", vendor_plugin()}).code == 0);
  CHECK(test::read_note(folder / "stripped.so").manifest == test::read_note(vendor_plugin()).manifest);
}

TEST_CASE("the vendor's plugin is asked, compiles with a weight by reference, loads without a copy, and runs") {
  seam::Host host;
  const seam::Instance vendor(vendor_plugin(), host);
  REQUIRE(vendor.code == OPTIMA_OK);
  alignas(64) static float shift[4];
  std::copy(kShift, kShift + 4, shift);
  const seam::Model m = scale_shift({2, 4}, seam::blob_of(shift, sizeof shift, 5, OPTIMA_BLOB_ALIGNED64));
  REQUIRE(m.verify() == "");
  seam::Verdicts v;
  seam::Status status;
  REQUIRE(seam::check(vendor, m, {7}, kChip, v, status) == OPTIMA_OK);
  CHECK(v.by_node.at(7).verdict == OPTIMA_VERDICT_SUPPORTED);
  seam::MemorySink sink;
  REQUIRE(seam::compile(vendor, m, kChip, sink, status) == OPTIMA_OK);
  CHECK(sink.format == "acme.scale_shift/1");
  CHECK(sink.files.count("subgraph_0.acme") == 1);
  CHECK(sink.weights.at("shift") == 0);
  {
    const seam::Artifact artifact(sink, &m);
    CHECK(seam::compatibility(vendor, artifact, kChip).first == OPTIMA_COMPAT_OPTIMAL);
    const seam::Program program(vendor, artifact, kChip);
    REQUIRE(program.raw);
    CHECK(host.retained[5] == 1);
    CHECK(program.bindings() == "in x:1 2x4;out y:1 2x4;");
    seam::Buffer x({1, 1, 1, 1, 2, 2, 2, 2}), y(std::vector<float>(8)), tiny(std::vector<float>(7));
    CHECK(seam::run(program, x, y, status) == OPTIMA_OK);
    CHECK(y.data == std::vector<float>{2, 12, 22, 32, 4, 14, 24, 34});
    CHECK(seam::run(program, x, tiny, status) == OPTIMA_INVALID_ARGUMENT);
    const int64_t strides[] = {8, 2};
    x.raw.strides = strides;
    CHECK(seam::run(program, x, y, status) == OPTIMA_UNSUPPORTED);
  }
  CHECK(host.retained[5] == 0);
}

TEST_CASE("the vendor's plugin copies a weight that lies on an odd address") {
  seam::Host host;
  const seam::Instance vendor(vendor_plugin(), host);
  static char odd[sizeof kShift + 1];
  std::memcpy(odd + 1, kShift, sizeof kShift);
  const seam::Model m = scale_shift({2, 4}, seam::blob_of(odd + 1, sizeof kShift, 6));
  seam::MemorySink sink;
  seam::Status status;
  REQUIRE(seam::compile(vendor, m, kChip, sink, status) == OPTIMA_OK);
  const seam::Program program(vendor, seam::Artifact(sink, &m), kChip);
  REQUIRE(program.raw);
  CHECK(host.retained[6] == 0);
  seam::Buffer x({0, 0, 0, 0, 0, 0, 0, 1}), y(std::vector<float>(8));
  CHECK(seam::run(program, x, y, status) == OPTIMA_OK);
  CHECK(y.data[7] == 32);
}

TEST_CASE("the vendor's plugin says why not: a foreign operator, a computed shift, a dynamic shape, another chip, a cancel") {
  seam::Host host;
  const seam::Instance vendor(vendor_plugin(), host);
  seam::Status status;
  seam::Verdicts v;
  const seam::Model foreign(image::pack(samples::identity({3})));
  REQUIRE(seam::check(vendor, foreign, {11}, kChip, v, status) == OPTIMA_OK);
  CHECK(v.by_node.at(11).reason == OPTIMA_REASON_OP);
  CHECK(v.by_node.at(11).text == "only com.acme ScaleShift runs on this chip");

  image::Contents computed = samples::scale_shift({2, 4});
  computed.graphs[0].values[1].constant = OPTIMA_NONE;
  computed.graphs[0].inputs.push_back(1);
  REQUIRE(seam::check(vendor, seam::Model(image::pack(computed)), {7}, kChip, v, status) == OPTIMA_OK);
  CHECK(v.by_node.at(7).text == "input 1 must be a constant");
  const seam::Model dynamic(image::pack(samples::scale_shift({-1, 4})), {seam::blob_of(kShift, 16, 1)});
  REQUIRE(seam::check(vendor, dynamic, {7}, kChip, v, status) == OPTIMA_OK);
  CHECK(v.by_node.at(7).reason == OPTIMA_REASON_DYNAMIC_SHAPE);
  seam::MemorySink sink, cancelled;
  CHECK(seam::compile(vendor, dynamic, kChip, sink, status) == OPTIMA_UNSUPPORTED);
  CHECK(status.raw.node == 7);

  const seam::Model good = scale_shift({2, 4}, seam::blob_of(kShift, 16, 1));
  CHECK(seam::compile(vendor, good, kChip, cancelled, status, {}, true) == OPTIMA_CANCELLED);
  REQUIRE(seam::compile(vendor, good, kChip, sink, status) == OPTIMA_OK);
  const optima_device other = seam::device("ACME", "acme-2");
  const seam::Artifact artifact(sink, &good);
  CHECK(seam::compatibility(vendor, artifact, other) == std::pair<uint32_t, std::string>(OPTIMA_COMPAT_WRONG_DEVICE, "artifact is for another chip"));
  CHECK(seam::Program(vendor, artifact, other).code == OPTIMA_WRONG_DEVICE);
}

TEST_CASE("the vendor's schema infers the output and refuses what breaks the operator's rules") {
  seam::Host host;
  const seam::Instance vendor(vendor_plugin(), host);
  const auto* schema = vendor.extension<optima_schema>(OPTIMA_EXT_SCHEMA);
  REQUIRE(schema);
  seam::Status status;
  const auto infer = [&](const image::Contents& c, std::string& type) {
    const seam::Model m(image::pack(c));
    return schema->infer(vendor.self, &m.raw, 0, [](void* p, uint32_t output, const optima_type* t) -> int32_t {
      *static_cast<std::string*>(p) = std::to_string(output) + ":" + std::to_string(t->dtype) + " " + seam::text(t->symbols[0]) + "," + std::to_string(t->dims[1]);
      return OPTIMA_OK;
    }, &type, &status.raw);
  };
  std::string type;
  CHECK(infer(samples::scale_shift({-1, 4}), type) == OPTIMA_OK);
  CHECK(type == "0:1 N,4");
  image::Contents crowded = samples::scale_shift({2, 4});
  crowded.graphs[0].nodes[0].inputs = {0, 1, 0};
  CHECK(infer(crowded, type) == OPTIMA_INVALID_GRAPH);
  CHECK(status.message == "ScaleShift takes one or two inputs");
  CHECK(status.raw.node == 7);
  CHECK(infer(samples::identity({3}), type) == OPTIMA_NOT_FOUND);
}

TEST_CASE("the vendor's evaluator computes with and without a shift, and refuses what the operator's rules refuse") {
  seam::Host host;
  const seam::Instance vendor(vendor_plugin(), host);
  const auto* schema = vendor.extension<optima_schema>(OPTIMA_EXT_SCHEMA);
  REQUIRE((schema->evaluate != nullptr));
  CHECK((schema->function_body == nullptr));
  const seam::Model m(image::pack(samples::scale_shift({4})));
  seam::Status status;
  const auto evaluate = [&](seam::Buffer& x, seam::Buffer* shift, seam::Buffer& y) {
    optima_tensor in[2] = {x.raw, shift ? shift->raw : optima_tensor{}};
    in[1].struct_size = sizeof in[1];
    return schema->evaluate(vendor.self, &m.raw, 0, in, 2, &y.raw, 1, &status.raw);
  };
  seam::Buffer x({1, 2, 3, 4}), shift({0, 10, 20, 30}), crooked({0, 10}), y(std::vector<float>(4));
  CHECK(evaluate(x, &shift, y) == OPTIMA_OK);
  CHECK(y.data == std::vector<float>{2, 14, 26, 38});
  CHECK(evaluate(x, nullptr, y) == OPTIMA_OK);
  CHECK(y.data == std::vector<float>{2, 4, 6, 8});
  CHECK(evaluate(x, &crooked, y) == OPTIMA_INVALID_GRAPH);
  CHECK(status.message == "shift must be as long as the last dim of x");
}

TEST_CASE("the vendor's plugin survives every truncation and every flipped bit of its artifact") {
  seam::Host host;
  const seam::Instance vendor(vendor_plugin(), host);
  const seam::Model m = scale_shift({2, 4}, seam::blob_of(kShift, sizeof kShift, 5));
  seam::MemorySink sink;
  seam::Status status;
  REQUIRE(seam::compile(vendor, m, kChip, sink, status) == OPTIMA_OK);
  const std::string good = sink.files.at("subgraph_0.acme");
  const auto load = [&](const std::string& bytes) {
    seam::MemorySink bad;
    bad.files["subgraph_0.acme"] = bytes;
    bad.format = sink.format, bad.compat = sink.compat, bad.weights = sink.weights;
    return seam::Program(vendor, seam::Artifact(bad, &m), kChip).code;
  };
  for (size_t n = 0; n < good.size(); ++n) CHECK(load(good.substr(0, n)) == OPTIMA_CORRUPT);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    const int32_t code = load(bad);
    CHECK((code == OPTIMA_OK || code == OPTIMA_CORRUPT));
  }
}
