// SPDX-License-Identifier: Apache-2.0
#include "core/package/writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

namespace fs = std::filesystem;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

// Lets the file system share or copy the range itself; false when it cannot, with what is left for write() in `done`.
bool copy_range(const Blob& from, int to, uint64_t& done) {
  while (done < from.size) {
    auto offset = static_cast<off_t>(from.file_offset + done);
    const ssize_t n = ::copy_file_range(from.fd, &offset, to, nullptr, from.size - done, 0);
    if (n <= 0) return false;
    done += static_cast<uint64_t>(n);
  }
  return true;
}

Status write_blob(const Blob& bytes, const std::string& path) {
  File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.fd() < 0) return io_error(cat("cannot create ", quote(path), ": ", std::strerror(errno)));
  uint64_t done = 0;
  if (bytes.fd >= 0) copy_range(bytes, file.fd(), done);
  while (done < bytes.size) {
    const ssize_t n = ::write(file.fd(), bytes.data + done, std::min<uint64_t>(bytes.size - done, uint64_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(cat("cannot write ", quote(path), ": ", std::strerror(errno)));
    done += static_cast<uint64_t>(n);
  }
  if (file.close() != 0) return io_error(cat("cannot write ", quote(path), ": ", std::strerror(errno)));
  return {};
}

Status make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return io_error(cat("cannot create folder ", quote(path), ": ", error.message()));
  return {};
}

Result<PackageFile> describe(const std::string& folder, const std::string& name) {
  const Result<Blob> mapped = map_file(cat(folder, "/", name));
  if (!mapped.ok()) return plugin_error(cat("artifact file ", quote(name), " was promised and not written: ", mapped.status().message()));
  const Blob& bytes = *mapped;
  // The disk takes the bytes while they are hashed: publish() waits for what is left. A file system that cannot start early just does not.
  if (bytes.fd >= 0) ::sync_file_range(bytes.fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  return PackageFile{name, to_hex(hash(bytes)), bytes.size};
}

// Every file below `folder` must be listed: what is not listed is not hashed, and would travel unseen.
Status check_nothing_else(const std::string& folder, const std::vector<PackageFile>& files) {
  std::set<std::string> listed;
  for (const PackageFile& f : files) listed.insert(f.name);
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().lexically_relative(folder).generic_string();
    if (it->is_symlink(error)) return plugin_error(cat("artifact file ", quote(name), " is a symbolic link, wanted a regular file"));
    if (!it->is_directory(error) && !listed.count(name)) return plugin_error(cat("artifact file ", quote(name), " was written and not named, wanted every file through the sink"));
  }
  if (error) return io_error(cat("cannot read ", quote(folder), ": ", error.message()));
  return {};
}

}  // namespace

struct PackageWriter::State {
  Staging staging;
  std::map<std::string, uint64_t> weights;
  std::map<std::string, PackageFile> files;
};

PackageWriter::PackageWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackageWriter::PackageWriter(PackageWriter&&) noexcept = default;
PackageWriter& PackageWriter::operator=(PackageWriter&&) noexcept = default;
PackageWriter::~PackageWriter() = default;

Result<PackageWriter> PackageWriter::create(FolderTarget target) {
  OPTIMA_ASSIGN(Staging staging, Staging::create(std::move(target), {"package", "model.meta"}));
  return PackageWriter(std::make_unique<State>(State{std::move(staging), {}, {}}));
}

const std::string& PackageWriter::staging() const { return state_->staging.folder(); }

Result<std::string> PackageWriter::subgraph_folder(uint32_t index) {
  const std::string folder = cat(staging(), "/Subgraph_", index);
  OPTIMA_RETURN_IF_ERROR(make_folders(folder));
  return folder;
}

Status PackageWriter::drop_subgraph(uint32_t index) {
  std::error_code error;
  fs::remove_all(cat(staging(), "/Subgraph_", index), error);
  return error ? io_error(cat("cannot remove Subgraph_", index, ": ", error.message())) : Status();
}

Result<std::string> PackageWriter::add_weight(const Blob& bytes, std::string_view known_sha256) {
  const std::string sha = known_sha256.empty() ? to_hex(hash(bytes)) : std::string(known_sha256);
  if (!state_->weights.emplace(sha, bytes.size).second) return sha;
  OPTIMA_RETURN_IF_ERROR(make_folders(staging() + "/weights"));
  OPTIMA_RETURN_IF_ERROR(write_blob(bytes, cat(staging(), "/", weight_path(sha))));
  return sha;
}

Status PackageWriter::add_file(std::string_view name, std::string_view bytes) {
  OPTIMA_RETURN_IF_ERROR(check_file_name(name));
  const std::string path = cat(staging(), "/", name);
  OPTIMA_RETURN_IF_ERROR(make_folders(fs::path(path).parent_path().string()));
  OPTIMA_RETURN_IF_ERROR(write_file(path, bytes));
  const std::string key(name);
  state_->files[key] = PackageFile{key, to_hex(sha256(bytes.data(), bytes.size())), bytes.size()};
  return {};
}

Result<Package> PackageWriter::commit(Package package) {
  for (PackageVariant& v : package.variants)
    for (PackageSubgraph& s : v.subgraphs) {
      if (!s.flow.empty()) continue;
      OPTIMA_ASSIGN(const std::string folder, subgraph_folder(s.index));
      for (PackageFile& f : s.files) {
        OPTIMA_ASSIGN(f, describe(folder, f.name));
      }
      OPTIMA_RETURN_IF_ERROR(check_nothing_else(folder, s.files));
    }
  std::sort(package.tensors.begin(), package.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  package.weights = state_->weights;
  package.files = state_->files;
  const std::string meta = write_meta(package);
  // What is written must be readable: a mistake of compile's shows here and not on the target.
  OPTIMA_ASSIGN(Package written, read_meta(meta, "model.meta"));
  OPTIMA_RETURN_IF_ERROR(write_file(staging() + "/model.meta", meta));
  const std::string target = state_->staging.target();
  OPTIMA_RETURN_IF_ERROR(state_->staging.publish());
  written.folder = target;
  return written;
}

}  // namespace optima
