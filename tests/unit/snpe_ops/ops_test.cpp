// SPDX-License-Identifier: Apache-2.0
// plugins/snpe operator by operator on the wheels' emulator: what check() says yes to is computed as the reference does, in fp16, and what the emulator
// is known to compute otherwise is refused. And what it says yes to compiles in groups of any kind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/support/json.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kApart = 1e-2;  // of an output's scale: what fp16 may be away from f32
constexpr double kApartInCodes = 5e-2;  // and codes: two or three steps of 8 bits, since the scale may be but a third of the range

/// In `text` a name ends in '$', for the case's number: X and Z are inputs of type `input`, Y is the output of type `what`, [case$] names the
/// node. Rounding is asked about numbers away from where it jumps, since fp16 moves its input.
struct Case {
  const char* input;
  const char* text;
  bool taken = true;
  const char* what = "float[]";
};

constexpr Case kCases[] = {
    {"float[2,3,16]", "[case$] Y$ = Abs(X$)"},
    {"float[2,3,16]", "[case$] Y$ = Add(X$, X$)"},
    {"float[2,3,16]", "c$ = Constant<value = float[3,1] {1.5, -2, 3}>() [case$] Y$ = Mul(X$, c$)"},
    {"float[2,5,16]", "[case$] Y$ = ArgMax<axis = 1>(X$)", true, "int64[]"},
    {"float[2,5,16]", "[case$] Y$ = ArgMax<axis = 1, select_last_index = 1>(X$)", false, "int64[]"},
    {"float[2,5,16]", "[case$] Y$ = Atan(X$)"},
    {"float[1,3,16,16]", "[case$] Y$ = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(X$)"},
    {"float[1,3,16,16]", "[case$] Y$ = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(X$)"},
    {"float[1,3,16,16]", "[case$] Y$ = AveragePool<kernel_shape = [3, 3], pads = [0, 0, 1, 1]>(X$)", false},
    {"float[1,3,16,16]", "[case$] Y$ = AveragePool<kernel_shape = [5, 5], pads = [2, 2, 2, 2]>(X$)", false},
    {"float[1,1,16,16]", "[case$] Y$ = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(X$)", false},
    {"float[1,3,16,16]", "[case$] Y$ = AveragePool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(X$)", false},
    {"float[1,3,16,16]", "[case$] Y$ = AveragePool<kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\">(X$)", false},
    {"float[2,16]", "[case$] i$ = Cast<to = 6>(X$) Y$ = Cast<to = 1>(i$)", false},
    {"float[2,16]", "i$ = ArgMax<axis = 1>(X$) [case$] Y$ = Cast<to = 1>(i$)"},
    {"float[2,4]", "c$ = Constant<value = float[4] {2.4, -2.4, 1.6, -1.6}>() e$ = Constant<value = float {0.01}>() s$ = Mul(X$, e$) t$ = Add(s$, c$) [case$] Y$ = Ceil(t$)"},
    {"float[2,3,16]", "lo$ = Constant<value = float {-0.5}>() hi$ = Constant<value = float {0.5}>() [case$] Y$ = Clip(X$, lo$, hi$)"},
    {"float[2,3,4]", "[case$] Y$ = Concat<axis = 1>(X$, X$)"},
    {"float[1,2,6,6]", "w$ = Constant<value = float[2,1,2,2] {1, 2, -1, 0.5, 2, -2, 1, 1}>() [case$] Y$ = Conv<group = 2, auto_pad = \"SAME_UPPER\">(X$, w$)"},
    {"float[1,1,6,6]", "w$ = Constant<value = float[1,2,2,2] {1, 2, -1, 0.5, 2, -2, 1, 1}>() [case$] Y$ = ConvTranspose<strides = [2, 2]>(X$, w$)"},
    {"float[1,1,6,6]", "w$ = Constant<value = float[1,2,2,2] {1, 2, -1, 0.5, 2, -2, 1, 1}>() [case$] Y$ = ConvTranspose<dilations = [2, 2]>(X$, w$)", false},
    {"float[2,16]", "a$ = Constant<value = int64 {1}>() [case$] Y$ = CumSum(X$, a$)"},
    {"float[2,16]", "a$ = Constant<value = int64 {1}>() [case$] Y$ = CumSum<exclusive = 1, reverse = 1>(X$, a$)", false},
    {"float[1,8,4,4]", "[case$] Y$ = DepthToSpace<blocksize = 2>(X$)"},
    {"float[1,8,4,4]", "[case$] Y$ = DepthToSpace<blocksize = 2, mode = \"CRD\">(X$)"},
    {"float[2,16]", "[case$] Y$ = Elu<alpha = 2.0>(X$)"},
    {"float[2,16]", "[case$] Y$ = Exp(X$)"},
    {"float[2,16]", "[case$] Y$ = Erf(X$)", false},
    {"float[3,1]", "s$ = Constant<value = int64[3] {2, 3, 4}>() [case$] Y$ = Expand(X$, s$)"},
    {"float[2,3,4]", "[case$] Y$ = Flatten<axis = 2>(X$)"},
    {"float[4,8]", "i$ = Constant<value = int64[3] {0, -2, 1}>() [case$] Y$ = Gather<axis = 0>(X$, i$)"},
    {"float[4,4]", "a$ = ArgMax<axis = 1, keepdims = 0>(X$) i$ = Cast<to = 6>(a$) [case$] Y$ = Gather<axis = 0>(X$, i$)", false},
    {"float[2,2]", "i$ = Constant<value = int64[1,2] {1, -2}>() [case$] Y$ = GatherElements<axis = 0>(X$, i$)"},
    {"float[2,2]", "i$ = ArgMax<axis = 0>(X$) [case$] Y$ = GatherElements<axis = 0>(X$, i$)", false},
    {"float[2,16]", "[case$] Y$ = Gelu(X$)"},
    {"float[2,2]", "w$ = Constant<value = float[3,2] {1, 2, -1, 0.5, 2, -2}>() [case$] Y$ = Gemm<transB = 1>(X$, w$)"},
    {"float[2,2]", "w$ = Constant<value = float[3,2] {1, 2, -1, 0.5, 2, -2}>() [case$] Y$ = Gemm<transB = 1, alpha = 0.5>(X$, w$)", false},
    {"float[1,3,5,7]", "[case$] Y$ = GlobalAveragePool(X$)"},
    {"float[1,3,5,7]", "[case$] Y$ = GlobalMaxPool(X$)"},
    {"float[2,16]", "g$ = Greater(X$, Z$) [case$] Y$ = Cast<to = 1>(g$)"},
    {"float[1,4,4,4]", "s$ = Constant<value = float[4] {1, 2, -1, 0.5}>() [case$] Y$ = GroupNormalization<num_groups = 2>(X$, s$, s$)", true, "float[1,4,4,4]"},
    {"float[2,16]", "[case$] Y$ = HardSigmoid<alpha = 0.3, beta = 0.4>(X$)"},
    {"float[2,16]", "[case$] Y$ = HardSwish(X$)"},
    {"float[2,3,8]", "s$ = Constant<value = float[3] {1, 2, -1}>() [case$] Y$ = InstanceNormalization(X$, s$, s$)"},
    {"float[1,8,5,5]", "[case$] Y$ = LRN<size = 3, alpha = 0.1, beta = 0.5, bias = 2.0>(X$)"},
    {"float[2,5,4]", "s$ = Constant<value = float[4] {1, 2, -1, 0.5}>() [case$] Y$ = LayerNormalization<axis = -1>(X$, s$)"},
    {"float[2,16]", "[case$] Y$ = LeakyRelu<alpha = 0.3>(X$)"},
    {"float[2,16]", "[case$] Y$ = LogSoftmax<axis = 1>(X$)"},
    {"float[2,16]", "[case$] Y$ = LpNormalization<axis = 1>(X$)"},
    {"float[2,16]", "[case$] Y$ = LpNormalization<axis = 1, p = 1>(X$)", false},
    {"float[2,3,3]", "[case$] Y$ = MatMul(X$, Z$)"},
    {"float[1,3,16,16]", "[case$] Y$ = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1], ceil_mode = 1>(X$)"},
    {"float[1,3,16,16]", "[case$] Y$ = MaxPool<kernel_shape = [3, 3], dilations = [2, 2]>(X$)", false},
    {"float[2,16]", "[case$] Y$ = Mish(X$)", false},
    {"float[2,16]", "[case$] Y$ = Neg(X$)"},
    {"float[1,3,8,8]", "p$ = Constant<value = int64[8] {0, 0, 1, 2, 0, 0, 2, 1}>() [case$] Y$ = Pad(X$, p$)"},
    {"float[1,3,8,8]", "p$ = Constant<value = int64[8] {0, 0, 1, 2, 0, 0, 2, 1}>() [case$] Y$ = Pad<mode = \"reflect\">(X$, p$)"},
    {"float[1,3,8,8]", "p$ = Constant<value = int64[8] {0, 0, 1, 2, 0, 0, 2, 1}>() [case$] Y$ = Pad<mode = \"edge\">(X$, p$)", false},
    {"float[2,16]", "e$ = Constant<value = float {3}>() [case$] Y$ = Pow(X$, e$)"},
    {"float[2,3,4]", "s$ = Constant<value = float[3,1] {0.1, 0.2, 0.3}>() [case$] Y$ = PRelu(X$, s$)"},
    {"float[2,5,16]", "a$ = Constant<value = int64[1] {1}>() [case$] Y$ = ReduceL2(X$, a$)"},
    {"float[2,5,16]", "a$ = Constant<value = int64[1] {1}>() [case$] Y$ = ReduceMax(X$, a$)"},
    {"float[2,5,16]", "a$ = Constant<value = int64[2] {0, 2}>() [case$] Y$ = ReduceMean<keepdims = 0>(X$, a$)"},
    {"float[2,5,16]", "a$ = Constant<value = int64[1] {1}>() [case$] Y$ = ReduceProd(X$, a$)", false},
    {"float[2,5,16]", "a$ = Constant<value = int64[1] {1}>() [case$] Y$ = ReduceSum(X$, a$)"},
    {"float[2,3,4]", "s$ = Constant<value = int64[2] {0, -1}>() [case$] Y$ = Reshape(X$, s$)"},
    {"float[1,3,8,8]", "s$ = Constant<value = float[4] {1, 1, 2, 2}>() [case$] Y$ = Resize<mode = \"linear\">(X$, , s$)"},
    {"float[1,3,8,8]", "s$ = Constant<value = float[4] {1, 1, 2, 2}>() [case$] Y$ = Resize<mode = \"nearest\">(X$, , s$)"},
    {"float[1,3,8,8]", "s$ = Constant<value = float[4] {1, 1, 2, 2}>() [case$] Y$ = Resize<mode = \"nearest\", nearest_mode = \"floor\", coordinate_transformation_mode = \"asymmetric\">(X$, , s$)"},
    {"float[1,3,8,8]", "s$ = Constant<value = float[4] {1, 1, 2, 2}>() [case$] Y$ = Resize<mode = \"nearest\", nearest_mode = \"floor\">(X$, , s$)", false},
    {"float[1,3,8,8]", "s$ = Constant<value = int64[4] {1, 3, 5, 13}>() [case$] Y$ = Resize<mode = \"nearest\">(X$, , , s$)", false},
    {"float[2,4]", "c$ = Constant<value = float[4] {2.4, -2.4, 1.6, -1.6}>() e$ = Constant<value = float {0.01}>() s$ = Mul(X$, e$) t$ = Add(s$, c$) [case$] Y$ = Round(t$)"},
    {"float[2,2]", "i$ = ArgMax<axis = 0>(X$) a$ = Constant<value = int64[1] {0}>() u$ = ReduceMax(X$, a$) [case$] Y$ = ScatterElements<axis = 0>(X$, i$, u$)", false},
    {"float[2,16]", "[case$] Y$ = Selu(X$)"},
    {"float[2,16]", "[case$] Y$ = Sigmoid(X$)"},
    {"float[2,16]", "[case$] Y$ = Sign(X$)"},
    {"float[2,16]", "[case$] Y$ = Sin(X$)"},
    {"float[2,8,16]", "s$ = Constant<value = int64[1] {-2}>() e$ = Constant<value = int64[1] {-9000000000000000000}>() a$ = Constant<value = int64[1] {1}>() t$ = Constant<value = int64[1] {-2}>() [case$] Y$ = Slice(X$, s$, e$, a$, t$)"},
    {"float[2,3,8,8]", "[case$] Y$ = Softmax<axis = 1>(X$)"},
    {"float[2,16]", "[case$] Y$ = Softplus(X$)"},
    {"float[1,2,8,8]", "[case$] Y$ = SpaceToDepth<blocksize = 2>(X$)"},
    {"float[2,16]", "[case$] Y$ = Sum(X$, Z$)"},
    {"float[2,16]", "[case$] Y$ = Tanh(X$)"},
    {"float[2,3,4]", "r$ = Constant<value = int64[3] {2, 1, 3}>() [case$] Y$ = Tile(X$, r$)"},
    {"float[2,16]", "k$ = Constant<value = int64[1] {5}>() [case$] Y$, i$ = TopK(X$, k$)"},
    {"float[2,3,4,5]", "[case$] Y$ = Transpose<perm = [3, 1, 0, 2]>(X$)"},
    {"float[2,16]", "g$ = Greater(X$, Z$) [case$] Y$ = Where(g$, X$, Z$)"},
};


