// SPDX-License-Identifier: Apache-2.0
// core/loader: what a user wrote as plugin.key=value, checked against manifests and made typed for the seam.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/manifest.hpp"
#include "core/loader/registry.hpp"

namespace optima {

/// One value as the seam carries it.
struct TypedOption {
  std::string name;
  uint32_t type = OPTIMA_OPTION_STR;
  int64_t i64 = 0;
  double f64 = 0;
  std::string text;               ///< STR and BYTES
  std::vector<std::string> list;  ///< LIST of STR
};

/// InvalidInput: option, found (unless the option is secret), wanted. bool: true/false, on/off, yes/no, 1/0; bytes: hexadecimal digits; list: commas.
Result<TypedOption> parse_option(const OptionSchema& schema, std::string_view text);
/// The default as a user would write it; false when the schema has none.
bool default_of(const OptionSchema& schema, std::string* text);

/// The seam's view of typed options. Not movable after raw() was taken by a plugin.
class OptionList {
 public:
  OptionList() = default;
  explicit OptionList(std::vector<TypedOption> options);
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;
  const optima_option* data() const { return raw_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(raw_.size()); }

 private:
  std::vector<TypedOption> typed_;
  std::vector<std::vector<optima_option>> lists_;
  std::vector<optima_option> raw_;
};

/// The options one plugin gets in calls of a scope ("init", "compile", "load", "context"): all of its schema that are set or have a
/// default, then the host's own. `values` were checked before. threads < 0: leave it to optima.threads of `values`.
std::vector<TypedOption> options_for(const Manifest& manifest, std::string_view scope, const OptionValues& values, int64_t threads);

/// Names of options of a scope, its own and the host's, that have a value of the user's.
std::vector<std::string> options_set(const Manifest& manifest, std::string_view scope, const OptionValues& values);

/// Names, types, ranges against all manifests. `refused` explains ids that are known but not usable.
Status check_options(const OptionValues& values, std::span<const Manifest* const> manifests);

/// Has the values of secret options hidden in what plugins say from now on.
void keep_secrets(const OptionValues& values, std::span<const Manifest* const> manifests);

/// What a plugin will work with, in schema order; host-owned options last.
std::vector<EffectiveOption> effective_options(const Manifest& manifest, const OptionValues& values);

}  // namespace optima
