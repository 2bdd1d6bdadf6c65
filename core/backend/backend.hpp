// SPDX-License-Identifier: Apache-2.0
// core/backend: what a backend is, to everybody who plans, compiles or runs. One implementation is a plugin file in this process
// (core/loader); no raw handle of the seam shows here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/backend/device.hpp"
#include "core/backend/door.hpp"
#include "core/backend/job.hpp"
#include "core/backend/manifest.hpp"
#include "core/backend/memory.hpp"
#include "core/backend/options.hpp"
#include "core/backend/program.hpp"
#include "core/backend/target.hpp"
#include "core/backend/verdict.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"
#include "optima/image.hpp"

namespace optima {

/// Who compiles for devices and runs on them: one usable plugin. All members may be called from any thread.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Manifest& manifest() const = 0;
  virtual const std::string& path() const = 0;
  /// Options with their values for this plugin, in schema order, the host's own last.
  virtual std::vector<EffectiveOption> options() const { return {}; }

  /// Devices present on this machine; zero is legal, `why_none` then has the plugin's sentence if it gave one.
  virtual Result<std::vector<DeviceInfo>> devices(std::string* why_none) = 0;
  /// Kinds the plugin tells of besides, each with its sentence; none when it cannot be asked.
  virtual std::vector<RefusedKind> refused_kinds() { return {}; }

  // Role compiler. One verdict per node id asked, in the order asked; a plugin that breaks the contract (missing, double or
  // silent verdict, yes outside its note) gets UNSUPPORTED with a sentence that says so.
  virtual Result<Answers> ask(const optima_graph& graph, std::span<const uint32_t> nodes, const TargetDevice& device) = 0;
  /// On failure nothing the plugin wrote remains in the folder.
  virtual std::variant<Compiled, CompileFailure> compile(const CompileJob& job) = 0;
  /// optima.schema/1: types of the outputs of node `index` of graph 0; Plugin kind UNSUPPORTED-like when not offered.
  virtual bool has_schema() = 0;
  virtual Result<std::vector<image::Value>> infer(const optima_graph& graph, uint32_t node_index) = 0;
  /// The text of the node's function body; empty when there is none for this operator.
  virtual Result<std::string> function_body(const optima_graph& /*graph*/, uint32_t /*node_index*/) { return std::string(); }
  /// Runs the node's evaluator on tensors as optima_schema wants them; false when there is none for this operator.
  virtual Result<bool> evaluate(const optima_graph& /*graph*/, uint32_t /*node_index*/, std::span<const optima_tensor> /*inputs*/, std::span<optima_tensor> /*outputs*/) {
    return false;
  }
  /// optima.cost/1: empty when not offered.
  virtual Result<std::vector<NodeCost>> estimate(const optima_graph& /*graph*/, std::span<const uint32_t> /*nodes*/, const TargetDevice& /*device*/) {
    return std::vector<NodeCost>{};
  }

  /// optima.door/1, role compiler. False: it offers and takes none.
  virtual bool has_doors() { return false; }
  /// What it offers for output `value` of the subgraph's graph 0, best first; nothing when not offered.
  virtual Result<std::vector<Door>> offer_doors(const optima_graph& /*graph*/, uint32_t /*value*/, const TargetDevice& /*device*/) {
    return std::vector<Door>{};
  }
  /// Whether it takes input `value` in through the door, and rather than through the usual one.
  virtual Result<bool> takes_door(const optima_graph& /*graph*/, uint32_t /*value*/, const Door& /*door*/, const TargetDevice& /*device*/) { return false; }

  /// optima.memory/1; null when not offered. Lives as long as the backend.
  virtual DeviceAllocator* memory() { return nullptr; }

  // Role runtime.
  struct Artifact {
    std::string format_id, stem;
    std::vector<ArtifactFile> files;
    std::vector<ArtifactFile> weights;  ///< by the name given in use_weight; 64-byte aligned
    std::vector<std::byte> compat_record;
  };
  struct Compatibility {
    uint32_t verdict = OPTIMA_COMPAT_UNKNOWN;
    std::string text;
  };
  virtual Result<Compatibility> check_artifact(const Artifact& artifact, const TargetDevice& device) = 0;
  virtual Result<std::unique_ptr<LoadedProgram>> load(Artifact artifact, const TargetDevice& device, const LoadJob& job) = 0;
};

}  // namespace optima