/// One model of all of them that are wanted, beside each other.
std::string model_of_cases(const std::function<bool(const Case&)>& wanted = [](const Case&) { return true; }) {
  std::string inputs, outputs, nodes;
  int k = 0;
  for (const Case& c : kCases) {
    const std::string number = std::to_string(k++), type = c.input;
    if (!wanted(c)) continue;
    inputs += (inputs.empty() ? "" : ", ") + type + " X" + number;
    if (std::string(c.text).find("Z$") != std::string::npos) inputs += ", " + type + " Z" + number;
    outputs += (outputs.empty() ? "" : ", ") + std::string(c.what) + " Y" + number;
    for (const char* at = c.text; *at; ++at) *at == '$' ? nodes += number : nodes += *at;
    nodes += "\n";
  }
  return "<ir_version: 10, opset_import: [\"\" : 21]>\ncases (" + inputs + ") => (" + outputs + ") {\n" + nodes + "}\n";
}

/// Attention and normalization have 16-bit activations on HEXAGON, and so would all beside them.
bool is_wide(const Case& c) {
  const std::string text = c.text;
  for (const char* op : {"LayerNormalization", "Softmax", "MatMul(", "Gelu(", "Softplus("})
    if (text.find(op) != std::string::npos) return true;
  return false;
}

