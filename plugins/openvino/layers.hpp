// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: the layer names in a blob, without OpenVINO's running numbers. Knows no OpenVINO.
#pragma once

#include <string>
#include <string_view>

namespace openvino_plugin {

/// OpenVINO names the layers that its own passes make by a counter of the process ("Reshape_7119"), so the same subgraph compiled
/// later, or beside another one, would give other bytes. Every name that came with the model gets this in front before the
/// passes run; a name that lacks it afterwards is OpenVINO's.
inline constexpr std::string_view kMark = "~model~";

/// `text` without the marks.
std::string unmarked(std::string text);

/// The topology of a blob (OpenVINO's IR, XML) with the marks gone, OpenVINO's own layers named by type and place
/// ("Reshape~3"), every name but those of inputs and results there once, bodies included ("Reshape~3~2"), and OpenVINO's own names gone from
/// the lists of fused layers. Text of another form comes back as it is.
std::string without_counters(std::string_view topology);

}  // namespace openvino_plugin
