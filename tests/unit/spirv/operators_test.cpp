// SPDX-License-Identifier: Apache-2.0
// plugins/spirv, operator by operator, in forms that the node tests have not: groups, pads, dilations, padding modes, what is folded into a kernel.
// Kernels look at every index, and Vulkan's validation says nothing.
#ifndef SPIRV_PLUGIN

#include <doctest/doctest.h>
TEST_CASE("plugins/spirv by operator") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include "core/support/json_value.hpp"
#include "tests/support/forged_meta.hpp"
#include "tests/support/seam_refusals.hpp"
#include "tests/unit/spirv/forms.hpp"

using namespace optima;
using namespace optima::spirv_test;

namespace {

/// All forms against the reference. Their kernels compile with floats as halves, too.
void check(const std::vector<Form>& forms, double within = 1e-4) {
  const Validation validation;
  Halves halves;
  for (const Form& form : forms) {
    CAPTURE(form.text);
    const TextNet net(text_of(form));
    const std::vector<reference::Tensor> in = inputs_of(net.packed.raw);
    std::string wrong;
    const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, in, wrong, {guarded()});
    CHECK_MESSAGE(wrong.empty(), wrong);
    if (!wrong.empty()) continue;
    const std::vector<reference::Tensor> wanted = reference::run(net.packed.raw, in);
    for (size_t k = 0; k < out.size(); ++k) CHECK_MESSAGE(off_by(out[k], wanted[k]) < within, "output ", k, " is ", off_by(out[k], wanted[k]), " off");
    seam::MemorySink halves_of;
    seam::Status status;
    CHECK_MESSAGE(compile(*halves.compiler, net.packed.raw, halves_of, status, {seam::option("spirv.precision", "f16")}) == OPTIMA_OK, status.message);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

/// What the plugin makes of one graph, beside what the reference makes of another with the same inputs: for operators that it lacks.
void check_beside(const Form& form, const Form& other) {
  const Validation validation;
  Halves halves;
  CAPTURE(form.text);
  const auto net_of = [](const Form& f) { return TextNet(text_of(f)); };
  const TextNet net = net_of(form), beside = net_of(other);
  std::string wrong;
  const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, inputs_of(net.packed.raw), wrong, {guarded()});
  CHECK_MESSAGE(wrong.empty(), wrong);
  if (!wrong.empty()) return;
  const std::vector<reference::Tensor> wanted = reference::run(beside.packed.raw, inputs_of(beside.packed.raw));
  for (size_t k = 0; k < out.size(); ++k) CHECK_MESSAGE(off_by(out[k], wanted[k]) < 1e-4, "output ", k, " is ", off_by(out[k], wanted[k]), " off");
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

/// Numbers from -3 to 3 that differ from their neighbours.
std::string ramp(int count) {
  std::string all;
  for (int k = 0; k < count; ++k) all += (k ? "," : "") + std::to_string(0.25 * (k * 7 % 25 - 12));
  return all;
}

/// What compile says of a graph that is not taken.
std::string refusal(const Form& form) {
  Halves halves;
  const TextNet net(text_of(form));
  seam::MemorySink sink;
  seam::Status status;
  CHECK(compile(*halves.compiler, net.packed.raw, sink, status) == OPTIMA_UNSUPPORTED);
  return status.message;
}

}  // namespace

TEST_CASE("convolutions over three axes: any group, stride, dilation and pad, weights that are computed, and what is folded in") {
  check({
      {19, "(float[2,3,5,6,7] x, float[4,3,3,3,3] w, float[4] b) => (float[2,4,5,6,7] y) { y = Conv<pads = [1, 1, 1, 1, 1, 1]>(x, w, b) }"},
      {19, "(float[1,4,5,6,7] x, float[6,2,2,3,1] w) => (float[N,C,D,H,W] y) { y = Conv<group = 2, strides = [1, 2, 3], dilations = [2, 1, 1], pads = [1, 0, 2, 0, 2, 1]>(x, w) }"},
      {19, "(float[1,4,5,6,7] x, float[4,1,3,3,3] w) => (float[N,C,D,H,W] y) { y = Conv<group = 4, auto_pad = \"SAME_LOWER\", strides = [2, 2, 2]>(x, w) }"},
      {19, "(float[1,2,3,4,5] x) => (float[N,C,D,H,W] y) { s = Constant<value = int64[5] {8, 2, 2, 2, 2}>() r = Constant<value = float[1] {0.25}>() w = Expand(r, s) e = Constant<value = float[8] {1, 2, 3, 4, 5, 6, 7, 8}>() "
           "c = Conv(x, w, e) n = BatchNormalization(c, e, e, e, e) y = Relu(n) }"},
      {19, "(float[1,2,3,4,5] x, float[1,6,2,3,4] z) => (float[1,6,2,3,4] y) { s = Constant<value = int64[5] {6, 1, 2, 2, 2}>() r = Constant<value = float[6,1,1,1,1] {1, -2, 3, -4, 5, -6}>() w = Expand(r, s) c = Conv<group = 2>(x, w) y = Add(c, z) }"},
  });
}

TEST_CASE("pools and transposed convolutions over three axes") {
  check({
      {22, "(float[1,2,5,6,7] x) => (float[N,C,D,H,W] y) { y = AveragePool<kernel_shape = [2, 3, 2], strides = [2, 1, 2], pads = [1, 1, 0, 0, 1, 1], count_include_pad = 1>(x) }"},
      {22, "(float[1,2,5,6,7] x) => (float[N,C,D,H,W] y) { y = LpPool<kernel_shape = [2, 3, 2], p = 3, dilations = [2, 1, 2]>(x) }"},
      {22, "(float[1,2,5,6,7] x) => (float[N,C,D,H,W] y, int64[N,C,D,H,W] i) { y, i = MaxPool<kernel_shape = [2, 2, 2], ceil_mode = 1, strides = [2, 2, 2]>(x) }"},
      {22, "(float[2,3,5,6,7] x) => (float[2,3,1,1,1] y, float[2,3,1,1,1] z, float[2,3,1,1,1] p) { y = GlobalAveragePool(x) z = GlobalMaxPool(x) p = GlobalLpPool<p = 3>(x) }"},
      {22, "(float[2,4,5,6] x, float[16] b) => (float[N,C,H,W] y) { s = Constant<value = int64[4] {4, 8, 3, 2}>() r = Constant<value = float[4,8,1,1] {" + ramp(32) + "}>() t = Constant<value = float[1,1,3,2] {" + ramp(6) +
               "}>() m = Mul(r, t) w = Expand(m, s) c = ConvTranspose<group = 2, strides = [2, 3], pads = [1, 0, 0, 1], dilations = [2, 1]>(x, w, b) y = Tanh(c) }"},
      {22, "(float[1,4,3,4,5] x, float[4,3,2,3,2] w, float[6] b) => (float[N,C,D,H,W] y) { y = ConvTranspose<group = 2, strides = [2, 1, 3], dilations = [1, 2, 1], pads = [1, 0, 0, 0, 1, 1], output_padding = [1, 0, 2]>(x, w, b) }"},
  });
}

TEST_CASE("samples at computed places, near and far outside of the picture, in every mode and padding") {
  // places from -2 to 2, halves of them multiplied far outside
  const std::string text = "(float[2,3,4,5] x, float[2,3,2,2] g) => (float[2,3,3,2] y) { f = Constant<value = float[2,1] {0.9, 40}>() h = Mul(g, f) y = GridSample<%A>(x, h) }";
  std::vector<Form> forms;
  for (const char* corners : {"align_corners = 0, ", "align_corners = 1, "})
    for (const char* outside : {"padding_mode = \"zeros\"", "padding_mode = \"border\"", "padding_mode = \"reflection\""}) {
      forms.push_back({20, test::replaced(text, "%A", corners + std::string(outside))});
      forms.push_back({20, test::replaced(text, "%A", corners + std::string("mode = \"cubic\", ") + outside)});
    }
  check(forms);
  check({
      {16, "(float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { z = GridSample<mode = \"bicubic\", padding_mode = \"reflection\">(x, g) y = Relu(z) }"},
      {20, "(float[2,3,7] x, float[2,9,1] g) => (float[2,3,9] y) { y = GridSample<mode = \"nearest\", padding_mode = \"border\">(x, g) }"},
      {20, "(float[1,2,3,4,5] x, float[1,2,2,3,3] g) => (float[1,2,2,2,3] y) { y = GridSample<mode = \"cubic\", align_corners = 1>(x, g) }"},
      {20, "(float[1,1,1,1] x, float[1,3,3,2] g) => (float[1,1,3,3] y) { y = GridSample<padding_mode = \"reflection\", align_corners = 1>(x, g) }"},
  });
}

TEST_CASE("regions of interest inside, outside and across the edges of a picture") {
  const std::string rois = "{ r = Constant<value = float[4,4] {0, 0, 9, 7, 2.3, 1.2, 5.5, 12.7, -4, -3, 3, 2, 8, 6, 7.5, 6.1}>() i = Constant<value = int64[4] {0, 1, 1, 0}>() y = RoiAlign<output_height = 3, output_width = 2%A>(x, r, i) }";
  const std::string head = "(float[2,3,8,10] x) => (float[4,3,3,2] y) ";
  std::vector<Form> forms;
  for (const char* how : {"", ", sampling_ratio = 2, spatial_scale = 0.7", ", mode = \"max\"", ", coordinate_transformation_mode = \"output_half_pixel\", sampling_ratio = 3"})
    forms.push_back({16, head + test::replaced(rois, "%A", how)});
  check(forms);
  check({
      {10, "(float[2,3,8,10] x) => (float[2,3,3,2] y) { r = Constant<value = float[2,4] {0, 0, 9, 7, 2.3, 1.2, 2.5, 1.7}>() i = Constant<value = int64[2] {0, 1}>() y = RoiAlign<output_height = 3, output_width = 2>(x, r, i) }"},
      {19, "(float[2,3,8,10] x) => (float[3,3,3,2] y) { r = Constant<value = float[3,5] {0, 1, 2, 5, 7, 1, -9, -9, -3, -2, 1, 3, 3, 3, 30}>() y = MaxRoiPool<pooled_shape = [3, 2], spatial_scale = 0.75>(x, r) }"},
  });
}

TEST_CASE("what a pool took is put back, the last of two to one place, and into a larger picture") {
  check({
      {22, "(float[2,3,8,9] x) => (float[N,C,H,W] y) { p, i = MaxPool<kernel_shape = [2, 3], strides = [2, 3]>(x) y = MaxUnpool<kernel_shape = [2, 3], strides = [2, 3]>(p, i) }"},
      {22, "(float[1,1,2,3] x) => (float[1,1,3,4] y) { i = Constant<value = int64[1,1,2,3] {5, 5, 0, 11, 0, 5}>() u = MaxUnpool<kernel_shape = [2, 2]>(x, i) y = Sigmoid(u) }"},
      {22, "(float[1,2,2,2] x) => (float[1,2,5,6] y) { i = Constant<value = int64[1,2,2,2] {0, 5, 14, 15, 16, 19, 27, 31}>() s = Constant<value = int64[4] {1, 2, 5, 6}>() "
           "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i, s) }"},
      {18, "(float[5,8,3] x) => (float[7,5,3] y) { s = Constant<value = int64[2] {5, 7}>() y = CenterCropPad<axes = [1, 0]>(x, s) }"},
  });
}

TEST_CASE("columns are added up to a picture as a transposed convolution with single weights does it") {
  std::string ones;  // a weight of one for each tap of each channel
  for (int row = 0; row < 12; ++row)
    for (int tap = 0; tap < 6; ++tap) ones += (ones.empty() ? "" : ",") + std::to_string(row % 6 == tap);
  const std::string window = "strides = [2, 1], dilations = [1, 2], pads = [1, 0, 0, 1]";
  check_beside({18, "(float[2,12,25] x) => (float[2,2,9,8] y) { p = Constant<value = int64[2] {9, 8}>() b = Constant<value = int64[2] {2, 3}>() y = Col2Im<" + window + ">(x, p, b) }"},
               {18, "(float[2,12,25] x) => (float[2,2,9,8] y) { s = Constant<value = int64[4] {2, 12, 5, 5}>() w = Constant<value = float[12,1,2,3] {" + ones +
                        "}>() r = Reshape(x, s) y = ConvTranspose<group = 2, " + window + ">(r, w) }"});
}

TEST_CASE("a deformable convolution without offsets is a convolution, and a shift of all taps is one of the input") {
  const std::string deform = "(float[2,4,6,7] x, float[8,2,3,2] w, float[8] b) => (float[2,8,3,7] y) { s = Constant<value = int64[4] {2, 24, 3, 7}>() z = Constant<value = float[1] {%V}>() o = Expand(z, s) "
                             "m = Constant<value = float[1] {0.5}>() t = Constant<value = int64[4] {2, 12, 3, 7}>() k = Expand(m, t) "
                             "d = DeformConv<group = 2, offset_group = 2, strides = [2, 1], dilations = [1, 1], pads = [1, 0, 0, 1]>(x, w, o, b%M) y = Relu(d) }";
  const std::string plain = "(float[2,4,6,7] x, float[8,2,3,2] w, float[8] b) => (float[2,8,3,7] y) { %P c = Conv<group = 2, strides = [2, 1], pads = [%A]>(%X, %W, b) y = Relu(c) }";
  const auto beside = [&](const char* before, const char* pads, const char* x, const char* w) {
    return test::replaced(test::replaced(test::replaced(test::replaced(plain, "%P", before), "%A", pads), "%X", x), "%W", w);
  };
  check_beside({19, test::replaced(test::replaced(deform, "%V", "0"), "%M", "")}, {19, beside("", "1, 0, 0, 1", "x", "w")});
  check_beside({19, test::replaced(test::replaced(deform, "%V", "0"), "%M", ", k")}, {19, beside("h = Constant<value = float {0.5}>() v = Mul(w, h)", "1, 0, 0, 1", "x", "v")});
  // Each tap reads one further down and to the right, as with pads of one less at the begins and one more at the ends.
  const char* shift = "i = Constant<value = int64[8] {0, 0, 0, -1, 0, 0, 1, 2}>() n = Pad(x, i)";
  check_beside({19, test::replaced(test::replaced(deform, "%V", "1"), "%M", "")}, {19, beside(shift, "0, 0, 0, 0", "n", "w")});
}

TEST_CASE("rotary embeddings of both layouts, by positions and without, in front of pointwise nodes") {
  check({
      {23, "(float[2,3,5,8] x, float[9,3] c, float[9,3] s) => (float[2,3,5,8] y) { p = Constant<value = int64[2,5] {0, 8, 3, 3, 1, 7, 2, 5, 4, 6}>() r = RotaryEmbedding<rotary_embedding_dim = 6>(x, c, s, p) y = Mul(r, x) }"},
      {23, "(float[2,5,24] x, float[9,4] c, float[9,4] s, int64[2,5] p) => (float[2,5,24] y) { y = RotaryEmbedding<num_heads = 3, interleaved = 1>(x, c, s, p) }"},
      {23, "(float[2,5,24] x, float[2,5,2] c, float[2,5,2] s) => (float[2,5,24] y) { r = RotaryEmbedding<num_heads = 3, rotary_embedding_dim = 4>(x, c, s) y = Tanh(r) }"},
  });
}

TEST_CASE("caches that are written from a place of each image on, shifts, and matrices of ones") {
  check({
      {24, "(float[2,3,6,4] x, float[2,3,2,4] u) => (float[2,3,6,4] y) { b = Constant<value = int64[2] {4, 1}>() y = TensorScatter(x, u, b) }"},
      {24, "(float[2,6,4] x, float[2,3,4] u) => (float[2,6,4] y) { b = Constant<value = int64[2] {5, 2}>() t = TensorScatter<axis = 1, mode = \"circular\">(x, u, b) y = Neg(t) }"},
      {24, "(int64[2,3,4] x, int64[2,3,1] u) => (int64[2,3,4] y) { y = TensorScatter<axis = -1>(x, u) }"},
      {28, "(int32[3,4] x) => (int32[3,4] y) { b = Constant<value = int32[4] {0, 1, 31, 33}>() l = BitShift<direction = \"LEFT\">(x, b) y = BitShift<direction = \"RIGHT\">(l, b) }"},
      {22, "(float[3,5] x) => (float[3,5] y, bool[3,5] z) { e = EyeLike<k = -1>(x) y = Add(e, x) z = EyeLike<dtype = 9, k = 2>(x) }"},
  });
}

TEST_CASE("Dropout of old models, whose mask nobody reads, is nothing, and a mask that is wanted is true everywhere") {
  check({
      {19, "(float[3,7] x) => (float[3,2] y, int64[3,2] i) { k = Constant<value = int64[1] {2}>() y, i = TopK(x, k) }"},
      {9, "(float[2,4] x) => (float[2,4] y) { r = Relu(x) d, m = Dropout<ratio = 0.5>(r) y = Neg(d) }"},
      {13, "(float[2,4] x) => (float[2,4] d, bool[2,4] m) { d, m = Dropout(x) }"},
  });
  CHECK(refusal({13, "(float[2,4] x) => (float[2,4] d) { r = Constant<value = float {0.5}>() t = Constant<value = bool {1}>() d = Dropout(x, r, t) }"}).find("training_mode is set") != std::string::npos);
}

TEST_CASE("bfloat16 at the border is computed in 32 bits; of 64-bit floats casts to and from floats are taken, and nothing that would round them") {
  check({{21, "(bfloat16[2,3,4] x, bfloat16[4,5] w) => (bfloat16[2,3,5] y) { m = MatMul(x, w) y = Sigmoid(m) }"},
         {21, "(bfloat16[2,3,4] x, bfloat16[4] w) => (float[2,3,4] y) { m = Mul(x, w) s = Sigmoid(m) y = Cast<to = 1>(s) }"}}, 1.0 / 128);
  check({{21, "(bfloat16[2,3,4] x) => (float[2,3,4] y) { y = Cast<to = 1>(x) }"}, {21, "(double[2,3] x, float[2,3] z) => (double[2,3] y) { f = Cast<to = 1>(x) s = Add(f, z) y = Cast<to = 11>(s) }"}});
  CHECK(refusal({21, "(double[3] x) => (double[3] y) { y = Add(x, x) }"}).find("input 0 is f64") != std::string::npos);
  CHECK(refusal({21, "(double[3] x) => (int64[3] y) { y = Cast<to = 7>(x) }"}).find("f64 to i64") != std::string::npos);
  CHECK(refusal({21, "(int64[3] x) => (double[3] y) { y = Cast<to = 11>(x) }"}).find("i64 to f64") != std::string::npos);
}

TEST_CASE("of many updates to one place the last stays, and sums of updates come in their order") {
  std::string places, tuples;
  for (int k = 0; k < 60; ++k) places += (k ? "," : "") + std::to_string(k * 7 % 11 - 5);
  for (int k = 0; k < 24; ++k) tuples += (k ? "," : "") + std::to_string(k * 5 % 4 - (k % 3 ? 0 : 4)) + "," + std::to_string(k * 3 % 5);
  const std::string elements = "{ i = Constant<value = int64[3,20] {" + places + "}>() ", nd = "{ i = Constant<value = int64[24,2] {" + tuples + "}>() ";
  check({
      {18, "(float[4,11] x, float[3,20] u) => (float[4,11] y) " + elements + "s = ScatterElements<axis = 1>(x, i, u) y = Relu(s) }"},
      {18, "(float[4,11] x, float[3,20] u) => (float[4,11] y) " + elements + "y = ScatterElements<axis = 1, reduction = \"add\">(x, i, u) }"},
      {18, "(float[1024,1100] x, int64[1024,1000] i, float[1024,1000] u) => (float[1024,1100] y) { y = ScatterElements<axis = 1>(x, i, u) }"},  // more than each element could look through
      {18, "(int64[4,5,3] x, int64[24,3] u) => (int64[4,5,3] y) " + nd + "y = ScatterND(x, i, u) }"},
      {18, "(float[4,5] x, float[24] u) => (float[4,5] y) " + nd + "s = ScatterND(x, i, u) y = Neg(s) }"},
      {18, "(float[4,5,3] x, float[24,3] u) => (float[4,5,3] y) " + nd + "y = ScatterND<reduction = \"max\">(x, i, u) }"},
  });
}

TEST_CASE("places that are no numbers, or far outside, read nothing outside of a buffer") {
  const char* const forms[] = {
      "(float[1,2,4,5] x) => (float[1,2,2,2] y) { z = Constant<value = float[1,2,2,2] {0, 1e38, -1e38, 0, 0, 0, 3e38, -3e38}>() g = Div(z, z) h = Add(g, z) y = GridSample<mode = \"cubic\", padding_mode = \"reflection\">(x, h) }",
      "(float[1,2,4,5] x) => (float[3,2,2,2] y) { z = Constant<value = float[3,4] {0, 1, 1, 2, -1e38, 0, 3e38, 1e38, 1e30, 1e30, 2, 2}>() g = Div(z, z) r = Mul(g, z) i = Constant<value = int64[3] {0, 7, -3}>() y = RoiAlign<output_height = 2, output_width = 2>(x, r, i) }",
      "(float[1,2,4,5] x) => (float[3,2,2,2] y) { z = Constant<value = float[3,5] {0, 1, 1, 2, 0, 3e38, -1e38, 0, 3e38, 1e38, -1, 1e30, 1e30, 2, 2}>() g = Div(z, z) r = Mul(g, z) y = MaxRoiPool<pooled_shape = [2, 2]>(x, r) }",
      "(float[1,2,4,5] x, float[2,2,1,1] w) => (float[1,2,4,5] y) { z = Constant<value = float[1,2,1,1] {0, 3e38}>() g = Div(z, z) s = Constant<value = int64[4] {1, 2, 4, 5}>() h = Mul(g, z) o = Expand(h, s) y = DeformConv(x, w, o) }",
  };
  Halves halves;
  for (const std::string form : forms) {
    CAPTURE(form);
    const TextNet net("<ir_version: 10, opset_import: [\"\" : 20]> g " + form);
    std::string wrong;
    computed(halves, net.packed.raw, inputs_of(net.packed.raw), wrong, {guarded()});
    CHECK_MESSAGE(wrong.empty(), wrong);
  }
}

TEST_CASE("convolutions of pictures without a column are nothing to compute") {
  for (const char* text : {"(float[1,2,4,0] x, float[3,2,1,1] w) => (float[1,3,4,0] y) { y = Conv(x, w) }", "(uint8[1,2,4,0] x) => (int32[1,3,4,0] y) <int8[3,2,1,1] w = {1,2,3,4,5,6}> { y = ConvInteger(x, w) }"}) {
    CAPTURE(text);
    Halves halves;
    const TextNet net(std::string("<ir_version: 10, opset_import: [\"\" : 17]> g ") + text);
    seam::MemorySink sink;
    seam::Status status;
    CHECK_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status) == OPTIMA_OK, status.message);
  }
}

