// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: what an artifact is. Everything read here is hostile. Knows no tools.
//
//   <stem>.dlc                 the deep learning container; further graphs: <stem>_1.dlc, …
//   <stem>.<soc>.bin           a Hexagon context binary per SoC
//   <stem>.<soc>.onnx          what the wheels' route needs to run it: an ONNX file with EPContext nodes
//   <stem>.meta                JSON: ports, files, route, SoCs
// In the meta file and the record '*' at the beginning of a file's name is the stem, of which no byte of an artifact tells.
#pragma once

#include "optima/plugin/plugin.hpp"
#include "optima/plugin/record.hpp"
#include "soc.hpp"

namespace snpe_plugin {

namespace sdk = optima::sdk;

inline constexpr std::string_view kFormat = "snpe.dlc/1";

/// An input or output, in the graph's order.
struct Port {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> dims;   ///< fixed
  std::string file_name;       ///< what the tools call it in their files; empty = `name`
  std::string layout;          ///< how it lies there, "NCHW", "NHWC"; empty = as here
};

struct Meta {
  std::string kind;       ///< "HEXAGON"
  std::string route, tools;  ///< Facts::route, Facts::version
  std::string precision;
  std::vector<std::string> dlcs;  ///< file names
  struct Context {
    std::string soc, file, wrapper;
  };
  std::vector<Context> contexts;
  std::vector<Port> inputs, outputs;

  std::string write() const;  ///< UNSUPPORTED where a name is not UTF-8
  static Meta read(std::string_view text);  ///< throws CORRUPT, naming what is wrong
};

/// The compat record, "key=value" lines.
struct Record {
  std::string kind, route, tools, socs;  ///< socs: names, comma between
  std::vector<sdk::RecordedFile> files;
  std::string write() const;
  static Record read(std::string_view text);  ///< throws CORRUPT
};

/// Throws RECOMPILE, WRONG_DEVICE (another kind, no context for this device's SoC, which is its attribute `soc`) or CORRUPT; bytes that are
/// there are summed up and a DLC's and context's beginnings looked at.
Record verify(const sdk::Artifact& artifact, const sdk::Device& device);

/// The meta file of an artifact whose bytes verify() accepted; all files that it names are files of the record. Throws CORRUPT.
Meta read_meta(const sdk::Artifact& artifact, const Record& record);

}  // namespace snpe_plugin
