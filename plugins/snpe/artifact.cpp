// SPDX-License-Identifier: Apache-2.0
#include "artifact.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "optima/plugin/checksum.hpp"

namespace snpe_plugin {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKinds[] = {"HEXAGON", "ADRENO", "SNPE_CPU"};
constexpr std::string_view kLayouts[] = {"", "NCHW", "NHWC", "NCDHW", "NDHWC", "NCF", "NFC"};
constexpr uint64_t kLargest = uint64_t{1} << 47;  // bytes of one tensor: what the seam allows a binding

[[noreturn]] void corrupt(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, what); }
[[noreturn]] void bad_meta(const std::string& what) { corrupt("meta file " + what); }

/// A beginning of hostile text, for messages.
std::string shown(std::string_view text) {
  std::string s(text.substr(0, 60));
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return "'" + s + "'";
}

template <class T, size_t N>
bool is_one_of(const T (&all)[N], std::string_view word) {
  return std::find(std::begin(all), std::end(all), word) != std::end(all);
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c == '/' || c < 0x20; });
}

int32_t dtype_of(std::string_view name) {
  for (int32_t d = OPTIMA_F32; d <= OPTIMA_I2; ++d)
    if (sdk::dtype_name(d) == name) return d;
  return OPTIMA_UNDEFINED;
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

const Json& member(const Json& object, const char* key, Json::value_t type, const char* wanted) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  if (at == object.end()) bad_meta("has no '" + std::string(key) + "'");
  if (at->type() != type) bad_meta("has '" + std::string(key) + "' as " + at->type_name() + ", wanted " + wanted);
  return *at;
}

std::string text(const Json& object, const char* key) { return member(object, key, Json::value_t::string, "a text").get<std::string>(); }
std::string text_or_none(const Json& object, const char* key) { return object.contains(key) ? text(object, key) : std::string(); }
const Json& list(const Json& object, const char* key) { return member(object, key, Json::value_t::array, "a list"); }

std::string file_name(const Json& object, const char* key) {
  std::string name = text(object, key);
  if (!is_file_name(name)) bad_meta("has " + std::string(key) + " " + shown(name) + ", wanted a file name");
  return name;
}

std::vector<int64_t> dims_of(const Json& port, const std::string& name, int32_t dtype) {
  std::vector<int64_t> dims;
  uint64_t bytes = std::max<uint64_t>(optima_dtype_bits(dtype) / 8, 1);
  for (const Json& d : list(port, "dims")) {
    if (!d.is_number_unsigned() && !(d.is_number_integer() && d.get<int64_t>() >= 0)) bad_meta("has a dim of " + shown(name) + " that is no size");
    const auto size = d.get<uint64_t>();
    if (dims.size() == 64) bad_meta("has " + shown(name) + " with more than 64 dims");
    if (size > kLargest / bytes) bad_meta("has " + shown(name) + " larger than any tensor");
    bytes *= std::max<uint64_t>(size, 1);
    dims.push_back(static_cast<int64_t>(size));
  }
  return dims;
}

std::vector<Port> ports_of(const Json& all, const char* key) {
  std::vector<Port> ports;
  for (const Json& one : list(all, key)) {
    Port p;
    p.name = text(one, "name");
    const std::string type = text(one, "type");
    p.dtype = dtype_of(type);
    if (p.dtype == OPTIMA_UNDEFINED || p.dtype == OPTIMA_STRING) bad_meta("has " + shown(p.name) + " of type " + shown(type) + ", wanted an element type");
    p.dims = dims_of(one, p.name, p.dtype);
    p.file_name = text_or_none(one, "file_name");
    p.layout = text_or_none(one, "layout");
    if (!is_one_of(kLayouts, p.layout)) bad_meta("has layout " + shown(p.layout) + " of " + shown(p.name) + ", wanted NCHW, NHWC, NCDHW, NDHWC, NCF or NFC");
    if (!p.layout.empty() && p.layout.size() != p.dims.size())
      bad_meta("has layout " + p.layout + " of " + shown(p.name) + ", which has " + std::to_string(p.dims.size()) + " dims");
    ports.push_back(std::move(p));
  }
  return ports;
}