TEST_CASE("a bias of QLinearConv that is computed is refused") {
  const std::string said = refusal({17, "(uint8[1,1,2,2] x, int32[1] b) => (uint8[1,1,2,2] y) <uint8 z = {0}, float s = {1}, int8[1,1,1,1] w = {1}, int8 o = {0}> { y = QLinearConv(x, s, z, w, s, o, s, z, b) }"});
  CHECK_MESSAGE(said.find("bias that is computed") != std::string::npos, said);
}

TEST_CASE("attributes that no importer lets through are refused with what is wrong, not divided by") {
  const auto said = [](const char* text, const char* name, std::vector<int64_t> numbers) {
    TextNet net("<ir_version: 10, opset_import: [\"\" : 20]> g " + std::string(text));
    for (image::Node& n : net.graph.main().nodes) {
      std::erase_if(n.attrs, [&](const image::Attr& a) { return a.name == name; });
      image::Attr a;
      a.name = name;
      if (name == std::string("group")) a.i = numbers[0];
      else a.type = OPTIMA_ATTR_INTS, a.ints = std::move(numbers);
      n.attrs.push_back(a);
    }
    const PackedGraph packed = pack(net.graph, true);
    Halves halves;
    seam::MemorySink sink;
    seam::Status status;
    CHECK(compile(*halves.compiler, packed.raw, sink, status) == OPTIMA_UNSUPPORTED);
    return status.message;
  };
  const char* const conv = "(float[1,4,4,4,4] x, float[4,2,2,2,2] w) => (float[1,4,3,3,3] y) { y = Conv<group = 2>(x, w) }";
  CHECK(said(conv, "group", {0}).find("in 0 groups") != std::string::npos);
  CHECK(said(conv, "strides", {1, 0, 1}).find("strides has 0, wanted numbers above 0") != std::string::npos);
  CHECK(said(conv, "pads", {1, 1, 1}).find("pads has 3 numbers, wanted 6") != std::string::npos);
  const char* const transposed = "(float[1,4,4] x, float[4,2,2] w) => (float[1,4,5] y) { y = ConvTranspose<group = 2>(x, w) }";
  CHECK(said(transposed, "group", {0}).find("in 0 groups") != std::string::npos);
  CHECK(said(transposed, "strides", {0}).find("strides has 0") != std::string::npos);
  CHECK(said(transposed, "output_padding", {0, 0}).find("output_padding has 2 numbers, wanted 1") != std::string::npos);
  const char* const deform = "(float[1,4,4,4] x, float[4,4,1,1] w, float[1,2,4,4] o) => (float[1,4,4,4] y) { y = DeformConv(x, w, o) }";
  CHECK(said(deform, "group", {3}).find("in 3 groups") != std::string::npos);
  CHECK(said(deform, "dilations", {1}).find("dilations has 1 numbers, wanted 2") != std::string::npos);
  const char* const columns = "(float[1,4,9] x) => (float[1,1,4,4] y) { p = Constant<value = int64[2] {4, 4}>() b = Constant<value = int64[2] {2, 2}>() y = Col2Im(x, p, b) }";
  CHECK(said(columns, "strides", {0, 1}).find("strides has 0") != std::string::npos);
  CHECK(said("(float[1,1,2,2] x, int64[1,1,2,2] i) => (float[1,1,3,3] y) { y = MaxUnpool<kernel_shape = [2, 2]>(x, i) }", "strides", {1}).find("strides has 1 numbers, wanted 2") != std::string::npos);
}

