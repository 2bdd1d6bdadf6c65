// SPDX-License-Identifier: Apache-2.0
// Cut tensors that go through another door than the usual one: package and bindings must say the same, and the host touches none itself.
#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// in -> cut -> out, 8 floats each; cut lies as i8 in two rows. The maker writes 0..7, the reader doubles.
struct EightBits : Bench {
  EightBits() {
    tensor("in", {8}), tensor("out", {8});
    Door& door = tensor("cut", {8}).door;
    door.dtype = OPTIMA_I8, door.shape = {2, 4}, door.layout = "ROWS", door.scales = {0.5F};
    package.inputs = {"in"}, package.outputs = {"out"}, package.variants[0].main = 2;
    subgraph({"in"}, {"cut"}, [](Tensors, Outputs out) {
      for (size_t i = 0; i < out[0].size; ++i) static_cast<int8_t*>(out[0].data)[i] = static_cast<int8_t>(i);
      return Status();
    }).bindings[1] = {OPTIMA_OUTPUT, "cut", OPTIMA_I8, {2, 4}, false, 0, 64};
    subgraph({"cut"}, {"out"}, [](Tensors in, Outputs out) {
      for (size_t i = 0; i < in[0].size; ++i) floats(out[0])[i] = 2.0F * static_cast<const int8_t*>(in[0].data)[i];
      return Status();
    }).bindings[0] = {OPTIMA_INPUT, "cut", OPTIMA_I8, {2, 4}, false, 0, 64};
  }
};

}  // namespace

TEST_CASE("a tensor goes from subgraph to subgraph as its door says") {
  EightBits b;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({8})).ok());
  REQUIRE(r->run().ok());
  for (size_t i = 0; i < 8; ++i) CHECK(r->output(0)->as<float>()[i] == 2.0F * static_cast<float>(i));
  CHECK(b.model().arena_bytes() == 8);
  CHECK(r->bound_address(0, false, 0) == r->bound_address(1, true, 0));
}

TEST_CASE("a program whose binding is not what the door says is refused") {
  EightBits b;
  b.plugin.programs["subgraph_1"].bindings[0].shape = {8};
  CHECK(b.load().status().message() == "package 'm': subgraph 1 of plugin fake: binding 'cut' has shape 8, wanted 2x4");
  b.plugin.programs["subgraph_1"].bindings[0] = {OPTIMA_INPUT, "cut", OPTIMA_F32, {2, 4}, false, 0, 64};
  CHECK(b.load().status().message() == "package 'm': subgraph 1 of plugin fake: binding 'cut' is float32, wanted int8");
}

TEST_CASE("a tensor that the host hands on itself has no door") {
  EightBits b;
  b.package.outputs = {"cut"};
  b.package.variants[0].subgraphs.pop_back(), b.package.variants[0].main = 1;
  CHECK(b.load().status().message() == "package 'm': tensor 'cut' lies as ROWS int8[2x4] where the host reads or writes it, wanted no door");
}
