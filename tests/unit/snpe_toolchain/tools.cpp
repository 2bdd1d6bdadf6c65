// SPDX-License-Identifier: Apache-2.0
#include "tools.hpp"

#include <unistd.h>

#include <sstream>

#include "optima/plugin/spawn.hpp"

namespace optima::test {
namespace {

/// models.py's folder, filled once.
const TempFolder& models() {
  static const TempFolder folder;
  static const bool made = [] {
    sdk::Command c;
    c.program = wheels() + "/bin/python";
    c.arguments = {"-B", SNPE_MODELS, folder.path()};
    c.environment = sdk::inherited_environment();
    sdk::require_good(sdk::spawn(c), "models.py");
    return true;
  }();
  REQUIRE(made);
  return folder;
}

/// The process's parent; 0 when there is none of that number.
int parent_of(int pid, char* state) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(line.substr(name_end + 1));
  int parent = 0;
  rest >> *state >> parent;
  return parent;
}

}  // namespace

Model model(const std::string& name) {
  Model m;
  m.folder = models() / name;
  std::ifstream ports(m.folder + "/ports");
  for (std::string line; std::getline(ports, line);) {
    std::istringstream words(line);
    std::string kind;
    snpe_plugin::Port port;
    words >> kind >> port.name >> port.dtype;
    for (int64_t d; words >> d;) port.dims.push_back(d);
    auto& list = kind == "i" ? m.inputs : m.outputs;
    (kind == "i" ? m.in : m.out).push_back(get(m.folder + "/" + kind + std::to_string(list.size())));
    list.push_back(port);
  }
  REQUIRE(!m.outputs.empty());
  return m;
}

double distance(const std::string& a, const std::string& b) {
  REQUIRE(a.size() == b.size());
  double error = 0, scale = 1e-30;
  for (size_t k = 0; k + 4 <= a.size(); k += 4) {
    float x, y;
    std::memcpy(&x, &a[k], 4), std::memcpy(&y, &b[k], 4);
    if (std::isnan(x)) return INFINITY;
    error = std::max(error, std::abs(double{x} - y)), scale = std::max(scale, std::abs(double{y}));
  }
  return error / scale;
}

std::vector<int> children() {
  std::vector<int> all;
  for (const fs::directory_entry& e : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(e.path().filename().c_str());
    char state = 'Z';
    int above = pid > 0 ? parent_of(pid, &state) : 0;
    if (state == 'Z') continue;
    for (char ignored; above > 1 && above != ::getpid();) above = parent_of(above, &ignored);
    if (above == ::getpid()) all.push_back(pid);
  }
  return all;
}

snpe_plugin::Loadable loadable(const snpe_plugin::Built& built, const Model& m) {
  snpe_plugin::Loadable what;
  what.kind = "HEXAGON", what.dlcs = built.dlcs;
  what.context = built.contexts.at(0).file, what.wrapper = built.contexts.at(0).wrapper, what.soc = built.contexts.at(0).soc;
  what.inputs = &m.inputs, what.outputs = &m.outputs;
  return what;
}

}  // namespace optima::test
