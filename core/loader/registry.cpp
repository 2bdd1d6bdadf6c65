// SPDX-License-Identifier: Apache-2.0
// core/loader: scanning folders, refusing files, and handing out plugins.
#include "core/loader/registry.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "core/backend/rank.hpp"
#include "core/loader/file_plugin.hpp"
#include "core/loader/plugin_file.hpp"
#include "core/loader/probe.hpp"
#include "core/loader/trust.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace fs = std::filesystem;

struct Registry::State {
  std::vector<PluginFile> files;
  std::vector<std::string> notes;
  std::vector<std::unique_ptr<FilePlugin>> plugins;  // the usable ones, in scan order
  std::shared_ptr<SharedState> shared = std::make_shared<SharedState>();
  std::vector<std::string> order;
};

namespace {

bool is_library_name(const fs::path& p) { return p.extension() == ".so"; }

// Entries of a folder by name. A folder below that cannot be read is skipped by its caller.
Result<std::vector<fs::path>> entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> all;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) all.push_back(it->path());
  if (error) return invalid_input(cat("plugin folder ", quote(folder.string()), ": ", error.message()));
  std::sort(all.begin(), all.end());
  return all;
}

struct Folder {
  std::vector<std::string> libraries;
  bool has_sources = false;
};

Result<Folder> look_into(const fs::path& root) {
  std::error_code error;
  if (!fs::is_directory(root, error))
    return invalid_input(cat("plugin folder ", quote(root.string()), ": ", fs::exists(root, error) ? "not a folder" : "no such folder"));
  Folder found;
  const auto take = [&](const fs::path& p) {
    if (is_library_name(p)) found.libraries.push_back(p.string());
    if (p.filename() == "CMakeLists.txt") found.has_sources = true;
  };
  OPTIMA_ASSIGN(const std::vector<fs::path> top, entries(root));
  for (const fs::path& p : top) {
    take(p);
    if (!fs::is_directory(p, error)) continue;
    if (const auto below = entries(p); below.ok())
      for (const fs::path& q : *below) take(q);
  }
  std::sort(found.libraries.begin(), found.libraries.end());
  return found;
}

// The plugins built from these sources, in lib/optima/plugins of the build folders beside them: those of the newest build.
std::optional<std::pair<std::string, Folder>> built_beside(const fs::path& sources) {
  std::optional<std::pair<std::string, Folder>> newest;
  fs::file_time_type when;
  const auto builds = entries(sources.parent_path() / "build");
  if (!builds.ok()) return newest;
  for (const fs::path& build : *builds) {
    const fs::path path = build / "lib" / "optima" / "plugins";
    Result<Folder> built = look_into(path);
    if (!built.ok()) continue;
    for (const std::string& library : built->libraries) {
      std::error_code error;
      const fs::file_time_type written = fs::last_write_time(library, error);
      if (error || (newest && written <= when)) continue;
      newest = {path.string(), *built};
      when = written;
    }
  }
  return newest;
}

// Takes the built plugins in place of a folder of sources, and says so.
std::string use_built(const fs::path& folder, Folder& found) {
  const auto built = built_beside(folder);
  if (built) found = built->second;
  return cat("plugin folder ", quote(folder.string()), " holds sources, no built plugin; ",
             built ? cat("taking those built from them in ", quote(built->first)) : "build first, then name the build's lib/optima/plugins");
}

std::string role_names(const Manifest& m) { return m.compiler && m.runtime ? "compiler and runtime" : m.compiler ? "compiler" : "runtime"; }

// Rules between files; the earlier one stays.
Status against_earlier(const PluginFile& file, std::span<const PluginFile> earlier) {
  const Manifest& m = file.manifest;
  for (const PluginFile& other : earlier) {
    const Manifest& o = other.manifest;
    if (!other.refusal.ok() || o.id != m.id) continue;
    if ((o.compiler && m.compiler) || (o.runtime && m.runtime))
      return plugin_error(cat("duplicate of plugin ", quote(m.id), " (", role_names(m), "); used is ", quote(other.path)));
    if (o.build_id != m.build_id)
      return plugin_error(cat("has build id ", quote(m.build_id), ", but the ", role_names(o), " half of plugin ", quote(m.id), " in ", quote(other.path), " has ", quote(o.build_id)));
  }
  return {};
}

class Scanner {
 public:
  Scanner(const ScanOptions& options, std::vector<PluginFile>& files) : options_(options), files_(files) {}

  /// Adds the file and gives its stamp when it is usable.
  std::optional<FileStamp> add(const std::string& path) {
    PluginFile file;
    file.path = path;
    const auto stamp = stamp_of(path);
    file.refusal = stamp.ok() ? judge(file, *stamp) : plugin_error(stamp.status().message());
    const bool usable = file.refusal.ok();
    files_.push_back(std::move(file));
    if (!usable) return std::nullopt;
    return *stamp;
  }

