// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/low_precision.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "core/quantize/edit.hpp"
#include "core/quantize/operators.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/half.hpp"

namespace optima {
namespace {

using namespace detail;

constexpr int kCast = 19;            // its version in opset 21
constexpr int kConvOfBfloat = 22;    // the first version of Conv and ConvTranspose that may be bf16; other types of it are as before
constexpr float kLargestHalf = 65504;

class Lowering {
 public:
  Lowering(Graph graph, const QuantizeOptions& options) : options_(options), edit_(out_.graph = std::move(graph)) {}

  LowPrecision run() {
    std::vector<image::Node> nodes = std::move(g().nodes);
    for (image::Node& node : nodes) {
      const int32_t type = wanted(node);
      const std::string why = type && kind_of(out_.graph, node) == Kind::Product ? refusal(node, type) : "";
      if (!why.empty()) out_.left.push_back({node.name, why});
      if (!type || kind_of(out_.graph, node) != Kind::Product || !why.empty()) done_.push_back(std::move(node));
      else lower(std::move(node), type);
    }
    g().nodes = std::move(done_);
    std::vector<uint32_t> all(g().nodes.size());
    std::iota(all.begin(), all.end(), 0u);
    if (!narrow_.empty()) out_.graph = compact(out_.graph, all);
    return std::move(out_);
  }

 private:
  image::Graph& g() { return out_.graph.main(); }

  /// F16, BF16 or 0.
  int32_t wanted(const image::Node& node) const {
    const auto given = options_.by_node.find(node.id);
    const Precision p = given == options_.by_node.end() ? options_.precision : given->second;
    return p == Precision::F16 ? OPTIMA_F16 : p == Precision::BF16 ? OPTIMA_BF16 : 0;
  }

  std::string refusal(const image::Node& node, int32_t type) {
    const uint32_t weights = constant_input(out_.graph, node, 1);
    if (weights == OPTIMA_NONE) return "its weights are computed";
    for (const uint32_t v : node.inputs) {
      if (v == OPTIMA_NONE) continue;
      if (g().values[v].dtype != OPTIMA_F32) return cat("it reads ", short_dtype_name(g().values[v].dtype), ", wanted f32");
      if (type != OPTIMA_F16 || g().values[v].constant == OPTIMA_NONE) continue;
      for (const float x : floats_of(out_.graph, v))
        if (std::isfinite(x) && std::fabs(x) > kLargestHalf) return cat("constant ", quote(g().values[v].name), " holds ", x, ", f16 ends at 65504");
    }
    return "";
  }

  void lower(image::Node node, int32_t type) {
    for (uint32_t& v : node.inputs)
      if (v != OPTIMA_NONE) v = narrow(v, type);
    const uint32_t wide = node.outputs[0];
    const image::Value made = g().values[wide];
    const uint32_t out = node.outputs[0] = edit_.value(cat(made.name, '/', short_dtype_name(type)), type, made.dims);
    if (type == OPTIMA_BF16 && node.op_type.starts_with("Conv")) use_opset(node);
    done_.push_back(std::move(node));
    done_.push_back(cast(cat(made.name, "/f32"), out, wide, OPTIMA_F32));
  }

  void use_opset(image::Node& node) {
    node.since_version = std::max(node.since_version, kConvOfBfloat);
    for (auto& [domain, version] : out_.graph.contents.opsets)
      if (domain.empty()) version = std::max<int64_t>(version, kConvOfBfloat);
  }

  uint32_t narrow(uint32_t v, int32_t type) {
    const auto [at, is_new] = narrow_.try_emplace({v, type}, OPTIMA_NONE);
    if (!is_new) return at->second;
    const std::string name = cat(g().values[v].name, '/', short_dtype_name(type));
    if (g().values[v].constant != OPTIMA_NONE) return at->second = rounded(v, name, type);
    at->second = edit_.value(name, type, g().values[v].dims);
    done_.push_back(cast(name, v, at->second, type));
    return at->second;
  }

  uint32_t rounded(uint32_t v, const std::string& name, int32_t type) {
    const std::vector<float> numbers = floats_of(out_.graph, v);
    std::vector<uint16_t> bits(numbers.size());
    std::transform(numbers.begin(), numbers.end(), bits.begin(), type == OPTIMA_F16 ? half_of : bfloat_of);
    return edit_.constant(name, type, dims_of(out_.graph, v), bits.data(), bits.size() * sizeof(uint16_t));
  }

  image::Node cast(const std::string& name, uint32_t from, uint32_t to, int32_t type) {
    image::Node node = edit_.node(name, "Cast", kCast, {from}, {to});
    node.attrs.push_back(int_attribute("to", type));
    return node;
  }

  const QuantizeOptions& options_;
  LowPrecision out_;
  Editor edit_;
  std::vector<image::Node> done_;
  std::map<std::pair<uint32_t, int32_t>, uint32_t> narrow_;  // by value and type
};

}  // namespace

LowPrecision to_low_precision(Graph graph, const QuantizeOptions& options) { return Lowering(std::move(graph), options).run(); }

}  // namespace optima
