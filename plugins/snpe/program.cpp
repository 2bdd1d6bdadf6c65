// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "optima/plugin/folder.hpp"
#include "optima/plugin/log_file.hpp"
#include "request.hpp"

namespace snpe_plugin {
namespace {

/// Which of the artifact's contexts is run; null where it has none and a DLC is all there is.
const Meta::Context* context_for(const Meta& meta, const sdk::Device& device, const sdk::Options& options) {
  std::string_view soc = device.attributes().string("soc", "");
  if (soc.empty()) soc = options.string("snpe.run_soc", "");
  if (soc.empty() && !meta.contexts.empty()) soc = meta.contexts[0].soc;
  if (soc.empty()) return nullptr;
  if (!find_soc(soc)) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "SoC '" + std::string(soc) + "' is not known, wanted one of " + soc_names());
  if (meta.contexts.empty()) return nullptr;
  std::string made;
  for (const Meta::Context& c : meta.contexts) {
    if (c.soc == soc) return &c;
    made += (made.empty() ? "" : ",") + c.soc;
  }
  throw sdk::Error(OPTIMA_WRONG_DEVICE, "files were made for " + made + ", wanted " + std::string(soc));
}

/// The files of an artifact under their own names in a private folder: links to where the host has their bytes.
class Files {
 public:
  Files(const sdk::Host& host, const sdk::Artifact& artifact, const Meta& meta, const Meta::Context* context) : folder_(host.temp_dir(), "snpe") {
    for (const std::string& dlc : meta.dlcs) add(host, artifact, dlc);
    if (context) add(host, artifact, context->file);
    if (context && !context->wrapper.empty()) add(host, artifact, context->wrapper);
  }
  const std::string& folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return name.empty() ? name : folder_.path() + "/" + name; }

 private:
  void add(const sdk::Host& host, const sdk::Artifact& artifact, const std::string& name) {
    if (kept_.count(name)) return;
    sdk::KeptBlob& blob = kept_[name] = host.keep(*artifact.file(name));
    std::error_code error;
    std::filesystem::create_symlink(blob.path(), path(name), error);
    if (error) throw sdk::Error(OPTIMA_IO, "file '" + path(name) + "' cannot be made: " + error.message());
  }
  std::map<std::string, sdk::KeptBlob> kept_;
  sdk::Folder folder_;
};

class Loaded : public sdk::Program {
 public:
  Loaded(Toolchain& tools, const sdk::Host& host, const sdk::Artifact& artifact, Meta meta, const Meta::Context* context, const sdk::Options& options)
      : tools_(tools), meta_(std::move(meta)), files_(host, artifact, meta_, context), work_(host.temp_dir(), "snpe-work") {
    what_.kind = meta_.kind;
    for (const std::string& dlc : meta_.dlcs) what_.dlcs.push_back(files_.path(dlc));
    if (context) what_.context = files_.path(context->file), what_.wrapper = files_.path(context->wrapper), what_.soc = find_soc(context->soc);
    what_.inputs = &meta_.inputs, what_.outputs = &meta_.outputs;
    what_.performance = options.string("snpe.performance", what_.performance);
    what_.fallback = options.boolean("snpe.fallback", false);
    bounds_.time_limit = std::chrono::seconds(options.integer("snpe.run_time_limit", 900));
    bounds_.memory_limit = static_cast<uint64_t>(options.integer("snpe.run_memory_limit", 0)) << 20;
    bounds_.work = work_.path();
    bounds_.log = log_.path();
    idle_.push_back(open(artifact.progress()));
  }

  void bindings(const sdk::BindingSink& add) const override {
    for (const Port& p : meta_.inputs) add.input({p.name, p.dtype, {p.dims.data(), p.dims.size()}});
    for (const Port& p : meta_.outputs) add.output({p.name, p.dtype, {p.dims.data(), p.dims.size()}});
  }

  std::unique_ptr<sdk::Context> context() override {
    std::unique_ptr<Session> session = take_idle();
    if (!session) session = open(sdk::Progress(nullptr));
    return std::make_unique<Request>(Making{meta_, std::move(session), [this](std::unique_ptr<Session> s) { give_back(std::move(s)); },
                                            [this](const std::string& text) { failed(text); }, name()});
  }