TEST_CASE("constants that no buffer of the GPU reaches as a whole are gathered from and multiplied by in parts") {
  const std::string table = "float[70,40] w = {" + numbers(2800) + "}";
  const std::vector<Form> forms{
      {17, "(int64[2,3] i) => (float[2,3,40] y) <" + table + "> { y = Gather(w, i) }"},
      {17, "(float[5,40] z) => (float[5,40] y) <" + table + ", int64[5] i = {69, -70, -1, 13, 40}> { g = Gather(w, i) a = Add(g, z) y = Relu(a) }"},
      {17, "(float[3,70] x) => (float[3,40] y) <" + table + "> { y = MatMul(x, w) }"},
      {17, "(float[1,70] x, float[40] z) => (float[1,40] y) <" + table + "> { m = MatMul(x, w) a = Mul(m, z) y = Neg(a) }"},
      {17, "(float[2,3,70] x) => (float[2,3,40] y) <" + table + "> { y = MatMul(x, w) }"},
      {17, "(float[3,40] x, float[70] b) => (float[3,70] y) <" + table + "> { g = Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x, w, b) y = Relu(g) }"},
      {17, "(float[70,3] x, float[3,1] b) => (float[3,40] y) <" + table + "> { y = Gemm<transA = 1>(x, w, b) }"},
  };
  const test::TempFolder folder;
  const std::string limits = folder / "limits.json";
  test::put(limits, R"({"buffer_range": 4000, "features": ["subgroupArithmetic"]})");  // 25 rows, 14 columns
  const Validation validation;
  Halves halves;
  for (const Form& form : forms) {
    CAPTURE(form.text.substr(form.text.rfind("{ ")));
    const TextNet net(text_of(form));
    const std::vector<reference::Tensor> in = inputs_of(net.packed.raw), wanted = reference::run(net.packed.raw, in);
    CHECK(seam::refusals(*halves.compiler, net.packed.raw, kGpu, {seam::option("spirv.limits", limits)}).empty());
    for (const char* precision : {"f32", "f16"}) {
      std::string wrong;
      const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, in, wrong, {seam::option("spirv.limits", limits), seam::option("spirv.precision", precision), guarded()});
      CHECK_MESSAGE(wrong.empty(), wrong);
      if (wrong.empty()) CHECK(off_by(out.at(0), wanted.at(0)) < (std::string(precision) == "f32" ? 1e-5 : 1e-2));
    }
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

TEST_CASE("with floats as halves, numbers that halves do not hold lie in 32 bits with what is computed from them") {
  const std::vector<Form> forms{
      // A row that a mask hides throughout, by a tensor, by a number, and by one that the model computes.
      {17, "(float[1,3,4] x) => (float[1,3,4] y) <float[3,1] m = {0, -1000000000, 0}> { a = Add(x, m) y = Softmax(a) }"},
      {17, "(float[1,3,4] x) => (float[1,3,4] y) <bool[3,4] c = {0,0,0,0, 1,1,1,1, 0,1,0,1}, float n = {-1e9}> { b = Neg(x) a = Where(c, n, b) r = Softmax(a) y = Neg(r) }"},
      {17, "(float[1,3,4] x, float[3,4] k) => (float[1,3,4] y) <float big = {-3.4e38}, int64[3] s = {1,3,4}> { f = Clip(k) h = Sign(f) m = Mul(h, big) r = Reshape(m, s) t = Transpose<perm = [0,1,2]>(r) a = Max(x, t) q = Min(a, x) y = Sigmoid(q) }"},
      // The input m is 100000 times what the test fills in.
      {17, "(float[3,4] x, float[3] m) => (float[3,4] y) <int64[2] s = {3,1}, int64[2] e = {3,4}> { r = Reshape(m, s) u = Expand(r, e) b = Add(x, u) a = Add(b, x) y = Softmax(a) }"},
      // Large weights, and small ones behind them.
      {17, "(float[4,8] x) => (float[4,3] y) <float[8,5] w = {" + test::replaced(numbers(40), "0.", "71234.") + "}, float[5,3] v = {" + test::replaced(numbers(15), "0.", "0.0000") + "}> { a = MatMul(x, w) y = MatMul(a, v) }"},
      {17, "(float[1,2,5,5] x) => (float[1,4,3,3] y) <float[4,2,3,3] w = {" + numbers(72) + "}, float[4] s = {1e7, 2, 3, 4}, float[4] o = {0, 1, 2, 3}, float[4] k = {1e-7, 1, 1, 1}, int64[4] d = {1,4,1,1}> "
           "{ c = Conv(x, w) n = BatchNormalization(c, s, o, o, s) f = Reshape(k, d) y = Mul(n, f) }"},
  };
  Halves halves;
  for (const Form& form : forms) {
    CAPTURE(form.text);
    const TextNet net(text_of(form));
    std::vector<reference::Tensor> in = inputs_of(net.packed.raw);
    if (form.text.find("float[3] m)") != std::string::npos)
      for (int k = 0; k < 3; ++k) static_cast<float*>(const_cast<void*>(static_cast<const void*>(in[1].data)))[k] *= 1e5F;
    const std::vector<reference::Tensor> wanted = reference::run(net.packed.raw, in);
    std::string wrong;
    const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, in, wrong, {seam::option("spirv.precision", "f16"), guarded()});
    CHECK_MESSAGE(wrong.empty(), wrong);
    double scale = 0;
    for (const double v : reference::load<double>(wanted.at(0))) scale = std::max(scale, std::fabs(v));
    if (wrong.empty()) CHECK_MESSAGE(off_by(out.at(0), wanted.at(0)) < 2e-3 * scale, off_by(out.at(0), wanted.at(0)), " of ", scale);
  }
  const TextNet net(text_of({17, "(float[2] x) => (float[2] y) { y = Neg(x) }"}));
  void* data = nullptr;
  reference::Tensor x = reference::Tensor::make(OPTIMA_F32, {2}, &data);
  static_cast<float*>(data)[0] = 65504, static_cast<float*>(data)[1] = 1e5;
  std::string wrong;
  computed(halves, net.packed.raw, {x}, wrong, {seam::option("spirv.precision", "f16")});
  CHECK_MESSAGE(wrong == "run: input 'x' has 100000.000000, wanted numbers up to 65504: spirv.precision is f16, and halves have no larger ones", wrong);
}

