// SPDX-License-Identifier: Apache-2.0
#include "core/session/qdq.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/support/text.hpp"

namespace optima::detail {
namespace {

template <class T>
std::optional<T> first_of(const Blob& blob) {
  T out;
  if (blob.size != sizeof out) return std::nullopt;
  std::memcpy(&out, blob.data, sizeof out);
  return out;
}

const Blob* constant_of(const Graph& graph, const image::Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == OPTIMA_NONE) return nullptr;
  const uint32_t constant = graph.main().values[node.inputs[input]].constant;
  return constant == OPTIMA_NONE ? nullptr : &graph.blobs[graph.contents.constants[constant].blob];
}

std::optional<int64_t> zero_point(const Blob* blob, int32_t dtype) {
  if (!blob) return 0;
  const auto wide = [](auto code) { return code ? std::optional<int64_t>(*code) : std::nullopt; };
  if (dtype == OPTIMA_U8) return wide(first_of<uint8_t>(*blob));
  if (dtype == OPTIMA_I8) return wide(first_of<int8_t>(*blob));
  if (dtype == OPTIMA_U16) return wide(first_of<uint16_t>(*blob));
  return wide(first_of<int16_t>(*blob));
}

std::optional<std::pair<int64_t, int64_t>> limits_of(int32_t dtype) {
  if (dtype == OPTIMA_U8) return std::pair(0, 255);
  if (dtype == OPTIMA_I8) return std::pair(-128, 127);
  if (dtype == OPTIMA_U16) return std::pair(0, 65535);
  if (dtype == OPTIMA_I16) return std::pair(-32768, 32767);
  return std::nullopt;
}

void describe(const Graph& graph, const image::Node& quantize, CodedValue& out) {
  const int32_t dtype = graph.main().values[quantize.outputs[0]].dtype;
  const auto limits = limits_of(dtype);
  const Blob* scale_blob = constant_of(graph, quantize, 1);
  if (!limits || !scale_blob) return;
  const std::optional<float> scale = first_of<float>(*scale_blob);
  const std::optional<int64_t> zero = zero_point(constant_of(graph, quantize, 2), dtype);
  if (!scale || !zero) return;
  out.encoding = cat(short_dtype_name(dtype), " ", double{*scale}, " ", *zero);
  out.low = (static_cast<double>(limits->first - *zero) - 0.5) * *scale;
  out.high = (static_cast<double>(limits->second - *zero) + 0.5) * *scale;
}

}  // namespace

bool reads_codes(const Graph& graph, const Uses& uses, const image::Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](uint32_t v) {
    return v != OPTIMA_NONE && uses.producer[v] != Uses::kNone && is_dequantize(graph.main().nodes[uses.producer[v]]);
  });
}

bool computes_on_codes(const Graph& graph, const Uses& uses, uint32_t index) {
  const image::Node& node = graph.main().nodes[index];
  if (reads_codes(graph, uses, node) || node.op_type.ends_with("Integer")) return true;
  if (node.inputs.empty() || node.outputs.empty() || node.inputs[0] == OPTIMA_NONE || node.op_type.ends_with("Normalization") || node.op_type == "Softmax") return false;
  const uint32_t v = node.inputs[0], maker = uses.producer[v];
  const auto rounds = [&](uint32_t reader) { return is_quantize(graph.main().nodes[reader]); };
  const std::vector<uint32_t>& readers = uses.consumers[node.outputs[0]];
  return maker != Uses::kNone && uses.consumers[v].size() == 1 && std::any_of(readers.begin(), readers.end(), rounds) &&
         reads_codes(graph, uses, graph.main().nodes[maker]);
}

bool is_quantize(const image::Node& node) { return node.op_type == "QuantizeLinear"; }
bool is_dequantize(const image::Node& node) { return node.op_type == "DequantizeLinear"; }

std::map<uint32_t, CodedValue> coded_values(const Graph& graph, const Uses& uses) {
  std::map<uint32_t, CodedValue> out;
  const std::vector<image::Node>& nodes = graph.main().nodes;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (!is_quantize(nodes[n]) || nodes[n].outputs.empty() || out.count(nodes[n].inputs[0])) continue;
    for (const uint32_t reader : uses.consumers[nodes[n].outputs[0]]) {
      if (!is_dequantize(nodes[reader])) continue;
      CodedValue coded{nodes[n].inputs[0], n, reader, {}};
      describe(graph, nodes[n], coded);
      out.emplace(coded.value, std::move(coded));
      break;
    }
  }
  return out;
}

}  // namespace optima::detail
