// SPDX-License-Identifier: Apache-2.0
#include "artifact.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "optima/plugin/meta_json.hpp"

namespace snpe_plugin {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKinds[] = {"HEXAGON", "ADRENO", "SNPE_CPU"};
constexpr std::string_view kLayouts[] = {"", "NCHW", "NHWC", "NCDHW", "NDHWC", "NCF", "NFC"};

[[noreturn]] void corrupt(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, what); }

template <class T, size_t N>
bool is_one_of(const T (&all)[N], std::string_view word) {
  return std::find(std::begin(all), std::end(all), word) != std::end(all);
}

Json json_of(const std::vector<Port>& ports) {
  Json all = Json::array();
  for (const Port& p : ports) {
    Json one{{"name", p.name}, {"type", sdk::dtype_name(p.dtype)}, {"dims", p.dims}};
    if (!p.file_name.empty()) one["file_name"] = p.file_name;
    if (!p.layout.empty()) one["layout"] = p.layout;
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<Port> ports_of(const Json& all, const char* key) {
  std::vector<Port> ports;
  for (const Json& one : sdk::meta_list(all, key)) {
    Port p;
    p.name = sdk::meta_text(one, "name");
    p.dtype = sdk::meta_dtype(one, "type", p.name);
    p.dims = sdk::meta_dims(one, p.name, p.dtype);
    p.file_name = sdk::meta_text_or_none(one, "file_name");
    p.layout = sdk::meta_text_or_none(one, "layout");
    if (!is_one_of(kLayouts, p.layout)) sdk::bad_meta("has layout " + sdk::shown(p.layout) + " of " + sdk::shown(p.name) + ", wanted NCHW, NHWC, NCDHW, NDHWC, NCF or NFC");
    if (!p.layout.empty() && p.layout.size() != p.dims.size())
      sdk::bad_meta("has layout " + p.layout + " of " + sdk::shown(p.name) + ", which has " + std::to_string(p.dims.size()) + " dims");
    ports.push_back(std::move(p));
  }
  return ports;
}

/// "a,b,c" as words.
std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

/// What a file of this suffix begins with: a DLC is a zip, as is what a SDK prepares for a SoC; the words that open a context binary of QAIRT
/// 2.51 are 2 and 3, most significant byte first; the wrapper is a protobuf message whose first field is the number 1 (ONNX's ir_version).
void look_at_beginning(const std::string& name, std::string_view bytes) {
  const auto ends = [&](std::string_view suffix) { return name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0; };
  const auto small_word = [&](size_t at) { return bytes[at] == 0 && bytes[at + 1] == 0; };
  const bool zip = bytes.substr(0, 4) == std::string_view("PK\3\4", 4);
  if (ends(".dlc") && !zip) corrupt("file '" + name + "' is no DLC: it does not begin as a zip does");
  if (ends(".bin") && !zip && (bytes.size() < 8 || !small_word(0) || !small_word(4))) corrupt("file '" + name + "' is no Hexagon context binary");
  if (ends(".onnx") && bytes.substr(0, 1) != "\x08") corrupt("file '" + name + "' is no ONNX file");
}

void look_at(const sdk::Artifact& artifact, const sdk::RecordedFile& file) {
  if (!sdk::verify_file(artifact, file)) return;
  const sdk::Elements<char> bytes(*artifact.file(file.name));
  look_at_beginning(file.name, {bytes.data(), bytes.size()});
}

void verify_soc(const Record& record, const sdk::Device& device) {
  const std::string_view soc = device.attributes().string("soc", "");
  if (soc.empty() || record.socs.empty()) return;
  const std::vector<std::string_view> made = words_of(record.socs);
  if (std::find(made.begin(), made.end(), soc) == made.end())
    throw sdk::Error(OPTIMA_WRONG_DEVICE, "files were made for " + record.socs + ", the device is " + sdk::shown(soc) + ", wanted a compilation with snpe.soc=" + std::string(soc));
}

}  // namespace

std::string Meta::write() const {
  Json contexts_json = Json::array();
  for (const Context& c : contexts) {
    contexts_json.push_back({{"soc", c.soc}, {"file", c.file}});
    if (!c.wrapper.empty()) contexts_json.back()["wrapper"] = c.wrapper;
  }
  const Json all{{"format", kFormat},      {"kind", kind},     {"route", route},           {"tools", tools},            {"precision", precision},
                 {"dlcs", dlcs}, {"contexts", contexts_json}, {"inputs", json_of(inputs)}, {"outputs", json_of(outputs)}};
  return sdk::write_meta(all);
}

Meta Meta::read(std::string_view bytes) {
  const Json all = sdk::parse_meta<Json>(bytes, kFormat);
  Meta m;
  m.kind = sdk::meta_text(all, "kind");
  if (!is_one_of(kKinds, m.kind)) sdk::bad_meta("has kind " + sdk::shown(m.kind) + ", wanted HEXAGON, ADRENO or SNPE_CPU");
  m.route = sdk::meta_text(all, "route");
  m.tools = sdk::meta_text(all, "tools");
  m.precision = sdk::meta_text(all, "precision");
  for (const Json& one : sdk::meta_list(all, "dlcs")) {
    if (!one.is_string() || !sdk::is_file_name(one.get_ref<const std::string&>())) sdk::bad_meta("has a DLC whose name is no file name");
    m.dlcs.push_back(one.get<std::string>());
  }
  for (const Json& one : sdk::meta_list(all, "contexts"))
    m.contexts.push_back({sdk::meta_text(one, "soc"), sdk::meta_file_name(one, "file"), one.contains("wrapper") ? sdk::meta_file_name(one, "wrapper") : std::string()});
  if (m.dlcs.empty() && m.contexts.empty()) sdk::bad_meta("names neither a DLC nor a context");
  m.inputs = ports_of(all, "inputs");
  m.outputs = ports_of(all, "outputs");
  return m;
}

std::string Record::write() const { return sdk::write_record({{"kind", kind}, {"route", route}, {"tools", tools}, {"socs", socs}}, files); }

Record Record::read(std::string_view text) {
  Record r;
  r.files = sdk::read_record(text, {{"kind", &r.kind}, {"route", &r.route}, {"tools", &r.tools}, {"socs", &r.socs}});
  if (!is_one_of(kKinds, r.kind)) corrupt("compat record has kind " + sdk::shown(r.kind) + ", wanted HEXAGON, ADRENO or SNPE_CPU");
  return r;
}

Record verify(const sdk::Artifact& artifact, const sdk::Device& device) {
  sdk::require_format(artifact, kFormat);
  Record r = Record::read(artifact.compat());
  for (sdk::RecordedFile& f : r.files) sdk::name_stem(f.name, artifact);
  if (r.kind != device.kind()) throw sdk::Error(OPTIMA_WRONG_DEVICE, "files were made for " + r.kind + ", wanted " + std::string(device.kind()));
  verify_soc(r, device);
  for (const sdk::RecordedFile& f : r.files) look_at(artifact, f);
  const std::string meta = std::string(artifact.stem()) + ".meta";
  if (!sdk::has_file(r.files, meta)) corrupt("compat record has no file '" + meta + "'");
  return r;
}

Meta read_meta(const sdk::Artifact& artifact, const Record& record) {
  const sdk::Elements<char> bytes(*artifact.file(std::string(artifact.stem()) + ".meta"));
  Meta m = Meta::read({bytes.data(), bytes.size()});
  for (std::string& dlc : m.dlcs) sdk::name_stem(dlc, artifact);
  for (Meta::Context& c : m.contexts) sdk::name_stem(c.file, artifact), sdk::name_stem(c.wrapper, artifact);
  if (m.kind != record.kind) sdk::bad_meta("has kind " + m.kind + ", the compat record " + record.kind);
  const auto need = [&](const std::string& name) {
    if (!name.empty() && !sdk::has_file(record.files, name)) sdk::bad_meta("names '" + name + "', which is no file of the artifact");
  };
  for (const std::string& dlc : m.dlcs) need(dlc);
  for (const Meta::Context& c : m.contexts) need(c.file), need(c.wrapper);
  return m;
}

}  // namespace snpe_plugin
