// SPDX-License-Identifier: Apache-2.0
// plugins/reference: the built file, over the bare seam.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "optima/ext/profile.h"
#include "tests/support/sample_images.hpp"
#include "tests/support/seam_samples.hpp"

using namespace optima;
using seam::f32;
using seam::floats;
using seam::one_node;

namespace {

const optima_device kTarget = seam::device("REF");

/// y = relu(x + w) with w of 2048 floats (a shared weight) and t = x nonzero positions (of unknown shape).
struct Sample {
  std::vector<float> w = std::vector<float>(2048, -1.0f);
  float small = 0.5f;
  seam::Model model;
  Sample() : model(image::pack(contents()), {seam::blob_of(w.data(), w.size() * 4, 7), seam::blob_of(&small, 4, 8)}) {}

  static image::Contents contents() {
    using samples::tensor;
    image::Graph g{"sample",
                   {tensor("x", {-1, 2048}), tensor("w", {2048}), tensor("half", {}), tensor("a", {-1, 2048}), tensor("b", {-1, 2048}),
                    tensor("y", {-1, 2048}), tensor("t", {2, -1}, OPTIMA_I64)},
                   {}, {0}, {5, 6}, {}};
    g.values[1].constant = 0;
    g.values[2].constant = 1;
    g.values[6].dims->at(1).symbol = "";
    g.nodes.push_back({"add", "Add", "", 1, 14, {0, 1}, {3}, {}});
    g.nodes.push_back({"mul", "Mul", "", 2, 14, {3, 2}, {4}, {}});
    g.nodes.push_back({"relu", "Relu", "", 3, 14, {4}, {5}, {}});
    g.nodes.push_back({"where", "NonZero", "", 4, 13, {5}, {6}, {}});
    return {{g}, {{OPTIMA_F32, {2048}, 0}, {OPTIMA_F32, {}, 1}}, {{"", 21}}};
  }
};

/// The sample compiled by the built file.
struct Compiled {
  seam::Host host;
  const seam::Instance plugin{REFERENCE_PLUGIN, host};
  const Sample s;
  seam::MemorySink sink;
  seam::Status status;
  Compiled() { REQUIRE_MESSAGE(seam::compile(plugin, s.model, kTarget, sink, status) == OPTIMA_OK, status.message); }
};

/// It, loaded.
struct Loaded : Compiled {
  const seam::Artifact artifact{sink, &s.model};
  const seam::Program program{plugin, artifact, kTarget};
  optima_context* context = nullptr;
  Loaded() { REQUIRE(plugin.runtime().context_create(program.raw, &context, &status.raw) == OPTIMA_OK); }
  ~Loaded() { plugin.runtime().context_destroy(context); }
};

seam::Said said(const seam::Instance& plugin, const seam::Model& m, uint32_t node) { return seam::said(plugin, m, node, kTarget); }

}  // namespace

