// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: operators that OpenVINO computes otherwise than ONNX, put right in its model.
#pragma once

#include <openvino/core/model.hpp>

namespace openvino_plugin {

/// Bodies included. OpenVINO 2026.4: Range whose limit lies behind its start counts there all the same (ONNX: no elements), and
/// TopK of none (k = 0, from data) ends the run with an error. LSTM, GRU and RNN of several sequences of several steps are right in a model
/// that was compiled and wrong in one that was exported and imported: a pass of the CPU device puts the transposition of ONNX's layout
/// into the operator, and the blob does not tell of it.
void mend(ov::Model& model);

}  // namespace openvino_plugin
