// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/dlc: the same bytes for the same model.
//
// What differs between two builds of one model by onnxruntime-qnn 2.7.0 (QAIRT 2.51), measured over the models of build/models, and what is done:
//   times in `dlc.metadata*`      set to 1980 by normalize(); times and sums of the zip file itself are zero already
//   names of graphs               QNNExecutionProvider_QNNExecutionProvider_<hash>_1_0: a hash of the model's path as it was opened, nothing else. Open it
//                                 as "model.onnx" with its folder as the working directory, the first session of its process, and it is the same
//   Hexagon context binaries      the same where graph names are, but for padding of constants of LSTM and GRU, which shows the heap as it was: 2 to 48
//                                 bytes. With GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0 in the tool's environment the heap is
//                                 zero and these differ in about one build of seven, others (CNNs, BERT, quantized ones) in none
#pragma once

#include <string>

namespace snpe_plugin {

/// Rewrites a DLC in place so that it holds no time. Throws CORRUPT for a file that is none, IO.
void normalize(const std::string& path);

}  // namespace snpe_plugin
