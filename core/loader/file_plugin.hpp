// SPDX-License-Identifier: Apache-2.0
// core/loader: the Backend behind a usable file. Loads itself on first use and stays loaded.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "core/backend/describer.hpp"
#include "core/loader/instance.hpp"
#include "core/loader/plugin_memory.hpp"

namespace optima {

/// What all plugins of a registry share. Options may be replaced at any time; later calls see the new ones.
struct SharedState {
  std::shared_ptr<const HostServices> services;
  std::shared_ptr<BlobStore> blobs;

  std::shared_ptr<const OptionValues> options() const {
    const std::lock_guard lock(mutex);
    return values;
  }
  void set_options(OptionValues next) {
    const std::lock_guard lock(mutex);
    values = std::make_shared<const OptionValues>(std::move(next));
  }

 private:
  mutable std::mutex mutex;
  std::shared_ptr<const OptionValues> values = std::make_shared<const OptionValues>();
};

class FilePlugin final : public Backend, public Describer {
 public:
  FilePlugin(Manifest manifest, std::string path, FileStamp stamp, std::shared_ptr<SharedState> shared)
      : manifest_(std::move(manifest)), path_(std::move(path)), stamp_(stamp), shared_(std::move(shared)) {}

  const Manifest& manifest() const override { return manifest_; }
  const std::string& path() const override { return path_; }
  std::vector<EffectiveOption> options() const override;
  Result<std::vector<DeviceInfo>> devices(std::string* why_none) override;
  std::vector<RefusedKind> refused_kinds() override;
  Result<Answers> ask(const optima_graph& graph, std::span<const uint32_t> nodes, const TargetDevice& device) override;
  std::variant<Compiled, CompileFailure> compile(const CompileJob& job) override;
  bool has_schema() override;
  Result<std::vector<image::Value>> infer(const optima_graph& graph, uint32_t node_index) override;
  Result<std::string> function_body(const optima_graph& graph, uint32_t node_index) override;
  Result<bool> evaluate(const optima_graph& graph, uint32_t node_index, std::span<const optima_tensor> inputs, std::span<optima_tensor> outputs) override;
  Result<std::vector<NodeCost>> estimate(const optima_graph& graph, std::span<const uint32_t> nodes, const TargetDevice& device) override;
  bool has_doors() override;
  Result<std::vector<Door>> offer_doors(const optima_graph& graph, uint32_t value, const TargetDevice& device) override;
  Result<bool> takes_door(const optima_graph& graph, uint32_t value, const Door& door, const TargetDevice& device) override;
  DeviceAllocator* memory() override;
  Result<Compatibility> check_artifact(const Artifact& artifact, const TargetDevice& device) override;
  Result<std::unique_ptr<LoadedProgram>> load(Artifact artifact, const TargetDevice& device, const LoadJob& job) override;
  Result<std::optional<std::string>> describe(const ArtifactFile& file) override;

 private:
  /// The running instance, made on the first call; a failure is kept and given to every later call.
  Result<std::shared_ptr<Instance>> instance();
  struct Told {
    std::vector<OwnedDevice> devices;
    std::string why_none;
    /// The slot's device; nothing when it is not there, or refused.
    std::optional<OwnedDevice> find(const TargetDevice& device) const;
  };
  Result<std::shared_ptr<const Told>> told();
  std::optional<OwnedDevice> present(const TargetDevice& device);
  Status role(bool has, std::string_view wanted) const;
  Status serves(const TargetDevice& device) const;
  Result<std::optional<OwnedDevice>> device_to_run_on(const TargetDevice& device);
  CompileFailure compile_failure(const optima_graph& graph, const std::vector<Verdict>& refused, const seam::CallStatus& status, int32_t code) const;
  void warn_of_context_options(const Instance& plugin);
  std::vector<TypedOption> options_of(std::string_view scope, int64_t threads) const;

  const Manifest manifest_;
  const std::string path_;
  const FileStamp stamp_;
  const std::shared_ptr<SharedState> shared_;

  std::mutex mutex_;  // guards the three below until they are made
  std::shared_ptr<Instance> instance_;
  std::optional<PluginMemory> memory_;  // of instance_, when it offers it
  Status failure_;
  std::mutex told_mutex_;  // guards the one below
  std::shared_ptr<const Told> told_;
  std::atomic<bool> told_of_context_ = false;  // the user knows of options that have no effect
};

}  // namespace optima
