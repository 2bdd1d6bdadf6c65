// SPDX-License-Identifier: Apache-2.0
// From a float model and pictures to codes: quantize, compile --precision, compare --layers, --bound, and what is said when something is missing.
#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

const std::string kPictures = OPTIMA_SOURCE_DIR "/examples/digits/pictures";
const std::string kNoData =
    ", no representative data: give --calib (50 to 100 samples), --encodings, or a quantized model; w8, w4 and dynamic need none\n";

Ran good(const std::vector<std::string>& words) {
  Ran r = host(words);
  CAPTURE(r.out);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r;
}

Json json_of(std::vector<std::string> words) {
  words.push_back("--json");
  const Result<Json> document = parse_json(good(words).out, "stdout");
  REQUIRE(document.ok());
  return *document;
}

Json file_of(const std::string& path) {
  const Result<Json> document = read_json(path);
  INFO(document.status().message());
  REQUIRE(document.ok());
  return *document;
}

void fails(const std::vector<std::string>& words, int code, const std::string& sentence) {
  const Ran r = host(words);
  CAPTURE(r.err);
  CHECK(r.code == code);
  CHECK(r.err.find(sentence) != std::string::npos);
}

/// Of the first product's inputs one is a hundred times as large as the others, so that 8 bits are too few; codes lose nothing of its weights.
constexpr const char* kOutliers = R"(<ir_version: 10, opset_import: ["" : 21]>
net (float[1,4] x) => (float[1,4] y)
<float[4,4] w = {0.01, 0, 0, 0, 0, 1.27, -1.27, 0.5, 0, 0.25, 1, 1.27, 0, 1, -0.75, -1}, float[4,4] v = {1.27, 0, 0, 0, 0, 1.27, 0, 0, 0, 0, 1.27, 0, 0, 0, 0, 1.27}> {
  [loud] a = MatMul(x, w)
  [calm] y = MatMul(a, v)
})";

/// Stacked samples of it.
std::string outliers_in(const TempFolder& f, int samples = 32) {
  std::vector<float> numbers;
  for (int s = 0; s < samples; ++s)
    for (int i = 0; i < 4; ++i) numbers.push_back(static_cast<float>((s * 31 + i * 17) % 41 - 20) / 20 * (i == 0 ? 100 : 1));
  Result<Tensor> stacked = Tensor::make(OPTIMA_F32, {samples, 1, 4});
  REQUIRE(stacked.ok());
  std::copy(numbers.begin(), numbers.end(), stacked->as<float>().begin());
  return f.file("x.npy", write_npy(*stacked));
}

/// A device on paper that takes products in floats and in codes of 8 bits.
constexpr const char* kEightBits = R"({"manifest": 1, "abi": [[0, 1]], "id": "paper", "vendor": "nobody", "version": "1", "build_id": "1", "roles": ["compiler"],
  "devices": [{"kind": "NPU9", "class": "npu"}], "options": [], "operators": [
  {"op": "MatMul", "domain": "", "since_version": [1, 99], "inputs": [[1]], "outputs": [[1]], "rank": [0, 8]},
  {"op": "QuantizeLinear", "domain": "", "since_version": [1, 99], "inputs": [[1], [1], [2, 3]], "outputs": [[2, 3]], "rank": [0, 8]},
  {"op": "DequantizeLinear", "domain": "", "since_version": [1, 99], "inputs": [[2, 3], [1], [2, 3]], "outputs": [[1]], "rank": [0, 8]}]})";

/// The digits model quantized once for all tests.
const std::string& quantized_digits() {
  static const TempFolder folder;
  static const std::string path = [] {
    good({"quantize", digits_model(), "--calib", kPictures, "-o", folder / "q.onnx", "-o", folder / "encodings.json"});
    return folder / "q.onnx";
  }();
  return path;
}
std::string digits_encodings() { return fs::path(quantized_digits()).parent_path().string() + "/encodings.json"; }

size_t best_of(const Json& document) {
  size_t best = 0;
  const Json& top = document["outputs"][0]["top"];
  for (const Json& one : top) best = one["index"].get<size_t>();
  return best;
}

}  // namespace

