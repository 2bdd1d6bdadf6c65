// SPDX-License-Identifier: Apache-2.0
#include "snpe_functions.hpp"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>

#include "optima/plugin/error.hpp"

namespace snpe_plugin::snpe {
namespace {

std::string said_by_loader() {
  const char* said = ::dlerror();
  return said ? said : "the loader says nothing";
}

std::unique_ptr<Functions> open(const std::string& library) {
  void* file = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!file) throw optima::sdk::Error(OPTIMA_DEPENDENCY, "SNPE's library cannot be opened: " + said_by_loader());
  auto all = std::make_unique<Functions>();
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name));
    if (!function) throw optima::sdk::Error(OPTIMA_DEPENDENCY, "SNPE's library '" + library + "' has no function " + name + ", wanted SNPE 2.x");
  };
#define SNPE_FIND(result, name, arguments) find(all->name, #name);
  SNPE_FUNCTIONS(SNPE_FIND)
#undef SNPE_FIND
  return all;
}

}  // namespace

const Functions& functions_of(const std::string& library) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Functions>> opened;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Functions>& all = opened[library];
  if (!all) all = open(library);
  return *all;
}

}  // namespace snpe_plugin::snpe
