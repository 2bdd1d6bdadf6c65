// SPDX-License-Identifier: Apache-2.0
// core/runtime: what models of one process share: where plugins come from, and threads for asynchronous requests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/loader/registry.hpp"
#include "core/support/status.hpp"

namespace optima {

class WorkerPool;

/// Where a model's plugins come from. All members from any thread. Plugins given out stay valid as long as the source.
class PluginSource {
 public:
  virtual ~PluginSource() = default;
  /// The runtime side of the plugin; null when there is none.
  virtual Backend* find(std::string_view id) const = 0;
  /// All runtime sides, in the order of preference.
  virtual std::vector<Backend*> plugins() const = 0;
  /// Every file looked at, the refused ones with their reason.
  virtual std::vector<PluginFile> files() const { return {}; }
  /// Another folder, looked into after the earlier ones; the source's options hold for its plugins. InvalidInput when it is missing or
  /// its plugins do not know one of theirs; Usage when this source has no folders.
  virtual Status add_folder(const std::string& folder);
  /// Once all folders are there: InvalidInput when an option waits for a plugin that none of them has.
  virtual Status settled() const { return {}; }
};

struct PluginFolders {
  std::vector<std::string> folders;
  OptionValues options;  ///< "plugin.key" -> value
  std::string host_name = "optima_runtime", host_version;
  bool allow_writable = false;  ///< files that others may change, too
};
/// Plugins of folders, through a registry of its own. InvalidInput when a folder is missing or an option unknown; without a folder
/// options are kept for those that are added.
Result<std::unique_ptr<PluginSource>> scan_plugins(PluginFolders folders);
/// Plugins of a registry that somebody else keeps, for longer than the source.
std::unique_ptr<PluginSource> borrow_plugins(const Registry& registry);

/// Models share it and must not outlive it. Any thread.
class RuntimeContext {
 public:
  /// `workers`: threads for asynchronous requests, started when needed; 0 = one per hardware thread, at most 8.
  explicit RuntimeContext(std::unique_ptr<PluginSource> plugins, uint32_t workers = 0);
  ~RuntimeContext();
  /// Whether this process is a fork() of the one that made the context: threads of the context, and runs that they had, are in that one alone.
  bool is_forked() const;
  PluginSource& plugins() const { return *plugins_; }
  WorkerPool& pool() const { return *pool_; }

 private:
  std::unique_ptr<PluginSource> plugins_;
  std::unique_ptr<WorkerPool> pool_;
  const int process_;
};

}  // namespace optima