TEST_CASE("sines of any argument, remainders of any quotient, and NaN where it goes in") {
  const std::string scaled = "(float[300] x) => (float[6,300] y) <float[6,1] s = {1000, 52000, 700000, 1e9, 1e20, 1.7e38}> { m = Mul(x, s) ";
  check({
      {17, scaled + "y = Sin(m) }"},
      {17, scaled + "y = Cos(m) }"},
      {17, "(float[300] x) => (float[300] y, float[300] z) { d = Sub(x, x) n = Div(d, d) y = HardSigmoid(n) z = Sin(n) }"},
      {17, "(float[300] x) => (float[300] y) <float o = {1}> { d = Sub(x, x) i = Div(o, d) y = Cos(i) }"},  // infinite
  }, 2e-6);
  const std::string parts = "(float[300] x, float[300] b) => (float[5,300] y) <float[5,1] s = {1, 1e10, 1e30, 1e-30, 1e38}> { m = Mul(x, s) ";
  check({{17, parts + "y = Mod<fmod = 1>(m, b) }"},
         {17, "(float[300] x) => (float[300] y) <float s = {5e9}, float b = {7}> { m = Mul(x, s) y = Mod<fmod = 1>(m, b) }"},
         {17, "(float[300] x, float[300] b) => (float[300] y) <float s = {1e-38}, float t = {1e30}> { m = Mul(x, s) n = Mul(b, s) r = Mod<fmod = 1>(x, n) y = Mul(r, t) }"}}, 1e-30);
}

