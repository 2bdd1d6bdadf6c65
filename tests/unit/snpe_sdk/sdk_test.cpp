// SPDX-License-Identifier: Apache-2.0
// The route over a SDK, with programs that stand in for Qualcomm's (stand_in.py): what is missing is named, what is called is as
// documented, and every way to fail is told.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "borders.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"
#include "toolchain/sdk.hpp"

using namespace optima;
using namespace snpe_plugin;
using namespace std::chrono_literals;
using test::TempFolder;

namespace {

constexpr const char* kOld[] = {"snpe-onnx-to-dlc", "snpe-dlc-quant", "snpe-dlc-graph-prepare", "snpe-dlc-info", "snpe-net-run"};
constexpr const char* kNew[] = {"qairt-converter", "qairt-quantizer", "snpe-dlc-graph-prepare", "snpe-dlc-info", "snpe-net-run"};

/// A SDK of stand-ins, a model and a folder to work in.
struct Sdk {
  TempFolder folder;
  std::string root = folder / "sdk", bin = root + "/bin/x86_64-linux-clang", model = folder / "model", work = folder / "work";

  template <size_t N>
  explicit Sdk(const char* const (&tools)[N]) {
    for (const std::string& f : {bin, root + "/lib/x86_64-linux-clang", model, work}) std::filesystem::create_directories(f);
    for (const char* tool : tools) add(tool);
    write_model("net (float[1,4,3,2] x) => (float[1,4,3,2] y) { r = Relu (x) y = Tanh (r) }");
  }
  void add(const std::string& tool) const {
    test::put(bin + "/" + tool, test::get(std::string(OPTIMA_SOURCE_DIR) + "/tests/unit/snpe_sdk/stand_in.py"));
    ::chmod((bin + "/" + tool).c_str(), 0755);
  }
  /// Names may hold "_slash_" and "_blank_", which the text form has no other way to say.
  void write_model(std::string_view graph) const {
    onnx::ModelProto proto = test::graph_model(graph, 21);
    for (auto* ports : {proto.mutable_graph()->mutable_input(), proto.mutable_graph()->mutable_output()})
      for (onnx::ValueInfoProto& port : *ports) rename(*port.mutable_name());
    for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node())
      for (auto* names : {node.mutable_input(), node.mutable_output()})
        for (std::string& name : *names) rename(name);
    test::put(model + "/model.onnx", proto.SerializeAsString());
  }
  static void rename(std::string& name) {
    for (const auto& [word, is] : {std::pair<std::string, std::string>{"_slash_", "/"}, {"_blank_", " "}})
      if (const size_t at = name.find(word); at != std::string::npos) name.replace(at, word.size(), is);
  }
  void mode(const std::string& tool, const std::string& text) const { test::put(root + "/mode." + tool, text); }

  std::unique_ptr<Toolchain> find(std::string& why) const {
    Wanted wanted;
    wanted.sdk_root = root;
    return find_sdk(wanted, why);
  }
  std::unique_ptr<Toolchain> tools() const {
    std::string why;
    std::unique_ptr<Toolchain> found = find(why);
    REQUIRE_MESSAGE(found != nullptr, why);
    return found;
  }
  Bounds bounds() const {
    Bounds b;
    b.work = work, b.log = folder / "log", b.time_limit = 60s;
    return b;
  }
  Built build(const Target& target) const { return tools()->build(model, target, bounds(), sdk::Progress(nullptr)); }
  std::string error(const Target& target, int32_t code, const Bounds& b) const {
    try {
      tools()->build(model, target, b, sdk::Progress(nullptr));
    } catch (const sdk::Error& e) {
      CHECK_MESSAGE(e.code == code, e.text);
      return e.text;
    }
    FAIL("nothing was thrown");
    return "";
  }
  std::string error(const Target& target, int32_t code) const { return error(target, code, bounds()); }
  /// Calls since the SDK was made, with "W" for the folder of work and "M" for that of the model.
  std::vector<std::string> calls() const {
    std::vector<std::string> out;
    std::istringstream lines(test::get(root + "/calls"));
    for (std::string line; std::getline(lines, line);) {
      for (const auto& [path, letter] : {std::pair{work, "W"}, {model, "M"}})
        for (size_t at; (at = line.find(path)) != std::string::npos;) line.replace(at, path.size(), letter);
      out.push_back(line);
    }
    return out;
  }
};