/// A folder with a folder of four samples for each input of the cases in codes.
std::string samples(const TempFolder& f, bool wide) {
  std::mt19937 random(7);
  for (size_t k = 0; k < std::size(kCases); ++k) {
    if (!kCases[k].taken || is_wide(kCases[k]) != wide) continue;
    std::vector<int64_t> dims;
    for (const char* at = std::strchr(kCases[k].input, '['); *at && *at != ']'; at = at + 1 + std::strcspn(at + 1, ",]")) dims.push_back(std::atoll(at + 1));
    for (const char* letter : {"X", "Z"})
      for (int sample = 0; sample < 4 && (*letter == 'X' || std::strstr(kCases[k].text, "Z$")); ++sample) {
        Result<Tensor> t = Tensor::make(OPTIMA_F32, dims);
        REQUIRE(t.ok());
        for (float& x : t->as<float>()) x = static_cast<float>(random() % 30001) / 10000 - 1.5F;
        f.file("data/" + (letter + std::to_string(k)) + "/" + std::to_string(sample) + ".npy", write_npy(*t));
      }
  }
  return f / "data";
}

bool has_wheels() {
  if (fs::exists(OPTIMA_SOURCE_DIR "/.deps/qualcomm/bin/python")) return true;
  MESSAGE("SKIP: the wheels of onnxruntime-qnn are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
  return false;
}

Ran good(const std::vector<std::string>& words) {
  Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r;
}

Json json_at(const std::string& path) {
  Result<Json> document = read_json(path);
  REQUIRE_MESSAGE(document.ok(), document.status().message());
  return std::move(*document);
}

}  // namespace

