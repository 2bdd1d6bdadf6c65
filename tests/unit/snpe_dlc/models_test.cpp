// SPDX-License-Identifier: Apache-2.0
// DLCs of real models against what others say of them: libQnnSystem.so of their ports, the models of their scales.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "plugins/snpe/dlc/normal.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/snpe_dlc/sample.hpp"

using namespace snpe_plugin;
using namespace snpe_plugin::test;
namespace fs = std::filesystem;

namespace {

const std::string kPython = OPTIMA_SOURCE_DIR "/.deps/qualcomm/bin/python";

bool has_wheels() {
  if (fs::exists(kPython)) return true;
  MESSAGE("SKIP: the wheels of onnxruntime-qnn are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
  return false;
}

/// Lines of what tools_say.py prints; the emulator's chatter, which begins with a space, is left out.
std::vector<std::string> tools_say(std::vector<std::string> words) {
  words.insert(words.begin(), {kPython, OPTIMA_SOURCE_DIR "/tests/unit/snpe_dlc/tools_say.py"});
  const optima::test::Ran ran = optima::test::run(words);
  REQUIRE_MESSAGE(ran.code == 0, ran.out << ran.err);
  std::vector<std::string> lines;
  std::istringstream in(ran.out);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != ' ') lines.push_back(line);
  return lines;
}

template <class T>
std::vector<T> list_of(const std::string& text, char between) {
  std::vector<T> out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, between);) out.push_back(static_cast<T>(std::stod(one)));
  return out;
}

void check_ports(const DlcGraph& graph, const std::string& path) {
  const std::vector<std::string> lines = tools_say({"ports", path});
  const auto borders = std::count_if(graph.tensors.begin(), graph.tensors.end(), [](const DlcTensor& t) { return t.is_input() || t.is_output(); });
  CHECK(static_cast<size_t>(borders) == lines.size());
  for (const std::string& line : lines) {
    std::istringstream in(line);
    int32_t role = 0, type = 0, offset = 0;
    float scale = 0;
    std::string dims, name;
    in >> role >> type >> dims >> scale >> offset >> std::ws;
    std::getline(in, name);
    const DlcTensor& t = tensor(graph, name);
    CHECK_MESSAGE((t.role == role && t.type == type && t.dims == list_of<int64_t>(dims, 'x')), line);
    if (t.coding.scales.size() == 1) CHECK_MESSAGE((t.coding.scales[0] == scale && t.coding.offsets[0] == offset), line);
    else CHECK_MESSAGE(scale == 0, line);
  }
}

struct Coding {
  std::string name;
  std::vector<float> scales;
  std::vector<int32_t> offsets;
  bool operator==(const DlcCoding& c) const { return scales == c.scales && offsets == c.offsets; }
};

std::vector<Coding> codings_of(const std::string& model) {
  std::vector<Coding> all;
  for (const std::string& line : tools_say({"codings", model})) {
    std::istringstream in(line);
    std::string axis, zeros, scales;
    Coding c;
    in >> axis >> zeros >> scales >> std::ws;
    std::getline(in, c.name);
    c.scales = list_of<float>(scales, ',');
    for (const int32_t z : list_of<int32_t>(zeros, ',')) c.offsets.push_back(-z);
    all.push_back(std::move(c));
  }
  return all;
}

/// Constants keep their names, the tools' own tensors between have others: their coding is one of the model's.
int check_codings(const DlcGraph& graph, const std::vector<Coding>& codings) {
  int by_name = 0;
  for (const DlcTensor& t : graph.tensors) {
    CHECK_MESSAGE(t.coding.told, t.name);
    if (t.coding.scales.empty()) continue;
    const auto named = std::find_if(codings.begin(), codings.end(), [&](const Coding& c) { return c.name == t.name || c.name + "_transpose" == t.name; });
    by_name += named != codings.end();
    if (named != codings.end()) CHECK_MESSAGE(*named == t.coding, t.name);
    else CHECK_MESSAGE(std::any_of(codings.begin(), codings.end(), [&](const Coding& c) { return c == t.coding; }), t.name);
  }
  return by_name;
}

std::vector<std::string> models(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string path = OPTIMA_SOURCE_DIR "/" + name + ".onnx";
    if (fs::exists(path)) out.push_back(path);
    else MESSAGE("SKIP: no model " << name << ".onnx (scripts/make_models.py)");
  }
  return out;
}

Dlc made_of(const std::string& model, const std::string& path) {
  tools_say({"dlc", model, path});
  normalize(path);
  return read_dlc(bytes_of(path));
}

}  // namespace

// Not among them: models with LSTM or GRU, of whose DLCs libQnnSystem 2.51 aborts ("Attribute 'hidden_size' not present"), as the wheels wrote them.
TEST_CASE("DLCs of float models say of their ports what libQnnSystem says, made normal or not") {
  if (!has_wheels()) return;
  const optima::test::TempFolder folder;
  for (const std::string& model : models({"examples/digits/digits", "build/models/mobilenet_v2.ts", "build/models/vit_tiny.ts", "build/models/unet.ts"})) {
    INFO(model);
    const Dlc d = made_of(model, folder / "a.dlc");
    CHECK(d.not_told.empty());
    CHECK(d.parts.size() == 5);
    REQUIRE(d.graphs.size() == 1);
    CHECK(d.graphs[0].ops.size() > 3);
    check_ports(d.graphs[0], folder / "a.dlc");
  }
}

TEST_CASE("DLCs of quantized models have the models' scales and zero points") {
  if (!has_wheels()) return;
  const optima::test::TempFolder folder;
  for (const std::string& model : models({"build/models/int8/resnet18", "build/models/int8/mobilenet_v2"})) {
    INFO(model);
    const Dlc d = made_of(model, folder / "a.dlc");
    REQUIRE(d.graphs.size() == 1);
    check_ports(d.graphs[0], folder / "a.dlc");
    CHECK(check_codings(d.graphs[0], codings_of(model)) > 30);
  }
}

TEST_CASE("Two DLCs of one model are the same bytes") {
  if (!has_wheels()) return;
  const optima::test::TempFolder folder;
  const std::string model = OPTIMA_SOURCE_DIR "/examples/digits/digits.onnx";
  made_of(model, folder / "a.dlc"), made_of(model, folder / "b.dlc");
  CHECK(bytes_of(folder / "a.dlc") == bytes_of(folder / "b.dlc"));
}
