// SPDX-License-Identifier: Apache-2.0
// plugins/spirv where lines, sums, windows and sequences are longer than the loops of one invocation may be: drivers end these (Mesa's after 65535
// iterations of all loops together), and what they leave is wrong. All is beside the reference, on the shortest shapes that are too long.
#ifndef SPIRV_PLUGIN

#include <doctest/doctest.h>
TEST_CASE("plugins/spirv over long lines") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include "plugins/spirv/compiler/measure.hpp"
#include "tests/support/seam_refusals.hpp"
#include "tests/unit/spirv/forms.hpp"

using namespace optima;
using namespace optima::spirv_test;

namespace {

/// The largest difference as a share of the largest number that is wanted.
double share(const reference::Tensor& got, const reference::Tensor& wanted) {
  double scale = 1e-30;
  for (const double v : reference::load<double>(wanted))
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  return off_by(got, wanted) / scale;
}

/// Forms against the reference, as they are and by what a target with subgroups has; Vulkan's validation says nothing.
void check(const std::vector<Form>& forms, double within = 1e-5) {
  const Validation validation;
  const test::TempFolder folder;
  const std::string limits = folder / "limits.json";
  test::put(limits, R"({"features": ["subgroupArithmetic"], "product_tile": [16, 8, 4, 4, 16]})");
  Halves halves;
  for (const Form& form : forms) {
    CAPTURE(form.text);
    const TextNet net(text_of(form));
    const std::vector<reference::Tensor> in = inputs_of(net.packed.raw), wanted = reference::run(net.packed.raw, in);
    for (const std::vector<optima_option>& options : {std::vector<optima_option>{guarded()}, {seam::option("spirv.limits", limits)}}) {
      std::string wrong;
      const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, in, wrong, options);
      CHECK_MESSAGE(wrong.empty(), wrong);
      for (size_t k = 0; k < out.size(); ++k) CHECK_MESSAGE(share(out[k], wanted[k]) < within, "output ", k, " is ", share(out[k], wanted[k]), " off");
    }
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

/// What check() and compile() say of the last node of a graph, which is too long for them.
void refused(const std::vector<Form>& forms) {
  Halves halves;
  for (const Form& form : forms) {
    CAPTURE(form.text);
    const TextNet net(text_of(form));
    const std::map<uint32_t, seam::Said> no = seam::refusals(*halves.compiler, net.packed.raw, kGpu);
    REQUIRE(no.size() == 1);
    CHECK_MESSAGE(no.begin()->second.text.find("wanted at most") != std::string::npos, no.begin()->second.text);
    seam::MemorySink sink;
    seam::Status status;
    CHECK(compile(*halves.compiler, net.packed.raw, sink, status) == OPTIMA_UNSUPPORTED);
    CHECK_MESSAGE(status.message.find(no.begin()->second.text) != std::string::npos, status.message);
  }
}

/// A constant of these dims: a row of `count` numbers, of dims `row`, over and over.
std::string constant(const std::string& name, const std::string& dims, const std::string& row, int64_t count) {
  std::string all;
  for (int64_t k = 0; k < count; ++k) all += (k ? "," : "") + std::to_string(0.01 * static_cast<double>((k * 37) % 41 - 20));
  const auto rank = std::count(dims.begin(), dims.end(), ',') + 1;
  return name + "_dims = Constant<value = int64[" + std::to_string(rank) + "] {" + dims + "}>() " + name + "_row = Constant<value = float[" + row + "] {" + all + "}>() " + name + " = Expand(" + name + "_row, " + name +
         "_dims) ";
}

}  // namespace

TEST_CASE("iterations of a kernel's text are counted over all of its loops, and a loop without an end in numbers is an error") {
  using spirv_plugin::measured;
  const auto of = [](const std::string& body) { return measured("#version 450\nlayout(std430,set=0,binding=0) buffer B0{float b0[];};\n#define L0(i) b0[i]\n" + body).iterations; };
  CHECK(of("void main(){int o=3;}") == 0);
  CHECK(of("void main(){for(int k=0;k<10;++k)x+=1;}") == 10);
  CHECK(of("void main(){for(int k=0;k<10;++k)for(int j=2;j<=8;j+=3){x+=1;}}") == 10 * (1 + 3));
  CHECK(of("void main(){for(int k=int(gl_LocalInvocationID.x);k<300;k+=128)t+=L0(k);for(uint j=32u;j>0u;j>>=1){if(l<j){a=1;}barrier();}}") == 3 + 6);
  CHECK(of("int f(int b){for(int i=0;i<31&&b>0;++i)b>>=1;return b;}\nvoid main(){for(int k=0;k<min(n,5);++k)t+=f(k);if(f(t)>0)t=1;else for(int k=0;k<7;++k)t+=f(1);}") == 5 * (1 + 31) + 31 + 7 * (1 + 31));
  CHECK(of("void main(){for(int i=0;i<2000000000;++i)for(int j=0;j<2000000000;++j)for(int k=0;k<2000000000;++k)t+=1;}") == uint64_t{1} << 62);
  CHECK_THROWS(of("void main(){for(int k=0;k<n;++k)x+=1;}"));
  CHECK_THROWS(of("void main(){while(n>0)--n;}"));
  CHECK(measured("shared float a[16],b[4];shared vec4 c[8];\nvoid main(){}").shared_bytes == 4 * 20 + 16 * 8);
}

TEST_CASE("running sums and products of any length, forward, back and without the element itself") {
  std::vector<Form> forms;
  for (const char* n : {"8192", "8193", "65535", "65536", "1100000"})
    forms.push_back({14, "(float[" + std::string(n) + "] x) => (float[" + n + "] y) { a = Constant<value = int64 {0}>() y = CumSum(x, a) }"});
  forms.push_back({14, "(float[3,65536] x) => (float[3,65536] y) { a = Constant<value = int64 {1}>() y = CumSum<exclusive = 1, reverse = 1>(x, a) }"});
  forms.push_back({14, "(int64[65537,3] x) => (int64[65537,3] y) { a = Constant<value = int64 {0}>() y = CumSum<reverse = 1>(x, a) }"});
  check(forms);
  check({{26, "(float[66000,2] x) => (float[66000,2] y) { s = Constant<value = float {0.00001}>() o = Constant<value = float {1}>() m = Mul(x, s) p = Add(m, o) a = Constant<value = int64 {0}>() y = CumProd<exclusive = 1>(p, a) }"}}, 1e-3);  // of 66000 factors
}

TEST_CASE("reductions over lines of any length, and what is pointwise behind them") {
  const std::string l = "262145";
  std::vector<Form> forms;
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"})
    forms.push_back({18, "(float[2," + l + "] x) => (float[2,1] y) <int64[1] a = {1}> { r = " + op + "(x, a) y = Neg(r) }"});
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean"})
    forms.push_back({18, "(int64[" + l + ",3] x) => (int64[3] y) <int64[1] a = {0}> { y = " + std::string(op) + "<keepdims = 0>(x, a) }"});
  for (const char* op : {"ArgMax", "ArgMin", "ArgMax<select_last_index = 1>"}) forms.push_back({13, "(float[2," + l + "] x) => (int64[2,1] y) { y = " + std::string(op).insert(std::string(op).find('<') == std::string::npos ? std::string(op).size() : std::string(op).size() - 1, std::string(op).find('<') == std::string::npos ? "<axis = 1>" : ", axis = 1") + "(x) }"});
  forms.push_back({18, "(float[8388736] x) => (float y) { r = ReduceSum<keepdims = 0>(x) y = Relu(r) }"});  // one invocation of 128 has 65537
  forms.push_back({22, "(float[1,2,600,600] x) => (float[1,2,1,1] a, float[1,2,1,1] m, float[1,2,1,1] p) { a = GlobalAveragePool(x) m = GlobalMaxPool(x) p = GlobalLpPool<p = 3>(x) }"});
  check(forms);
}

TEST_CASE("lines of any length are normalised") {
  check({
      {13, "(float[2,300001] x) => (float[2,300001] y) { s = Softmax(x) y = Sqrt(s) }"},
      {13, "(float[300001,2] x, float[300001,1] z) => (float[300001,2] y) { s = LogSoftmax<axis = 0>(x) y = Mul(s, z) }"},
      {13, "(float[2,300001] x) => (float[2,300001] y) { y = Hardmax(x) }"},
      {13, "(float[2900000] x) => (float[2900000] y) { y = Softmax(x) }"},
      {17, "(float[2,300001] x, float[300001] s, float[300001] b) => (float[2,300001] y, float[2,1] m, float[2,1] d) { n, m, d = LayerNormalization(x, s, b) y = Relu(n) }"},
      {17, "(float[2,300001] x, float[300001] s) => (float[2,300001] y) { y = LayerNormalization(x, s) }"},
      {23, "(float[2,300001] x, float[300001] s) => (float[2,300001] y) { n = RMSNormalization(x, s) y = Neg(n) }"},
      {22, "(float[1,2,1300,1300] x, float[2] s, float[2] b) => (float[1,2,1300,1300] y) { n = InstanceNormalization(x, s, b) y = Mul(n, x) }"},
      {21, "(float[1,4,300,300] x, float[4] s, float[4] b) => (float[1,4,300,300] y) { y = GroupNormalization<num_groups = 1>(x, s, b) }"},
      {22, "(float[2,300001] x) => (float[2,300001] y) { n = LpNormalization<axis = 1, p = 1>(x) y = Neg(n) }"},
      {13, "(float[2,1,600,600] x) => (float[2,1,600,600] y) { y = MeanVarianceNormalization(x) }"},
  });
}

TEST_CASE("windows of any size are pooled, with what is outside of the input and without") {
  const std::string head = "(float[1,2,310,305] x) => (float[N,C,H,W] y) { ";
  std::vector<Form> forms;
  for (const char* op : {"AveragePool<", "AveragePool<count_include_pad = 1, ", "MaxPool<", "LpPool<p = 2, ", "LpPool<p = 3, "})
    forms.push_back({22, head + "p = " + op + "kernel_shape = [300, 302], strides = [7, 3], pads = [5, 8, 9, 4]>(x) y = Neg(p) }"});
  forms.push_back({22, head + "y = AveragePool<kernel_shape = [90, 75], dilations = [3, 4], pads = [20, 10, 5, 30]>(x) }"});
  forms.push_back({22, "(float[2,1,66000] x) => (float[N,C,W] y) { y = MaxPool<kernel_shape = [50000], strides = [1000]>(x) }"});
  forms.push_back({22, "(float[1,1,50,60,70] x) => (float[N,C,D,H,W] y) { y = AveragePool<kernel_shape = [45, 50, 40], strides = [3, 4, 9], pads = [1, 2, 3, 3, 2, 1]>(x) }"});
  check(forms);
}

TEST_CASE("sums of products of any length: matrices, convolutions, Einsum and Attention") {
  std::vector<Form> forms;
  for (const char* k : {"32768", "32769", "65535", "65536", "100003"})
    forms.push_back({17, "(float[3," + std::string(k) + "] x, float[" + k + ",33] z) => (float[3,33] y) { m = MatMul(x, z) y = Neg(m) }"});
  forms.push_back({17, "(float[40,2,33001] x, float[40,33001,17] z) => (float[40,2,17] y) { y = MatMul(x, z) }"});  // tiles enough, none of which sums so many
  forms.push_back({17, "(float[1,300000] x, float[3,300000] z, float[3] b) => (float[1,3] y) { y = Gemm<transB = 1>(x, z, b) }"});
  forms.push_back({17, "(float[70001] x, float[70001] z) => (float y) { e = Einsum<equation = \"i,i->\">(x, z) y = Abs(e) }"});
  forms.push_back({17, "(float[2,300,301] x, float[2,300,301] z) => (float[2] y) { y = Einsum<equation = \"ijk,ijk->i\">(x, z) }"});
  forms.push_back({17, "(int64[2,66000] x, int64[66000] z) => (int64[2] y) { y = Einsum<equation = \"ij,j->i\">(x, z) }"});
  forms.push_back({23, "(float[1,2,2,4] q, float[1,1,66000,4] k, float[1,1,66000,4] v) => (float[1,2,2,4] y) { a = Attention(q, k, v) y = Neg(a) }"});
  // 17000 channels of three rows of taps, and 26000 of one
  for (const char* tail : {"y = Conv(x, w)", "c = Conv(x, w) y = Relu(c)", "c = Conv(x, w, b) y = Mul(c, z)"})
    forms.push_back({17, "(float[1,17000,3,4] x, float[6] b, float[1,6,1,2] z) => (float[1,6,1,2] y) { " + constant("w", "6, 17000, 3, 3", "6,1,3,1", 18) + tail + " }"});
  forms.push_back({17, "(float[1,26000,5] x, float[3,26000,2] w, float[3] b) => (float[1,3,4] y) { y = Conv(x, w, b) }"});
  check(forms, 2e-5);
}

TEST_CASE("sequences of any length go on from step to step, in both directions, of lengths of their own, from states that are given") {
  const auto weights = [](const std::string& directions, int64_t gates, int64_t hidden) {
    const std::string rows = std::to_string(gates * hidden), h = std::to_string(hidden);
    return constant("w", directions + "," + rows + ",3", rows + ",1", gates * hidden) + constant("r", directions + "," + rows + "," + h, rows + ",1", gates * hidden) +
           constant("b", directions + "," + std::to_string(2 * gates * hidden), std::to_string(2 * gates * hidden), 2 * gates * hidden);
  };
  std::vector<Form> forms;
  for (const char* steps : {"467", "468", "1000"})  // what one kernel takes of 100 hidden, and one more
    forms.push_back({14, "(float[" + std::string(steps) + ",1,3] x) => (float[S,D,B,H] y, float[D,B,H] h, float[D,B,H] c) { " + weights("1", 4, 100) + "y, h, c = LSTM<hidden_size = 100>(x, w, r, b) }"});
  const std::string both = "(float[700,2,3] x, float[2,2,130] i) => (float[S,D,B,H] y, float[D,B,H] h) { l = Constant<value = int32[2] {700, 333}>() ";
  forms.push_back({14, both + weights("2", 4, 130) + "y, h = LSTM<hidden_size = 130, direction = \"bidirectional\">(x, w, r, b, l, i, i) }"});
  forms.push_back({14, both + weights("2", 3, 130) + "y, h = GRU<hidden_size = 130, direction = \"bidirectional\", linear_before_reset = 1>(x, w, r, b, l, i) }"});
  forms.push_back({14, "(float[700,2,3] x) => (float[S,D,B,H] y, float[D,B,H] h) { " + weights("1", 3, 130) + "y, h = GRU<hidden_size = 130, direction = \"reverse\">(x, w, r, b) }"});
  forms.push_back({14, both + weights("2", 1, 130) + "y, h = RNN<hidden_size = 130, direction = \"bidirectional\">(x, w, r, b, l, i) }"});
  check(forms);
}

TEST_CASE("updates of any number are looked through, lines of any length ranked, classes of any number weighed") {
  std::vector<Form> forms;
  for (const char* how : {"add", "mul", "max", "min"}) {
    forms.push_back({18, "(float[8,2] x, int64[66000,1] i, float[66000,2] u) => (float[8,2] y) { o = Constant<value = float {0.00001}>() e = Constant<value = float {1}>() m = Mul(u, o) v = Add(m, e) s = ScatterND<reduction = \"" + std::string(how) + "\">(x, i, v) y = Neg(s) }"});
    forms.push_back({18, "(int64[8,2] x, int64[66000,2] i, int64[66000,2] u) => (int64[8,2] y) { y = ScatterElements<axis = 0, reduction = \"" + std::string(how) + "\">(x, i, u) }"});
  }
  check(forms, 2e-4);  // of 16500 factors
  forms.clear();
  forms.push_back({18, "(float[33000] x) => (float[9] y, int64[9] i) <int64[1] k = {9}> { y, i = TopK(x, k) }"});
  forms.push_back({18, "(float[33000] x) => (float[9] y, int64[9] i) <int64[1] k = {9}> { y, i = TopK<largest = 0>(x, k) }"});
  const std::string loss = "SoftmaxCrossEntropyLoss<";
  for (const char* classes : {"1025", "65536"}) {
    const std::string head = "(float[3," + std::string(classes) + "] x, int64[3] t, float[" + classes + "] w) => (float[N] y) { ";
    forms.push_back({13, head + "y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t, w) }"});
    forms.push_back({13, test::replaced(head, "float[N] y", "float y, float[3," + std::string(classes) + "] l") + "y, l = SoftmaxCrossEntropyLoss(x, t, w) }"});
  }
  forms.push_back({13, "(float[270000,2] x, int64[270000] t, float[2] w) => (float y) { k = Constant<value = int64 {1}>() j = Min(t, k) y = NegativeLogLikelihoodLoss(x, j, w) }"});
  forms.push_back({11, "(float[300001] x) => (uint8[300001] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"});
  check(forms);
}

TEST_CASE("transposed convolutions go through the taps that meet an element alone, and cells of regions no further than their loops reach") {
  check({
      {22, "(float[1,21,3,2] x, float[21,2,64,64] w) => (float[N,C,H,W] y) { y = ConvTranspose<strides = [32, 32]>(x, w) }"},
      {22, "(float[1,2,5,4] x, float[2,3,5,4] w) => (float[N,C,H,W] y) { y = ConvTranspose<strides = [3, 2], pads = [2, 1, 1, 3]>(x, w) }"},
      {22, "(float[1,2,5,4] x, float[2,3,3,4] w) => (float[N,C,H,W] y) { y = ConvTranspose<strides = [1, 5], output_padding = [0, 2]>(x, w) }"},
      {16, "(float[1,2,220,220] x) => (float[2,2,1,1] y) { r = Constant<value = float[2,4] {0, 0, 220, 220, 10, 20, 190, 200}>() i = Constant<value = int64[2] {0, 0}>() y = RoiAlign(x, r, i) }"},
      {22, "(float[1,2,220,220] x) => (float[1,2,1,1] y) { r = Constant<value = float[1,5] {0, 0, 0, 219, 219}>() y = MaxRoiPool<pooled_shape = [1, 1]>(x, r) }"},
  });
  // A region far beyond the picture has more samples than a loop may go through: its elements are no numbers.
  Halves halves;
  const TextNet net(text_of({16, "(float[1,2,9,9] x, float[2,4] r) => (float[2,2,1,1] y) { i = Constant<value = int64[2] {0, 0}>() y = RoiAlign(x, r, i) }"}));
  std::vector<reference::Tensor> in = inputs_of(net.packed.raw);
  const float regions[] = {-1000, -1000, 1000, 1000, 0, 0, 9, 9};
  std::copy_n(regions, 8, static_cast<float*>(const_cast<void*>(static_cast<const void*>(in[1].data))));
  std::string wrong;
  const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, in, wrong);
  REQUIRE_MESSAGE(wrong.empty(), wrong);
  const std::vector<float> got = floats(out.at(0));
  CHECK((std::isnan(got[0]) && std::isnan(got[1]) && std::isfinite(got[2]) && std::isfinite(got[3])));
}