TEST_CASE("every operator that check() takes is computed on HEXAGON as ONNX says, and what is not is refused") {
  if (!has_wheels()) return;
  const TempFolder f;
  const std::string model = f.file("cases.onnxtxt", model_of_cases());
  good({"compile", model, "-o", f / "out", "--device", "HEXAGON:0,REF:0", "--name", "cases", "--alloc", f.file("a.json", R"({"*": ["HEXAGON:0", "REF:0"]})")});
  std::map<std::string, Json> answers;  // by node
  const Json placed = json_at(f / "out/cases/placement.json");
  for (const Json& n : placed["nodes"]) answers[n["name"]] = n["answers"]["HEXAGON:0"];
  std::map<std::string, double> apart;  // by output
  const Result<Json> compared = parse_json(good({"--json", "compare", model, f / "out/cases", "--atol", "1e9"}).out, "compare --json");
  REQUIRE(compared.ok());
  for (const Json& t : (*compared)["tensors"]) apart[t["name"]] = t["max_abs"].get<double>() / std::max(t["scale"].get<double>(), 1e-6);

  for (size_t k = 0; k < std::size(kCases); ++k) {
    const Case& c = kCases[k];
    const Json& answer = answers.at("case" + std::to_string(k));
    const bool yes = answer["yes"];
    const double found = apart.at("Y" + std::to_string(k));
    const std::string said = yes ? "" : answer.dump();
    std::printf("%-8s %9.1e  %s %s\n", !yes ? "refused" : found <= kApart ? "ok" : "WRONG", found, c.text, said.c_str());
    CHECK_MESSAGE(yes == c.taken, std::string(c.text), " ", said);
    CHECK_MESSAGE(found <= kApart, std::string(c.text));
  }
}

