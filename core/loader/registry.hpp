// SPDX-License-Identifier: Apache-2.0
// core/loader: finds, checks, loads and keeps plugins. The only room with Boost.DLL; everything C about the seam's calls
// stays behind this door. A plugin file is never unloaded.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.hpp"
#include "core/backend/plugin_file.hpp"

namespace optima {

struct ScanOptions {
  std::vector<std::string> folders;     ///< each scanned itself and one level below
  std::vector<std::string> allow;       ///< plugin ids; empty = all
  bool allow_writable_by_others = false; ///< also take files that others than root and the user may write, see trust.hpp
  std::string cache_folder;             ///< results of the throw-away probe, by file hash; empty = probe every time
  std::string probe_program;            ///< program run as `P __probe FILE`; empty = no probe (the runtime on a target)
  double probe_seconds = 10;            ///< a probe that takes longer counts as hanging
};

/// What the host offers beyond blobs and logs; set once before the first plugin is loaded.
struct HostServices {
  std::string name, version;
  std::string cache_folder;  ///< plugins' own caches lie below, one folder each; empty = none
  /// optima_host.graph_to_onnx; empty in the runtime (the plugin then gets UNSUPPORTED). Any thread.
  std::function<Status(const optima_graph& graph, const std::string& folder)> graph_to_onnx;
  /// optima_host.get_extension, as "optima.fence/1"; null when unknown. The table must outlive the Registry. Any thread.
  std::function<const void*(std::string_view id)> extension;
};

/// The plugins of a process. Of two files with one (id, role), and of two halves with different build ids, the first in scan
/// order (folders as given, then path) is used and the later one refused. Const members may be called from any thread.
class Registry {
 public:
  /// Reads every candidate's note without loading it. A missing folder is InvalidInput; refused files are entries, not errors.
  static Result<Registry> scan(const ScanOptions& options, HostServices services);
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;
  ~Registry();

  /// Every file looked at, in scan order.
  std::span<const PluginFile> files() const;
  /// What a user should know of the folders: one that holds sources and where built plugins lie.
  std::span<const std::string> notes() const;
  /// The first refusal of a file with this id, to explain why there is no such plugin; ok when there is none.
  Status refusal_of(std::string_view id) const;
  /// Usable files with the role, ordered by `order` (ids given by the user), then priority (high first), then id.
  std::vector<Backend*> compilers() const;
  std::vector<Backend*> runtimes() const;
  Backend* compiler(std::string_view id) const;  ///< null when there is none
  Backend* runtime(std::string_view id) const;
  /// Options for every later init/compile/load, "plugin.key=value" form; InvalidInput for unknown names or values, nearest shown.
  Status set_options(const OptionValues& options);
  /// Those options that are this registry's to judge: of its plugins, the refused ones among them, and of all plugins
  /// ("optima.threads").
  OptionValues own_options(const OptionValues& options) const;
  /// Those of them that no manifest calls secret: what may be stored and shown.
  OptionValues public_options(OptionValues options) const;
  void set_order(std::vector<std::string> ids);

 private:
  struct State;
  std::unique_ptr<State> state_;
  explicit Registry(std::unique_ptr<State> state);
};

}  // namespace optima