TEST_CASE("what no step is made shorter for is refused with its number, by check() and by compile()") {
  refused({
      {22, "(float[1,1,300,300] x) => (float[1,1,1,1] y, int64[1,1,1,1] i) { y, i = MaxPool<kernel_shape = [300, 300]>(x) }"},
      {17, "(float[1,5000,3,3,3] x, float[1,5000,3,3,3] w) => (float[1,1,1,1,1] y) { y = Conv(x, w) }"},
      {17, "(float[1,1,70000,1] x, float[1,1,70000,1] w) => (float[1,1,1,1] y) { y = Conv(x, w) }"},
      {22, "(float[1,4000,4,4] x, float[4000,1,4,4] w) => (float[N,C,H,W] y) { y = ConvTranspose(x, w) }"},
      {22, "(float[1,7000,3,3] x, float[1,7000,3,3] w, float[1,18,1,1] d) => (float[1,1,1,1] y) { y = DeformConv(x, w, d) }"},
      {10, "(uint8[1,70000] x, uint8[70000,1] z) => (int32[1,1] y) { y = MatMulInteger(x, z) }"},
      {10, "(uint8[1,70000,1] x) => (int32[1,1,1] y) { d = Constant<value = int64[3] {1, 70000, 1}>() o = Constant<value = uint8[1] {3}>() w = Expand(o, d) y = ConvInteger(x, w) }"},
      {14, "(float[1,1,70000] x) => (float[S,D,B,H] y) { " + constant("w", "1,4,70000", "4,1", 4) + constant("r", "1,4,1", "4,1", 4) + "y = LSTM<hidden_size = 1>(x, w, r) }"},
      {19, "(float[1,1,70000] x) => (float[1,1,1] y) { s = Constant<value = int64[3] {1, 1, 1}>() y = Resize<mode = \"linear\", antialias = 1>(x, , , s) }"},
      {13, "(float[1,70000,1] x) => (float[1,70000,1] y) { y = LRN<size = 70000>(x) }"},
      {16, "(float[1,1,300,300] x, float[1,4] r) => (float[1,1,1,1] y) { i = Constant<value = int64[1] {0}>() y = RoiAlign(x, r, i) }"},
      {16, "(float[1,1,300,300] x, float[1,5] r) => (float[1,1,1,1] y) { y = MaxRoiPool<pooled_shape = [1, 1]>(x, r) }"},
      {18, "(float[1,70000,1] x) => (float[1,1,70000] y) { p = Constant<value = int64[1] {70000}>() b = Constant<value = int64[1] {70000}>() y = Col2Im(x, p, b) }"},
  });
}

#endif