TEST_CASE("sums and the like of any number of operands, on GPUs with few buffers some at a time") {
  std::vector<Form> forms;
  for (const char* op : {"Sum", "Max", "Min", "Mean"}) {
    forms.push_back({17, "(float[3,4] a, float[3,4] b, float[4] c, float[3,1] d) => (float[3,4] y) { y = " + std::string(op) + "(a, b, c, d) }"});
    forms.push_back({17, "(float[3,4] a, float[3,4] b, float[4] c, float[3,1] d, float[1,4] e, float[3,4] f, float[3,4] g, float[3,4] h) => (float[3,4] y) <float k = {0.5}> { s = " + std::string(op) +
                             "(a, b, c, d, k, e, f, a, g, h) y = Neg(s) }"});
  }
  forms.push_back({17, "(int64[3,4] a, int64[3,4] b, int64[4] c, int64[3,1] d, int64[3,4] e) => (int64[3,4] y) { y = Max(a, b, c, d, e) }"});
  check(forms, 1e-6);
  const TextNet net(text_of(forms[1]));
  const test::TempFolder folder;
  const std::string limits = folder / "limits.json";
  test::put(limits, R"({"storage_buffers": 16})");
  Halves halves;
  const auto steps = [&](const std::vector<optima_option>& options) {
    seam::MemorySink sink;
    seam::Status status;
    REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, options) == OPTIMA_OK, status.message);
    return Json::parse(sink.files.at("subgraph_0.meta")).at("steps").size();
  };
  CHECK(steps({seam::option("spirv.limits", limits)}) == 1);
  CHECK(steps({}) > 3);
}

