// SPDX-License-Identifier: Apache-2.0
// core/package: the output folder, as data. Format: docs/package-format.md. Writer: writer.hpp, reader: reader.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/backend/backend.hpp"
#include "core/flow/signature.hpp"
#include "core/sizes/sizes.hpp"
#include "core/support/status.hpp"
#include "core/texts/texts.hpp"

namespace optima {

/// Newest package format this code writes and reads. A package is written in the oldest that has what is in it: 2 for nodes that the host
/// drives, 3 for tensors that go through another door than the usual one, 4 for bounds of open sizes, 5 for texts.
constexpr int64_t kPackageFormat = 5;

struct PackageTensor {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;         ///< -1 = dynamic
  std::vector<std::string> symbols;   ///< per dim, empty = none; may be empty as a whole
  bool unranked = false;
  std::string attr;                   ///< "input", "output", "intermediate"
  Door door = {};                     ///< how it lies between subgraphs; not the usual one: "intermediate" of known shape only
};

struct PackageFile {
  std::string name, sha256;
  uint64_t size = 0;
};

struct FlowNode;

/// A piece of the model that a plugin compiled, or nodes that the host drives: then it has `flow` and no plugin.
struct PackageSubgraph {
  uint32_t index = 0;
  std::string device;        ///< "X64:0"
  std::string plugin, plugin_version, plugin_build;
  TargetDevice target;
  std::string format_id, stem;
  std::vector<PackageFile> files;                             ///< below Subgraph_<index>/; the writer fills size and sha256
  std::vector<std::pair<std::string, std::string>> weights;   ///< artifact's name -> sha256 of weights/<sha256>.bin
  std::vector<std::string> inputs, outputs;                   ///< tensor names, in binding order
  std::vector<std::byte> compat_record;
  std::string compat_text;
  std::vector<std::pair<std::string, std::string>> meta;
  std::vector<FlowNode> flow;                                 ///< in run order
};

/// A model output that no subgraph produces: it is a model input or a constant.
struct PassThrough {
  std::string output;
  std::string input;     ///< empty when a constant
  std::string weight;    ///< sha256 when a constant
};

/// What a node that the host drives reads: a tensor, a constant, or nothing (both empty).
struct FlowInput {
  std::string tensor;
  std::string weight;          ///< sha256 when a constant
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;  ///< of the constant
};

/// A body with what the run loop needs: the same as for the main graph, under names of its own.
struct FlowBody {
  std::string name;                          ///< "body", "then_branch", "else_branch"
  std::vector<std::string> inputs, outputs;  ///< the last inputs are the values it captures
  std::vector<std::string> captures;         ///< tensors around it, one for each of the last inputs
  std::vector<PackageTensor> tensors;        ///< in byte order of their names
  uint32_t first = 0, count = 0;             ///< its subgraphs by index, in run order
  std::vector<PassThrough> pass_through;
};

/// An If, Loop or Scan that the host drives; semantics: ONNX opset 21.
struct FlowNode {
  std::string name, op;
  std::vector<FlowInput> inputs;
  std::vector<std::string> outputs;             ///< tensors, empty when nobody reads it
  std::vector<FlowScan> scan_inputs;            ///< Scan: of the last inputs
  std::vector<FlowScan> scan_outputs;           ///< Loop, Scan: of the last outputs
  std::vector<FlowBody> bodies;                 ///< in the order of body_names()
};
/// Empty when the host drives no such operator. What the reader has read fits.
std::optional<FlowSignature> signature_of(const FlowNode& node);

/// One way to run the model.
struct PackageVariant {
  std::vector<PackageSubgraph> subgraphs;  ///< the main graph's in run order, then bodies'; index counts on over all variants
  uint32_t main = 0;                       ///< how many are of the main graph
  std::vector<PassThrough> pass_through;
};

struct Package {
  std::string folder;  ///< absolute; empty when it came from memory
  std::string model_name, model_hash;
  std::string hash;    ///< of model.meta: stands for the whole package; filled by reader and writer
  std::vector<std::string> inputs, outputs;  ///< model order
  std::vector<PackageTensor> tensors;        ///< in byte order of their names: find_tensor relies on it
  SizeRanges sizes;                          ///< of open dims of inputs, by their symbol; one that is not here may be any
  TextTables texts;                          ///< of inputs and outputs whose int64 elements are codes of texts
  std::vector<PackageVariant> variants;      ///< at least one, best first
  std::map<std::string, uint64_t> weights;   ///< sha256 -> bytes
  std::map<std::string, PackageFile> files;  ///< the other files, by name
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> tools;  ///< name -> version

  const PackageTensor* find_tensor(std::string_view name) const;
};

/// The tensor of that name; `tensors` in byte order of their names. Null when there is none.
const PackageTensor* find_tensor(const std::vector<PackageTensor>& tensors, std::string_view name);

/// "Subgraph_3/" + name.
std::string artifact_path(uint32_t index, std::string_view name);
/// "weights/<sha256>.bin".
std::string weight_path(std::string_view sha256);
/// The naming rule of docs/package-format.md; InvalidInput saying what is wrong with the name.
Status check_file_name(std::string_view name);

/// How far its answers may lie from exact ones, as a share of an output's scale: what the plugin that computes least exactly says of itself
/// (sdk::kMetaTolerance); 1e-4 where none says so, 0.1 at most.
double tolerance_of(const Package& package);

/// model.meta's text, its own hash filled in. Requires tensors in name order; the same package gives the same bytes.
std::string write_meta(const Package& package);
/// The other way, every member, name, size and reference checked. InvalidInput with the place of the first mistake; a newer
/// format names both numbers.
Result<Package> read_meta(std::string_view text, std::string_view what);

}  // namespace optima
