// SPDX-License-Identifier: Apache-2.0
#include "core/cost/work.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "core/graph/assumed_size.hpp"

namespace optima {
namespace {

constexpr std::string_view kArithmetics[] = {"float", "half", "int8"};

enum class Class { View, Move, MovePart, Conv, ConvTranspose, MatMul, Gemm, Recurrent, Pool, Reduce, Curve, Norm };

const std::map<std::string_view, Class>& classes() {
  static const std::map<std::string_view, Class> table = {
      {"Reshape", Class::View}, {"Flatten", Class::View}, {"Squeeze", Class::View}, {"Unsqueeze", Class::View}, {"Identity", Class::View},
      {"Shape", Class::View}, {"Size", Class::View}, {"Dropout", Class::View},
      {"Transpose", Class::Move}, {"Concat", Class::Move}, {"Split", Class::Move}, {"Pad", Class::Move}, {"DepthToSpace", Class::Move},
      {"SpaceToDepth", Class::Move}, {"Cast", Class::Move}, {"Tile", Class::Move},
      {"Slice", Class::MovePart}, {"Gather", Class::MovePart}, {"GatherND", Class::MovePart}, {"GatherElements", Class::MovePart},
      {"Expand", Class::MovePart}, {"ConstantOfShape", Class::MovePart}, {"Range", Class::MovePart},
      {"Conv", Class::Conv}, {"ConvInteger", Class::Conv}, {"QLinearConv", Class::Conv}, {"ConvTranspose", Class::ConvTranspose},
      {"MatMul", Class::MatMul}, {"MatMulInteger", Class::MatMul}, {"QLinearMatMul", Class::MatMul}, {"Gemm", Class::Gemm},
      {"LSTM", Class::Recurrent}, {"GRU", Class::Recurrent}, {"RNN", Class::Recurrent},
      {"MaxPool", Class::Pool}, {"AveragePool", Class::Pool}, {"LpPool", Class::Pool},
      {"GlobalAveragePool", Class::Reduce}, {"GlobalMaxPool", Class::Reduce}, {"ReduceMean", Class::Reduce}, {"ReduceSum", Class::Reduce},
      {"ReduceMax", Class::Reduce}, {"ReduceMin", Class::Reduce}, {"ReduceProd", Class::Reduce}, {"ReduceL2", Class::Reduce},
      {"ArgMax", Class::Reduce}, {"ArgMin", Class::Reduce},
      {"Exp", Class::Curve}, {"Log", Class::Curve}, {"Sigmoid", Class::Curve}, {"Tanh", Class::Curve}, {"Erf", Class::Curve},
      {"Gelu", Class::Curve}, {"Softplus", Class::Curve}, {"Pow", Class::Curve}, {"Sin", Class::Curve}, {"Cos", Class::Curve},
      {"Elu", Class::Curve}, {"Selu", Class::Curve}, {"Mish", Class::Curve}, {"Swish", Class::Curve}, {"Sqrt", Class::Curve},
      {"Softmax", Class::Norm}, {"LogSoftmax", Class::Norm}, {"LayerNormalization", Class::Norm}, {"InstanceNormalization", Class::Norm},
      {"GroupNormalization", Class::Norm}, {"RMSNormalization", Class::Norm}, {"LRN", Class::Norm}, {"Resize", Class::Norm},
      {"Upsample", Class::Norm}, {"GridSample", Class::Norm},
  };
  return table;
}

class Counter {
 public:
  /// `bits`: of each value's elements, where they are not those of its type.
  Counter(const Graph& graph, const image::Node& node, uint32_t index, const std::map<uint32_t, uint64_t>& bits)
      : graph_(graph), values_(graph.contents.graphs[index].values), node_(node), bits_(bits) {}