TEST_CASE("products of more batches and rows than workgroups along an axis, and sequences whose lengths come in") {
  check({
      {17, "(float[66000,1,4] x, float[66000,4,1] z) => (float[66000,1,1] y) { m = MatMul(x, z) y = Neg(m) }"},
      {17, "(float[70000,2,3] x, float[70000,3,2] z) => (float[70000,2,2] y) { y = MatMul(x, z) }"},
      {17, "(float[300,1,2,3] x, float[300,3,2] z) => (float[300,300,2,2] y) { y = MatMul(x, z) }"},
      {17, "(float[2200000,2] x, float[2,1] z) => (float[2200000,1] y) { y = MatMul(x, z) }"},
  });
  const std::string weights = "<float[2,20,4] w = {" + numbers(160) + "}, float[2,20,5] r = {" + numbers(200) + "}, float[2,40] b = {" + numbers(80) + "}> ";
  check({
      {22, "(float[3,4,4] x, int32[4] n) => (float[S,D,B,H] y, float[D,B,H] h, float[D,B,H] c) " + weights + "{ y, h, c = LSTM<hidden_size = 5, direction = \"bidirectional\">(x, w, r, b, n) }"},
      {22, "(float[3,4,4] x, int32[4] n, float[2,4,5] i, float[2,4,5] j) => (float[S,D,B,H] y, float[D,B,H] h, float[D,B,H] c) " + weights +
               "{ y, h, c = LSTM<hidden_size = 5, direction = \"bidirectional\">(x, w, r, b, n, i, j) }"},
  });
}

