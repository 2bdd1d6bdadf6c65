// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: what an artifact is. Everything read here is hostile. Knows no tools.
//
//   <stem>.bmodel (.cvimodel)      what the chip runs
//   <stem>.mlir, <stem>.npz        Top module and weights that it was made of, with
//   <stem>.calib, <stem>.qtable    tables of codes and of nodes in another mode, where there are any
//   <stem>.compile.py              the same compile by itself
//   <stem>.meta                    JSON: ports, chip, mode, sizes of an open batch
// For several sizes of a batch <stem>.b<size>.mlir, and so each file that is not the same for all.
// In the meta file and the record '*' at the beginning of a file's name is the stem, of which no byte of an artifact tells.
#pragma once

#include "bmodel/bmodel.hpp"
#include "chip.hpp"
#include "optima/plugin/plugin.hpp"
#include "optima/plugin/record.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

inline constexpr std::string_view kFormat = "sophon.bmodel/1";

/// An input or output, in the graph's order.
struct Port {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;  ///< of the graph
  std::vector<int64_t> dims;         ///< -1 first where the batch is open
  std::string file_name;             ///< in the file
  int32_t file_dtype = OPTIMA_F32;   ///< there; numbers are converted at the border (i64 to i32, bool to f32)
};

struct Meta {
  std::string chip, mode, tools;
  std::string model;                 ///< file name
  std::vector<Port> inputs, outputs;
  std::vector<int64_t> batches;      ///< sizes of the open batch, ascending; empty = none is open
  std::string write() const;                ///< UNSUPPORTED where a name is not UTF-8
  static Meta read(std::string_view text);  ///< throws CORRUPT, naming what is wrong
};

/// The compat record, "key=value" lines.
struct Record {
  std::string chip, mode, tools;
  std::vector<sdk::RecordedFile> files;
  std::string write() const;
  static Record read(std::string_view text);  ///< throws CORRUPT
};

/// Takes names and element types of the ports from the first stage of a model with one network, which the tools may have changed: 's' is 's_f32' where they cast
/// it back. Throws TOOL_FAILED for a port that the model has not.
void adopt_ports(const Bmodel& model, Meta& meta);
/// The ports of each stage of a model with one network are those of the meta file: names, types and sizes of each, in the file's own; each size of
/// the batch has a stage. Throws CORRUPT.
void check_ports(const Bmodel& model, const Meta& meta);

/// Throws RECOMPILE, WRONG_DEVICE (another chip than the device's attribute `chip`) or CORRUPT; the bmodel is read and its ports are
/// compared with the meta file's.
Record verify(const sdk::Artifact& artifact, const sdk::Device& device);
Meta read_meta(const sdk::Artifact& artifact, const Record& record);

}  // namespace bmcompiler_plugin
