// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace runner {
namespace {

std::vector<int64_t> without_ones(std::vector<int64_t> dims) {
  std::erase(dims, 1);
  return dims;
}

bool holds(const std::vector<int64_t>& most, const std::vector<int64_t>& dims) {
  return most.size() == dims.size() && std::equal(dims.begin(), dims.end(), most.begin(), [](int64_t a, int64_t b) { return a <= b; });
}

bool takes(const Shapes& stage, const std::vector<Plane*>& inputs, bool is_dynamic) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<int64_t>& wanted = stage.inputs[k];
    const std::vector<int64_t>& dims = inputs[k]->dims;
    if (!(is_dynamic ? holds(wanted, dims) : without_ones(wanted) == without_ones(dims))) return false;
  }
  return true;
}

/// The tools name a tensor that they cast "<name>_<type>".
std::vector<Plane>::iterator plane_for(const std::string& port, std::vector<Plane>& planes) {
  const auto named = [&](const std::string& name) { return std::find_if(planes.begin(), planes.end(), [&](const Plane& p) { return p.name == name; }); };
  auto at = named(port);
  for (const std::string cast : {"_f32", "_f16", "_bf16", "_si32", "_si16", "_si8", "_ui8"})
    if (at == planes.end() && port.ends_with(cast)) at = named(port.substr(0, port.size() - cast.size()));
  return at;
}

int64_t room_of(const Shapes& stage) {
  int64_t all = 0;
  for (const std::vector<int64_t>& dims : stage.inputs) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    all += n;
  }
  return all;
}

}  // namespace

uint64_t Plane::size() const {
  uint64_t bits = bits_of(type);
  if (bits == 0) throw Failure{"invalid", "tensor '" + name + "' has element type " + std::to_string(type) + ", which is not known"};
  for (const int64_t d : dims) {
    if (d < 0 || (d > 0 && bits > (uint64_t{1} << 50) / static_cast<uint64_t>(d))) throw Failure{"invalid", "tensor '" + name + "' has shape " + shown(dims) + ", larger than any"};
    bits *= static_cast<uint64_t>(d);
  }
  return (bits + 7) / 8;
}

Library::Library(const std::string& path, bool global) : path_(path), handle_(::dlopen(path.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL))) {
  if (!handle_) throw Failure{"dependency", std::string("library cannot be opened: ") + ::dlerror()};
}

void* Library::find(const char* name) const {
  void* found = ::dlsym(handle_, name);
  if (!found) throw Failure{"dependency", "library '" + path_ + "' has no " + name};
  return found;
}

std::vector<Plane*> matched(const Ports& ports, std::vector<Plane>& planes, const char* what) {
  if (planes.size() != ports.names.size())
    throw Failure{"invalid", "model has " + std::to_string(ports.names.size()) + " " + what + "s, " + std::to_string(planes.size()) + " were given"};
  std::vector<Plane*> out;
  std::vector<Plane*> left;  // planes that no port has by name: a single one is for the single port that is left
  for (Plane& p : planes) left.push_back(&p);
  for (const std::string& name : ports.names) {
    const auto at = plane_for(name, planes);
    out.push_back(at == planes.end() ? nullptr : &*at);
    std::erase(left, out.back());
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (!out[k] && left.size() == 1) out[k] = std::exchange(left[0], nullptr);
    if (!out[k]) throw Failure{"invalid", std::string("model has ") + what + " '" + ports.names[k] + "', which was not given"};
    if (out[k]->type != ports.types[k])
      throw Failure{"invalid", std::string(what) + " '" + out[k]->name + "' has element type " + std::to_string(out[k]->type) + ", the model " + std::to_string(ports.types[k])};
  }
  return out;
}

std::string shown(const std::vector<int64_t>& dims) {
  std::string s = "[";
  for (size_t k = 0; k < dims.size(); ++k) (s += k ? ", " : "") += std::to_string(dims[k]);
  return s + "]";
}

size_t stage_for(const std::vector<Shapes>& stages, const std::vector<Plane*>& inputs, bool is_dynamic) {
  size_t best = stages.size();
  for (size_t s = 0; s < stages.size(); ++s)
    if (takes(stages[s], inputs, is_dynamic) && (best == stages.size() || (is_dynamic && room_of(stages[s]) < room_of(stages[best])))) best = s;
  if (best < stages.size()) return best;
  std::string found, wanted;
  for (const Plane* p : inputs) found += (found.empty() ? "" : ", ") + shown(p->dims);
  for (const Shapes& s : stages) {
    wanted += wanted.empty() ? "" : " or ";
    for (size_t k = 0; k < s.inputs.size(); ++k) wanted += (k ? ", " : "") + shown(s.inputs[k]);
  }
  throw Failure{"invalid", "inputs have shapes " + found + ", the model was compiled for " + (is_dynamic ? "at most " : "") + wanted};
}

void take(Plane& into, const std::vector<int64_t>& dims, const char* data) {
  if (without_ones(dims) != without_ones(into.dims)) throw Failure{"failed", "output '" + into.name + "' came as " + shown(dims) + ", wanted " + shown(into.dims)};
  std::memcpy(into.bytes.data(), data, into.bytes.size());
}

}  // namespace runner