TEST_CASE("plugins/reference compiles a graph into one file, shares its large weight, and runs it") {
  seam::Host host;
  const seam::Instance plugin(REFERENCE_PLUGIN, host);
  REQUIRE(plugin.code == OPTIMA_OK);
  const Sample s;
  REQUIRE(s.model.verify() == "");
  for (uint32_t node : {1, 2, 3, 4}) CHECK(said(plugin, s.model, node).verdict == OPTIMA_VERDICT_SUPPORTED);
  seam::MemorySink sink;
  seam::Status status;
  REQUIRE(seam::compile(plugin, s.model, kTarget, sink, status) == OPTIMA_OK);
  CHECK(sink.format == "optima.reference/1");
  CHECK(sink.files.size() == 1);
  CHECK(sink.files.count("subgraph_0.graph") == 1);
  CHECK(sink.weights == std::map<std::string, uint32_t>{{"0", 0}});
  const seam::Artifact artifact(sink, &s.model);
  CHECK(seam::compatibility(plugin, artifact, kTarget).first == OPTIMA_COMPAT_OPTIMAL);
  {
    const seam::Program program(plugin, artifact, kTarget);
    REQUIRE_MESSAGE(program.raw, program.status.message);
    CHECK(program.bindings() == "in x:1 -1x2048;out y:1 -1x2048;out t:7 2x-1;");
    CHECK(host.retained[7] == 1);
    std::vector<float> x(2048, 0.0f);
    x[3] = 5, x[2047] = 2;
    std::vector<reference::Tensor> out;
    REQUIRE(seam::run(program, {f32({1, 2048}, x)}, out, status) == OPTIMA_OK);
    CHECK(out[0].dims == std::vector<int64_t>{1, 2048});
    CHECK(floats(out[0])[3] == 2.0f);
    CHECK(floats(out[0])[0] == 0.0f);
    CHECK(out[1].dims == std::vector<int64_t>{2, 2});
    const std::vector<float> wrong(4, 0.0f);
    CHECK(seam::run(program, {f32({1, 4}, wrong)}, out, status) == OPTIMA_INVALID_ARGUMENT);
    CHECK(status.message == "input 0 has shape [1, 4], the graph says [-1, 2048]");
  }
  CHECK(host.retained[7] == 0);
}

TEST_CASE("two compiles of one graph give the same bytes, whatever the image's element sizes") {
  seam::Host host;
  const seam::Instance plugin(REFERENCE_PLUGIN, host);
  const Sample s;
  seam::MemorySink a, b, wide;
  seam::Status status;
  REQUIRE(seam::compile(plugin, s.model, kTarget, a, status) == OPTIMA_OK);
  REQUIRE(seam::compile(plugin, s.model, kTarget, b, status) == OPTIMA_OK);
  CHECK(a.files == b.files);
  const seam::Model newer(seam::widen(image::pack(Sample::contents())), s.model.blobs);
  REQUIRE(seam::compile(plugin, newer, kTarget, wide, status) == OPTIMA_OK);
  const seam::Artifact artifact(wide, &newer);
  CHECK(seam::Program(plugin, artifact, kTarget).code == OPTIMA_OK);
}

TEST_CASE("check refuses by operator, version, element type and attribute, each with its sentence") {
  seam::Host host;
  const seam::Instance plugin(REFERENCE_PLUGIN, host);
  using samples::tensor;
  const auto verdict = [&](const image::Node& n, int32_t dtype = OPTIMA_F32) {
    const seam::Model m = one_node(n, {tensor("x", {2}, dtype), tensor("y", {2}, dtype)}, {0}, {1});
    REQUIRE(m.verify() == "");
    return said(plugin, m, n.id);
  };
  const seam::Said op = verdict({"n", "ImageDecoder", "", 5, 20, {0}, {1}, {}});
  CHECK(op.reason == OPTIMA_REASON_OP);
  CHECK(op.text == "operator ImageDecoder is not in the table");
  const seam::Said version = verdict({"n", "Relu", "", 5, 1, {0}, {1}, {}});
  CHECK(version.reason == OPTIMA_REASON_OPSET);
  CHECK(version.text == "since_version is 1, must be 6..14");
  const seam::Said dtype = verdict({"n", "Not", "", 5, 1, {0}, {1}, {}});
  CHECK(dtype.reason == OPTIMA_REASON_DTYPE);
  CHECK(dtype.text == "input 0 is f32, must be bool");
  const seam::Said text = verdict({"n", "Identity", "", 5, 16, {0}, {1}, {}}, OPTIMA_STRING);
  CHECK(text.reason == OPTIMA_REASON_DTYPE);
  image::Attr spatial{"spatial", OPTIMA_ATTR_INT};
  spatial.i = 0;
  const seam::Model bn = one_node({"n", "BatchNormalization", "", 5, 7, {0, 1, 1, 1, 1}, {2}, {spatial}}, {tensor("x", {1, 2}), tensor("p", {2}), tensor("y", {1, 2})}, {0, 1}, {2});
  const seam::Said attribute = said(plugin, bn, 5);
  CHECK(attribute.reason == OPTIMA_REASON_ATTRIBUTE);
  CHECK(attribute.text == "spatial is 0, must be 1");
  seam::MemorySink sink;
  seam::Status status;
  CHECK(seam::compile(plugin, bn, kTarget, sink, status) == OPTIMA_UNSUPPORTED);
  CHECK(status.message == "spatial is 0, must be 1");
  CHECK(status.raw.node == 5);
  CHECK(sink.files.empty());
}

