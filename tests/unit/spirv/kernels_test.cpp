// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: the kernels that its generators write, by their sums, so that a change that means to leave them alone does. scripts/spirv_kernels writes
// the file of sums anew.
#include <doctest/doctest.h>

#ifndef SPIRV_PLUGIN

TEST_CASE("kernels of plugins/spirv") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include <filesystem>
#include <set>

#include "plugins/spirv/compiler/glsl.hpp"
#include "tests/unit/spirv/net.hpp"

using namespace optima;
using namespace optima::spirv_test;

namespace {

/// A graph of fixed shapes for a file of plugins/spirv/lower.
struct Form {
  const char* family;
  int opset;
  std::string text;
};

const std::string kCodes = "<uint8 xz = {7}, int8 wz = {0}, float xs = {0.5}, float ws = {0.25}, float ys = {2}, uint8 yz = {3}, ";

/// A file of plugins/spirv/lower needs one at least.
std::vector<Form> forms() {
  return {
      {"attention", 23, "(float[1,2,7,8] q, float[1,2,9,8] k, float[1,2,9,8] v) => (float[1,2,7,8] y) { y = Attention(q, k, v) }"},
      {"conv", 17, "(float[1,4,14,14] x) => (float[1,16,14,14] y) <float[16,4,3,3] w = {" + numbers(576) + "}, float[16] b = {" + numbers(16) + "}> { c = Conv<pads = [1, 1, 1, 1]>(x, w, b) y = Relu(c) }"},
      {"conv", 17, "(float[1,32,56,56] x) => (float[1,32,56,56] y) <float[32,32,3,3] w = {" + numbers(9216) + "}> { y = Conv<pads = [1, 1, 1, 1]>(x, w) }"},
      {"conv", 17, "(float[2,6,9] x, float[6,3,2] w) => (float[2,6,8] y) { y = Conv<group = 2>(x, w) }"},
      {"conv", 21, "(uint8[1,4,6,6] x) => (uint8[1,8,6,6] y) " + kCodes + "int8[8,4,3,3] w = {" + [] {
         std::string all;
         for (int k = 0; k < 288; ++k) all += (k ? "," : "") + std::to_string(k * 37 % 255 - 127);
         return all;
       }() + "}> { a = DequantizeLinear(x, xs, xz) b = DequantizeLinear(w, ws, wz) c = Conv<pads = [1, 1, 1, 1]>(a, b) d = Relu(c) y = QuantizeLinear(d, ys, yz) }"},
      {"conv3d", 17, "(float[1,2,5,6,7] x, float[4,2,3,3,3] w) => (float[1,4,3,4,5] y) { y = Conv(x, w) }"},
      {"conv_transpose", 22, "(float[1,4,5,6] x, float[4,3,3,3] w) => (float[N,C,H,W] y) { y = ConvTranspose<strides = [2, 2]>(x, w) }"},
      {"deform", 22, "(float[1,2,6,6] x, float[4,2,3,3] w, float[1,18,4,4] d) => (float[1,4,4,4] y) { y = DeformConv(x, w, d) }"},
      {"einsum", 17, "(float[3,4,5] x, float[3,5,6] z) => (float[3,4,6] y) { y = Einsum<equation = \"bij,bjk->bik\">(x, z) }"},
      {"fill", 22, "(float[3,5] x) => (float[3,5] y) { y = EyeLike<k = -1>(x) }"},
      {"index", 18, "(float[5,7] x, int64[4] i) => (float[5,4] y) { y = Gather<axis = 1>(x, i) }"},
      {"index", 18, "(float[4,11] x, int64[3,11] i, float[3,11] u) => (float[4,11] y) { y = ScatterElements<axis = 0>(x, i, u) }"},
      {"integer", 17, "(uint8[1,4,6,6] x) => (uint8[1,8,6,6] y) " + kCodes + "int8[8,4,3,3] w = {" + [] {
         std::string all;
         for (int k = 0; k < 288; ++k) all += (k ? "," : "") + std::to_string(k * 37 % 255 - 127);
         return all;
       }() + "}> { y = QLinearConv<pads = [1, 1, 1, 1]>(x, xs, xz, w, ws, wz, ys, yz) }"},
      {"integer", 17, "(uint8[3,6] x) => (int32[3,2] y) <uint8 z = {9}, int8[6,2] w = {1,-2,3,-4,5,-6,7,-8,9,-10,11,-128}> { y = MatMulInteger(x, w, z) }"},
      {"loss", 17, "(float[3,5] x, int64[3] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }"},
      {"move", 17, "(float[2,3,4] x) => (float[4,2,3] y) { y = Transpose<perm = [2, 0, 1]>(x) }"},
      {"move", 17, "(float[3,40,70] x) => (float[70,3,40] y) { y = Transpose<perm = [2, 0, 1]>(x) }"},
      {"move", 17, "(float[2,3] x, float[2,4] z) => (float[2,7] y) { y = Concat<axis = 1>(x, z) }"},
      {"norm", 17, "(float[4,300] x, float[300] s) => (float[4,300] y) { y = LayerNormalization(x, s) }"},
      {"norm", 17, "(float[1,5,3,3] x) => (float[1,5,3,3] y) { y = LRN<size = 3>(x) }"},
      {"pointwise", 17, "(float[2,3,4] x, float[3,1] z) => (float[2,3,4] y) { a = Add(x, z) b = Erf(a) c = Tanh(b) d = Pow(c, a) y = Sin(d) }"},
      {"pool", 22, "(float[1,2,9,9] x) => (float[N,C,H,W] y) { y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x) }"},
      {"pool", 22, "(float[1,2,9,9] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }"},
      {"product", 17, "(float[33,20] x, float[20,70] z, float[70] b) => (float[33,70] y) { y = Gemm<alpha = 0.5>(x, z, b) }"},
      {"product", 17, "(float[2,32,16] x, float[2,16,64] z) => (float[2,32,64] y) { y = MatMul(x, z) }"},
      {"product", 17, "(float[33,300] x, float[300,1] z) => (float[33,1] y) { y = MatMul(x, z) }"},
      {"product", 17, "(float[40,2100] x, float[2100,70] z) => (float[40,70] y) { m = MatMul(x, z) y = Neg(m) }"},
      {"quant", 17, "(float[3,5] x) => (uint8[3,5] y) <float[5] s = {1,2,3,4,5}, uint8[5] z = {1,2,3,4,5}> { y = QuantizeLinear<axis = 1>(x, s, z) }"},
      {"quant", 17, "(float[3,5] x) => (uint8[3,5] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"},
      {"recurrent", 22, "(float[3,2,4] x) => (float[N,D,B,H] y) <float[1,20,4] w = {" + numbers(80) + "}, float[1,20,5] r = {" + numbers(100) + "}> { y = LSTM<hidden_size = 5>(x, w, r) }"},
      {"reduce", 18, "(float[3,300] x, int64[1] unused) => (float[3,1] y) <int64[1] a = {1}> { y = ReduceMean(x, a) }"},
      {"reduce", 18, "(float[3,7] x) => (float[3,2] y, int64[3,2] i) <int64[1] k = {2}> { y, i = TopK(x, k) }"},
      {"resize", 19, "(float[1,2,4,5] x) => (float[N,C,H,W] y) <float[4] s = {1, 1, 2, 1.5}> { y = Resize<mode = \"linear\">(x, , s) }"},
      {"roi", 16, "(float[2,3,8,10] x, float[2,4] r) => (float[2,3,3,2] y) <int64[2] i = {0, 1}> { y = RoiAlign<output_height = 3, output_width = 2>(x, r, i) }"},
      {"rotary", 23, "(float[2,5,24] x, float[2,5,4] c, float[2,5,4] s) => (float[2,5,24] y) { y = RotaryEmbedding<num_heads = 3>(x, c, s) }"},
      {"same", 17, "(float[2,6] x) => (float[3,4] y) <int64[2] s = {3, 4}> { a = Neg(x) y = Reshape(a, s) }"},
      {"sample", 16, "(float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample<mode = \"bicubic\", padding_mode = \"reflection\">(x, g) }"},
      {"softmax", 13, "(float[4,300] x) => (float[4,300] y) { y = Softmax(x) }"},
      {"softmax", 13, "(float[4,30,5] x) => (float[4,30,5] y) { y = LogSoftmax<axis = 1>(x) }"},
      {"unpool", 22, "(float[1,1,2,3] x, int64[1,1,2,3] i) => (float[N,C,H,W] y) { y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i) }"},
  };
}

struct Asked {
  const char* name;
  std::vector<optima_option> options;
};

/// "conv, VULKAN, (float[1] ...) ...: k<sum> k<sum>" of each form, as a file has it.
std::string kernels_now(const std::string& limits, const std::string& phone) {
  const Asked all[] = {{"plain", {}}, {"halves", {seam::option("spirv.precision", "f16")}}, {"features", {seam::option("spirv.limits", limits)}},
                       {"features of halves", {seam::option("spirv.limits", limits), seam::option("spirv.precision", "f16")}},
                       {"registers", {seam::option("spirv.limits", phone)}}};
  Halves halves;
  std::string out;
  for (const Form& form : forms()) {
    CAPTURE(form.text);
    const TextNet net("<ir_version: 10, opset_import: [\"\" : " + std::to_string(form.opset) + "]> g " + form.text);
    for (const Asked& asked : all) {
      seam::MemorySink sink;
      seam::Status status;
      REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, asked.options) == OPTIMA_OK, status.message);
      const std::string operators = form.text.substr(form.text.rfind("{ "));
      out += std::string(form.family) + " " + asked.name + " " + operators + ":";
      for (const auto& [name, bytes] : sink.files)
        if (name.ends_with(".spv")) out += " " + name.substr(0, name.size() - 4);
      out += "\n";
    }
  }
  return out;
}

