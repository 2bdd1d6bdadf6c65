// SPDX-License-Identifier: Apache-2.0
// The SDK's route as a user takes it, `optima-host compile` and `run`, with programs and a libSNPE.so that stand in for Qualcomm's and say so. Their
// files have the true form (true_form.py): what is compiled here is run on the emulator, and is held against the wheels' own route.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/support/json.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/process.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kOld[] = {"snpe-onnx-to-dlc", "snpe-dlc-quant", "snpe-dlc-graph-prepare", "snpe-dlc-info", "snpe-net-run"};
constexpr const char* kNew[] = {"qairt-converter", "qairt-quantizer", "snpe-dlc-graph-prepare", "snpe-dlc-info", "snpe-net-run"};
constexpr const char* kPython = OPTIMA_SOURCE_DIR "/.deps/qualcomm/bin/python";

bool has_wheels() {
  const bool there = fs::exists(kPython);
  if (!there) MESSAGE("SKIP: the wheels of onnxruntime-qnn are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
  return there;
}

using Numbers = std::vector<float>;

Numbers numbers(size_t count, uint32_t seed, float most) {
  std::mt19937 random(seed);
  Numbers out(count);
  for (float& x : out) x = most * (static_cast<float>(random() % 20001) / 10000 - 1);
  return out;
}

std::string text(const Numbers& all) {
  std::string out;
  for (float x : all) out += (out.empty() ? "" : ",") + std::to_string(x);
  return "{" + out + "}";
}

/// Dims of three sizes, none like another: what lies in another order has other answers.
std::string model_text() {
  return "net (float[1,3,4,6] x) => (float[1,5,4,6] y) <float[5,3,3,3] w = " + text(numbers(135, 1, 0.4F)) + ", float[5] b = " + text(numbers(5, 2, 0.3F)) +
         "> { c = Conv <pads = [1,1,1,1]> (x, w, b) y = Relu (c) }";
}

std::string npy(uint32_t seed) {
  Result<Tensor> out = Tensor::make(OPTIMA_F32, {1, 3, 4, 6});
  REQUIRE(out.ok());
  const Numbers all = numbers(72, seed, 1.5F);
  std::copy(all.begin(), all.end(), out->as<float>().data());
  return write_npy(*out);
}

/// Answers of stand-ins are nobody else's.
std::vector<std::string> own_cache(std::vector<std::string> environment = {}) {
  static const TempFolder cache;
  environment.push_back("XDG_CACHE_HOME=" + cache.path());
  return environment;
}

/// A SDK of stand-ins, a model, data for it, and a package to be.
struct Sdk {
  TempFolder f;
  std::string root = f / "sdk", bin = root + "/bin/x86_64-linux-clang", lib = root + "/lib/x86_64-linux-clang", package = f / "out/net";
  std::string model = f.file("net.onnx", graph_model(model_text(), 17).SerializeAsString()), x = f.file("x.npy", npy(99));

  template <size_t N>
  explicit Sdk(const char* const (&tools)[N]) {
    fs::create_directories(bin);
    fs::create_directories(lib);
    for (const char* tool : tools) {
      fs::copy_file(OPTIMA_SOURCE_DIR "/tests/unit/snpe_sdk/stand_in.py", bin + "/" + tool);
      ::chmod((bin + "/" + tool).c_str(), 0755);
    }
    fs::create_symlink(STAND_IN_SNPE, lib + "/libSNPE.so");
    put(root + "/true_form", std::string(kPython) + "\n" OPTIMA_SOURCE_DIR "/tests/unit/snpe_sdk/true_form.py\n");
  }
  /// "last" or "other": how the converter makes the border.
  void layout(const std::string& how) const { put(root + "/layout", how); }
  void mode(const std::string& tool, const std::string& how) const { put(root + "/mode." + tool, how); }
  std::string samples() const {
    for (uint32_t k = 0; k < 8; ++k) f.file("samples/" + std::to_string(k) + ".npy", npy(k));
    return f / "samples";
  }
  std::vector<std::string> with_route(std::vector<std::string> words, const std::string& route) const {
    words.insert(words.end(), {"--option", "snpe.route=" + route});
    if (route == "sdk") words.insert(words.end(), {"--option", "snpe.root=" + root});
    words.insert(words.begin(), host_program());
    return words;
  }
  Ran compile(std::vector<std::string> more = {}, const std::string& device = "HEXAGON:0", const std::string& route = "sdk") const {
    fs::remove_all(f / "out");
    more.insert(more.begin(), {"compile", model, "-o", f / "out", "--device", device});
    return run(with_route(more, route), own_cache());
  }
  void compiled(const std::vector<std::string>& more = {}, const std::string& device = "HEXAGON:0", const std::string& route = "sdk") const {
    const Ran r = compile(more, device, route);
    REQUIRE_MESSAGE(r.code == 0, r.err);
  }
  /// What the one error line says behind the plugin's name; no package is left.
  std::string refused(int code, const std::vector<std::string>& more = {}, const std::string& device = "HEXAGON:0") const {
    const Ran r = compile(more, device);
    CHECK_MESSAGE(r.code == code, r.err);
    CHECK_FALSE(fs::exists(package));
    const size_t at = r.err.rfind("optima-host: error: ");
    REQUIRE_MESSAGE(at != std::string::npos, r.err);
    return r.err.substr(at, r.err.find('\n', at) - at);
  }
  Ran start(const std::vector<std::string>& more = {}, const std::string& route = "sdk", const std::vector<std::string>& environment = {}) const {
    std::vector<std::string> words{"run", package, "--input", "x=" + x, "-o", f / "answers"};
    words.insert(words.end(), more.begin(), more.end());
    return run(with_route(words, route), own_cache(environment));
  }
  Numbers answers(const std::vector<std::string>& more = {}, const std::string& route = "sdk") const {
    const Ran r = start(more, route);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return stored();
  }
  Numbers stored() const {
    const Result<Tensor> y = load_tensor(f / "answers/y.npy");
    REQUIRE(y.ok());
    return {y->as<float>().begin(), y->as<float>().end()};
  }
  Json meta() const {
    Result<Json> document = read_json(package + "/Subgraph_0/subgraph_0.meta");
    REQUIRE(document.ok());
    return std::move(*document);
  }
  bool has(const std::string& file) const { return fs::exists(package + "/Subgraph_0/" + file); }
  std::string calls() const { return get(root + "/calls"); }
};

/// The largest difference over the largest magnitude of the second.
double apart(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double most = 0, scale = 1e-9;
  for (size_t k = 0; k < a.size(); ++k) {
    most = std::isfinite(a[k]) ? std::max(most, std::fabs(static_cast<double>(a[k]) - b[k])) : HUGE_VAL;
    scale = std::max(scale, std::fabs(static_cast<double>(b[k])));
  }
  return most / scale;
}

/// In f32, by the definition.
Numbers truth() {
  const Numbers x = numbers(72, 99, 1.5F), w = numbers(135, 1, 0.4F), b = numbers(5, 2, 0.3F);
  Numbers y(120);
  for (int k = 0; k < 120; ++k) {
    const int channel = k / 24, row = k / 6 % 4, column = k % 6;
    float sum = b[static_cast<size_t>(channel)];
    for (int t = 0; t < 27; ++t) {
      const int r = row + t / 3 % 3 - 1, c = column + t % 3 - 1;
      if (r >= 0 && r < 4 && c >= 0 && c < 6) sum += w[static_cast<size_t>(channel * 27 + t)] * x[static_cast<size_t>(t / 9 * 24 + r * 6 + c)];
    }
    y[static_cast<size_t>(k)] = std::max(sum, 0.0F);
  }
  return y;
}

}  // namespace

