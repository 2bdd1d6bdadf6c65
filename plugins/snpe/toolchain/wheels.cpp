// SPDX-License-Identifier: Apache-2.0
#include "wheels.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "driver.hpp"
#include "emulated.hpp"
#include "optima/plugin/folder.hpp"

namespace snpe_plugin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScript = "optima_snpe_driver.py";
constexpr const char* kInstall = "scripts/setup --with qualcomm installs them";

/// A folder of one call's own for files in the making.
class Work : public sdk::Folder {
 public:
  explicit Work(const Bounds& bounds) : sdk::Folder(bounds.work, "call") {}
};

/// A folder that stays unless the call fails.
class Kept {
 public:
  Kept(const Bounds& bounds, const char* stem) : path_(bounds.work + "/" + stem + ".XXXXXX") {
    if (!::mkdtemp(path_.data())) throw sdk::Error(OPTIMA_IO, "no folder can be made in " + bounds.work);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

class Wheels : public Toolchain {
 public:
  Wheels(Facts facts, std::unique_ptr<Drivers> drivers) : facts_(std::move(facts)), drivers_(std::move(drivers)) {}

  const Facts& facts() const override { return facts_; }

  std::string cannot_compile(const Target& target) const override {
    if (target.kind == "HEXAGON") return "";
    return facts_.version + " make files for HEXAGON only and cannot tell what " + target.kind + " takes: wanted a SNPE or QAIRT SDK (SNPE_ROOT, QAIRT_SDK_ROOT)";
  }
  std::string cannot_run(const std::string& kind) const override {
    if (kind == "HEXAGON") return "";
    return facts_.version + " run HEXAGON only, on an emulator: wanted a SNPE or QAIRT SDK (SNPE_ROOT, QAIRT_SDK_ROOT) for " + kind;
  }

  std::vector<Taken> assign(const std::string& folder, const Target& target, const Bounds& bounds) override {
    require_compiles(target);
    const Work work(bounds);
    const Words words = drivers_->ask(question("assign", folder, target, *target.socs[0], {work.path()}), bounds);
    std::vector<Taken> all;
    for (size_t k = 0; k + 2 < words.size(); k += 3) all.push_back({words[k], words[k + 1] == "1", words[k + 2]});
    return all;
  }

  Built build(const std::string& folder, const Target& target, const Bounds& bounds, const sdk::Progress& progress) override {
    require_compiles(target);
    Kept out(bounds, "built");
    const double steps = 1.0 + static_cast<double>(target.socs.size());
    progress(0.0, "writing the DLC");
    Built built;
    built.dlcs = make("dlc", folder, target, *target.socs[0], out.path(), bounds);
    for (const Soc* soc : target.socs) {
      progress((1.0 + static_cast<double>(built.contexts.size())) / steps, "preparing for " + std::string(soc->name));
      const std::string place = out.path() + "/" + std::string(soc->name);
      fs::create_directory(place);
      const Words files = make("context", folder, target, *soc, place, bounds);
      if (files.size() != 2) throw sdk::Error(OPTIMA_INTERNAL, "driver named " + std::to_string(files.size()) + " files of a context, wanted 2");
      built.contexts.push_back({soc, files[0], files[1]});
    }
    out.keep();
    return built;
  }

  std::unique_ptr<Session> open(const Loadable& what, const Bounds& bounds) override {
    if (!what.soc || what.context.empty() || what.wrapper.empty())
      throw sdk::Error(OPTIMA_CORRUPT, "artifact has no context with its wrapper, which " + facts_.version + " run");
    return open_emulated(*drivers_, what, bounds);
  }

 private:
  void require_compiles(const Target& target) const {
    if (const std::string why = cannot_compile(target); !why.empty()) throw sdk::Error(OPTIMA_DEPENDENCY, why);
    if (target.socs.empty()) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "no SoC is named for HEXAGON");
  }

  static Words question(const char* verb, const std::string& folder, const Target& target, const Soc& soc, const Words& rest) {
    Words words{verb, folder, std::to_string(soc.model), std::to_string(soc.arch), target.precision};
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  }

  /// Paths of files in `out`. By a process that has made nothing before: the tools count their graphs, and the count is in their files.
  Words make(const char* what, const std::string& folder, const Target& target, const Soc& soc, const std::string& out, const Bounds& bounds) {
    const Work work(bounds);
    return drivers_->fresh(bounds)->ask(question(what, folder, target, soc, {out, work.path()}), bounds);
  }

  Facts facts_;
  std::unique_ptr<Drivers> drivers_;
};

std::string default_folder() {
#ifdef OPTIMA_QUALCOMM_DEFAULT
  if (fs::exists(OPTIMA_QUALCOMM_DEFAULT)) return OPTIMA_QUALCOMM_DEFAULT;
#endif
  return "";
}

/// The environment's folder; empty, with `why`, when none is named or what is named has no Python.
std::string environment(const Wanted& wanted, std::string& why) {
  const char* variable = std::getenv("OPTIMA_QUALCOMM");
  std::string folder = !wanted.wheels.empty() ? wanted.wheels : variable ? variable : "";
  const std::string from = folder.empty() ? "" : " (of snpe.wheels or OPTIMA_QUALCOMM)";
  if (folder.empty()) folder = default_folder();
  if (folder.empty()) why = std::string("no Python environment with onnxruntime and onnxruntime-qnn is named: ") + kInstall + ", snpe.wheels or OPTIMA_QUALCOMM names another";
  else if (!fs::is_directory(folder)) why = "folder '" + folder + "'" + from + " is not there: " + kInstall;
  else if (::access((folder + "/bin/python").c_str(), X_OK) != 0) why = "folder '" + folder + "'" + from + " holds no bin/python: wanted a Python environment, " + kInstall;
  return why.empty() ? folder : "";
}

}  // namespace

std::unique_ptr<Toolchain> find_wheels(const Wanted& wanted, const sdk::Host& host, std::string& why) {
  why.clear();
  const std::string folder = environment(wanted, why);
  if (folder.empty()) return nullptr;
  const std::string script = wanted.plugin_dir + "/" + kScript;
  if (!fs::exists(script)) {
    why = "'" + script + "', which drives the wheels, is not there";
    return nullptr;
  }
  auto drivers = std::make_unique<Drivers>(folder + "/bin/python", script);
  Bounds bounds;
  bounds.time_limit = std::chrono::seconds(120);
  bounds.work = host.temp_dir();
  try {
    const Words words = drivers->ask({"hello"}, bounds);
    if (words.empty()) throw sdk::Error(OPTIMA_INTERNAL, "driver tells no version");
    return std::make_unique<Wheels>(Facts{"wheels", words[0], folder}, std::move(drivers));
  } catch (const sdk::Error& e) {
    why = e.text + (e.code == OPTIMA_DEPENDENCY ? std::string(": ") + kInstall : "");
    return nullptr;
  }
}

}  // namespace snpe_plugin
