// SPDX-License-Identifier: Apache-2.0
#include "artifact.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "optima/plugin/checksum.hpp"

namespace bmcompiler_plugin {
namespace {

using Json = nlohmann::ordered_json;

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
  for (const Port& p : ports)
    all.push_back({{"name", p.name}, {"type", sdk::dtype_name(p.dtype)}, {"dims", p.dims}, {"file_name", p.file_name}, {"file_type", sdk::dtype_name(p.file_dtype)}});
  return all;
}

const Json& member(const Json& object, const char* key, Json::value_t type, const char* wanted) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  if (at == object.end()) bad_meta("has no '" + std::string(key) + "'");
  if (at->type() != type) bad_meta("has '" + std::string(key) + "' as " + at->type_name() + ", wanted " + wanted);
  return *at;
}

std::string text(const Json& object, const char* key) { return member(object, key, Json::value_t::string, "a text").get<std::string>(); }
const Json& list(const Json& object, const char* key) { return member(object, key, Json::value_t::array, "a list"); }

int32_t type(const Json& object, const char* key, const std::string& name) {
  const std::string word = text(object, key);
  const int32_t dtype = dtype_of(word);
  if (dtype == OPTIMA_UNDEFINED || dtype == OPTIMA_STRING) bad_meta("has " + shown(name) + " of type " + shown(word) + ", wanted an element type");
  return dtype;
}

/// -1 is allowed as the first.
std::vector<int64_t> dims_of(const Json& port, const std::string& name, int32_t dtype) {
  std::vector<int64_t> dims;
  uint64_t bytes = std::max<uint64_t>(optima_dtype_bits(dtype) / 8, 1);
  for (const Json& d : list(port, "dims")) {
    const bool open = dims.empty() && d.is_number_integer() && d.get<int64_t>() == -1;
    if (!open && !d.is_number_unsigned() && !(d.is_number_integer() && d.get<int64_t>() >= 0)) bad_meta("has a dim of " + shown(name) + " that is no size");
    if (dims.size() == 64) bad_meta("has " + shown(name) + " with more than 64 dims");
    const uint64_t size = open ? 1 : d.get<uint64_t>();
    if (size > kLargest / bytes) bad_meta("has " + shown(name) + " larger than any tensor");
    bytes *= std::max<uint64_t>(size, 1);
    dims.push_back(open ? -1 : static_cast<int64_t>(size));
  }
  return dims;
}

std::vector<Port> ports_of(const Json& all, const char* key) {
  std::vector<Port> ports;
  for (const Json& one : list(all, key)) {
    Port p;
    p.name = text(one, "name");
    p.dtype = type(one, "type", p.name);
    p.dims = dims_of(one, p.name, p.dtype);
    p.file_name = text(one, "file_name");
    p.file_dtype = type(one, "file_type", p.name);
    ports.push_back(std::move(p));
  }
  return ports;
}

/// Absent where no batch is open.
std::vector<int64_t> batches_of(const Json& all) {
  std::vector<int64_t> sizes;
  if (!all.contains("batches")) return sizes;
  for (const Json& size : list(all, "batches")) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() == 0 || size.get<uint64_t>() > kLargest || (!sizes.empty() && size.get<int64_t>() <= sizes.back()))
      bad_meta("has 'batches' that are no sizes in ascending order");
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

std::string hex(uint64_t x) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
  return text;
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

const Chip& known_chip(const std::string& name, const char* where) {
  const Chip* chip = find_chip(name);
  if (!chip) corrupt(std::string(where) + " has chip " + shown(name) + ", wanted one of " + chip_names());
  return *chip;
}

std::string_view bytes_of(const sdk::Elements<char>& bytes) { return {bytes.data(), bytes.size()}; }

/// True when its bytes are there: check_artifact may be asked before.
bool verify_file(const sdk::Artifact& artifact, const Record::File& file) {
  const optima_blob* blob = artifact.file(file.name);
  if (!blob) corrupt("file '" + file.name + "' is missing");
  if (blob->size != file.size) corrupt("file '" + file.name + "' has " + std::to_string(blob->size) + " bytes, wanted " + std::to_string(file.size));
  if (!blob->data && blob->fd < 0) return false;
  const sdk::Elements<char> bytes(*blob);
  const uint64_t found = sdk::checksum_of(bytes_of(bytes)).value();
  if (found != file.sum) corrupt("file '" + file.name + "' is damaged: its sum is " + hex(found) + ", wanted " + hex(file.sum));
  return true;
}

