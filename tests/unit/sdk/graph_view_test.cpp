// SPDX-License-Identifier: Apache-2.0
// sdk: the author's views over a graph image, read from images of this and of a newer host.
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "optima/plugin/graph.hpp"
#include "optima/plugin/reads.hpp"
#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"

using namespace optima;
using sdk::Graph;
using sdk::Node;

namespace {

/// The sample with everything, and bytes for its four constants.
seam::Model everything(bool newer) {
  static const float floats[6] = {0, 1, 2, 3, 4, 5};
  static const int64_t scalar[1] = {42};
  static const uint8_t packed[3] = {0x21, 0x43, 0x05};
  static const char strings[] = "\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0abc";
  image::Bytes bytes = image::pack(samples::everything());
  if (newer) bytes = seam::widen(bytes);
  return seam::Model(std::move(bytes), {seam::blob_of(floats, 24, 1), seam::blob_of(scalar, 8, 2), seam::blob_of(packed, 3, 3), seam::blob_of(strings, 19, 4)});
}

}  // namespace

TEST_CASE("a node is found by its id in any graph of the image, and none where there is none") {
  for (const bool newer : {false, true}) {
    const seam::Model m = everything(newer);
    const optima_image* g = m.raw.image;
    for (uint32_t k = 0; k < g->nodes.count; ++k) CHECK(optima_find_node(g, optima_get_node(g, k)->id) == optima_get_node(g, k));
    CHECK(g->graphs.count > 1);
    CHECK(optima_find_node(g, 4711) == nullptr);
    CHECK(optima_find_node(g, OPTIMA_NONE) == nullptr);
  }
}

TEST_CASE("nodes, values and shapes read alike from images of this and of a newer host") {
  for (const bool newer : {false, true}) {
    const seam::Model m = everything(newer);
    REQUIRE(m.verify() == "");
    const Graph g(&m.raw);
    CHECK(g.name() == "main");
    REQUIRE(g.size() == 2);
    CHECK(g.opset("") == 21);
    CHECK(g.opset("com.acme") == 1);
    CHECK(g.opset("nobody") == 0);
    REQUIRE(g.input_count() == 2);
    CHECK(g.input(0).name() == "x");
    CHECK(g.output(0).name() == "y");
    CHECK_FALSE(g.owner());

    const Node first = g[0];
    CHECK(first.id() == 1);
    CHECK(first.op() == "Everything");
    CHECK(first.domain() == "com.acme");
    CHECK(first.input_count() == 3);
    CHECK_FALSE(first.input(1));
    CHECK_FALSE(first.input(99));
    const sdk::Value x = first.input(0), w = first.input(2);
    CHECK(x.shape() == std::vector<int64_t>{-1, 3});
    CHECK(x.symbol(0) == "N");
    CHECK_FALSE(x.is_static());
    CHECK(x.elements() == -1);
    CHECK(x.bytes() == 0);
    CHECK_FALSE(x.is_constant());
    CHECK_FALSE(x.producer());
    CHECK(w.is_constant());
    CHECK(w.elements() == 6);
    CHECK(w.bytes() == 24);
    CHECK(w.constant().as<float>()[5] == 5);
    CHECK(first.output(0).producer().id() == 1);
  }
}

TEST_CASE("attributes of every type read, and give the default when absent or of another type") {
  for (const bool newer : {false, true}) {
    const seam::Model m = everything(newer);
    const Node n = Graph(&m.raw)[0];
    CHECK(n.attr_count() == 8);
    CHECK(n.integers("pads") == std::vector<int64_t>{1, -2, 3});
    CHECK(n.integers("absent", {7}) == std::vector<int64_t>{7});
    CHECK(n.reals("scales") == std::vector<double>{0.5, 1e300});
    CHECK(n.strings("names") == std::vector<std::string_view>{"a", "", "ccc"});
    CHECK(n.string("mode", "") == "nearest");
    CHECK(n.attr("mode", OPTIMA_ATTR_STRING).is_default());
    CHECK(n.real("alpha", 0) == 0.25);
    CHECK(n.integer("alpha", 5) == 5);
    CHECK(n.has("alpha"));
    CHECK_FALSE(n.has("beta"));
    REQUIRE(n.tensor("value"));
    CHECK(n.tensor("value").as<int64_t>()[0] == 42);
    CHECK(n.tensor("value").rank() == 0);
    REQUIRE(n.tensors("values").size() == 2);
    CHECK(n.tensors("values")[0].dtype() == OPTIMA_I4);
    CHECK(n.tensors("values")[1].shape() == std::vector<int64_t>{2});
    CHECK_FALSE(n.tensor("pads"));
    CHECK(n.attr(6).string() == "seq(tensor(float))");
  }
}

