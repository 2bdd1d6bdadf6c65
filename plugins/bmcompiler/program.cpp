// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "optima/plugin/log_file.hpp"
#include "request.hpp"

namespace bmcompiler_plugin {
namespace {

constexpr const char* kRunner = "optima_bmcompiler_runner";
constexpr std::string_view kEmulator = "emulator";  ///< PresentDevice::arch of what no hardware is behind

/// A runtime of a driver: where its packages put it, what tells that it is there, and a chip that it serves.
struct Driver {
  const char* folder;
  const char* library;
  const char* chip;
};
constexpr Driver kDrivers[] = {{"/opt/sophon/libsophon-current/lib", "libbmrt.so.1.0", "bm1684x"}, {"/opt/tpuv7/tpuv7-current/lib", "libtpuv7_modelrt.so", "bm1690"}};

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// The folder of the driver's runtime of this sort; empty when there is none.
std::string driver_folder(const Driver& driver) {
  const char* named = std::getenv("OPTIMA_SOPHON_RUNTIME");
  const std::string folder = named && *named ? named : driver.folder;
  return is_there(folder + "/" + driver.library) ? folder : std::string();
}

/// Its devices' chips, asked in a process that must answer soon; what fails is said in `why`.
std::vector<std::string> chips_of(const Driver& driver, const std::string& folder, const std::string& plugin_folder, std::string& why) {
  std::error_code ignored;
  try {
    const sdk::Folder work(std::filesystem::temp_directory_path(ignored).string(), "optima-sophon");
    Opening what;
    what.program = plugin_folder + "/" + kRunner, what.libraries = folder, what.emulated = false;
    what.chip = find_chip(driver.chip);
    what.work = work.path();
    what.time_limit = std::chrono::seconds(20);
    return device_chips(what);
  } catch (const sdk::Error& e) {
    why = "runtime in '" + folder + "': " + e.text;
    return {};
  }
}

sdk::PresentDevice present(uint32_t ordinal, std::string arch, std::string driver) {
  sdk::PresentDevice d;
  d.device_class = OPTIMA_CLASS_TPU;
  d.kind = "TPU";
  d.ordinal = ordinal;
  d.id = "sophon-" + (arch == kEmulator ? arch : std::to_string(ordinal));
  d.arch = std::move(arch);
  d.driver = std::move(driver);
  return d;
}

/// What runs a chip's files.
struct Place {
  std::string folder;
  bool emulated;
};

Place place_of(const Tools& tools, const Chip& chip, const sdk::Device& device, const sdk::Options& options) {
  const std::string named(options.string("bmcompiler.runtime", ""));
  if (!named.empty()) {
    if (!is_there(named)) throw sdk::Error(OPTIMA_DEPENDENCY, "folder '" + named + "' (bmcompiler.runtime) is not there, wanted the libraries of SOPHON's driver");
    return {named, false};
  }
  if (device.arch() != kEmulator && !device.is_virtual())
    for (const Driver& driver : kDrivers)
      if (const Chip* served = find_chip(driver.chip); served->runner == chip.runner)
        if (std::string folder = driver_folder(driver); !folder.empty()) return {std::move(folder), false};
  const Facts& facts = tools.get();
  if (chip.emulator.empty()) throw sdk::Error(OPTIMA_DEPENDENCY, facts.version + " has no emulator of " + std::string(chip.name) + ", wanted a device and its driver (option bmcompiler.runtime)");
  return {facts.root + "/lib", true};
}

class Loaded : public sdk::Program {
 public:
  Loaded(const Place& place, const std::string& plugin_folder, const sdk::Host& host, const sdk::Artifact& artifact, Meta meta, const sdk::Device& device,
         const sdk::Options& options)
      : temp_(host.temp_dir()), meta_(std::move(meta)), model_(host.keep(*artifact.file(meta_.model))) {
    what_.program = plugin_folder + "/" + kRunner;
    what_.libraries = place.folder, what_.emulated = place.emulated;
    what_.device = device.ordinal();
    what_.chip = find_chip(meta_.chip);
    what_.model = model_.path();
    what_.log = log_.path();
    what_.time_limit = std::chrono::seconds(options.integer("bmcompiler.run_time_limit", 900));
    what_.memory_limit = static_cast<uint64_t>(options.integer("bmcompiler.run_memory_limit", 0)) << 20;
    const sdk::Progress progress = artifact.progress();
    idle_.push_back(open([&progress] { return progress.cancelled(); }));
  }