 private:
  Status judge(PluginFile& file, const FileStamp& stamp) {
    OPTIMA_RETURN_IF_ERROR(is_regular_file(stamp));
    OPTIMA_RETURN_IF_ERROR(read_plugin_file(file.path, file.manifest));
    const std::string& id = file.manifest.id;
    file.unwanted = !options_.allow.empty() && std::find(options_.allow.begin(), options_.allow.end(), id) == options_.allow.end();
    if (file.unwanted) return plugin_error(cat("plugin ", quote(id), " is not in the allow-list"));
    if (!options_.allow_writable_by_others) OPTIMA_RETURN_IF_ERROR(only_trusted_write(file.path, ::geteuid()));
    OPTIMA_RETURN_IF_ERROR(against_earlier(file, files_));
    if (options_.probe_program.empty()) return {};
    return probe(file.path, stamp, {options_.probe_program, options_.cache_folder, options_.probe_seconds});
  }

  const ScanOptions& options_;
  std::vector<PluginFile>& files_;
};

}  // namespace

Result<Registry> Registry::scan(const ScanOptions& options, HostServices services) {
  auto state = std::make_unique<State>();
  state->shared->services = std::make_shared<const HostServices>(std::move(services));
  state->shared->blobs = std::make_shared<BlobStore>();
  Scanner scanner(options, state->files);
  std::set<std::string> seen;
  for (const std::string& name : options.folders) {
    std::error_code error;
    fs::path folder = fs::absolute(expand_home(name), error).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    OPTIMA_ASSIGN(Folder found, look_into(folder));
    if (found.libraries.empty() && found.has_sources) state->notes.push_back(use_built(folder, found));
    for (const std::string& path : found.libraries) {
      if (!seen.insert(path).second) continue;
      if (const auto stamp = scanner.add(path))
        state->plugins.push_back(std::make_unique<FilePlugin>(state->files.back().manifest, path, *stamp, state->shared));
    }
  }
  return Registry(std::move(state));
}

Registry::Registry(std::unique_ptr<State> state) : state_(std::move(state)) {}
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;
Registry::~Registry() = default;

std::span<const PluginFile> Registry::files() const { return state_->files; }
std::span<const std::string> Registry::notes() const { return state_->notes; }

Status Registry::refusal_of(std::string_view id) const {
  for (const PluginFile& f : state_->files)
    if (f.manifest.id == id && !f.refusal.ok()) return f.refusal.within(quote(f.path));
  return {};
}

namespace {

template <class Plugins>
std::vector<Backend*> ordered(const Plugins& plugins, bool Manifest::*role, const std::vector<std::string>& order) {
  std::vector<Backend*> out;
  for (const auto& p : plugins)
    if (p->manifest().*role) out.push_back(p.get());
  std::stable_sort(out.begin(), out.end(), [&](const Backend* a, const Backend* b) { return rank_of(a->manifest(), order) < rank_of(b->manifest(), order); });
  return out;
}

template <class Plugins>
Backend* find(const Plugins& plugins, bool Manifest::*role, std::string_view id) {
  for (const auto& p : plugins)
    if (p->manifest().*role && p->manifest().id == id) return p.get();
  return nullptr;
}

}  // namespace

std::vector<Backend*> Registry::compilers() const { return ordered(state_->plugins, &Manifest::compiler, state_->order); }
std::vector<Backend*> Registry::runtimes() const { return ordered(state_->plugins, &Manifest::runtime, state_->order); }
Backend* Registry::compiler(std::string_view id) const { return find(state_->plugins, &Manifest::compiler, id); }
Backend* Registry::runtime(std::string_view id) const { return find(state_->plugins, &Manifest::runtime, id); }

Status Registry::set_options(const OptionValues& options) {
  for (const auto& [name, value] : options)
    for (const PluginFile& f : state_->files)
      if (!f.refusal.ok() && !f.manifest.id.empty() && name.starts_with(f.manifest.id + ".") && !compiler(f.manifest.id) && !runtime(f.manifest.id))
        return invalid_input(cat("option ", quote(name), ": plugin ", quote(f.manifest.id), " is not usable: ", f.refusal.message()));
  std::vector<const Manifest*> manifests;
  for (const auto& p : state_->plugins) manifests.push_back(&p->manifest());
  keep_secrets(options, manifests);  // before anybody speaks of their values
  OPTIMA_RETURN_IF_ERROR(check_options(options, manifests));
  state_->shared->set_options(options);
  return {};
}

OptionValues Registry::own_options(const OptionValues& options) const {
  OptionValues out;
  for (const auto& option : options) {
    const std::string& name = option.first;
    const auto owns = [&](const PluginFile& f) { return !f.manifest.id.empty() && name.starts_with(f.manifest.id + "."); };
    const bool of_nobody = name.find('.') == name.npos;  // and so wrong wherever it is judged
    if (of_nobody || name.starts_with("optima.") || std::any_of(state_->files.begin(), state_->files.end(), owns)) out.insert(option);
  }
  return out;
}

OptionValues Registry::public_options(OptionValues options) const {
  for (const PluginFile& file : state_->files)  // refused files included: their options are no less secret
    for (const OptionSchema& option : file.manifest.options)
      if (option.secret) options.erase(option.name);
  return options;
}

void Registry::set_order(std::vector<std::string> ids) { state_->order = std::move(ids); }

}  // namespace optima