std::string head() { return "# " + spirv_plugin::tools() + "\n"; }

}  // namespace

TEST_CASE("each file of operators writes the kernels that it wrote before") {
  const test::TempFolder folder;
  test::put(folder / "limits.json", R"({"invocations": 256, "size": [256, 256, 64], "features": ["subgroupArithmetic", "shaderIntegerDotProduct"], "product_tile": [16, 8, 4, 4, 16]})");
  test::put(folder / "phone.json", R"({"register_tile": [8, 2, 6, 4, 4]})");
  const std::string now = kernels_now(folder / "limits.json", folder / "phone.json");
  if (const char* path = std::getenv("OPTIMA_WRITE_SPIRV_KERNELS")) return test::put(path, head() + now);
  const std::string before = test::get(SPIRV_KERNELS);
  if (!before.starts_with(head())) {
    MESSAGE("SKIP: " SPIRV_KERNELS " is of '" << before.substr(0, before.find('\n')) << "', here is '" << spirv_plugin::tools() << "'");
    return;
  }
  std::istringstream is(now), was(before.substr(head().size()));
  std::string one, other;
  while (std::getline(is, one)) {
    std::getline(was, other);
    CHECK_MESSAGE(one == other, "scripts/spirv_kernels writes them anew");
    other.clear();
  }
  CHECK(!std::getline(was, other));
}

TEST_CASE("each file of operators has a form whose kernels are looked at") {
  std::set<std::string> families;
  for (const Form& f : forms()) families.insert(f.family);
  for (const auto& file : std::filesystem::directory_iterator(SPIRV_LOWER))
    if (file.path().extension() == ".cpp") CHECK_MESSAGE(families.count(file.path().stem()) == 1, file.path().stem());
}

#endif
