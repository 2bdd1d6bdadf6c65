// SPDX-License-Identifier: Apache-2.0
#include "artifact.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "optima/plugin/meta_json.hpp"

namespace bmcompiler_plugin {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void corrupt(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, what); }

Json json_of(const std::vector<Port>& ports) {
  Json all = Json::array();
  for (const Port& p : ports)
    all.push_back({{"name", p.name}, {"type", sdk::dtype_name(p.dtype)}, {"dims", p.dims}, {"file_name", p.file_name}, {"file_type", sdk::dtype_name(p.file_dtype)}});
  return all;
}

std::vector<Port> ports_of(const Json& all, const char* key) {
  std::vector<Port> ports;
  for (const Json& one : sdk::meta_list(all, key)) {
    Port p;
    p.name = sdk::meta_text(one, "name");
    p.dtype = sdk::meta_dtype(one, "type", p.name);
    p.dims = sdk::meta_dims(one, p.name, p.dtype, true);
    p.file_name = sdk::meta_text(one, "file_name");
    p.file_dtype = sdk::meta_dtype(one, "file_type", p.name);
    ports.push_back(std::move(p));
  }
  return ports;
}

/// Absent where no batch is open.
std::vector<int64_t> batches_of(const Json& all) {
  constexpr uint64_t kLargest = uint64_t{1} << 47;
  std::vector<int64_t> sizes;
  if (!all.contains("batches")) return sizes;
  for (const Json& size : sdk::meta_list(all, "batches")) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() == 0 || size.get<uint64_t>() > kLargest || (!sizes.empty() && size.get<int64_t>() <= sizes.back()))
      sdk::bad_meta("has 'batches' that are no sizes in ascending order");
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

const Chip& known_chip(const std::string& name, const char* where) {
  const Chip* chip = find_chip(name);
  if (!chip) corrupt(std::string(where) + " has chip " + sdk::shown(name) + ", wanted one of " + chip_names());
  return *chip;
}

std::string_view bytes_of(const sdk::Elements<char>& bytes) { return {bytes.data(), bytes.size()}; }

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
    if (at == tensors.end()) corrupt(std::string("bmodel has no ") + what + " " + sdk::shown(p.file_name) + ", which the meta file has");
    if (at->dtype != p.file_dtype)
      corrupt(std::string(what) + " " + sdk::shown(p.file_name) + " is " + sdk::dtype_name(at->dtype) + " in the bmodel, " + sdk::dtype_name(p.file_dtype) + " in the meta file");
    if (!fits(at->dims, p.dims)) corrupt(std::string(what) + " " + sdk::shown(p.file_name) + " has other sizes in the bmodel than in the meta file");
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
  if (model.chip != chip.in_files) corrupt("bmodel was made for " + sdk::shown(model.chip) + ", the record says " + std::string(chip.in_files));
  check_ports(model, meta);
}

}  // namespace

std::string Meta::write() const {
  Json all{{"format", kFormat}, {"chip", chip},           {"mode", mode},           {"tools", tools},
           {"model", model},    {"inputs", json_of(inputs)}, {"outputs", json_of(outputs)}};
  if (!batches.empty()) all["batches"] = batches;
  return sdk::write_meta(all);
}

Meta Meta::read(std::string_view bytes) {
  const Json all = sdk::parse_meta<Json>(bytes, kFormat);
  Meta m;
  m.chip = sdk::meta_text(all, "chip");
  known_chip(m.chip, "meta file");
  m.mode = sdk::meta_text(all, "mode");
  m.tools = sdk::meta_text(all, "tools");
  m.model = sdk::meta_file_name(all, "model");
  m.inputs = ports_of(all, "inputs");
  m.outputs = ports_of(all, "outputs");
  m.batches = batches_of(all);
  return m;
}

std::string Record::write() const { return sdk::write_record({{"chip", chip}, {"mode", mode}, {"tools", tools}}, files); }

Record Record::read(std::string_view text) {
  Record r;
  r.files = sdk::read_record(text, {{"chip", &r.chip}, {"mode", &r.mode}, {"tools", &r.tools}});
  known_chip(r.chip, "compat record");
  return r;
}

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
  sdk::require_format(artifact, kFormat);
  Record r = Record::read(artifact.compat());
  for (sdk::RecordedFile& f : r.files) sdk::name_stem(f.name, artifact);
  if (const std::string_view chip = device.attributes().string("chip", ""); !chip.empty() && chip != r.chip)
    throw sdk::Error(OPTIMA_WRONG_DEVICE, "files were made for " + r.chip + ", the device is " + sdk::shown(chip) + ", wanted a compilation with bmcompiler.chip=" + std::string(chip));
  bool whole = true;
  for (const sdk::RecordedFile& f : r.files) whole = sdk::verify_file(artifact, f) && whole;
  const std::string meta = std::string(artifact.stem()) + ".meta";
  if (!sdk::has_file(r.files, meta)) corrupt("compat record has no file '" + meta + "'");
  if (!whole) return r;
  const Meta m = read_meta(artifact, r);
  const sdk::Elements<char> model(*artifact.file(m.model));
  check_model(bytes_of(model), *find_chip(r.chip), m);
  return r;
}

Meta read_meta(const sdk::Artifact& artifact, const Record& record) {
  const sdk::Elements<char> bytes(*artifact.file(std::string(artifact.stem()) + ".meta"));
  Meta m = Meta::read(bytes_of(bytes));
  sdk::name_stem(m.model, artifact);
  if (m.chip != record.chip) sdk::bad_meta("has chip " + m.chip + ", the compat record " + record.chip);
  if (!sdk::has_file(record.files, m.model)) sdk::bad_meta("names '" + m.model + "', which is no file of the artifact");
  return m;
}

}  // namespace bmcompiler_plugin