TEST_CASE("of both generations of tools, and of borders that lie channels last, answers are the wheels'") {
  if (!has_wheels()) return;
  const Sdk old(kOld), turned(kOld), fresh(kNew);
  turned.layout("last");
  old.compiled({}, "HEXAGON:0", "wheels");
  const Numbers by_wheels = old.answers({}, "wheels");
  CHECK(apart(by_wheels, truth()) < 2e-3);
  for (const Sdk* sdk : {&old, &turned, &fresh}) {
    CAPTURE(sdk->calls());
    const bool last = sdk == &turned, two = sdk == &fresh;
    sdk->compiled({"--option", two ? "snpe.soc=sm8650,sm8550" : "snpe.soc=sm8550"});
    CHECK(apart(sdk->answers({"--option", "snpe.run_soc=sm8550"}), by_wheels) < 1e-3);
    for (const char* border : {"inputs", "outputs"}) CHECK(sdk->meta()[border][0].value("layout", "") == (last ? "NHWC" : ""));
    CHECK((sdk->has("subgraph_0.dlc") && sdk->has("subgraph_0.sm8550.bin") && sdk->has("subgraph_0.sm8650.bin") == two && !sdk->has("subgraph_0.sm8550.onnx")));
  }
  CHECK(fresh.meta()["tools"] == "QAIRT v2.22.6.240515");
  const Ran other = fresh.start({"--option", "snpe.run_soc=sm8450"});
  CHECK(other.err.find("files were made for sm8650,sm8550, wanted sm8450") != std::string::npos);
}