TEST_CASE("a precision that needs data and has none names device and who asked, and what would do") {
  const TempFolder f;
  const std::string model = f.file("tiny.onnxtxt", kTiny);
  fails({"compile", model, "-o", f / "out", "--device", "REF:0", "--precision", "int8"}, 3, "optima-host: error: int8 wanted on REF:0 by --precision" + kNoData);
  CHECK_FALSE(fs::exists(f / "out"));
  fails({"plan", model, "--device", "REF:0", "--precision", "REF:0=a16w8"}, 3, "error: a16w8 wanted on REF:0 by --precision" + kNoData);
  const std::string allocation = f.file("alloc.json", R"({"op:Relu": {"device": "REF:0", "precision": "int8"}})");
  fails({"plan", model, "--device", "REF:0", "--alloc", allocation}, 3, "error: int8 wanted on REF:0 by 'op:Relu'" + kNoData);
  fails({"quantize", model, "-o", f / "q.onnx"}, 3, "error: int8 wanted by default" + kNoData);
  fails({"quantize", model, "-o", f / "q.onnx", "--precision", "auto"}, 3, "error: auto wanted by --precision" + kNoData);
  CHECK_FALSE(fs::exists(f / "q.onnx"));
}

TEST_CASE("what is wrong with the options of quantization is said before anything is done") {
  const TempFolder f;
  const std::string model = f.file("tiny.onnxtxt", kTiny), out = f / "q.onnx";
  const auto refused = [&](std::vector<std::string> words, const std::string& sentence) {
    words.insert(words.begin(), {"quantize", model, "-o", out});
    fails(words, 2, "error: " + sentence);
  };
  refused({"--precision", "int7"}, "--precision: found precision 'int7', wanted f32, f16");
  refused({"--precision", "int8", "--precision", "f32"}, "--precision is given twice for all nodes");
  refused({"--precision", "REF:0=int8", "--precision", "REF:0=f32"}, "--precision is given twice for REF:0");
  refused({"--precision", "nowhere=int8"}, "--precision: device 'nowhere': wanted KIND:index");
  refused({"--bound", "30"}, "--bound: found '30', wanted snr=DB or cosine=C, as in snr=30 or cosine=0.99");
  refused({"--bound", "cosine=2"}, "--bound: found 'cosine=2', wanted a cosine from -1 to 1");
  refused({"--bound", "snr=30"}, "--bound snr=30 wants --calib: samples to judge on");
  refused({"--calib-memory", "lots"}, "--calib-memory: found 'lots', wanted bytes, as 1048576 or 512MiB");
  refused({"--calib-samples", "4"}, "--calib-samples goes with --calib");
  refused({"--calib-samples", "0", "--calib", f.path()}, "--calib-samples: found '0', wanted an integer from 1");
  refused({"--scheme", "odd"}, "--scheme: found scheme 'odd', wanted shared");
  refused({"--range", "odd"}, "--range: found range 'odd', wanted mse");
  refused({"--format", "odd"}, "--format: found format of encodings 'odd', wanted optima");
  fails({"quantize", model}, 2, "error: 'quantize' wants -o FILE: q.onnx for the model, or encodings.json; repeats");
  fails({"quantize", model, "-o", f / "q.txt"}, 2, "wanted a name that ends in .onnx or .json, or --format for encodings");
  fails({"quantize", model, "-o", out, "--calib", f / "nowhere"}, 3, "nowhere");
  fails({"quantize", model, "-o", out, "--encodings", f / "nowhere.json"}, 3, "nowhere.json");
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("quantize writes a model that answers like the float one, and its encodings") {
  const TempFolder f;
  const Json document = json_of({"quantize", digits_model(), "--calib", kPictures, "-o", f / "q.onnx", "-o", f / "e.json"});
  CHECK(document["samples"] == 10);
  CHECK(document["activations"].get<int>() > 3);
  CHECK(document["nodes"]["int8"].get<int>() > 3);
  const Json encodings = file_of(f / "e.json");
  CHECK(encodings["samples"] == 10);
  CHECK(get(f / "q.onnx") == get(quantized_digits()));
  CHECK(get(f / "e.json") == get(digits_encodings()));
  const Json compared = json_of({"compare", digits_model(), f / "q.onnx", "--image", digit_picture(3), "--atol", "0.05"});
  CHECK(compared["tensors"][0]["snr_db"].get<double>() > 30);
}

TEST_CASE("nodes that quantizing folds away have no precision, and weights alone need no data") {
  const TempFolder f;
  const std::string model = f.file("net.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
net (float[1,1,4,4] x) => (float[1,2,4,4] y)
<float[2,1,1,1] w = {0.5, -0.25}, float[2] one = {1, 1}, float[2] half = {0.5, 0.5}> {
  [conv] c = Conv(x, w)
  [norm] n = BatchNormalization(c, one, half, half, one)
  [exp] y = Exp(n)
})");
  const Json document = json_of({"quantize", model, "--precision", "w8", "-o", f / "q.onnx"});
  CHECK(document["nodes"] == Json({{"f32", 1}, {"w8", 1}}));
  CHECK(document["samples"] == 0);
  CHECK(fs::exists(f / "q.onnx"));
}

TEST_CASE("encodings alone quantize again, and a bad file leaves nothing behind") {
  const TempFolder f;
  good({"quantize", digits_model(), "--encodings", digits_encodings(), "-o", f / "again.json"});
  CHECK(file_of(f / "again.json")["activations"] == file_of(digits_encodings())["activations"]);
  fails({"quantize", digits_model(), "--encodings", f.file("bad.json", "{\"format\": \"odd\"}"), "-o", f / "q.onnx"}, 3, "bad.json");
  CHECK_FALSE(fs::exists(f / "q.onnx"));
}

TEST_CASE("a model that is quantized already needs no data and stays as it is") {
  const TempFolder f;
  const Json plan = json_of({"plan", quantized_digits(), "--device", "REF:0", "--precision", "int8"});
  CHECK(plan["notes"].dump().find("the model is quantized already: it keeps its own encodings") != std::string::npos);
}

TEST_CASE("compile quantizes before it places: the plan says what each node is computed in, and its allocation says it again") {
  const TempFolder f;
  good({"compile", digits_model(), "-o", f / "out", "--device", "REF:0", "--precision", "int8", "--calib", kPictures});
  const Json plan = file_of(f / "out/digits/placement.json");
  size_t codes = 0, floats = 0, products = 0;
  for (const Json& node : plan["nodes"]) {
    if (!node.contains("precision")) continue;
    codes += node["precision"] == "int8" && node["precision_why"] == "int8 by --precision";
    products += node.value("arithmetic", "float") == "int8";
    floats += node["precision"] == "f32" && node["precision_why"] != "";
  }
  CHECK(codes > 3);
  CHECK(floats > 0);
  CHECK(products > 0);  // what estimates and shares of measured times count by
  const Json allocation = file_of(f / "out/digits/alloc.json");
  for (const auto& [name, value] : allocation.items()) CHECK(name.find("/dq") == std::string::npos);
  CHECK(file_of(f / "out/digits/encodings.json")["activations"] == file_of(digits_encodings())["activations"]);
  good({"compile", digits_model(), "-o", f / "again", "--device", "REF:0", "--alloc", f / "out/digits/alloc.json", "--calib", kPictures});
  const Json again = file_of(f / "again/digits/placement.json");
  REQUIRE(again["nodes"].size() == plan["nodes"].size());
  for (size_t n = 0; n < plan["nodes"].size(); ++n) CHECK(again["nodes"][n].value("precision", "") == plan["nodes"][n].value("precision", ""));
  CHECK(good({"explain", f / "out/digits", plan["nodes"][1]["name"]}).out.find("runs on REF:0") != std::string::npos);
  for (const int digit : {1, 3, 7})
    CHECK(best_of(json_of({"run", f / "out/digits", "--image", digit_picture(digit), "--top", "1"})) == static_cast<size_t>(digit));
}

TEST_CASE("an allocation says precisions by name, glob and operator, over --precision") {
  const TempFolder f;
  const std::string allocation = f.file("alloc.json", R"({"op:Conv": {"precision": "f32"}})");
  const Json plan = json_of({"plan", digits_model(), "--device", "REF:0", "--precision", "int8", "--alloc", allocation, "--calib", kPictures});
  size_t convolutions = 0, products = 0;
  for (const Json& node : plan["nodes"]) {
    if (node["op"] == "Conv") convolutions += node["precision"] == "f32" && node["precision_why"].get<std::string>().find("'op:Conv'") != std::string::npos;
    if (node["op"] == "Gemm" || node["op"] == "MatMul") products += node["precision"] == "int8";
  }
  CHECK(convolutions > 0);
  CHECK(products > 0);
}

TEST_CASE("a precision of a device is that of the nodes that are there in float, and they stay there") {
  const TempFolder f;
  const Json plan = json_of({"plan", digits_model(), "--device", "REF:0", "--precision", "REF:0=int8", "--precision", "NULL:0=f32", "--calib", kPictures});
  CHECK(plan["notes"].dump().find("no node is on NULL:0, so --precision NULL:0=f32 has no effect") != std::string::npos);
  for (const Json& node : plan["nodes"]) CHECK(node["device"] == "REF:0");
}

TEST_CASE("layers tell each one's own error beside what has gathered, and view colours them") {
  const TempFolder f;
  const Json layers = json_of({"compare", digits_model(), quantized_digits(), "--layers", "--calib", kPictures});
  REQUIRE(layers["layers"].size() > 3);
  for (const Json& layer : layers["layers"]) {
    CAPTURE(layer.dump());
    CHECK(layer["own"]["cosine"].get<double>() > 0.9);
    CHECK(layer["accumulated"]["cosine"].get<double>() > 0.9);
    CHECK(layer["saturated"].get<double>() < 0.1);
  }
  const Json& last = layers["layers"].back();
  CHECK(last["accumulated"]["snr_db"].get<double>() > 25);
  const std::string text = good({"compare", digits_model(), quantized_digits(), "--layers", "--image", digit_picture(2)}).out;
  CHECK(text.find("own snr (dB)") != std::string::npos);
  const std::string file = f.file("layers.json", to_text(layers));
  good({"plan", quantized_digits(), "--device", "REF:0", "-o", f / "plan.json"});
  good({"view", f / "plan.json", "--layers", file, "-o", f / "plan.dot"});
  CHECK(get(f / "plan.dot").find(" dB") != std::string::npos);
  good({"view", f / "plan.json", "--layers", file, "-o", f / "plan.html"});
  fails({"view", f / "plan.json", "--layers", f.file("odd.json", "{\"format\": \"odd\"}"), "-o", f / "x.dot"}, 3, "odd.json: format: found 'odd', wanted optima.layers/1");
  fails({"view", f / "plan.json", "--layers", file, "-o", f / "x.json"}, 2, "--layers colours a page or a drawing");
  fails({"compare", digits_model(), digits_model(), "--layers"}, 3, "has no quantized value");
  fails({"compare", digits_model(), quantized_digits(), "--calib", kPictures}, 2, "--calib goes with --layers");
}

TEST_CASE("layers of a package are what crosses its subgraphs and its answers") {
  const TempFolder f;
  good({"compile", digits_model(), "-o", f / "out", "--device", "REF:0", "--precision", "int8", "--calib", kPictures});
  const Json layers = json_of({"compare", digits_model(), f / "out/digits", "--layers", "--calib", kPictures});
  REQUIRE(layers["layers"].size() == 1);
  CHECK_FALSE(layers["layers"][0].contains("own"));
  CHECK(layers["layers"][0]["accumulated"]["snr_db"].get<double>() > 25);
  CHECK(layers["note"].get<std::string>().find("of a package only what crosses its subgraphs and its answers can be seen") == 0);
  const std::string text = good({"compare", digits_model(), f / "out/digits", "--layers", "--image", digit_picture(2)}).out;
  CHECK(text.find("note: of a package only what crosses its subgraphs") != std::string::npos);
  CHECK(good({"compare", digits_model(), quantized_digits(), "--layers", "--image", digit_picture(2)}).out.find("note: of a package") == std::string::npos);
}

TEST_CASE("a bound that int8 keeps costs nothing, and a stricter one leaves units in float and says what each costs") {
  const TempFolder f;
  const Json easy = json_of({"quantize", digits_model(), "--calib", kPictures, "-o", f / "q.onnx", "--bound", "snr=10"});
  CHECK(easy["notes"].dump().find("--bound snr=10 is kept: ") != std::string::npos);
  CHECK(easy["notes"].dump().find("with every unit quantized") != std::string::npos);
  const Json strict = json_of({"quantize", digits_model(), "--calib", kPictures, "-o", f / "strict.onnx", "-o", f / "strict.json", "--bound", "snr=85"});
  CHECK(strict["notes"].dump().find("stays float for --bound snr=85: ") != std::string::npos);
  CHECK(strict["nodes"].value("int8", 0) < easy["nodes"].value("int8", 0));
  const Json compared = json_of({"compare", digits_model(), f / "strict.onnx", "--image", digit_picture(5), "--atol", "1"});
  const Json& snr = compared["tensors"][0]["snr_db"];
  CHECK((snr.is_null() || snr.get<double>() > 60));  // null: nothing differs
}

TEST_CASE("a bound takes 16-bit activations first where the device does, and floats where it does not") {
  const TempFolder f;
  const std::string model = f.file("net.onnxtxt", kOutliers), data = outliers_in(f);
  const std::vector<std::string> words = {"quantize", model, "--calib", data, "-o", f / "q.onnx", "--bound", "snr=30"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return json_of(all);
  };
  const Json wide = with({"--device", "REF:0"});
  CHECK(wide["nodes"].value("a16w8", 0) == 1);
  CHECK(wide["nodes"].value("int8", 0) == 1);
  CHECK(wide["notes"].dump().find("node 'loud' has 16-bit activations for --bound snr=30: ") != std::string::npos);
  CHECK(wide["notes"].dump().find("stays float") == std::string::npos);
  const Json narrow = with({"--support", f.file("note.json", kEightBits), "--device", "NPU9:0"});
  CHECK(narrow["nodes"].value("f32", 0) == 1);
  CHECK(narrow["nodes"].value("int8", 0) == 1);
  CHECK(narrow["notes"].dump().find("node 'loud' stays float for --bound snr=30: ") != std::string::npos);
}

TEST_CASE("without a terminal a count of samples is about ten lines") {
  const TempFolder f;
  const std::string model = f.file("net.onnxtxt", kOutliers);
  const std::string err = good({"quantize", model, "--calib", outliers_in(f, 70), "-o", f / "q.onnx", "--device", "REF:0"}).err;
  size_t lines = 0;
  for (size_t at = err.find("sample "); at != std::string::npos; at = err.find("sample ", at + 1)) ++lines;
  CHECK(lines == 11);
  CHECK(err.find("sample 1 of 70\n") != std::string::npos);
  CHECK(err.find("sample 70 of 70\n") != std::string::npos);
}

TEST_CASE("an interrupted quantize ends with 130 and leaves no file") {
  const TempFolder f;
  Started quantizing({host_program(), "quantize", digits_model(), "--calib", kPictures, "-o", f / "q.onnx", "--bound", "snr=500"});
  REQUIRE(quantizing.says("unit 1 of"));
  quantizing.signal(SIGINT);
  const Ran r = quantizing.finish();
  CHECK(r.code == 130);
  CHECK_FALSE(fs::exists(f / "q.onnx"));
}

TEST_CASE("the commands of the tutorial run as the page has them, one after the other") {
  const TempFolder f;
  const std::string page = get(OPTIMA_SOURCE_DIR "/docs/quantization.md"), program = "    optima-host ";
  const size_t begin = page.find("## From a folder"), end = page.find("\n## ", begin);
  REQUIRE(end != std::string::npos);
  fs::create_directory_symlink(OPTIMA_SOURCE_DIR "/examples", f / "examples");
  size_t commands = 0;
  for (size_t at = page.find(program, begin); at < end; at = page.find(program, at + 1), ++commands) {
    const size_t words = at + program.size();
    const std::string command = page.substr(words, page.find('\n', words) - words);
    CAPTURE(command);
    const Ran r = run({"/bin/sh", "-c", "cd '" + f.path() + "' && '" + host_program() + "' --plugins '" OPTIMA_BINARY_DIR "/lib/optima/plugins' " + command});
    CAPTURE(r.out);
    CAPTURE(r.err);
    CHECK(r.code == 0);
  }
  CHECK(commands == 10);
  CHECK(get(f / "layers.html").find("</html>") != std::string::npos);
}
