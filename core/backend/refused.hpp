// SPDX-License-Identifier: Apache-2.0
// core/backend: what refused plugin files would have been, by their notes alone: the reason why nothing serves a device.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/plugin_file.hpp"

namespace optima {

/// Files refused although their note claims the role, in scan order, those left out that a usable file of the same id and role stands in
/// for. They point into `files`.
std::vector<const PluginFile*> refused_files(std::span<const PluginFile> files, bool Manifest::*role);

/// Those that claim the kind.
std::vector<const PluginFile*> claiming(std::span<const PluginFile* const> refused, std::string_view kind);
/// Those of the plugin.
std::vector<const PluginFile*> of_plugin(std::span<const PluginFile* const> refused, std::string_view id);

/// "; '/p/acme.so' claims it and was refused: crashes in init (SIGSEGV)", for the end of a message; each of `refused` one such phrase,
/// empty when there is none.
std::string refused_hint(std::span<const PluginFile* const> refused, std::string_view claim = "claims it");

/// "'/p/acme.so', plugin 'acme' for NPU, was refused and takes no part: crashes in init (SIGSEGV)".
std::string refused_note(const PluginFile& file);

}  // namespace optima