TEST_CASE("int8 is quantized by both generations of tools from the same encodings, wherever channels lie") {
  if (!has_wheels()) return;
  const Sdk old(kOld), turned(kOld), fresh(kNew);
  turned.layout("last");
  const std::vector<std::string> int8{"--precision", "int8", "--calib", old.samples()};
  old.compiled(int8, "HEXAGON:0", "wheels");
  const Numbers by_wheels = old.answers({}, "wheels");
  CHECK(apart(by_wheels, truth()) < 3e-2);
  for (const Sdk* sdk : {&old, &turned, &fresh}) {
    CAPTURE(sdk->calls());
    sdk->compiled(int8);
    CHECK(apart(sdk->answers(), by_wheels) < 1e-2);  // two steps and a half
    CHECK(sdk->calls().find(" --input_list ") != std::string::npos);
  }
  const Ran shown = host({"inspect", old.package + "/Subgraph_0/subgraph_0.dlc"}), kept = host({"inspect", fresh.package + "/Subgraph_0/subgraph_0.dlc"});
  CHECK(shown.out.find("x     ufixed8  1, 3, 4, 6") != std::string::npos);  // the buffers at the border are floats all the same
  CHECK(kept.out.find("x     float32  1, 3, 4, 6") != std::string::npos);   // --preserve_io_datatype

  fs::copy_file(old.package + "/encodings.json", old.f / "encodings.json");
  old.compiled({"--precision", "int8", "--encodings", old.f / "encodings.json"});
  CHECK(old.calls().find(" --float_fallback --override_params ") != std::string::npos);  // without data
}

TEST_CASE("int8 without data is refused before any tool is called") {
  const Sdk sdk(kOld);
  CHECK(sdk.refused(3, {"--precision", "int8"}).find("int8 wanted on HEXAGON:0 by --precision, no representative data: give --calib (50 to 100 samples), --encodings, or a "
                                                      "quantized model") != std::string::npos);
  CHECK_FALSE(fs::exists(sdk.root + "/calls"));
}

TEST_CASE("ADRENO and SNPE_CPU have the DLC alone and run it") {
  if (!has_wheels()) return;
  const Sdk sdk(kOld);
  for (const std::string kind : {"snpe/ADRENO", "SNPE_CPU"}) {  // the plain name is plugin spirv's, which need not be named
    sdk.compiled({}, kind + ":0");
    CHECK(sdk.has("subgraph_0.dlc"));
    CHECK_FALSE(sdk.has("subgraph_0.sm8550.bin"));
    CHECK(apart(sdk.answers(), truth()) < (kind == "snpe/ADRENO" ? 2e-3 : 1e-5));
  }
  CHECK(sdk.calls().find("graph-prepare") == std::string::npos);
}