TEST_CASE("mixed element types of one operator are refused before anything runs") {
  seam::Host host;
  const seam::Instance plugin(REFERENCE_PLUGIN, host);
  using samples::tensor;
  const seam::Model m = one_node({"n", "Add", "", 5, 14, {0, 1}, {2}, {}}, {tensor("x", {2}), tensor("z", {2}, OPTIMA_I64), tensor("y", {2})}, {0, 1}, {2});
  CHECK(said(plugin, m, 5).text == "input 1 is i64, must be f32 as the others");
}

TEST_CASE("strided tensors and outputs of given shape are honoured") {
  seam::Host host;
  const seam::Instance plugin(REFERENCE_PLUGIN, host);
  using samples::tensor;
  const seam::Model m = one_node({"n", "Neg", "", 5, 13, {0}, {1}, {}}, {tensor("x", {2, 2}), tensor("y", {2, 2})}, {0}, {1});
  seam::MemorySink sink;
  seam::Status status;
  REQUIRE(seam::compile(plugin, m, kTarget, sink, status) == OPTIMA_OK);
  const seam::Artifact artifact(sink, &m);
  const seam::Program program(plugin, artifact, kTarget);
  REQUIRE(program.raw);
  const int64_t dims[] = {2, 2}, turned[] = {1, 2}, spread[] = {3, 1};
  alignas(64) float x[] = {1, 2, 3, 4}, y[6] = {};
  optima_tensor in{}, out{};
  in.struct_size = out.struct_size = sizeof in;
  in.dtype = out.dtype = OPTIMA_F32;
  in.rank = out.rank = 2;
  in.shape = out.shape = dims;
  in.strides = turned, out.strides = spread;
  in.data = x, out.data = y;
  in.size = sizeof x, out.size = sizeof y;
  optima_context* context = nullptr;
  REQUIRE(plugin.runtime().context_create(program.raw, &context, &status.raw) == OPTIMA_OK);
  REQUIRE(plugin.runtime().execute(context, &in, 1, &out, 1, &status.raw) == OPTIMA_OK);
  CHECK(std::vector<float>(y, y + 6) == std::vector<float>{-1, -3, 0, -2, -4, 0});
  plugin.runtime().context_destroy(context);
}

TEST_CASE_FIXTURE(Loaded, "output_shapes knows what shares a symbol with an input, and says -1 for what depends on data") {
  const optima_tensor in = seam::lend(f32({3, 2048}, std::vector<float>(3 * 2048)));
  const int64_t shape[] = {3, 2048};
  optima_tensor x = in;
  x.shape = shape, x.data = nullptr;
  int64_t first[4] = {}, second[4] = {};
  optima_shape out[2] = {{sizeof(optima_shape), 4, 0, 0, first}, {sizeof(optima_shape), 4, 0, 0, second}};
  REQUIRE(plugin.runtime().output_shapes(context, &x, 1, out, 2, &status.raw) == OPTIMA_OK);
  CHECK(out[0].rank == 2);
  CHECK(first[0] == 3);
  CHECK(first[1] == 2048);
  CHECK(second[0] == 2);
  CHECK(second[1] == -1);
}

