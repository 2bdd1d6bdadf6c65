// SPDX-License-Identifier: Apache-2.0
#include "limits.hpp"

#include <algorithm>

namespace snpe_plugin {
namespace {

bool has_output(const sdk::Node& n, uint32_t k) { return k < n.output_count() && n.output(k); }

bool any_is_not(const std::vector<int64_t>& all, int64_t wanted) {
  return std::any_of(all.begin(), all.end(), [&](int64_t one) { return one != wanted; });
}

bool is_default_list(const sdk::Node& n, const char* name, std::initializer_list<std::string_view> repeated) {
  const std::vector<std::string_view> found = n.strings(name);
  for (size_t k = 0; k < found.size(); ++k)
    if (found[k] != *(repeated.begin() + static_cast<std::ptrdiff_t>(k % repeated.size()))) return false;
  return true;
}

/// Indices that may be negative; those of a constant the tools put right themselves.
bool unknown_indices(const sdk::Value& v) { return !v.is_constant(); }

/// By itself it is right; the emulator leaves out a Cast from floats and back, and neighbours are not known here.
bool floats_to_integers(const sdk::Node& cast) {
  const auto is_float = [](int32_t dtype) { return dtype == OPTIMA_F32 || dtype == OPTIMA_F16; };
  return is_float(cast.input(0).dtype()) && !is_float(cast.output(0).dtype()) && cast.output(0).dtype() != OPTIMA_BOOL;
}

/// Where each output element takes its input element from is exact for these alone.
bool resizes_to_other_neighbours(const sdk::Node& n) {
  if (n.string("mode", "nearest") != "nearest") return false;
  const std::string_view from = n.string("coordinate_transformation_mode", "half_pixel"), round = n.string("nearest_mode", "round_prefer_floor");
  if (from == "asymmetric") return round != "floor";
  const bool ceil = round == "round_prefer_ceil", floor = round == "round_prefer_floor";
  if (ceil && (from == "half_pixel" || from == "align_corners")) return false;
  if (!(ceil || floor) || !(from == "half_pixel" || from == "pytorch_half_pixel")) return true;
  const std::vector<int64_t> x = n.input(0).shape(), y = n.output(0).shape();
  for (size_t k = 0; k < x.size() && k < y.size(); ++k)  // whole multiples have no element halfway between two
    if (x[k] <= 0 || y[k] % x[k] != 0) return true;
  return false;
}

/// Zeros that a pooling adds in front and behind, per spatial dim: those it is told of, or those that the shapes tell.
struct Padding {
  std::vector<int64_t> before, behind;
};

Padding padding_of(const sdk::Node& pool) {
  const sdk::Value x = pool.input(0), y = pool.output(0);
  const auto dims = static_cast<uint32_t>(std::max(x.rank(), 2) - 2);
  const std::vector<int64_t> ones(dims, 1), zeros(2 * dims, 0);
  const std::vector<int64_t> kernel = pool.integers("kernel_shape", ones), strides = pool.integers("strides", ones), pads = pool.integers("pads", zeros);
  Padding out;
  for (uint32_t d = 0; d < dims; ++d) {
    const int64_t needed = (y.dim(d + 2) - 1) * strides[d] + kernel[d] - x.dim(d + 2);
    const std::string_view automatic = pool.string("auto_pad", "NOTSET");
    int64_t front = automatic == "VALID" ? 0 : pads[d];
    if (automatic == "SAME_UPPER") front = std::max<int64_t>(needed, 0) / 2;
    if (automatic == "SAME_LOWER") front = (std::max<int64_t>(needed, 0) + 1) / 2;
    out.before.push_back(front), out.behind.push_back(std::max<int64_t>(needed - front, 0));
  }
  return out;
}

/// The emulator reads beyond the image where a window hangs over its border (wrong sums, at times a crash), but for 3x3 windows with one
/// row and column of padding all round, as Inception has them.
bool averages_over_the_border(const sdk::Node& pool) {
  if (!pool.input(0).is_static() || !pool.output(0).is_static()) return false;
  const Padding p = padding_of(pool);
  if (!any_is_not(p.before, 0) && !any_is_not(p.behind, 0)) return false;
  const bool plain = !any_is_not(pool.integers("kernel_shape"), 3) && !any_is_not(p.before, 1) && std::all_of(p.behind.begin(), p.behind.end(), [](int64_t n) { return n <= 1; });
  return !plain || pool.integer("count_include_pad", 0) != 0 || pool.integer("ceil_mode", 0) != 0 || pool.string("auto_pad", "NOTSET") != "NOTSET";
}

bool recurs_otherwise(const sdk::Node& n, std::initializer_list<std::string_view> activations) {
  return !is_default_list(n, "activations", activations) || n.has("clip") || n.has("activation_alpha") || n.has("activation_beta") || n.integer("layout", 0) != 0;
}

/// 16-bit codes of these two have steps that use all codes, whatever QuantizeLinear says: others would be read wrong at a border.
bool has_other_steps(const sdk::Node& quantize) {
  if (!quantize.output(0) || quantize.output(0).dtype() != OPTIMA_U16) return false;
  const sdk::Node maker = quantize.input(0).producer();
  const bool sigmoid = maker && maker.domain().empty() && maker.op() == "Sigmoid", tanh = maker && maker.domain().empty() && maker.op() == "Tanh";
  if (!sigmoid && !tanh) return false;
  const sdk::Value scale = quantize.input(1), zero = quantize.input(2);
  if (!scale.is_constant() || scale.constant().elements() != 1 || scale.dtype() != OPTIMA_F32 || !zero || !zero.is_constant() || zero.constant().elements() != 1) return true;
  const float step = sigmoid ? 0x1p-16F : 0x1p-15F;
  return scale.constant().as<float>()[0] < step || scale.constant().as<float>()[0] > step || zero.constant().as<uint16_t>()[0] != (sigmoid ? 0 : 32768);
}

/// Of one input: a step of 8 bits is what comes out then.
bool reads_16_bit_codes(const sdk::Node& n) {
  const sdk::Node maker = n.input(0).producer();
  if (!maker || !maker.domain().empty() || maker.op() != "DequantizeLinear") return false;
  const int32_t dtype = maker.input(0).dtype();
  return dtype == OPTIMA_U16 || dtype == OPTIMA_I16;
}

/// `differs` is asked about nodes of the operator.
struct Rule {
  std::string_view op;
  bool (*differs)(const sdk::Node&);
  const char* what;
};

/// Of every kind, by the document.
constexpr Rule kRestrictions[] = {
    {"ArgMax", [](const sdk::Node& n) { return n.integer("select_last_index", 0) != 0; }, "ArgMax with select_last_index 1"},
    {"ArgMin", [](const sdk::Node& n) { return n.integer("select_last_index", 0) != 0; }, "ArgMin with select_last_index 1"},
    {"AveragePool", [](const sdk::Node& n) { return any_is_not(n.integers("dilations"), 1); }, "AveragePool with dilations"},
    {"BatchNormalization", [](const sdk::Node& n) { return n.integer("training_mode", 0) != 0 || has_output(n, 1); }, "BatchNormalization that trains"},
    {"GRU", [](const sdk::Node& n) { return recurs_otherwise(n, {"Sigmoid", "Tanh"}); }, "GRU with other activations, clip or layout 1"},
    {"Gemm", [](const sdk::Node& n) { return n.real("alpha", 1) != 1 || n.real("beta", 1) != 1; }, "Gemm with alpha or beta"},
    {"GridSample", [](const sdk::Node& n) { return n.string("mode", "linear") == "cubic" || n.string("mode", "linear") == "bicubic"; }, "GridSample with mode cubic"},
    {"LSTM", [](const sdk::Node& n) { return recurs_otherwise(n, {"Sigmoid", "Tanh", "Tanh"}) || n.integer("input_forget", 0) != 0; }, "LSTM with other activations, clip, input_forget or layout 1"},
    {"LpNormalization", [](const sdk::Node& n) { return n.integer("p", 2) != 2; }, "LpNormalization with p 1"},
    {"MaxPool", [](const sdk::Node& n) { return any_is_not(n.integers("dilations"), 1) || has_output(n, 1); }, "MaxPool with dilations or indices"},
    {"Pad", [](const sdk::Node& n) { return n.string("mode", "constant") == "wrap"; }, "Pad with mode wrap"},
    {"Resize", [](const sdk::Node& n) { return n.integer("antialias", 0) != 0 || n.integer("exclude_outside", 0) != 0; }, "Resize with antialias or exclude_outside"},
    {"Resize", [](const sdk::Node& n) { return n.string("keep_aspect_ratio_policy", "stretch") != "stretch"; }, "Resize with keep_aspect_ratio_policy"},
    {"Resize", [](const sdk::Node& n) { return n.string("coordinate_transformation_mode", "") == "tf_crop_and_resize"; }, "Resize with tf_crop_and_resize"},
};

/// Of HEXAGON, taken by the tools and computed otherwise.
constexpr Rule kOtherwise[] = {
    {"AveragePool", averages_over_the_border, "AveragePool whose windows hang over the image's border"},
    {"Cast", floats_to_integers, "Cast of floats to integers, which comes to nothing before a Cast back,"},
    {"Gather", [](const sdk::Node& n) { return unknown_indices(n.input(1)) && n.input(1).dtype() == OPTIMA_I32; }, "Gather by i32 indices that are computed, which may be negative,"},
    {"GatherElements", [](const sdk::Node& n) { return unknown_indices(n.input(1)); }, "GatherElements by indices that are computed, which may be negative,"},
    {"GridSample", [](const sdk::Node& n) { return n.string("mode", "linear") == "nearest"; }, "GridSample with mode nearest"},
    {"OneHot", [](const sdk::Node& n) { return unknown_indices(n.input(0)); }, "OneHot of indices that are computed, which may be negative,"},
    {"Pad", [](const sdk::Node& n) { return n.string("mode", "constant") == "edge"; }, "Pad with mode edge"},
    {"QuantizeLinear", has_other_steps, "16-bit codes of Sigmoid with other steps than 1/65536 from 0, or of Tanh with others than 1/32768 around 32768,"},
    {"Resize", resizes_to_other_neighbours, "Resize with mode nearest by this nearest_mode and coordinate_transformation_mode"},
    {"ScatterElements", [](const sdk::Node& n) { return unknown_indices(n.input(1)); }, "ScatterElements by indices that are computed, which may be negative,"},
    {"ScatterND", [](const sdk::Node& n) { return unknown_indices(n.input(1)); }, "ScatterND by indices that are computed, which may be negative,"},
    {"Softplus", reads_16_bit_codes, "Softplus of 16-bit codes, which comes out in steps of 8 bits,"},
};

bool is_empty(const sdk::Value& v) {
  if (!v) return false;
  for (int64_t dim : v.shape())
    if (dim == 0) return true;
  return false;
}

/// Constants without elements are parameters that are not there (of Resize).
std::string without_elements(const sdk::Node& node) {
  for (uint32_t k = 0; k < node.output_count(); ++k)
    if (is_empty(node.output(k))) return "output " + std::to_string(k) + " has no elements, which the tools do not take";
  for (uint32_t k = 0; k < node.input_count(); ++k)
    if (is_empty(node.input(k)) && !node.input(k).is_constant()) return "input " + std::to_string(k) + " has no elements, which the tools do not take";
  return "";
}

}  // namespace

std::string not_computed(const sdk::Node& node, const Target& target) {
  for (const Rule& rule : kRestrictions)
    if (rule.op == node.op() && rule.differs(node)) return std::string(rule.what) + " is not computed by " + target.kind;
  if (std::string why = without_elements(node); !why.empty()) return why;
  for (const Rule& rule : kOtherwise)
    if (target.kind == "HEXAGON" && rule.op == node.op() && rule.differs(node)) return "HEXAGON does not compute " + std::string(rule.what) + " as ONNX does";
  return "";
}

}  // namespace snpe_plugin
