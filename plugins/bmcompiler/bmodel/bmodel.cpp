// SPDX-License-Identifier: Apache-2.0
#include "bmodel.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bmodel_generated.h"
#include "optima/plugin/error.hpp"
#include "optima/plugin/manifest.hpp"

namespace bmcompiler_plugin {
namespace {

namespace sdk = optima::sdk;

constexpr uint32_t kMagic = 0xFF55AAEE;
constexpr size_t kHeader = 64;
constexpr uint64_t kLargest = uint64_t{1} << 47;  // elements of a tensor
constexpr size_t kMostDims = 8;                   // of the runtimes (BM_MAX_DIMS_NUM)

[[noreturn]] void damaged(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, "bmodel " + what); }

/// A beginning of hostile text, for messages.
std::string shown(std::string_view text) {
  std::string s(text.substr(0, 60));
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return "'" + s + "'";
}

template <class T>
T number(std::string_view bytes, size_t at) {
  T v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

/// What the header says, checked against the file's size.
struct Parts {
  std::string_view table;
  uint64_t blobs;  ///< bytes behind it
};

Parts parts_of(std::string_view bytes) {
  if (bytes.size() < kHeader) damaged("has " + std::to_string(bytes.size()) + " bytes, wanted a header of 64");
  if (number<uint32_t>(bytes, 0) != kMagic) damaged("does not begin with its magic number");
  if (const auto header = number<uint32_t>(bytes, 4); header != kHeader) damaged("has a header of " + std::to_string(header) + " bytes, wanted 64");
  const auto table = number<uint32_t>(bytes, 8);
  const auto blobs = number<uint64_t>(bytes, 12);
  const uint64_t rest = bytes.size() - kHeader;
  if (table > rest || blobs > rest - table)
    damaged("is cut short: its header tells of " + std::to_string(table) + " and " + std::to_string(blobs) + " bytes, behind it are " + std::to_string(rest));
  return {bytes.substr(kHeader, table), blobs};
}

class Blobs {
 public:
  explicit Blobs(uint64_t size) : size_(size) {}
  void check(const file::Binary* blob, const char* what) const {
    if (blob && (blob->start() > size_ || blob->size() > size_ - blob->start()))
      damaged(std::string("has ") + what + " at " + std::to_string(blob->start()) + " of " + std::to_string(blob->size()) + " bytes, past the " + std::to_string(size_) + " that it has");
  }
  template <class Groups>
  void check_groups(const Groups* groups) const {
    if (!groups) return;
    for (const file::CmdGroup* g : *groups) check(g->binary_bdc(), "commands"), check(g->binary_gdma(), "commands");
  }

 private:
  uint64_t size_;
};

/// Numbers of element types: bmodel.hpp of sophgo/libsophon.
int32_t dtype_of(uint32_t number) {
  constexpr int32_t types[] = {OPTIMA_F32, OPTIMA_F16, OPTIMA_I8, OPTIMA_U8, OPTIMA_I16, OPTIMA_U16, OPTIMA_I32, OPTIMA_U32, OPTIMA_BF16, OPTIMA_I4, OPTIMA_U4};
  return number < std::size(types) ? types[number] : OPTIMA_UNDEFINED;
}

/// The verifier does not see to it that numbers of 8 bytes in a vector lie at such addresses.
uint64_t number_at(const flatbuffers::Vector<uint64_t>& numbers, uint32_t k) {
  uint64_t v;
  std::memcpy(&v, numbers.Data() + size_t{k} * sizeof v, sizeof v);
  return v;
}

std::vector<int64_t> dims_of(const file::Tensor& t) {
  std::vector<int64_t> dims;
  if (!t.shape() || t.shape()->size() == 0) damaged("has tensor " + shown(t.name()->string_view()) + " without a shape");
  const file::Shape* shape = t.shape()->Get(0);
  if (!shape->dim()) return dims;
  if (shape->dim()->size() > kMostDims) damaged("has tensor " + shown(t.name()->string_view()) + " with " + std::to_string(shape->dim()->size()) + " dims, wanted at most 8");
  uint64_t elements = 1;
  for (uint32_t k = 0; k < shape->dim()->size(); ++k) {
    const uint64_t d = number_at(*shape->dim(), k);
    if (d > kLargest / elements) damaged("has tensor " + shown(t.name()->string_view()) + " larger than any");
    elements *= std::max<uint64_t>(d, 1);
    dims.push_back(static_cast<int64_t>(d));
  }
  return dims;
}

template <class List>
std::vector<Tensor> tensors_of(const List& list) {
  std::vector<Tensor> all;
  for (const file::Tensor* t : list) all.push_back({t->name()->str(), dtype_of(t->data_type()), dims_of(*t), t->scale(), t->zero_point()});
  return all;
}

uint64_t working_of(const file::NetParameter& p) {
  if (!p.ctx_sizes() || p.ctx_sizes()->size() == 0) return p.ctx_size();
  uint64_t all = 0;
  for (uint32_t k = 0; k < p.ctx_sizes()->size(); ++k) all += number_at(*p.ctx_sizes(), k);
  return all;
}

NetStage stage_of(const file::NetParameter& p, const Blobs& blobs) {
  const file::Binary* weights = p.coeff_mem() ? p.coeff_mem()->binary_coeff() : nullptr;
  blobs.check(weights, "weights");
  blobs.check(p.binary_ir(), "an intermediate form");
  blobs.check_groups(p.cmd_group());
  if (p.sub_net())
    for (const file::SubNet* sub : *p.sub_net()) {
      blobs.check_groups(sub->cmd_group());
      if (!sub->core_commands()) continue;
      for (const file::CoreCommands* core : *sub->core_commands()) blobs.check_groups(core->gdma_tiu_commands());
    }
  return {tensors_of(*p.input_tensor()), tensors_of(*p.output_tensor()), p.is_dynamic() != 0, weights ? weights->size() : 0, working_of(p)};
}

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<Tensor>& tensors) {
  Json all = Json::array();
  for (const Tensor& t : tensors) {
    Json one{{"name", t.name}, {"type", sdk::dtype_name(t.dtype)}, {"dims", t.dims}};
    if (t.scale != 1 || t.zero_point != 0) one["scale"] = t.scale, one["zero_point"] = t.zero_point;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Bmodel read_bmodel(std::string_view bytes) {
  const Parts parts = parts_of(bytes);
  const std::vector<uint64_t> aligned = [&] {  // a FlatBuffer is read where its numbers lie, and a file lies anywhere
    std::vector<uint64_t> copy((parts.table.size() + 7) / 8);
    if (!parts.table.empty()) std::memcpy(copy.data(), parts.table.data(), parts.table.size());
    return copy;
  }();
  const auto* table = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(table, parts.table.size());
  if (!file::VerifyModelBuffer(verifier)) damaged("has a damaged table of contents");
  const file::Model* found = file::GetModel(table);
  const Blobs blobs(parts.blobs);
  if (found->kernel_module()) blobs.check(found->kernel_module()->binary(), "a kernel module");
  if (found->cpuop_module()) blobs.check(found->cpuop_module()->binary(), "a module of CPU operators");
  Bmodel m{found->version()->str(), found->chip()->str(), found->time()->str(), {}};
  for (const file::Net* net : *found->net()) {
    Net& n = m.nets.emplace_back(Net{net->name()->str(), {}});
    if (!net->parameter() || net->parameter()->size() == 0) damaged("has network " + shown(n.name) + " without a stage");
    for (const file::NetParameter* p : *net->parameter()) n.stages.push_back(stage_of(*p, blobs));
  }
  if (m.nets.empty()) damaged("has no network");
  return m;
}

std::string describe(const Bmodel& model) {
  Json all{{"format", "bmodel"}, {"version", model.version}, {"chip", model.chip}};
  all["networks"] = Json::array();
  for (const Net& net : model.nets) {
    Json stages = Json::array();
    for (const NetStage& s : net.stages)
      stages.push_back({{"inputs", json_of(s.inputs)}, {"outputs", json_of(s.outputs)}, {"dynamic", s.is_dynamic}, {"weights", s.weights}, {"working_memory", s.working}});
    all["networks"].push_back({{"name", net.name}, {"stages", std::move(stages)}});
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);  // names are whatever bytes the file has
}

void require_cvimodel(std::string_view bytes, std::string_view chip) {
  constexpr size_t header = 48, chip_at = 30;
  if (bytes.size() < header || bytes.substr(0, 8) != "CviModel") damaged("is no cvimodel: it does not begin with CviModel");
  if (const auto table = number<uint32_t>(bytes, 8); table > bytes.size() - header)
    damaged("(cvimodel) is cut short: its header tells of " + std::to_string(table) + " bytes, behind it are " + std::to_string(bytes.size() - header));
  const std::string_view found(bytes.data() + chip_at, ::strnlen(bytes.data() + chip_at, 16));
  if (found != chip) damaged("(cvimodel) was made for " + shown(found) + ", wanted " + std::string(chip));
}

}  // namespace bmcompiler_plugin
