// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: inference of operators that onnx 1.23.2 gets wrong where sizes are not known, or an attribute is not given. Each item may go
// once a release of the library infers it (tests/conformance/free_exceptions.txt and its test show that). Private to the room.
#pragma once

namespace optima::onnx_io {

/// Before any inference; any thread, any number of times. Attention: what follows from a dim that is not known is not known (the library
/// takes the dim for 0). Resize: sizes of which not even the number is known say nothing (the library takes the number for 0).
/// Reshape: the size that -1 stands for is known by the names of the others (the library knows it by numbers alone).
/// GroupNormalization: the shape of its input, of no samples, too. STFT: one-sided unless it says otherwise, as its page has it.
void mend_schemas();

}  // namespace optima::onnx_io
