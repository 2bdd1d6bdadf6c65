// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: the SoCs that Hexagon files can be made for. Source: the public tables of Qualcomm's documents 80-63442-2 and -10 and
// the chip numbers that the QNN back end's options `soc_model` and `htp_arch` take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snpe_plugin {

struct Soc {
  std::string_view name;  ///< "sm8550"
  int model;              ///< of `soc_model`
  int arch;               ///< Hexagon tensor processor: 68 = v68
  bool floats = true;     ///< it computes fp16; without, quantized models are all it takes (the tools say so of it)
};

/// Null when there is none of that name.
const Soc* find_soc(std::string_view name);
/// By its number. Null when there is none.
const Soc* find_soc(int model);
/// "sm8350 (v68), sm8450 (v69), …", for messages.
std::string soc_names();
/// "sm8550,sm8650" in its order, each once. INVALID_ARGUMENT names the word, the nearest names and all of them.
std::vector<const Soc*> parse_socs(std::string_view list);

}  // namespace snpe_plugin
