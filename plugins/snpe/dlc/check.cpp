// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <algorithm>
#include <map>

namespace snpe_plugin {
namespace {

[[noreturn]] void failed(const std::string& what) { throw sdk::Error(OPTIMA_TOOL_FAILED, what); }

const std::string& name_in_file(const Port& p) { return p.file_name.empty() ? p.name : p.file_name; }

/// Types that a tensor of ours may have in the file. Codes are integers to the model and "fixed" to the tools; 64-bit integers are 32-bit ones to most of these.
std::vector<int32_t> types_of(int32_t dtype, bool of_sdk) {
  switch (dtype) {
    case OPTIMA_F32:
      if (of_sdk) return {0x0232, 0x0216, 0x0308, 0x0316, 0x0408, 0x0416};
      return {0x0232};
    case OPTIMA_F16: return {0x0216};
    case OPTIMA_F64: return {0x0264};
    case OPTIMA_I8: return {0x0008, 0x0308};
    case OPTIMA_I16: return {0x0016, 0x0316};
    case OPTIMA_I32: return {0x0032, 0x0332};
    case OPTIMA_I64: return {0x0064, 0x0032};
    case OPTIMA_U8: return {0x0108, 0x0408};
    case OPTIMA_U16: return {0x0116, 0x0416};
    case OPTIMA_U32: return {0x0132, 0x0432};
    case OPTIMA_U64: return {0x0164, 0x0132};
    case OPTIMA_BOOL: return {0x0508};
    default: return {};
  }
}

/// "NCHW" to "NHWC": dims as they are in the file. A layout that is not of the port's rank, or none, changes nothing.
std::vector<int64_t> dims_in_file(const Port& p) {
  if (p.dims.empty()) return {1};
  if (p.layout == "NHWC" && p.dims.size() == 4) return {p.dims[0], p.dims[2], p.dims[3], p.dims[1]};
  return p.dims;
}

std::string text(const std::vector<int64_t>& dims) {
  std::string out;
  for (const int64_t d : dims) out += (out.empty() ? "" : "x") + std::to_string(d);
  return out.empty() ? "no dims" : out;
}

std::string text(const std::vector<int32_t>& types) {
  std::string out;
  for (const int32_t t : types) out += (out.empty() ? "" : " or ") + type_name(t);
  return out;
}

void check_port(const char* what, const Port& p, const DlcTensor& t, bool of_sdk) {
  const std::string who = std::string(what) + " '" + p.name + "' of the DLC ";
  const std::vector<int64_t> dims = dims_in_file(p);
  if (t.dims != dims) failed(who + "has dims " + text(t.dims) + ", wanted " + text(dims));
  const std::vector<int32_t> types = types_of(p.dtype, of_sdk);
  if (!types.empty() && std::count(types.begin(), types.end(), t.type) == 0) failed(who + "is " + type_name(t.type) + ", wanted " + text(types));
}

using Tensors = std::map<std::string, const DlcTensor*>;

/// What the DLCs want from outside, and all that they give.
struct Border {
  Tensors inputs, outputs;
  explicit Border(const std::vector<Dlc>& dlcs) {
    for (const Dlc& d : dlcs)
      for (const DlcGraph& g : d.graphs) add(g);
  }
  void add(const DlcGraph& g) {
    for (const DlcTensor& t : g.tensors)
      if (t.is_input() && outputs.count(t.name) == 0) inputs.emplace(t.name, &t);
    for (const DlcTensor& t : g.tensors)
      if (t.is_output()) outputs.emplace(t.name, &t);
  }
};

void check_inputs(Tensors given, const std::vector<Port>& wanted, bool of_sdk) {
  for (const Port& p : wanted) {
    const auto at = given.find(name_in_file(p));
    if (at == given.end()) continue;  // nothing reads it
    check_port("input", p, *at->second, of_sdk);
    given.erase(at);
  }
  if (!given.empty()) failed("the DLC has an input '" + given.begin()->first + "', which the subgraph has not");
}

}  // namespace

void check_ports(const std::vector<Dlc>& dlcs, const std::vector<Port>& inputs, const std::vector<Port>& outputs, bool of_sdk) {
  if (std::any_of(dlcs.begin(), dlcs.end(), [](const Dlc& d) { return d.graphs.empty(); })) return;
  const Border border(dlcs);
  check_inputs(border.inputs, inputs, of_sdk);
  for (const Port& p : outputs) {
    const auto at = border.outputs.find(name_in_file(p));
    if (at == border.outputs.end()) failed("the DLC has no output '" + name_in_file(p) + "', which the subgraph has");
    check_port("output", p, *at->second, of_sdk);
  }
}

}  // namespace snpe_plugin