TEST_CASE("64-bit integers stop at the ends of 32 bits and stay there: comparisons are right, and an output that is beyond is an error") {
  check({
      // 2^31 - 4 and more, as limits of what is small
      {17, "(int64[300] x) => (int64[300] y) <int64 b = {2147483643}, int64 s = {5}> { a = Add(x, b) m = Mul(a, a) n = Sub(m, x) y = Min(n, x) }"},
      {17, "(int64[300] x) => (bool[300] y) <int64 b = {100000}> { m = Mul(x, b) n = Mul(m, b) k = Neg(n) a = Abs(k) y = Greater(a, m) }"},
      {17, "(int64[300] x, float[300] f) => (int64[300] y) <float b = {1e12}, int64 c = {7}> { g = Mul(f, b) i = Cast<to = 7>(g) d = Div(i, c) h = Max(d, x) y = Min(h, c) }"},
      {17, "(int64[300] x) => (int64[300] y) <int64 b = {65536}, int64 z = {0}> { m = Mul(x, b) n = Mul(m, b) p = Mul(n, z) y = Add(p, x) }"},
      {17, "(int64[40000] x) => (int64[40000] y) <int64 b = {100000}, int64 a = {0}, int64 c = {9}> { m = Mul(x, b) s = CumSum(m, a) y = Min(s, c) }"},
      {17, "(int64[5,3000] x) => (int64[5] y) <int64 b = {1000000}, int64[1] a = {1}, int64 c = {9}> { m = Mul(x, b) s = ReduceSum<keepdims = 0>(m, a) y = Min(s, c) }"},
  });
  Halves halves;
  const auto error = [&](const std::string& node, int64_t from) {
    const TextNet net(text_of({17, "(int64[2] x) => (int64[2] y) <int64 b = {100000}, float f = {3e9}, int64 e = {4}, int64 one = {1}> { " + node + " }"}));
    void* data = nullptr;
    reference::Tensor x = reference::Tensor::make(OPTIMA_I64, {2}, &data);
    static_cast<int64_t*>(data)[0] = 1, static_cast<int64_t*>(data)[1] = from;
    std::string wrong;
    const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, {x}, wrong);
    if (wrong.empty()) CHECK(off_by(out.at(0), reference::run(net.packed.raw, {x}).at(0)) == 0);
    return wrong;
  };
  const std::string beyond = "run: output 'y' has a number that is beyond 32 bits, and kernels have no longer ones";
  CHECK(error("y = Mul(x, b)", 20000).empty());
  CHECK(error("y = Mul(x, b)", 100000) == beyond);
  CHECK(error("y = Mul(x, b)", -100000) == beyond);
  CHECK(error("y = Add(x, one)", 2147483645).empty());
  CHECK(error("y = Add(x, one)", 2147483647) == beyond);
  CHECK(error("m = Mul(x, b) y = Sub(m, b)", 100000) == beyond);
  CHECK(error("g = Cast<to = 1>(x) h = Mul(g, f) y = Cast<to = 7>(h)", 1) == beyond);
  CHECK(error("y = Pow(x, e)", 215).empty());
  CHECK(error("y = Pow(x, e)", 216) == beyond);
  CHECK(error("m = Mul(x, b) y = Mod(m, e)", 100000) == beyond);
}

#endif
