// SPDX-License-Identifier: Apache-2.0
// sdk: the graph image: what pack() writes, verify() accepts; what is wrong, it names.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>

#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"

using namespace optima;

namespace {

/// What verify says of the sample with everything after `edit`, without the place.
std::string broken(const std::function<void(optima_image*)>& edit) {
  const image::Bytes good = image::pack(samples::everything());
  image::Bytes b(good.size());
  std::memcpy(b.data(), good.data(), good.size());
  edit(reinterpret_cast<optima_image*>(b.data()));
  const std::string why = image::verify(b.data(), b.size());
  return why.substr(0, why.find(" (at"));
}
optima_node* node(optima_image* g, uint32_t i) { return const_cast<optima_node*>(optima_get_node(g, i)); }
optima_value* value(optima_image* g, uint32_t i) { return const_cast<optima_value*>(optima_get_value(g, i)); }
optima_image_graph* graph(optima_image* g, uint32_t i) { return const_cast<optima_image_graph*>(optima_get_graph(g, i)); }
optima_attr* attr(optima_image* g, uint32_t n, const char* name) { return const_cast<optima_attr*>(optima_find_attr(g, optima_get_node(g, n), name)); }
uint32_t* index(optima_image* g, uint32_t i) { return const_cast<uint32_t*>(optima_get_index(g, i)); }

}  // namespace

TEST_CASE("an image with bodies, captures and every attribute type verifies, also with elements of a newer host") {
  const image::Bytes good = image::pack(samples::everything());
  CHECK(image::verify(good.data(), good.size()) == "");
  const image::Bytes wide = seam::widen(good);
  CHECK(image::verify(wide.data(), wide.size()) == "");
}

TEST_CASE("the same contents give the same bytes") {
  const image::Bytes a = image::pack(samples::everything()), b = image::pack(samples::everything());
  REQUIRE(a.size() == b.size());
  CHECK(std::memcmp(a.data(), b.data(), a.size()) == 0);
}

TEST_CASE("pack writes only what an attribute's type uses") {
  image::Contents c = samples::scale_shift({2, 4});
  image::Attr& scale = c.graphs[0].nodes[0].attrs[0];
  scale.i = 7, scale.s = "left over", scale.ints = {1, 2}, scale.refs = {0};
  const image::Bytes b = image::pack(c);
  CHECK(image::verify(b.data(), b.size()) == "");
  const optima_attr* a = optima_find_attr(b.image(), optima_get_node(b.image(), 0), "scale");
  CHECK(a->f == 2.0);
  CHECK(a->i == 0);
  CHECK(a->s.size == 0);
  CHECK(a->ref == OPTIMA_NONE);
}

TEST_CASE("the verifier names a damaged header or array") {
  CHECK(broken([](optima_image* g) { g->magic[0] ^= 1; }) == "graph image: wrong magic");
  CHECK(broken([](optima_image* g) { g->abi_major = 9; }) == "graph image: written for another ABI major");
  CHECK(broken([](optima_image* g) { g->struct_size = 8; }) == "graph image: bad header size");
  CHECK(broken([](optima_image* g) { g->total_size++; }) == "graph image: total_size differs from the size received");
  CHECK(broken([](optima_image* g) { g->nodes.stride = 8; }) == "graph image: bad step of nodes");
  CHECK(broken([](optima_image* g) { g->values.count = 0x7FFFFFFF; }) == "graph image: array lies outside: values");
  CHECK(broken([](optima_image* g) { g->dims.offset = ~uint64_t{7}; }) == "graph image: array lies outside: dims");
  alignas(8) uint8_t tiny[16] = {};
  CHECK(image::verify(tiny, sizeof tiny) == "graph image: shorter than its header (at 16)");
  CHECK(image::verify(tiny + 4, 8) == "graph image: base is not aligned to 8 bytes (at 0)");
}

