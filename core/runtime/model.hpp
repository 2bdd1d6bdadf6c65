// SPDX-License-Identifier: Apache-2.0
// core/runtime: a package made ready to run: its artifacts checked and loaded by their plugins. Knows no plugin by name.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/package/reader.hpp"
#include "core/runtime/context.hpp"
#include "core/runtime/profile.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

struct LoadOptions {
  int64_t threads = 0;  ///< most threads of one subgraph's execution; 0 = all
  bool keep_cuts = false;  ///< cut tensors keep their bytes until the next run, for Request::cuts(); takes arena_sum() bytes
  /// How much of the model is loaded, 0..1, never less than before; from any thread, one call at a time; may be empty.
  std::function<void(double fraction, std::string_view stage)> progress = {};
  const std::atomic<bool>* cancelled = nullptr;  ///< the load then ends with Cancelled: between subgraphs, or inside one whose plugin asks
};

/// One subgraph as loaded; without a plugin when the host drives it.
struct SubgraphInfo {
  uint32_t index = 0;
  std::string device, plugin, note;  ///< note: the plugin's sentence when it advises to recompile
};

/// Shared by its requests, which must not outlive it. Immutable after load: any thread.
class LoadedModel {
 public:
  /// Takes the first variant all of whose artifacts are called OPTIMAL or USABLE. Fails with the first variant's reason:
  /// Plugin when a plugin is absent, calls an artifact out of date or of another device, or fails; InvalidInput when it calls it corrupt,
  /// or when a setting waits for a plugin that did not come. Cancelled whatever variants are left.
  static Result<std::unique_ptr<LoadedModel>> load(RuntimeContext& context, PackageReader package, const LoadOptions& options = {});
  ~LoadedModel();

  const Package& package() const;
  const PackageReader& reader() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  /// Those of the main graph, then those of bodies.
  const std::vector<SubgraphInfo>& subgraphs() const;
  /// ModelInit and SubgraphInit.
  const std::vector<ProfileEvent>& events() const;
  /// Bytes one request takes for cut tensors, those of bodies included, and what they would take side by side.
  uint64_t arena_bytes() const;
  uint64_t arena_sum() const;

  struct State;  // the room's own

 private:
  friend class Request;
  std::unique_ptr<State> state_;
  explicit LoadedModel(std::unique_ptr<State> state);
};

}  // namespace optima
