// SPDX-License-Identifier: Apache-2.0
// core/loader: the host table's functions.
#include "core/loader/host_table.hpp"

#include <filesystem>

#include "core/loader/seam.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace fs = std::filesystem;

namespace {

LogLevel level_of(int32_t level) {
  return level >= OPTIMA_LOG_TRACE && level <= OPTIMA_LOG_PLUGIN_MISBEHAVES ? static_cast<LogLevel>(level) : LogLevel::Info;
}

}  // namespace

Result<std::unique_ptr<HostTable>> HostTable::make(const std::string& plugin_id, const std::string& plugin_path,
                                                   std::shared_ptr<const HostServices> services, std::shared_ptr<BlobStore> blobs) {
  OPTIMA_ASSIGN(ScratchFolder temp, ScratchFolder::make(plugin_id));
  std::unique_ptr<HostTable> table(new HostTable(std::move(temp)));
  table->id_ = plugin_id;
  table->folder_ = fs::path(plugin_path).parent_path().string();
  table->services_ = std::move(services);
  table->blobs_ = std::move(blobs);
  if (!table->services_->cache_folder.empty()) {
    std::error_code error;
    const fs::path cache = fs::absolute(table->services_->cache_folder, error) / plugin_id;
    fs::create_directories(cache, error);
    if (!error) table->cache_ = cache.string();
  }
  table->fill();
  return table;
}

HostTable::~HostTable() {
  if (log_lines_ > kMostLogLines) log(LogLevel::Warn, id_, cat(log_lines_ - kMostLogLines, " more lines of its log were left out"));
}

// Lines that nobody asked for do not count.
void HostTable::write_log(int32_t level, optima_str component, optima_str line) {
  if (!log_takes(level_of(level))) return;
  const uint64_t number = ++log_lines_;
  if (number == kMostLogLines + 1) log(LogLevel::Warn, id_, cat("has logged ", kMostLogLines, " lines; more are left out"));
  if (number > kMostLogLines) return;
  const std::string part = seam::text(component, 64);
  log(level_of(level), part.empty() || part == id_ ? id_ : cat(id_, "/", part), seam::text(line));
}

void HostTable::fill() {
  using seam::guarded, seam::str;
  raw_.struct_size = sizeof raw_;
  raw_.abi_major = OPTIMA_ABI_MAJOR;
  raw_.abi_minor = OPTIMA_ABI_MINOR;
  raw_.self = this;
  raw_.name = str(services_->name);
  raw_.version = str(services_->version);
  raw_.plugin_dir = str(folder_);
  raw_.cache_dir = str(cache_);
  raw_.temp_dir = str(temp_folder());
  raw_.log = [](void* self, int32_t level, optima_str component, optima_str line) {
    (void)guarded([&] { return of(self).write_log(level, component, line), OPTIMA_OK; });
  };
  raw_.get_extension = [](void* self, optima_str id) -> const void* {
    const void* found = nullptr;
    (void)guarded([&] {
      if (of(self).services_->extension) found = of(self).services_->extension(seam::raw_text(id, 256));
      return OPTIMA_OK;
    });
    return found;
  };
  raw_.blob_retain = [](void* self, uint64_t id) -> int32_t { return guarded([&] { return of(self).blobs_->retain(id); }); };
  raw_.blob_release = [](void* self, uint64_t id) {
    (void)guarded([&] {
      if (!of(self).blobs_->release(id)) seam::misbehaves(of(self).id_, cat("released blob ", id, ", which it does not hold"));
      return OPTIMA_OK;
    });
  };
  raw_.blob_path = [](void* self, uint64_t id, optima_str* path, optima_status* status) -> int32_t {
    return guarded([&]() -> int32_t {
      const auto made = of(self).blobs_->path(id, of(self).temp_folder());
      if (!made.ok()) return seam::fail(status, made.status().kind() == StatusKind::Io ? OPTIMA_IO : OPTIMA_NOT_FOUND, made.status().message());
      *path = str(**made);
      return OPTIMA_OK;
    });
  };
  raw_.graph_to_onnx = [](void* self, const optima_graph* graph, optima_str dir, uint32_t, optima_status* status) -> int32_t {
    return guarded([&]() -> int32_t {
      const auto& write = of(self).services_->graph_to_onnx;
      if (!write) return seam::fail(status, OPTIMA_UNSUPPORTED, "this program writes no ONNX files");
      const Status written = write(seam::known(graph), seam::raw_text(dir));
      return written.ok() ? OPTIMA_OK : seam::fail(status, written.kind() == StatusKind::Io ? OPTIMA_IO : OPTIMA_INTERNAL, written.message());
    });
  };
}

}  // namespace optima