TEST_CASE("a step of zero, below the struct's first minor, not a multiple of 8, or past the end is refused, of each array") {
  const struct { const char* name; optima_array optima_image::*array; uint32_t least, align; } arrays[] = {
      {"graphs", &optima_image::graphs, 64, 8},       {"nodes", &optima_image::nodes, 88, 8},       {"values", &optima_image::values, 48, 8},
      {"attrs", &optima_image::attrs, 72, 8},         {"constants", &optima_image::constants, 24, 8}, {"captures", &optima_image::captures, 8, 8},
      {"opsets", &optima_image::opsets, 24, 8},       {"dims", &optima_image::dims, 24, 8},         {"texts", &optima_image::texts, 16, 8},
      {"ints", &optima_image::ints, 8, 8},            {"floats", &optima_image::floats, 8, 8},      {"indices", &optima_image::indices, 4, 4}};
  for (const auto& a : arrays) {
    const auto with = [&](uint32_t stride) { return broken([&](optima_image* g) { (g->*a.array).stride = stride; }); };
    const std::string bad = std::string("graph image: bad step of ") + a.name;
    CHECK(with(0) == bad);
    CHECK(with(a.least - a.align) == bad);
    CHECK(with(a.least + a.align / 2) == bad);
    CHECK(with(~uint32_t{0} / 8 * 8) == std::string("graph image: array lies outside: ") + a.name);
    CHECK(broken([&](optima_image* g) { (g->*a.array).offset += 4; }) == std::string("graph image: array lies outside: ") + a.name);
  }
  CHECK(broken([](optima_image* g) { g->struct_size = 216; }) == "graph image: bad header size");
  CHECK(broken([](optima_image* g) { g->struct_size = static_cast<uint32_t>(g->total_size) + 8; }) == "graph image: bad header size");
  CHECK(broken([](optima_image* g) { g->struct_size += 8; }) == "graph image: array lies outside: graphs");
}

TEST_CASE("the verifier names a damaged node") {
  CHECK(broken([](optima_image* g) { node(g, 0)->name.size = ~uint64_t{0}; }) == "graph image: node text lies outside");
  CHECK(broken([](optima_image* g) { node(g, 1)->id = node(g, 0)->id; }) == "graph image: node id is not unique");
  CHECK(broken([](optima_image* g) { node(g, 0)->graph = 1; }) == "graph image: node names another graph");
  CHECK(broken([](optima_image* g) { node(g, 0)->inputs.count = 0xFFFFFFFF; }) == "graph image: bad list of node inputs or outputs");
  CHECK(broken([](optima_image* g) { *index(g, node(g, 0)->inputs.first) = 4; }) == "graph image: input used before it is produced");
  CHECK(broken([](optima_image* g) { *index(g, node(g, 0)->inputs.first) = 6; }) == "graph image: input used before it is produced");
  CHECK(broken([](optima_image* g) { *index(g, node(g, 1)->outputs.first) = 0; }) == "graph image: bad node output");
}

TEST_CASE("the verifier names damaged bodies: cycles, shared and orphaned ones") {
  CHECK(broken([](optima_image* g) { attr(g, 1, "else_branch")->ref = 0; }) == "graph image: bad body");
  CHECK(broken([](optima_image* g) { attr(g, 1, "else_branch")->ref = 1; }) == "graph image: bad body");
  CHECK(broken([](optima_image* g) { attr(g, 2, "body")->ref = 1; }) == "graph image: bad body");
  CHECK(broken([](optima_image* g) { graph(g, 1)->parent_node = 2; }) == "graph image: body lies before its node's graph");
  CHECK(broken([](optima_image* g) { graph(g, 1)->nodes.count = 2; }) == "graph image: graphs do not tile nodes and values");
}

