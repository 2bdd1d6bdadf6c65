// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: arrays of texts, which files have and no device sees: codes stand for them in tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// Row-major.
struct TextArray {
  std::vector<int64_t> shape;
  std::vector<std::string> texts;  ///< as many as the shape has elements; UTF-8 where the file says what they are
};

/// A text, or lists of equally long lists of them. InvalidInput naming `what` for anything else.
Result<TextArray> read_json_texts(std::string_view text, std::string_view what);

/// An int64 tensor of the codes; a text that the table lacks has the code table.size().
Result<Tensor> code_tensor(const TextArray& array, const TextTable& table);

/// The way back, of an int64 tensor: its texts in order. InvalidInput for a code that has no text, naming the tensor.
Result<std::vector<std::string>> text_elements(const Tensor& codes, const TextTable& table);

}  // namespace optima
