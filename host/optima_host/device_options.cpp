// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/device_options.hpp"

#include "core/support/text.hpp"

namespace optima::host {

Result<DeviceName> device_option(const std::string& text, std::string_view option) {
  Result<DeviceName> name = parse_device(text);
  if (!name.ok()) return usage_error(cat(option, ": ", name.status().message()));
  return name;
}

Result<std::vector<DeviceName>> device_options(const Arguments& arguments, const std::string& option) {
  std::vector<DeviceName> out;
  for (const std::string& text : arguments.comma_list(option)) {
    OPTIMA_ASSIGN(DeviceName name, device_option(text, "--" + option));
    out.push_back(std::move(name));
  }
  if (out.empty() && arguments.has(option)) return usage_error(cat("--", option, ": found nothing, wanted devices with commas between them"));
  return out;
}

}  // namespace optima::host