TEST_CASE("the verifier names a damaged attribute, constant or value") {
  CHECK(broken([](optima_image* g) { attr(g, 0, "value")->ref = 4; }) == "graph image: attribute names no constant");
  CHECK(broken([](optima_image* g) { attr(g, 0, "mode")->type = 11; }) == "graph image: attribute holds more than its type uses");
  CHECK(broken([](optima_image* g) { attr(g, 0, "alpha")->type = 11, attr(g, 0, "alpha")->f = 0; }) == "graph image: attribute of unknown type");
  for (const auto& edit : std::vector<std::function<void(optima_attr*)>>{
           [](optima_attr* a) { a->list.count = 1; }, [](optima_attr* a) { a->s.size = 1; }, [](optima_attr* a) { a->i = 1; }, [](optima_attr* a) { a->ref = 0; }})
    CHECK(broken([&](optima_image* g) { edit(attr(g, 0, "alpha")); }) == "graph image: attribute holds more than its type uses");
  CHECK(broken([](optima_image* g) { const_cast<optima_constant*>(optima_get_constant(g, 0))->rank = -1; }) == "graph image: bad shape of constant");
  CHECK(broken([](optima_image* g) { value(g, 0)->rank = 65; }) == "graph image: bad rank or dims of value");
  CHECK(broken([](optima_image* g) { value(g, 2)->constant = 9; }) == "graph image: value names no constant");
  const float bias[4] = {};
  const seam::Model fits(image::pack(samples::scale_shift({2, 4})), {seam::blob_of(bias, 16, 1)});
  CHECK(fits.verify() == "");
  const seam::Model small(image::pack(samples::scale_shift({2, 4})), {seam::blob_of(bias, 15, 1)});
  CHECK(small.verify() == "graph image: constant and blob differ in size (at 0)");
}

TEST_CASE("an image whose texts overlap without end is refused, so that copying all names stays cheap") {
  image::Contents c;
  image::Graph g{"g", {}, {}, {}, {}, {}};
  for (uint32_t i = 0; i < 400; ++i) {
    g.values.push_back(samples::tensor("v" + std::to_string(i), {1}));
    g.inputs.push_back(i);
  }
  c.graphs = {g};
  const image::Bytes b = image::pack(c);
  REQUIRE(image::verify(b.data(), b.size()) == "");
  auto* image = reinterpret_cast<optima_image*>(b.data());
  for (uint32_t i = 0; i < 400; ++i) value(image, i)->name = {0, b.size()};
  const std::string why = image::verify(b.data(), b.size());
  CHECK(why.substr(0, why.find(" (at")) == "graph image: texts overlap too often");
}

TEST_CASE("long texts that many nodes share stay within the text limit") {
  image::Contents c = samples::identity({3});
  image::Graph& g = c.graphs[0];
  const std::string vocabulary(20000, 'v');
  image::Attr a{"vocabulary", OPTIMA_ATTR_STRING};
  a.s = vocabulary;
  for (uint32_t i = 0; i < 100; ++i) {
    g.values.push_back(samples::tensor("t" + std::to_string(i), {3}));
    g.nodes.push_back({"n" + std::to_string(i), "Tokenize", "com.acme", 100 + i, 1, {0}, {i + 2}, {a}});
  }
  const image::Bytes b = image::pack(c);
  CHECK(image::verify(b.data(), b.size()) == "");
}

TEST_CASE("the same bytes verify from a sealed memory file that nobody can change any more") {
  const image::Bytes image = image::pack(samples::everything());
  const int fd = ::memfd_create("optima", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, image.data(), image.size()) == static_cast<ssize_t>(image.size()));
  REQUIRE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  CHECK(::pwrite(fd, "x", 1, 0) < 0);
  void* mapped = ::mmap(nullptr, image.size(), PROT_READ, MAP_PRIVATE, fd, 0);
  REQUIRE(mapped != MAP_FAILED);
  CHECK(image::verify(static_cast<const uint8_t*>(mapped), image.size()) == "");
  ::munmap(mapped, image.size());
  ::close(fd);
}
