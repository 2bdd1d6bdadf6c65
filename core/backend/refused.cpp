// SPDX-License-Identifier: Apache-2.0
#include "core/backend/refused.hpp"

#include <algorithm>

#include "core/support/text.hpp"

namespace optima {

std::vector<const PluginFile*> refused_files(std::span<const PluginFile> files, bool Manifest::*role) {
  std::vector<const PluginFile*> out;
  for (const PluginFile& file : files) {
    const auto stands_in = [&](const PluginFile& other) { return other.refusal.ok() && other.manifest.id == file.manifest.id && other.manifest.*role; };
    if (!file.refusal.ok() && file.manifest.*role && std::none_of(files.begin(), files.end(), stands_in)) out.push_back(&file);
  }
  return out;
}

std::vector<const PluginFile*> claiming(std::span<const PluginFile* const> refused, std::string_view kind) {
  std::vector<const PluginFile*> out;
  for (const PluginFile* file : refused)
    if (file->manifest.find_kind(kind)) out.push_back(file);
  return out;
}

std::vector<const PluginFile*> of_plugin(std::span<const PluginFile* const> refused, std::string_view id) {
  std::vector<const PluginFile*> out;
  for (const PluginFile* file : refused)
    if (file->manifest.id == id) out.push_back(file);
  return out;
}

std::string refused_hint(std::span<const PluginFile* const> refused, std::string_view claim) {
  std::string out;
  for (const PluginFile* file : refused) out += cat("; ", quote(file->path), " ", claim, " and was refused: ", file->refusal.message());
  return out;
}

std::string refused_note(const PluginFile& file) {
  std::vector<std::string> kinds;
  for (const DeviceKind& kind : file.manifest.devices) kinds.push_back(kind.kind);
  return cat(quote(file.path), ", plugin ", quote(file.manifest.id), kinds.empty() ? "" : cat(" for ", join(kinds)), ", was refused and takes no part: ",
             file.refusal.message());
}

}  // namespace optima
