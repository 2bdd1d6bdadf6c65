// SPDX-License-Identifier: Apache-2.0
// core/loader: the one file that includes Boost.DLL.
#include "core/loader/library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include "core/loader/run_path.hpp"
#include "core/loader/seam.hpp"
#include "core/support/blob.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

int64_t nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

// What was loaded stays loaded: vendor libraries keep threads and thread-locals, and unloading them under those is a known
// way to crash at exit. So the store is made once and never destroyed; it is the process's view of its own address space.
struct Store {
  std::mutex mutex;
  std::vector<std::unique_ptr<Library>> libraries;
  std::vector<boost::dll::shared_library> handles;
};
Store& store() {
  static auto* const forever = new Store;
  return *forever;
}

// "'/a', '/b' or a folder named in LD_LIBRARY_PATH": where the file's libraries may be put.
std::string places(std::string_view path) {
  std::string all;
  const auto file = map_file(std::string(path));
  if (!file.ok()) return "a folder named in LD_LIBRARY_PATH";
  for (const std::string& folder : run_path({file->data, file->size}, path.substr(0, path.rfind('/')))) all += cat(all.empty() ? "" : ", ", quote(folder));
  return cat(all, all.empty() ? "" : " or ", "a folder named in LD_LIBRARY_PATH");
}

Status changed(const std::string& path) { return plugin_error(cat("plugin file ", quote(path), " changed while it was being loaded; scan again")); }

}  // namespace

Result<FileStamp> stamp_of(const std::string& path) {
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) return invalid_input(cat(quote(path), ": ", std::strerror(errno)));
  return FileStamp{s.st_dev, s.st_ino, static_cast<uint64_t>(s.st_size), nanoseconds(s.st_mtim), nanoseconds(s.st_ctim), s.st_mode};
}

std::string readable_loader_error(std::string_view message, std::string_view path) {
  const auto starts_with_path = [&] { return message.starts_with(path) && message.substr(path.size()).starts_with(": "); };
  constexpr std::string_view kMissing = ": cannot open shared object file";
  if (const size_t at = message.find(kMissing); at != message.npos && message.substr(0, at) != path)
    return cat("needs the library ", quote(message.substr(0, at)), ", which is not found on this machine; it may lie in ", places(path));
  if (starts_with_path()) message.remove_prefix(path.size() + 2);
  constexpr std::string_view kSymbol = "undefined symbol: ";
  if (message.starts_with(kSymbol)) return cat("needs the symbol ", quote(message.substr(kSymbol.size())), ", which nothing provides");
  return cat("cannot be loaded: ", plain_line(message));
}

Result<Library*> open_library(const std::string& path, const FileStamp& seen) {
  Store& all = store();
  const std::lock_guard lock(all.mutex);
  for (const auto& library : all.libraries)
    if (library->path == path && library->stamp == seen) return library.get();
  const auto before = stamp_of(path);
  if (!before.ok() || *before != seen) return changed(path);
  std::error_code error;
  dlerror();
  boost::dll::shared_library handle(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
  if (error) {
    const char* message = dlerror();
    return plugin_error(readable_loader_error(message ? message : error.message(), path));
  }
  auto library = std::make_unique<Library>();
  library->path = path;
  library->stamp = seen;
  if (handle.has(OPTIMA_QUERY_SYMBOL)) library->query = &handle.get<std::remove_pointer_t<optima_query_fn>>(OPTIMA_QUERY_SYMBOL);
  all.handles.push_back(std::move(handle));
  const auto after = stamp_of(path);
  if (!after.ok() || *after != seen) return changed(path);
  if (!library->query) return plugin_error("does not export " OPTIMA_QUERY_SYMBOL);
  all.libraries.push_back(std::move(library));
  return all.libraries.back().get();
}

}  // namespace optima
