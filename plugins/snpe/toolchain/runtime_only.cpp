// SPDX-License-Identifier: Apache-2.0
#include "runtime_only.hpp"

#include <algorithm>
#include <filesystem>

#include "snpe_api.hpp"

namespace snpe_plugin {
namespace {

namespace fs = std::filesystem;

class RuntimeOnly : public Toolchain {
 public:
  RuntimeOnly(std::string library, const std::string& version, std::string root, std::string lacks)
      : library_(std::move(library)), lacks_(std::move(lacks)), facts_{"sdk", "SNPE " + version, std::move(root)} {}

  const Facts& facts() const override { return facts_; }
  std::string cannot_compile(const Target& target) const override {
    return facts_.version + " is here without its tools, which make files for " + target.kind + (lacks_.empty() ? "" : " (" + lacks_ + ")") + ": wanted a whole SDK (SNPE_ROOT), or scripts/setup --with qualcomm";
  }
  std::string cannot_run(const std::string& kind) const override {
    return snpe_has(library_, kind) ? "" : facts_.version + " finds no " + kind + " here; snpe.fallback=true lets its CPU runtime stand in";
  }
  std::vector<Taken> assign(const std::string&, const Target& target, const Bounds&) override { throw sdk::Error(OPTIMA_DEPENDENCY, cannot_compile(target)); }
  Built build(const std::string&, const Target& target, const Bounds&, const sdk::Progress&) override { throw sdk::Error(OPTIMA_DEPENDENCY, cannot_compile(target)); }
  std::unique_ptr<Session> open(const Loadable& what, const Bounds& bounds) override { return open_snpe(library_, what, bounds); }

 private:
  std::string library_, lacks_;
  Facts facts_;
};

/// Where one may lie: lib/<platform>/libSNPE.so of a SDK, in the order of their names, or lib/libSNPE.so.
std::vector<std::string> libraries_in(const std::string& root) {
  std::vector<std::string> all;
  std::error_code error;
  for (fs::directory_iterator it(root + "/lib", error), end; !error && it != end; it.increment(error)) all.push_back(it->path().string() + "/libSNPE.so");
  std::sort(all.begin(), all.end());
  all.insert(all.begin(), root + "/lib/libSNPE.so");
  std::erase_if(all, [](const std::string& path) {
    std::error_code ignored;
    return !fs::is_regular_file(path, ignored);
  });
  return all;
}

}  // namespace

std::unique_ptr<Toolchain> find_snpe_runtime(const Wanted& wanted, const std::string& lacks, std::string& why) {
  const bool named = !wanted.sdk_root.empty();
  const std::vector<std::string> all = named ? libraries_in(wanted.sdk_root) : std::vector<std::string>{"libSNPE.so"};
  why = all.empty() ? "'" + wanted.sdk_root + "/lib' holds no libSNPE.so" : "";
  for (const std::string& library : all) {
    try {
      return std::make_unique<RuntimeOnly>(library, snpe_version(library), wanted.sdk_root, lacks);
    } catch (const sdk::Error& e) {
      why = e.text;
    }
  }
  return nullptr;
}

}  // namespace snpe_plugin
