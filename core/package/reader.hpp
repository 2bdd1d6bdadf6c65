// SPDX-License-Identifier: Apache-2.0
// core/package: opens a package from a folder, a descriptor of one, or memory, and checks what docs/package-format.md says.
// Knows no plugin: whether an artifact still fits is the runtime's question.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/package/package.hpp"
#include "core/support/blob.hpp"
#include "core/support/status.hpp"

namespace optima {

struct PackageOptions {
  bool verify = false;       ///< hash everything, seen before or not
  std::string cache_folder;  ///< where hashed weights are remembered; empty = $XDG_CACHE_HOME/optima, else ~/.cache/optima
};

/// An open, checked package and its bytes. Copies share them. Immutable: any number of threads.
class PackageReader {
 public:
  /// InvalidInput when the folder, a file or a hash is not as it must be, naming it; Io when the disk fails.
  static Result<PackageReader> open(const std::string& folder, const PackageOptions& options = {});
  /// The same of an open folder; the descriptor is not kept.
  static Result<PackageReader> open(int folder, const PackageOptions& options = {});
  /// The same of (name, bytes) pairs; the blobs are kept. Weights are always hashed.
  static Result<PackageReader> open(std::vector<std::pair<std::string, Blob>> files, const PackageOptions& options = {});

  const Package& package() const;
  /// A file of Subgraph_<index>/, checked when the package was opened. InvalidInput when no subgraph lists it.
  Result<Blob> artifact(uint32_t index, std::string_view name) const;
  /// The bytes of weights/<sha256>.bin, 64-byte aligned. InvalidInput when there is none.
  Result<Blob> weight(std::string_view sha256) const;
  /// One of package().files, its hash checked now. InvalidInput when there is none or it was changed.
  Result<Blob> file(std::string_view name) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;  // shared by requests and programs: docs/decisions/0002-blobs-share-their-bytes.md
  explicit PackageReader(std::shared_ptr<const State> state);
  static Result<PackageReader> read(std::shared_ptr<State> state, const PackageOptions& options);
};

/// Opens, checks and describes; nothing stays open.
Result<Package> open_package(const std::string& folder, const PackageOptions& options = {});

}  // namespace optima