/// '*' at the beginning of a name is the artifact's stem: the bytes of its files do not depend on it.
void name_stem(std::string& name, const sdk::Artifact& artifact) {
  if (name.starts_with('*')) name.replace(0, 1, artifact.stem());
}

bool has_file(const Record& record, const std::string& name) {
  return std::any_of(record.files.begin(), record.files.end(), [&](const Record::File& f) { return f.name == name; });
}

std::vector<int64_t> without_ones(std::vector<int64_t> dims) {
  std::erase(dims, 1);
  return dims;
}

/// Whether dims of a file are a port's, but for ones, and for the batch where that is open.
bool fits(std::vector<int64_t> in_file, std::vector<int64_t> dims) {
  if (!dims.empty() && dims[0] == -1) {
    if (in_file.empty()) return false;
    dims.erase(dims.begin()), in_file.erase(in_file.begin());
  }
  return without_ones(std::move(in_file)) == without_ones(std::move(dims));
}

/// The tools name a tensor that they cast "<name>_<type>".
const Tensor* find_tensor(const std::vector<Tensor>& tensors, const std::string& name) {
  for (const Tensor& t : tensors)
    if (t.name == name) return &t;
  for (const Tensor& t : tensors)
    for (const char* cast : {"_f32", "_f16", "_bf16", "_si32", "_si16", "_si8", "_ui8"})
      if (t.name == name + cast) return &t;
  return nullptr;
}

const Net& only_net(const Bmodel& model) {
  if (model.nets.size() != 1) corrupt("bmodel has " + std::to_string(model.nets.size()) + " networks, wanted one");
  return model.nets[0];
}

void check_side(const std::vector<Tensor>& tensors, const std::vector<Port>& ports, const char* what) {
  if (tensors.size() != ports.size())
    corrupt("bmodel has " + std::to_string(tensors.size()) + " " + what + "s, the meta file " + std::to_string(ports.size()));
  for (const Port& p : ports) {
    const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == p.file_name; });
    if (at == tensors.end()) corrupt(std::string("bmodel has no ") + what + " " + shown(p.file_name) + ", which the meta file has");
    if (at->dtype != p.file_dtype)
      corrupt(std::string(what) + " " + shown(p.file_name) + " is " + sdk::dtype_name(at->dtype) + " in the bmodel, " + sdk::dtype_name(p.file_dtype) + " in the meta file");
    if (!fits(at->dims, p.dims)) corrupt(std::string(what) + " " + shown(p.file_name) + " has other sizes in the bmodel than in the meta file");
  }
}

/// A port whose name the model has not is the single tensor that is left, where there is one.
void adopt_side(const std::vector<Tensor>& tensors, std::vector<Port>& ports) {
  std::vector<const Tensor*> left, found;
  for (const Tensor& t : tensors) left.push_back(&t);
  for (const Port& p : ports) {
    found.push_back(find_tensor(tensors, p.file_name));
    std::erase(left, found.back());
  }
  for (size_t k = 0; k < ports.size(); ++k) {
    const Tensor* t = found[k] ? found[k] : left.size() == 1 ? std::exchange(left[0], nullptr) : nullptr;
    if (!t) throw sdk::Error(OPTIMA_TOOL_FAILED, "the tools left '" + ports[k].file_name + "' out of the bmodel");
    ports[k].file_name = t->name, ports[k].file_dtype = t->dtype;
  }
}

void check_model(std::string_view bytes, const Chip& chip, const Meta& meta) {
  if (chip.runner == Runner::Cvi) return require_cvimodel(bytes, chip.in_files);
  const Bmodel model = read_bmodel(bytes);
  if (model.chip != chip.in_files) corrupt("bmodel was made for " + shown(model.chip) + ", the record says " + std::string(chip.in_files));
  check_ports(model, meta);
}

}  // namespace