std::string hex(uint64_t x) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
  return text;
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

uint64_t number(std::string_view word, int base) {
  uint64_t n = 0;
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), n, base);
  if (error != std::errc() || at != word.data() + word.size()) corrupt("compat record has " + shown(word) + ", wanted a number");
  return n;
}

/// "SIZE SUM NAME".
Record::File file_of(std::string_view line) {
  const size_t first = line.find(' '), second = first == line.npos ? line.npos : line.find(' ', first + 1);
  if (second == line.npos) corrupt("compat record has a file " + shown(line) + ", wanted size, sum and name");
  Record::File f{std::string(line.substr(second + 1)), number(line.substr(0, first), 10), number(line.substr(first + 1, second - first - 1), 16)};
  if (!is_file_name(f.name)) corrupt("compat record has file " + shown(f.name) + ", wanted a file name");
  return f;
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

void verify_file(const sdk::Artifact& artifact, const Record::File& file) {
  const optima_blob* blob = artifact.file(file.name);
  if (!blob) corrupt("file '" + file.name + "' is missing");
  if (blob->size != file.size) corrupt("file '" + file.name + "' has " + std::to_string(blob->size) + " bytes, wanted " + std::to_string(file.size));
  if (!blob->data && blob->fd < 0) return;  // asked before the bytes are there
  const sdk::Elements<char> bytes(*blob);
  const uint64_t found = sdk::checksum_of({bytes.data(), bytes.size()}).value();
  if (found != file.sum) corrupt("file '" + file.name + "' is damaged: its sum is " + hex(found) + ", wanted " + hex(file.sum));
  look_at_beginning(file.name, {bytes.data(), bytes.size()});
}

/// '*' at the beginning of a name is the artifact's stem: the bytes of its files do not depend on it.
void name_stem(std::string& name, const sdk::Artifact& artifact) {
  if (name.starts_with('*')) name.replace(0, 1, artifact.stem());
}

bool has_file(const Record& record, const std::string& name) {
  return std::any_of(record.files.begin(), record.files.end(), [&](const Record::File& f) { return f.name == name; });
}

void verify_soc(const Record& record, const sdk::Device& device) {
  const std::string_view soc = device.attributes().string("soc", "");
  if (soc.empty() || record.socs.empty()) return;
  const std::vector<std::string_view> made = words_of(record.socs);
  if (std::find(made.begin(), made.end(), soc) == made.end())
    throw sdk::Error(OPTIMA_WRONG_DEVICE, "files were made for " + record.socs + ", the device is " + shown(soc) + ", wanted a compilation with snpe.soc=" + std::string(soc));
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
  try {
    return all.dump(1) + "\n";
  } catch (const Json::exception&) {
    throw sdk::Error(OPTIMA_UNSUPPORTED, "a name of the graph is not UTF-8, which the meta file cannot hold");
  }
}

Meta Meta::read(std::string_view bytes) {
  const Json all = Json::parse(bytes, nullptr, false);
  if (all.is_discarded()) bad_meta("is not JSON, or truncated");
  if (!all.is_object()) bad_meta("is no JSON object");
  const std::string format = text(all, "format");
  if (format != kFormat) bad_meta("has format " + shown(format) + ", wanted " + std::string(kFormat));
  Meta m;
  m.kind = text(all, "kind");
  if (!is_one_of(kKinds, m.kind)) bad_meta("has kind " + shown(m.kind) + ", wanted HEXAGON, ADRENO or SNPE_CPU");
  m.route = text(all, "route");
  m.tools = text(all, "tools");
  m.precision = text(all, "precision");
  for (const Json& one : list(all, "dlcs")) {
    if (!one.is_string() || !is_file_name(one.get_ref<const std::string&>())) bad_meta("has a DLC whose name is no file name");
    m.dlcs.push_back(one.get<std::string>());
  }
  for (const Json& one : list(all, "contexts"))
    m.contexts.push_back({text(one, "soc"), file_name(one, "file"), one.contains("wrapper") ? file_name(one, "wrapper") : std::string()});
  if (m.dlcs.empty() && m.contexts.empty()) bad_meta("names neither a DLC nor a context");
  m.inputs = ports_of(all, "inputs");
  m.outputs = ports_of(all, "outputs");
  return m;
}

std::string Record::write() const {
  std::string all = "kind=" + kind + "\nroute=" + route + "\ntools=" + tools + "\nsocs=" + socs + "\n";
  for (const File& f : files) all += "file=" + std::to_string(f.size) + " " + hex(f.sum) + " " + f.name + "\n";
  return all;
}

Record Record::read(std::string_view text) {
  Record r;
  std::string* const fields[] = {&r.kind, &r.route, &r.tools, &r.socs};
  constexpr std::string_view names[] = {"kind", "route", "tools", "socs"};
  bool seen[std::size(names)] = {};
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) corrupt("compat record is truncated");
    const std::string_view line = text.substr(0, end), key = line.substr(0, line.find('='));
    text.remove_prefix(end + 1);
    if (key.size() == line.size()) corrupt("compat record has " + shown(line) + ", wanted key=value");
    const std::string_view value = line.substr(key.size() + 1);
    if (key == "file") r.files.push_back(file_of(value));
    for (size_t k = 0; k < std::size(names); ++k)
      if (key == names[k]) *fields[k] = value, seen[k] = true;
  }
  for (size_t k = 0; k < std::size(names); ++k)
    if (!seen[k]) corrupt("compat record has no '" + std::string(names[k]) + "'");
  if (!is_one_of(kKinds, r.kind)) corrupt("compat record has kind " + shown(r.kind) + ", wanted HEXAGON, ADRENO or SNPE_CPU");
  return r;
}

