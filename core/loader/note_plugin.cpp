// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "core/backend/tier_one.hpp"
#include "core/loader/note_plugin.hpp"
#include "core/loader/parse_manifest.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

class NotePlugin final : public Backend {
 public:
  NotePlugin(Manifest manifest, std::string path) : manifest_(std::move(manifest)), path_(std::move(path)) {}

  const Manifest& manifest() const override { return manifest_; }
  const std::string& path() const override { return path_; }

  Result<std::vector<DeviceInfo>> devices(std::string* why_none) override {
    if (why_none) *why_none = no_code().message();
    return std::vector<DeviceInfo>();
  }

  Result<Answers> ask(const optima_graph& graph, std::span<const uint32_t> nodes, const TargetDevice& device) override {
    std::unordered_map<uint32_t, const optima_node*> by_id;
    for (uint32_t i = 0; i < graph.image->nodes.count; ++i) {
      const optima_node* node = optima_get_node(graph.image, i);
      by_id.emplace(node->id, node);
    }
    std::vector<Verdict> out;
    for (const uint32_t id : nodes) out.push_back(judge_by_note(manifest_, device.kind, graph, *by_id.at(id)));
    return Answers(std::move(out));
  }

  std::variant<Compiled, CompileFailure> compile(const CompileJob&) override { return CompileFailure{no_code(), OPTIMA_DEPENDENCY}; }
  bool has_schema() override { return false; }
  Result<std::vector<image::Value>> infer(const optima_graph&, uint32_t) override { return no_code(); }
  Result<Compatibility> check_artifact(const Artifact&, const TargetDevice&) override { return no_code(); }
  Result<std::unique_ptr<LoadedProgram>> load(Artifact, const TargetDevice&, const LoadJob&) override { return no_code(); }

 private:
  Status no_code() const {
    return plugin_error(cat("plugin ", quote(manifest_.id), " is the manifest ", quote(path_), " alone, wanted a plugin file"));
  }

  const Manifest manifest_;
  const std::string path_;
};

}  // namespace

Result<std::unique_ptr<Backend>> read_note_plugin(const std::string& path) {
  OPTIMA_ASSIGN(const std::string text, read_file(path));
  OPTIMA_ASSIGN(Manifest manifest, parse_manifest(text, path));
  if (!manifest.compiler) return invalid_input(cat(quote(path), ": roles has no 'compiler', wanted the manifest of a plugin that compiles"));
  for (DeviceKind& kind : manifest.devices) kind.is_virtual = true;
  return std::unique_ptr<Backend>(new NotePlugin(std::move(manifest), path));
}

}  // namespace optima