TEST_CASE_FIXTURE(Loaded, "the profile has one event per node and execution, with the node's id and operator") {
  const auto* profile = plugin.extension<optima_profile>(OPTIMA_EXT_PROFILE);
  REQUIRE(profile);
  REQUIRE(profile->enable(context, 1, &status.raw) == OPTIMA_OK);
  const reference::Tensor x = f32({1, 2048}, std::vector<float>(2048));
  for (int k = 0; k < 2; ++k) {
    const optima_tensor in = seam::lend(x);
    alignas(64) static float y[2048];
    static int64_t t[2];
    const int64_t y_dims[] = {1, 2048}, t_dims[] = {2, 0};
    optima_tensor out[2] = {in, in};
    out[0].shape = y_dims, out[0].data = y;
    out[1].dtype = OPTIMA_I64, out[1].shape = t_dims, out[1].data = t, out[1].size = 0;
    REQUIRE(plugin.runtime().execute(context, &in, 1, out, 2, &status.raw) == OPTIMA_OK);
  }
  std::string all;
  const auto add = [](void* p, const optima_event* e, uint32_t count) -> int32_t {
    for (uint32_t k = 0; k < count; ++k) *static_cast<std::string*>(p) += seam::text(e[k].name) + std::to_string(e[k].node) + " ";
    return OPTIMA_OK;
  };
  REQUIRE(profile->read(context, add, &all, &status.raw) == OPTIMA_OK);
  CHECK(all == "Add1 Mul2 Relu3 NonZero4 Add1 Mul2 Relu3 NonZero4 ");
}

TEST_CASE_FIXTURE(Compiled, "damaged artifacts are refused: truncated anywhere, any byte flipped, another format, a missing or short weight") {
  const std::string good = sink.files.at("subgraph_0.graph");
  const auto load = [&](const std::string& bytes, bool weights = true) {
    seam::MemorySink bad;
    bad.files["subgraph_0.graph"] = bytes;
    bad.format = sink.format;
    if (weights) bad.weights = sink.weights;
    const seam::Artifact artifact(bad, &s.model);
    const seam::Program program(plugin, artifact, kTarget);
    const uint32_t judged = seam::compatibility(plugin, artifact, kTarget).first;
    if (weights && program.code == OPTIMA_OK) CHECK(judged == OPTIMA_COMPAT_OPTIMAL);
    if (program.raw && weights) {  // what was let in must not do harm
      std::vector<reference::Tensor> out;
      seam::Status st;
      (void)seam::run(program, {f32({1, 2048}, std::vector<float>(2048))}, out, st);
    }
    return program.code;
  };
  CHECK(load(good) == OPTIMA_OK);
  for (size_t n = 0; n < good.size(); n += n < 128 ? 1 : 13) {
    const int32_t code = load(good.substr(0, n));
    CHECK(code == OPTIMA_CORRUPT);
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    const int32_t code = load(bad);
    CHECK((code == OPTIMA_OK || code == OPTIMA_CORRUPT || code == OPTIMA_RECOMPILE));
  }
  CHECK(load(good, false) == OPTIMA_CORRUPT);
  sink.format = "optima.reference/2";
  const seam::Artifact other(sink, &s.model);
  CHECK(seam::compatibility(plugin, other, kTarget) ==
        std::pair<uint32_t, std::string>(OPTIMA_COMPAT_RECOMPILE, "artifact has format 'optima.reference/2', wanted optima.reference/1"));
  CHECK(seam::Program(plugin, other, kTarget).code == OPTIMA_RECOMPILE);
}

TEST_CASE_FIXTURE(Compiled, "random bytes behind a good header never crash a load") {
  const std::string good = sink.files.at("subgraph_0.graph");
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    seam::MemorySink bad;
    bad.format = sink.format, bad.weights = sink.weights;
    std::string& bytes = bad.files["subgraph_0.graph"] = good;
    for (int k = 0; k < 4; ++k) bytes[64 + random() % (bytes.size() - 64)] = static_cast<char>(random());
    const seam::Artifact artifact(bad, &s.model);
    accepted += seam::Program(plugin, artifact, kTarget).code == OPTIMA_OK;
  }
  CHECK(accepted < 2000);
}
