// SPDX-License-Identifier: Apache-2.0
// core/runtime: plugins from folders, through registries.
#include <mutex>

#include "core/loader/options.hpp"
#include "core/runtime/context.hpp"
#include "core/runtime/fence.hpp"

namespace optima {
namespace {

class BorrowedPlugins : public PluginSource {
 public:
  explicit BorrowedPlugins(const Registry& registry) : registry_(registry) {}
  Backend* find(std::string_view id) const override { return registry_.runtime(id); }
  std::vector<Backend*> plugins() const override { return registry_.runtimes(); }
  std::vector<PluginFile> files() const override { return {registry_.files().begin(), registry_.files().end()}; }

 private:
  const Registry& registry_;
};

class FolderPlugins : public PluginSource {
 public:
  explicit FolderPlugins(PluginFolders given) : given_(std::move(given)) {}

  /// `all`: every setting must be of a plugin in these folders; else those of other plugins wait for theirs.
  Status scan(std::vector<std::string> folders, bool all) {
    ScanOptions scan;
    scan.folders = std::move(folders);
    scan.allow_writable_by_others = given_.allow_writable;
    HostServices services;
    services.name = given_.host_name;
    services.version = given_.host_version;
    services.extension = host_extension;
    OPTIMA_ASSIGN(Registry registry, Registry::scan(scan, std::move(services)));
    OPTIMA_RETURN_IF_ERROR(registry.set_options(all ? given_.options : registry.own_options(given_.options)));
    const std::lock_guard lock(mutex_);
    registries_.push_back(std::make_unique<Registry>(std::move(registry)));
    return {};
  }
  Backend* find(std::string_view id) const override {
    const std::lock_guard lock(mutex_);
    for (const auto& r : registries_)
      if (Backend* plugin = r->runtime(id)) return plugin;
    return nullptr;
  }
  std::vector<Backend*> plugins() const override {
    std::vector<Backend*> out;
    const std::lock_guard lock(mutex_);
    for (const auto& r : registries_)
      for (Backend* plugin : r->runtimes()) out.push_back(plugin);
    return out;
  }
  std::vector<PluginFile> files() const override {
    std::vector<PluginFile> out;
    const std::lock_guard lock(mutex_);
    for (const auto& r : registries_) out.insert(out.end(), r->files().begin(), r->files().end());
    return out;
  }
  Status add_folder(const std::string& folder) override { return scan({folder}, false); }
  Status settled() const override {
    OptionValues waiting = given_.options;
    std::vector<const Manifest*> manifests;
    const std::lock_guard lock(mutex_);
    for (const auto& r : registries_) {
      for (const auto& [name, value] : r->own_options(waiting)) waiting.erase(name);
      for (const PluginFile& f : r->files())
        if (f.refusal.ok()) manifests.push_back(&f.manifest);
    }
    return check_options(waiting, manifests);
  }

 private:
  const PluginFolders given_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Registry>> registries_;
};

}  // namespace

Result<std::unique_ptr<PluginSource>> scan_plugins(PluginFolders given) {
  const std::vector<std::string> folders = given.folders;
  auto source = std::make_unique<FolderPlugins>(std::move(given));
  if (!folders.empty()) OPTIMA_RETURN_IF_ERROR(source->scan(folders, true));
  return std::unique_ptr<PluginSource>(std::move(source));
}

std::unique_ptr<PluginSource> borrow_plugins(const Registry& registry) { return std::make_unique<BorrowedPlugins>(registry); }

}  // namespace optima