Target hexagon(const std::string& socs = "sm8550") {
  Target t;
  t.kind = "HEXAGON", t.socs = parse_socs(socs);
  return t;
}

/// Codes of the model above, and two samples of its one input.
Quantized codes_and_data(const Sdk& of) {
  Quantized q;
  q.codes = {{"r", false, OPTIMA_U8, -1, 0, {0.5f}, {0}}, {"x", false, OPTIMA_U8, -1, 0, {0.25f}, {128}}};
  q.in_graph = true;
  q.samples = 2;
  q.read = [](uint32_t, uint32_t) { return std::string(24 * 4, '\0'); };
  q.write_float = [&of](const std::string& folder) { test::put(folder + "/model.onnx", test::get(of.model + "/model.onnx")); };
  return q;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("what is missing of a SDK is named") {
  std::string why;
  CHECK(find_sdk(Wanted(), why) == nullptr);
  CHECK(why == "no SDK is named: SNPE_ROOT, QAIRT_SDK_ROOT and snpe.root are empty");
  Sdk sdk(kOld);
  const auto missing = [&] {
    CHECK(sdk.find(why) == nullptr);
    return why;
  };
  test::put(sdk.root + "/version", "no such thing");
  CHECK(missing() == "'" + sdk.bin + "/snpe-net-run --version' says no version, wanted \"SNPE v...\"");
  ::chmod((sdk.bin + "/snpe-dlc-info").c_str(), 0644);
  CHECK(missing() == "'" + sdk.bin + "/snpe-dlc-info' cannot be executed");
  std::filesystem::remove(sdk.bin + "/snpe-onnx-to-dlc");
  sdk.add("snpe-dlc-info");
  CHECK(missing() == "'" + sdk.bin + "' holds no snpe-onnx-to-dlc");
  std::filesystem::remove_all(sdk.root + "/lib");
  CHECK(missing() == "there is no folder '" + sdk.root + "/lib/x86_64-linux-clang'");
  std::filesystem::remove_all(sdk.root + "/bin");
  CHECK(missing() == "there is no folder '" + sdk.bin + "'");
  std::filesystem::remove_all(sdk.root);
  CHECK(missing() == "there is no folder '" + sdk.root + "'");
}

TEST_CASE("a SDK says which it is") {
  Sdk sdk(kOld);
  CHECK(sdk.tools()->facts().route == "sdk");
  CHECK(sdk.tools()->facts().version == "SNPE v2.22.6.240515");
  CHECK(sdk.tools()->facts().root == sdk.root);
  CHECK(sdk.tools()->cannot_compile(hexagon()) == "");
  CHECK(sdk.tools()->cannot_run("SNPE_CPU").find("libSNPE.so") != std::string::npos);  // of this SDK there is none
  for (const char* tool : kNew) sdk.add(tool);
  CHECK(sdk.tools()->facts().version == "QAIRT v2.22.6.240515");
}

TEST_CASE("a float model is converted and prepared for each chip, with the flags of SNPE") {
  const Sdk sdk(kOld);
  const Built built = sdk.build(hexagon("sm8550,sm8650"));
  CHECK(sdk.calls() == Lines{"snpe-onnx-to-dlc --input_network M/model.onnx --output_path W/float.dlc --out_node y --float_bitwidth 16 --preserve_io layout",
                             "snpe-dlc-info -i W/float.dlc", "snpe-dlc-graph-prepare --input_dlc W/float.dlc --output_dlc W/sm8550.dlc --htp_socs sm8550 --set_output_tensors y",
                             "snpe-dlc-graph-prepare --input_dlc W/float.dlc --output_dlc W/sm8650.dlc --htp_socs sm8650 --set_output_tensors y"});
  CHECK(built.dlcs == Lines{sdk.work + "/float.dlc"});
  REQUIRE(built.contexts.size() == 2);
  CHECK(built.contexts[1].soc->name == "sm8650");
  CHECK(built.contexts[1].file == sdk.work + "/sm8650.dlc");
  CHECK(built.contexts[1].wrapper == "");
  CHECK(built.borders.empty());
  CHECK(test::get(sdk.folder / "log").find("$ " + sdk.bin + "/snpe-onnx-to-dlc --input_network") != std::string::npos);
}

TEST_CASE("the CPU of SNPE gets a DLC of 32-bit floats and nothing is prepared") {
  const Sdk sdk(kOld);
  Target cpu;
  cpu.kind = "SNPE_CPU", cpu.precision = "fp32";
  CHECK(sdk.build(cpu).contexts.empty());
  CHECK(sdk.calls() == Lines{"snpe-onnx-to-dlc --input_network M/model.onnx --output_path W/float.dlc --out_node y --preserve_io layout", "snpe-dlc-info -i W/float.dlc"});
}

TEST_CASE("a model of codes goes as floats with overrides and data to be quantized") {
  const Sdk sdk(kOld);
  const Quantized q = codes_and_data(sdk);
  Target target = hexagon();
  target.quantized = &q;
  const Built built = sdk.build(target);
  CHECK(sdk.calls() == Lines{"snpe-onnx-to-dlc --input_network W/float/model.onnx --output_path W/float.dlc --out_node y --quantization_overrides W/overrides.json "
                             "--float_bitwidth 16 --preserve_io layout",
                             "snpe-dlc-info -i W/float.dlc",
                             "snpe-dlc-quant --input_dlc W/float.dlc --output_dlc W/quantized.dlc --input_list W/input_list.txt --override_params --act_bitwidth 8 "
                             "--weights_bitwidth 8 --bias_bitwidth 32",
                             "snpe-dlc-graph-prepare --input_dlc W/quantized.dlc --output_dlc W/sm8550.dlc --htp_socs sm8550 --set_output_tensors y"});
  const nlohmann::json dlc = nlohmann::json::parse(test::get(built.dlcs.at(0)));
  CHECK(dlc["samples"] == nlohmann::json::parse("[[96],[96]]"));
  CHECK(dlc["from"]["overrides"]["activation_encodings"]["x"][0]["offset"] == -128);
}

TEST_CASE("without data what has no encoding stays float") {
  const Sdk sdk(kOld);
  Quantized q = codes_and_data(sdk);
  q.read = [](uint32_t, uint32_t) -> std::string { throw sdk::Error(OPTIMA_NOT_FOUND, "cannot be computed"); };
  Target target = hexagon();
  target.quantized = &q;
  sdk.build(target);
  CHECK(sdk.calls().at(2) == "snpe-dlc-quant --input_dlc W/float.dlc --output_dlc W/quantized.dlc --float_fallback --override_params --act_bitwidth 8 "
                             "--weights_bitwidth 8 --bias_bitwidth 32");
}

TEST_CASE("the tools of QAIRT come first, with their own flags") {
  const Sdk sdk(kNew);
  Quantized q = codes_and_data(sdk);
  q.codes[0].dtype = OPTIMA_U16;
  q.codes.push_back({"w", true, OPTIMA_I4, 0, 0, {0.5f, 0.25f}, {0, 0}});
  Target target = hexagon();
  target.quantized = &q;
  sdk.build(target);
  CHECK(sdk.calls() == Lines{"qairt-converter --input_network W/float/model.onnx --output_path W/float.dlc --out_tensor_node y --quantization_overrides W/overrides.json "
                             "--float_bitwidth 16 --target_backend HTP",
                             "snpe-dlc-info -i W/float.dlc",
                             "qairt-quantizer --input_dlc W/float.dlc --output_dlc W/quantized.dlc --input_list W/input_list.txt --act_bitwidth 16 "
                             "--weights_bitwidth 4 --bias_bitwidth 32 --use_per_channel_quantization --use_per_row_quantization --preserve_io_datatype",
                             "snpe-dlc-graph-prepare --input_dlc W/quantized.dlc --output_dlc W/sm8550.dlc --htp_socs sm8550 --set_output_tensors y"});
}

TEST_CASE("overrides that cannot be written are told, and nothing is converted without them") {
  const Sdk sdk(kOld);
  const Quantized q = codes_and_data(sdk);
  Target target = hexagon();
  target.quantized = &q;
  const std::string path = sdk.bounds().work + "/overrides.json";
  std::filesystem::create_directories(path);
  CHECK(sdk.error(target, OPTIMA_IO) == "file '" + path + "' cannot be written");
  CHECK_FALSE(std::filesystem::exists(sdk.root + "/calls"));
}

TEST_CASE("codes that cross the border keep their nodes") {
  const Sdk sdk(kOld);
  sdk.write_model("net (uint8[4] x) => (float[4] y) <float s = {0.5}> { d = DequantizeLinear (x, s) y = Relu (d) }");
  sdk.build(hexagon());
  CHECK(sdk.calls().at(0).ends_with("--preserve_io layout --keep_quant_nodes"));
}

TEST_CASE("a tensor that lies or is called otherwise in the DLC is told, and one of another shape is an error") {
  const Sdk sdk(kOld);
  sdk.write_model("net (float[1,4,3,2] x) => (float[1,4,3,2] a_slash_b) { a_slash_b = Relu (x) }");
  test::put(sdk.root + "/info", "stand-in\n| Input Name | Dimensions | Type |\n| x | 1,3,2,4 | Float_32 |\n-----\n| Output Name | Dimensions | Type |\n| a_b | 1,4,3,2 | Float_32 |\n");
  const Built built = sdk.build(hexagon());
  REQUIRE(built.borders.size() == 2);
  CHECK(sdk.calls().back().ends_with("--set_output_tensors a_b"));  // as a run asks for it
  CHECK((built.borders[0].name == "x" && built.borders[0].file_name == "" && built.borders[0].layout == "NHWC"));
  CHECK((built.borders[1].name == "a/b" && built.borders[1].file_name == "a_b" && built.borders[1].layout == ""));
  std::vector<Port> ports(3);
  ports[0].name = "a/b", ports[1].name = "x", ports[2].name = "other";
  name_borders(built.borders, ports);
  CHECK((ports[0].file_name == "a_b" && ports[0].layout == "" && ports[1].file_name == "" && ports[1].layout == "NHWC" && ports[2].layout == ""));
  test::put(sdk.root + "/info", "| Input Name | Dimensions |\n| x | 1,4,3 |\n");
  CHECK(sdk.error(hexagon(), OPTIMA_TOOL_FAILED) == "the DLC's tensor 'x' has shape 1x4x3, wanted 1x4x3x2");
}

TEST_CASE("every way a tool fails in is told, with its command and its log") {
  const Sdk sdk(kOld);
  const Quantized q = codes_and_data(sdk);
  Target target = hexagon();
  target.quantized = &q;
  const std::string log = "; log: " + (sdk.folder / "log") + ")";
  for (const char* tool : {"snpe-onnx-to-dlc", "snpe-dlc-quant", "snpe-dlc-graph-prepare"}) {
    const std::string name = tool, command = " (command: " + sdk.bin + "/" + name + " --input_";
    const auto failed = [&](const std::string& mode) {
      sdk.mode(name, mode);
      const std::string text = sdk.error(target, OPTIMA_TOOL_FAILED);
      CHECK_MESSAGE(text.ends_with(log), text);
      const size_t at = text.find(command);
      REQUIRE_MESSAGE(at != std::string::npos, text);
      return text.substr(0, at);
    };
    CHECK(failed("fail") == name + " failed with exit status 1: stand-in says: the graph is beyond me");
    CHECK(failed("crash") == name + " was ended by signal 11");
    CHECK(failed("no file").starts_with(name + " ended well, but '" + sdk.work + "/"));
    CHECK(failed("no file").ends_with(".dlc' is not there"));
    CHECK(failed("empty").ends_with(".dlc' is empty"));
    sdk.mode(name, "");
  }
  sdk.mode("snpe-onnx-to-dlc", "silent");
  CHECK(sdk.error(target, OPTIMA_TOOL_FAILED).starts_with("snpe-onnx-to-dlc ended well, but never said \"Conversion completed successfully\" (command: "));
}

TEST_CASE("the old quantizer is known by what it says") {
  Sdk sdk(kOld);
  std::filesystem::rename(sdk.bin + "/snpe-dlc-quant", sdk.bin + "/snpe-dlc-quantize");
  const Quantized q = codes_and_data(sdk);
  Target target = hexagon();
  target.quantized = &q;
  sdk.build(target);
  CHECK(sdk.calls().at(2).starts_with("snpe-dlc-quantize --input_dlc "));
  sdk.mode("snpe-dlc-quantize", "silent");
  CHECK(sdk.error(target, OPTIMA_TOOL_FAILED).starts_with("snpe-dlc-quantize ended well, but never said \"Writing quantized model\" (command: "));
}

TEST_CASE("a file of an earlier call is no product") {
  const Sdk sdk(kOld);
  sdk.build(hexagon());
  sdk.mode("snpe-onnx-to-dlc", "no file");
  CHECK(sdk.error(hexagon(), OPTIMA_TOOL_FAILED).find("float.dlc' is not there") != std::string::npos);
}

TEST_CASE("a tool that hangs is ended with what it started, by its time limit and by cancelling") {
  const Sdk sdk(kOld);
  sdk.mode("snpe-onnx-to-dlc", "hang");
  // Killed is not gone at once.
  const auto ends = [&] {
    for (int tries = 0; tries < 3000; ++tries) {
      pid_t pid = 0;
      std::ifstream(sdk.root + "/sleeper") >> pid;
      if (pid == 0 || ::kill(pid, 0) != 0 || test::get("/proc/" + std::to_string(pid) + "/stat").find(") Z") != std::string::npos) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  };
  Bounds b = sdk.bounds();
  b.cancelled = [&] { return std::filesystem::exists(sdk.root + "/sleeper"); };
  CHECK(sdk.error(hexagon(), OPTIMA_CANCELLED, b) == "cancelled");
  CHECK(ends());
  b.cancelled = {};
  b.time_limit = 300ms;
  CHECK(sdk.error(hexagon(), OPTIMA_TIMEOUT, b).starts_with("snpe-onnx-to-dlc took longer than its time limit (command: "));
  CHECK(ends());
}

TEST_CASE("much noise on both streams hides nothing and all of it is in the log") {
  const Sdk sdk(kOld);
  sdk.mode("snpe-onnx-to-dlc", "noise");
  CHECK(sdk.build(hexagon()).dlcs.size() == 1);
  CHECK(test::get(sdk.folder / "log").find("noise 5999 ") != std::string::npos);
}

TEST_CASE("what the converter refuses is unsupported, with its words") {
  const Sdk sdk(kOld);
  sdk.mode("snpe-onnx-to-dlc", "refuse ERROR - Node y: operator Tanh is not supported");
  CHECK(sdk.error(hexagon(), OPTIMA_UNSUPPORTED) == "snpe-onnx-to-dlc: ERROR - Node y: operator Tanh is not supported (log: " + (sdk.folder / "log") + ")");
}

TEST_CASE("a dim that is not known is refused by its input's name before any tool is called") {
  const Sdk sdk(kOld);
  sdk.write_model("net (float[n,4] my_blank_input) => (float[n,4] y) { y = Relu (my_blank_input) }");
  CHECK(sdk.error(hexagon(), OPTIMA_UNSUPPORTED) == "input 'my input' has a dim that is not known, wanted fixed shapes");
  CHECK(sdk.calls().empty());
}

TEST_CASE("which nodes are taken is the converter's dry run's word, by name, output or operator") {
  const Sdk sdk(kOld);
  const auto asked = [&](const std::string& mode) {
    sdk.mode("snpe-onnx-to-dlc", mode);
    std::string out;
    for (const Taken& t : sdk.tools()->assign(sdk.model, hexagon(), sdk.bounds())) out += t.output + (t.taken ? "+ " : "-(" + t.why + ") ");
    return out;
  };
  CHECK(asked("") == "r+ y+ ");
  CHECK(sdk.calls() == Lines{"snpe-onnx-to-dlc --input_network M/model.onnx --out_node y --float_bitwidth 16 --preserve_io layout --dry_run info --validation_target dsp sm8550"});
  CHECK(asked("say WARNING: Tanh is unsupported") == "r+ y-(WARNING: Tanh is unsupported) ");
  CHECK(asked("refuse Op r not supported on DSP") == "r-(Op r not supported on DSP) y+ ");
  CHECK(asked("say Tanh is fine") == "r+ y+ ");
  CHECK(asked("no target") == "r+ y+ ");
  CHECK(sdk.calls().back() == "snpe-onnx-to-dlc --input_network M/model.onnx --out_node y --float_bitwidth 16 --preserve_io layout --dry_run info");
  sdk.mode("snpe-onnx-to-dlc", "crash");
  CHECK_THROWS_WITH_AS(sdk.tools()->assign(sdk.model, hexagon(), sdk.bounds()), doctest::Contains("snpe-onnx-to-dlc was ended by signal 11"), sdk::Error);
}