  void bindings(const sdk::BindingSink& add) const override {
    for (const Port& p : meta_.inputs) add.input({p.name, p.dtype, {p.dims.data(), p.dims.size()}});
    for (const Port& p : meta_.outputs) add.output({p.name, p.dtype, {p.dims.data(), p.dims.size()}});
  }

  std::unique_ptr<sdk::Context> context() override {
    Session session = take_idle();
    if (!session.running) session = open({});
    return std::make_unique<Request>(Making{meta_, std::move(session), [this](Session s) { give_back(std::move(s)); },
                                            [this](const std::string& text) { failed(text); }, meta_.chip + (what_.emulated ? " (emulated)" : "")});
  }

 private:
  Session open(const std::function<bool()>& cancelled) {
    Session s;
    s.work = std::make_unique<sdk::Folder>(temp_, "sophon-run");
    Opening what = what_;
    what.work = s.work->path();
    try {
      s.running = open_model(what, cancelled);
    } catch (sdk::Error& e) {
      failed(e.text);
      if (e.code == OPTIMA_TIMEOUT) e.code = OPTIMA_TOOL_FAILED;  // nobody waits with a limit of his own
      throw;
    }
    return s;
  }

  Session take_idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {};
    Session session = std::move(idle_.back());
    idle_.pop_back();
    return session;
  }
  void give_back(Session session) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(session));
  }
  void failed(const std::string& text) {
    const std::lock_guard lock(mutex_);
    log_.keep_if_named(text);
  }

  std::string temp_;
  Meta meta_;
  sdk::KeptBlob model_;
  sdk::LogFile log_{"bmcompiler-run"};
  Opening what_;
  std::mutex mutex_;
  std::vector<Session> idle_;
};

void tell_of_emulator(const sdk::Host& host, const Chip& chip, const Tools& tools) {
  static std::once_flag told;
  std::call_once(told, [&] {
    sdk::Log(host, "bmcompiler").warn(std::string(chip.name) + " is emulated on this machine's processor by " + tools.get().version + ": its results are a device's, its times are not");
  });
}

}  // namespace

std::vector<sdk::PresentDevice> present_devices(const Tools& tools, const std::string& plugin_folder, std::string& why_none) {
  std::vector<sdk::PresentDevice> out;
  std::string why_driver, why_tools;
  for (const Driver& driver : kDrivers) {
    const std::string folder = driver_folder(driver);
    if (folder.empty()) continue;
    const std::vector<std::string> chips = chips_of(driver, folder, plugin_folder, why_driver);
    for (size_t k = 0; k < chips.size(); ++k) {
      out.push_back(present(static_cast<uint32_t>(k), chips[k].empty() ? "TPU" : chips[k], folder));
      if (!chips[k].empty()) out.back().attributes.emplace_back("chip", chips[k]);
    }
    if (!chips.empty()) return out;
    if (why_driver.empty()) why_driver = "runtime in '" + folder + "' finds no device";
  }
  if (const Facts* facts = tools.find(why_tools)) return {present(0, std::string(kEmulator), facts->version)};
  why_none = why_driver.empty() ? "no driver of SOPHON's is installed; " + why_tools : why_driver + "; " + why_tools;
  return out;
}

std::vector<sdk::PresentDevice> present_devices(const Tools& tools, std::string& why_none) {
  Dl_info info{};
  const bool known = ::dladdr(reinterpret_cast<const void*>(kDrivers), &info) != 0 && info.dli_fname;
  return present_devices(tools, known ? std::filesystem::path(info.dli_fname).parent_path().string() : std::string(), why_none);
}

std::unique_ptr<sdk::Program> load_program(const Tools& tools, const std::string& plugin_folder, const sdk::Host& host, const sdk::Artifact& artifact,
                                           const Record& record, const sdk::Device& device, const sdk::Options& options) {
  Meta meta = read_meta(artifact, record);
  const Chip& chip = *find_chip(meta.chip);
  const Place place = place_of(tools, chip, device, options);
  artifact.progress()(0.1, "starting " + meta.chip);
  if (place.emulated) tell_of_emulator(host, chip, tools);
  return std::make_unique<Loaded>(place, plugin_folder, host, artifact, std::move(meta), device, options);
}

}  // namespace bmcompiler_plugin
