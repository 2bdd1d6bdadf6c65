// SPDX-License-Identifier: Apache-2.0
#include "core/package/reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/package/seen_weights.hpp"
#include "core/package/source.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr uint64_t kLargestMeta = uint64_t{64} << 20;
constexpr uint64_t kWeightAlignment = 64;

Status check_size(const SourceFile& file, const PackageFile& wanted, const std::string& place) {
  if (file.bytes.size == wanted.size) return {};
  return invalid_input(cat(quote(place), ": found ", file.bytes.size, " bytes, wanted ", wanted.size));
}

Status check_hash(const SourceFile& file, const PackageFile& wanted, const std::string& place) {
  const std::string found = to_hex(hash(file.bytes));
  if (found == wanted.sha256) return {};
  return invalid_input(cat(quote(place), ": found sha256 ", found, ", wanted ", wanted.sha256, ": the file was changed or damaged"));
}

Result<SourceFile> open_checked(const PackageSource& source, const std::string& path, const PackageFile& wanted) {
  OPTIMA_ASSIGN(SourceFile file, source.open(path));
  OPTIMA_RETURN_IF_ERROR(check_size(file, wanted, source.place(path)));
  OPTIMA_RETURN_IF_ERROR(check_hash(file, wanted, source.place(path)));
  return file;
}

Result<Package> read_root(const PackageSource& source) {
  OPTIMA_ASSIGN(const SourceFile meta, source.open("model.meta"));
  if (meta.bytes.size > kLargestMeta)
    return invalid_input(cat(quote(source.place("model.meta")), ": found ", meta.bytes.size, " bytes, wanted at most ", kLargestMeta));
  return read_meta({reinterpret_cast<const char*>(meta.bytes.data), meta.bytes.size}, quote(source.place("model.meta")));
}

}  // namespace

struct PackageReader::State {
  Package package;
  std::unique_ptr<PackageSource> source;
  std::map<std::string, Blob, std::less<>> artifacts;  // by path
  std::map<std::string, Blob, std::less<>> weights;    // by sha256

  Status open_artifacts();
  Status open_weights(const PackageOptions& options);
};

Status PackageReader::State::open_artifacts() {
  for (const PackageVariant& v : package.variants)
    for (const PackageSubgraph& s : v.subgraphs)
      for (const PackageFile& f : s.files) {
        const std::string path = artifact_path(s.index, f.name);
        OPTIMA_ASSIGN(SourceFile file, open_checked(*source, path, f));
        artifacts[path] = std::move(file.bytes);
      }
  return {};
}

Status PackageReader::State::open_weights(const PackageOptions& options) {
  if (package.weights.empty()) return {};
  SeenWeights seen(options.cache_folder, package.hash);
  for (const auto& [sha, size] : package.weights) {
    const std::string path = weight_path(sha);
    const PackageFile wanted{path, sha, size};
    OPTIMA_ASSIGN(SourceFile file, source->open(path));
    OPTIMA_RETURN_IF_ERROR(check_size(file, wanted, source->place(path)));
    if (options.verify || !seen.has(sha, file.stamp)) OPTIMA_RETURN_IF_ERROR(check_hash(file, wanted, source->place(path)));
    seen.add(sha, file.stamp);
    const bool aligned = reinterpret_cast<uintptr_t>(file.bytes.data) % kWeightAlignment == 0;
    weights[sha] = aligned ? std::move(file.bytes) : Blob::copy(file.bytes.data, file.bytes.size);
  }
  seen.save();
  return {};
}

PackageReader::PackageReader(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<PackageReader> PackageReader::read(std::shared_ptr<State> state, const PackageOptions& options) {
  OPTIMA_ASSIGN(state->package, read_root(*state->source));
  state->package.folder = state->source->folder();
  OPTIMA_RETURN_IF_ERROR(state->open_artifacts());
  OPTIMA_RETURN_IF_ERROR(state->open_weights(options));
  PackageReader reader(std::move(state));
  if (options.verify)
    for (const auto& [name, file] : reader.package().files) OPTIMA_RETURN_IF_ERROR(reader.file(name).status());
  return reader;
}

Result<PackageReader> PackageReader::open(const std::string& folder, const PackageOptions& options) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOTDIR) return invalid_input(cat(quote(folder), " is not a folder, wanted a package"));
  if (fd < 0) return invalid_input(cat("cannot open package ", quote(folder), ": ", std::strerror(errno)));
  auto state = std::make_shared<State>();
  std::string absolute = std::filesystem::absolute(folder).lexically_normal().string();
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  state->source = folder_source(fd, std::move(absolute));
  if (::faccessat(fd, "model.meta", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    return invalid_input(cat(quote(folder), " is not a package: it has no model.meta"));
  return read(std::move(state), options);
}

Result<PackageReader> PackageReader::open(int folder, const PackageOptions& options) {
  const int fd = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return invalid_input(cat("cannot open package from descriptor ", folder, ": ", std::strerror(errno)));
  auto state = std::make_shared<State>();
  state->source = folder_source(fd, {});
  return read(std::move(state), options);
}

Result<PackageReader> PackageReader::open(std::vector<std::pair<std::string, Blob>> files, const PackageOptions& options) {
  auto state = std::make_shared<State>();
  state->source = memory_source(std::move(files));
  return read(std::move(state), options);
}

const Package& PackageReader::package() const { return state_->package; }

Result<Blob> PackageReader::artifact(uint32_t index, std::string_view name) const {
  const auto it = state_->artifacts.find(artifact_path(index, name));
  if (it == state_->artifacts.end()) return invalid_input(cat("subgraph ", index, " has no file ", quote(name)));
  return it->second;
}

Result<Blob> PackageReader::weight(std::string_view sha256) const {
  const auto it = state_->weights.find(sha256);
  if (it == state_->weights.end()) return invalid_input(cat("the package has no weight ", quote(sha256)));
  return it->second;
}

Result<Blob> PackageReader::file(std::string_view name) const {
  const auto it = state_->package.files.find(std::string(name));
  if (it == state_->package.files.end()) return invalid_input(cat("the package has no file ", quote(name)));
  OPTIMA_ASSIGN(SourceFile file, open_checked(*state_->source, it->second.name, it->second));
  return file.bytes;
}

Result<Package> open_package(const std::string& folder, const PackageOptions& options) {
  OPTIMA_ASSIGN(const PackageReader reader, PackageReader::open(folder, options));
  return reader.package();
}

}  // namespace optima
