// SPDX-License-Identifier: Apache-2.0
// core/loader: version settlement, rules V1-V4 of docs/plugin-abi.md.
#include "core/loader/negotiate.hpp"

#include <cstddef>

#include "core/loader/seam.hpp"
#include "core/support/text.hpp"
#include "optima/plugin/sanitizer.hpp"

namespace optima {

namespace {

constexpr size_t kFrozenWords = 4 * sizeof(uint32_t);
constexpr size_t kRootNeeded = offsetof(optima_plugin_api, get_extension) + sizeof(void*);

Status bad_size(uint32_t found, size_t least) {
  return plugin_error(cat("its root table has size ", found, ", wanted ", least, "..", seam::kLargestStruct));
}

Status versions_agree(const optima_plugin_api& api, uint32_t asked) {
  if (api.abi_major != asked) return plugin_error(cat("answered ABI major ", api.abi_major, " when asked for ", asked));
  if (asked == 0 && api.abi_minor != OPTIMA_ABI_MINOR)
    return plugin_error(cat("speaks ABI 0.", api.abi_minor, ", this program speaks 0.", OPTIMA_ABI_MINOR, " (at major 0 both must be equal)"));
  if (api.min_host_minor > OPTIMA_ABI_MINOR)
    return plugin_error(cat("wants a host of minor ", api.min_host_minor, " or later, this program has ", OPTIMA_ABI_MINOR));
  return {};
}

Status functions_present(const optima_plugin_api& api) {
  const std::pair<bool, const char*> wanted[] = {
      {api.init != nullptr, "init"}, {api.deinit != nullptr, "deinit"}, {api.devices != nullptr, "devices"}, {api.get_extension != nullptr, "get_extension"}};
  for (const auto& [present, name] : wanted)
    if (!present) return plugin_error(cat("its root table lacks ", name));
  return {};
}

Status text_agrees(const char* what, optima_str found, const std::string& note) {
  const std::string said = seam::raw_text(found, 256);
  if (said == note) return {};
  return plugin_error(cat("its root table says ", what, " ", quote(said), ", its note says ", quote(note)));
}

}  // namespace

std::span<const uint32_t> served_majors() {
  static constexpr uint32_t majors[] = {OPTIMA_ABI_MAJOR};
  return majors;
}

Result<optima_plugin_api> negotiate(optima_query_fn query, const optima_host& host, std::span<const uint32_t> majors, std::string_view plugin) {
  std::string why;
  for (const uint32_t major : majors) {
    optima_host shown = host;  // lives as long as query: it may not be kept
    shown.abi_major = major;
    seam::CallStatus status;
    const optima_plugin_api* root = nullptr;
    const int32_t code = seam::call(plugin, "query", status, [&] {
      root = query(major, &shown, status.raw());
      return OPTIMA_OK;
    });
    if (code != OPTIMA_OK) return plugin_error(cat("query ", status.text()));
    if (!root) {
      if (const std::string said = status.text(); !said.empty()) why = said;
      continue;
    }
    if (!seam::sane(root, kFrozenWords)) return bad_size(root->struct_size, kFrozenWords);
    const optima_plugin_api api = seam::known(root);
    OPTIMA_RETURN_IF_ERROR(versions_agree(api, major));
    if (root->struct_size < kRootNeeded) return bad_size(root->struct_size, kRootNeeded);
    OPTIMA_RETURN_IF_ERROR(functions_present(api));
    return api;
  }
  const std::string asked = majors.size() == 1 ? cat("major ", majors[0]) : cat("majors ", majors.front(), " to ", majors.back());
  return plugin_error(why.empty() ? cat("refuses ABI ", asked, " and gave no reason") : cat("refuses ABI ", asked, ": ", why));
}

Status abi_served(const Manifest& manifest, std::span<const uint32_t> majors) {
  std::string spoken;
  for (const auto& [major, minor] : manifest.abi) {
    for (const uint32_t m : majors)
      if (m == major && (major != 0 || minor == OPTIMA_ABI_MINOR)) {
        if (manifest.min_host_minor <= OPTIMA_ABI_MINOR) return {};
        return plugin_error(cat("wants a host of minor ", manifest.min_host_minor, " or later, this program has ", OPTIMA_ABI_MINOR));
      }
    spoken += cat(spoken.empty() ? "" : ", ", major, ".", minor);
  }
  return plugin_error(cat("speaks ABI ", spoken, ", this program speaks ", OPTIMA_ABI_MAJOR, ".", OPTIMA_ABI_MINOR));
}

Status matches_note(const optima_plugin_api& api, const Manifest& manifest) {
  OPTIMA_RETURN_IF_ERROR(text_agrees("id", api.id, manifest.id));
  OPTIMA_RETURN_IF_ERROR(text_agrees("version", api.version, manifest.version));
  OPTIMA_RETURN_IF_ERROR(text_agrees("build id", api.build_id, manifest.build_id));
  const bool single = api.flags & OPTIMA_PLUGIN_SINGLE_INSTANCE;
  if (single != manifest.single_instance)
    return plugin_error(cat("its root table ", single ? "has" : "lacks", " the flag single_instance, its note does not agree"));
  return {};
}

std::string_view own_sanitizer() { return sdk::kSanitizerName; }

}  // namespace optima
