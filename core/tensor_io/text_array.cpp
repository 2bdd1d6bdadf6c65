// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/text_array.hpp"

#include <algorithm>

#include "core/support/json_value.hpp"
#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

// Sizes go by the first element of each list; every other one has to be alike.
std::vector<int64_t> shape_of(const Json& json) {
  std::vector<int64_t> out;
  for (const Json* at = &json; at->is_array() && out.size() <= kMostDims; at = &at->front()) {
    out.push_back(static_cast<int64_t>(at->size()));
    if (at->empty()) break;
  }
  return out;
}

bool collect(const Json& json, std::span<const int64_t> shape, std::vector<std::string>& out) {
  if (shape.empty()) {
    if (!json.is_string()) return false;
    out.push_back(json.get<std::string>());
    return true;
  }
  if (!json.is_array() || static_cast<int64_t>(json.size()) != shape[0]) return false;
  return std::all_of(json.begin(), json.end(), [&](const Json& inner) { return collect(inner, shape.subspan(1), out); });
}

}  // namespace

Result<TextArray> read_json_texts(std::string_view text, std::string_view what) {
  OPTIMA_ASSIGN(const Json json, parse_json(text, what));
  TextArray out{shape_of(json), {}};
  if (out.shape.size() > kMostDims || !collect(json, out.shape, out.texts))
    return invalid_input(cat(what, ": is no array of texts, wanted a text, or lists of equally long lists of them"));
  return out;
}

Result<Tensor> code_tensor(const TextArray& array, const TextTable& table) {
  OPTIMA_ASSIGN(Tensor out, Tensor::make(OPTIMA_I64, array.shape));
  const std::vector<int64_t> codes = codes_of(table, array.texts);
  std::copy(codes.begin(), codes.end(), out.as<int64_t>().begin());
  return out;
}

Result<std::vector<std::string>> text_elements(const Tensor& codes, const TextTable& table) {
  Result<std::vector<std::string>> out = texts_of(table, codes.as<int64_t>());
  return out.ok() ? out : Result<std::vector<std::string>>(out.status().within(cat("tensor ", quote(codes.name))));
}

}  // namespace optima
