// SPDX-License-Identifier: Apache-2.0
#include "dlc.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "flat.hpp"
#include "optima/plugin/error.hpp"

namespace snpe_plugin {
namespace {

namespace sdk = optima::sdk;
using Json = nlohmann::json;

constexpr uint64_t kMostModel = uint64_t{256} << 20, kMostMetadata = uint64_t{1} << 20;
constexpr int32_t kVersion = 4;

// Field numbers of the tables of NETD, version 4.
constexpr uint32_t kGraphs = 0;
constexpr uint32_t kGraphName = 0, kOps = 1, kTensors = 2;
constexpr uint32_t kOpName = 0, kOpType = 1, kOpInputs = 2, kOpOutputs = 3;
constexpr uint32_t kTensorName = 1, kRole = 2, kDims = 3, kCoding = 5, kType = 6;
constexpr uint32_t kForm = 0, kOneScale = 2, kManyScales = 3;
constexpr uint32_t kAxis = 0, kScales = 1;
constexpr uint32_t kBits = 0, kScale = 3, kOffset = 4;
// Forms of codings: Qnn_QuantizationEncoding_t. One scale, or one per index of an axis, each also with a number of bits.
constexpr int32_t kPerTensor = 0, kPerAxis = 1, kPerTensorBits = 2, kPerAxisBits = 3, kNoForm = 0x7fffffff;

void add_scale(DlcCoding& c, const FlatTable& one) {
  c.bits = one.number(kBits, 0);
  c.scales.push_back(one.real(kScale, 0));
  c.offsets.push_back(one.number(kOffset, 0));
}

DlcCoding read_coding(const FlatTable& tensor) {
  DlcCoding c;
  const std::optional<FlatTable> coding = tensor.table(kCoding);
  if (!coding) return c;
  const int32_t form = coding->number(kForm, kPerTensor);
  const std::optional<FlatTable> one = coding->table(kOneScale), many = coding->table(kManyScales);
  if ((form == kPerTensor || form == kPerTensorBits) && one) {
    add_scale(c, *one);
  } else if ((form == kPerAxis || form == kPerAxisBits) && many) {
    c.axis = many->number(kAxis, 0);
    for (const FlatTable& s : many->tables(kScales)) add_scale(c, s);
  } else {
    c.told = form == kNoForm;
  }
  return c;
}

DlcTensor read_tensor(const FlatTable& t) {
  return {t.text(kTensorName), t.number(kType, 0), t.number(kRole, 0), t.sizes(kDims), read_coding(t)};
}

DlcGraph read_graph(const FlatTable& g) {
  DlcGraph out;
  out.name = g.text(kGraphName);
  for (const FlatTable& op : g.tables(kOps)) out.ops.push_back({op.text(kOpName), op.text(kOpType), op.texts(kOpInputs), op.texts(kOpOutputs)});
  for (const FlatTable& t : g.tables(kTensors)) out.tensors.push_back(read_tensor(t));
  return out;
}

const Part* find(const Dlc& dlc, std::string_view name) {
  for (const Part& p : dlc.parts)
    if (p.name == name) return &p;
  return nullptr;
}

/// The part's bytes, or nothing and a sentence why.
std::string_view small_part(Dlc& dlc, std::string_view file, const Part& part, uint64_t most) {
  if (part.packed) dlc.not_told.push_back("part '" + part.name + "' is compressed");
  else if (part.size > most) dlc.not_told.push_back("part '" + part.name + "' has " + std::to_string(part.size) + " bytes, more than is read");
  else return part.bytes(file);
  return {};
}

void read_model(Dlc& dlc, std::string_view file) {
  const Part* part = find(dlc, "model");
  if (!part) return dlc.not_told.push_back("there is no part 'model'");
  const std::string_view bytes = small_part(dlc, file, *part, kMostModel);
  if (bytes.empty()) return;
  if (bytes.size() < 8 || bytes.substr(0, 2) != "\xD5\x0A") throw sdk::Error(OPTIMA_CORRUPT, "part 'model' of the DLC does not begin as a model does");
  uint16_t version;
  std::memcpy(&version, bytes.data() + 2, sizeof version);
  dlc.version = version;
  if (dlc.version != kVersion) return dlc.not_told.push_back("part 'model' has version " + std::to_string(version) + ", of which nothing is known here");
  const Flat flat(bytes.substr(8), part->name, "NETD");
  for (const FlatTable& g : flat.root().tables(kGraphs)) dlc.graphs.push_back(read_graph(g));
}

void add_fact(Dlc& dlc, const Json& from, const char* key, const char* name) {
  if (from.is_object() && from.contains(key) && from.at(key).is_string()) dlc.made_by.emplace_back(name, from.at(key).get<std::string>());
}

/// QAIRT's `dlc.metadata.history.*`: a list of who did what to the file.
void read_history(Dlc& dlc, const Json& history) {
  for (const Json& step : history) {
    if (!step.is_object() || !step.contains("converterCommand")) continue;
    const Json& command = step.at("converterCommand");
    add_fact(dlc, command, "tool", "tool");
    add_fact(dlc, command, "converterVersion", "version");
    if (command.is_object() && command.contains("args")) add_fact(dlc, command.at("args"), "backend", "backend");
  }
}

/// SNPE's `dlc.metadata`: lines "key=value".
void read_lines(Dlc& dlc, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (const size_t is = line.find('='); is != std::string_view::npos && is > 0) dlc.made_by.emplace_back(line.substr(0, is), line.substr(is + 1));
    at = end + 1;
  }
}

void read_metadata(Dlc& dlc, std::string_view file) {
  for (size_t k = 0; k < dlc.parts.size(); ++k) {
    const Part part = dlc.parts[k];
    if (part.name.rfind("dlc.metadata", 0) != 0) continue;
    const std::string_view text = small_part(dlc, file, part, kMostMetadata);
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) read_lines(dlc, text);
    else if (json.is_object() && json.contains("dlcGenerationInfo") && json.at("dlcGenerationInfo").is_array()) read_history(dlc, json.at("dlcGenerationInfo"));
  }
}

std::string hex(int32_t n) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%04x", static_cast<uint32_t>(n));
  return text;
}

}  // namespace

Dlc read_dlc(std::string_view file) {
  Dlc dlc;
  dlc.size = file.size();
  dlc.parts = read_directory(file);
  if (!find(dlc, "model") && !find(dlc, "model.params")) throw sdk::Error(OPTIMA_CORRUPT, "file is a zip file but no DLC: it has neither part 'model' nor 'model.params'");
  read_model(dlc, file);
  read_metadata(dlc, file);
  return dlc;
}

// Qnn_DataType_t of QAIRT's QnnTypes.h: the kind in the upper byte, the bits, read as decimal, in the lower.
std::string type_name(int32_t type) {
  static constexpr const char* kinds[] = {"int", "uint", "float", "sfixed", "ufixed", "bool", "string"};
  const int32_t kind = type >> 8, bits = (type >> 4 & 15) * 10 + (type & 15);
  const bool is_known = kind >= 0 && kind < static_cast<int32_t>(std::size(kinds)) && (bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64);
  if (!is_known) return "type " + hex(type);
  return std::string(kinds[kind]) + (kind >= 5 ? "" : std::to_string(bits));
}

std::string role_name(int32_t role) {
  switch (role) {
    case 0: return "input";
    case 1: return "output";
    case 2: return "input and output";
    case 3: return "between";
    case 4: return "constant";
    case 5: return "absent";
    default: return "role " + std::to_string(role);
  }
}

}  // namespace snpe_plugin
