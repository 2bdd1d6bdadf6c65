// SPDX-License-Identifier: Apache-2.0
// core/loader: what the host offers one plugin instance: log, blobs, folders, ONNX bytes. All functions are [any].
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/loader/blob_store.hpp"
#include "core/loader/registry.hpp"
#include "core/support/owned_folder.hpp"

namespace optima {

/// What a plugin logs is cut after this many lines, with a word that it is; how many were left out is said at its end.
constexpr uint64_t kMostLogLines = 1000;

/// Not movable: the plugin holds its address. Must outlive the instance; its temporary folder goes with it.
class HostTable {
 public:
  /// Makes the plugin's folders. Io when the temporary one cannot be made; a cache folder that cannot is left out.
  static Result<std::unique_ptr<HostTable>> make(const std::string& plugin_id, const std::string& plugin_path,
                                                 std::shared_ptr<const HostServices> services, std::shared_ptr<BlobStore> blobs);
  ~HostTable();
  HostTable(const HostTable&) = delete;
  HostTable& operator=(const HostTable&) = delete;

  const optima_host* raw() const { return &raw_; }
  BlobStore& blobs() { return *blobs_; }
  const std::string& temp_folder() const { return temp_.path(); }

 private:
  explicit HostTable(ScratchFolder temp) : temp_(std::move(temp)) {}
  void fill();
  void write_log(int32_t level, optima_str component, optima_str line);
  static HostTable& of(void* self) { return *static_cast<HostTable*>(self); }

  optima_host raw_{};
  std::string id_, folder_, cache_;
  std::atomic<uint64_t> log_lines_ = 0;
  ScratchFolder temp_;
  std::shared_ptr<const HostServices> services_;
  std::shared_ptr<BlobStore> blobs_;
};

}  // namespace optima
