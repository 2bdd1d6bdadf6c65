// SPDX-License-Identifier: Apache-2.0
// core/session: what files of artifacts tell people, by the plugins that know them.
#pragma once

#include <optional>
#include <string>

#include "core/loader/registry.hpp"
#include "core/support/blob.hpp"
#include "core/support/json.hpp"

namespace optima {

/// What the first plugin says that knows the file, as a JSON object; `plugin` names the one to ask alone (empty = all, in the registry's
/// order). Nothing when none knows it, or none of that name is here. InvalidInput for a damaged file; Plugin when one breaks the contract.
Result<std::optional<Json>> describe_file(const Registry& registry, const std::string& name, const Blob& bytes, std::string_view plugin = {});

/// The object for people: names and values, one a line; arrays of objects as tables; what is in other objects is indented. Long lists of values are cut.
std::string description_text(const Json& description);

}  // namespace optima
