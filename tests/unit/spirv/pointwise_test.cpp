// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: pointwise kernels, whose invocations compute four neighbours where their number allows.
#include <doctest/doctest.h>

#ifdef SPIRV_PLUGIN

#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

namespace {

struct Form {
  const char* text;
  int64_t groups;  ///< of 64 invocations
};

}  // namespace

TEST_CASE("pointwise kernels compute four neighbours for each invocation where their number allows, however operands are repeated") {
  const Form all[] = {
      {"(float[3,5,16] x, float[3,5,16] z) => (y) { y = Add(x, z) }", 1},
      {"(float[16,65] x, float[16,65] z) => (y) { a = Mul(x, z) b = Sigmoid(a) y = Add(b, x) }", 5},  // 260 neighbours of four
      {"(float[5,5,5] x, float[5,5,5] z) => (y) { y = Sub(x, z) }", 2},                               // 125 elements: one each
      {"(float[2,7,6,6] x, float[7,1,1] z) => (y) { y = Mul(x, z) }", 2},                             // one for each plane of 36
      {"(float[2,8,3,5] x, float[8,1,1] z) => (y) { y = Mul(x, z) }", 1},                             // planes of 15: an index of their own
      {"(float[6,8] x, float[8] z) => (y) { y = Div(x, z) }", 1},                                     // rows of eight
      {"(float[4,6] x, float[6] z) => (y) { y = Div(x, z) }", 1},                                     // rows of six
      {"(float[3,1,4] x, float[1,5,1] z) => (y) { y = Add(x, z) }", 1},                               // both repeated, into 60
      {"(float[3,4,1] x, float[4,8] z) => (y) { y = Add(x, z) }", 1},
      {"(float[2,2] x, float[3,2,2] z) => (y) { y = Max(x, z) }", 1},                                 // two dims of its own are four neighbours
      {"(float[4,1,1] x, float[4,2,6] z) => (y) { y = Min(x, z) }", 1},
      {"(float[1] x, float[8] z) => (y) { y = Mul(x, z) }", 1},
      {"(float[8,4] x, float[4] z) => (y) { l = Less(x, z) y = Where(l, x, z) }", 1},
      {"(float[8,4] x, float[8,1] z) => (bool[8,4] y) { y = Greater(x, z) }", 1},
      {"(float[4,16] x, float[4,16] z) => (int32[4,16] y) { a = Add(x, z) y = Cast<to = 6>(a) }", 1},
      {"(float[4] x, float z) => (y) { y = Add(x, z) }", 1},
  };
  const Validation validation;
  for (const Form& form : all) {
    CAPTURE(std::string(form.text));
    const TextNet net(std::string("<ir_version: 8, opset_import: [\"\" : 17]> g ") + form.text);
    Halves halves;
    seam::MemorySink sink, watched, halved;
    const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
    CHECK(groups_of(made(halves, net, sink, {})) == "[" + std::to_string(form.groups) + ",1,1]");
    CHECK(off(ran(halves, sink, in).at(0), wanted.at(0)) < 1e-6);
    CHECK(off(ran(halves, made(halves, net, watched, {guarded()}), in).at(0), wanted.at(0)) < 1e-6);
    CHECK(off(ran(halves, made(halves, net, halved, {seam::option("spirv.precision", "f16")}), in).at(0), wanted.at(0)) < (wanted.at(0).dtype == OPTIMA_F32 ? kHalves : 0.5));
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

#endif
