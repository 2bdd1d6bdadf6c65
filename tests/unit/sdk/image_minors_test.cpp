// SPDX-License-Identifier: Apache-2.0
// sdk: graph images between this minor and one to come, whose structs are longer: each reads what the other wrote. (At major 0 a host
// and a plugin must have one minor; from major 1 on they need not.)
#include <doctest/doctest.h>

#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"

using namespace optima;

namespace {

constexpr const char* kSamples[] = {"everything", "scale_shift", "identity"};
const optima_device kTarget = seam::device("NULL");

/// image_minor.cpp, as one of the two built it.
class Minor {
 public:
  explicit Minor(const char* path) : file_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) { REQUIRE_MESSAGE(file_ != nullptr, path); }
  image::Bytes write(const char* sample) const {
    const auto write = function<uint64_t(const char*, uint8_t*, uint64_t)>("write_image");
    image::Bytes out(write(sample, nullptr, 0));
    REQUIRE(write(sample, out.data(), out.size()) == out.size());
    return out;
  }
  std::string read(const image::Bytes& image, const char* how = "read_image") const {
    return function<const char*(const uint8_t*, uint64_t)>(how)(image.data(), image.size());
  }

 private:
  template <class F>
  F* function(const char* name) const {
    void* found = ::dlsym(file_, name);
    REQUIRE_MESSAGE(found != nullptr, name);
    return reinterpret_cast<F*>(found);
  }
  void* file_;
};

const Minor& now() {
  static const Minor minor(IMAGE_OF_NOW);
  return minor;
}
const Minor& to_come() {
  static const Minor minor(IMAGE_TO_COME);
  return minor;
}

/// A plugin takes the image of an Identity, compiles it, and copies.
void copies(const char* path, const image::Bytes& image) {
  seam::Host host;
  const seam::Instance null(path, host);
  REQUIRE(null.code == OPTIMA_OK);
  image::Bytes own(image.size());
  std::memcpy(own.data(), image.data(), image.size());
  const seam::Model m(std::move(own));
  seam::Status status;
  seam::Verdicts v;
  REQUIRE(seam::check(null, m, {11}, kTarget, v, status) == OPTIMA_OK);
  CHECK(v.by_node.at(11).verdict == OPTIMA_VERDICT_SUPPORTED);
  seam::MemorySink sink;
  REQUIRE(seam::compile(null, m, kTarget, sink, status) == OPTIMA_OK);
  const seam::Program program(null, seam::Artifact(sink, nullptr), kTarget);
  REQUIRE(program.raw);
  CHECK(program.bindings() == "in in:1 3;out out:1 3;");
  seam::Buffer x({1, 2, 3}), y({0, 0, 0});
  CHECK(seam::run(program, x, y, status) == OPTIMA_OK);
  CHECK(y.data == x.data);
}

}  // namespace

TEST_CASE("the two minors do write images of different struct sizes") {
  const image::Bytes older = now().write("everything"), newer = to_come().write("everything");
  CHECK(newer.image()->abi_minor == older.image()->abi_minor + 1);
  CHECK(newer.image()->struct_size == older.image()->struct_size + 16);
  CHECK(newer.image()->nodes.stride == older.image()->nodes.stride + 8);
  CHECK(newer.image()->captures.stride == older.image()->captures.stride + 8);
}

TEST_CASE("an image of a minor to come reads as one of today") {
  for (const char* sample : kSamples) {
    const image::Bytes older = now().write(sample), newer = to_come().write(sample);
    CHECK(now().read(newer) == now().read(older));
    CHECK(now().read(older).find("walked \n") == 0);
    CHECK(now().read(seam::widen(older)) == now().read(older));
    CHECK(now().read(seam::widen(newer)) == now().read(older));
  }
}

TEST_CASE("a reader to come takes an image of today, and finds zero where its members are missing") {
  for (const char* sample : kSamples) {
    const image::Bytes older = now().write(sample), newer = to_come().write(sample);
    CHECK(to_come().read(older) == now().read(older));
    CHECK(to_come().read(newer) == now().read(older));
  }
  const image::Bytes older = now().write("everything"), newer = to_come().write("everything");
  const optima_image& g = *older.image();
  std::string zeros, marks;
  for (const optima_array* a : {&g.graphs, &g.nodes, &g.values, &g.attrs, &g.constants, &g.captures, &g.opsets, &g.dims}) {
    REQUIRE(a->count > 0);
    zeros += "0 " + std::to_string(a->count) + " ";
    marks += std::to_string(a->count) + " 0 ";
  }
  CHECK(to_come().read(older, "read_what_is_to_come") == zeros + "0 ");
  CHECK(to_come().read(newer, "read_what_is_to_come") == marks + "7 ");
}

TEST_CASE("a reader to come refuses what is shorter than today's structs") {
  const image::Bytes image = now().write("everything");
  auto* g = reinterpret_cast<optima_image*>(image.data());
  g->values.stride -= 8;
  CHECK(to_come().read(image).find("graph image: bad step of values") == 0);
  g->values.stride += 8;
  g->struct_size -= 8;
  CHECK(to_come().read(image).find("graph image: bad header size") == 0);
}

TEST_CASE("a plugin of today checks, compiles and runs what a host to come hands it, and the other way round") {
  copies(NULL_PLUGIN, to_come().write("identity"));
  copies(NULL_PLUGIN_TO_COME, now().write("identity"));
  copies(NULL_PLUGIN_TO_COME, to_come().write("identity"));
}