 private:
  std::string name() const { return what_.soc ? meta_.kind + " " + std::string(what_.soc->name) : meta_.kind; }

  /// The session may keep its bounds; who can cancel is there for this call alone.
  std::unique_ptr<Session> open(const sdk::Progress& progress) {
    const auto opening = std::make_shared<std::atomic<bool>>(true);
    Bounds bounds = bounds_;
    bounds.cancelled = [opening, progress] { return *opening && progress.cancelled(); };
    try {
      std::unique_ptr<Session> session = tools_.open(what_, bounds);
      *opening = false;
      return session;
    } catch (sdk::Error& e) {
      *opening = false;
      failed(e.text);
      if (e.code == OPTIMA_TIMEOUT) e.code = OPTIMA_TOOL_FAILED;  // nobody waits with a limit of his own
      throw;
    }
  }

  std::unique_ptr<Session> take_idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Session> session = std::move(idle_.back());
    idle_.pop_back();
    return session;
  }

  void give_back(std::unique_ptr<Session> session) {
    try {
      session->profile(false);
      session->events();
    } catch (const sdk::Error&) {
      return;  // it is of no use to the next
    }
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(session));
  }

  void failed(const std::string& text) {
    const std::lock_guard lock(mutex_);
    log_.keep_if_named(text);
  }

  Toolchain& tools_;
  Meta meta_;
  Files files_;
  sdk::Folder work_;
  sdk::LogFile log_{"snpe"};
  Loadable what_;
  Bounds bounds_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;
};

/// Throws DEPENDENCY unless these tools run the kind here from files of this artifact, or a fallback stands in.
void require_runnable(Toolchain& tools, const sdk::Host& host, const Meta& meta, const Meta::Context* context, const sdk::Options& options) {
  const Facts& facts = tools.facts();
  const bool of_sdk = facts.route == "sdk";
  if (of_sdk && meta.dlcs.empty()) throw sdk::Error(OPTIMA_DEPENDENCY, "files were made by " + meta.tools + " and hold no DLC, which " + facts.version + " runs; wanted a compilation with it");
  if (!of_sdk && (!context || context->wrapper.empty()))
    throw sdk::Error(OPTIMA_DEPENDENCY, "files were made by " + meta.tools + " and hold no context that " + facts.version + " runs; wanted that SDK (option snpe.root), or a compilation with the wheels");
  const std::string why = tools.cannot_run(meta.kind);
  if (why.empty()) return;
  if (!of_sdk || !options.boolean("snpe.fallback", false)) throw sdk::Error(OPTIMA_DEPENDENCY, why);
  sdk::Log(host, "snpe").warn("SNPE's CPU runtime stands in for " + meta.kind + " (snpe.fallback): " + why);
}

void tell_of_emulator(const Toolchain& tools, const sdk::Host& host, const Meta& meta) {
  static std::once_flag told;
  if (tools.facts().route != "wheels" || meta.kind != "HEXAGON") return;
  std::call_once(told, [&] {
    sdk::Log(host, "snpe").warn("HEXAGON is emulated on this machine's processor by " + tools.facts().version + ": its results are a device's, its times are not");
  });
}

}  // namespace

std::unique_ptr<sdk::Program> load_program(Toolchain& tools, const sdk::Host& host, const sdk::Artifact& artifact, const Record& record,
                                           const sdk::Device& device, const sdk::Options& options) {
  const sdk::Progress progress = artifact.progress();
  Meta meta = read_meta(artifact, record);
  const Meta::Context* context = context_for(meta, device, options);
  require_runnable(tools, host, meta, context, options);
  progress(0.1, tools.facts().version + " takes the files in");
  std::optional<Meta::Context> chosen;
  if (context) chosen = *context;
  tell_of_emulator(tools, host, meta);
  return std::make_unique<Loaded>(tools, host, artifact, std::move(meta), chosen ? &*chosen : nullptr, options);
}

}  // namespace snpe_plugin
