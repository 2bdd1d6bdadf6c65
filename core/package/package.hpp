// SPDX-License-Identifier: Apache-2.0
// core/package: the output folder, as data. Format: docs/package-format.md.
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
  std::vector<std::string> symbols;   ///< per dim, empty = none
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
  std::vector<PackageFile> files;                             ///< below Subgraph_<index>/
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

struct Package {
  std::string folder;  ///< absolute; empty when it came from memory
  std::string model_name, model_hash;
  std::vector<std::string> inputs, outputs;  ///< model order
  std::vector<PackageTensor> tensors;        ///< by name order
  std::vector<PackageSubgraph> subgraphs;    ///< run order
  std::vector<PassThrough> pass_through;
  std::map<std::string, uint64_t> weights;   ///< sha256 -> bytes
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> tools;  ///< name -> version
};

}  // namespace optima