  Work run() {
    for (uint32_t v : node_.inputs) read_ += bytes(v), largest_ = std::max(largest_, elements(v));
    for (uint32_t v : node_.outputs) written_ += bytes(v), largest_ = std::max(largest_, elements(v));
    out_.bytes = read_ + written_;
    const auto row = node_.domain.empty() ? classes().find(node_.op_type) : classes().end();
    if (row == classes().end()) out_.flops = largest_;
    else count(row->second), out_.arithmetic = arithmetic(row->second);
    for_each_body(node_, [this](uint32_t body) {
      for (const image::Node& inner : graph_.contents.graphs[body].nodes) {
        const Work work = work_of(graph_, inner, body);
        out_.flops += work.flops, out_.bytes += work.bytes, out_.exact &= work.exact;
      }
    });
    return out_;
  }

 private:
  Arithmetic arithmetic(Class c) const {
    if (c != Class::Conv && c != Class::ConvTranspose && c != Class::MatMul && c != Class::Gemm) return Arithmetic::Float;
    const std::string_view op = node_.op_type;
    const uint32_t weights = input(op.starts_with("QLinear") ? 3 : 1);
    if (bits(input(0)) <= 8 && bits(weights) <= 8) return Arithmetic::Int8;
    return bits(input(0)) == 16 && bits(weights) == 16 && is_float(input(0)) ? Arithmetic::Half : Arithmetic::Float;
  }
  bool is_float(uint32_t v) const { return values_[v].dtype == OPTIMA_F16 || values_[v].dtype == OPTIMA_BF16; }
  uint64_t bits(uint32_t v) const {
    if (v == OPTIMA_NONE) return 32;
    const auto given = bits_.find(v);
    return given != bits_.end() ? given->second : optima_dtype_bits(values_[v].dtype);
  }

  void count(Class c) {
    switch (c) {
      case Class::View: out_.bytes = 0; return;
      case Class::Move: return;
      case Class::MovePart: out_.bytes = 2 * written_; return;
      case Class::Conv: out_.flops = 2 * elements(output()) * elements(input(1)) / dim(input(1), 0); return;
      case Class::ConvTranspose: out_.flops = 2 * elements(input(0)) * elements(input(1)) / dim(input(1), 0); return;
      case Class::MatMul: out_.flops = 2 * elements(output()) * dim(input(0), -1); return;
      case Class::Gemm: out_.flops = 2 * elements(output()) * dim(input(0), is_set("transA") ? 0 : 1); return;
      case Class::Recurrent: out_.flops = 2 * (elements(input(1)) + elements(input(2))) * dim(input(0), 0) * dim(input(0), 1); return;
      case Class::Pool: out_.flops = elements(output()) * window(); return;
      case Class::Reduce: out_.flops = elements(input(0)); return;
      case Class::Curve: out_.flops = 10 * elements(output()); return;
      case Class::Norm: out_.flops = 10 * elements(output()); return;
    }
  }

  uint32_t input(size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : OPTIMA_NONE; }
  uint32_t output() const { return node_.outputs.empty() ? OPTIMA_NONE : node_.outputs[0]; }

  double elements(uint32_t v) {
    if (v == OPTIMA_NONE) return 0;
    const auto& dims = values_[v].dims;
    out_.exact &= dims && std::all_of(dims->begin(), dims->end(), [](const image::Dim& d) { return d.value >= 0; });
    return assumed_elements(values_[v]);
  }
  double bytes(uint32_t v) { return v == OPTIMA_NONE ? 0 : elements(v) * static_cast<double>(bits(v)) / 8.0; }
  // At least 1: it divides. Negative counts from the end.
  double dim(uint32_t v, int at) {
    if (v == OPTIMA_NONE || !values_[v].dims || values_[v].dims->empty()) return 1;
    const auto& dims = *values_[v].dims;
    const int rank = static_cast<int>(dims.size()), index = at < 0 ? at + rank : std::min(at, rank - 1);
    out_.exact &= dims[static_cast<size_t>(index)].value >= 0;
    return std::max(1.0, assumed_size(dims, static_cast<size_t>(index)));
  }
  bool is_set(std::string_view name) const {
    for (const image::Attr& a : node_.attrs)
      if (a.name == name) return a.i != 0;
    return false;
  }
  double window() const {
    double product = 1;
    for (const image::Attr& a : node_.attrs)
      if (a.name == "kernel_shape")
        for (int64_t k : a.ints) product *= static_cast<double>(k);
    return product;
  }

