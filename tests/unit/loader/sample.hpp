// SPDX-License-Identifier: Apache-2.0
// tests/unit/registry: small graphs, folders and registries that the tests of this room share.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/loader/registry.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "optima/image.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

namespace fs = std::filesystem;

/// Nodes Identity x -> y0 -> y1 ... of one shape, ids 11, 12, ...
struct SampleGraph {
  image::Bytes bytes;
  std::vector<optima_blob> blobs;
  optima_graph raw{};

  explicit SampleGraph(image::Bytes b) : bytes(std::move(b)) {
    raw.struct_size = sizeof raw;
    raw.image = bytes.image();
  }
  SampleGraph(const SampleGraph&) = delete;
};

inline image::Contents identities(uint32_t count, std::vector<int64_t> dims = {2, 3}, int32_t dtype = OPTIMA_F32, std::string op = "Identity") {
  image::Contents c;
  image::Graph g;
  g.name = "sample";
  std::vector<image::Dim> shape;
  for (int64_t d : dims) shape.push_back({d, ""});
  g.values.push_back({"x", dtype, shape});
  for (uint32_t i = 0; i < count; ++i) {
    g.values.push_back({cat("y", i), dtype, shape});
    image::Node n;
    n.name = cat("node_", i);
    n.op_type = op;
    n.id = 11 + i;
    n.since_version = 13;
    n.inputs = {i};
    n.outputs = {i + 1};
    g.nodes.push_back(n);
  }
  g.inputs = {0};
  g.outputs = {count};
  c.graphs.push_back(g);
  c.opsets.push_back({"", 21});
  return c;
}

/// What was logged while this lives, as "level component: text".
class LogTrap {
 public:
  LogTrap() {
    set_log([this](LogLevel level, std::string_view component, std::string_view text) { lines.push_back(cat(name_of(level), " ", component, ": ", text)); }, LogLevel::Trace);
  }
  ~LogTrap() { set_log({}); }
  bool has(std::string_view part) const {
    for (const std::string& l : lines)
      if (l.find(part) != l.npos) return true;
    return false;
  }
  std::vector<std::string> lines;
};

inline HostServices services() {
  HostServices s;
  s.name = "test";
  s.version = "1";
  return s;
}

inline std::string plugins_folder() { return OPTIMA_BINARY_DIR "/lib/optima/plugins"; }

inline Registry scanned(const std::string& folder, HostServices host = services()) {
  ScanOptions options;
  options.folders = {folder};
  auto registry = Registry::scan(options, std::move(host));
  REQUIRE_MESSAGE(registry.ok(), registry.status().message());
  return std::move(*registry);
}

inline std::string bad_plugin(std::string_view name) { return cat(OPTIMA_BAD_PLUGINS "/", name, ".so"); }

/// A plugin folder of its own with copies of the named bad plugins.
struct PluginFolder {
  TempFolder folder;
  explicit PluginFolder(const std::vector<std::string>& names = {}) {
    for (const std::string& n : names) add(n);
  }
  std::string add(const std::string& name, const std::string& as = "") const {
    const std::string to = folder / ((as.empty() ? name : as) + ".so");
    fs::create_directories(fs::path(to).parent_path());
    fs::copy_file(bad_plugin(name), to);
    return to;
  }
  const std::string& path() const { return folder.path(); }
};

/// A registry over the trial plugin, and that plugin. Options as "act", "load", "init".
struct TrialHost {
  PluginFolder folder{{"trial"}};
  Registry registry;
  Backend* plugin;
  explicit TrialHost(OptionValues options = {}, HostServices host = services()) : registry(scanned(folder.path(), std::move(host))) {
    set(std::move(options));
    plugin = registry.compiler("trial");
    REQUIRE(plugin);
  }
  void set(OptionValues options) { REQUIRE_MESSAGE(registry.set_options(options).ok(), registry.set_options(options).message()); }
};

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

inline void spill(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace optima::test
