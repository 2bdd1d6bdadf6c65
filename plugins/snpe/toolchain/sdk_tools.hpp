// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: where a SDK's programs lie, and one bounded call of one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "toolchain.hpp"

namespace snpe_plugin {

/// Programs of a SDK, as absolute paths.
struct SdkTools {
  std::string root, library;  ///< library: of libSNPE.so
  bool qairt = false;         ///< qairt-converter and qairt-quantizer; false: snpe-onnx-to-dlc, and snpe-dlc-quant or snpe-dlc-quantize
  std::string converter, quantizer, preparer, info;
  std::string version;                   ///< "v2.22.6.240515"
  std::vector<std::string> environment;  ///< ours, and what bin/envsetup.sh would set
};
/// Nothing, with `why`, when something is missing: the first of root, folders, programs, version.
std::optional<SdkTools> look_for_sdk(const std::string& root, std::string& why);

/// One call. A good end is an exit status 0, a product that is there and not empty, and one of the sentences said.
struct ToolCall {
  std::string program;
  std::vector<std::string> arguments;
  std::string product;                      ///< file that it is to write; empty = none
  std::vector<std::string_view> sentences;  ///< any of them, on either stream; none = silence will do
};
struct ToolEnd {
  bool good = false;
  std::string why;                 ///< of a bad end: names the tool, how it ended, its last words, its command and its log
  std::vector<std::string> lines;  ///< of both streams, at most some thousands
};
/// Throws CANCELLED, TIMEOUT and IO; other bad ends are told. A product of before the call is removed.
ToolEnd call_tool(const SdkTools& tools, const ToolCall& call, const Bounds& bounds);

/// The file's name of a path.
std::string base_name(const std::string& path);

}  // namespace snpe_plugin