  const Graph& graph_;
  const std::vector<image::Value>& values_;
  const image::Node& node_;
  const std::map<uint32_t, uint64_t>& bits_;
  double read_ = 0, written_ = 0, largest_ = 0;
  Work out_;
};

/// Which QuantizeLinear and DequantizeLinear nodes are part of other nodes' work, and how wide the codes are that those touch.
class Codes {
 public:
  explicit Codes(const Graph& graph) : main_(graph.main()), uses_(uses_of(graph)), outside_(main_.values.size()), inside_(main_.nodes.size()) {
    for (uint32_t v : main_.outputs) outside_[v] = 1;
    for (uint32_t n = 0; n < main_.nodes.size(); ++n) {
      if (is(n, "DequantizeLinear")) read(n);
      else if (is(n, "QuantizeLinear")) written(n);
    }
  }
  bool inside(uint32_t node) const { return inside_[node]; }
  const std::map<uint32_t, uint64_t>& bits() const { return bits_; }

 private:
  bool is(uint32_t n, std::string_view op) const { return main_.nodes[n].domain.empty() && main_.nodes[n].op_type == op; }
  uint64_t width(uint32_t v) const { return optima_dtype_bits(main_.values[v].dtype); }

  void read(uint32_t n) {
    const uint32_t codes = main_.nodes[n].inputs[0], floats = main_.nodes[n].outputs[0];
    if (outside_[floats] || uses_.consumers[floats].empty()) return;
    inside_[n] = 1, bits_[floats] = width(codes);
  }
  void written(uint32_t n) {
    const uint32_t floats = main_.nodes[n].inputs[0], codes = main_.nodes[n].outputs[0];
    const uint32_t maker = uses_.producer[floats];
    if (outside_[floats] || maker == Uses::kNone || is(maker, "DequantizeLinear")) return;
    const std::vector<uint32_t>& all = uses_.consumers[floats];
    if (!std::all_of(all.begin(), all.end(), [&](uint32_t r) { return is(r, "QuantizeLinear"); })) return;
    inside_[n] = 1, bits_[floats] = width(codes);
  }

  const image::Graph& main_;
  const Uses uses_;
  std::vector<uint8_t> outside_, inside_;  // by value: an output of the graph; by node
  std::map<uint32_t, uint64_t> bits_;
};

}  // namespace

std::string_view name_of(Arithmetic arithmetic) { return kArithmetics[static_cast<size_t>(arithmetic)]; }
std::optional<Arithmetic> arithmetic_named(std::string_view name) {
  const auto* at = std::find(std::begin(kArithmetics), std::end(kArithmetics), name);
  return at == std::end(kArithmetics) ? std::nullopt : std::optional(static_cast<Arithmetic>(at - std::begin(kArithmetics)));
}

Work work_of(const Graph& graph, const image::Node& node, uint32_t graph_index) {
  const std::map<uint32_t, uint64_t> as_typed;
  return Counter(graph, node, graph_index, as_typed).run();
}

std::vector<Work> works_of(const Graph& graph) {
  const Codes codes(graph);
  std::vector<Work> out;
  for (uint32_t n = 0; n < graph.main().nodes.size(); ++n) {
    out.push_back(Counter(graph, graph.main().nodes[n], 0, codes.bits()).run());
    if (codes.inside(n)) out.back().flops = out.back().bytes = 0;
  }
  return out;
}

double compute_rate(const Rates& rates, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::Int8) return rates.gops_int8 > 0 ? rates.gops_int8 : kInt8Factor * rates.gflops;
  if (arithmetic == Arithmetic::Half && rates.gflops_half > 0) return rates.gflops_half;
  return rates.gflops;
}

double roofline_us(const Work& work, const Rates& rates) { return roofline_us(work, compute_rate(rates, work.arithmetic), rates.gbytes_per_s); }

double roofline_us(const Work& work, double gflops, double gbytes_per_s) {
  const double compute = gflops > 0 ? work.flops / (gflops * 1e3) : 0, moving = gbytes_per_s > 0 ? work.bytes / (gbytes_per_s * 1e3) : 0;
  return std::max(compute, moving);
}

}  // namespace optima