std::string Meta::write() const {
  Json all{{"format", kFormat}, {"chip", chip},           {"mode", mode},           {"tools", tools},
           {"model", model},    {"inputs", json_of(inputs)}, {"outputs", json_of(outputs)}};
  if (!batches.empty()) all["batches"] = batches;
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
  m.chip = text(all, "chip");
  known_chip(m.chip, "meta file");
  m.mode = text(all, "mode");
  m.tools = text(all, "tools");
  m.model = text(all, "model");
  if (!is_file_name(m.model)) bad_meta("has model " + shown(m.model) + ", wanted a file name");
  m.inputs = ports_of(all, "inputs");
  m.outputs = ports_of(all, "outputs");
  m.batches = batches_of(all);
  return m;
}

std::string Record::write() const {
  std::string all = "chip=" + chip + "\nmode=" + mode + "\ntools=" + tools + "\n";
  for (const File& f : files) all += "file=" + std::to_string(f.size) + " " + hex(f.sum) + " " + f.name + "\n";
  return all;
}

Record Record::read(std::string_view text) {
  Record r;
  std::string* const fields[] = {&r.chip, &r.mode, &r.tools};
  constexpr std::string_view names[] = {"chip", "mode", "tools"};
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
  known_chip(r.chip, "compat record");
  return r;
}

Record::File record_file(std::string name, const std::string& path) {
  const sdk::Checksum sum = sdk::checksum_of_file(path);
  return {std::move(name), sum.size(), sum.value()};
}

Record::File record_bytes(std::string name, std::string_view bytes) { return {std::move(name), bytes.size(), sdk::checksum_of(bytes).value()}; }

void adopt_ports(const Bmodel& model, Meta& meta) {
  const NetStage& stage = only_net(model).stages[0];
  adopt_side(stage.inputs, meta.inputs);
  adopt_side(stage.outputs, meta.outputs);
}

void check_ports(const Bmodel& model, const Meta& meta) {
  if (const size_t stages = only_net(model).stages.size(); !meta.batches.empty() && stages != meta.batches.size())
    corrupt("bmodel has " + std::to_string(stages) + " stages, the meta file " + std::to_string(meta.batches.size()) + " batches");
  for (const NetStage& stage : only_net(model).stages) {
    check_side(stage.inputs, meta.inputs, "input");
    check_side(stage.outputs, meta.outputs, "output");
  }
}

Record verify(const sdk::Artifact& artifact, const sdk::Device& device) {
  if (artifact.format() != kFormat) throw sdk::Error(OPTIMA_RECOMPILE, "artifact has format " + shown(artifact.format()) + ", wanted " + std::string(kFormat));
  Record r = Record::read(artifact.compat());
  for (Record::File& f : r.files) name_stem(f.name, artifact);
  if (const std::string_view chip = device.attributes().string("chip", ""); !chip.empty() && chip != r.chip)
    throw sdk::Error(OPTIMA_WRONG_DEVICE, "files were made for " + r.chip + ", the device is " + shown(chip) + ", wanted a compilation with bmcompiler.chip=" + std::string(chip));
  bool whole = true;
  for (const Record::File& f : r.files) whole = verify_file(artifact, f) && whole;
  const std::string meta = std::string(artifact.stem()) + ".meta";
  if (!has_file(r, meta)) corrupt("compat record has no file '" + meta + "'");
  if (!whole) return r;
  const Meta m = read_meta(artifact, r);
  const sdk::Elements<char> model(*artifact.file(m.model));
  check_model(bytes_of(model), *find_chip(r.chip), m);
  return r;
}

Meta read_meta(const sdk::Artifact& artifact, const Record& record) {
  const sdk::Elements<char> bytes(*artifact.file(std::string(artifact.stem()) + ".meta"));
  Meta m = Meta::read(bytes_of(bytes));
  name_stem(m.model, artifact);
  if (m.chip != record.chip) bad_meta("has chip " + m.chip + ", the compat record " + record.chip);
  if (!has_file(record, m.model)) bad_meta("names '" + m.model + "', which is no file of the artifact");
  return m;
}

}  // namespace bmcompiler_plugin
