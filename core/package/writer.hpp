// SPDX-License-Identifier: Apache-2.0
// core/package: writes a package so that it is there whole or not at all. Knows no graph and no plugin.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/package/package.hpp"
#include "core/package/staging.hpp"
#include "core/support/blob.hpp"
#include "core/support/status.hpp"

namespace optima {

/// A package being written in OUT/.<name>.<pid>. Destroying it before commit() succeeded removes all it created, OUT
/// included if create() made it. One thread at a time; subgraph folders may be filled from other threads meanwhile.
class PackageWriter {
 public:
  /// Errors are those of Staging::create.
  static Result<PackageWriter> create(FolderTarget target);
  PackageWriter(PackageWriter&&) noexcept;
  PackageWriter& operator=(PackageWriter&&) noexcept;
  ~PackageWriter();

  /// Absolute path of the staging folder; later that of nothing.
  const std::string& staging() const;
  /// Makes Subgraph_<index>/ if need be and gives its absolute path: what CompileJob::folder wants.
  Result<std::string> subgraph_folder(uint32_t index);
  /// Empties and removes Subgraph_<index>/: its compile failed and the graph is split again.
  Status drop_subgraph(uint32_t index);
  /// Stores the bytes once, as weights/<sha256>.bin, and gives the sha256. `known_sha256` saves the pass over the bytes.
  Result<std::string> add_weight(const Blob& bytes, std::string_view known_sha256 = {});
  /// placement.json, alloc.json, optima.yaml, self_test/input_0.npy, …; a second file of one name replaces the first.
  Status add_file(std::string_view name, std::string_view bytes);

  /// Fills size and hash of every subgraph's files, `weights`, `files`, `hash`, sorts `tensors`, writes model.meta, syncs, and renames.
  /// A file under Subgraph_<i>/ that no subgraph lists, or a listed one that is not there, is a Plugin error. Returns the
  /// package as written, `folder` set. Afterwards the writer is spent.
  Result<Package> commit(Package package);

 private:
  struct State;
  std::unique_ptr<State> state_;
  explicit PackageWriter(std::unique_ptr<State> state);
};

}  // namespace optima
