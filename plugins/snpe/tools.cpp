// SPDX-License-Identifier: Apache-2.0
#include "tools.hpp"

#include <cstdlib>

namespace snpe_plugin {
namespace {

std::string of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string first_said(std::initializer_list<std::string> all) {
  for (const std::string& one : all)
    if (!one.empty()) return one;
  return "";
}

std::string soc_list(const sdk::Options& options) {
  const sdk::Options list = options.list("snpe.soc");
  std::string all;
  for (uint32_t k = 0; k < list.size(); ++k) all += (k ? "," : "") + std::string(sdk::view(list[k].str));
  return all.empty() ? "sm8550" : all;
}

}  // namespace

Tools::Tools(const sdk::Init& init)
    : host_(init.host),
      wanted_{std::string(init.options.string("snpe.wheels", "")),
              first_said({std::string(init.options.string("snpe.root", "")), of_environment("SNPE_ROOT"), of_environment("QAIRT_SDK_ROOT")}),
              std::string(init.host.plugin_dir()), std::string(init.options.string("snpe.route", "auto"))} {}

Toolchain* Tools::find(std::string& why) const {
  const std::lock_guard lock(mutex_);
  if (!looked_) found_ = find_toolchain(wanted_, host_, why_);
  looked_ = true;
  why = why_;
  return found_.get();
}

Toolchain& Tools::get() const {
  std::string why;
  if (Toolchain* tools = find(why)) return *tools;
  throw sdk::Error(OPTIMA_DEPENDENCY, why);
}

Target target_of(const sdk::Device& device, const sdk::Options& options) {
  Target target;
  target.kind = device.kind();
  target.precision = options.string("snpe.precision", "fp16");
  if (target.kind == "SNPE_CPU") target.precision = "fp32";  // it knows no other
  if (target.kind != "HEXAGON") return target;
  const std::string_view own = device.attributes().string("soc", "");
  target.socs = parse_socs(own.empty() ? soc_list(options) : std::string(own));
  if (target.precision != "fp16") throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "snpe.precision is '" + target.precision + "', HEXAGON computes floats in fp16");
  return target;
}

}  // namespace snpe_plugin