TEST_CASE("in codes every operator that check() takes is computed as the quantized model says, by steps of its output") {
  if (!has_wheels()) return;
  for (const bool wide : {false, true}) {
    const TempFolder f;
    const std::string model = f.file("cases.onnxtxt", model_of_cases([&](const Case& c) { return c.taken && is_wide(c) == wide; }));
    const std::string first = f.file("a.json", R"({"*": ["HEXAGON:0", "REF:0"]})"), data = samples(f, wide), coded = f / "coded.onnx";
    good({"quantize", model, "-o", coded, "--device", "HEXAGON:0,REF:0", "--alloc", first, "--calib", data, "--precision", std::string("HEXAGON:0=") + (wide ? "a16w8" : "int8")});
    good({"compile", coded, "-o", f / "out", "--device", "HEXAGON:0,REF:0", "--name", "coded", "--alloc", first});
    std::map<std::string, Json> answers;  // by node
    const Json placed = json_at(f / "out/coded/placement.json");
    for (const Json& n : placed["nodes"]) answers[n["name"]] = n["answers"]["HEXAGON:0"];
    const Result<Json> compared = parse_json(good({"--json", "compare", coded, f / "out/coded", "--atol", "1e9"}).out, "compare --json");
    REQUIRE(compared.ok());
    for (const Json& t : (*compared)["tensors"]) {
      const size_t k = std::stoul(t["name"].get<std::string>().substr(1));
      const std::string text = kCases[k].text;
      const bool refused = text.find("Softplus") != std::string::npos;
      const Json& answer = answers.at("case" + std::to_string(k));
      const double found = t["max_abs"].get<double>() / std::max(t["scale"].get<double>(), 1e-6);
      CHECK_MESSAGE(answer["yes"] == !refused, text, " ", answer.dump());
      if (refused) CHECK(answer["text"].get<std::string>().find("Softplus of 16-bit codes, which comes out in steps of 8 bits, as ONNX does") != std::string::npos);
      CHECK_MESSAGE(found <= kApartInCodes, text, " ", found);
    }
  }
}

TEST_CASE("what check() takes compiles alone and in groups of any kind, and keeps its answers") {
  if (!has_wheels()) return;
  if (shared_models().empty()) {
    MESSAGE("SKIP: ../shared/models is not here");
    return;
  }
  const TempFolder f;
  const std::string model = shared_models() + "/version-RFB-320.onnx";
  good({"--json", "plan", model, "--device", "llvm_cpu/X64:0", "-o", f / "plan.json"});
  const Json nodes = json_at(f / "plan.json")["nodes"];
  std::mt19937_64 random(5);
  for (int round = 0; round < 3; ++round) {
    Json allocation{{"*", "llvm_cpu/X64:0"}};
    for (int group = 0; group < 3; ++group) {
      const size_t size = group == 0 ? 1 : 2 + random() % 12, first = random() % (nodes.size() - size);
      for (size_t k = first; k < first + size; ++k) allocation[nodes[k]["name"].get<std::string>()] = "HEXAGON:0";
    }
    const std::string package = f / std::to_string(round);
    CAPTURE(allocation.dump());
    good({"compile", model, "-o", package, "--name", "p", "--device", "HEXAGON:0,llvm_cpu/X64:0", "--alloc", f.file("a.json", allocation.dump())});
    size_t on_hexagon = 0;
    const Json placed = json_at(package + "/p/placement.json");
    for (const Json& n : placed["nodes"]) on_hexagon += n["device"] == "HEXAGON:0";
    CHECK(on_hexagon + 1 == allocation.size());  // all that was asked for, "*" aside
    const Result<Json> compared = parse_json(good({"--json", "compare", model, package + "/p", "--atol", "1e9"}).out, "compare --json");
    REQUIRE(compared.ok());
    for (const Json& t : (*compared)["tensors"]) CHECK(t["max_abs"].get<double>() <= kApart * t["scale"].get<double>());
  }
}
