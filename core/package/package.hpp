// SPDX-License-Identifier: Apache-2.0
// core/package: the output folder, as data. Format: docs/package-format.md. Writer: writer.hpp, reader: reader.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/registry/registry.hpp"
#include "core/support/status.hpp"

namespace optima {

/// Newest package format this code writes and reads.
constexpr int64_t kPackageFormat = 1;

struct PackageTensor {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;         ///< -1 = dynamic
  std::vector<std::string> symbols;   ///< per dim, empty = none; may be empty as a whole
  bool unranked = false;
  std::string attr;                   ///< "input", "output", "intermediate"
};

struct PackageFile {
  std::string name, sha256;
  uint64_t size = 0;
};

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
};

/// A model output that no subgraph produces: it is a model input or a constant.
struct PassThrough {
  std::string output;
  std::string input;     ///< empty when a constant
  std::string weight;    ///< sha256 when a constant
};

/// One way to run the model.
struct PackageVariant {
  std::map<std::string, std::vector<int64_t>> shapes;  ///< input -> dims it holds for; empty = all
  std::vector<PackageSubgraph> subgraphs;              ///< run order; index counts on over all variants
  std::vector<PassThrough> pass_through;
};

struct Package {
  std::string folder;  ///< absolute; empty when it came from memory
  std::string model_name, model_hash;
  std::string hash;    ///< of model.meta: stands for the whole package; filled by reader and writer
  std::vector<std::string> inputs, outputs;  ///< model order
  std::vector<PackageTensor> tensors;        ///< in byte order of their names: find_tensor relies on it
  std::vector<PackageVariant> variants;      ///< at least one, best first
  std::map<std::string, uint64_t> weights;   ///< sha256 -> bytes
  std::map<std::string, PackageFile> files;  ///< the other files, by name
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> tools;  ///< name -> version

  const PackageTensor* find_tensor(std::string_view name) const;
};

/// "Subgraph_3/" + name.
std::string artifact_path(uint32_t index, std::string_view name);
/// "weights/<sha256>.bin".
std::string weight_path(std::string_view sha256);
/// The naming rule of docs/package-format.md; InvalidInput saying what is wrong with the name.
Status check_file_name(std::string_view name);

/// model.meta's text, its own hash filled in. Requires tensors in name order; the same package gives the same bytes.
std::string write_meta(const Package& package);
/// The other way, every member, name, size and reference checked. InvalidInput with the place of the first mistake; a newer
/// format names both numbers.
Result<Package> read_meta(std::string_view text, std::string_view what);

}  // namespace optima