TEST_CASE("bodies are graphs with captures and an owner") {
  const seam::Model m = everything(true);
  const Graph g(&m.raw);
  const Graph then = g[1].body("then_branch");
  CHECK(then.name() == "then");
  CHECK(then.owner().id() == 2);
  REQUIRE(then.capture_count() == 1);
  CHECK(then.captured(0).name() == "h");
  CHECK(then.captured(0).producer().id() == 1);
  CHECK(then.capture_of(0).name() == "h");
  CHECK_FALSE(then.capture_of(0).producer());
  const Graph loop = then[0].body("body");
  CHECK(loop.input_count() == 3);
  CHECK(loop[0].op() == "Add");
  try {
    (void)g[0].body("then_branch");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.code == OPTIMA_INVALID_GRAPH);
    CHECK(e.node == 1);
    CHECK(e.text == "attribute 'then_branch' is missing, wanted a graph");
  }
}

TEST_CASE("what a node reads includes what its bodies capture, and what it makes has its position") {
  for (const bool newer : {false, true}) {
    const seam::Model m = everything(newer);
    const Graph g(&m.raw);
    const auto reads = [&](const Node& n) {
      std::vector<std::string> names;
      sdk::each_read(n, [&](uint32_t v) { names.emplace_back(sdk::Value(&m.raw, v).name()); });
      return names;
    };
    const auto makes = [&](const Node& n) {
      std::vector<std::pair<uint32_t, std::string>> names;
      sdk::each_output(m.raw, n.raw(), [&](uint32_t k, uint32_t v) { names.emplace_back(k, sdk::Value(&m.raw, v).name()); });
      return names;
    };
    CHECK(reads(g[0]) == std::vector<std::string>{"x", "w"});
    CHECK(reads(g[1]) == std::vector<std::string>{"cond", "h", "x"});
    CHECK(makes(g[0]) == decltype(makes(g[0])){{0, "h"}});
    CHECK(makes(g[1]) == decltype(makes(g[1])){{0, "y"}});
    CHECK(reads(g[1].body("then_branch")[0]) == std::vector<std::string>{"n", "h", "h"});
  }
}

TEST_CASE("a constant read with another width is refused") {
  const seam::Model m = everything(false);
  CHECK_THROWS_WITH_AS((void)Graph(&m.raw)[0].tensor("value").as<float>(), "constant of dtype 7 read as elements of 4 bytes", Error);
}

TEST_CASE("elements are copied only when they are misaligned, and read through the descriptor when they are not mapped") {
  alignas(64) static const char bytes[20] = {0, 0, 0, 0, 0, 0, 0x20, 0x41};
  const sdk::Elements<float> aligned(seam::blob_of(bytes, 8, 1));
  CHECK_FALSE(aligned.copied());
  CHECK(aligned.size() == 2);
  CHECK(aligned[1] == 10);
  const sdk::Elements<float> odd(seam::blob_of(bytes + 3, 8, 1));
  CHECK(odd.copied());
  CHECK(odd.size() == 2);

  const int fd = ::memfd_create("weights", MFD_CLOEXEC);
  REQUIRE(::write(fd, "abc\0\0\200\77", 7) == 7);
  optima_blob file = seam::blob_of(nullptr, 4, 1);
  file.fd = fd, file.file_offset = 3;
  const sdk::Elements<float> read(file);
  CHECK(read[0] == 1);
  file.size = 8;
  CHECK_THROWS_WITH_AS(sdk::Elements<float>{file}, "blob's file is too short", Error);
  file.fd = -1;
  CHECK_THROWS_WITH_AS(sdk::Elements<float>{file}, "blob has neither data nor a file", Error);
  ::close(fd);
  CHECK(sdk::Elements<float>(seam::blob_of(nullptr, 0, 1)).size() == 0);
}
