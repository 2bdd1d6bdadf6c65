// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: a blob that OpenVINO took back in, as a program of the seam.
#pragma once

#include "artifact.hpp"
#include "engine.hpp"

namespace openvino_plugin {

/// An artifact that verify() accepted. Throws CORRUPT when OpenVINO's model and the meta file disagree.
std::unique_ptr<sdk::Program> import_program(Engine& engine, const sdk::Host& host, const sdk::Artifact& artifact, const Record& record,
                                             const std::string& device, const sdk::Options& options);

}  // namespace openvino_plugin