Record::File record_file(std::string name, const std::string& path) {
  const sdk::Checksum sum = sdk::checksum_of_file(path);
  return {std::move(name), sum.size(), sum.value()};
}

Record::File record_bytes(std::string name, std::string_view bytes) { return {std::move(name), bytes.size(), sdk::checksum_of(bytes).value()}; }

Record verify(const sdk::Artifact& artifact, const sdk::Device& device) {
  if (artifact.format() != kFormat) throw sdk::Error(OPTIMA_RECOMPILE, "artifact has format " + shown(artifact.format()) + ", wanted " + std::string(kFormat));
  Record r = Record::read(artifact.compat());
  for (Record::File& f : r.files) name_stem(f.name, artifact);
  if (r.kind != device.kind()) throw sdk::Error(OPTIMA_WRONG_DEVICE, "files were made for " + r.kind + ", wanted " + std::string(device.kind()));
  verify_soc(r, device);
  for (const Record::File& f : r.files) verify_file(artifact, f);
  const std::string meta = std::string(artifact.stem()) + ".meta";
  if (!has_file(r, meta)) corrupt("compat record has no file '" + meta + "'");
  return r;
}

Meta read_meta(const sdk::Artifact& artifact, const Record& record) {
  const sdk::Elements<char> bytes(*artifact.file(std::string(artifact.stem()) + ".meta"));
  Meta m = Meta::read({bytes.data(), bytes.size()});
  for (std::string& dlc : m.dlcs) name_stem(dlc, artifact);
  for (Meta::Context& c : m.contexts) name_stem(c.file, artifact), name_stem(c.wrapper, artifact);
  if (m.kind != record.kind) bad_meta("has kind " + m.kind + ", the compat record " + record.kind);
  const auto need = [&](const std::string& name) {
    if (!name.empty() && !has_file(record, name)) bad_meta("names '" + name + "', which is no file of the artifact");
  };
  for (const std::string& dlc : m.dlcs) need(dlc);
  for (const Meta::Context& c : m.contexts) need(c.file), need(c.wrapper);
  return m;
}

}  // namespace snpe_plugin
