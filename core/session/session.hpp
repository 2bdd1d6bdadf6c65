// SPDX-License-Identifier: Apache-2.0
// core/session: what a program that compiles wires together: config, plugins with their options, caches and the host's services.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/compile/compile.hpp"
#include "core/config/config.hpp"
#include "core/loader/registry.hpp"
#include "core/support/status.hpp"

namespace optima {

/// The program that a session is of.
struct SessionHost {
  std::string name, version;  ///< told to plugins
  std::string executable;     ///< absolute: probes plugin files as `P __probe FILE`, and the default plugin folder lies beside it; empty = neither
  std::function<void(const std::string&)> note = {};  ///< told what the user should know of the plugin folders; may be empty
};

/// Settings first, then the registry, which is scanned on first use. One thread at a time; what the registry gives out follows its own rules.
class Session {
 public:
  explicit Session(SessionHost host) : host_(std::move(host)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Folders add up; without any: OPTIMA_PLUGINS, else ../lib/optima/plugins of the executable's folder. "~" expanded.
  void add_plugin_folder(const std::string& folder);
  /// Files that others than root and the user may write are taken, too.
  void allow_writable_plugins() { allow_writable_ = true; }
  /// InvalidInput as read_config(). Its plugin options replace those that are set.
  Status load_config(const std::string& path);
  /// `plugin.key=value` settings, on top of the config's. Usage when a setting has no such form; InvalidInput, when plugins are scanned
  /// already, for an unknown name or value.
  Status set_options(const std::vector<std::string>& settings);

  /// The plugins, with the options, order and allow-list that are set. Lives as long as the session.
  Result<Registry*> registry();
  const Config& config() const { return config_; }
  /// Options by plugin as they are in force, for the package.
  const OptionValues& options() const { return options_; }

  /// Requests that hold the session's config, and options.
  PlanRequest plan_request() const;
  CompileRequest compile_request(PlanRequest plan) const;

 private:
  std::vector<std::string> default_folders() const;

  const SessionHost host_;
  std::vector<std::string> folders_;
  Config config_;
  OptionValues options_;
  bool allow_writable_ = false;
  std::optional<Registry> registry_;
};

}  // namespace optima