TEST_CASE("where no DSP answers a run is refused, or SNPE's CPU stands in and the log says so") {
  if (!has_wheels()) return;
  const Sdk sdk(kNew);
  sdk.compiled();
  const Ran refused = sdk.start({}, "sdk", {"SNPE_STAND_IN_LACKS=dsp"});
  CHECK(refused.code == 5);
  CHECK(refused.err.find("load: SNPE has no HEXAGON on this machine") != std::string::npos);
  const Ran stood_in = sdk.start({"--option", "snpe.fallback=true"}, "sdk", {"SNPE_STAND_IN_LACKS=dsp"});
  CHECK_MESSAGE(stood_in.code == 0, stood_in.err);
  CHECK(stood_in.err.find("warn: snpe: SNPE's CPU runtime stands in for HEXAGON (snpe.fallback): SNPE has no HEXAGON on this machine") != std::string::npos);
  CHECK(apart(sdk.stored(), truth()) < 2e-3);
}

TEST_CASE("an incomplete SDK is told by what it lacks") {
  const Sdk sdk(kOld);
  put(sdk.root + "/version", "\x1b[31m SNPE 2");
  CHECK(sdk.refused(5).find("('" + sdk.bin + "/snpe-net-run --version' says no version, wanted \"SNPE v...\"): wanted a whole SDK") != std::string::npos);
  fs::remove(sdk.bin + "/snpe-dlc-graph-prepare");
  CHECK(sdk.refused(5).find("is here without its tools, which make files for HEXAGON ('" + sdk.bin + "' holds no snpe-dlc-graph-prepare): wanted a whole SDK") != std::string::npos);
  fs::remove(sdk.lib + "/libSNPE.so");
  const std::string none = sdk.refused(5);
  CHECK(none.find("SDK: '" + sdk.bin + "' holds no snpe-dlc-graph-prepare; its runtime alone: '" + sdk.root + "/lib' holds no libSNPE.so") != std::string::npos);
}

TEST_CASE("a tool that fails ends the compile with its name, and leaves no package") {
  if (!has_wheels()) return;
  const Sdk sdk(kOld);
  const auto said = [&](const std::string& tool, const std::string& mode, const std::vector<std::string>& more = {}) {
    sdk.mode(tool, mode);
    const std::string text = sdk.refused(5, more);
    sdk.mode(tool, "");
    return text;
  };
  const auto holds = [](const std::string& all, const std::string& part) { CHECK_MESSAGE(all.find(part) != std::string::npos, all); };
  holds(said("snpe-dlc-graph-prepare", "fail"), "compile: snpe-dlc-graph-prepare failed with exit status 1: stand-in says: the graph is beyond me (command: ");
  holds(said("snpe-onnx-to-dlc", "half"), "snpe-onnx-to-dlc was ended by signal 11");
  holds(said("snpe-onnx-to-dlc", "truncated"), "snpe-dlc-info failed with exit status");
  holds(said("snpe-dlc-graph-prepare", "truncated"), "the tools wrote a DLC 'sm8550.dlc' that cannot be read: ");
  sdk.layout("other");
  holds(sdk.refused(5), "compile: the DLC has no output 'y', which the subgraph has");
}

TEST_CASE("a tool that hangs is ended by its time limit, and by who asked") {
  if (!has_wheels()) return;
  const Sdk sdk(kNew);
  sdk.mode("qairt-converter", "hang");  // of the dry run already, which nobody answered before: its operators are in no other test
  put(sdk.model, graph_model("net (float[1,3,4,6] x) => (float[1,3,4,6] y) { y = Sigmoid (x) }", 17).SerializeAsString());
  CHECK(sdk.refused(4, {"--option", "snpe.time_limit=1"}).find("qairt-converter took longer than its time limit") != std::string::npos);
  sdk.mode("qairt-converter", "");
  sdk.mode("snpe-dlc-graph-prepare", "hang");
  fs::remove(sdk.root + "/sleeper");
  Started asked(sdk.with_route({"compile", sdk.model, "-o", sdk.f / "out", "--device", "HEXAGON:0"}, "sdk"), own_cache());
  REQUIRE(asked.comes_to_file(sdk.root + "/sleeper"));
  asked.signal(SIGINT);
  CHECK(asked.finish().code == 130);
  CHECK_FALSE(fs::exists(sdk.package));
}
